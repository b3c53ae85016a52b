package io.holdfast.core.index;

import java.util.Arrays;

/**
 * One announcement that a chain of blocks was stored: the first under {@link #parent()} (or a root), each later one
 * under its predecessor.
 *
 * <p>A reused buffer, so that the path from the wire to the tree allocates nothing per block: its receiver reads
 * what it needs during the call and keeps no reference. It is filled block by block, or shown a part of arrays that
 * somebody else keeps; its own arrays grow to the largest announcement seen and stay.
 */
public final class StoredBlocks {
    /** No group is numbered higher. */
    public static final int LAST_GROUP = 255;

    private static final long[] NO_LONGS = {};
    private static final int[] NO_TOKENS = {};

    private long[] ownHashes = NO_LONGS;
    private int[] ownTokens = NO_TOKENS;

    private long[] hashes = ownHashes;
    private int hashFrom;
    private int count;
    private int[] tokens = ownTokens;
    private int tokenFrom;
    private int tokenCount;
    private long[] names = NO_LONGS;
    private int nameFrom;
    private boolean named;
    private long[] extras = NO_LONGS;
    private int extraFrom;
    private boolean extra;

    private boolean rooted = true;
    private long parent;
    private int blockTokens;
    private Tier tier = Tier.GPU;
    private int group;
    private boolean windowed;
    private boolean namespaced;
    private long namespace;

    /** Empties the buffer for the next announcement. */
    public StoredBlocks reset() {
        hashes = ownHashes;
        hashFrom = 0;
        count = 0;
        tokens = ownTokens;
        tokenFrom = 0;
        tokenCount = 0;
        named = false;
        extra = false;
        rooted = true;
        parent = 0;
        blockTokens = 0;
        tier = Tier.GPU;
        group = 0;
        windowed = false;
        namespaced = false;
        namespace = 0;
        return this;
    }

    public StoredBlocks add(long hash) {
        if (count == ownHashes.length) {
            ownHashes = Arrays.copyOf(ownHashes, Math.max(64, count << 1));
            hashes = ownHashes;
        }
        ownHashes[count++] = hash;
        return this;
    }

    public StoredBlocks addToken(int token) {
        if (tokenCount == ownTokens.length) {
            ownTokens = Arrays.copyOf(ownTokens, Math.max(1024, tokenCount << 1));
            tokens = ownTokens;
        }
        ownTokens[tokenCount++] = token;
        return this;
    }

    /** Shows hashes that somebody else keeps, in place of {@link #add}. */
    public StoredBlocks hashes(long[] array, int from, int blocks) {
        hashes = array;
        hashFrom = from;
        count = blocks;
        return this;
    }

    /** Shows tokens that somebody else keeps, in place of {@link #addToken}. */
    public StoredBlocks tokens(int[] array, int from, int length) {
        tokens = array;
        tokenFrom = from;
        tokenCount = length;
        return this;
    }

    /** Shows the blocks' names on the content chain, for a receiver that need not compute them from the tokens then. */
    public StoredBlocks names(long[] array, int from) {
        names = array;
        nameFrom = from;
        named = true;
        return this;
    }

    /** Shows what sets each block apart beside its tokens, such as its images: a number for each, 0 for nothing. */
    public StoredBlocks extras(long[] array, int from) {
        extras = array;
        extraFrom = from;
        extra = true;
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

    /** The engine's KV cache group, for a model whose layers keep different blocks. */
    public StoredBlocks group(int index) {
        group = index;
        return this;
    }

    /** Marks blocks of layers that look back over a window only, so that they tell nothing about whole prompts. */
    public StoredBlocks windowed(boolean value) {
        windowed = value;
        return this;
    }

    /**
     * Marks blocks whose tokens live in a namespace of their own (salt, LoRA): one hash may then stand for two
     * prefixes.
     */
    public StoredBlocks namespaced(boolean value) {
        namespaced = value;
        return this;
    }

    /** The namespace as the content chain numbers it; 0 is none. */
    public StoredBlocks namespace(long number) {
        namespace = number;
        namespaced = namespaced || number != 0;
        return this;
    }

    public int count() {
        return count;
    }

    public long hash(int index) {
        return hashes[hashFrom + index];
    }

    public int tokenCount() {
        return tokenCount;
    }

    public int token(int index) {
        return tokens[tokenFrom + index];
    }

    /** Returns true if the blocks' names on the content chain came with them. */
    public boolean named() {
        return named;
    }

    /** The block's name on the content chain; only when {@link #named}. */
    public long name(int index) {
        return names[nameFrom + index];
    }

    /** Returns what sets the block apart beside its tokens; 0 is nothing. */
    public long extra(int index) {
        return extra ? extras[extraFrom + index] : 0;
    }

    /** Returns true if the first block starts a prompt, that is, has no parent. */
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

    public int group() {
        return group;
    }

    public boolean windowed() {
        return windowed;
    }

    public boolean namespaced() {
        return namespaced;
    }

    public long namespace() {
        return namespace;
    }

    /** The tokens themselves, from {@link #tokenFrom} on: for hashing without a copy, not to be kept or written. */
    int[] tokenArray() {
        return tokens;
    }

    int tokenFrom() {
        return tokenFrom;
    }

    long[] hashArray() {
        return hashes;
    }

    int hashFrom() {
        return hashFrom;
    }
}
