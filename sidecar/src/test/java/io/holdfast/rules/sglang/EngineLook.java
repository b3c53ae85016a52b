package io.holdfast.rules.sglang;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What only the engine itself knows of its pins. */
public final class EngineLook {
    private EngineLook() {}

    /** How often each block is pinned. */
    public static Map<Long, Integer> pins(SglangEngine engine) {
        return engine.cache().pins().counts();
    }

    /** Blocks in the cache that have at least this priority. */
    public static Set<Long> ofPriority(SglangEngine engine, long least) {
        Set<Long> blocks = new HashSet<>();
        for (RadixCache.Resident resident : engine.cache().residents()) {
            if (resident.node().priority >= least) {
                blocks.add(resident.block());
            }
        }
        return blocks;
    }

    /** Blocks that open sessions refer to or lock, by the session's id. */
    public static Map<String, Set<Long>> ofSessions(SglangEngine engine) {
        Map<String, Set<Long>> sessions = new HashMap<>();
        engine.streaming().locks().forEach((id, node) -> sessions.put(id, path(node)));
        engine.cache().sessions().leaves().forEach((id, leaves) -> {
            Set<Long> blocks = new HashSet<>();
            leaves.forEach(leaf -> blocks.addAll(path(leaf)));
            if (!blocks.isEmpty()) {
                sessions.put(id, blocks);
            }
        });
        return sessions;
    }

    private static Set<Long> path(RadixNode last) {
        Set<Long> blocks = new HashSet<>();
        for (RadixNode at = last; !at.isRoot(); at = at.parent()) {
            for (long block : at.blocks) {
                blocks.add(block);
            }
        }
        return blocks;
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
