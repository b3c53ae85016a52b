package io.holdfast.core.index;

/** What {@link EngineBlocks} report while events are applied. */
public interface TreeListener {
    /**
     * A chain of stores to the GPU ended with this block.
     *
     * @param depth its depth; 0 when unknown
     * @param returned whether the block ended an insertion and had been lost before
     */
    void insertionEnded(long lastBlock, int depth, boolean returned);

    /** A block on a pinned path left the GPU: the engine let go of it. */
    void pinnedBlockRemoved(long block);
}
