package io.holdfast.loadtest.journal;

/**
 * Number of blocks of the GPU's cache that an engine said it stored and removed, and how often it said that it emptied it.
 *
 * @param stored a block that was removed and stored again counts twice
 */
public record CacheEvents(long stored, long removed, long clears) {
    public static final CacheEvents NONE = new CacheEvents(0, 0, 0);

    public CacheEvents stored(long blocks) {
        return new CacheEvents(stored + blocks, removed, clears);
    }

    public CacheEvents removed(long blocks) {
        return new CacheEvents(stored, removed + blocks, clears);
    }

    /** One more clear; what was stored before stays counted. */
    public CacheEvents cleared() {
        return new CacheEvents(stored, removed, clears + 1);
    }

    /** What came since an earlier count. */
    public CacheEvents since(CacheEvents before) {
        return new CacheEvents(stored - before.stored, removed - before.removed, clears - before.clears);
    }
}
