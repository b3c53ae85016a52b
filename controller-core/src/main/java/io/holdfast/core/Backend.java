package io.holdfast.core;

import java.util.concurrent.CompletionStage;

/**
 * A way to make an engine keep a prefix.
 *
 * <p>Probed, never assumed. Calls return at once and answer with an {@link Outcome}; they never throw and never complete
 * exceptionally for what an engine or a network can do. Called only after the ledger has recorded the intent.
 */
public interface Backend {
    /** The name that configuration and reasons use, such as {@code pin_blocks}. */
    String name();

    /** What this engine lets the backend do, asked of the engine itself. */
    CompletionStage<Capabilities> probe();

    CompletionStage<Outcome> pin(PinCommand command);

    CompletionStage<Outcome> unpin(PinCommand command);
}
