package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.Design;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.GpuFault;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Whole runs of every design in virtual time, and of plans that grow. */
final class DesignRunTest {
    private static final VirtualExperiment EVEN = VirtualExperiment.underPressure();
    private static final long SEED = 3;

    /** A gain of a tenth under noise that four pairs of each order do not always see through. */
    private static final VirtualExperiment GROWING = EVEN.withLateness(20)
            .withSpeed(new Speed(4.4, 10_000, 1_000, 1))
            .withFaults(new GpuFault.Noise(10, 3.2, 2.6, 1))
            .with(settings -> settings.looks(List.of(4, 5, 9)));

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    private static VirtualExperiment of(Design design) {
        VirtualExperiment its = EVEN.with(settings -> settings.design(design));
        return design == Design.FRESH_LEGS
                ? its.with(settings -> settings.freshLegs(true)).withArms(engine -> {
                    engine.servePinnedLegsAt(EVEN.speed());
                    return Arms.pinRoute(engine);
                })
                : its;
    }

    private static GpuFault.Warming warming() {
        return new GpuFault.Warming(1 + EVEN.requestsOfALeg());
    }

    @ParameterizedTest
    @EnumSource(
            value = Design.class,
            names = {"BLOCKS", "FRESH_LEGS"})
    void designThatCanDecide_findsWorkingPinsReal(Design design) {
        Result result = of(design).run(SEED, folder.resolve("run"));
        assertThat(result.verdict().finding()).as("%s", result.verdict()).isEqualTo(Finding.REAL);
        assertThat(result.estimate().effectPercent().orElseThrow()).isBetween(-60.0, -35.0);
        assertThat(result.serverProcesses()).isEqualTo(design == Design.BLOCKS ? 8 : 16);
        assertThat(result.warnings()).isEmpty();
    }

    @Test
    void blocks_runFourLegsOfALifeInBothOrders() {
        Result result = of(Design.BLOCKS).run(SEED, folder.resolve("run"));
        assertThat(result.legs()).hasSize(4 * 2 * 4);
        for (int life = 1; life <= 8; life++) {
            int its = life;
            List<LegRecord> legs =
                    result.legs().stream().filter(leg -> leg.life() == its).toList();
            boolean baselineFirst = legs.getFirst().order() == PairOrder.BPPB;
            assertThat(legs)
                    .extracting(LegRecord::arm)
                    .containsExactlyElementsOf(
                            baselineFirst
                                    ? List.of(Arm.BASELINE, Arm.PINNED, Arm.PINNED, Arm.BASELINE)
                                    : List.of(Arm.PINNED, Arm.BASELINE, Arm.BASELINE, Arm.PINNED));
        }
    }

    @Test
    void blocksOnAWarmingEngine_areFreedFromWhatTheFirstLegPays() {
        Result result = of(Design.BLOCKS)
                .withSpeed(new Speed(0, 10_000, 1_000, 1))
                .withFaults(warming())
                .run(SEED, folder.resolve("run"));
        assertThat(result.estimate().tauNormal().orElseThrow()).isLessThan(-0.05);
        assertThat(result.estimate().tauReversed().orElseThrow()).isGreaterThan(0.05);
        assertThat(result.verdict().finding()).isEqualTo(Finding.ORDER_ARTEFACT);
        assertThat(result.estimate().effect().orElseThrow()).isBetween(-0.01, 0.01);
    }

    @ParameterizedTest
    @EnumSource(
            value = Design.class,
            names = {"NORMAL", "REVERSED"})
    void oneOrderAlone_isNeverReal(Design design) {
        Result result = of(design).with(settings -> settings.rounds(9)).run(SEED, folder.resolve("run"));
        assertThat(result.verdict().headline()).isEqualTo("INCONCLUSIVE(design)");
        assertThat(result.estimate().naivePercent().orElseThrow()).isBetween(-60.0, -35.0);
        assertThat(result.verdict().reason()).contains("the naive claim of one order is -");
    }

    @ParameterizedTest
    @EnumSource(
            value = Design.class,
            names = {"NORMAL", "BLOCKS", "FRESH_LEGS"})
    void runThatWasKilled_isResumedToTheSamePlan(Design design) throws IOException {
        Path whole = folder.resolve("whole");
        VirtualExperiment its = of(design).with(settings -> settings.rehearsal(true));
        Result result = its.run(SEED, whole);
        for (int lines : new int[] {1, 3, 5, 7, 10}) {
            Path cut = cut(whole, lines);
            Result resumed = its.resume(SEED, cut);
            assertThat(resumed.legs()).extracting(LegRecord::label).isEqualTo(labels(result));
            assertThat(resumed.verdict().finding()).isEqualTo(result.verdict().finding());
        }
    }

