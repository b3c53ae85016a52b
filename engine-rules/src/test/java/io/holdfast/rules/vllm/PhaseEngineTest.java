package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.Pass;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What each server does, step by step, in emulated time. */
final class PhaseEngineTest {
    private static final String NO_BLOCK = "Cannot allocate 1 blocks: only 0 free";

    @Test
    void ninthRequest_waitsForTheEndOfTheFirstBatch() {
        Played played = Played.of(Profile.STATIC, Rates.LLAMA, burst(9, 128, 64));
        double firstBatch = played.calls.subList(0, 8).stream()
                .mapToDouble(Played.Call::end)
                .max()
                .orElseThrow();
        assertThat(played.calls.get(8).heard.getFirst()).isGreaterThanOrEqualTo(firstBatch);
        assertThat(mostRunning(played)).isEqualTo(8);
    }

    @Test
    void batchThatWasAborted_isFollowedByAGatheredOne() {
        Server server = new Server(Stage.settings(Profile.STATIC, Rates.LLAMA), Faults.none());
        int[] prompt = Workload.tokens(new Random(1), 256);
        double first = server.secondsToFirst(prompt, "");
        server.submit(prompt, 9, "");
        server.engine.step();
        server.engine.step();
        server.engine.abort(server.lastRequest.orElseThrow());
        server.untilIdle();
        assertThat(server.secondsToFirst(prompt, ""))
                .isEqualTo(first, within(1e-9))
                .isGreaterThan(0.08);
    }

    /** Memory is over-committed until nobody runs, and no longer. */
    @Test
    void paddedPrefillBeyondMemory_slowsTheServerUntilItRests() {
        Server server = new Server(Stage.settings(Profile.PAGED, Rates.LLAMA), Faults.none());
        int[] prompt = Workload.tokens(new Random(1), 256);
        double rested = server.secondsToFirst(prompt, "");
        int longest = 2048;
        for (long scores = 0; scores <= Rates.LLAMA.prefill().headroomScores(); scores += (long) longest * longest) {
            server.submit(Workload.tokens(new Random(scores + 2), longest), 1, "");
        }
        assertThat(server.secondsToFirst(prompt, "")).isGreaterThan(10 * rested);
        assertThat(server.secondsToFirst(prompt, "")).isEqualTo(rested, within(1e-9));
    }

    @Test
    void requestsOfOneStep_shareOnePaddedPrefill() {
        List<Workload.Arrival> arrivals = new ArrayList<>();
        arrivals.addAll(burst(1, 512, 4).arrivals());
        arrivals.addAll(burst(3, 64, 4).arrivals());
        Played.Step first = Played.of(Profile.CONTINUOUS, Rates.LLAMA, new Workload(arrivals))
                .steps
                .getFirst();
        assertThat(first.pass()).isEqualTo(Pass.prefill(512 + 3 * 64, 4, 4));
        assertThat(first.running()).isEqualTo(4);
        assertThat(first.seconds()).isCloseTo(0.004 + 121e-6 * 4 * 512, within(1e-9));
    }

    @Test
    void endedRequest_makesRoomAtOnce_inContinuousBatches() {
        List<Workload.Arrival> arrivals = new ArrayList<>(burst(7, 64, 200).arrivals());
        arrivals.addAll(burst(1, 64, 10).arrivals());
        arrivals.addAll(burst(1, 64, 10).arrivals());
        Played played = Played.of(Profile.CONTINUOUS, Rates.LLAMA, new Workload(arrivals));
        assertThat(played.calls.get(8).heard.getFirst())
                .isGreaterThan(played.calls.get(7).end())
                .isLessThan(played.calls.get(0).end());
    }

    @Test
    void blocks_admitTwentyFourWhereSlotsAdmitEight() {
        Workload workload = burst(48, 256, 64);
        assertThat(mostRunning(Played.of(Profile.STATIC, Rates.LLAMA, workload)))
                .isEqualTo(8);
        assertThat(mostRunning(Played.of(Profile.CONTINUOUS, Rates.LLAMA, workload)))
                .isEqualTo(8);
        assertThat(mostRunning(Played.of(Profile.PAGED, Rates.LLAMA, workload))).isEqualTo(24);
        assertThat(mostRunning(Played.of(Profile.PAGED, Rates.QWEN3, workload))).isEqualTo(16);
    }

