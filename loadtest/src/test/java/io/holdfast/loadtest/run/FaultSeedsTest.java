package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.fault.ServerFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What the whole tool says of noisy engines that misbehave, with and without an effect, in virtual time. */
final class FaultSeedsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int SEEDS = DEEP ? 20 : 3;
    private static final GpuFault.Noise NOISE = new GpuFault.Noise(10, 1.9, 1.6, 1);

    private static final VirtualExperiment EVEN = VirtualExperiment.underPressure()
            .withLateness(20)
            .with(settings -> settings.rounds(5).burnIn(true));

    /** What pins save is worth nothing. */
    private static final Speed FREE_PREFILL = new Speed(0, 10_000, 1_000, 1);

    /** What pins save is three tenths of the time to the first token. */
    private static final Speed DEAR_PREFILL = new Speed(17.7, 10_000, 1_000, 1);

    /** So much that every run loses what it needs, in some leg. */
    private static final EventFault.EventLoss EVENT_LOSS = new EventFault.EventLoss(80);

    /** The readiness check of a server life is a request as well. */
    private static final int READINESS = 1;

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    /** After which a verdict is still to be had. */
    enum Bearable {
        COLD_FIRST_WAVE,
        DRIFT,
        THROTTLING,
        EVENT_LOSS,
        SLOW_CONTROL_CALLS;

        Fault fault() {
            return switch (this) {
                case COLD_FIRST_WAVE -> new GpuFault.ColdFirstWave(8, Duration.ofMillis(150));
                case DRIFT -> new GpuFault.Drift(20, 2);
                case THROTTLING -> new GpuFault.Throttling(0.84, 0.5);
                case EVENT_LOSS -> FaultSeedsTest.EVENT_LOSS;
                case SLOW_CONTROL_CALLS -> new HttpFault.PinLate(Duration.ofMillis(120));
            };
        }

        /** None of the load test's own arms reads events, so their loss is put to one that does nothing without them. */
        VirtualExperiment experiment() {
            return this == EVENT_LOSS
                    ? EVEN.withArms(engine -> new ToldByEvents(engine, Arms.pinRoute(engine), true))
                    : EVEN;
        }
    }

    /** After which the numbers are about something else. */
    enum Fatal {
        EMPTY_OUTPUTS("(came back without any|could not be sent: no) output"),
        USAGE_WRONG("more prompt tokens cached than any engine can have"),
        RESTART_BETWEEN_LEGS("the server was restarted: the process that answers is another one"),
        ANOTHER_MODEL(
                "another server answered than the one that the run began with: it serves the model 'another model',"
                        + " and"),
        SATURATED_CLIENT("the client was saturated: its event loop took (8[1-9]|9[0-9]|100) % of a core");

        private final String named;

        Fatal(String named) {
            this.named = named;
        }

        VirtualExperiment on(VirtualExperiment experiment) {
            return switch (this) {
                case EMPTY_OUTPUTS -> experiment.withFaults(NOISE, new HttpFault.EmptyOutputs(8));
                case USAGE_WRONG -> experiment.withFaults(NOISE, new HttpFault.UsageWrong(10));
                case RESTART_BETWEEN_LEGS ->
                    experiment.withFaults(
                            NOISE,
                            new ServerFault.Restart(
                                    READINESS + 2 * experiment.requestsOfALeg(), Duration.ofSeconds(1)));
                case ANOTHER_MODEL ->
                    experiment.withFaults(NOISE).withArms(engine -> {
                        engine.serveAnotherModelFrom(4);
                        return Arms.pinRoute(engine);
                    });
                case SATURATED_CLIENT ->
                    experiment.withFaults(NOISE).withArms(engine -> {
                        engine.answersTakeTheClient(Duration.ofMillis(100));
                        return Arms.pinRoute(engine);
                    });
            };
        }
    }

    /** After which there is no effect, whatever a hold would save. */
    enum Lost {
        PIN_IGNORED,
        AUTO_UNPIN;

        Fault fault() {
            return switch (this) {
                case PIN_IGNORED -> new CacheFault.PinIgnored();
                case AUTO_UNPIN -> new CacheFault.AutoUnpin(2);
            };
        }
    }

    @ParameterizedTest
    @EnumSource
    void bearableFaultWithoutAnEffect_isNeverReal(Bearable kind) {
        assertThat(findings(kind.experiment(), FREE_PREFILL, kind.fault())).doesNotContain(Finding.REAL);
    }

    @ParameterizedTest
    @EnumSource
    void bearableFaultWithAnEffect_isStillJudgedAndCovered(Bearable kind) {
        List<Result> results = runs(kind.experiment(), DEAR_PREFILL, kind.fault());
        List<Result> without = runs(kind.experiment(), DEAR_PREFILL, kind.fault(), new CacheFault.PinIgnored());
        int real = 0;
        int covered = 0;
        for (int i = 0; i < SEEDS; i++) {
            Result result = results.get(i);
            real += result.verdict().finding() == Finding.REAL ? 1 : 0;
            covered += result.estimate().shown().orElseThrow().ci95().contains(truth(result, without.get(i))) ? 1 : 0;
        }
        assertThat(real)
                .as(
                        "%s",
                        results.stream()
                                .map(result -> result.verdict().reason())
                                .toList())
                .isGreaterThanOrEqualTo((15 * SEEDS + 19) / 20);
        assertThat(covered).isGreaterThanOrEqualTo(DEEP ? 18 : SEEDS - 1);
        if (DEEP) {
            System.out.println(kind + ": " + real + " of " + SEEDS + " REAL, " + covered + " covered");
        }
    }

    @ParameterizedTest
    @EnumSource
    void fatalFault_isInvalidAndNamed(Fatal kind) {
        for (Speed speed : List.of(FREE_PREFILL, DEAR_PREFILL)) {
            assertThat(runs(kind.on(EVEN.withSpeed(speed))).stream().map(Result::verdict))
                    .allMatch(verdict -> verdict.finding() == Finding.INVALID)
                    .allMatch(verdict -> verdict.reason().matches(".*" + kind.named + ".*"));
        }
    }

    @ParameterizedTest
    @EnumSource
    void holdThatIsNotKept_isNeverReal(Lost kind) {
        assertThat(findings(EVEN, FREE_PREFILL, kind.fault())).doesNotContain(Finding.REAL);
        assertThat(findings(EVEN, DEAR_PREFILL, kind.fault())).doesNotContain(Finding.REAL);
    }

    /** A hold that is not made because nobody heard of its blocks is no pinned leg, whatever the latencies look like. */
    @Test
    void lostEventsThatNobodyAsksForAgain_areNamed() {
        VirtualExperiment deaf = EVEN.withArms(engine -> new ToldByEvents(engine, Arms.pinRoute(engine), false));
        for (Speed speed : List.of(FREE_PREFILL, DEAR_PREFILL)) {
            assertThat(runs(deaf, speed, EVENT_LOSS).stream().map(Result::verdict))
                    .allMatch(verdict -> verdict.finding() == Finding.INVALID)
                    .allMatch(verdict -> verdict.reason().contains("no event told of it"));
        }
    }

    /** So that a seed with lost events is one: some are, and what was lost is missed. */
    @Test
    void lostEvents_areMissedAndAskedForAgain() {
        List<VirtualEngine> engines = new ArrayList<>();
        List<ToldByEvents> arms = new ArrayList<>();
        runs(
                EVEN.withArms(engine -> {
                    engines.add(engine);
                    arms.add(new ToldByEvents(engine, Arms.pinRoute(engine), true));
                    return arms.getLast();
                }),
                DEAR_PREFILL,
                EVENT_LOSS);
        assertThat(engines).allMatch(engine -> engine.events().lost() > 0);
        assertThat(arms).allMatch(arm -> arm.asked() > 0);
    }

    /** The arms of the load test itself hear no events: what is lost of them changes no byte of what is written. */
    @Test
    void lostEvents_changeNothingForTheLoadTestsOwnArms() throws IOException {
        Path with = folder.resolve("with.jsonl");
        Path without = folder.resolve("without.jsonl");
        EVEN.withFaults(NOISE, EVENT_LOSS).run(1, with);
        EVEN.withFaults(NOISE).run(1, without);
        assertThat(with).hasSameBinaryContentAs(without);
    }

    /** The same seed draws the same noise, so that pinned legs differ from themselves by the hold alone. */
    private static double truth(Result with, Result without) {
        return IntStream.range(0, with.legs().size())
                .filter(i ->
                        with.legs().get(i).isMeasured() && with.legs().get(i).arm() == Arm.PINNED)
                .mapToDouble(i -> Math.log(
                        millis(with.legs().get(i)) / millis(without.legs().get(i))))
                .average()
                .orElseThrow();
    }

    private static double millis(LegRecord leg) {
        return leg.probeMillis().orElseThrow();
    }

    private List<Finding> findings(VirtualExperiment experiment, Speed speed, Fault fault) {
        return runs(experiment, speed, fault).stream()
                .map(result -> result.verdict().finding())
                .toList();
    }

    private List<Result> runs(VirtualExperiment experiment, Speed speed, Fault... faults) {
        return runs(experiment
                .withSpeed(speed)
                .withFaults(Stream.concat(Stream.of(NOISE), Stream.of(faults)).toArray(Fault[]::new)));
    }

    private List<Result> runs(VirtualExperiment experiment) {
        List<Result> results = new ArrayList<>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            Path journal = folder.resolve("run.jsonl");
            try {
                results.add(experiment.run(seed, journal));
                Files.delete(journal);
            } catch (IOException | RuntimeException e) {
                throw new AssertionError("Seed " + seed, e);
            }
        }
        return results;
    }
}
