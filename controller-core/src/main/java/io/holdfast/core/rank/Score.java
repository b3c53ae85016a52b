package io.holdfast.core.rank;

/** Returns what a block is worth now, compared with others; nothing at all at 0. */
interface Score {
    float of(int block, long nowNanos);
}
