package io.holdfast.rules.phases;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
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
        Played played = Played.of(Profile.STATIC, Rates.llama(), burst(9, 128, 64));
        double firstBatch = played.calls.subList(0, 8).stream()
                .mapToDouble(Played.Call::end)
                .max()
                .orElseThrow();
        assertThat(played.calls.get(8).heard.getFirst()).isGreaterThanOrEqualTo(firstBatch);
        assertThat(mostRunning(played)).isEqualTo(8);
    }

    @Test
    void batchThatWasAborted_isFollowedByAGatheredOne() {
        Server server = new Server(PhaseSettings.of(Profile.STATIC, Rates.llama()), Faults.none());
        int[] prompt = Workload.tokens(new Random(1), 256);
        double first = server.secondsToFirst(prompt, "");
        server.submit(prompt, 9, "");
        server.engine.step();
        server.engine.step();
        server.engine.abort(server.lastRequest.orElseThrow());
        assertThat(server.engine.step()).isFalse();
        assertThat(server.secondsToFirst(prompt, ""))
                .isEqualTo(first, within(1e-9))
                .isGreaterThan(0.08);
    }

    @Test
    void requestsOfOneStep_shareOnePaddedPrefill() {
        List<Workload.Arrival> arrivals = new ArrayList<>();
        arrivals.addAll(burst(1, 512, 4).arrivals());
        arrivals.addAll(burst(3, 64, 4).arrivals());
        PhaseStep first = Played.of(Profile.CONTINUOUS, Rates.llama(), new Workload(arrivals))
                .engine
                .steps()
                .getFirst();
        assertThat(first.prefills()).isEqualTo(4);
        assertThat(first.prefillTokens()).isEqualTo(512 + 3 * 64);
        assertThat(first.computedTokens()).isEqualTo(4 * 512);
        assertThat(first.decodes()).isEqualTo(4);
    }

    @Test
    void endedRequest_makesRoomAtOnce_inContinuousBatches() {
        List<Workload.Arrival> arrivals = new ArrayList<>(burst(7, 64, 200).arrivals());
        arrivals.addAll(burst(1, 64, 10).arrivals());
        arrivals.addAll(burst(1, 64, 10).arrivals());
        Played played = Played.of(Profile.CONTINUOUS, Rates.llama(), new Workload(arrivals));
        assertThat(played.calls.get(8).heard.getFirst())
                .isGreaterThan(played.calls.get(7).end())
                .isLessThan(played.calls.get(0).end());
    }

    @Test
    void blocks_admitTwentyFourWhereSlotsAdmitEight() {
        Workload workload = burst(48, 256, 64);
        assertThat(mostRunning(Played.of(Profile.STATIC, Rates.llama(), workload)))
                .isEqualTo(8);
        assertThat(mostRunning(Played.of(Profile.CONTINUOUS, Rates.llama(), workload)))
                .isEqualTo(8);
        assertThat(mostRunning(Played.of(Profile.PAGED, Rates.llama(), workload)))
                .isEqualTo(24);
        assertThat(mostRunning(Played.of(Profile.PAGED, Rates.qwen3(), workload)))
                .isEqualTo(16);
    }

    @Test
    void chunks_areAtMost512TokensAStep_andDecodingGoesOn() {
        List<Workload.Arrival> arrivals = new ArrayList<>(burst(1, 64, 32).arrivals());
        arrivals.addAll(burst(2, 700, 4).arrivals());
        List<PhaseStep> steps = Played.of(Profile.CHUNKED, Rates.llama(), new Workload(arrivals))
                .engine
                .steps();
        assertThat(steps.subList(0, 3)).extracting(PhaseStep::prefillTokens).containsExactly(512, 512, 440);
        assertThat(steps.subList(0, 4)).extracting(PhaseStep::decodes).containsExactly(1, 2, 3, 3);
    }

    @Test
    void sharedPrefix_isFoundByFortySeven_andByFewerInABurst() {
        Workload spread = Workload.prefixCaching(1);
        assertThat(hits(Played.of(Profile.PREFIX, Rates.gemma3(), spread))).isEqualTo(47);
        assertThat(hits(Played.of(Profile.PREFIX, Rates.llama(), spread)))
                .as("the second comes while the first is being prefilled")
                .isEqualTo(46);
        Workload atOnce = new Workload(spread.arrivals().stream()
                .map(arrival -> new Workload.Arrival(0, arrival.prompt(), arrival.answer()))
                .toList());
        assertThat(hits(Played.of(Profile.PREFIX, Rates.llama(), atOnce))).isLessThan(47);
    }

    @Test
    void knownPrompt_isPrefilledFromItsLastBlockOn() {
        Tokens prompt = Tokens.of(Workload.tokens(new Random(1), 512));
        Played played = Played.of(
                Profile.PREFIX,
                Rates.llama(),
                new Workload(List.of(new Workload.Arrival(0, prompt, 4), new Workload.Arrival(9, prompt, 4))));
        assertThat(played.calls).extracting(call -> call.cachedTokens).containsExactly(0, 496);
    }

    @Test
    void fullTree_failsNobody() {
        Played played = Played.of(Profile.PREFIX, Rates.llama(), Workload.chunkedPrefill(1));
        assertThat(played.answered()).hasSize(48);
        PhaseStats stats = played.engine.stats();
        assertThat(stats.evictedTokens()).isPositive();
        assertThat(stats.freeTokens() + stats.cachedTokens()).isEqualTo(stats.capacityTokens());
    }

    /** The log lost 46 of 48. */
    @ParameterizedTest
    @CsvSource({"1, 47", "2, 46", "3, 47", "4, 46", "5, 45"})
    void decodingThatCannotEvict_failsNearlyAll_withOneMessage(long seed, long failures) {
        Faults faults = new Faults(List.of(new CacheFault.DecodeCannotEvict()));
        PhaseSettings settings = PhaseSettings.of(Profile.PREFIX, Rates.qwen3());
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
        Rates small = Rates.llama().withCache(8, 256);
        Server server = new Server(PhaseSettings.of(Profile.PREFIX, small).withContextTokens(2048), Faults.none());
        Random random = new Random(1);
        while (server.engine.stats().steps() < steps) {
            if (server.engine.stats().waiting() < 4) {
                server.submit(Workload.tokens(random, 1 + random.nextInt(900)), 1 + random.nextInt(900), "");
            }
            server.engine.step();
        }
        assertThat(server.engine.stats().failed()).isZero();
        assertThat(server.engine.stats().evictedTokens()).isGreaterThan(50_000);
        assertThat(server.engine.stats().freeTokens()).isLessThan(256 * 16 / 4);
    }

    @Test
    void graphs_areCapturedBeforeTheFirstRequest_andTakeMemory() {
        Server server = new Server(PhaseSettings.of(Profile.GRAPH, Rates.qwen3()), Faults.none());
        assertThat(server.engine.stats().ready()).isFalse();
        assertThat(server.engine.stats().capacityTokens()).isEqualTo(1024 * 16);
        Heard early = server.submit(Workload.tokens(new Random(1), 64), 4, "");
        for (int bucket : Rates.BUCKETS) {
            assertThat(server.engine.stats().ready()).as("before " + bucket).isFalse();
            assertThat(server.engine.step()).isTrue();
            assertThat(early.tokens).isEmpty();
        }
        assertThat(server.engine.stats().ready()).isTrue();
        assertThat(server.engine.stats().capacityTokens()).isEqualTo((1024 - 128) * 16);
        server.untilIdle();
        assertThat(early.done).isTrue();
    }

    @Test
    void capacityFall_leavesRunningRequestsTheirBlocks() {
        Faults faults = new Faults(List.of(new CacheFault.CapacityFalls(50, 4)));
        PhaseSettings settings = PhaseSettings.of(Profile.PREFIX, Rates.llama().withCache(8, 256));
        Played played = Played.of(settings.withContextTokens(2048), faults, burst(40, 300, 100));
        assertThat(played.answered()).hasSize(40);
        assertThat(played.engine.stats().capacityTokens()).isEqualTo(128 * 16);
    }

    @Test
    void promptOf4096Tokens_isSixteenChunksOf256() {
        Played played = Played.of(Profile.RESTORE, Rates.restoring(), burst(1, 4096, 4));
        assertThat(prefills(played)).hasSize(16).containsOnly(256);
    }

    @ParameterizedTest
    @ValueSource(ints = {1024, 2048, 2049})
    void prompt_isCutAboveTheThresholdOnly(int prompt) {
        Played played = Played.of(Profile.RESTORE, Rates.restoring(), burst(1, prompt, 4));
        assertThat(prefills(played)).hasSize(prompt <= 2048 ? 1 : 9);
    }

    @Test
    void agentsCache_isColdThenHotThenWarm() {
        Server server = new Server(PhaseSettings.of(Profile.RESTORE, Rates.restoring()), Faults.none());
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
    void agentWithoutASession_isWhoeverBeganAlike() {
        Server server = new Server(PhaseSettings.of(Profile.RESTORE, Rates.restoring()), Faults.none());
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
        assertThat(mostRunning(Played.of(Profile.RESTORE, Rates.restoring(), burst(3, 512, 16))))
                .isEqualTo(2);
        assertThat(mostRunning(Played.of(
                        PhaseSettings.of(Profile.RESTORE, Rates.restoring()).withRunning(1),
                        Faults.none(),
                        burst(3, 512, 16))))
                .isEqualTo(1);
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void abortedRequests_leaveNothingBehind(Profile profile) {
        Rates rates = Rates.llama().withCache(8, 512);
        PhaseSettings settings = new PhaseSettings(profile, rates, 8, 1024, 16, 2048, 512, 0);
        Server server = new Server(settings, Faults.none());
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
        PhaseStats stats = server.engine.stats();
        assertThat(stats.running() + stats.waiting()).isZero();
        assertThat(stats.failed()).isZero();
        assertThat(stats.aborted()).isPositive();
        assertThat(stats.streamed().requests() + stats.aborted()).isEqualTo(400);
        assertThat(stats.freeTokens() + stats.cachedTokens()).isEqualTo(stats.capacityTokens());
    }

    @Test
    void requestBeyondTheContext_isRefusedInOneSentence() {
        Server server = new Server(PhaseSettings.of(Profile.PAGED, Rates.llama()), Faults.none());
        Heard heard = server.submit(Workload.tokens(new Random(1), 4000), 97, "");
        assertThat(heard.failure).hasValue("The prompt of 4000 tokens and 97 more exceed the context of 4096 tokens.");
        assertThat(server.engine.step()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void onlyAPrefixTree_hasEvents(Profile profile) {
        Rates rates = profile == Profile.RESTORE ? Rates.restoring() : Rates.llama();
        List<CacheEvent> events = Played.of(profile, rates, burst(2, 128, 20)).events;
        if (profile.sharesPrefixes()) {
            assertThat(events).startsWith(new CacheEvent.Cleared()).hasSizeGreaterThan(2);
        } else {
            assertThat(events).isEmpty();
        }
    }

    private static Workload burst(int requests, int prompt, int answer) {
        return Workload.spaced(requests * 31L + prompt, requests, 0, prompt, answer);
    }

    private static int mostRunning(Played played) {
        return played.engine.steps().stream()
                .mapToInt(step -> Math.max(step.running(), step.decodes()))
                .max()
                .orElseThrow();
    }

    private static List<Integer> prefills(Played played) {
        return played.engine.steps().stream()
                .map(PhaseStep::prefillTokens)
                .filter(tokens -> tokens > 0)
                .toList();
    }

    private static long hits(Played played) {
        return played.calls.stream().filter(call -> call.cachedTokens >= 1024).count();
    }

    /** An engine that is asked one thing after another. */
    private static final class Server {
        private final VirtualClock clock = new VirtualClock();
        private final PhaseEngine engine;
        private Heard last = new Heard();
        private Optional<Generation> lastRequest = Optional.empty();

        Server(PhaseSettings settings, Faults faults) {
            engine = new PhaseEngine(
                    settings,
                    faults,
                    clock,
                    new Gpu(new Speed(0, 0, 0, 1), faults, clock, () -> false),
                    Model.seeded(1, 1000),
                    _ -> {});
        }

        Heard submit(int[] prompt, int answer, String session) {
            last = new Heard();
            Generation request =
                    new Generation(prompt, RequestOptions.of(answer).withSession(session), true, clock.nanos(), last);
            lastRequest = Optional.of(request);
            engine.submit(request);
            return last;
        }

        double secondsToFirst(int[] prompt, String session) {
            double before = clock.nanos() / 1e9;
            submit(prompt, 1, session);
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
