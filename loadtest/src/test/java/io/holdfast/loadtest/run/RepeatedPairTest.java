package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.journal.VoidedPair;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.loadtest.workload.Salt;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Pairs that what happens around a leg breaks, in virtual time. */
final class RepeatedPairTest {
    private static final long SEED = 5;
    private static final Duration SLOW = Duration.ofMillis(200);
    private static final VirtualExperiment EXPERIMENT = VirtualExperiment.underPressure();

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    private final List<Progress.Event> events = new ArrayList<>();

    @ParameterizedTest
    @EnumSource(Arm.class)
    void slowCall_ofEitherArm_repeatsThePairAfterItsRound(Arm arm) {
        Result result = slow(arm, Map.of(2, SLOW)).run(SEED, journal(), events::add);
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        VoidedPair voided = result.voided().getFirst();
        assertThat(result.voided()).hasSize(1);
        assertThat(voided.bySurroundings()).isTrue();
        assertThat(voided.reason()).contains("the hold step's call took 200 ms, longer than its slot of 150 ms");
        int round = (voided.life() - 1) / 3;
        List<Integer> lives =
                result.legs().stream().map(LegRecord::life).distinct().toList();
        assertThat(lives.get(3 * round + 2)).as("the last of its round").isEqualTo(voided.life());
        assertThat(lives)
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.rangeClosed(1, 12).boxed().toList());
        assertThat(result.legs()).hasSize(24);
        assertThat(result.warnings())
                .anyMatch(told -> told.startsWith("One pair was voided by what happened around a leg")
                        && told.contains("of at most 3 declared"));
        assertThat(events).filteredOn(Progress.PairVoided.class::isInstance).hasSize(1);
    }

    @Test
    void morePairsThanDeclared_areNotRepeated() {
        Result result = slow(Arm.PINNED, Map.of(1, SLOW, 2, SLOW, 3, SLOW))
                .with(s -> s.repeatPairs(2))
                .run(SEED, journal());
        assertThat(result.voided()).hasSize(2);
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains("longer than its slot");
        assertThat(RunStatus.of(Journal.read(journal()), false).isFinished()).isTrue();
    }

    @Test
    void holdThatFails_isNeverRepeated() {
        Result result = EXPERIMENT
                .withArms(engine -> new Refusing(Arms.pinRoute(engine)))
                .run(SEED, journal());
        assertThat(result.voided()).isEmpty();
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains("not held in full");
    }

    @Test
    void anotherModelAfterARestart_isNamedAndNeverRepeated() {
        Result result = EXPERIMENT
                .withArms(engine -> {
                    engine.serveAnotherModelFrom(3);
                    return Arms.pinRoute(engine);
                })
                .run(SEED, journal());
        assertThat(result.voided()).isEmpty();
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason())
                .contains("another server answered than the one that the run began with: it serves the model 'another"
                        + " model', and served 'a model' before");
    }

    @Test
    void severalServersBehindOneAddress_areNoRestart() {
        Result result = EXPERIMENT
                .withArms(engine -> {
                    engine.beOneOf(3);
                    return Arms.pinRoute(engine);
                })
                .run(SEED, journal());
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
    }

    @Test
    void runKilledAtEveryLine_isResumedWithTheSameRepeats() throws IOException {
        VirtualExperiment slowOnce =
                slow(Arm.BASELINE, Map.of(3, SLOW)).with(s -> s.rehearsal(true).burnIn(true));
        Path whole = folder.resolve("whole");
        Result result = slowOnce.run(SEED, whole);
        assertThat(result.voided()).hasSize(1);
        byte[] bytes = Files.readAllBytes(whole);
        int lines = (int) new String(bytes, StandardCharsets.UTF_8).lines().count();
        for (int cut = 1; cut < lines; cut++) {
            Path killed = cut(bytes, cut);
            boolean repeated = Journal.read(killed).repeats() > 0
                    || RunStatus.pairToRepeat(Journal.read(killed)).isPresent();
            Result resumed = EXPERIMENT
                    .with(s -> s.rehearsal(true).burnIn(true))
                    .withArms(engine -> new Slow(Arms.pinRoute(engine), engine.time(), Arm.BASELINE, Map.of()))
                    .resume(SEED, killed);
            assertThat(resumed.verdict().finding()).as("after line " + cut).isEqualTo(Finding.REAL);
            assertThat(resumed.legs().stream().map(LegRecord::label))
                    .containsExactlyInAnyOrderElementsOf(
                            result.legs().stream().map(LegRecord::label).toList());
            assertThat(resumed.voided().stream().filter(VoidedPair::bySurroundings))
                    .hasSize(repeated ? 1 : 0);
        }
    }

    @Test
    void saltedPair_isRepeatedWithTextsOfItsOwn() {
        VirtualExperiment salted = EXPERIMENT
                .onVllm()
                .with(s -> s.salt(new Salt(7)).rounds(5))
                .withArms(engine -> new Slow(Arms.none(), engine.time(), Arm.BASELINE, Map.of(4, SLOW, 7, SLOW)));
        ControlResult result = salted.controlsWithItsArms(SEED, journal());
        assertThat(result.voided()).hasSize(2);
        assertThat(result.standing()).isEqualTo(5);
        assertThat(result.legs())
                .allSatisfy(leg ->
                        assertThat(leg.requests().getFirst().cachedTokens()).hasValue(0));
    }

    @Test
    void slotOfTheRehearsal_isThreeTimesItsSlowestCall() {
        VirtualExperiment slow = slow(Arm.BASELINE, Map.of(0, Duration.ofMillis(300)))
                .with(s -> s.rehearsal(true).slotAdapts(true));
        Result result = slow.run(SEED, journal(), events::add);
        long slot = result.header().slotMillis();
        assertThat(slot).isBetween(900L, 910L);
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(result.legs().stream()
                        .filter(LegRecord::isMeasured)
                        .flatMap(leg -> leg.steps().stream())
                        .filter(step -> step.kind() == Step.Kind.HOLD))
                .allSatisfy(step ->
                        assertThat((step.ended() - step.began()) / 1_000_000).isBetween(slot, slot + 50));
        assertThat(events)
                .contains(new Progress.Note("The hold step of every leg takes " + slot
                        + " ms in both arms, three times the slowest call of the rehearsal."));
    }

    @Test
    void slotThatWasGiven_staysAsItIs() {
        Result result =
                slow(Arm.BASELINE, Map.of(0, SLOW)).with(s -> s.rehearsal(true)).run(SEED, journal());
        assertThat(result.header().slotMillis()).isEqualTo(150);
    }

    @Test
    void rehearsalThatFails_stopsTheRun() {
        assertThatThrownBy(() -> EXPERIMENT
                        .with(s -> s.rehearsal(true))
                        .withArms(engine -> new Refusing(Arms.pinRoute(engine)))
                        .run(SEED, journal()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith(
                        "The rehearsal failed, so nothing was measured: In rehearsal, leg 2 (pinned) the"
                                + " prefix was not held in full");
    }

    @Test
    void baselineThatKeepsItsPrefix_isSaidAfterTheRehearsal() {
        EXPERIMENT.withMemory(16_384).with(s -> s.rehearsal(true)).run(SEED, journal(), events::add);
        assertThat(events)
                .filteredOn(Progress.Note.class::isInstance)
                .singleElement()
                .asString()
                .contains("The baseline kept its prefix in the rehearsal (256 of 256 tokens)");
    }

    @Test
    void moreRepeatsThanDeclared_areRefusedWhenRead() throws IOException {
        slow(Arm.PINNED, Map.of(1, SLOW)).with(s -> s.repeatPairs(1)).run(SEED, journal());
        List<String> lines = new ArrayList<>(Files.readAllLines(journal()));
        int voided = IntStream.range(0, lines.size())
                .filter(line -> lines.get(line).startsWith("{\"voided\""))
                .findFirst()
                .orElseThrow();
        String leg = lines.get(voided - 1);
        lines.subList(voided + 1, lines.size()).clear();
        lines.add(lines.get(voided));
        Files.write(journal(), lines);
        assertThat(leg).startsWith("{\"leg\"");
        assertThatThrownBy(() -> Journal.read(journal()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("which was not under way");
    }

    private Path journal() {
        return folder.resolve("run.jsonl");
    }

    private static VirtualExperiment slow(Arm arm, Map<Integer, Duration> calls) {
        return EXPERIMENT.withArms(engine -> new Slow(Arms.pinRoute(engine), engine.time(), arm, calls));
    }

    private Path cut(byte[] journal, int lines) throws IOException {
        int end = 0;
        for (int line = 0; line < lines; line++) {
            end = new String(journal, StandardCharsets.ISO_8859_1).indexOf('\n', end) + 1;
        }
        return Files.write(folder.resolve("cut"), Arrays.copyOf(journal, end));
    }

    /** Calls of the hold step of one arm, counted from 0, that take longer than they should. */
    private static final class Slow extends OtherArms {
        private final VirtualTime time;
        private final Arm slow;
        private final Map<Integer, Duration> calls;
        private int number;

        Slow(ArmSwitch arms, VirtualTime time, Arm slow, Map<Integer, Duration> calls) {
            super(arms);
            this.time = time;
            this.slow = slow;
            this.calls = calls;
        }

        private void call(Arm arm) {
            if (arm == slow) {
                Optional.ofNullable(calls.get(number++)).ifPresent(takes -> time.sleep(takes.toNanos()));
            }
        }

        @Override
        public HoldReceipt on(Prefixes prefixes, Duration within) {
            call(Arm.PINNED);
            return arms.on(prefixes, within);
        }

        @Override
        public HoldReceipt off(Prefixes prefixes, Duration within) {
            call(Arm.BASELINE);
            return arms.off(prefixes, within);
        }
    }

    /** Holds nothing, though it is asked to. */
    private static final class Refusing extends OtherArms {
        Refusing(ArmSwitch arms) {
            super(arms);
        }

        @Override
        public boolean claimsHold() {
            return true;
        }

        @Override
        public HoldReceipt on(Prefixes prefixes, Duration within) {
            return HoldReceipt.notHeld("", 16, "no");
        }
    }
}
