package io.holdfast.workbench.matrix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class CoolDownTest {
    private static final Suite.Leg NEXT = new Suite.Leg(
            "next",
            DrawnLoad.of(new Recipe(
                    "next", "", 1, Map.of(), List.of(Part.of("load", 1, Range.of(8), Range.of(1), "burst")))),
            Map.of());
    private static final Duration CAP = Duration.ofSeconds(242);

    private final VirtualServer server = VirtualServer.usual();
    private final List<String> told = new ArrayList<>();
    private final Steps clock = new Steps();

    /** A clock that stands still but for who waits by it. */
    private static final class Steps implements RunClock {
        private long now;

        @Override
        public long nanos() {
            return now;
        }

        @Override
        public void sleepUntil(long deadlineNanos) {
            now = Math.max(now, deadlineNanos);
        }

        @Override
        public Instant now() {
            return Instant.EPOCH.plusNanos(now);
        }
    }

    @Test
    void goldenSpeed_failsByTheFirstReferenceAndPassesByASustainedOne() {
        assertThat(CoolDown.passes(21, 26.3, 0.20)).isFalse();
        assertThat(CoolDown.passes(21, 22, 0.20)).isTrue();
    }

    @Test
    void serverThatSettlesAt84Percent_passesAtTheFirstProbe() {
        CoolDown gate = gate(0.20, speedFrom(26.3, 0.84));
        List<Map<String, String>> notes = run(gate, 20);
        assertThat(notes.getFirst()).containsEntry("cooldown", "reference").doesNotContainKey("cooldown_seconds");
        assertThat(notes.subList(1, 20))
                .allSatisfy(note -> assertThat(note)
                        .containsEntry("cooldown", "passed")
                        .containsEntry("cooldown_seconds", "0.0")
                        .containsEntry("cooldown_probe_tps", "22.09"));
        assertThat(told).anySatisfy(sentence -> assertThat(sentence).contains("84 % of its first 26.3"));
    }

    @Test
    void smallTolerance_isDoubtedWithTheRatioThatWasSeen() {
        assertThat(settings(0.05).doubt())
                .hasValueSatisfying(doubt -> assertThat(doubt).contains("0.05"));
        assertThat(settings(0.20).doubt()).isEmpty();
        CoolDown gate = gate(0.05, speedFrom(26.3, 0.84));
        run(gate, 2);
        assertThat(told)
                .anySatisfy(sentence -> assertThat(sentence)
                        .contains("84 % of its first 26.3")
                        .contains("tolerance of 0.05")
                        .contains("never be reached again"));
    }

    @Test
    void serverThatFallsTo84PercentLater_hitsTheLimitAtMostTwice() {
        // Sound for four legs; then slower, and never twice the same.
        int[] probes = {0};
        CoolDown gate = gate(0.05, any -> {
            int number = probes[0]++;
            return number < 16 ? 26.3 : 26.3 * (number % 2 == 0 ? 0.84 : 0.81);
        });
        List<Map<String, String>> notes = run(gate, 30);
        assertThat(notes)
                .filteredOn(note -> "timed out".equals(note.get("cooldown")))
                .hasSize(2);
        assertThat(notes.getLast()).containsEntry("cooldown", "passed").containsEntry("cooldown_degraded", "true");
        assertThat(told)
                .anySatisfy(sentence ->
                        assertThat(sentence).contains("Twice in a row").contains("did not come back to 26.3"));
    }

    @Test
    void plateau_endsTheWaitLongBeforeItsLimit() {
        int[] probes = {0};
        CoolDown gate = gate(0.20, any -> probes[0]++ < 16 ? 26.3 : 15);
        List<Map<String, String>> notes = run(gate, 10);
        assertThat(notes)
                .filteredOn(note -> "settled".equals(note.get("cooldown")))
                .hasSize(2)
                .allSatisfy(note -> assertThat(note).containsEntry("cooldown_seconds", "10.0"));
        assertThat(notes).noneMatch(note -> "timed out".equals(note.get("cooldown")));
    }

    @Test
    void thirdLimitInARow_isWarnedOfWithTheHoursToCome() {
        // It falls for ever, faster than the reference follows.
        int[] probes = {0};
        CoolDown gate = gate(0.05, any -> 26.3 * Math.pow(0.9, Math.max(0, probes[0]++ - 12)));
        run(gate, 4);
        assertThat(told).noneSatisfy(sentence -> assertThat(sentence).contains("Three cool-downs"));
        run(gate, 1);
        assertThat(told)
                .anySatisfy(sentence -> assertThat(sentence)
                        .contains("Three cool-downs in a row have ended at their limit of 242 s")
                        .containsPattern("for the \\d+ legs that are left that will be \\d+\\.\\d h of waiting"));
    }

    /** Twice in a row is what makes it another server: two bad moments with a good one between them do not. */
    @Test
    void missesThatAreNotInARow_lowerNoReference() {
        int[] probes = {0};
        CoolDown gate = gate(0.20, any -> {
            int number = probes[0]++;
            return number < 16 || number == 19 ? 26.3 : number < 23 ? 15 : 26.3;
        });
        List<Map<String, String>> notes = run(gate, 10);
        assertThat(notes)
                .filteredOn(note -> "settled".equals(note.get("cooldown")))
                .hasSize(2);
        assertThat(notes).noneMatch(note -> note.containsKey("cooldown_degraded"));
        assertThat(told).noneSatisfy(sentence -> assertThat(sentence).contains("Twice in a row"));
    }

    @Test
    void serverThatFallsSilent_hasNotSettled() {
        int[] probes = {0};
        CoolDown gate = gate(0.20, any -> probes[0]++ < 16 ? 26.3 : 0);
        assertThat(run(gate, 6).getLast())
                .containsEntry("cooldown", "timed out")
                .containsEntry("cooldown_probe_tps", "0.00");
    }

    @Test
    void budget_isNeverExceeded() {
        int[] probes = {0};
        CoolDown.Settings settings = new CoolDown.Settings(0.05, Duration.ofSeconds(60), Duration.ofSeconds(100));
        CoolDown gate = new CoolDown(
                settings,
                engine -> OptionalDouble.of(26.3 * Math.pow(0.9, Math.max(0, probes[0]++ - 12))),
                50,
                clock,
                told::add);
        List<Map<String, String>> notes = run(gate, 20);
        assertThat(clock.nanos()).isLessThanOrEqualTo(Duration.ofSeconds(100).toNanos());
        assertThat(notes.getLast()).containsEntry("cooldown", "budget spent");
    }

    @Test
    void throttledEngine_isProbedByRealRequestsAndPasses() {
        VirtualServer hot = VirtualServer.sglang(
                SglangSettings.defaults(), new Speed(40, 10_000, 20_000, 1), 1, new GpuFault.Throttling(0.84, 2));
        CoolDown gate = CoolDown.before(settings(0.20), 6, hot.clock(), told::add);
        for (int leg = 0; leg < 6; leg++) {
            assertThat(gate.before(NEXT, hot.engine()).get("cooldown")).isIn("reference", "passed");
        }
        assertThat(told).anySatisfy(sentence -> assertThat(sentence).containsPattern("8[4-9] % of its first"));
    }

    @Test
    void silentServer_isNoSpeedAtAll() {
        CoolDown gate = new CoolDown(settings(0.20), engine -> OptionalDouble.empty(), 5, clock, told::add);
        assertThat(run(gate, 2).getLast()).containsEntry("cooldown_probe_tps", "0.00");
    }

    @Test
    void legsOfASuite_areSummedUpByMedianAndLimit() {
        List<LoadLeg> legs = IntStream.range(0, 198)
                .mapToObj(i -> leg(i < 72 ? "timed out" : "passed", i < 72 ? "242.0" : i < 110 ? "19.0" : "0.0"))
                .toList();
        assertThat(CoolDown.told(legs)).hasValue("Cool-downs: median 19 s, 72 of 198 (36 %) ended at their limit.");
        assertThat(CoolDown.told(List.of())).isEmpty();
    }

    @Test
    void settingsThatCannotBe_areRefused() {
        assertThatThrownBy(() -> settings(0))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("as 0.2");
        assertThatThrownBy(() -> new CoolDown.Settings(0.2, CAP, Duration.ofSeconds(10)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("no less for all than for one");
    }

    private static LoadLeg leg(String outcome, String seconds) {
        return new LoadLeg(
                "a",
                "a",
                "",
                "",
                Map.of(),
                "",
                List.of(),
                Map.of("cooldown", outcome, "cooldown_seconds", seconds),
                Optional.empty(),
                Optional.empty());
    }

    /** The first probe finds it fresh. */
    private static DoubleUnaryOperator speedFrom(double fresh, double factor) {
        int[] probes = {0};
        return any -> probes[0]++ == 0 ? fresh : factor * fresh;
    }

    private CoolDown gate(double tolerance, DoubleUnaryOperator speed) {
        return new CoolDown(
                settings(tolerance), engine -> OptionalDouble.of(speed.applyAsDouble(0)), 114, clock, told::add);
    }

    private static CoolDown.Settings settings(double tolerance) {
        return new CoolDown.Settings(tolerance, CAP, Duration.ofHours(10));
    }

    private List<Map<String, String>> run(CoolDown gate, int legs) {
        return IntStream.range(0, legs)
                .mapToObj(i -> gate.before(NEXT, server.engine()))
                .toList();
    }
}
