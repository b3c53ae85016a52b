package io.holdfast.evidence;

import java.util.List;

/** Orders of legs that an experiment has, which decide what its data can show. */
public enum Design {
    /** A/A, normal and reversed pairs: the order's part is measured and taken out. */
    CROSSOVER,
    /** A/A pairs alone: an experiment on the measurement itself, with no effect in it to be found. */
    CONTROLS,
    /** The baseline first in every pair, as most benchmarks do it; cannot tell holding from being second. */
    NORMAL,
    /** The pinned leg first in every pair; cannot tell either. */
    REVERSED,
    /** Blocks of four legs in one life, of both kinds: what drifts evenly is taken out within each of them. */
    BLOCKS,
    /** Pairs of legs that each have a process of their own: no leg has another one before it. */
    FRESH_LEGS;

    /** The orders of which each round holds one. */
    public List<PairOrder> round() {
        return switch (this) {
            case CROSSOVER -> List.of(PairOrder.AA, PairOrder.BP, PairOrder.PB);
            case CONTROLS -> List.of(PairOrder.AA);
            case NORMAL -> List.of(PairOrder.BP);
            case REVERSED -> List.of(PairOrder.PB);
            case BLOCKS -> List.of(PairOrder.BPPB, PairOrder.PBBP);
            case FRESH_LEGS -> List.of(PairOrder.BP, PairOrder.PB);
        };
    }

    /** Returns true if the data can free an effect from the order of the legs. */
    public boolean canDecide() {
        return this == CROSSOVER || this == BLOCKS || this == FRESH_LEGS;
    }
}
