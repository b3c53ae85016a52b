package io.holdfast.core.index;

/** Findings about the last announcement of stores; a reused object, written over by the next. */
public final class LastStore {
    private boolean decides;
    private boolean leading;
    private int there;
    private int loaded;
    private int depth;

    /** Returns true if it was of the group that decides what is in the cache; if not, the rest means nothing. */
    public boolean decides() {
        return decides;
    }

    /** Returns the number of leading blocks of the chain that were on the GPU already. */
    public int leadingOnGpu() {
        return there;
    }

    /** Returns the number of blocks of the chain that were in another tier, and not on the GPU. */
    public int fromOtherTiers() {
        return loaded;
    }

    /** Blocks from the root to the last one of the chain; 0 where the way to the root is not known. */
    public int depth() {
        return depth;
    }

    void begin(boolean ofDecidingGroup) {
        decides = ofDecidingGroup;
        leading = true;
        there = 0;
        loaded = 0;
        depth = 0;
    }

    /** Goes on with these offsets of a strip. */
    void held(int offsets, int twice, int elsewhere) {
        int fresh = offsets & ~twice;
        loaded += Integer.bitCount(fresh & elsewhere);
        if (leading) {
            there += Integer.bitCount(offsets & Integer.lowestOneBit(fresh) - 1);
            leading = fresh == 0;
        }
    }

    void endsAt(int depthOfLast) {
        depth = depthOfLast;
    }
}
