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
 * @param ranks the load of each data-parallel rank, whose sums the readings above are, while sizes are of each; empty
 *     where the engine has one cache, or tells of all only together
 * @param itlSumSeconds sum of the times between two tokens of an answer, ever growing
 * @param itlCount how many times that sum covers
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
        Reading preemptions,
        Reading itlSumSeconds,
        Reading itlCount) {
    public EngineReadings {
        ranks = List.copyOf(ranks);
    }

    /** Returns a builder in which nothing is known but what is then said. */
    public static Builder unknownBut(String why) {
        return new Builder(unknown(why));
    }

    /** Returns a builder that starts from these readings. */
    public Builder but() {
        return new Builder(this);
    }

    /** Returns these readings for a cache of another size, whose use is known otherwise or not at all. */
    public EngineReadings withCache(Reading capacity, Reading used) {
        return but().capacityTokens(capacity).usedTokens(used).build();
    }

    /** Returns the readings of one data-parallel rank, whose requests nobody counts by rank. */
    public EngineReadings ofRank(int rank) {
        Reading unknown = Reading.unknown("the engine does not report it for each data-parallel rank");
        RankLoad load = rank < ranks.size() ? ranks.get(rank) : new RankLoad(unknown, unknown, unknown);
        return but().runningRequests(load.runningRequests())
                .waitingRequests(load.waitingRequests())
                .usedTokens(load.usedTokens())
                .ttftSumSeconds(unknown)
                .ttftCount(unknown)
                .promptTokens(unknown)
                .cachedTokens(unknown)
                .ranks(List.of())
                .preemptions(unknown)
                .itlSumSeconds(unknown)
                .itlCount(unknown)
                .build();
    }

    private static final double MOST_REQUESTS = 1e7;

    public static EngineReadings unknown(String why) {
        Reading unknown = Reading.unknown(why);
        return new EngineReadings(
                unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown, unknown,
                List.of(), unknown, unknown, unknown);
    }

    /**
     * Returns these readings, with what cannot be true made unknown, and what is wrong with it.
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
                "the events report " + residentBlocks + " blocks of " + text(blockSize) + " tokens in it");
        double used = usedTokens.number().orElse(0);
        int caches = Math.max(1, ranks.size());
        Reading plausibleUsed = checked(
                usedTokens, used >= 0 && used <= most * caches, "the cache has " + text(most) + " tokens in all");
        Reading context = checked(contextTokens, contextTokens.number().orElse(1) >= 1, "a request has a token");
        return but().capacityTokens(capacity)
                .blockTokens(block)
                .contextTokens(context)
                .runningRequests(count(runningRequests))
                .waitingRequests(count(waitingRequests))
                .usedTokens(plausibleUsed)
                .build();
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

    /** Returns these readings with the ever growing counters of other readings. */
    public EngineReadings withCounters(EngineReadings other) {
        return but().ttftSumSeconds(other.ttftSumSeconds)
                .ttftCount(other.ttftCount)
                .promptTokens(other.promptTokens)
                .cachedTokens(other.cachedTokens)
                .build();
    }

    /** Returns these readings without this much of the ever growing counters. */
    public EngineReadings lessCounters(double requests, double seconds, double prompts, double cached) {
        return requests == 0
                ? this
                : but().ttftSumSeconds(less(ttftSumSeconds, seconds))
                        .ttftCount(less(ttftCount, requests))
                        .promptTokens(less(promptTokens, prompts))
                        .cachedTokens(less(cachedTokens, cached))
                        .build();
    }

    private static Reading less(Reading reading, double part) {
        return switch (reading) {
            case Reading.Unknown unknown -> unknown;
            case Reading.Known known ->
                Reading.known(Math.max(0, known.value() - part), known.source(), known.atNanos());
        };
    }

    /** Says readings by their names, since they are all of one type. */
    public static final class Builder {
        private Reading capacityTokens;
        private Reading blockTokens;
        private Reading contextTokens;
        private Reading largestAcceptedTokens;
        private Reading runningRequests;
        private Reading waitingRequests;
        private Reading usedTokens;
        private Reading ttftSumSeconds;
        private Reading ttftCount;
        private Reading promptTokens;
        private Reading cachedTokens;
        private List<RankLoad> ranks;
        private Reading preemptions;
        private Reading itlSumSeconds;
        private Reading itlCount;

        private Builder(EngineReadings from) {
            capacityTokens = from.capacityTokens;
            blockTokens = from.blockTokens;
            contextTokens = from.contextTokens;
            largestAcceptedTokens = from.largestAcceptedTokens;
            runningRequests = from.runningRequests;
            waitingRequests = from.waitingRequests;
            usedTokens = from.usedTokens;
            ttftSumSeconds = from.ttftSumSeconds;
            ttftCount = from.ttftCount;
            promptTokens = from.promptTokens;
            cachedTokens = from.cachedTokens;
            ranks = from.ranks;
            preemptions = from.preemptions;
            itlSumSeconds = from.itlSumSeconds;
            itlCount = from.itlCount;
        }

        public Builder capacityTokens(Reading reading) {
            capacityTokens = reading;
            return this;
        }

        public Builder blockTokens(Reading reading) {
            blockTokens = reading;
            return this;
        }

        public Builder contextTokens(Reading reading) {
            contextTokens = reading;
            return this;
        }

        public Builder largestAcceptedTokens(Reading reading) {
            largestAcceptedTokens = reading;
            return this;
        }

        public Builder runningRequests(Reading reading) {
            runningRequests = reading;
            return this;
        }

        public Builder waitingRequests(Reading reading) {
            waitingRequests = reading;
            return this;
        }

        public Builder usedTokens(Reading reading) {
            usedTokens = reading;
            return this;
        }

        public Builder ttftSumSeconds(Reading reading) {
            ttftSumSeconds = reading;
            return this;
        }

        public Builder ttftCount(Reading reading) {
            ttftCount = reading;
            return this;
        }

        public Builder promptTokens(Reading reading) {
            promptTokens = reading;
            return this;
        }

        public Builder cachedTokens(Reading reading) {
            cachedTokens = reading;
            return this;
        }

        public Builder preemptions(Reading reading) {
            preemptions = reading;
            return this;
        }

        public Builder itlSumSeconds(Reading reading) {
            itlSumSeconds = reading;
            return this;
        }

        public Builder itlCount(Reading reading) {
            itlCount = reading;
            return this;
        }

        public Builder ranks(List<RankLoad> loads) {
            ranks = loads;
            return this;
        }

        public EngineReadings build() {
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
                    preemptions,
                    itlSumSeconds,
                    itlCount);
        }
    }
}
