package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.VoidedPair;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.rules.engine.Speed;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs in virtual time that are cut off and resumed. What a kill leaves of a journal that only grows is its beginning, so a
 * whole journal has every kill in it.
 */
final class ResumeTest {
    private static final long SEED = 5;
    private static final VirtualExperiment EXPERIMENT = VirtualExperiment.underPressure()
            .with(settings -> settings.rehearsal(true).burnIn(true));
    private static final int LEGS = 3 * 13;

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    @Test
    void runKilledAtEveryLeg_isResumedToTheSamePlanAndVerdict() throws IOException {
        Path whole = folder.resolve("whole");
        Result result = EXPERIMENT.run(SEED, whole);
        byte[] bytes = Files.readAllBytes(whole);
        assertThat(result.legs()).hasSize(LEGS);
        for (int legs = 0; legs < LEGS; legs++) {
            Path cut = cut(bytes, legs, 0);
            Result resumed = EXPERIMENT.resume(SEED, cut);
            assertPlanned(cut, result.legs());
            assertThat(resumed.verdict().finding())
                    .as("after " + legs + " legs")
                    .isEqualTo(result.verdict().finding());
            assertThat(resumed.voided()).hasSize(legs % 3 == 0 ? 0 : 1);
        }
    }

    @Test
    void runKilledWithinEveryLine_isResumedToTheSamePlan() throws IOException {
        Path whole = folder.resolve("whole");
        Result result = EXPERIMENT.run(SEED, whole);
        byte[] bytes = Files.readAllBytes(whole);
        for (int legs = 0; legs < LEGS; legs++) {
            Path cut = cut(bytes, legs, 1 + legs * 97 % 900);
            assertThat(Journal.read(cut).warnings()).singleElement().asString().contains("Line " + (legs + 2), "torn");
            EXPERIMENT.resume(SEED, cut);
            assertPlanned(cut, result.legs());
            assertThat(Journal.read(cut).warnings()).isEmpty();
        }
    }

    @Test
    void runKilledAgainAndAgain_countsWhatWasVoided() throws IOException {
        Path whole = folder.resolve("whole");
        Result result = EXPERIMENT.run(SEED, whole);
        Path cut = cut(Files.readAllBytes(whole), 4, 9);
        EXPERIMENT.resume(SEED, cut);
        // Head, four legs, voided, resumed, two legs of the pair again, and a part of the third.
        cut = cut(Files.readAllBytes(cut), 8, 9);
        Result resumed = EXPERIMENT.resume(SEED, cut);
        assertPlanned(cut, result.legs());
        assertThat(resumed.voided())
                .containsExactly(
                        new VoidedPair(1, "the run was killed in this pair", 1),
                        new VoidedPair(1, "the run was killed in this pair", 2));
        assertThat(resumed.warnings())
                .contains("2 pairs were broken off and do not count, with 3 finished legs (the run was killed in this"
                        + " pair).")
                .anyMatch(warning -> warning.startsWith("The run was resumed 2 times"));
    }

    @Test
    void controlsOfASaltedRun_areResumedWithTextsOfTheirOwn() throws IOException {
        VirtualExperiment salted = EXPERIMENT
                .onVllm()
                .with(settings -> settings.rounds(5).burnIn(false).salt(new Salt(7)));
        Path whole = folder.resolve("whole");
        ControlResult result = salted.controls(SEED, whole);
        byte[] bytes = Files.readAllBytes(whole);
        for (int legs = 0; legs < result.legs().size(); legs++) {
            Path cut = cut(bytes, legs, legs);
            ControlResult resumed = salted.resumeControls(SEED, cut);
            assertPlanned(cut, result.legs());
            assertThat(resumed.standing()).isEqualTo(result.standing());
            assertThat(resumed.legs())
                    .as("what a broken-off leg left in the cache is not found")
                    .allSatisfy(leg ->
                            assertThat(leg.requests().getFirst().cachedTokens()).hasValue(0));
        }
        Set<Integer> heads = new HashSet<>();
        for (int resumes = 0; resumes < 3; resumes++) {
            assertThat(heads.add(Arrays.hashCode(new Salt(7, resumes)
                            .on(new LoadRequest(Role.PRIME, 0, new int[] {1}, 1), 1, 1)
                            .tokens())))
                    .isTrue();
        }
    }

