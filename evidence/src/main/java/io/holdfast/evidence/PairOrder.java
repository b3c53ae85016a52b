package io.holdfast.evidence;

/** The two legs of a pair, in the order in which one server life runs them. */
public enum PairOrder {
    /** Baseline twice: shows what being second does by itself. */
    AA,
    /** Baseline, then pinned: the normal order, the one that most benchmarks run alone. */
    BP,
    /** Pinned, then baseline: the reversed order. */
    PB
}
