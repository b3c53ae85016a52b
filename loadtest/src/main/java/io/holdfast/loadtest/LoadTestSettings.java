package io.holdfast.loadtest;

import io.holdfast.evidence.Criteria;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * How a load test is run and judged.
 *
 * @param dialect how the engine is asked
 * @param model its name for the OpenAI route; vLLM insists on it
 * @param headers sent to the engine with every request, such as an authorization; never written to the journal
 * @param flushPath the engine's route that empties its cache
 * @param blocks blocks of one AA, one BP and one PB pair each
 * @param seed draws the order of the pairs
 * @param concurrency requests of a flood that are under way at a time
 * @param burnIn whether each server life begins with a leg that is not measured
 * @param rehearsal whether one server life runs before all others and is not counted
 * @param statistic what a leg is reduced to
 * @param criteria what counts as an effect
 * @param holdSlot how long the hold step takes in both arms
 * @param slotTolerance by how much a hold step may differ from its slot
 * @param requestTimeout the most that one request may take
 * @param flushTimeout the most that a busy engine may take to flush
 * @param readyTimeout the most that a server life may take to begin
 */
public record LoadTestSettings(
        Dialect dialect,
        Optional<String> model,
        Map<String, String> headers,
        String flushPath,
        int blocks,
        long seed,
        int concurrency,
        boolean burnIn,
        boolean rehearsal,
        Statistic statistic,
        Criteria criteria,
        Duration holdSlot,
        Duration slotTolerance,
        Duration requestTimeout,
        Duration flushTimeout,
        Duration readyTimeout) {

    private static final int MOST_BLOCKS = 1_000;
    private static final int MOST_LANES = 4_096;

    public LoadTestSettings {
        headers = Map.copyOf(headers);
        between("blocks", blocks, 1, MOST_BLOCKS);
        between("concurrency", concurrency, 1, MOST_LANES);
        positive("hold slot", holdSlot);
        positive("slot tolerance", slotTolerance);
        positive("request time-out", requestTimeout);
        positive("flush time-out", flushTimeout);
        positive("ready time-out", readyTimeout);
        if (!flushPath.startsWith("/")) {
            throw new LoadTestException(
                    "The flush path is " + flushPath + "; it starts with a slash, as /flush_cache.");
        }
    }

    /** SGLang, five blocks, concurrency 8, a burn-in leg in every life, probes judged by their median. */
    public static LoadTestSettings defaults() {
        return new Builder().build();
    }

    public Builder toBuilder() {
        return new Builder(this);
    }

    private static void between(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new LoadTestException(
                    "The " + what + " must be between " + least + " and " + most + ", not " + value + ".");
        }
    }

    private static void positive(String what, Duration value) {
        if (value.toMillis() < 1) {
            throw new LoadTestException("The " + what + " must be at least one millisecond, not " + value + ".");
        }
    }

    /** Settings in the making. */
    public static final class Builder {
        private Dialect dialect = Dialect.SGLANG_GENERATE;
        private Optional<String> model = Optional.empty();
        private Map<String, String> headers = Map.of();
        private String flushPath = "/flush_cache";
        private int blocks = 5;
        private long seed = 42;
        private int concurrency = 8;
        private boolean burnIn = true;
        private boolean rehearsal;
        private Statistic statistic = Statistic.PROBE_P50;
        private Criteria criteria = Criteria.standard();
        private Duration holdSlot = Duration.ofMillis(150);
        private Duration slotTolerance = Duration.ofMillis(50);
        private Duration requestTimeout = Duration.ofMinutes(2);
        private Duration flushTimeout = Duration.ofSeconds(30);
        private Duration readyTimeout = Duration.ofMinutes(10);

        private Builder() {}

        private Builder(LoadTestSettings from) {
            dialect = from.dialect;
            model = from.model;
            headers = from.headers;
            flushPath = from.flushPath;
            blocks = from.blocks;
            seed = from.seed;
            concurrency = from.concurrency;
            burnIn = from.burnIn;
            rehearsal = from.rehearsal;
            statistic = from.statistic;
            criteria = from.criteria;
            holdSlot = from.holdSlot;
            slotTolerance = from.slotTolerance;
            requestTimeout = from.requestTimeout;
            flushTimeout = from.flushTimeout;
            readyTimeout = from.readyTimeout;
        }

        public Builder dialect(Dialect value) {
            dialect = value;
            return this;
        }

        public Builder model(String value) {
            model = Optional.of(value);
            return this;
        }

        public Builder headers(Map<String, String> value) {
            headers = value;
            return this;
        }

        public Builder flushPath(String value) {
            flushPath = value;
            return this;
        }

        public Builder blocks(int value) {
            blocks = value;
            return this;
        }

        public Builder seed(long value) {
            seed = value;
            return this;
        }

        public Builder concurrency(int value) {
            concurrency = value;
            return this;
        }

        public Builder burnIn(boolean value) {
            burnIn = value;
            return this;
        }

        public Builder rehearsal(boolean value) {
            rehearsal = value;
            return this;
        }

        public Builder statistic(Statistic value) {
            statistic = value;
            return this;
        }

        public Builder criteria(Criteria value) {
            criteria = value;
            return this;
        }

        public Builder holdSlot(Duration value) {
            holdSlot = value;
            return this;
        }

        public Builder slotTolerance(Duration value) {
            slotTolerance = value;
            return this;
        }

        public Builder requestTimeout(Duration value) {
            requestTimeout = value;
            return this;
        }

        public Builder flushTimeout(Duration value) {
            flushTimeout = value;
            return this;
        }

        public Builder readyTimeout(Duration value) {
            readyTimeout = value;
            return this;
        }

        public LoadTestSettings build() {
            return new LoadTestSettings(
                    dialect,
                    model,
                    headers,
                    flushPath,
                    blocks,
                    seed,
                    concurrency,
                    burnIn,
                    rehearsal,
                    statistic,
                    criteria,
                    holdSlot,
                    slotTolerance,
                    requestTimeout,
                    flushTimeout,
                    readyTimeout);
        }
    }
}
