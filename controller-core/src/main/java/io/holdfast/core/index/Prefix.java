package io.holdfast.core.index;

/** A chain of blocks from a root down to one block, by the engine's hashes. */
public interface Prefix {
    int blocks();

    /** The block at this depth, 0 being the root. */
    long block(int depth);
}
