package io.holdfast.rules.sglang;

import java.util.Map;

/** What only the engine itself knows of its pins. */
public final class EngineLook {
    private EngineLook() {}

    /** How often each block is pinned. */
    public static Map<Long, Integer> pins(SglangEngine engine) {
        return engine.cache().pins().counts();
    }

    /** Whether the block is the last of a node that is in the tree, so that a pin of it is what it says. */
    public static boolean endsNode(SglangEngine engine, long block) {
        RadixNode node = engine.cache().pins().index().get(block);
        return node != null && node.lastBlock() == block;
    }
}
