package io.holdfast.loadtest.journal;

import io.holdfast.evidence.PairOrder;

/** What a leg does in the hold step. */
public enum Arm {
    /** A sham: asks the same party something harmless. */
    BASELINE,
    /** A hold on the prefix. */
    PINNED;

    /** The arm of a leg; the burn-in leg is always a baseline. */
    public static Arm of(PairOrder order, int position) {
        boolean pinned = switch (order) {
            case AA -> false;
            case BP -> position == 2;
            case PB -> position == 1;
        };
        return pinned ? PINNED : BASELINE;
    }
}
