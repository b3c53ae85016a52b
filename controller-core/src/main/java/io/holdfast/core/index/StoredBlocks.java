package io.holdfast.core.index;

import java.util.Arrays;

/**
 * One announcement that a chain of blocks was stored: the first under {@link #parent()} (or a root), each later one under
 * its predecessor.
 *
 * <p>A reused buffer, so that the path from the wire to the tree allocates nothing per block: whoever receives it reads
 * what it needs during the call and keeps no reference. Arrays grow to the largest announcement seen and stay.
 */
public final class StoredBlocks {
    private long[] hashes = new long[64];
    private int[] tokens = new int[1024];
    private int count;
    private int tokenCount;
    private boolean rooted;
    private long parent;
    private int blockTokens;
    private Tier tier = Tier.GPU;
    private boolean namespaced;

    /** Empties the buffer for the next announcement. */
    public StoredBlocks reset() {
        count = 0;
        tokenCount = 0;
        rooted = true;
        parent = 0;
        blockTokens = 0;
        tier = Tier.GPU;
        namespaced = false;
        return this;
    }

    public StoredBlocks add(long hash) {
        if (count == hashes.length) {
            hashes = Arrays.copyOf(hashes, count << 1);
        }
        hashes[count++] = hash;
        return this;
    }

    public StoredBlocks addToken(int token) {
        if (tokenCount == tokens.length) {
            tokens = Arrays.copyOf(tokens, tokenCount << 1);
        }
        tokens[tokenCount++] = token;
        return this;
    }

    /** Chains the first block under this one; without the call the first block is a root. */
    public StoredBlocks under(long parentHash) {
        rooted = false;
        parent = parentHash;
        return this;
    }

    public StoredBlocks blockTokens(int tokensPerBlock) {
        blockTokens = tokensPerBlock;
        return this;
    }

    public StoredBlocks in(Tier where) {
        tier = where;
        return this;
    }

    /** Marks blocks whose tokens live in a namespace of their own (salt, LoRA): one hash may then stand for two prefixes. */
    public StoredBlocks namespaced(boolean value) {
        namespaced = value;
        return this;
    }

    public int count() {
        return count;
    }

    public long hash(int index) {
        return hashes[index];
    }

    public int tokenCount() {
        return tokenCount;
    }

    public int token(int index) {
        return tokens[index];
    }

    /** Whether the first block starts a prompt, that is, has no parent. */
    public boolean rooted() {
        return rooted;
    }

    /** The block that the first one follows; meaningless when {@link #rooted()}. */
    public long parent() {
        return parent;
    }

    /** Tokens in each block as the engine counts them; 0 when it did not say. */
    public int blockTokens() {
        return blockTokens;
    }

    public Tier tier() {
        return tier;
    }

    public boolean namespaced() {
        return namespaced;
    }
}
