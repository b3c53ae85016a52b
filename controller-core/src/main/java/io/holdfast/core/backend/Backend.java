package io.holdfast.core.backend;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A way to make an engine keep a prefix.
 *
 * <p>Probed, never assumed. Calls return at once and answer with an {@link Outcome}; they never throw and never
 * complete exceptionally for what an engine or a network can do. {@link #pin} is called only after the ledger has the
 * handle, unless its pins end automatically.
 */
public interface Backend {
    /** The name that configuration, ledger and reasons use, such as {@code pin_blocks}. */
    String name();

    /**
     * The backend that does the work, where this one only chooses among several; it is the one that unpins what it
     * pinned.
     */
    default Backend itself() {
        return this;
    }

    /** Returns what it needs of a prefix before it can pin it, and what a pin of it is. */
    BackendTraits traits();

    /** Asks the engine itself what it lets the backend do. */
    CompletionStage<Capabilities> probe();

    /**
     * Returns the reason why it is better not asked to pin just now; absent as a rule. Asked often, on the controller's
     * thread, so it never waits.
     */
    default Optional<String> hindrance() {
        return Optional.empty();
    }

    /** The answer to its last probe is acted on from now on; on the controller's thread. */
    default void probed() {}

    /**
     * A pin that it made was lost though the engine lives; on the controller's thread.
     *
     * @return whether it is better asked again what it can do
     */
    default boolean lost() {
        return false;
    }

    /**
     * Takes in how much room there is for pins that take memory for good; on the controller's thread, with every plan.
     *
     * @return whether it is better asked again what it can do
     */
    default boolean room(Room room) {
        return false;
    }

    /**
     * Returns the name of this pin, the same each time it is asked; all that {@link #unpin} needs, in a later process
     * too.
     */
    String handle(PinCommand command);

    CompletionStage<Outcome> pin(PinCommand command);

    /**
     * Has a pin that was made last longer, or asks whether it is there still; for a backend whose traits say how often.
     *
     * @return ACCEPTED while it is pinned; DEFERRED and NOT_SENT say nothing of that; by any other answer it is not
     *     what was asked
     */
    default CompletionStage<Outcome> renew(PinCommand command) {
        return pin(command);
    }

    /**
     * Takes back one pin of each handle; more than one only where every moment counts.
     *
     * @return of several: ACCEPTED when all were there, MISSING when none was, CLIPPED when some were, whichever they
     *     are
     */
    CompletionStage<Outcome> unpin(List<String> handles);
}
