package io.holdfast.rules.phases;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Tokens;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;

/**
 * The blocks that stay for later prompts, as a tree by content: one node a block, the least recently used leaf goes
 * first.
 *
 * <p>Names are chains over all tokens up to the block's last one, so a name stands for a whole prefix and leads to its
 * node.
 */
final class PrefixTree {
    /** A block, or the root, which is none. */
    static final class Node {
        private final long name;
        private final Optional<Node> parent;
        private int children;
        private int locks;
        private long lastUse;

        private Node(long name, Optional<Node> parent) {
            this.name = name;
            this.parent = parent;
        }
    }

    private final int blockTokens;
    private final Map<Long, Node> nodes = new HashMap<>();
    private final Node root = new Node(0, Optional.empty());
    private final NavigableSet<Node> leaves =
            new TreeSet<>(Comparator.comparingLong((Node node) -> node.lastUse).thenComparingLong(node -> node.name));
    private final List<CacheEvent> events = new ArrayList<>(List.of(new CacheEvent.Cleared()));
    private int locked;
    private long uses;

    PrefixTree(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    Node root() {
        return root;
    }

    /** Counts how many of the first {@code count} blocks are there; they count as used now. */
    int match(long[] names, int count) {
        int found = 0;
        while (found < count && nodes.containsKey(names[found])) {
            found++;
        }
        touch(names, found);
        return found;
    }

    /** The node of the so-manieth block, which is there. */
    Node at(long[] names, int count) {
        return count == 0
                ? root
                : Optional.ofNullable(nodes.get(names[count - 1]))
                        .orElseThrow(() -> new IllegalStateException("Block " + count + " is not in the tree."));
    }

    /** Puts the first {@code count} blocks into the tree; returns how many were there. */
    int insert(long[] names, int count, int[] tokens) {
        int present = match(names, count);
        Node above = at(names, present);
        List<BlockName> added = new ArrayList<>();
        for (int i = present; i < count; i++) {
            Node node = new Node(names[i], Optional.of(above));
            leaves.remove(above);
            above.children++;
            nodes.put(names[i], node);
            added.add(new BlockName.Numbered(names[i]));
            above = node;
        }
        touch(names, count);
        if (!added.isEmpty()) {
            events.add(new CacheEvent.Stored(
                    present == 0 ? Optional.empty() : Optional.of(new BlockName.Numbered(names[present - 1])),
                    added,
                    Tokens.between(tokens, present * blockTokens, count * blockTokens),
                    blockTokens,
                    Tier.GPU,
                    ""));
        }
        return present;
    }

    /** Evicts so many blocks, or all that may go; returns how many. */
    int evict(int wanted) {
        List<BlockName> gone = new ArrayList<>();
        while (gone.size() < wanted && !leaves.isEmpty()) {
            Node leaf = leaves.removeFirst();
            nodes.remove(leaf.name);
            gone.add(new BlockName.Numbered(leaf.name));
            leaf.parent.ifPresent(parent -> {
                parent.children--;
                review(parent);
            });
        }
        if (!gone.isEmpty()) {
            events.add(new CacheEvent.Removed(gone, Tier.GPU));
        }
        return gone.size();
    }

    /** Keeps the block and all above it from being evicted. */
    void lock(Node node) {
        for (Node at = node; at.parent.isPresent(); at = at.parent.get()) {
            if (at.locks++ == 0) {
                leaves.remove(at);
                locked++;
            }
        }
    }

    void unlock(Node node) {
        for (Node at = node; at.parent.isPresent(); at = at.parent.get()) {
            if (--at.locks == 0) {
                locked--;
                review(at);
            }
        }
    }

    int blocks() {
        return nodes.size();
    }

    int lockedBlocks() {
        return locked;
    }

    /** All names, in no order. */
    long[] names() {
        return nodes.keySet().stream().mapToLong(Long::longValue).toArray();
    }

    /** Returns and forgets the events since the last call. */
    List<CacheEvent> drainEvents() {
        List<CacheEvent> batch = List.copyOf(events);
        events.clear();
        return batch;
    }

    private void touch(long[] names, int count) {
        for (int i = 0; i < count; i++) {
            Node node = at(names, i + 1);
            leaves.remove(node);
            node.lastUse = ++uses;
            review(node);
        }
    }

    private void review(Node node) {
        if (node.parent.isPresent() && node.locks == 0 && node.children == 0) {
            leaves.add(node);
        }
    }
}
