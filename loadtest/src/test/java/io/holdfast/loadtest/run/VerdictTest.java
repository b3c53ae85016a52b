package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What whole experiments find on engines that are known to be one thing or another, over many seeds in virtual time. */
final class VerdictTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    /** Where chance could give a wrong finding. */
    private static final int MANY = DEEP ? 2_000 : 100;
    /** Where it hardly could. */
    private static final int SOME = DEEP ? 200 : 20;

    /** The readiness check of a server life is a request as well. */
    private static final int READINESS = 1;

    private static final VirtualExperiment EVEN = VirtualExperiment.underPressure();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void workingPins_areReal() {
        assertThat(findings(MANY, EVEN, result -> {
                    assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
                    assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
                    assertThat(result.baseline().cachedTokens()).hasValue(0);
                    assertThat(result.pinned().cachedTokens()).hasValue(VirtualExperiment.PREFIX);
                    assertThat(result.baseline().legs()).isEqualTo(16);
                    assertThat(result.pinned().legs()).isEqualTo(8);
                    assertThat(result.warnings()).isEmpty();
                }))
                .isEqualTo(Map.of(Finding.REAL, MANY));
    }

    @Test
    void workingPinsOnAWarmingEngine_areRealWithOrderBias() {
        assertThat(findings(SOME, EVEN.withFaults(warming(EVEN)), result -> {
                    assertThat(result.verdict().withOrderBias()).isTrue();
                    assertThat(result.estimate().effectPercent().orElseThrow()).isBetween(-60.0, -35.0);
                }))
                .isEqualTo(Map.of(Finding.REAL, SOME));
    }

    @Test
    void ignoredPins_haveNoEffect() {
        assertThat(findings(MANY, EVEN.withFaults(new CacheFault.PinIgnored()), result -> {
                    assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
                    assertThat(result.cacheProof().kept()).isEqualTo(Answer.NO);
                    assertThat(result.pinned().cachedTokens()).hasValue(0);
                }))
                .isEqualTo(Map.of(Finding.NO_EFFECT, MANY));
    }

    @Test
    void ignoredPinsOnAWarmingEngine_areAnOrderArtefact() {
        assertThat(findings(
                        SOME,
                        EVEN.withFaults(new CacheFault.PinIgnored(), warming(EVEN)),
                        result -> assertThat(result.estimate().naivePercent().orElseThrow())
                                .as("what baseline first, then pinned would claim")
                                .isLessThan(-10)))
                .isEqualTo(Map.of(Finding.ORDER_ARTEFACT, SOME));
    }

    @Test
    void coldFirstWaveThatIsMeasured_isAnOrderArtefact() {
        VirtualExperiment wave = EVEN.withFaults(wave(EVEN), new CacheFault.PinIgnored())
                .with(settings -> settings.statistic(Statistic.WHOLE_MEAN));
        assertThat(findings(SOME, wave, result -> {})).isEqualTo(Map.of(Finding.ORDER_ARTEFACT, SOME));
    }

    @Test
    void coldFirstWave_isTakenByTheBurnInLeg() {
        VirtualExperiment wave = EVEN.withFaults(wave(EVEN), new CacheFault.PinIgnored())
                .with(settings -> settings.burnIn(true).statistic(Statistic.WHOLE_MEAN));
        assertThat(findings(SOME, wave, result -> {})).isEqualTo(Map.of(Finding.NO_EFFECT, SOME));
    }

    @Test
    void ampleMemory_isNoExposure() {
        VirtualExperiment ample = EVEN.withMemory(16_384);
        assertThat(findings(SOME, ample, result -> {
                    assertThat(result.baseline().cachedTokens()).hasValue(VirtualExperiment.PREFIX);
                    assertThat(result.pinned().cachedTokens()).hasValue(VirtualExperiment.PREFIX);
                    assertThat(result.warnings()).singleElement().asString().contains("does not exceed the cache");
                }))
                .isEqualTo(Map.of(Finding.NO_EXPOSURE, SOME));
    }

    /** The prefix is lost without a pin and kept with one, and a prefill costs nothing: a mechanism without a gain. */
    @Test
    void pinsThatSaveNothing_areNeverReal() {
        VirtualExperiment idle = EVEN.withSpeed(new Speed(0, 10_000, 1_000, 1));
        for (double micros : new double[] {200, 2_000, 10_000}) {
            assertThat(findings(MANY, idle.withLateness(micros), result -> {}))
                    .as("lateness of " + micros + " us")
                    .doesNotContainKeys(Finding.REAL, Finding.HARMFUL, Finding.NO_EXPOSURE, Finding.ORDER_ARTEFACT);
        }
    }

    @Test
    void pinsThatSlowTheEngine_areHarmful() {
        VirtualExperiment harm = EVEN.withSpeed(new Speed(0, 10_000, 1_000, 1)).withFaults(new GpuFault.HoldsSlow(100));
        assertThat(findings(SOME, harm, result -> {})).isEqualTo(Map.of(Finding.HARMFUL, SOME));
    }

    @Test
    void engineWithoutPins_isInvalidAtItsFirstPinnedLeg() {
        VirtualExperiment stock = EVEN.withEngine(EVEN.engine().withVariant(SglangSettings.Variant.STOCK));
        assertThat(findings(SOME, stock, result -> {
                    assertThat(result.verdict().reason()).contains("was not held in full");
                    assertThat(result.legs().getLast().arm()).isEqualTo(Arm.PINNED);
                }))
                .isEqualTo(Map.of(Finding.INVALID, SOME));
    }

    @Test
    void threeRounds_areTooFewForAnyFinding() {
        assertThat(findings(SOME, EVEN.with(settings -> settings.rounds(3)), result -> {}))
                .isEqualTo(Map.of(Finding.INCONCLUSIVE, SOME));
    }

    @Test
    void machineThatIsVeryLate_neverGivesAWrongFinding() {
        VirtualExperiment late = EVEN.withFaults(warming(EVEN)).withLateness(20_000);
        assertThat(findings(SOME, late, result -> {}).keySet())
                .isSubsetOf(Finding.REAL, Finding.INCONCLUSIVE, Finding.INVALID);
    }

    @Test
    void sameSeed_givesTheSameRunToTheLastByte() throws IOException {
        VirtualExperiment whole = EVEN.withFaults(warming(EVEN))
                .with(settings -> settings.rounds(5).burnIn(true).rehearsal(true));
        Path first = folder.resolve("first.jsonl");
        Path second = folder.resolve("second.jsonl");
        Path other = folder.resolve("other.jsonl");
        Result result = whole.run(7, first);
        assertThat(whole.run(7, second)).isEqualTo(result);
        assertThat(Files.readAllBytes(second)).isEqualTo(Files.readAllBytes(first));
        assertThat(Analysis.of(first)).isEqualTo(result);
        assertThat(result.legs()).hasSize(48);
        assertThat(result.legs().stream().map(LegRecord::order).distinct())
                .containsExactlyInAnyOrder(PairOrder.values());
        whole.run(8, other);
        assertThat(Files.readAllBytes(other)).isNotEqualTo(Files.readAllBytes(first));
    }

    @Test
    void load_beginsEquallyLongAfterTheFlushInBothArms() {
        Result result = EVEN.run(3, folder.resolve("run.jsonl"));
        List<Long> slots = new ArrayList<>();
        for (LegRecord leg : result.legs()) {
            leg.steps().stream()
                    .filter(step -> step.kind() == Step.Kind.HOLD)
                    .forEach(step -> slots.add(
                            Duration.ofNanos(step.ended() - step.began()).toMillis()));
        }
        assertThat(slots).hasSize(24).allSatisfy(slot -> assertThat(slot).isBetween(150L, 175L));
    }

    private static GpuFault warming(VirtualExperiment experiment) {
        int legs = experiment.settings().burnIn() ? 2 : 1;
        return new GpuFault.Warming(READINESS + legs * experiment.requestsOfALeg());
    }

    /** Over when the first leg of a life is. */
    private static GpuFault wave(VirtualExperiment experiment) {
        return new GpuFault.ColdFirstWave(READINESS + experiment.requestsOfALeg(), Duration.ofMillis(150));
    }

    private Map<Finding, Integer> findings(int seeds, VirtualExperiment experiment, Consumer<Result> check) {
        Map<Finding, Integer> found = new EnumMap<>(Finding.class);
        for (int seed = 1; seed <= seeds; seed++) {
            Path journal = folder.resolve("run.jsonl");
            try {
                Result result = experiment.run(seed, journal);
                found.merge(result.verdict().finding(), 1, Integer::sum);
                check.accept(result);
                Files.delete(journal);
            } catch (IOException | RuntimeException | AssertionError e) {
                throw new AssertionError("Seed " + seed + " of " + experiment, e);
            }
        }
        return found;
    }
}
