package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.run.Progress;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;

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
                line(left(
                        event("started")
                                .put("pairs", started.plan().lives().size())
                                .put("legs", started.legs()),
                        started.left()));
            case LifeStarted life -> lives = life.lives();
            case StepStarted step -> {}
            case LegFinished finished -> {
                ObjectNode leg = event("leg")
                        .put("life", finished.leg().life())
                        .put("lives", lives)
                        .put("order", finished.leg().order().name())
                        .put("position", finished.leg().position())
                        .put("arm", name(finished.leg().arm()));
                number(leg, "probeMillis", finished.probeMillis());
                number(leg, "cachedTokens", finished.cachedTokens());
                line(left(leg, Optional.of(finished.left())));
            }
            case PairVoided pair ->
                line(event("voided")
                        .put("life", pair.life())
                        .put("reason", pair.reason())
                        .put("repeats", pair.repeats())
                        .put("mostRepeats", pair.most()));
            case Note note -> line(event("note").put("text", note.sentence()));
            case RunFinished finished ->
                line(event("finished")
                        .put("finding", finished.result().verdict().finding().name())
                        .put("headline", finished.result().headline()));
        }
    }

    /** The last line of an A/A run, which has no verdict. */
    static void finished(ControlResult result, PrintWriter out) {
        print(event("finished").put("standing", result.standing()).put("enough", result.isEnough()), out);
    }

    /** The last line of a run that was stopped. */
    static void stopped(Path journal, Optional<String> resume, PrintWriter out) {
        ObjectNode line = event("stopped").put("journal", journal.toString());
        resume.ifPresentOrElse(text -> line.put("resume", text), () -> line.putNull("resume"));
        print(line, out);
    }

    private static ObjectNode event(String name) {
        return JsonNodeFactory.instance.objectNode().put("event", name);
    }

    private static String name(Arm arm) {
        return arm.name().toLowerCase(Locale.ROOT);
    }

    private static void number(ObjectNode line, String name, OptionalDouble value) {
        if (value.isPresent()) {
            line.put(name, value.getAsDouble());
        } else {
            line.putNull(name);
        }
    }

    private static ObjectNode left(ObjectNode line, Optional<Duration> left) {
        left.ifPresentOrElse(time -> line.put("secondsLeft", time.toSeconds()), () -> line.putNull("secondsLeft"));
        return line;
    }

    private void line(ObjectNode line) {
        print(line, out);
    }

    private static void print(ObjectNode line, PrintWriter out) {
        out.println(line);
        out.flush();
    }
}