    @Test
    void planThatGrows_endsAtTheFirstLookThatDecides() {
        Result result = EVEN.with(settings -> settings.looks(List.of(4, 5, 9))).run(SEED, folder.resolve("run"));
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(result.look()).isEqualTo(1);
        assertThat(result.legs()).hasSize(4 * 3 * 2);
        assertThat(result.lookedAt())
                .hasValue("Look 1 of the 3 that were declared, after 4 rounds; each has a level of 1.67 %.");
        assertThat(RunStatus.of(Journal.read(folder.resolve("run")), false).isFinished())
                .isTrue();
    }

    @Test
    void planThatGrows_goesOnWhereALookDoesNotDecide() throws IOException {
        List<String> notes = new ArrayList<>();
        Path journal = folder.resolve("run");
        Result result = GROWING.run(seedThatGrows(), journal, event -> {
            if (event instanceof Progress.Note note) {
                notes.add(note.sentence());
            }
        });
        assertThat(notes.getFirst())
                .isEqualTo("Look 1 of 3, after 4 rounds: INCONCLUSIVE(precision); the plan goes on to 5 rounds.");
        assertThat(result.look()).isGreaterThan(1);
        assertThat(result.legs().size()).isGreaterThan(4 * 3 * 2);
        assertThat(Analysis.of(journal).verdict()).isEqualTo(result.verdict());
    }

    @Test
    void dataBetweenLooks_hasNoVerdict() throws IOException {
        Path whole = folder.resolve("run");
        long seed = seedThatGrows();
        Result grown = GROWING.run(seed, whole);
        for (int legs = 4 * 3 * 2 + 1; legs < 5 * 3 * 2; legs++) {
            Journal.Contents run = Journal.read(cut(whole, 1 + legs));
            boolean atTheLook = run.wholePairs() == 12;
            assertThat(Analysis.of(run).verdict().headline())
                    .isEqualTo(atTheLook ? "INCONCLUSIVE(precision)" : "INCONCLUSIVE(design)");
            assertThat(RunStatus.of(run, false).isFinished()).isFalse();
        }
        Path cut = cut(whole, 1 + 4 * 3 * 2 + 3);
        Result resumed = GROWING.resume(seed, cut);
        assertThat(resumed.look()).isEqualTo(grown.look());
        assertThat(labels(resumed)).isEqualTo(labels(grown));
    }

    @Test
    void runWhoseTimeIsOver_endsBetweenTwoPairsAndIsResumed() throws IOException {
        Path journal = folder.resolve("run");
        VirtualExperiment limited = EVEN.with(settings -> settings.mostTime(Duration.ofSeconds(2)));
        assertThatThrownBy(() -> limited.run(SEED, journal)).isInstanceOf(RunStopped.class);
        assertThat(Thread.interrupted()).isFalse();
        Journal.Contents stopped = Journal.read(journal);
        assertThat(stopped.wholePairs()).isBetween(1, 11);
        assertThat(stopped.legs()).hasSize(2 * stopped.wholePairs());
        assertThat(stopped.voided()).isEmpty();
        int pairs = stopped.wholePairs();
        while (pairs < 12) {
            try {
                limited.resume(SEED, journal);
            } catch (RunStopped e) {
                assertThat(Journal.read(journal).wholePairs()).isGreaterThan(pairs);
            }
            pairs = Journal.read(journal).wholePairs();
        }
        assertThat(Analysis.of(journal).verdict().finding()).isEqualTo(Finding.REAL);
    }

    @Test
    void looksThatDoNotGrow_areRefusedInASentence() {
        assertThatThrownBy(() -> EVEN.with(settings -> settings.looks(List.of(5, 5))))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The looks of the plan are [5, 5]; each comes after more rounds than the one before it.");
    }

    /** The first whose data does not decide after four rounds. */
    private long seedThatGrows() throws IOException {
        for (long seed = 1; seed < 50; seed++) {
            Path journal = folder.resolve("seed");
            Result result = GROWING.run(seed, journal);
            Files.delete(journal);
            if (result.look() > 1) {
                return seed;
            }
        }
        throw new AssertionError("Every one of 50 runs was decided after four rounds.");
    }

    private static List<String> labels(Result result) {
        return result.legs().stream().map(LegRecord::label).toList();
    }

    private Path cut(Path whole, int lines) throws IOException {
        List<String> all = Files.readAllLines(whole, StandardCharsets.UTF_8);
        Path cut = folder.resolve("cut" + lines);
        Files.writeString(cut, String.join("\n", all.subList(0, lines)) + "\n");
        return cut;
    }
}
