package io.holdfast.core.reading;

/**
 * Load of one data-parallel rank of an engine, whose cache is its own.
 *
 * @param runningRequests requests in its running batch
 * @param waitingRequests requests in its queue
 * @param usedTokens tokens of its cache that cannot be evicted now
 */
public record RankLoad(Reading runningRequests, Reading waitingRequests, Reading usedTokens) {}
