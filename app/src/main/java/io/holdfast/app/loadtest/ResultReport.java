package io.holdfast.app.loadtest;

import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.workload.Arrivals;
import java.io.PrintWriter;
import java.net.URI;
import java.util.Locale;
import java.util.stream.Collectors;

/** The result of a load test, for people and as JSON; what is unknown is said to be unknown, or null. */
public final class ResultReport {
    private ResultReport() {}

    static void print(Result result, boolean json, PrintWriter out) {
        if (json) {
            out.println(JsonText.of(ResultJson.document(result)));
            return;
        }
        TerminalText text = TerminalText.plain(out);
        text.blank();
        text.show(RunDocument.brief(result));
    }

    /** Prints the plan: the server, the load, and about how long it takes. */
    static void printPlan(
            URI server,
            HttpSettings asked,
            ArmSwitch arms,
            LoadTestPlan settings,
            RunPlan plan,
            Arrivals arrivals,
            boolean flushes,
            PrintWriter out) {
        TerminalText text = TerminalText.plain(out);
        text.line("Load test at " + server
                + asked.model().map(name -> ", model " + name).orElse(""));
        text.paragraph("  ", "Pinned legs: " + arms.name() + ".");
        text.paragraph(
                "  ",
                String.format(
                        Locale.ROOT,
                        "%d %s that count and one before them: %d legs, %,d requests of %,d tokens, about %s.",
                        plan.pairs(),
                        settings.design() == Design.BLOCKS ? "blocks" : "pairs",
                        plan.legs(),
                        plan.requests(),
                        plan.tokens(),
                        TimeSpan.shown(plan.estimate())));
        if (!settings.looks().isEmpty()) {
            text.paragraph(
                    "  ",
                    "That is the most: the data is looked at after "
                            + settings.looks().stream().map(String::valueOf).collect(Collectors.joining(", "))
                            + " rounds, and the run ends at the first look that decides.");
        }
        if (!settings.design().canDecide()) {
            text.paragraph(
                    "  ", "All pairs run in one order, so nothing will be decided: what they show is a naive claim.");
        }
        if (!arrivals.isClosed()) {
            text.paragraph("  ", arriving(arrivals));
        }
        text.paragraph("  ", isolation(flushes, asked.flushPath()));
        arms.afterAKill().ifPresent(what -> text.paragraph("  ", what));
        out.flush();
    }

    static String arriving(Arrivals arrivals) {
        return "The requests of a flood come by " + arrivals.text() + ", whether or not those before them are over; all"
                + " are over before a probe.";
    }

    private static String isolation(boolean flushes, String path) {
        return flushes
                ? "The server's cache is emptied before every leg, by " + path + "."
                : "The server's cache is not emptied: the texts of each leg begin with a salt of their own, so that"
                        + " none finds what was there before it.";
    }
}
