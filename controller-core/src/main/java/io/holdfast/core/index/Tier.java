package io.holdfast.core.index;

/** Where a block's KV is. */
public enum Tier {
    GPU,
    HOST,
    DISK,
    EXTERNAL
}
