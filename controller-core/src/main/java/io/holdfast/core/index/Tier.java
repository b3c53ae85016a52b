package io.holdfast.core.index;

/** Memory that a block's KV is in. */
public enum Tier {
    GPU(0),
    HOST(1),
    DISK(2),
    EXTERNAL(3);

    /** The set of all tiers. */
    static final int ALL = 15;

    /** Distance of the tier; the GPU is nearest. */
    final int rank;

    /** The tier's place in a set of tiers. */
    final int bit;

    Tier(int rank) {
        this.rank = rank;
        bit = 1 << rank;
    }
}
