package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.RequestTally;

/**
 * The engine's own numbers as its last pass left them: what arrives later shows after the next one.
 *
 * @param ready whether it serves; a server with graphs captures them before
 * @param blocks that can be used: without the first one, and within what the cache is limited to
 * @param freeBlocks that nobody uses, cached or not
 * @param prefixQueries tokens that were looked up in the cache, without those of preempted requests
 * @param prefixHits how many of them it had
 * @param aborted requests whose client went away
 * @param failed requests that the engine gave up
 * @param promptTokens of requests that have their first token
 * @param cachedTokens how many of them the cache had
 * @param generatedTokens said so far
 * @param passes that said a token
 * @param expiredLeases leases of NIXL's that have ended
 * @param answered requests that said all
 */
public record VllmStats(
        boolean ready,
        int running,
        int waiting,
        int blocks,
        int freeBlocks,
        long prefixQueries,
        long prefixHits,
        long preemptions,
        long aborted,
        long failed,
        long promptTokens,
        long cachedTokens,
        long generatedTokens,
        long passes,
        long expiredLeases,
        RequestTally answered,
        VllmTimes times) {

    /** The share of blocks in use; what is cached and unused counts as free. */
    public double usage() {
        return blocks == 0 ? 0 : 1 - freeBlocks / (double) blocks;
    }
}
