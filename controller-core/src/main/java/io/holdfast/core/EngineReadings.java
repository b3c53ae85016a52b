package io.holdfast.core;

/**
 * The readings of one engine that decisions use.
 *
 * @param capacityTokens tokens that the cache can hold
 * @param blockTokens tokens in one block
 * @param largestAcceptedTokens the longest prompt that the engine takes
 * @param runningRequests requests in the running batch
 * @param waitingRequests requests in the queue
 * @param usedTokens tokens that cannot be evicted now: running requests and pins
 * @param ttftSumSeconds sum over all requests of the time to first token, ever growing within one life
 * @param ttftCount how many requests that sum covers
 * @param promptTokens prompt tokens served, ever growing
 * @param cachedTokens of those, tokens found in the cache
 */
public record EngineReadings(
        Reading capacityTokens,
        Reading blockTokens,
        Reading largestAcceptedTokens,
        Reading runningRequests,
        Reading waitingRequests,
        Reading usedTokens,
        Reading ttftSumSeconds,
        Reading ttftCount,
        Reading promptTokens,
        Reading cachedTokens) {

    public static EngineReadings unknown(String why) {
        Reading unknown = Reading.unknown(why);
        return new EngineReadings(
                unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown);
    }

    EngineReadings withBlockTokens(Reading other) {
        return new EngineReadings(
                capacityTokens,
                other,
                largestAcceptedTokens,
                runningRequests,
                waitingRequests,
                usedTokens,
                ttftSumSeconds,
                ttftCount,
                promptTokens,
                cachedTokens);
    }
}
