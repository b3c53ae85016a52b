package io.holdfast.app.loadtest;

import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.run.Progress;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;

/** Tells a program how a run gets on: one JSON object a line, each with what happened under {@code event}. */
final class JsonProgress implements Progress {
    private final PrintWriter out;
    private int lives;

    JsonProgress(PrintWriter out) {
        this.out = out;
    }

    @Override
    public void on(Event event) {
        switch (event) {
            case RunStarted started ->
                print(event("started")
                        .put("pairs", started.plan().lives().size())
                        .put("legs", started.legs())
                        .put("secondsLeft", started.left().map(Duration::toSeconds)));
            case LifeStarted life -> lives = life.lives();
            case StepStarted step -> {}
            case LegFinished finished ->
                print(event("leg")
                        .put("life", finished.leg().life())
                        .put("lives", lives)
                        .put("order", finished.leg().order())
                        .put("position", finished.leg().position())
                        .put("arm", finished.leg().arm().name().toLowerCase(Locale.ROOT))
                        .put("probeMillis", finished.probeMillis())
                        .put("cachedTokens", finished.cachedTokens())
                        .put("secondsLeft", finished.left().toSeconds()));
            case PairVoided pair ->
                print(event("voided")
                        .put("life", pair.life())
                        .put("reason", pair.reason())
                        .put("repeats", pair.repeats())
                        .put("mostRepeats", pair.most()));
            case Note note -> print(event("note").put("text", note.sentence()));
            case RunFinished finished ->
                print(event("finished")
                        .put("finding", finished.result().verdict().finding())
                        .put("headline", finished.result().headline()));
        }
    }

    /** Prints the last line of an A/A run, which has no verdict. */
    static void finished(ControlResult result, PrintWriter out) {
        new JsonProgress(out)
                .print(event("finished").put("standing", result.standing()).put("enough", result.isEnough()));
    }

    /** Prints the last line of a run that was stopped. */
    static void stopped(Path journal, Optional<String> resume, PrintWriter out) {
        new JsonProgress(out)
                .print(event("stopped").put("journal", journal.toString()).put("resume", resume));
    }

    private static Json event(String name) {
        return Json.object().put("event", name);
    }

    private void print(Json line) {
        out.println(line.line());
        out.flush();
    }
}
