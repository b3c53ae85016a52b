package io.holdfast.emulator.sglang;

import io.holdfast.emulator.engine.RequestTally;

/** The engine's own numbers at one moment. */
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
        long retracted,
        RequestTally whole,
        RequestTally streamed) {

    /** What running requests and pins take: neither free nor evictable. */
    public int usedTokens() {
        return capacityTokens - freeTokens - evictableTokens;
    }
}