    @Test
    void chunks_areAtMost512TokensAStep_andDecodingGoesOn() {
        List<Workload.Arrival> arrivals = new ArrayList<>(burst(1, 64, 32).arrivals());
        arrivals.addAll(burst(2, 700, 4).arrivals());
        List<Pass> passes = Played.of(Profile.CHUNKED, Rates.LLAMA, new Workload(arrivals)).steps.stream()
                .map(Played.Step::pass)
                .toList();
        assertThat(passes.subList(0, 4)).extracting(Pass::prefillTokens).containsExactly(512, 511, 441, 0);
        assertThat(passes.subList(0, 4)).extracting(Pass::decodes).containsExactly(0, 1, 2, 3);
    }

    /** Blocks are found as soon as they are scheduled, so also by those that come in the same moment. */
    @ParameterizedTest
    @EnumSource(names = {"LLAMA", "GEMMA3"})
    void sharedPrefix_isFoundByFortySeven_spreadOrInABurst(Rates model) {
        Workload spread = Workload.prefixCaching(1);
        assertThat(hits(Played.of(Profile.PREFIX, model, spread))).isEqualTo(47);
        Workload atOnce = new Workload(spread.arrivals().stream()
                .map(arrival -> new Workload.Arrival(0, arrival.prompt(), arrival.answer()))
                .toList());
        assertThat(hits(Played.of(Profile.PREFIX, model, atOnce))).isEqualTo(47);
    }

    @Test
    void knownPrompt_isPrefilledFromItsLastBlockOn() {
        Tokens prompt = Tokens.of(Workload.tokens(new Random(1), 512));
        Played played = Played.of(
                Profile.PREFIX,
                Rates.LLAMA,
                new Workload(List.of(new Workload.Arrival(0, prompt, 4), new Workload.Arrival(9, prompt, 4))));
        assertThat(played.calls).extracting(call -> call.cachedTokens).containsExactly(0, 496);
    }

    @Test
    void fullTree_failsNobody() {
        Played played = Played.of(Profile.PREFIX, Rates.LLAMA, Workload.chunkedPrefill(1));
        assertThat(played.answered()).hasSize(48);
        VllmStats stats = played.engine.stats();
        assertThat(played.events).hasAtLeastOneElementOfType(CacheEvent.Removed.class);
        assertThat(stats.freeBlocks()).isEqualTo(stats.blocks());
    }

    /** The log lost 46 of 48. */
    @ParameterizedTest
    @CsvSource({"1, 47", "2, 45", "3, 47", "4, 46", "5, 45"})
    void decodingThatCannotEvict_failsNearlyAll_withOneMessage(long seed, long failures) {
        Faults faults = new Faults(List.of(new CacheFault.DecodeCannotEvict()));
        VllmSettings settings = Stage.settings(Profile.PREFIX, Rates.QWEN3);
        Played played = Played.of(settings, faults, Workload.chunkedPrefill(seed));
        assertThat(played.calls.stream()
                        .flatMap(call -> call.failure.stream())
                        .collect(Collectors.groupingBy(message -> message, Collectors.counting())))
                .containsOnlyKeys(NO_BLOCK)
                .containsEntry(NO_BLOCK, failures);
        assertThat(played.engine.stats().failed()).isEqualTo(failures);
        faults.end(new CacheFault.DecodeCannotEvict().kind());
        assertThat(Played.of(settings, faults, Workload.chunkedPrefill(seed)).answered())
                .hasSize(48);
    }

    @Test
    void treeAtItsLimit_letsEachRequestGrow() {
        int steps = System.getProperty("holdfast.scale", "slice").equals("deep") ? 100_000 : 10_000;
        Server server = new Server(small(Profile.PREFIX), Faults.none());
        Random random = new Random(1);
        while (server.engine.stats().passes() < steps) {
            if (server.engine.stats().waiting() < 4) {
                server.submit(Workload.tokens(random, 1 + random.nextInt(900)), 1 + random.nextInt(900), "");
            }
            server.engine.step();
        }
        assertThat(server.engine.stats().failed()).isZero();
        assertThat(server.evicted * 16).isGreaterThan(50_000);
        BlockPool pool = server.engine.cache().pool();
        assertThat(pool.free() - pool.kept()).isLessThan(256 / 4);
    }

