package io.holdfast.sidecar.ledger;

import java.util.List;
import java.util.Optional;

/**
 * What became of the pins of one ledger when they were to be let go of.
 *
 * @param id of its engine
 * @param by who asked the engine, as a part of a sentence
 * @param released those that the ledger lists no more
 * @param left those that it lists still
 * @param mend what a person can do about the rest; absent where nothing is left
 * @param notes what else is to be known
 */
public record LedgerRelease(
        String id,
        String by,
        List<LedgerState.Pin> released,
        List<Left> left,
        Optional<String> mend,
        List<String> notes) {
    static final String NO_CALL =
            "No call releases them: they end when the engine evicts them or empties its cache, so flush it or restart"
                    + " the engine to have it so at once.";

    public LedgerRelease {
        released = List.copyOf(released);
        left = List.copyOf(left);
        notes = List.copyOf(notes);
    }

    /** A pin that is listed still, and why. */
    public record Left(LedgerState.Pin pin, String why) {}
}
