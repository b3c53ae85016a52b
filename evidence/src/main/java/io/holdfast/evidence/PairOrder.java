package io.holdfast.evidence;

/**
 * The measured legs of a server life, in the order in which it runs them: a pair, or a block of four. Their letters are
 * their legs, P for a pinned one.
 */
public enum PairOrder {
    /** Baseline twice: shows what being second does by itself. */
    AA,
    /** Baseline, then pinned: the normal order, the one that most benchmarks run alone. */
    BP,
    /** Pinned, then baseline: the reversed order. */
    PB,
    /** A block that begins and ends with the baseline; elsewhere it is called ABBA. */
    BPPB,
    /** A block that begins and ends with pinned legs; elsewhere it is called BAAB. */
    PBBP;

    /** Number of measured legs. */
    public int legs() {
        return name().length();
    }

    /** Returns true if the leg at a position, from 1, is a pinned one. */
    public boolean isPinned(int position) {
        return name().charAt(position - 1) == 'P';
    }
}
