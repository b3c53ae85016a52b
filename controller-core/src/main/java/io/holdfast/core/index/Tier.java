package io.holdfast.core.index;

/** Where a block's KV is. */
public enum Tier {
    GPU(0),
    HOST(1),
    DISK(2),
    EXTERNAL(3);

    /** The set of all tiers. */
    static final int ALL = 15;

    /** How far away the tier is; the GPU is nearest. */
    final int rank;

    /** The tier's place in a set of tiers. */
    final int bit;

    Tier(int rank) {
        this.rank = rank;
        bit = 1 << rank;
    }
}
