package io.holdfast.emulator;

/** The engine's own numbers at one moment. */
record EngineStats(
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
    int usedTokens() {
        return capacityTokens - freeTokens - evictableTokens;
    }
}
