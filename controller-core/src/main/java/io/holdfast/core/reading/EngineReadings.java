package io.holdfast.core.reading;

import java.util.List;

/**
 * The readings of one engine that decisions use.
 *
 * @param capacityTokens tokens that the cache can hold
 * @param blockTokens tokens in one block
 * @param contextTokens the most tokens that a prompt and its answer may have together
 * @param largestAcceptedTokens the longest prompt that the engine takes
 * @param runningRequests requests in the running batch
 * @param waitingRequests requests in the queue
 * @param usedTokens tokens that cannot be evicted now: running requests and pins
 * @param ttftSumSeconds sum over all requests of the time to first token, ever growing within one life
 * @param ttftCount how many requests that sum covers
 * @param promptTokens prompt tokens served, ever growing
 * @param cachedTokens of those, tokens found in the cache
 * @param ranks the load of each data-parallel rank, whose sums the readings above are, while sizes are of each; empty where
 *     the engine has one cache, or tells of all only together
 * @param preemptions how often a running request was taken back into the queue for want of memory, ever growing
 */
public record EngineReadings(
        Reading capacityTokens,
        Reading blockTokens,
        Reading contextTokens,
        Reading largestAcceptedTokens,
        Reading runningRequests,
        Reading waitingRequests,
        Reading usedTokens,
        Reading ttftSumSeconds,
        Reading ttftCount,
        Reading promptTokens,
        Reading cachedTokens,
        List<RankLoad> ranks,
        Reading preemptions) {
    public EngineReadings {
        ranks = List.copyOf(ranks);
    }

    /** Of an engine with one cache. */
    public EngineReadings(
            Reading capacityTokens,
            Reading blockTokens,
            Reading contextTokens,
            Reading largestAcceptedTokens,
            Reading runningRequests,
            Reading waitingRequests,
            Reading usedTokens,
            Reading ttftSumSeconds,
            Reading ttftCount,
            Reading promptTokens,
            Reading cachedTokens) {
        this(
                capacityTokens,
                blockTokens,
                contextTokens,
                largestAcceptedTokens,
                runningRequests,
                waitingRequests,
                usedTokens,
                ttftSumSeconds,
                ttftCount,
                promptTokens,
                cachedTokens,
                List.of());
    }

    /** Of an engine that does not tell how often it takes requests back. */
    public EngineReadings(
            Reading capacityTokens,
            Reading blockTokens,
            Reading contextTokens,
            Reading largestAcceptedTokens,
            Reading runningRequests,
            Reading waitingRequests,
            Reading usedTokens,
            Reading ttftSumSeconds,
            Reading ttftCount,
            Reading promptTokens,
            Reading cachedTokens,
            List<RankLoad> ranks) {
        this(
                capacityTokens,
                blockTokens,
                contextTokens,
                largestAcceptedTokens,
                runningRequests,
                waitingRequests,
                usedTokens,
                ttftSumSeconds,
                ttftCount,
                promptTokens,
                cachedTokens,
                ranks,
                Reading.unknown("the engine does not tell how often it takes requests back"));
    }

    /** The same with the load of each rank. */
    public EngineReadings withRanks(List<RankLoad> loads) {
        return new EngineReadings(
                capacityTokens,
                blockTokens,
                contextTokens,
                largestAcceptedTokens,
                runningRequests,
                waitingRequests,
                usedTokens,
                ttftSumSeconds,
                ttftCount,
                promptTokens,
                cachedTokens,
                loads,
                preemptions);
    }

    /** The same with how often running requests were taken back. */
    public EngineReadings withPreemptions(Reading count) {
        return new EngineReadings(
                capacityTokens,
                blockTokens,
                contextTokens,
                largestAcceptedTokens,
                runningRequests,
                waitingRequests,
                usedTokens,
                ttftSumSeconds,
                ttftCount,
                promptTokens,
                cachedTokens,
                ranks,
                count);
    }

    /** The same of a cache of another size, whose use is known otherwise or not at all. */
    public EngineReadings withCache(Reading capacity, Reading used) {
        return with(capacity, blockTokens, contextTokens, runningRequests, waitingRequests, used);
    }

    /** What one data-parallel rank does, whose requests nobody counts by rank. */
    public EngineReadings ofRank(int rank) {
        Reading unknown = Reading.unknown("the engine does not tell it of each data-parallel rank");
        RankLoad load = rank < ranks.size() ? ranks.get(rank) : new RankLoad(unknown, unknown, unknown);
        return new EngineReadings(
                capacityTokens,
                blockTokens,
                contextTokens,
                largestAcceptedTokens,
                load.runningRequests(),
                load.waitingRequests(),
                load.usedTokens(),
                unknown,
                unknown,
                unknown,
                unknown);
    }

    private static final double MOST_REQUESTS = 1e7;

    public static EngineReadings unknown(String why) {
        Reading unknown = Reading.unknown(why);
        return new EngineReadings(
                unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown);
    }

    /**
     * The same, but what cannot be true is unknown, with what is wrong with it.
     *
     * @param residentBlocks how many blocks the events tell to be in the cache
     */
    public EngineReadings plausible(long residentBlocks) {
        Reading block = checked(blockTokens, blockTokens.number().orElse(1) >= 1, "a block has at least one token");
        Reading capacity = capacityTokens;
        double most = capacity.number().orElse(Double.MAX_VALUE);
        double blockSize = block.number().orElse(0);
        capacity = checked(capacity, most >= 1, "a cache holds at least one token");
        capacity = checked(capacity, blockSize <= most, "one block has " + text(blockSize) + " tokens");
        capacity = checked(
                capacity,
                residentBlocks * blockSize <= most,
                "the events tell of " + residentBlocks + " blocks of " + text(blockSize) + " tokens in it");
        double used = usedTokens.number().orElse(0);
        int caches = Math.max(1, ranks.size());
        Reading plausibleUsed = checked(
                usedTokens, used >= 0 && used <= most * caches, "the cache has " + text(most) + " tokens in all");
        Reading context = checked(contextTokens, contextTokens.number().orElse(1) >= 1, "a request has a token");
        return with(capacity, block, context, count(runningRequests), count(waitingRequests), plausibleUsed);
    }

    private static Reading count(Reading requests) {
        double number = requests.number().orElse(0);
        return checked(requests, number >= 0 && number <= MOST_REQUESTS, "no engine has so many requests");
    }

    private static Reading checked(Reading reading, boolean plausible, String because) {
        return reading instanceof Reading.Known known && !plausible
                ? Reading.unknown(
                        known.source() + " says " + text(known.value()) + ", which cannot be true, since " + because)
                : reading;
    }

    private static String text(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
    }

    public EngineReadings withBlockTokens(Reading other) {
        return with(capacityTokens, other, contextTokens, runningRequests, waitingRequests, usedTokens);
    }

    /** The same with the ever growing counters of other readings. */
    public EngineReadings withCounters(EngineReadings other) {
        return withCounters(other.ttftSumSeconds, other.ttftCount, other.promptTokens, other.cachedTokens);
    }

    /** The same without this much of the ever growing counters. */
    public EngineReadings lessCounters(double requests, double seconds, double prompts, double cached) {
        return requests == 0
                ? this
                : withCounters(
                        less(ttftSumSeconds, seconds),
                        less(ttftCount, requests),
                        less(promptTokens, prompts),
                        less(cachedTokens, cached));
    }

    private static Reading less(Reading reading, double part) {
        return switch (reading) {
            case Reading.Unknown unknown -> unknown;
            case Reading.Known known ->
                Reading.known(Math.max(0, known.value() - part), known.source(), known.atNanos());
        };
    }

    private EngineReadings withCounters(Reading ttftSum, Reading ttfts, Reading prompts, Reading cached) {
        return new EngineReadings(
                capacityTokens,
                blockTokens,
                contextTokens,
                largestAcceptedTokens,
                runningRequests,
                waitingRequests,
                usedTokens,
                ttftSum,
                ttfts,
                prompts,
                cached,
                ranks,
                preemptions);
    }

    private EngineReadings with(
            Reading capacity, Reading block, Reading context, Reading running, Reading waiting, Reading used) {
        return new EngineReadings(
                capacity,
                block,
                context,
                largestAcceptedTokens,
                running,
                waiting,
                used,
                ttftSumSeconds,
                ttftCount,
                promptTokens,
                cachedTokens,
                ranks,
                preemptions);
    }
}
