package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Shortfall;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.report.HtmlRenderer;
import io.holdfast.loadtest.report.SweepDocument;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole sweeps in virtual time: each level a run with its own journal, judged from the folder alone. */
final class SweepRunTest {
    private static final VirtualExperiment EVEN = VirtualExperiment.underPressure();
    private static final List<Integer> CAPACITIES = List.of(4_608, 2_560, 1_792, 1_536, 1_280);

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    private Sweep sweep(List<Integer> capacities, int measured, IntFunction<VirtualExperiment> at) {
        return sweep(capacities, Optional.empty(), measured, at);
    }

    private Sweep sweep(
            List<Integer> capacities, Optional<String> placebo, int measured, IntFunction<VirtualExperiment> at) {
        SweepPlan plan = new SweepPlan(
                "2026-11-25T07:00:00Z",
                SweepPlan.levels(
                        Map.of(
                                "capacity",
                                capacities.stream().map(String::valueOf).toList()),
                        placebo),
                Map.of());
        plan.write(folder);
        for (int i = 0; i < measured; i++) {
            at.apply(capacities.get(i))
                    .run(i + 1, folder.resolve(plan.levels().get(i).journal()));
        }
        return Sweep.of(folder);
    }

    private static List<Finding> findings(Sweep sweep) {
        return sweep.levels().stream()
                .map(level -> level.result().verdict().finding())
                .toList();
    }

    @Test
    void sweepOverMemory_isJudgedLevelByLevel() {
        Sweep sweep = sweep(CAPACITIES, CAPACITIES.size(), EVEN::withMemory);
        assertThat(findings(sweep))
                .containsExactly(Finding.NO_EXPOSURE, Finding.NO_EXPOSURE, Finding.REAL, Finding.REAL, Finding.REAL);
        assertThat(sweep.levels().getFirst().pressure().ratio().orElseThrow()).isLessThan(0.5);
        assertThat(sweep.doseResponse().orElseThrow().lacks()).isEmpty();
        assertThat(sweep.doseResponse().orElseThrow().fit().orElseThrow().slope())
                .isNegative();
        assertThat(sweep.baseline().orElseThrow().slope()).isPositive();
        assertThat(sweep.isWhole()).isTrue();
        assertThat(sweep.notes()).isEmpty();
    }

    @Test
    void gainThatIsThereWithMemoryToSpare_isNotReal() {
        // Pinned legs are faster for another reason, and their pins work as well.
        Sweep sweep = sweep(
                CAPACITIES,
                CAPACITIES.size(),
                capacity -> EVEN.withMemory(capacity).withArms(engine -> {
                    engine.servePinnedLegsAt(new Speed(40, 5_000, 1_000, 1));
                    return Arms.pinRoute(engine);
                }));
        assertThat(findings(sweep)).doesNotContain(Finding.REAL);
        assertThat(sweep.levels().getLast().result().verdict().shortfall()).contains(Shortfall.UNEXPLAINED);
        assertThat(sweep.levels().getLast().result().verdict().reason()).contains("with memory to spare");
    }

    @Test
    void placeboThatWasDeclared_isOneWhateverItsPressure_andIsSaidToBeUnderPressure() {
        Sweep sweep = sweep(List.of(1_536, 1_280), Optional.of("1536"), 2, EVEN::withMemory);
        assertThat(sweep.levels().getFirst().pressure().ratio().orElseThrow())
                .isGreaterThan(DoseResponse.MOST_PLACEBO_PRESSURE);
        assertThat(sweep.doseResponse().orElseThrow().levels())
                .extracting(DoseResponse.Level::placebo)
                .containsExactly(true, false);
        assertThat(sweep.notes()).anyMatch(note -> note.startsWith("The placebo was declared, although"));
    }

    @Test
    void equalLevels_areReplicates() {
        Sweep sweep = sweep(List.of(1_536, 4_608, 1_536), 3, EVEN::withMemory);
        assertThat(sweep.replicates()).singleElement().satisfies(same -> {
            assertThat(same.configuration()).isEqualTo("capacity 1536");
            assertThat(same.count()).isEqualTo(2);
            assertThat(same.baselineSpread()).isBetween(0.0, 0.1);
        });
        assertThat(findings(sweep)).containsExactly(Finding.REAL, Finding.NO_EXPOSURE, Finding.REAL);
    }

    @Test
    void halfASweep_saysWhatIsMissing() {
        Sweep sweep = sweep(CAPACITIES, 2, EVEN::withMemory);
        assertThat(sweep.isWhole()).isFalse();
        assertThat(sweep.notes()).contains("The sweep has 2 of 5 levels; go on with it by --resume.");
    }

    @Test
    void page_namesThePlaceboLevelsAlone_andTheLevelsThatAWarningIsOf() {
        Sweep sweep = sweep(List.of(1_536, 4_608, 4_608), 3, EVEN::withMemory);
        String page = HtmlRenderer.page(SweepDocument.page(sweep, "sweep"));
        assertThat(sweep.levels())
                .allSatisfy(level -> assertThat(page.contains(level.planned().name() + " (placebo)"))
                        .isEqualTo(level.pressure().ratio().orElseThrow() <= DoseResponse.MOST_PLACEBO_PRESSURE));
        String warning = sweep.levels().get(1).result().warnings().stream()
                .filter(each -> each.contains("does not exceed the cache of 4608"))
                .findFirst()
                .orElseThrow();
        assertThat(page)
                .contains("At " + sweep.levels().get(1).planned().name() + "; "
                        + sweep.levels().get(2).planned().name() + ": " + warning);
    }

    @Test
    void sweepWithAVoidLevel_isNotWhole() {
        Sweep sweep = sweep(
                List.of(1_536, 4_608),
                2,
                capacity -> EVEN.withMemory(capacity).withArms(engine -> {
                    if (capacity == 1_536) {
                        engine.serveAnotherModelFrom(5);
                    }
                    return Arms.pinRoute(engine);
                }));
        assertThat(findings(sweep)).contains(Finding.INVALID);
        assertThat(HtmlRenderer.page(SweepDocument.page(sweep, "sweep")))
                .contains("<header class=\"bad\">", "Some levels are void, so the sweep is not whole.");
    }

    @Test
    void harmOfALevel_isTheDifferenceThatIsShownFirst() {
        Sweep sweep = sweep(
                List.of(1_536, 4_608),
                2,
                capacity -> EVEN.withMemory(capacity)
                        .withFaults(new CacheFault.PinIgnored())
                        .withArms(engine -> {
                            if (capacity == 1_536) {
                                engine.servePinnedLegsAt(new Speed(40, 20_000, 1_000, 1));
                            }
                            return Arms.pinRoute(engine);
                        }));
        assertThat(findings(sweep)).startsWith(Finding.HARMFUL);
        assertThat(HtmlRenderer.page(SweepDocument.page(sweep, "sweep")))
                .contains("At 1 of 2 levels it did harm.")
                .containsPattern("<span>Where the difference is largest, capacity 1536</span> <b>\\+[0-9]");
    }
}
