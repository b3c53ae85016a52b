package io.holdfast.core.index;

/** View of {@link EngineBlocks} for decisions; reading changes nothing. */
public interface TreeView {
    /** Blocks of the longest prefix of this path that is on the GPU, from its root down without a hole. */
    int match(Prefix path);

    /**
     * Blocks down to the deepest block that ended an insertion, among the first {@code matched}; 0 when no block did.
     * Only such a block may be pinned.
     */
    int insertionEnd(Prefix path, int matched);

    /** Returns true if the block is on the GPU and was the last one of an insertion, so that it may be pinned. */
    boolean endedInsertion(long block);

    /** Returns true if this block is on the GPU. */
    boolean resident(long block);

    /**
     * Returns true if this hash may stand for two blocks of the engine: stored in a namespace, or announced twice while
     * it was there.
     */
    boolean ambiguous(long block);

    /** Blocks from the root to this one, itself included; 0 when the way to the root is not known. */
    int depth(long block);

    /** The time of the last touch, on the clock of {@link EngineBlocks#now}, to 67 ms; 0 for an unknown block. */
    long lastTouch(long block);

    /** Returns the number of times that a ghost of this block was made. */
    int timesLost(long block);

    /** The hashes from the root to this block; its depth must be known. */
    long[] path(long block);

    /** Distinct blocks on pinned paths. */
    int pinnedBlocks();

    /** Returns true if the block lies on a pinned path. */
    boolean pinned(long block);

    /** Returns the number of blocks that a pin of this path would add to {@link #pinnedBlocks}. */
    int unpinnedBlocks(long lastBlock);

    /**
     * Returns how many of these distinct pinned paths, each named by its last block, have to be unpinned in this order
     * until no more than {@code most} blocks are pinned: at least {@code least}, and all of them where that is not
     * enough.
     */
    int pathsToUnpin(long[] lastBlocks, int least, long most);
}
