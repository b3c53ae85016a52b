package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.Role;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Legs with traffic to learn from before their hold step, in virtual time. */
final class LearningTest {
    private static final VirtualExperiment EXPERIMENT = VirtualExperiment.underPressure()
            .withShape(FloodShape.of(256, 32, 2, 896, 3).withOutputTokens(1, 1).withLearning(1, 2));

    @TempDir
    private Path folder = Path.of("");

    @Test
    void learning_isTheSameInBothArmsAndInNoFigure() {
        Result result = EXPERIMENT.run(5, folder.resolve("run"));
        assertThat(result.legs().stream().map(LearningTest::steps).distinct()).hasSize(1);
        assertThat(steps(result.legs().getFirst()))
                .startsWith("FLUSH 0", "CONNECT 0", "LEARN 1", "LEARN 1", "LEARN 2", "HOLD 0", "FLOOD 1", "PROBE 1");
        assertThat(result.legs()).allSatisfy(leg -> {
            assertThat(leg.requests())
                    .filteredOn(request -> request.role() == Role.LEARN)
                    .hasSize(6);
            assertThat(leg.requests()).noneMatch(request -> request.role() == Role.PRIME);
            assertThat(leg.probes()).hasSize(3);
        });
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
    }

    @Test
    void everything_bySession_holdsTextsAsWellAsThePrefix() {
        Result result = EXPERIMENT
                .onStockWithSessions()
                .withArms(engine -> Arms.everything(engine, 9))
                .run(5, folder.resolve("run"));
        assertHeld(result, 0);
    }

    @Test
    void everything_byPinRoute_holdsTextsAsWellAsThePrefix() {
        Result result = EXPERIMENT
                .withArms(engine -> Arms.everything(engine, 9))
                .withMemory(2_048)
                .run(5, folder.resolve("run"));
        assertHeld(result, 255);
    }

    private static void assertHeld(Result result, int mostLeftWithoutAHold) {
        assertThat(result.legs()).filteredOn(leg -> leg.arm() == Arm.PINNED).allSatisfy(leg -> {
            assertThat(leg.hold().isInFull()).isTrue();
            assertThat(leg.hold().reason()).startsWith("it holds 5 of 5 prefixes");
            assertThat(leg.hold().heldBlocks()).isEqualTo((256 + 4 * 288) / 16);
        });
        assertThat(result.legs()).filteredOn(leg -> leg.arm() == Arm.BASELINE).allSatisfy(leg -> {
            assertThat(leg.probes().getFirst().cachedTokens().orElseThrow()).isLessThanOrEqualTo(mostLeftWithoutAHold);
        });
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
    }

    private static List<String> steps(LegRecord leg) {
        return leg.steps().stream().map(LearningTest::text).toList();
    }

    private static String text(Step step) {
        return step.kind() + " " + step.cycle();
    }
}
