package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.testing.MemoryFolder;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What A/A runs say of engines whose order bias is known, over many seeds in virtual time with seeded noise. */
final class ControlCoverageTest {
    private static final int RUNS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 2_000 : 300;
    private static final int PAIRS = 8;
    private static final int READINESS = 1;

    private static final VirtualExperiment EVEN =
            VirtualExperiment.underPressure().with(settings -> settings.rounds(PAIRS));

    @TempDir(factory = MemoryFolder.class)
    private Path folder = Path.of("");

    @Test
    void orderBiasOfAnEvenEngine_isCoveredAsPromised() {
        List<ControlResult> runs = runs();
        assertThat(covered(runs, 0)).isBetween(0.93, 0.97);
    }

    @Test
    void orderBiasOfAWarmingEngine_isCoveredAsPromised() {
        List<ControlResult> runs = runs(new GpuFault.Warming(READINESS + EVEN.requestsOfALeg()));
        double truth = runs.stream()
                .mapToDouble(run -> run.estimate().orderBias().orElseThrow())
                .average()
                .orElseThrow();
        assertThat(truth).isCloseTo(-Math.log(GpuFault.Warming.FACTOR), within(0.02));
        assertThat(covered(runs, truth)).isBetween(0.93, 0.97);
    }

    @Test
    void sameSeed_givesTheSameFiguresAndItsJournalAsWell() {
        Path first = folder.resolve("first.jsonl");
        ControlResult result = EVEN.controls(5, first);
        assertThat(EVEN.controls(5, folder.resolve("second.jsonl"))).isEqualTo(result);
        assertThat(ControlAnalysis.of(first)).isEqualTo(result);
        assertThat(result.standing()).isEqualTo(PAIRS);
        assertThat(result.legs()).hasSize(2 * PAIRS).allMatch(leg -> leg.arm() == Arm.BASELINE);
        assertThat(result.detectable().orElseThrow().effect())
                .isCloseTo(result.spread().orElseThrow().sd() * 1.0103, within(1e-3));
    }

    private static double covered(List<ControlResult> runs, double truth) {
        return (double) runs.stream()
                        .filter(run ->
                                run.estimate().orderBiasCi95().orElseThrow().contains(truth))
                        .count()
                / runs.size();
    }

    private List<ControlResult> runs(Fault... faults) {
        List<ControlResult> runs = new ArrayList<>();
        for (int seed = 1; seed <= RUNS; seed++) {
            Path journal = folder.resolve("aa.jsonl");
            try {
                ControlResult run = EVEN.withFaults(faults).controls(seed, journal);
                assertThat(run.standing()).isEqualTo(PAIRS);
                runs.add(run);
                Files.delete(journal);
            } catch (IOException | RuntimeException | AssertionError e) {
                throw new AssertionError("Seed " + seed, e);
            }
        }
        return runs;
    }
}
