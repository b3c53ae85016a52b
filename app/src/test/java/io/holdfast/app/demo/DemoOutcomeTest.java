package io.holdfast.app.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.demo.DemoOutcome.Judgement;
import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Judge;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.workload.WorkloadFacts;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

/** What the demo makes of a finding: a wrong one is blamed on the machine only where nothing else can be to blame. */
final class DemoOutcomeTest {
    private static final double SLOT_MILLIS = 150;
    private static final double[] NOTHING = {0.01, -0.01, 0.005, -0.005};
    private static final double[] GAIN = {-0.7, -0.71, -0.69, -0.7};
    private static final double[] LOSS = {0.7, 0.71, 0.69, 0.7};
    private static final double[] NOISE = {-1.5, 0.9, -0.6, 1.1};

    private static final CacheProof KEPT = proof(1, 1);
    private static final CacheProof IGNORED = proof(1, 0);
    private static final CacheProof AMPLE = proof(0, 0);

    @Test
    void findingThatIsThere_isExpected() {
        assertThat(pressure(GAIN, LOSS, KEPT)).isEqualTo(Judgement.EXPECTED);
        assertThat(ample(NOTHING, NOTHING, AMPLE)).isEqualTo(Judgement.EXPECTED);
    }

    @Test
    void rightCacheAndNoisyTimes_areTheMachines() {
        assertThat(pressure(NOISE, NOISE, KEPT)).isEqualTo(Judgement.TOO_BUSY);
    }

    @Test
    void wrongCache_isNeverTheMachines() {
        assertThat(pressure(NOTHING, NOTHING, IGNORED)).isEqualTo(Judgement.UNEXPECTED);
        assertThat(pressure(NOISE, NOISE, IGNORED)).isEqualTo(Judgement.UNEXPECTED);
        assertThat(pressure(NOTHING, NOTHING, AMPLE)).isEqualTo(Judgement.UNEXPECTED);
        assertThat(ample(GAIN, LOSS, KEPT)).isEqualTo(Judgement.UNEXPECTED);
    }

    @Test
    void failedGateOfALateMachine_isTheMachines() {
        assertThat(gate(20)).isEqualTo(Judgement.TOO_BUSY);
    }

    @Test
    void failedGateOfAPunctualMachine_isUnexpected() {
        assertThat(gate(2)).isEqualTo(Judgement.UNEXPECTED);
    }

    @Test
    void threeRounds_areTooFew() {
        double[] three = {-0.7, -0.71, -0.69};
        Experiment experiment = Experiment.of(CrossoverData.of(three, three, three), KEPT);
        assertThat(outcome(Finding.REAL, experiment, KEPT, 3, 0).judgement()).isEqualTo(Judgement.TOO_FEW_ROUNDS);
    }

    @Test
    void orderBias_isSeenWhereItIs() {
        Experiment biased = Experiment.of(CrossoverData.of(GAIN, GAIN, GAIN), AMPLE);
        DemoOutcome outcome = outcome(Finding.NO_EXPOSURE, biased, AMPLE, 4, 0);
        assertThat(outcome.sawOrderBias()).isTrue();
        assertThat(new DemoOutcome(outcome.scenario(), outcome.result(), false).sawOrderBias())
                .isFalse();
    }

    private static Judgement pressure(double[] normal, double[] reversed, CacheProof proof) {
        Experiment experiment = Experiment.of(CrossoverData.of(NOTHING, normal, reversed), proof);
        return outcome(Finding.REAL, experiment, proof, 4, 0).judgement();
    }

    private static Judgement ample(double[] normal, double[] reversed, CacheProof proof) {
        Experiment experiment = Experiment.of(CrossoverData.of(NOTHING, normal, reversed), proof);
        return outcome(Finding.NO_EXPOSURE, experiment, proof, 4, 0).judgement();
    }

    private static Judgement gate(double lateMillis) {
        Experiment experiment = Experiment.of(CrossoverData.of(NOTHING, GAIN, LOSS), KEPT)
                .withFailedGates(List.of("The prefix was not held."));
        return outcome(Finding.REAL, experiment, KEPT, 4, lateMillis).judgement();
    }

    private static DemoOutcome outcome(
            Finding expected, Experiment experiment, CacheProof proof, int rounds, double lateMillis) {
        RunHeader header = new RunHeader(
                RunHeader.FORMAT,
                "2026-11-22T00:00:00Z",
                Map.of(),
                new WorkloadFacts("w", "a flood", 1, 512, 2_180, "closed"),
                CrossoverPlan.draw(rounds, new SplittableRandom(1)),
                LoadTestPlan.defaults().toBuilder()
                        .rounds(rounds)
                        .concurrency(4)
                        .burnIn(false)
                        .holdSlot(Duration.ofMillis((long) SLOT_MILLIS))
                        .slotTolerance(Duration.ofMillis(250))
                        .repeatPairs(0)
                        .build(),
                "an engine",
                true,
                "a holder",
                true,
                new EngineFacts(
                        EngineFacts.Family.SGLANG,
                        OptionalInt.of(16),
                        OptionalLong.empty(),
                        OptionalLong.empty(),
                        Optional.empty()),
                Map.of());
        ArmSummary arm = new ArmSummary(4, 12, OptionalDouble.empty(), OptionalDouble.empty());
        Result result = new Result(
                header,
                Judge.judge(experiment, header.criteria()),
                proof,
                arm,
                arm,
                Map.of(),
                List.of(leg(lateMillis)),
                List.of());
        DemoScenario scenario = expected == Finding.REAL ? DemoScenario.pressure(3) : DemoScenario.ample(3);
        return new DemoOutcome(scenario, result, true);
    }

    private static LegRecord leg(double lateMillis) {
        return new LegRecord(
                1,
                PairOrder.AA,
                1,
                Arm.BASELINE,
                "w",
                "",
                new FlushReceipt("1", 1, Optional.empty()),
                HoldReceipt.sham("seen"),
                0,
                ReleaseReceipt.sham("seen"),
                List.of(new Step(Step.Kind.HOLD, 0, 0, (long) (1e6 * (SLOT_MILLIS + lateMillis)))),
                List.of(),
                List.of(),
                Optional.empty());
    }

    /** Of four lives: how much of the prefix the baseline lost, and how much more the pinned legs kept. */
    private static CacheProof proof(double loss, double gain) {
        return CacheProof.fromLives(four(loss), four(gain), 0.03);
    }

    private static List<OptionalDouble> four(double value) {
        return DoubleStream.generate(() -> value)
                .limit(4)
                .mapToObj(OptionalDouble::of)
                .toList();
    }
}
