package io.holdfast.core.backend;

import java.util.concurrent.CompletionStage;

/** Sends a prefix to the engine as a request of our own, so that the engine stores it. */
@FunctionalInterface
public interface PrefixSender {
    /**
     * Asks for one token after exactly these tokens. It never throws and never completes exceptionally for what an
     * engine or a network can do; ACCEPTED when the engine answered.
     */
    CompletionStage<Outcome> send(int[] tokens);
}
