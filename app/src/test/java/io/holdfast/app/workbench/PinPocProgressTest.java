package io.holdfast.app.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.workbench.preset.PinPoc;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PinPocProgressTest {
    private static final List<PinPoc.Step> STEPS = PinPoc.steps(1);

    private static List<String> told(PinPoc.Step step, Progress.Event... events) {
        StringWriter text = new StringWriter();
        PinPocProgress progress = new PinPocProgress(step, 128, new PrintWriter(text));
        for (Progress.Event event : events) {
            progress.on(event);
        }
        return text.toString().lines().toList();
    }

    private static Progress.StepStarted begins(int position, Arm arm) {
        return new Progress.StepStarted(1, position, arm, Step.Kind.FLUSH, 0);
    }

    @Test
    void legs_areNamedByArmAndPlace() {
        assertThat(told(STEPS.getFirst(), begins(0, Arm.BASELINE), begins(1, Arm.BASELINE), begins(2, Arm.BASELINE)))
                .containsExactly(
                        "RUN A (first): concurrency=32, requests=128", "RUN B (second): concurrency=32, requests=128");
        assertThat(told(STEPS.get(5), begins(1, Arm.PINNED), begins(2, Arm.BASELINE)))
                .containsExactly(
                        "PINNED (first): concurrency=64, requests=128",
                        "BASELINE (second): concurrency=64, requests=128");
    }

    @Test
    void repetitions_areCounted() {
        assertThat(told(STEPS.get(6), new Progress.LifeStarted(2, 3, PairOrder.BP, false)))
                .containsExactly("--- REPETITION 2/3 ---");
        assertThat(told(STEPS.getFirst(), new Progress.LifeStarted(1, 1, PairOrder.AA, true)))
                .isEmpty();
    }
}
