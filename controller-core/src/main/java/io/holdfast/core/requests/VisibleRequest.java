package io.holdfast.core.requests;

import java.util.OptionalLong;

/**
 * One request as its stores show it: the path that it walked, what of it was there before, what it stored, what it
 * generated. It grows until it is {@linkplain RequestListener#completed completed}.
 */
public final class VisibleRequest {
    private final long firstMicros;
    private final int blockTokens;
    private final int hitsBelow;

    private long lastBlock;
    private long lastMicros;
    private int blocks;
    private int newBlocks;
    private int promptBlocks;
    private long promptTokens = -1;
    private boolean judged;

    /* What the one that puts it together remembers of it. */
    int place;
    long batch;
    int told = -1;
    int toldBlocks;
    boolean onlyLoaded = true;
    boolean cut;
    boolean decoding;
    boolean delivered;

    VisibleRequest(long micros, int blockTokens, int hitsBelow) {
        this.firstMicros = micros;
        this.lastMicros = micros;
        this.blockTokens = blockTokens;
        this.hitsBelow = hitsBelow;
    }

    /** The last block of its path. */
    public long lastBlock() {
        return lastBlock;
    }

    /** Blocks from the root to the last one; 0 where the way to the root is not known. */
    public int blocks() {
        return blocks;
    }

    /**
     * Blocks of its path that were in the cache before it, in whatever tier; 0 where the way to the root is not known.
     */
    public int hits() {
        return Math.max(0, blocks - newBlocks);
    }

    /** Blocks that it computed and stored, second copies of blocks that were there included. */
    public int newBlocks() {
        return newBlocks;
    }

    /** Full blocks of its prompt. */
    public int promptBlocks() {
        return promptBlocks;
    }

    /** The exact length of its prompt, where the engine's counters gave it away. */
    public OptionalLong promptTokens() {
        return promptTokens < 0 ? OptionalLong.empty() : OptionalLong.of(promptTokens);
    }

    /** Blocks that it stored and that hold tokens which it generated. */
    public int outputBlocks() {
        return Math.max(0, blocks - Math.max(promptBlocks, hitsBelow));
    }

    /** Tokens in a block; 0 when the engine did not say. */
    public int blockTokens() {
        return blockTokens;
    }

    /**
     * Returns true if it was put together by how long the engine takes for a token, and may be two requests or a part
     * of one.
     */
    public boolean judged() {
        return judged;
    }

    /** Returns when its first store was published, in microseconds of the engine's clock. */
    public long firstMicros() {
        return firstMicros;
    }

    /** Returns when its last store was published, in microseconds of the engine's clock. */
    public long lastMicros() {
        return lastMicros;
    }

    void extend(long block, int depth, int computed, boolean output, long micros) {
        lastBlock = block;
        blocks = depth;
        newBlocks += computed;
        if (!output) {
            promptBlocks = depth;
        }
        lastMicros = micros;
    }

    void judge() {
        judged = true;
    }

    /** It was the only one that the engine counted, and had a prompt of this length. */
    void settle(long tokens) {
        judged = false;
        promptTokens = tokens;
        if (blockTokens > 0 && blocks > 0) {
            promptBlocks = (int) Math.min(blocks, tokens / blockTokens);
        }
    }

    @Override
    public String toString() {
        return "request to block " + lastBlock + ": " + blocks + " blocks, " + hits() + " hits, " + newBlocks + " new, "
                + outputBlocks() + " output" + (judged ? ", judged" : "");
    }
}
