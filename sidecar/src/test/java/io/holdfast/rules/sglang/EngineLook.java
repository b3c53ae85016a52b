package io.holdfast.rules.sglang;

import java.util.List;
import java.util.Map;

/** What only the engine itself knows of its pins. */
public final class EngineLook {
    private EngineLook() {}

    /** How often each block is pinned. */
    public static Map<Long, Integer> pins(SglangEngine engine) {
        return engine.cache().pins().counts();
    }

    /** Whether a pin of this block keeps anything. */
    public static boolean holds(SglangEngine engine, long block) {
        return engine.cache().pins().holds(block);
    }

    /** Those of the blocks that are the last of a node in the tree, so that a pin of them is what it says. */
    public static List<Long> endingNodes(SglangEngine engine, List<Long> blocks) {
        Map<Long, RadixNode> index = engine.cache().pins().index();
        return blocks.stream()
                .filter(block -> {
                    RadixNode node = index.get(block);
                    return node != null && node.lastBlock() == block;
                })
                .toList();
    }
}
