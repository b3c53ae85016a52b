package io.holdfast.vllm;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.PromptRenderer;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.TokenizeRoute;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Prompts as vLLM makes tokens of them. Its template is told to begin the answer, as its chat route tells it. */
public final class VllmRenderer implements PromptRenderer {
    private final TokenizeRoute route;

    public VllmRenderer(EngineHttp http) {
        route = new TokenizeRoute(http);
    }

    @Override
    public CompletionStage<RenderedPrompt> text(String prompt) {
        return route.ask(TokenizeRoute.text(prompt));
    }

    @Override
    public CompletionStage<RenderedPrompt> messages(ArrayNode messages, Optional<ArrayNode> tools) {
        // Templates write what begins a prompt themselves; the chat route adds no special tokens beside them.
        return route.ask(TokenizeRoute.messages(messages, tools)
                .put("add_generation_prompt", true)
                .put("add_special_tokens", false));
    }
}
