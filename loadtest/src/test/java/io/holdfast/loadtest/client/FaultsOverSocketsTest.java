package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The fault seeds that are worth a socket, with and without a hold that works. What the cache says and which cause is named are
 * no matter of time; what is found by time is the matter of {@code FaultSeedsTest}.
 */
final class FaultsOverSocketsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final EmulatorSettings VLLM = EmulatedUnit.ENGINE.withKind(
            new EmulatorSettings.Kind.Vllm(VllmSettings.defaults().withSizes(129, 16, 1_024)));
    private static final Duration CALL = Duration.ofMillis(100);

    /** Longer than the client may stand still. */
    private static final long STANDSTILL = 150_000_000;

    private final Vertx servers = Vertx.vertx();
    private final Vertx client = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
    private final AtomicBoolean busy = new AtomicBoolean();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        busy.set(false);
        client.close().await();
        servers.close().await();
    }

    static LongStream seeds() {
        return LongStream.rangeClosed(1, DEEP ? 2 : 1);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void eventLoss_isNoConcernOfTheLoadTestsOwnArms(long seed) {
        assertThatHoldsWork(seed, new EventFault.EventLoss(30));
        assertThat(ignoringPins(seed, new EventFault.EventLoss(30))).isNotEqualTo(Finding.REAL);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void slowControlCalls_haveASlotThatTheyFit(long seed) {
        Result result = assertThatHoldsWork(seed, new HttpFault.PinLate(CALL));
        assertThat(result.header().slotMillis()).isGreaterThanOrEqualTo(3 * CALL.toMillis());
        assertThat(ignoringPins(seed, new HttpFault.PinLate(CALL))).isNotEqualTo(Finding.REAL);
    }

    /** The one event loop of this client has something else to do for most of the time. */
    @ParameterizedTest
    @MethodSource("seeds")
    void saturatedClient_isInvalidAndNamed(long seed) {
        busy.set(true);
        keepBusy();
        for (List<Fault> faults : List.of(List.<Fault>of(), List.<Fault>of(new CacheFault.PinIgnored()))) {
            Result result = run(
                    EmulatedUnit.ENGINE.withFaults(faults),
                    seed,
                    FaultsOverSocketsTest::pins,
                    settings -> settings.repeatPairs(0));
            assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
            assertThat(result.verdict().reason()).containsPattern("the client (stood still for|was saturated)");
        }
    }

    @Test
    void restartBetweenLegs_isInvalidAndNamedByEitherEngine() {
        for (EmulatorSettings engine : List.of(EmulatedUnit.ENGINE, VLLM)) {
            Result result = run(engine, 1, (tested, unit) -> new Restarting(unit), settings -> settings);
            assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
            assertThat(result.verdict().reason())
                    .contains("leg 1 (", "the server was restarted: the process that answers is another one");
        }
    }

    private void keepBusy() {
        client.getOrCreateContext().runOnContext(ignored -> {
            long until = System.nanoTime() + STANDSTILL;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            if (busy.get()) {
                client.setTimer(1, again -> keepBusy());
            }
        });
    }

    private Result assertThatHoldsWork(long seed, Fault fault) {
        Result result = run(
                EmulatedUnit.ENGINE.withFaults(List.of(fault)),
                seed,
                FaultsOverSocketsTest::pins,
                settings -> settings.rehearsal(true));
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.pinned().cachedTokens()).hasValue(EmulatedUnit.PREFIX);
        return result;
    }

    private Finding ignoringPins(long seed, Fault fault) {
        Result result = run(
                EmulatedUnit.ENGINE.withFaults(List.of(fault, new CacheFault.PinIgnored())),
                seed,
                FaultsOverSocketsTest::pins,
                settings -> settings.rehearsal(true));
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.NO);
        return result.verdict().finding();
    }

    @SuppressWarnings("unused") // the unit is another arm's matter
    private static ArmSwitch pins(HttpEngine engine, EmulatedUnit unit) {
        return Arms.pinRoute(engine);
    }

    private Result run(
            EmulatorSettings engine,
            long seed,
            BiFunction<HttpEngine, EmulatedUnit, ArmSwitch> arm,
            UnaryOperator<LoadTestPlan.Builder> change) {
        LoadTestPlan.Builder settings = LoadTestPlan.defaults().toBuilder()
                .rounds(2)
                .seed(seed)
                .concurrency(4)
                .burnIn(false)
                .repeatPairs(50)
                .slotAdapts(true)
                .slotTolerance(Duration.ofSeconds(60));
        RunClock clock = RunClock.system();
        Path journal = folder.resolve("run-" + runs.size() + ".jsonl");
        runs.add(journal);
        try (EmulatedUnit unit = new EmulatedUnit(servers, engine);
                HttpEngine tested = new HttpEngine(
                        client,
                        unit,
                        engine.kind() instanceof EmulatorSettings.Kind.Vllm
                                ? HttpSettings.defaults()
                                        .withRoute(CompletionRoute.OPENAI_COMPLETIONS)
                                        .withFlushPath("/reset_prefix_cache")
                                        .withModel("holdfast-emulated")
                                : HttpSettings.defaults(),
                        clock);
                ArmSwitch arms = arm.apply(tested, unit)) {
            return LoadTestRun.run(
                    new RunEnvironment(tested, arms, clock),
                    IdlePrefixFlood.workload(seed, EmulatedUnit.SHAPE),
                    change.apply(settings).build(),
                    journal,
                    Progress.silent());
        }
    }

    private final List<Path> runs = new ArrayList<>();

    /** Holds nothing, and ends each leg with another process than it began with. */
    private record Restarting(EmulatedUnit unit) implements ArmSwitch {
        @Override
        public String name() {
            return "a restart";
        }

        @Override
        public boolean claimsHold() {
            return false;
        }

        @Override
        public void prepare() {
            // Nothing to be asked of anybody.
        }

        @Override
        public HoldReceipt on(Prefixes prefixes, Duration within) {
            return HoldReceipt.switched("on");
        }

        @Override
        public HoldReceipt off(Prefixes prefixes, Duration within) {
            return HoldReceipt.sham("off");
        }

        @Override
        public ReleaseReceipt release(HoldReceipt step) {
            unit.restart();
            return step.kind() == HoldReceipt.Kind.SHAM ? ReleaseReceipt.sham("off") : ReleaseReceipt.released("off");
        }

        @Override
        public void close() {
            // Nothing is left.
        }
    }
}
