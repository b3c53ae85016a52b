package io.holdfast.vllm;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.holdfast.http.PromptRenderer;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.RenderedPrompt.Cause;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Refuses, since a TensorRT-LLM has no settled route that would tell which tokens it makes of a prompt. */
public final class TensorRtRenderer implements PromptRenderer {
    private static final RenderedPrompt NONE = new RenderedPrompt.Refused(
            Cause.ENGINE_CANNOT,
            "TensorRT-LLM has no settled route that says which tokens it makes of a prompt; send tokens, or hold by"
                    + " example: POST …/examples, send the prompt to the engine, and hold what it shows.");

    @Override
    public CompletionStage<RenderedPrompt> text(String prompt) {
        return CompletableFuture.completedStage(NONE);
    }

    @Override
    public CompletionStage<RenderedPrompt> messages(ArrayNode messages, Optional<ArrayNode> tools) {
        return CompletableFuture.completedStage(NONE);
    }
}
