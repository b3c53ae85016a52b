package io.holdfast.emulator.sglang;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A run of blocks without a branch inside. A deleted node stays as it was: the pin index and requests may still know it. */
final class RadixNode {
    final Map<Long, RadixNode> children = new HashMap<>();

    /** Null at a root. */
    @Nullable
    RadixNode parent;

    long[] blocks;
    int locks;
    long lastUse;

    RadixNode(@Nullable RadixNode parent, long[] blocks, long lastUse) {
        this.parent = parent;
        this.blocks = blocks;
        this.lastUse = lastUse;
    }

    long firstBlock() {
        return blocks[0];
    }

    long lastBlock() {
        return blocks[blocks.length - 1];
    }
}