    @Test
    void graphs_areCapturedBeforeTheFirstRequest_andTakeMemory() {
        Server server = new Server(Stage.settings(Profile.GRAPH, Rates.QWEN3), Faults.none());
        assertThat(server.engine.stats().ready()).isFalse();
        assertThat(server.engine.stats().blocks()).isEqualTo(1024);
        Heard early = server.submit(Workload.tokens(new Random(1), 64), 4, "");
        for (int bucket : Rates.BUCKETS) {
            assertThat(server.engine.stats().ready()).as("before " + bucket).isFalse();
            assertThat(server.engine.step()).isTrue();
            assertThat(early.tokens).isEmpty();
        }
        assertThat(server.engine.stats().ready()).isTrue();
        assertThat(server.engine.stats().blocks()).isEqualTo(1024 - 128);
        server.untilIdle();
        assertThat(early.done).isTrue();
    }

    @Test
    void capacityFall_leavesRunningRequestsTheirBlocks() {
        Faults faults = new Faults(List.of(new CacheFault.CapacityFalls(50, 4)));
        Played played = Played.of(small(Profile.PREFIX), faults, burst(40, 300, 100));
        assertThat(played.answered()).hasSize(40);
        assertThat(played.engine.stats().blocks()).isEqualTo(128);
    }

    @Test
    void promptOf4096Tokens_isSixteenChunksOf256() {
        Played played = Played.of(Profile.RESTORE, Rates.RESTORING, burst(1, 4096, 4));
        assertThat(prefills(played)).hasSize(16).containsOnly(256);
    }

    @ParameterizedTest
    @ValueSource(ints = {1024, 2048, 2049})
    void prompt_isCutAboveTheThresholdOnly(int prompt) {
        Played played = Played.of(Profile.RESTORE, Rates.RESTORING, burst(1, prompt, 4));
        assertThat(prefills(played)).hasSize(prompt <= 2048 ? 1 : 9);
    }

    @Test
    void agentsCache_isColdThenHotThenWarm() {
        Server server = new Server(Stage.settings(Profile.RESTORE, Rates.RESTORING), Faults.none());
        Random random = new Random(1);
        int[] prompt = Workload.tokens(random, 8192);
        double cold = server.secondsToFirst(prompt, "a");
        assertThat(server.lastRestored()).isZero();
        double hot = server.secondsToFirst(prompt, "a");
        assertThat(server.lastRestored()).isZero();
        assertThat(server.last.cachedTokens).isEqualTo(8176);
        for (int agent = 0; agent < 8; agent++) {
            server.secondsToFirst(Workload.tokens(random, 8192), "b" + agent);
        }
        double warm = server.secondsToFirst(prompt, "a");
        assertThat(server.lastRestored()).isEqualTo(8176);
        assertThat(server.last.cachedTokens).isEqualTo(8176);
        assertThat(cold).isGreaterThan(5 * warm);
        assertThat(warm).isGreaterThan(2 * hot);
    }

    @Test
    void agentsCache_isFoundByItsBeginning_andApartByItsSalt() {
        Server server = new Server(Stage.settings(Profile.RESTORE, Rates.RESTORING), Faults.none());
        Random random = new Random(1);
        int[] prompt = Workload.tokens(random, 1000);
        server.secondsToFirst(prompt, "");
        server.secondsToFirst(Workload.joined(prompt, Workload.tokens(random, 100)), "");
        assertThat(server.last.cachedTokens).isEqualTo(992);
        server.secondsToFirst(prompt, "somebody");
        assertThat(server.last.cachedTokens).isZero();
    }

