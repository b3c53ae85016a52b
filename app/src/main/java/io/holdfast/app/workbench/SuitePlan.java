package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.Suite;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** What a suite will send, and about how long that takes by three requests that are alone at the server. */
final class SuitePlan {
    private static final int ASKED_TOKENS = 256;
    private static final int ASKED_ANSWER = 17;
    private static final int FIRST_TOKEN = 40_000;
    private static final int ASKED = 3;
    private static final int SHOWN_OF_AN_ID = 12;

    private SuitePlan() {}

    static int print(List<Suite.Leg> legs, EngineUnderTest engine, RunClock clock, PrintWriter out) {
        Pace pace = Pace.of(engine);
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("leg", "requests", "prompt tokens", "answer tokens", "takes about", "SHA-256"));
        double all = 0;
        for (Suite.Leg leg : legs) {
            List<LoadRequest> requests = leg.load().requests();
            double seconds =
                    leg.load().parts().stream().mapToDouble(pace::seconds).sum();
            all += seconds;
            rows.add(List.of(
                    leg.id(),
                    String.format(Locale.ROOT, "%,d", requests.size()),
                    String.format(
                            Locale.ROOT,
                            "%,d",
                            requests.stream().mapToLong(LoadRequest::length).sum()),
                    String.format(
                            Locale.ROOT,
                            "%,d",
                            requests.stream().mapToLong(LoadRequest::maxTokens).sum()),
                    shown(seconds),
                    leg.load().id().substring(0, SHOWN_OF_AN_ID)));
        }
        SuiteTable.print(rows, out);
        TerminalText.plain(out)
                .text("All legs take about " + shown(all)
                        + ", where requests do not slow each other down; that is reckoned from " + ASKED
                        + " requests, which were just sent one after the other. Warm-ups, pauses between legs and"
                        + " starts of the server come on top. The ids are the first " + SHOWN_OF_AN_ID
                        + " letters of those in plan.json.");
        return ExitCode.OK;
    }

    private static String shown(double seconds) {
        return TimeSpan.shown(Duration.ofMillis(Math.round(1e3 * seconds)));
    }

    /** Seconds of one token. */
    private record Pace(double prompt, double answer) {
        static Pace of(EngineUnderTest engine) {
            List<LoadRequest> requests = IntStream.range(0, ASKED)
                    .mapToObj(number -> new LoadRequest(
                            Role.WARM_UP,
                            0,
                            IntStream.range(0, ASKED_TOKENS)
                                    .map(i -> FIRST_TOKEN / 2 + number + i)
                                    .toArray(),
                            ASKED_ANSWER))
                    .toList();
            EngineUnderTest.Load load = engine.prepare(requests);
            load.connect(1);
            List<RequestRecord> records = load.send(requests.size(), 1);
            RequestRecord last = records.getLast();
            if (!last.isOk()) {
                throw new CommandException("The server did not answer a short request: " + last.status() + " "
                        + last.problem() + "; see its log.");
            }
            double first = last.ttftMillis().orElse(0) / 1e3;
            double whole = last.endToEndMillis().orElse(0) / 1e3;
            return new Pace(first / ASKED_TOKENS, (whole - first) / (ASKED_ANSWER - 1));
        }

        double seconds(DrawnLoad.Drawn part) {
            double alone = part.requests().stream()
                    .mapToDouble(request -> prompt * request.length() + answer * request.maxTokens())
                    .sum();
            double longest = part.requests().stream()
                    .mapToDouble(request -> prompt * request.length() + answer * request.maxTokens())
                    .max()
                    .orElse(0);
            double comes = part.turns().isEmpty() ? 0 : part.turns().getLast() / 1e9;
            return part.part().pause().toNanos() / 1e9
                    + (part.turns().isEmpty() ? alone / part.lanes() : comes + longest);
        }
    }
}