    @Test
    void runWithAServerForEachLeg_isResumedToTheSamePlan() throws IOException {
        VirtualExperiment servers = EXPERIMENT
                .with(settings -> settings.burnIn(false).freshLegs(true))
                .withArms(engine -> {
                    engine.servePinnedLegsAt(new Speed(20, 10_000, 1_000, 1));
                    return Arms.anotherServer("serve --faster");
                });
        Path whole = folder.resolve("whole");
        Result result = servers.run(SEED, whole);
        byte[] bytes = Files.readAllBytes(whole);
        for (int legs : new int[] {0, 1, 2, 3, 12, 25}) {
            Path cut = cut(bytes, legs, 0);
            assertThat(servers.resume(SEED, cut).verdict().finding())
                    .isEqualTo(result.verdict().finding());
            assertPlanned(cut, result.legs());
        }
    }

    @Test
    void runStoppedAtEveryStep_holdsNothingAndIsResumed() throws IOException {
        List<String> log = new ArrayList<>();
        VirtualExperiment watched = EXPERIMENT
                .with(settings -> settings.rounds(1).rehearsal(false).burnIn(false))
                .withArms(engine -> new Watched(Arms.pinRoute(engine), log));
        Path whole = folder.resolve("whole");
        Result result = watched.run(SEED, whole);
        int steps = result.legs().stream().mapToInt(leg -> leg.steps().size()).sum();
        for (int stop = 0; stop < steps; stop++) {
            Path journal = folder.resolve("stopped" + stop);
            log.clear();
            int at = stop;
            int[] step = {0};
            Thread runner = Thread.currentThread();
            assertThatThrownBy(() -> watched.run(SEED, journal, event -> {
                        if (event instanceof Progress.StepStarted && step[0]++ == at) {
                            runner.interrupt();
                        }
                    }))
                    .as("stopped at step " + stop)
                    .isInstanceOf(RunStopped.class);
            assertThat(Thread.interrupted()).isFalse();
            assertThat(log.stream().filter("on"::equals).count())
                    .isEqualTo(log.stream().filter("release"::equals).count());
            Journal.Contents stopped = Journal.read(journal);
            assertThat(RunStatus.of(stopped, false).state()).isEqualTo(RunStatus.State.STOPPED);
            assertThat(stopped.voided()).extracting(VoidedPair::reason).containsExactly(VoidedPair.STOPPED);
            watched.resume(SEED, journal);
            assertPlanned(journal, result.legs());
        }
    }

    @Test
    void runThatFails_saysWhyAndIsResumed() throws IOException {
        Path journal = folder.resolve("failed");
        int[] left = {4};
        assertThatThrownBy(() -> EXPERIMENT.run(SEED, journal, event -> {
                    if (event instanceof Progress.LegFinished && left[0]-- == 0) {
                        throw new LoadTestException("The engine went away.");
                    }
                }))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The engine went away.");
        RunStatus status = RunStatus.of(Journal.read(journal), false);
        assertThat(status.state()).isEqualTo(RunStatus.State.STOPPED);
        assertThat(status.stoppedBy()).hasValue("The engine went away");
        assertThat(EXPERIMENT.resume(SEED, journal).legs()).hasSize(LEGS);
    }

