package io.holdfast.app.workbench;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.workbench.preset.PinPoc;
import java.io.PrintWriter;
import java.util.Locale;

/** Tells how a step of the pin benchmark gets on, in the benchmark's own lines. */
final class PinPocProgress implements Progress {
    private final PinPoc.Step step;
    private final int requests;
    private final PrintWriter out;

    PinPocProgress(PinPoc.Step step, int requests, PrintWriter out) {
        this.step = step;
        this.requests = requests;
        this.out = out;
    }

    @Override
    public void on(Event event) {
        switch (event) {
            case LifeStarted life
            when step.pairs() > 1 -> line("--- REPETITION " + life.life() + "/" + life.lives() + " ---");
            case StepStarted started
            when started.step() == Step.Kind.FLUSH && started.position() > 0 ->
                line(leg(started.position(), started.arm()) + ": concurrency=" + step.concurrency() + ", requests="
                        + requests);
            case LegFinished finished
            when finished.leg().position() > 0 ->
                line(String.format(
                        Locale.ROOT,
                        "  TTFT p50 %.1f ms%s, about %d s left of this step",
                        finished.probeMillis().orElse(0),
                        finished.leg().arm() == Arm.PINNED
                                ? ", " + finished.leg().hold().heldBlocks() + " blocks pinned"
                                : "",
                        finished.left().toSeconds()));
            case PairVoided pair ->
                line("runs again (" + pair.repeats() + " of at most " + pair.most() + "): " + pair.reason());
            case Note note -> line(note.sentence());
            default -> {
                // The rest is told by the results.
            }
        }
    }

    private String leg(int position, Arm arm) {
        String order = position == 1 ? " (first)" : " (second)";
        return step.kind() == PinPoc.Kind.AA_CONTROL
                ? (position == 1 ? "RUN A" : "RUN B") + order
                : (arm == Arm.PINNED ? "PINNED" : "BASELINE") + order;
    }

    private void line(String text) {
        out.println(text);
        out.flush();
    }
}
