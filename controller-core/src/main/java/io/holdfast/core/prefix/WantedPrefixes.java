package io.holdfast.core.prefix;

/** Register of the prefixes that somebody wants held, shared or not, so that the paths over them are followed. */
public interface WantedPrefixes {
    /**
     * Follows a prefix; once for each who wants it.
     *
     * @param blocks from the root to its last one
     */
    void want(long lastBlock, int blocks);

    /** Takes one {@link #want} back. */
    void unwant(long lastBlock);

    /** Returns when a request last went over it, ours aside; before all time where none was seen to. */
    long lastPassed(long lastBlock);

    /**
     * Returns when a request that went over it last found all of it in the cache; before all time where none was seen
     * to.
     */
    long lastHit(long lastBlock);
}
