package io.holdfast.rules.kvcached;

/**
 * Memory for an engine's blocks that grows and shrinks while the engine runs. One thread calls it, the engine's.
 *
 * <p>An engine counts its blocks: those of running requests and those that are kept for reuse alike, without the null
 * block. Before it takes blocks it asks {@link #allowedBlocks}, releases cached blocks where that is too little, and
 * treats what is still missing as it treats a full cache. After it took or freed blocks it says {@link #used}.
 */
public interface ElasticPool {
    /** Memory of the engine's own, as without kvcached: allows everything. */
    ElasticPool OWN = new ElasticPool() {
        @Override
        public boolean isElastic() {
            return false;
        }

        @Override
        public int allowedBlocks() {
            return Integer.MAX_VALUE;
        }

        @Override
        public void used(int blocks) {}

        @Override
        public void cleared() {}

        @Override
        public int cachedBlocks() {
            return Integer.MAX_VALUE;
        }
    };

    /** Returns true if the pool is kvcached's. */
    default boolean isElastic() {
        return true;
    }

    /**
     * The most blocks that the engine may have now. To be asked when blocks are wanted and at no other time: asking is
     * what makes a limit count that was set meanwhile, and an engine that allocates nothing never notices one.
     */
    int allowedBlocks();

    /** The engine now has so many blocks, at most as many as were allowed when it took them. */
    void used(int blocks);

    /** The whole cache was emptied at once, and no request runs: pages in reserve go as well. */
    void cleared();

    /** The most blocks that may be cached without being used by a request; checked when a request has ended. */
    int cachedBlocks();
}
