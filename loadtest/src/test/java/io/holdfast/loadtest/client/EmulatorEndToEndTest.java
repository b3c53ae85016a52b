package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes.Way;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.Connector;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sglang.StreamingSessionBackend;
import io.holdfast.vllm.ConnectorBackend;
import io.holdfast.vllm.ConnectorSecret;
import io.holdfast.vllm.NixlLeaseBackend;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Whole runs over sockets against emulated engines; what they find by time is the matter of {@code VerdictTest}. */
final class EmulatorEndToEndTest {
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private static final RunClock CLOCK = RunClock.system();
    private static final String SECRET = "a secret of the tests";

    /** A vLLM with the connector, which holds up to 32 of its 128 blocks. */
    private static final EmulatorSettings CONNECTED = EmulatedUnit.ENGINE.withKind(new EmulatorSettings.Kind.Vllm(
            VllmSettings.defaults().withSizes(129, 16, 1_024).withConnector(Connector.of(SECRET))));

    private static final HttpSettings VLLM = HttpSettings.defaults()
            .withRoute(CompletionRoute.OPENAI_COMPLETIONS)
            .withModel("holdfast-emulated");

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    /** What the engine says of its cache is no matter of time, so a busy machine cannot change it. */
    @Test
    void heldPrefixUnderAFlood_isKeptAndLostWithoutAHold() {
        Result result = run(EmulatedUnit.ENGINE, 2);
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(result.baseline().legs()).isEqualTo(8);
        assertThat(result.pinned().legs()).isEqualTo(4);
        assertThat(result.header().engine().pageTokens()).hasValue(16);
        assertThat(warningsOfTheServer(result)).isEmpty();
        assertThat(Analysis.of(folder.resolve("run.jsonl"))).isEqualTo(result);
    }

