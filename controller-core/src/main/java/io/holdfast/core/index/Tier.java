package io.holdfast.core.index;

/** Where a block's KV is. */
public enum Tier {
    GPU(1),
    HOST(2),
    DISK(4),
    EXTERNAL(8);

    /** The set of all tiers. */
    static final int ALL = 15;

    /** The tier's place in a set of tiers. */
    final int bit;

    Tier(int bit) {
        this.bit = bit;
    }
}
