package io.holdfast.emulator.sglang;

import io.holdfast.core.index.Tier;
import io.holdfast.emulator.engine.BlockName;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.EngineDeath;
import io.holdfast.emulator.engine.Tokens;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Set;

/*
 * The engine's prefix cache and its pool of token slots.
 *
 * The tree
 * --------
 * Blocks (pages of tokens) are named by the chain hash of everything up to them, so a name stands for a whole prefix and the
 * tree compares names where the engine compares tokens. A node is a run of blocks. Matching cuts a node in two where a
 * prompt leaves it: the upper half is new, the lower half stays the object it was. Eviction takes whole nodes, leaves
 * first, the least recently used first, so the cuts decide what goes together. Every visit stamps a node with the next
 * number of one counter, from the root downwards: the deepest node of a path is its newest.
 *
 * Sizes
 * -----
 * free + evictable + protected + held by requests = capacity, in tokens. A node with a lock is protected; a lock on a node
 * locks the path up to its root. Nodes without lock and without children are the leaves that may be evicted.
 *
 * Pins
 * ----
 * As on the branch that has them: an index leads from a block to the node object whose insertion stored it. The first pin of
 * a block locks that node's path, more pins only count, the last unpin unlocks. Since a cut leaves the lower half its
 * object, a block above a cut still leads to the lower half: pinning it locks more than asked, and after the lower half was
 * evicted it leads to a deleted node. Then the sizes are wrong by that node, an unpin makes it a leaf again, and evicting
 * it ends the engine. Only the last block of an insertion never leads astray. None of this is mended here: controllers have
 * to be safe beside the engine as it is.
 */
final class RadixCache {
    /** Where a prompt's blocks end in the tree. */
    record Match(int tokens, RadixNode node) {}

    /** @param present tokens that were in the tree before */
    record Insertion(int present, RadixNode node) {}

    private final int pageTokens;
    private final int capacityTokens;
    private final boolean pinsLock;
    private final EventQueue events;
    private final Map<String, RadixNode> roots = new HashMap<>();
    private final Set<RadixNode> leaves = new HashSet<>();
    private final Map<Long, RadixNode> index = new HashMap<>();
    private final Map<Long, Integer> pins = new LinkedHashMap<>();
    private long uses;
    private int free;
    private int evictable;
    private int locked;
    private long evictedTokens;

    /** @param pinsLock false for an engine that answers pins and does not keep them */
    RadixCache(int capacityTokens, int pageTokens, boolean pinsLock) {
        this.capacityTokens = capacityTokens;
        this.pageTokens = pageTokens;
        this.pinsLock = pinsLock;
        this.events = new EventQueue(pageTokens);
        clear();
    }

    /** Finds the longest cached part of the first {@code count} blocks; touches it and cuts a node that it ends within. */
    Match match(String namespace, long[] blocks, int count) {
        RadixNode node = root(namespace);
        int at = 0;
        while (at < count) {
            RadixNode child = node.children.get(blocks[at]);
            if (child == null) {
                break;
            }
            child.lastUse = ++uses;
            int shared = shared(child, blocks, at, count);
            at += shared;
            if (shared < child.blocks.length) {
                node = cut(child, shared);
                break;
            }
            node = child;
        }
        return new Match(at * pageTokens, node);
    }

    /**
     * Puts the first {@code count} blocks into the tree; what is missing becomes one new leaf. Accounts the new blocks as
     * the tree's: the caller no longer holds them.
     */
    Insertion insert(String namespace, long[] blocks, int count, int[] tokens) {
        Match match = match(namespace, blocks, count);
        int present = match.tokens() / pageTokens;
        if (present == count) {
            return new Insertion(match.tokens(), match.node());
        }
        RadixNode parent = match.node();
        RadixNode leaf = new RadixNode(parent, Arrays.copyOfRange(blocks, present, count), ++uses);
        parent.children.put(leaf.firstBlock(), leaf);
        evictable += (count - present) * pageTokens;
        reviewLeaf(parent);
        reviewLeaf(leaf);
        for (long block : leaf.blocks) {
            index.put(block, leaf);
        }
        events.stored(
                parent.parent == null ? Optional.empty() : Optional.of(new BlockName.Numbered(parent.lastBlock())),
                leaf.blocks,
                Tokens.between(tokens, present * pageTokens, count * pageTokens),
                Tier.GPU,
                "");
        return new Insertion(match.tokens(), leaf);
    }

    /** Evicts whole nodes until at least this many tokens are freed or nothing is left to evict; returns the freed. */
    int evict(int tokens) {
        PriorityQueue<RadixNode> heap = new PriorityQueue<>(Comparator.comparingLong(node -> node.lastUse));
        heap.addAll(leaves);
        int freed = 0;
        while (freed < tokens) {
            RadixNode node = heap.poll();
            if (node == null) {
                break;
            }
            int size = size(node);
            free += size;
            freed += size;
            RadixNode parent = detach(node);
            evictable -= size;
            evictedTokens += size;
            leaves.remove(node);
            reviewLeaf(parent);
            if (leaves.contains(parent)) {
                heap.add(parent);
            }
            for (long block : node.blocks) {
                index.remove(block);
            }
            events.removed(node.blocks, Tier.GPU);
        }
        return freed;
    }

