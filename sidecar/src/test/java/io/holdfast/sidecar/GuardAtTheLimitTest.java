package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pins that take all that the largest request leaves, and many requests of the largest size together, in virtual time. */
class GuardAtTheLimitTest {
    private static final int SEEDS = 4;
    private static final int REQUESTS = 60;

    @ParameterizedTest
    @CsvSource({"4096, 16, 1030, 8192", "4096, 16, 2048, 8192", "4096, 16, 2048, 512", "4096, 64, 1000, 256"})
    void pinsAtTheLimit_everyRequestEnds(int capacity, int page, int context, int chunk) {
        long retracted = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            Life life = new Life(seed, capacity, page, context, chunk);
            assertThat(life.serve(capacity - roundedUp(context, page)))
                    .as("seed %d", seed)
                    .isEqualTo("all ended");
            retracted += life.engine.stats().retracted();
        }
        assertThat(retracted).as("requests that were taken back").isPositive();
    }

    @ParameterizedTest
    @CsvSource({"4096, 16, 1030, 8192", "4096, 16, 2048, 8192", "4096, 16, 2048, 512", "4096, 64, 1000, 256"})
    void oneBlockBeyondTheLimit_theEngineStopsForGood(int capacity, int page, int context, int chunk) {
        for (int seed = 0; seed < SEEDS; seed++) {
            Life life = new Life(seed, capacity, page, context, chunk);
            assertThat(life.serve(capacity - roundedUp(context, page) + page))
                    .as("seed %d", seed)
                    .isNotEqualTo("all ended");
        }
    }

    @Test
    void pinsDuringAChunkedPrefill_endTheEngineUnlessTheyLeaveWhatRuns() {
        int within = 0;
        int beyond = 0;
        for (int seed = 0; seed < 100; seed++) {
            within += new Life(seed, 4_096, 16, 1_600, 128).pinsInMidPrefill(true) ? 0 : 1;
            beyond += new Life(seed, 4_096, 16, 1_600, 128).pinsInMidPrefill(false) ? 0 : 1;
        }
        assertThat(beyond)
                .as("engines that ended with pins as far as the hard guard goes")
                .isPositive();
        assertThat(within)
                .as("engines that ended with new pins that left the largest request")
                .isZero();
    }

    private static int roundedUp(int tokens, int page) {
        return (tokens + page - 1) / page * page;
    }

    /** One engine and its requests. */
    private static final class Life {
        final SglangSettings settings;
        final SglangEngine engine;
        private final Random random;
        private final List<Ear> ears = new ArrayList<>();

        Life(int seed, int capacity, int page, int context, int chunk) {
            random = new Random(seed);
            settings = SglangSettings.defaults()
                    .withSizes(capacity, page, context)
                    .withVariant(Variant.PIN_GPU)
                    .withChunkedPrefillTokens(chunk);
            Jumping clock = new Jumping();
            engine = new SglangEngine(
                    settings,
                    Faults.none(),
                    clock,
                    new Gpu(new Speed(100, 5_000, 5_000, 1), Faults.none(), clock, () -> false),
                    Model.seeded(1, 32_000),
                    batch -> {},
                    ElasticPool.OWN);
        }

        /** Pins so many tokens, then sends requests of every legal size, the largest among them. */
        String serve(int pinTokens) {
            try {
                store(pinTokens).forEach(this::pin);
                int most = settings.maxRequestTokens() - 1;
                int sent = 0;
                while (sent < REQUESTS || engine.step()) {
                    if (sent < REQUESTS) {
                        int prompt = sent % 4 == 0
                                ? settings.maxPromptTokens() - 1
                                : 1 + random.nextInt(settings.maxPromptTokens() - 1);
                        send(prompt, random.nextBoolean() ? most : 1 + random.nextInt(most));
                        sent++;
                        engine.step();
                    }
                }
                return ears.stream().allMatch(ear -> ear.ended) ? "all ended" : "some wait for ever";
            } catch (EngineDeath e) {
                return String.valueOf(e.getMessage());
            }
        }

        /** Whether the engine lives and ends everything when prefixes are pinned while a long prompt is prefilled. */
        boolean pinsInMidPrefill(boolean leavesTheLargest) {
            int slack = 2 * settings.pageTokens() + (settings.capacityTokens() + 99) / 100;
            int hard = settings.capacityTokens() - settings.contextTokens() - slack;
            List<long[]> stored = store(hard / settings.pageTokens() * settings.pageTokens());
            try {
                for (int i = 0; i < 3; i++) {
                    send(500, 300);
                }
                int before = 12 + random.nextInt(20);
                for (int step = 0; step < before; step++) {
                    engine.step();
                }
                send(1_500, 90);
                int into = 1 + random.nextInt(10);
                for (int step = 0; step < into; step++) {
                    engine.step();
                }
                int pinned = 0;
                for (long[] blocks : stored) {
                    int tokens = blocks.length * settings.pageTokens();
                    int beside = engine.stats().usedTokens() - pinned;
                    int bound = leavesTheLargest
                            ? settings.capacityTokens() - beside - settings.contextTokens() - slack
                            : hard;
                    if (pinned + tokens <= bound && pin(blocks)) {
                        pinned += tokens;
                    }
                }
                runDry();
                return ears.stream().allMatch(ear -> ear.ended);
            } catch (EngineDeath e) {
                return false;
            }
        }

        private List<long[]> store(int tokens) {
            List<long[]> stored = new ArrayList<>();
            int page = settings.pageTokens();
            for (int left = tokens / page * page; left > 0; ) {
                int size = Math.min(left, page * (1 + random.nextInt(settings.contextTokens() / page / 4)));
                int[] prompt = random.ints(size + 1L, 10, 1_000_000).toArray();
                engine.submit(new Generation(prompt, RequestOptions.of(1), false, 0, ear()));
                runDry();
                stored.add(SglangBlockNames.of(prompt, page));
                left -= size;
            }
            return stored;
        }

        private void runDry() {
            boolean worked = true;
            while (worked) {
                worked = engine.step();
            }
        }

        private boolean pin(long[] blocks) {
            return engine.pin(new long[] {blocks[blocks.length - 1]}).count() == 1;
        }

        private void send(int prompt, int answer) {
            int[] tokens = random.ints(prompt, 10, 1_000_000).toArray();
            engine.submit(new Generation(tokens, RequestOptions.of(answer), false, 0, ear()));
        }

        private Ear ear() {
            Ear ear = new Ear();
            ears.add(ear);
            return ear;
        }
    }

    /** Whether a request came to its end. */
    private static final class Ear implements TokenListener {
        boolean ended;

        @Override
        public void token(int token, int count, int cachedTokens, boolean last) {
            ended = last;
        }

        @Override
        public void failed(String message) {
            ended = false;
        }
    }

    /** Time passes where it is waited for, and costs none. */
    private static final class Jumping implements EngineClock {
        private long now;

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public double unixSeconds() {
            return 1_700_000_000;
        }

        @Override
        public void await(long deadlineNanos) {
            now = Math.max(now, deadlineNanos);
        }
    }
}
