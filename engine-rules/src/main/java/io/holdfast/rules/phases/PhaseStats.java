package io.holdfast.rules.phases;

import io.holdfast.rules.engine.RequestTally;

/**
 * The engine's own numbers at one moment.
 *
 * @param ready whether it serves; graphs are captured before
 * @param capacityTokens of the cache, less what capturing graphs took
 * @param freeTokens of it that hold nothing
 * @param cachedTokens of it that hold what nobody uses now
 * @param foundTokens of prompts that did not have to be prefilled
 * @param evictedTokens that were cached and had to go
 * @param steps of the engine's loop that did something
 * @param failed requests that got an error
 */
public record PhaseStats(
        boolean ready,
        int running,
        int waiting,
        int capacityTokens,
        int freeTokens,
        int cachedTokens,
        long foundTokens,
        long evictedTokens,
        long steps,
        long aborted,
        long failed,
        RequestTally whole,
        RequestTally streamed) {}
