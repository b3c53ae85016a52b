package io.holdfast.loadtest.journal;

import io.holdfast.evidence.PairOrder;

/** A leg's kind, which decides what it does in the hold step. */
public enum Arm {
    /** A sham: asks the same party something harmless. */
    BASELINE,
    /** A hold on the prefix. */
    PINNED;

    /** The arm of a leg; the burn-in leg is always a baseline. */
    public static Arm of(PairOrder order, int position) {
        return position > 0 && order.isPinned(position) ? PINNED : BASELINE;
    }
}
