package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Tokens;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A run of blocks without a branch inside. A deleted node stays as it was: the pin index and requests may still know
 * it.
 */
final class RadixNode {
    final Namespace space;
    final Map<Long, RadixNode> children = new HashMap<>();

    /** Null at a root. */
    @Nullable
    RadixNode parent;

    long[] blocks;
    Tokens tokens;

    /** Tiers that hold its blocks; a node of the tree is in one at least. Written by {@link #gpu} and the host tier. */
    private boolean onGpu;

    boolean onHost;

    /** Children with their blocks on the GPU. */
    int gpuChildren;

    int locks;
    long lastUse;
    int hits;
    long priority;

    /** References of sessions. */
    int references;

    /** Pins that keep it in the host tier. */
    int hostPins;

    /** Order in which it waits for its eviction, and its place there; both null while it cannot be evicted. */
    @Nullable
    EvictionOrder order;

    EvictionOrder.@Nullable Rank rank;

    private RadixNode(Namespace space, @Nullable RadixNode parent, long[] blocks, Tokens tokens) {
        this.space = space;
        this.parent = parent;
        this.blocks = blocks;
        this.tokens = tokens;
    }

    static RadixNode root(Namespace space) {
        RadixNode root = new RadixNode(space, null, new long[0], Tokens.NONE);
        root.onGpu = true;
        return root;
    }

    /** A new leaf under this node, on the GPU. */
    RadixNode grow(long[] blocks, Tokens tokens) {
        RadixNode leaf = new RadixNode(space, this, blocks, tokens);
        children.put(leaf.firstBlock(), leaf);
        leaf.gpu(true);
        return leaf;
    }

    /** Puts a new node above this one for its first blocks, in the same tiers and as well protected. */
    RadixNode cut(int at) {
        RadixNode above = parent();
        int tokensAt = tokens.size() / blocks.length * at;
        RadixNode upper = new RadixNode(space, above, Arrays.copyOf(blocks, at), tokens.part(0, tokensAt));
        above.children.put(upper.firstBlock(), upper);
        upper.onGpu = onGpu;
        upper.gpuChildren = onGpu ? 1 : 0;
        upper.onHost = onHost;
        upper.locks = locks;
        upper.hits = hits;
        upper.priority = priority;
        upper.references = references;
        upper.hostPins = hostPins;
        blocks = Arrays.copyOfRange(blocks, at, blocks.length);
        tokens = tokens.part(tokensAt, tokens.size());
        parent = upper;
        upper.children.put(firstBlock(), this);
        return upper;
    }

    /**
     * Takes it out of the tree, whatever is below.
     *
     * @throws EngineDeath when it is out already; a node that took its place under the parent is gone by then
     */
    void detach() {
        RadixNode above = parent();
        if (above.children.remove(firstBlock()) != this) {
            throw new EngineDeath("AssertionError: parent does not have child key");
        }
        if (onGpu) {
            above.gpuChildren--;
        }
    }

    boolean isRoot() {
        return parent == null;
    }

    boolean isDeleted() {
        return parent().children.get(firstBlock()) != this;
    }

    boolean onGpu() {
        return onGpu;
    }

    void gpu(boolean there) {
        if (there != onGpu) {
            onGpu = there;
            parent().gpuChildren += there ? 1 : -1;
        }
    }

    /** Blocks from the first on that are the chain's blocks from a position up to before another. */
    int shared(TokenChain chain, int from, int to) {
        int most = Math.min(blocks.length, to - from);
        int shared = 1;
        while (shared < most && blocks[shared] == chain.name(from + shared)) {
            shared++;
        }
        return shared;
    }

    RadixNode parent() {
        if (parent == null) {
            throw new IllegalStateException("A root has no parent and is neither cut nor evicted.");
        }
        return parent;
    }

    long firstBlock() {
        return blocks[0];
    }

    long lastBlock() {
        return blocks[blocks.length - 1];
    }
}
