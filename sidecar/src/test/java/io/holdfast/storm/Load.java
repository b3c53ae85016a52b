package io.holdfast.storm;

import io.holdfast.rules.sglang.SglangStats;
import io.holdfast.rules.vllm.VllmStats;

/**
 * What an engine shows of itself, whichever it is.
 *
 * @param usedTokens what running requests and pins take
 * @param protectedTokens of those, what is locked in the cache
 */
record Load(
        int running,
        int waiting,
        int usedTokens,
        int protectedTokens,
        double ttftSeconds,
        long ttftCount,
        long promptTokens,
        long cachedTokens) {

    static Load of(SglangStats stats) {
        return new Load(
                stats.running(),
                stats.waiting(),
                stats.usedTokens(),
                stats.protectedTokens(),
                stats.answered().ttft().sumSeconds(),
                stats.answered().ttft().count(),
                stats.answered().promptTokens(),
                stats.cachedTokens());
    }

    static Load of(VllmStats stats, int blockTokens) {
        int used = (stats.blocks() - stats.freeBlocks()) * blockTokens;
        return new Load(
                stats.running(),
                stats.waiting(),
                Math.max(0, used),
                Math.max(0, used),
                stats.answered().ttft().sumSeconds(),
                stats.answered().ttft().count(),
                stats.promptTokens(),
                stats.prefixHits());
    }
}