    @Test
    void status_tellsHowFarItIsAndWhatBecameOfIt() throws IOException {
        Path whole = folder.resolve("whole");
        EXPERIMENT.run(SEED, whole);
        assertThat(RunStatus.of(Journal.read(whole), false).state()).isEqualTo(RunStatus.State.FINISHED);
        Journal.Contents cut = Journal.read(cut(Files.readAllBytes(whole), 13, 5));
        RunStatus killed = RunStatus.of(cut, false);
        assertThat(killed.state()).isEqualTo(RunStatus.State.KILLED);
        assertThat(killed.stopped().state())
                .as("told by a process that was stopped before it wrote anything")
                .isEqualTo(RunStatus.State.STOPPED);
        assertThat(killed.pairs()).isEqualTo(3);
        assertThat(killed.plannedPairs()).isEqualTo(12);
        assertThat(killed.percent()).isEqualTo(100 * 13 / LEGS);
        assertThat(killed.left()).hasValueSatisfying(left -> assertThat(left).isPositive());
        assertThat(RunStatus.of(cut, true).state()).isEqualTo(RunStatus.State.RUNNING);
        assertThat(RunStatus.of(Journal.read(cut(Files.readAllBytes(whole), 0, 0)), false)
                        .left())
                .isEmpty();
    }

    @Test
    void whatCannotBeResumed_isRefusedAndNotWrittenTo() throws IOException {
        Path whole = folder.resolve("whole");
        EXPERIMENT.run(SEED, whole);
        assertRefused(EXPERIMENT, SEED, whole, "The run is finished, with 12 of 12 pairs");
        Path cut = cut(Files.readAllBytes(whole), 5, 0);
        assertRefused(EXPERIMENT.withMemory(2_048), SEED, cut, "The server is another one than that of the journal");
        assertRefused(EXPERIMENT, SEED + 1, cut, "The requests that this version draws, or their times, are others");
        assertRefused(
                EXPERIMENT.withArms(engine -> Arms.keepWarm(engine, 1)),
                SEED,
                cut,
                "The pinned legs would do something else than in the journal");
    }

    private static void assertRefused(VirtualExperiment experiment, long seed, Path journal, String why)
            throws IOException {
        byte[] before = Files.readAllBytes(journal);
        assertThatThrownBy(() -> experiment.resume(seed, journal))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith(why);
        assertThat(Files.readAllBytes(journal)).isEqualTo(before);
    }

    /** Each planned leg once, in the planned order, with the same bodies as in a run that went through. */
    private static void assertPlanned(Path journal, List<LegRecord> unbroken) {
        Journal.Contents run = Journal.read(journal);
        assertThat(run.legs())
                .extracting(LegRecord::label)
                .containsExactlyElementsOf(
                        run.header().legs().stream().map(PlannedLeg::label).toList());
        assertThat(run.legs())
                .extracting(LegRecord::bodies)
                .containsExactlyElementsOf(
                        unbroken.stream().map(LegRecord::bodies).toList());
    }

    /** The first line, so many lines after it, and some bytes of the next. */
    private Path cut(byte[] journal, int lines, int more) throws IOException {
        int end = 0;
        for (int line = 0; line <= lines; line++) {
            end = new String(journal, StandardCharsets.ISO_8859_1).indexOf('\n', end) + 1;
        }
        return Files.write(folder.resolve("cut"), Arrays.copyOf(journal, end + more));
    }

    @Test
    void runKilledBeforeItsFirstLeg_tellsItsArmsHowLongLegsTake() throws IOException {
        Path whole = folder.resolve("whole");
        EXPERIMENT.run(SEED, whole);
        Path cut = cut(Files.readAllBytes(whole), 0, 0);
        List<String> log = new ArrayList<>();
        EXPERIMENT.withArms(engine -> new Watched(Arms.pinRoute(engine), log)).resume(SEED, cut);
        assertThat(log.indexOf("legs take")).isNotNegative().isLessThan(log.indexOf("on"));
    }

    /** Notes what is switched. */
    private static final class Watched extends OtherArms {
        private final List<String> log;

        Watched(ArmSwitch arms, List<String> log) {
            super(arms);
            this.log = log;
        }

        @Override
        public Duration legsTake(Duration about) {
            log.add("legs take");
            return about;
        }

        @Override
        public HoldReceipt on(Prefixes prefixes, Duration within) {
            log.add("on");
            return arms.on(prefixes, within);
        }

        @Override
        public ReleaseReceipt release(HoldReceipt step) {
            if (step.kind() == HoldReceipt.Kind.HELD) {
                log.add("release");
            }
            return arms.release(step);
        }
    }
}
