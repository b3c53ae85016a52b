package io.holdfast.loadtest.sweep;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.sweep.Cliff.Point;
import io.holdfast.loadtest.sweep.Replicates.Measured;
import io.holdfast.loadtest.testing.MemoryFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The file of a sweep, and the arithmetic that needs no run. */
final class SweepPlanTest {
    private static final double DELTA = Math.log(1.05);

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    private static SweepPlan plan(String... capacities) {
        return new SweepPlan(
                "2026-11-25T07:00:00Z",
                SweepPlan.levels(Map.of("capacity", List.of(capacities)), Optional.of(capacities[0])),
                Map.of("url", "http://127.0.0.1:30000"));
    }

    @Test
    void plan_writtenAndRead_isTheSame() {
        SweepPlan plan = plan("32768", "8192", "8192");
        plan.write(folder);
        assertThat(SweepPlan.read(folder)).isEqualTo(plan);
        assertThat(plan.levels())
                .extracting(SweepPlan.Level::name)
                .containsExactly("capacity 32768", "capacity 8192", "capacity 8192");
        assertThat(plan.levels()).extracting(SweepPlan.Level::journal).doesNotHaveDuplicates();
        assertThat(plan.levels()).extracting(SweepPlan.Level::placebo).containsExactly(true, false, false);
    }

    @Test
    void folderOfAnotherSweep_isNotWrittenOver() {
        plan("32768", "8192").write(folder);
        assertThatThrownBy(() -> plan("1", "2").write(folder))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("is not overwritten");
        assertThatThrownBy(() -> SweepPlan.read(folder).refuseOther(plan("32768", "4096")))
                .hasMessageContaining("begun with the levels capacity 32768; capacity 8192");
    }

    @Test
    void badSweeps_areRefusedInASentence() throws IOException {
        assertThatThrownBy(() -> SweepPlan.read(folder)).hasMessageContaining("There is no sweep in");
        Files.writeString(folder.resolve("sweep.json"), "{\"format\": 1, ");
        assertThatThrownBy(() -> SweepPlan.read(folder)).hasMessageContaining("no whole JSON");
        Files.writeString(folder.resolve("sweep.json"), "{\"format\": 7}");
        assertThatThrownBy(() -> SweepPlan.read(folder)).hasMessageContaining("has format 7");
        assertThatThrownBy(() ->
                        SweepPlan.levels(Map.of("batch", List.of("1", "2"), "blocks", List.of("1")), Optional.empty()))
                .hasMessageContaining("change together");
        assertThatThrownBy(() -> SweepPlan.levels(Map.of("batch", List.of("1", "2")), Optional.of("3")))
                .hasMessageContaining("The placebo '3' is none of the levels");
    }

    @Test
    void demandOfASharedPrompt_countsItOnceAndSaysWhatOthersWould() {
        Pressure pressure = new Pressure(248, 64, 64 * 200, OptionalLong.of(22_000), OptionalLong.empty());
        assertThat(pressure.naiveDemand()).isEqualTo(28_672);
        assertThat(pressure.demand()).isEqualTo(13_048);
        assertThat(pressure.naiveRatio().orElseThrow()).isGreaterThan(1);
        assertThat(pressure.ratio().orElseThrow()).isLessThan(1);
    }

    @Test
    void claimThatTheServerContradicts_isOverriddenAndSaid() {
        assertThat(new Pressure(1, 1, 1, OptionalLong.of(7_680), OptionalLong.of(8_192)).correction())
                .hasValue("it claims a cache of 8,192 tokens, and the server has 7,680, which counts");
        assertThat(new Pressure(1, 1, 1, OptionalLong.of(8_191), OptionalLong.of(8_192)).correction())
                .isEmpty();
    }

    @Test
    void equalConfigurations_showHowFarServersLieApart() {
        List<Replicates> same = Replicates.of(List.of(
                new Measured("mem 0.08, concurrency 32", 69.89, 55.65),
                new Measured("mem 0.08, concurrency 64", 232.01, 77.03),
                new Measured("mem 0.08, concurrency 32", 68.39, 54.52)));
        assertThat(same).singleElement().satisfies(one -> {
            assertThat(one.count()).isEqualTo(2);
            assertThat(one.baselineSpread()).isCloseTo(0.022, within(0.0005));
            assertThat(one.pinnedSpread()).isCloseTo(0.021, within(0.0005));
        });
    }

    @Test
    void collapseBetweenNeighbours_isACliffWithALevelToStayAt() {
        Cliff cliff = Cliff.of(List.of(
                        new Point("batch 12", 293.9),
                        new Point("batch 16", 318.1),
                        new Point("batch 20", 326.2),
                        new Point("batch 24", 121.4)))
                .orElseThrow();
        assertThat(cliff.before().level()).isEqualTo("batch 20");
        assertThat(cliff.after().level()).isEqualTo("batch 24");
        assertThat(cliff.text("tok/s"))
                .isEqualTo("From batch 20 to batch 24 the server falls off a cliff, from 326.2 to 121.4 tok/s, a factor"
                        + " of 2.7; stay at batch 16 (318.1 tok/s), which is within 5 % of the best, batch 20 (326.2),"
                        + " and further from the cliff.");
        assertThat(Cliff.of(List.of(new Point("a", 100), new Point("b", 60)))).isEmpty();
        assertThat(Cliff.of(List.of(new Point("a", 100), new Point("b", 0)))
                        .orElseThrow()
                        .text("tok/s"))
                .isEqualTo("From a to b the server falls off a cliff, from 100.0 to 0.0 tok/s; stay at a (100.0 tok/s),"
                        + " the best before it.");
    }

    /** A published sweep over memory whose pinned legs always ran second: -22 % at every level, with memory to spare as well. */
    @Test
    void publishedSweepWithAFlatGain_isObjectedTo() {
        double[] effects = {-0.2534, -0.2278, -0.3016, -0.3644, -0.2824};
        double[] capacities = {13_000, 22_000, 32_000, 54_000, 108_000};
        List<DoseResponse.Level> levels = new ArrayList<>();
        for (int i = 0; i < effects.length; i++) {
            levels.add(new DoseResponse.Level(25_848 / capacities[i], effects[i], 0.02, 8));
        }
        assertThat(new DoseResponse(levels).refutation(DELTA).orElseThrow()).contains("with memory to spare");
        assertThat(new DoseResponse(levels.subList(0, 3)).refutation(DELTA)).isEmpty();
        List<DoseResponse.Level> withoutPlacebo = new ArrayList<>(levels.subList(0, 3));
        withoutPlacebo.add(new DoseResponse.Level(0.6, effects[3], 0.02, 8));
        assertThat(new DoseResponse(withoutPlacebo).refutation(DELTA).orElseThrow())
                .contains("does not grow with memory pressure");
    }
}
