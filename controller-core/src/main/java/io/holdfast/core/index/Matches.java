package io.holdfast.core.index;

import java.util.Arrays;

/**
 * The answer to one {@link BlockTree#match}, how much of a path each cache holds, in a buffer that one reader keeps.
 *
 * <p>Nothing is allocated once it has met as many caches as there are.
 */
public final class Matches {
    /** Number of leading blocks, by holder. */
    private int[] reach = new int[16 << Holders.TIER_BITS];

    /** Caches that hold all of the path that was walked; only where each has a bit. */
    private long along;

    private int[] caches = new int[16];
    private int count;
    private int deepestTier;
    private int cacheLimit;

    private int[] strips = new int[64];
    private int[] versions = new int[64];
    private int visited;

    /** Returns the number of caches that hold the first block of the path. */
    public int count() {
        return count;
    }

    /** The id of one of them. */
    public int cache(int index) {
        return caches[index];
    }

    /** Returns the number of leading blocks that it holds on the GPU. */
    public int depth(int index) {
        return depth(index, Tier.GPU);
    }

    /** Returns the number of leading blocks that it holds in this tier or a nearer one, each block in any of them. */
    public int depth(int index, Tier tier) {
        return reach[caches[index] << Holders.TIER_BITS | Math.min(tier.rank, deepestTier)];
    }

    /** {@link #depth(int, Tier)} of the cache with this id; 0 when it does not hold the first block. */
    public int depthOf(int cache, Tier tier) {
        int holder = cache << Holders.TIER_BITS | Math.min(tier.rank, deepestTier);
        return holder < reach.length ? reach[holder] : 0;
    }

    void begin(int deepest, int limit) {
        for (int i = 0; i < count; i++) {
            Arrays.fill(reach, caches[i] << Holders.TIER_BITS, (caches[i] + 1) << Holders.TIER_BITS, 0);
        }
        count = 0;
        visited = 0;
        along = 0;
        deepestTier = deepest;
        cacheLimit = limit;
    }

    /** A strip was looked at when it had this version. */
    void visit(int strip, int version) {
        if (visited == strips.length) {
            strips = Arrays.copyOf(strips, visited << 1);
            versions = Arrays.copyOf(versions, visited << 1);
        }
        strips[visited] = strip;
        versions[visited++] = version;
    }

    /** No cache has an id from this on. */
    int caches() {
        return cacheLimit;
    }

    int deepestTier() {
        return deepestTier;
    }

    int visited() {
        return visited;
    }

    int strip(int index) {
        return strips[index];
    }

    int version(int index) {
        return versions[index];
    }

    long along() {
        return along;
    }

    /** Sets the caches that hold all of the path up to here. */
    void along(long bits) {
        along = bits;
    }

    /** These caches hold so many leading blocks, and no more. */
    void reached(long bits, int blocks) {
        for (long left = bits; left != 0; left &= left - 1) {
            reach[Long.numberOfTrailingZeros(left) << Holders.TIER_BITS] = blocks;
        }
    }

    /** Makes room for a cache that may hold the first block. */
    void makeRoom(int cache) {
        if ((cache + 1) << Holders.TIER_BITS > reach.length) {
            reach = Arrays.copyOf(reach, Integer.highestOneBit(cache + 1) << (Holders.TIER_BITS + 1));
        }
    }

    /** The cache holds the first block. */
    void found(int cache) {
        if (count == caches.length) {
            caches = Arrays.copyOf(caches, count << 1);
        }
        caches[count++] = cache;
    }

    /** Returns true if the cache may hold the first block. */
    boolean mayHold(int cache) {
        return (cache + 1) << Holders.TIER_BITS <= reach.length;
    }

    /**
     * Goes on along a strip that holds {@code blocks} blocks of the path from {@code from} on, of which a cache has
     * {@code presence} in the tier and nearer ones; whether the cache has all of them.
     */
    boolean advance(int holder, int from, int blocks, int presence) {
        if (reach[holder] != from) {
            return false;
        }
        int held = Math.min(Integer.numberOfTrailingZeros(~presence), blocks);
        reach[holder] = from + held;
        return held == blocks;
    }
}