    @Test
    void ampleMemory_keepsThePrefixInBothArms() {
        Result result = run(EmulatedUnit.ENGINE.withCapacityTokens(16_384), 1);
        assertThat(result.baseline().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(warningsOfTheServer(result)).singleElement().asString().contains("does not exceed the cache");
    }

    @Test
    void engineWithoutTheRoute_isRefusedBeforeAnyLeg() {
        EmulatorSettings stock = EmulatedUnit.ENGINE.withVariant(SglangSettings.Variant.STOCK);
        assertThatThrownBy(() -> run(stock, 1, HttpSettings.defaults(), Arms::pinRoute))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("pins no blocks (POST /hicache/pin_blocks was answered with 404")
                .hasMessageEndingWith("or write --hold keep-warm, which every engine that caches prefixes takes.");
        assertThatThrownBy(() -> run(stock, 1, HttpSettings.defaults(), engine -> Arms.session(engine, 1)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("keeps nothing for sessions: start it with --enable-session-radix-cache, or");
        assertThat(folder.resolve("run.jsonl")).doesNotExist();
    }

    /** A session is the engine's own, by either of its routes; what it keeps is no matter of time. */
    @ParameterizedTest
    @EnumSource(
            value = CompletionRoute.class,
            names = {"SGLANG_GENERATE", "OPENAI_TEXT"})
    void sessionOnAStockEngine_keepsThePrefix(CompletionRoute route) {
        EmulatorSettings stock = EmulatedUnit.ENGINE.withKind(new EmulatorSettings.Kind.Sglang(
                SglangSettings.defaults().withSizes(2_048, 16, 1_024).withSessions(true), false));
        HttpSettings http = HttpSettings.defaults().withRoute(route).withModel("holdfast-emulated");
        // What runs at one time must leave room for what a session protects, which is no pin.
        Result result = run(stock, 1, http, engine -> Arms.session(engine, 1), settings -> settings.concurrency(1));
        assertThat(result.baseline().cachedTokens().orElseThrow()).isLessThan(16);
        assertThat(result.pinned().cachedTokens().orElseThrow()).isGreaterThan(EmulatedUnit.PREFIX - 16);
        assertThat(result.header().claimsHold()).isTrue();
        assertThat(result.legs())
                .allSatisfy(leg -> assertThat(leg.own()).singleElement().matches(RequestRecord::isOk));
    }

    /** What a connector holds is no matter of time; the arms make the same calls, and differ in a name. */
    @Test
    void vllmsConnector_keepsThePrefix() {
        Result result = run(
                CONNECTED, 1, VLLM, engine -> Arms.way(engine, CLOCK, connector(SECRET)), EmulatorEndToEndTest::salted);
        assertThat(result.header().holder()).isEqualTo("a hold by vllm_connector");
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(result.legs())
                .allSatisfy(leg -> assertThat(leg.hold().kind())
                        .isEqualTo(leg.arm() == Arm.PINNED ? HoldReceipt.Kind.HELD : HoldReceipt.Kind.SHAM));
        assertThat(result.legs())
                .allSatisfy(leg -> assertThat(leg.own())
                        .singleElement()
                        .matches(RequestRecord::isOk)
                        .satisfies(pin -> assertThat(pin.cachedTokens()).hasValue(EmulatedUnit.PREFIX)));
        assertThat(result.warnings()).noneMatch(warning -> warning.contains("somebody else"));
    }

    @Test
    void streamingSession_keepsThePrefix() {
        EmulatorSettings streaming = EmulatedUnit.ENGINE.withKind(new EmulatorSettings.Kind.Sglang(
                SglangSettings.defaults().withSizes(2_048, 16, 1_024).withStreaming(true), false));
        Result result = run(
                streaming,
                1,
                HttpSettings.defaults(),
                engine -> Arms.way(
                        engine,
                        CLOCK,
                        (http, timer) -> new StreamingSessionBackend(http, timer, new SplittableRandom())),
                settings -> settings.concurrency(1));
        assertThat(result.header().holder()).isEqualTo("a hold by streaming_session");
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(result.warnings()).noneMatch(warning -> warning.contains("somebody else"));
    }

    /** Nobody takes a lease back, so each leg ends when it is over; the waiting is skipped. */
    @Test
    void leaseOfNixl_keepsThePrefixAndIsWaitedOutInBothArms() {
        SkippingClock clock = new SkippingClock();
        Duration lease = Duration.ofSeconds(30);
        EmulatorSettings nixl = EmulatedUnit.ENGINE.withKind(new EmulatorSettings.Kind.Vllm(
                VllmSettings.defaults().withSizes(129, 16, 1_024).withNixlLease(lease)));
        ArmSwitch.Prefixes prefixes = new ArmSwitch.Prefixes(text(1, 256), text(2, 256));
        try (EmulatedUnit unit = new EmulatedUnit(vertx, nixl, clock);
                HttpEngine engine = new HttpEngine(vertx, unit, VLLM, clock);
                ArmSwitch arm = Arms.way(engine, clock, (http, timer) -> new NixlLeaseBackend(http, timer, lease))) {
            engine.beginLife();
            arm.prepare();
            engine.prepare(List.of()).connect(1);
            assertThat(arm.legsTake(Duration.ofSeconds(10))).isEqualTo(Duration.ofSeconds(31));
            assertThat(arm.afterAKill()).hasValue("What a kill -9 leaves pinned ends within 30 s.");
            for (boolean pinned : List.of(true, false)) {
                assertThat(engine.ask(prefixes.probed()).isOk()).isTrue();
                long began = clock.nanos();
                HoldReceipt hold = pinned ? arm.on(prefixes, lease) : arm.off(prefixes, lease);
                assertThat(hold.kind()).isEqualTo(pinned ? HoldReceipt.Kind.HELD : HoldReceipt.Kind.SHAM);
                assertThat(arm.sent()).singleElement().matches(RequestRecord::isOk);
                flood(engine);
                assertThat(engine.ask(prefixes.probed()).cachedTokens()).hasValue(pinned ? 240 : 0);
                ReleaseReceipt release = arm.release(hold);
                assertThat(release.kind()).isEqualTo(pinned ? ReleaseReceipt.Kind.RELEASED : ReleaseReceipt.Kind.SHAM);
                assertThat(Duration.ofNanos(clock.nanos() - began)).isGreaterThanOrEqualTo(Duration.ofSeconds(31));
                flood(engine);
                assertThat(engine.ask(prefixes.probed()).cachedTokens())
                        .as("after the leg")
                        .hasValue(0);
                flood(engine);
            }
            HoldReceipt late = arm.on(prefixes, lease);
            clock.sleep(lease.toNanos() + 1);
            assertThat(arm.release(late).kind()).isEqualTo(ReleaseReceipt.Kind.LOST);
        }
    }

    private static void flood(EngineUnderTest engine) {
        for (int i = 0; i < 8; i++) {
            assertThat(engine.ask(text(10 + i, 320)).isOk()).isTrue();
        }
    }

    private static LoadRequest text(int seed, int length) {
        return new LoadRequest(
                Role.TOUCH,
                0,
                new SplittableRandom(seed).ints(length, 1_000, 30_000).toArray(),
                1);
    }

    /** The machine's clock for engine and run, but for what the run waits for, which is skipped. */
    private static final class SkippingClock implements EngineClock, RunClock {
        private final MachineClock machine = new MachineClock();
        private final AtomicLong skipped = new AtomicLong();

        @Override
        public long nanos() {
            return machine.nanos() + skipped.get();
        }

        @Override
        public double unixSeconds() {
            return machine.unixSeconds() + skipped.get() / 1e9;
        }

        @Override
        public void await(long deadlineNanos) {
            machine.await(deadlineNanos - skipped.get());
        }

        @Override
        public void sleepUntil(long deadlineNanos) {
            skipped.addAndGet(Math.max(0, deadlineNanos - nanos()));
        }

        @Override
        public Instant now() {
            return Instant.now();
        }
    }

    @Test
    void connectorThatIsNotThereOrHasAnotherSecret_isRefusedBeforeAnyLeg() {
        EmulatorSettings plain = CONNECTED.withKind(
                new EmulatorSettings.Kind.Vllm(VllmSettings.defaults().withSizes(129, 16, 1_024)));
        assertThatThrownBy(() -> run(
                        plain,
                        1,
                        VLLM,
                        engine -> Arms.way(engine, CLOCK, connector(SECRET)),
                        EmulatorEndToEndTest::salted))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("The engine cannot hold. vllm_connector: The engine has no connector of");
        assertThatThrownBy(() -> run(
                        CONNECTED,
                        1,
                        VLLM,
                        engine -> Arms.way(engine, CLOCK, connector("another secret of the tests")),
                        EmulatorEndToEndTest::salted))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("has another secret");
        assertThat(folder.resolve("run.jsonl")).doesNotExist();
    }

    @Test
    void legThatIsLongerThanAPinLasts_isRefused() {
        try (EmulatedUnit unit = new EmulatedUnit(vertx, CONNECTED);
                HttpEngine engine = new HttpEngine(vertx, unit, VLLM, CLOCK);
                ArmSwitch arm = Arms.way(engine, CLOCK, connector(SECRET))) {
            engine.beginLife();
            arm.prepare();
            assertThat(arm.legsTake(Duration.ofMinutes(3))).isEqualTo(Duration.ofMinutes(3));
            assertThat(arm.afterAKill()).hasValue("What a kill -9 leaves pinned ends within 180 s.");
            assertThatThrownBy(() -> arm.legsTake(Duration.ofSeconds(181)))
                    .isInstanceOf(LoadTestException.class)
                    .hasMessage("A leg takes about 181 s, and a pin by vllm_connector lasts 180 s: write fewer --cycles"
                            + " or a smaller flood.");
        }
    }

    /** The prefix is nobody's to hold: it lives by the room that a finished context leaves to the flood. */
    @ParameterizedTest
    @CsvSource({"5, 0, YES", "3, 256, NO"})
    void finishedContextThatIsGivenBack_savesThePrefixOnlyFromAFloodThatNeedsItsRoom(
            int floodRequests, int baselineCached, Answer exposed) {
        Result result = run(
                CONNECTED,
                1,
                VLLM,
                engine ->
                        Arms.release(engine, CLOCK, List.of(connector(SECRET)), new ArmPlan.Release(Optional.empty())),
                EmulatorEndToEndTest::salted,
                IdlePrefixFlood.workload(11, FloodShape.of(EmulatedUnit.PREFIX, 32, floodRequests, 304, 1)));
        assertThat(result.header().holder())
                .isEqualTo("a finished context, held by vllm_connector and given back before the floods");
        assertThat(result.cacheProof().exposed()).isEqualTo(exposed);
        assertThat(result.baseline().cachedTokens()).hasValue(baselineCached);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(result.legs()).allSatisfy(leg -> {
            assertThat(leg.hold().reason()).endsWith("32 blocks of 2 texts");
            assertThat(leg.own()).hasSize(2 + 2 + 1).allMatch(RequestRecord::isOk);
        });
    }

    private static LoadTestPlan.Builder salted(LoadTestPlan.Builder settings) {
        return settings.concurrency(1).salt(new Salt(5));
    }

    private static Way connector(String secret) {
        return (http, timer) ->
                new ConnectorBackend(http, Optional.of(ConnectorSecret.of(secret)), CLOCK::now, new SplittableRandom());
    }

    /** Nobody empties this cache, and the touches go on while the flood does. */
    @Test
    void touchesOnVllm_keepThePrefixAndComeAsOftenInBothArms() {
        EmulatorSettings vllm = EmulatedUnit.ENGINE.withKind(
                new EmulatorSettings.Kind.Vllm(VllmSettings.defaults().withSizes(129, 16, 1_024)));
        HttpSettings http = HttpSettings.defaults()
                .withRoute(CompletionRoute.OPENAI_COMPLETIONS)
                .withModel("holdfast-emulated");
        Result result = run(
                vllm,
                1,
                http,
                engine -> Arms.keepWarm(engine, 1),
                settings -> settings.concurrency(1).salt(new Salt(5)));
        assertThat(result.header().engine().family()).isEqualTo(EngineFacts.Family.VLLM);
        assertThat(result.header().engine().capacityTokens()).hasValue(129 * 16);
        assertThat(result.header().engine().longestPrompt()).hasValue(1_024);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        assertThat(result.legs()).allSatisfy(leg -> {
            assertThat(leg.own()).hasSize(1 + 7).allMatch(RequestRecord::isOk);
            assertThat(leg.requests()).hasSize(1 + 8 + 1);
            assertThat(leg.own().stream().skip(1))
                    .as("amid the flood")
                    .allSatisfy(touch -> assertThat(touch.scheduled())
                            .isBetween(
                                    leg.requests().get(1).done(),
                                    leg.requests().getLast().scheduled()));
        });
    }

    /** Who comes at times of his own waits for nobody, and a probe waits for all of them. */
    @Test
    void floodAtTimesOfItsOwn_isTheSameInEveryLegAndOverBeforeItsProbe() {
        Workload workload = IdlePrefixFlood.workload(11, EmulatedUnit.SHAPE, Arrivals.of("poisson:60"));
        Result result = run(
                EmulatedUnit.ENGINE,
                1,
                HttpSettings.defaults(),
                Arms::pinRoute,
                settings -> settings.concurrency(EmulatedUnit.SHAPE.floodRequests()),
                workload);
        assertThat(result.header().workload()).isEqualTo(workload.facts());
        List<Long> turns = workload.phases(1).get(1).turns();
        assertThat(turns).hasSize(EmulatedUnit.SHAPE.floodRequests());
        assertThat(result.legs()).isNotEmpty().allSatisfy(leg -> {
            List<RequestRecord> flood = leg.requests().subList(1, 1 + EmulatedUnit.SHAPE.floodRequests());
            assertThat(flood).allMatch(RequestRecord::isOk);
            long began = flood.getFirst().scheduled();
            assertThat(flood).extracting(request -> request.scheduled() - began).isEqualTo(turns);
            assertThat(flood).allSatisfy(request -> {
                assertThat(request.sent()).isGreaterThanOrEqualTo(request.scheduled());
                assertThat(request.done())
                        .isLessThanOrEqualTo(leg.requests().getLast().scheduled());
            });
        });
        assertThat(Floods.of(result.header(), result.legs())).hasValueSatisfying(floods -> {
            assertThat(floods.requests()).isEqualTo(6 * EmulatedUnit.SHAPE.floodRequests());
            assertThat(floods.notSent()).isZero();
            assertThat(floods.ttftFromTurnMillis().orElseThrow())
                    .isGreaterThan(floods.ttftMillis().orElseThrow());
        });
    }

    @Test
    void routesByIds_tellTheCachedTokensOfARepeatedPrompt() {
        try (EmulatedUnit unit = new EmulatedUnit(vertx, EmulatedUnit.ENGINE)) {
            for (CompletionRoute route : List.of(CompletionRoute.SGLANG_GENERATE, CompletionRoute.OPENAI_COMPLETIONS)) {
                assertThat(route.sendsTokenIds()).isTrue();
                HttpSettings settings = HttpSettings.defaults().withRoute(route).withModel("toy");
                try (EngineClient client = new EngineClient(vertx, unit.uri(), settings, System::nanoTime)) {
                    EngineClient.await(client.open(1), LIMIT, "opening");
                    List<RequestRecord> records = EngineClient.await(
                            client.closedLoop(twice(route, route == CompletionRoute.SGLANG_GENERATE ? 1 : 2), 1),
                            LIMIT,
                            "the load");
                    assertThat(records).allMatch(RequestRecord::isOk);
                    assertThat(records).allSatisfy(record -> {
                        assertThat(record.promptTokens()).hasValue(64);
                        assertThat(record.completionTokens()).hasValue(3);
                    });
                    assertThat(records.get(1).cachedTokens()).hasValue(48);
                }
            }
        }
    }

    /** A vLLM of before 0.32 tells no zeros, and its counters prove them; on the line a baseline leg told nothing. */
    @ParameterizedTest
    @EnumSource(
            value = CompletionRoute.class,
            names = {"OPENAI_COMPLETIONS", "OPENAI_TEXT"})
    void vllmThatTellsNoZeros_isMeasuredAllTheSame(CompletionRoute route) {
        EmulatorSettings vllm = EmulatedUnit.ENGINE.withKind(new EmulatorSettings.Kind.Vllm(
                VllmSettings.defaults().withSizes(129, 16, 1_024).withRelease(VllmSettings.Release.V0_22)));
        HttpSettings http = HttpSettings.defaults().withRoute(route).withModel("holdfast-emulated");
        Result result = run(
                vllm,
                1,
                http,
                engine -> Arms.keepWarm(engine, 1),
                settings -> settings.concurrency(1).salt(new Salt(5)));
        assertThat(Journal.read(folder.resolve("run.jsonl")).legs().stream()
                        .filter(leg -> leg.arm() == Arm.BASELINE)
                        .flatMap(leg -> leg.probes().stream()))
                .isNotEmpty()
                .allMatch(probe -> probe.cachedTokens().isEmpty());
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.cacheProof().exposed()).isNotEqualTo(Answer.UNKNOWN);
        assertThat(result.warnings())
                .anySatisfy(warning -> assertThat(warning)
                        .startsWith("The server left the count of cached tokens out of ")
                        .contains("never 0: it leaves out what is 0, so 0 was taken there; its own counters prove it"));
    }

    private static List<Prepared> twice(CompletionRoute route, int first) {
        int[] tokens = new int[64];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = 1000 * first + i;
        }
        List<Prepared> requests = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            LoadRequest request = new LoadRequest(Role.PROBE, 1, tokens, 3);
            requests.add(new Prepared(number, request, Buffer.buffer(route.body(Optional.of("toy"), request))));
        }
        return requests;
    }

