package io.holdfast.sglang;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.PromptRenderer;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.TokenizeRoute;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Prompts as SGLang makes tokens of them. Of a conversation that is what its chat route sends, the answer begun. */
public final class SglangRenderer implements PromptRenderer {
    private final TokenizeRoute route;

    public SglangRenderer(EngineHttp http) {
        route = new TokenizeRoute(http);
    }

    @Override
    public CompletionStage<RenderedPrompt> text(String prompt) {
        return route.ask(TokenizeRoute.text(prompt));
    }

    @Override
    public CompletionStage<RenderedPrompt> messages(ArrayNode messages, Optional<ArrayNode> tools) {
        return route.ask(TokenizeRoute.messages(messages, tools));
    }
}