    @Test
    void twoRequests_runAtOnceInTheRestoringServer_aThirdWaits() {
        assertThat(mostRunning(Played.of(Profile.RESTORE, Rates.RESTORING, burst(3, 512, 16))))
                .isEqualTo(2);
        assertThat(mostRunning(Played.of(
                        Stage.settings(Profile.RESTORE, Rates.RESTORING).withBatch(1, 65_536),
                        Faults.none(),
                        burst(3, 512, 16))))
                .isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void abortedRequests_leaveNothingBehind(Profile profile) {
        VllmSettings settings = Stage.settings(profile, Rates.LLAMA);
        int batched = settings.maxBatchedTokens();
        Server server = new Server(settings.withBatch(8, batched).withSizes(1025, 16, 2048), Faults.none());
        Random random = new Random(7);
        List<Generation> open = new ArrayList<>();
        for (int i = 0; i < 400; i++) {
            server.submit(Workload.tokens(random, 1 + random.nextInt(1500)), 1 + random.nextInt(60), "");
            open.add(server.lastRequest.orElseThrow());
            for (int step = random.nextInt(30); step > 0; step--) {
                server.engine.step();
            }
            if (random.nextInt(3) == 0) {
                server.engine.abort(open.remove(random.nextInt(open.size())));
            }
        }
        server.untilIdle();
        VllmStats stats = server.engine.stats();
        assertThat(stats.running() + stats.waiting()).isZero();
        assertThat(stats.failed()).isZero();
        assertThat(stats.aborted()).isPositive();
        assertThat(stats.answered().requests() + stats.aborted()).isEqualTo(400);
        assertThat(stats.freeBlocks()).isEqualTo(stats.blocks());
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void onlyAPrefixTree_hasEvents(Profile profile) {
        Rates rates = profile == Profile.RESTORE ? Rates.RESTORING : Rates.LLAMA;
        List<CacheEvent> events = Played.of(profile, rates, burst(2, 128, 20)).events;
        if (profile == Profile.PREFIX || profile == Profile.GRAPH) {
            assertThat(events).hasSizeGreaterThan(2).allMatch(CacheEvent.Stored.class::isInstance);
        } else {
            assertThat(events).isEmpty();
        }
    }

    private static Workload burst(int requests, int prompt, int answer) {
        return Workload.spaced(requests * 31L + prompt, requests, 0, prompt, answer);
    }

    /** Returns a server of a small cache and short contexts. */
    private static VllmSettings small(Profile profile) {
        return Stage.settings(profile, Rates.LLAMA).withSizes(257, 16, 2048).withBatch(8, 512);
    }

    private static int mostRunning(Played played) {
        return played.steps.stream()
                .mapToInt(step -> Math.max(step.running(), step.pass().decodes()))
                .max()
                .orElseThrow();
    }

    private static List<Integer> prefills(Played played) {
        return played.steps.stream()
                .map(step -> step.pass().prefillTokens())
                .filter(tokens -> tokens > 0)
                .toList();
    }

    private static long hits(Played played) {
        return played.calls.stream().filter(call -> call.cachedTokens >= 1024).count();
    }

    /** An engine that is asked one thing after another. */
    private static final class Server {
        private final VirtualClock clock = new VirtualClock();
        private final VllmEngine engine;
        private long evicted;
        private Heard last = new Heard();
        private Optional<Generation> lastRequest = Optional.empty();

        Server(VllmSettings settings, Faults faults) {
            engine = new VllmEngine(
                    settings,
                    faults,
                    clock,
                    new Gpu(new Speed(0, 0, 0, 1), faults, clock, () -> false),
                    Model.seeded(1, 1000),
                    events -> evicted += events.stream()
                            .filter(CacheEvent.Removed.class::isInstance)
                            .count(),
                    ElasticPool.OWN);
        }

        Heard submit(int[] prompt, int answer, String salt) {
            last = new Heard();
            Generation request =
                    new Generation(prompt, RequestOptions.of(answer).withSalt(salt), true, clock.nanos(), last);
            lastRequest = Optional.of(request);
            engine.submit(request);
            return last;
        }

        double secondsToFirst(int[] prompt, String salt) {
            double before = clock.nanos() / 1e9;
            submit(prompt, 1, salt);
            untilIdle();
            return clock.nanos() / 1e9 - before;
        }

        void untilIdle() {
            while (engine.step()) {}
        }

        /** Tokens that the last request had brought back. */
        int lastRestored() {
            return lastRequest.orElseThrow().cachedOnHost();
        }
    }
}
