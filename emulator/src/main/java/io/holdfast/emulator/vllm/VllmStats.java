package io.holdfast.emulator.vllm;

import io.holdfast.emulator.engine.RequestTally;

/**
 * The engine's own numbers at one moment.
 *
 * @param blocks that can be used: without the first one
 * @param freeBlocks that nobody uses, cached or not
 * @param prefixQueries tokens that were looked up in the cache, by requests that were admitted
 * @param prefixHits how many of them it had
 * @param cachedTokens of prompts, found when their request was first admitted
 * @param scheduledTokens computed in all passes
 * @param passes that computed at least one token
 * @param generatedTokens said so far
 * @param whole answered at once
 * @param streamed answered token by token
 */
public record VllmStats(
        int running,
        int waiting,
        int blocks,
        int freeBlocks,
        long prefixQueries,
        long prefixHits,
        long preemptions,
        long aborted,
        long promptTokens,
        long cachedTokens,
        long generatedTokens,
        long scheduledTokens,
        long passes,
        RequestTally whole,
        RequestTally streamed,
        VllmTimes times) {

    /** The share of blocks in use; what is cached and unused counts as free. */
    public double usage() {
        return 1 - freeBlocks / (double) blocks;
    }
}