    /** All warnings but the one that says which pairs this machine spoiled, which is there where it spoiled some. */
    private static List<String> warningsOfTheServer(Result result) {
        if (result.voided().isEmpty()) {
            return result.warnings();
        }
        assertThat(result.warnings().getFirst()).contains("voided by what happened around a leg", "and run again");
        return result.warnings().subList(1, result.warnings().size());
    }

    private Result run(EmulatorSettings engine, int rounds) {
        return run(engine, rounds, HttpSettings.defaults(), Arms::pinRoute);
    }

    private Result run(
            EmulatorSettings engine, int rounds, HttpSettings http, Function<EngineUnderTest, ArmSwitch> arm) {
        return run(engine, rounds, http, arm, settings -> settings);
    }

    private Result run(
            EmulatorSettings engine,
            int rounds,
            HttpSettings http,
            Function<EngineUnderTest, ArmSwitch> arm,
            UnaryOperator<LoadTestPlan.Builder> change) {
        return run(engine, rounds, http, arm, change, IdlePrefixFlood.workload(11, EmulatedUnit.SHAPE));
    }

    private Result run(
            EmulatorSettings engine,
            int rounds,
            HttpSettings http,
            Function<EngineUnderTest, ArmSwitch> arm,
            UnaryOperator<LoadTestPlan.Builder> change,
            Workload workload) {
        LoadTestPlan.Builder settings = LoadTestPlan.defaults().toBuilder()
                .rounds(rounds)
                .concurrency(4)
                .burnIn(false)
                .repeatPairs(50)
                // However slow the machine is, calls fit into a slot that the rehearsal measured.
                .rehearsal(true)
                .slotAdapts(true)
                .holdSlot(Duration.ofMillis(250))
                .slotTolerance(Duration.ofSeconds(60));
        RunClock clock = RunClock.system();
        try (EmulatedUnit unit = new EmulatedUnit(vertx, engine);
                HttpEngine tested = new HttpEngine(vertx, unit, http, clock);
                ArmSwitch arms = arm.apply(tested)) {
            Result result = LoadTestRun.run(
                    new RunEnvironment(tested, arms, clock),
                    workload,
                    change.apply(settings).build(),
                    folder.resolve("run.jsonl"),
                    Progress.silent());
            // What a busy machine spoiled runs again, in a life of its own.
            assertThat(unit.lives())
                    .isLessThanOrEqualTo(1 + 3 * rounds + result.voided().size());
            return result;
        }
    }
}
