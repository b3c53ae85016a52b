package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.RequestTally;

/**
 * The engine's own numbers at one moment.
 *
 * @param running requests that are prefilled or decode
 * @param capacityTokens what the cache may hold now
 * @param protectedTokens in the tree, and locked by requests and pins
 * @param cacheHitRate of the last prefill
 * @param cachedTokens that answered requests found
 * @param waitingTokens of the prompts that wait
 * @param cutTokens that are still to come of a prompt that is prefilled in chunks
 * @param waitingUncachedTokens what the engine expects to compute of both
 * @param hostTokens that the host tier may hold, 0 without one
 * @param work what was done so far
 * @param answered requests that said all
 */
public record SglangStats(
        int running,
        int waiting,
        int capacityTokens,
        int freeTokens,
        int evictableTokens,
        int protectedTokens,
        double newTokenRatio,
        double cacheHitRate,
        long cachedTokens,
        long evictedTokens,
        long aborted,
        long waitingTokens,
        long cutTokens,
        long waitingUncachedTokens,
        int hostTokens,
        int hostUsedTokens,
        SglangWork work,
        RequestTally answered) {

    /** Tokens of running requests and pins: neither free nor evictable. */
    public int usedTokens() {
        return capacityTokens - freeTokens - evictableTokens;
    }

    /** Requests that were sent back to the queue. */
    public long retracted() {
        return work.retracted();
    }

    /** Tokens that are used, and those that waiting prompts will use. */
    public long totalTokens() {
        return usedTokens() + waitingTokens;
    }
}