    void lock(RadixNode node) {
        for (RadixNode at = node; at.parent != null; at = at.parent) {
            if (at.locks == 0) {
                evictable -= size(at);
                locked += size(at);
            }
            at.locks++;
            reviewLeaf(at);
        }
    }

    void unlock(RadixNode node) {
        for (RadixNode at = node; at.parent != null; at = at.parent) {
            if (at.locks == 1) {
                evictable += size(at);
                locked -= size(at);
            }
            at.locks--;
            reviewLeaf(at);
        }
    }

    /** Takes slots from the pool, whole pages; the caller made room before. */
    void take(int tokens) {
        if (tokens > free) {
            throw new EngineDeath("Out of memory: " + tokens + " tokens wanted, " + free + " free.");
        }
        free -= tokens;
    }

    void giveBack(int tokens) {
        free += tokens;
    }

    /** Pins each block once more; returns how many of them are known. */
    int pin(long[] blocks) {
        int known = 0;
        for (long block : blocks) {
            RadixNode node = index.get(block);
            if (node == null) {
                continue;
            }
            if (pins.merge(block, 1, Integer::sum) == 1 && pinsLock) {
                lock(node);
            }
            known++;
        }
        return known;
    }

    /** Takes one pin from each block; returns how many were pinned and are still known. */
    int unpin(long[] blocks) {
        int released = 0;
        for (long block : blocks) {
            int count = pins.getOrDefault(block, 0);
            if (count > 1) {
                pins.put(block, count - 1);
                released++;
            } else if (count == 1) {
                pins.remove(block);
                RadixNode node = index.get(block);
                if (node != null) {
                    if (pinsLock) {
                        unlock(node);
                    }
                    released++;
                }
            }
        }
        return released;
    }

    /** Takes one pin from every pinned block. */
    int unpinAll() {
        return unpin(pins.keySet().stream().mapToLong(Long::longValue).toArray());
    }

    /** Empties the tree, forgets pins, frees the pool. */
    void clear() {
        roots.clear();
        leaves.clear();
        index.clear();
        pins.clear();
        free = capacityTokens;
        evictable = 0;
        locked = 0;
        events.cleared();
    }

    List<CacheEvent> drainEvents() {
        return events.drain();
    }

    int freeTokens() {
        return free;
    }

    int evictableTokens() {
        return evictable;
    }

    int protectedTokens() {
        return locked;
    }

    int capacityTokens() {
        return capacityTokens;
    }

    long evictedTokens() {
        return evictedTokens;
    }

    Map<Long, Integer> pins() {
        return Map.copyOf(pins);
    }

    /** Every block in the tree with its parent, 0 under a root, and the locks of its node, in no order. */
    List<Resident> residents() {
        List<Resident> all = new ArrayList<>();
        for (RadixNode root : roots.values()) {
            collect(root, 0, all);
        }
        return all;
    }

    record Resident(long block, long parent, int locks) {}

    private static void collect(RadixNode node, long above, List<Resident> into) {
        long parent = above;
        for (long block : node.blocks) {
            into.add(new Resident(block, parent, node.locks));
            parent = block;
        }
        for (RadixNode child : node.children.values()) {
            collect(child, parent, into);
        }
    }

    private RadixNode root(String namespace) {
        return roots.computeIfAbsent(namespace, _ -> new RadixNode(null, new long[0], 0));
    }

    private static int shared(RadixNode node, long[] blocks, int from, int to) {
        int most = Math.min(node.blocks.length, to - from);
        int shared = 1;
        while (shared < most && node.blocks[shared] == blocks[from + shared]) {
            shared++;
        }
        return shared;
    }

    /** Puts a new node above the given one for its first blocks; it inherits the locks. */
    private RadixNode cut(RadixNode lower, int at) {
        RadixNode parent = parentOf(lower);
        RadixNode upper = new RadixNode(parent, Arrays.copyOf(lower.blocks, at), ++uses);
        upper.locks = lower.locks;
        parent.children.put(upper.firstBlock(), upper);
        lower.blocks = Arrays.copyOfRange(lower.blocks, at, lower.blocks.length);
        lower.parent = upper;
        upper.children.put(lower.firstBlock(), lower);
        return upper;
    }

    private static RadixNode detach(RadixNode node) {
        RadixNode parent = parentOf(node);
        if (parent.children.remove(node.firstBlock()) != node) {
            throw new EngineDeath("AssertionError: parent does not have child key");
        }
        return parent;
    }

    private static RadixNode parentOf(RadixNode node) {
        RadixNode parent = node.parent;
        if (parent == null) {
            throw new IllegalStateException("A root is neither cut nor evicted.");
        }
        return parent;
    }

    private void reviewLeaf(RadixNode node) {
        if (node.parent != null && node.locks <= 0 && node.children.isEmpty()) {
            leaves.add(node);
        } else {
            leaves.remove(node);
        }
    }

    private int size(RadixNode node) {
        return node.blocks.length * pageTokens;
    }
}
