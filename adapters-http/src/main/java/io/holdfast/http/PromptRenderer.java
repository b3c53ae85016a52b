package io.holdfast.http;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Has an engine say which tokens it makes of a prompt, by its own vocabulary and chat template. Stages never fail. */
public interface PromptRenderer {
    /** The tokens of a completion's prompt, what the engine puts before every prompt included. */
    CompletionStage<RenderedPrompt> text(String prompt);

    /**
     * The tokens of a conversation, as its chat route would send them to the model.
     *
     * @param tools what the model may call; absent for nothing
     */
    CompletionStage<RenderedPrompt> messages(ArrayNode messages, Optional<ArrayNode> tools);
}
