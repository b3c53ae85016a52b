package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.analysis.OwnRequests;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Salt;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What whole experiments find on engines that are known to be one thing or another, over many seeds in virtual time. */
final class VerdictTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    /** Where chance could give a wrong finding. */
    private static final int MANY = DEEP ? 1_000 : 100;
    /** Where it hardly could. */
    private static final int SOME = DEEP ? 100 : 20;

    /** The readiness check of a server life is a request as well. */
    private static final int READINESS = 1;

    private static final VirtualExperiment EVEN = VirtualExperiment.underPressure();

    private static final VirtualExperiment SESSIONS =
            EVEN.onStockWithSessions().withArms(engine -> Arms.session(engine, 1));

    private static final VirtualExperiment TOUCHES = EVEN.onVllm()
            .withArms(engine -> Arms.keepWarm(engine, 1))
            .withShape(FloodShape.of(VirtualExperiment.PREFIX, 32, 8, 256, 3).withOutputTokens(1, 1))
            .with(settings -> settings.concurrency(2).salt(new Salt(3)));

    /** The first in the hold step, and one after each request of a flood but its last. */
    private static final int TOUCHES_OF_A_LEG = 1 + 3 * 7;

    @TempDir(factory = MemoryFolder.class)
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

    /** Each leg in a process of its own, so whatever the first of a pair does to its process the second has none of it. */
    @Test
    void anotherServerForPinnedLegs_isJudgedByWhatItIs() {
        VirtualExperiment faster = EVEN.withFaults(warming(EVEN))
                .withArms(engine -> {
                    engine.servePinnedLegsAt(new Speed(20, 10_000, 1_000, 1));
                    return Arms.anotherServer("serve --faster");
                })
                .with(settings -> settings.freshLegs(true));
        assertThat(findings(SOME, faster, result -> {
                    assertThat(result.serverProcesses()).isEqualTo(24);
                    assertThat(result.verdict().withOrderBias()).isFalse();
                    assertThat(result.header().claimsHold()).isFalse();
                    assertThat(result.estimate().effectPercent().orElseThrow()).isBetween(-40.0, -20.0);
                }))
                .isEqualTo(Map.of(Finding.REAL, SOME));
        VirtualExperiment same = faster.withArms(engine -> {
            engine.servePinnedLegsAt(EVEN.speed());
            return Arms.anotherServer("serve");
        });
        assertThat(findings(SOME, same, result -> {})).isEqualTo(Map.of(Finding.NO_EFFECT, SOME));
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
    void engineWithoutPins_isRefusedBeforeAnyLeg() {
        VirtualExperiment stock = EVEN.withEngine(EVEN.engine().withVariant(SglangSettings.Variant.STOCK));
        assertThatThrownBy(() -> stock.run(1, folder.resolve("run.jsonl")))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("This engine pins no blocks.");
        assertThatThrownBy(
                        () -> EVEN.withArms(engine -> Arms.session(engine, 1)).run(1, folder.resolve("run.jsonl")))
                .hasMessage("This engine keeps nothing for sessions.");
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void sessionsOnAStockEngine_areReal() {
        assertThat(findings(SOME, SESSIONS, result -> {
                    assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
                    assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
                    assertThat(result.pinned().cachedTokens()).hasValue(VirtualExperiment.PREFIX);
                    assertThat(result.own())
                            .as("one request of the prefix in each leg, of which its last block was computed")
                            .containsEntry(Arm.PINNED, new OwnRequests(8, 8, OptionalLong.of(8 * 16)))
                            .containsEntry(Arm.BASELINE, new OwnRequests(16, 16, OptionalLong.of(16 * 16)));
                }))
                .isEqualTo(Map.of(Finding.REAL, SOME));
    }

    @Test
    void sessionsThatTheEngineDrops_haveNoEffect() {
        assertThat(findings(
                        SOME,
                        SESSIONS.withFaults(new CacheFault.HoldLost(100)),
                        result -> assertThat(result.cacheProof().kept()).isEqualTo(Answer.NO)))
                .isEqualTo(Map.of(Finding.NO_EFFECT, SOME));
    }

    @Test
    void sessionsWithAmpleMemory_areNoExposure() {
        assertThat(findings(SOME, SESSIONS.withMemory(16_384), result -> {}))
                .isEqualTo(Map.of(Finding.NO_EXPOSURE, SOME));
    }

    /** No flush is asked of this engine: a salt of its own keeps each leg from what others left. */
    @Test
    void touchesOnVllmWithoutAFlush_areReal() {
        assertThat(findings(SOME, TOUCHES, result -> {
                    assertThat(result.header().isSalted()).isTrue();
                    assertThat(result.legs()).allSatisfy(leg -> {
                        assertThat(leg.flush().flushes()).isZero();
                        assertThat(leg.requests().getFirst().cachedTokens()).hasValue(0);
                        assertThat(leg.own()).hasSize(TOUCHES_OF_A_LEG);
                    });
                    assertThat(result.baseline().cachedTokens()).hasValue(0);
                    assertThat(result.pinned().cachedTokens()).hasValue(VirtualExperiment.PREFIX);
                    assertThat(result.warnings()).anyMatch(warning -> warning.contains("a salt of their own"));
                    assertThat(result.warnings()).noneMatch(warning -> warning.contains("touches"));
                }))
                .isEqualTo(Map.of(Finding.REAL, SOME));
    }

    @Test
    void touchesWithAmpleMemory_areNoExposure() {
        assertThat(findings(SOME, TOUCHES.withMemory(16_384).onVllm(), result -> {}))
                .isEqualTo(Map.of(Finding.NO_EXPOSURE, SOME));
    }

    @Test
    void touchesAreAsManyInBothArms_andNoLoad() {
        Result result = TOUCHES.run(5, folder.resolve("run.jsonl"));
        assertThat(result.legs()).allSatisfy(leg -> {
            assertThat(leg.requests()).hasSize(TOUCHES.requestsOfALeg()).noneMatch(one -> one.role() == Role.TOUCH);
            assertThat(leg.own()).hasSize(TOUCHES_OF_A_LEG).allMatch(one -> one.role() == Role.TOUCH);
        });
        assertThat(result.legs().stream()
                        .filter(leg -> leg.arm() == Arm.BASELINE)
                        .map(leg -> leg.own().getFirst().cachedTokens().orElseThrow()))
                .as("the prefix that nobody probes is stored in the hold step")
                .containsOnly(0);
    }

    /** The same in both arms: a switch that does nothing must not be found to do something. */
    @Test
    void nothingHeld_isNeverAnEffect() {
        VirtualExperiment none = EVEN.withArms(engine -> Arms.none());
        for (VirtualExperiment each : List.of(none, none.withLateness(5_000), none.withFaults(warming(EVEN)))) {
            assertThat(findings(
                            MANY,
                            each,
                            result -> assertThat(result.header().claimsHold()).isFalse()))
                    .doesNotContainKeys(Finding.REAL, Finding.HARMFUL, Finding.NO_EXPOSURE);
        }
    }

    /** Who does not wait for others presses on the cache as hard, and at the same times in both legs of a pair. */
    @Test
    void arrivalsAtTimesOfTheirOwn_changeNoFinding() {
        for (String arrivals : List.of("poisson:20", "ramp:5..40")) {
            VirtualExperiment open = EVEN.withArrivals(Arrivals.of(arrivals));
            assertThat(findings(SOME, open, result -> {
                        assertThat(result.cacheProof().kept())
                                .as(result.verdict().reason())
                                .isEqualTo(Answer.YES);
                        assertThat(result.baseline().cachedTokens()).hasValue(0);
                        assertThat(result.legs().stream()
                                        .map(VerdictTest::turns)
                                        .distinct())
                                .singleElement()
                                .asInstanceOf(InstanceOfAssertFactories.LIST)
                                .hasSize(open.shape().cycles() * open.shape().floodRequests());
                    }))
                    .as("pins that work, %s", arrivals)
                    .isEqualTo(Map.of(Finding.REAL, SOME));
            assertThat(findings(SOME, open.withFaults(new CacheFault.PinIgnored()), result -> {}))
                    .as("pins that are ignored, %s", arrivals)
                    .isEqualTo(Map.of(Finding.NO_EFFECT, SOME));
            assertThat(findings(SOME, open.withArms(engine -> Arms.none()), result -> {}))
                    .as("nothing held, %s", arrivals)
                    .doesNotContainKeys(Finding.REAL, Finding.HARMFUL, Finding.NO_EXPOSURE, Finding.INVALID);
        }
    }

    /** When the turns of a leg's floods came, each from the beginning of its flood. */
    private static List<Long> turns(LegRecord leg) {
        Map<Integer, Long> began = new HashMap<>();
        return leg.requests().stream()
                .filter(request -> request.role() == Role.FLOOD)
                .map(request -> request.scheduled() - began.computeIfAbsent(request.cycle(), of -> request.scheduled()))
                .toList();
    }

    /** More than the server can do is sent all the same, and shown as what people wait. */
    @Test
    void serverThatIsTooSlow_isAskedAtTheSameTimes() {
        VirtualExperiment fast = EVEN.withArrivals(Arrivals.of("constant:100"));
        List<Long> turns =
                turns(fast.run(1, folder.resolve("fast.jsonl")).legs().getLast());
        Result slow = fast.withSpeed(new Speed(400, 10_000, 1_000, 1)).run(1, folder.resolve("slow.jsonl"));
        assertThat(turns(slow.legs().getLast())).isEqualTo(turns);
        assertThat(Floods.of(slow.header(), slow.legs())
                        .orElseThrow()
                        .ttftFromTurnMillis()
                        .orElseThrow())
                .as("two of 358 ms one after the other")
                .isGreaterThan(358);
    }

    @Test
    void headline_saysHowManyServerProcessesItRestsOn() {
        Result result = EVEN.run(1, folder.resolve("run.jsonl"));
        assertThat(result.headline()).isEqualTo("REAL, in 12 server processes");
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
                .containsExactlyInAnyOrderElementsOf(Design.CROSSOVER.round());
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
