package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.holdfast.core.backend.Backend;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.sglang.PriorityTouchBackend;
import io.holdfast.sglang.SessionHoldBackend;
import io.holdfast.sglang.StreamingSessionBackend;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.vllm.NixlLeaseBackend;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Seeded storms over everything that can go wrong between sidecars, their disks and engines; see {@link Storm}. */
final class StormTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");

    @Test
    void storms_leaveNothingBehindAndStopNoEngine() {
        // The first twelve in a row that draw every variant.
        LongStream seeds = DEEP ? LongStream.range(0, 1_000) : LongStream.range(95, 107);
        List<Storm.Result> results =
                seeds.mapToObj(seed -> Storm.of(seed).run()).toList();
        assertThat(results.stream().map(Storm.Result::variant).distinct()).hasSize(StormVariant.values().length);
        assertThat(results.stream().filter(result -> !result.failures().isEmpty()))
                .isEmpty();
        assertThat(results.stream().filter(Storm.Result::bites).count())
                .as("storms in which a quarter of the guard was held for a tenth of the time")
                .isGreaterThanOrEqualTo(results.size() * 9L / 10);
        assertThat(results.stream().filter(Storm.Result::switched).count())
                .as("storms in which holds were let go of to be measured")
                .isGreaterThanOrEqualTo(results.size() / 5L);
    }

    /** Each was the first storm that showed one of the faults that storms have found; of 1,000 then, 340 failed. */
    @Tag("deep")
    @ParameterizedTest
    @ValueSource(longs = {0, 1, 2, 3, 8, 11, 20, 25, 68, 79, 114, 148, 203, 217, 334, 735, 1063, 1204})
    void stormThatFoundAFault_findsItNoMore(long seed) {
        assertThat(new Storm(seed, true).run().failures()).isEmpty();
    }

    /** What events tell late, what they never told of the beginning, and a touch that waited until nobody wanted it. */
    @ParameterizedTest
    @CsvSource({
        "PRIORITY_TOUCH, 20",
        "PRIORITY_TOUCH, 568",
        "PRIORITY_TOUCH, 3004",
        "KEEP_WARM_VLLM, 43",
        "KEEP_WARM, 46"
    })
    void stormOfRequestsThatFoundAFault_findsItNoMore(StormVariant variant, long seed) {
        assertThat(new Storm(variant, seed, true, false, 1).run().failures()).isEmpty();
    }

    /** Where answers and events are lost more may be counted than there is, and never less. */
    @Test
    void whatNoCallTakesBack_isMostlyCountedExactly() {
        int runs = DEEP ? 100 : 3;
        long exact = LongStream.range(0, runs)
                .mapToObj(seed -> new Storm(StormVariant.PRIORITY_TOUCH, seed, true, false, 1).run())
                .peek(result -> assertThat(result.failures()).isEmpty())
                .filter(Storm.Result::exact)
                .count();
        assertThat(exact).isGreaterThanOrEqualTo(runs / 2);
    }

    @Test
    void playedBackends_haveTheTraitsOfTheRealOnes() {
        ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
        EngineHttpSettings nobody = EngineHttpSettings.of(URI.create("http://127.0.0.1:9"));
        try (EngineHttp http = new EngineHttp(nobody, timer, timer, System::nanoTime)) {
            PlayedTouches played = PlayedTouches.unused();
            assertThat(List.of(played.sessions(), played.streaming(), played.priorities(), played.nixl()))
                    .extracting(Backend::name, Backend::traits)
                    .isEqualTo(Stream.of(
                                    new SessionHoldBackend(http, timer, new SplittableRandom(1)),
                                    new StreamingSessionBackend(http, timer, new SplittableRandom(1)),
                                    new PriorityTouchBackend(http, timer, OptionalInt.of(0)),
                                    new NixlLeaseBackend(http, timer, EngineConfig.NIXL_LEASE))
                            .map(real -> tuple(real.name(), real.traits()))
                            .toList());
        } finally {
            timer.shutdownNow();
        }
    }

    @Test
    void stormsOfTwoRanks_stopNoneOfThem() {
        List<Storm.Result> results = LongStream.range(0, DEEP ? 100 : 4)
                .mapToObj(seed -> new Storm(seed, true, false, 2).run())
                .toList();
        assertThat(results.stream().filter(result -> !result.failures().isEmpty()))
                .isEmpty();
        assertThat(results.stream().filter(Storm.Result::bites).count())
                .as("storms in which a quarter of the guard was held for a tenth of the time")
                .isGreaterThanOrEqualTo(results.size() / 2L);
    }

    @Test
    void stormWithoutHolds_hasNoFault() {
        List<String> failures = new ArrayList<>();
        for (long seed = 0; seed < (DEEP ? 100 : 2); seed++) {
            failures.addAll(new Storm(seed, false).run().failures().values());
        }
        assertThat(failures).isEmpty();
    }

    /** Three to five engines that share a store, which storms as well. */
    @Test
    void stormsWithAFleet_leaveNothingBehindAndStopNoEngine() {
        List<Storm> storms = LongStream.range(0, DEEP ? 500 : 3)
                .mapToObj(seed -> Storm.of(seed, StormFleet.Kind.STORMY))
                .toList();
        assertThat(storms.stream()
                        .map(Storm::run)
                        .filter(result -> !result.failures().isEmpty()))
                .isEmpty();
        assertThat(storms.stream().filter(storm -> storm.fleet().orElseThrow().heldByTwo()))
                .as("storms in which two engines held the same for the fleet at once")
                .hasSizeGreaterThanOrEqualTo(storms.size() * 2 / 3);
    }

    /** Nothing comes of a store that never answers, and nothing of other engines where no prompt comes to two of them. */
    @ParameterizedTest
    @CsvSource({"LOST, ALONE", "TOGETHER_APART, ALONE_APART"})
    void fleetThatChangesNothing_decidesAsWithoutOne(StormFleet.Kind kind, StormFleet.Kind without) {
        for (long seed = 3; seed < (DEEP ? 33 : 4); seed++) {
            StormDigest with = new StormDigest();
            Storm storm = Storm.of(seed, kind);
            assertThat(storm.run(with).failures()).isEmpty();
            StormDigest alone = new StormDigest();
            assertThat(Storm.of(seed, without).run(alone).failures()).isEmpty();
            assertThat(with.decided()).isEqualTo(alone.decided());
            assertThat(storm.fleet().orElseThrow().rounds() > 0).isEqualTo(kind == StormFleet.Kind.TOGETHER_APART);
        }
    }

    @Test
    void sameSeed_isTheSameStorm() {
        assertThat(new Storm(23, true).run()).isEqualTo(new Storm(23, true).run());
    }
}
