package io.holdfast.core.index;

/** Receives what {@link EngineBlocks} report while events are applied. */
public interface TreeListener {
    /**
     * A chain of stores to the GPU ended with this block.
     *
     * @param depth its depth; 0 when unknown
     * @param ended whether it ended an insertion for sure, so that it may be pinned
     */
    void insertionEnded(long lastBlock, int depth, boolean ended);

    /**
     * An insertion went a way of its own below this block, which other requests had passed; {@code first} is its first
     * block.
     */
    void parted(long above, long first);

    /** A block on a pinned path left the GPU: the engine released it. */
    void pinnedBlockRemoved(long block);

    /** One more pin counts on this path, or one fewer. */
    default void pinsChanged(long[] path) {}
}
