package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.report.Shown;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.workload.Arrivals;
import java.io.PrintWriter;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Figures of A/A pairs, for people and as JSON. There is no word for a verdict, since nothing is judged. */
final class ControlReport {
    private static final int MOST_REASONS = 3;

    private ControlReport() {}

    /** Prints the plan: the server, the load, and about how long it takes. */
    static void printPlan(
            URI server,
            HttpSettings asked,
            RunPlan plan,
            Arrivals arrivals,
            boolean flushes,
            boolean json,
            PrintWriter out) {
        if (json) {
            ObjectNode root = JsonText.object();
            root.put("server", server.toString());
            asked.model().ifPresentOrElse(name -> root.put("model", name), () -> root.putNull("model"));
            root.put("pairs", plan.pairs())
                    .put("legs", plan.legs())
                    .put("requests", plan.requests())
                    .put("tokens", plan.tokens())
                    .put("estimatedSeconds", plan.estimate().toSeconds())
                    .put("arrivals", arrivals.text())
                    .put("flushes", flushes);
            out.println(JsonText.of(root));
            return;
        }
        TerminalText text = TerminalText.plain(out);
        text.line("A/A at " + server
                + asked.model().map(name -> ", model " + name).orElse(", no model named"));
        text.paragraph(
                "  ",
                String.format(
                        Locale.ROOT,
                        "%d pairs that count and one before them: %d legs, %,d requests of %,d words, about %s.",
                        plan.pairs(),
                        plan.legs(),
                        plan.requests(),
                        plan.tokens(),
                        TimeSpan.shown(plan.estimate())));
        if (!arrivals.isClosed()) {
            text.paragraph("  ", ResultReport.arriving(arrivals));
        }
        text.paragraph(
                "  ",
                flushes
                        ? "The server's cache is emptied before every leg."
                        : "The server's cache is not emptied: the texts of each leg begin with a salt of their own, so"
                                + " that none finds what was there before it.");
        out.flush();
    }

    /** Prints the figures; the exit code says whether there were enough pairs for them. */
    static int report(ControlResult result, boolean json, PrintWriter out) {
        if (json) {
            out.println(JsonText.of(document(result)));
        } else {
            TerminalText text = TerminalText.plain(out);
            text.blank();
            text.show(text(result));
        }
        out.flush();
        return result.isEnough() ? ExitCode.OK : ExitCode.INCONCLUSIVE;
    }

    /** Returns the difference of the second leg from the first, with its interval. */
    static String orderBias(ControlResult result) {
        return Shown.change(result.estimate().orderBias())
                + result.estimate()
                        .orderBiasCi95()
                        .map(ci -> ", 95 % interval " + Shown.interval(ci))
                        .orElse("");
    }

    /** Returns the figures and what has to be known of them. */
    private static Document text(ControlResult result) {
        Document.Builder out = Document.titled("A/A at " + result.header().unit());
        out.pre(String.join(
                "\n",
                "                               95 % interval",
                row(
                        "order bias",
                        Shown.change(result.estimate().orderBias()),
                        result.estimate().orderBiasCi95().map(Shown::interval),
                        "second leg against first"),
                row(
                        "spread of a pair",
                        result.spread().map(of -> size(of.sd())).orElse("unknown"),
                        result.spread().map(of -> sizes(of.ci95())),
                        "one standard deviation"),
                row(
                        "smallest effect",
                        result.detectable().map(of -> size(of.effect())).orElse("unknown"),
                        result.detectable().map(of -> sizes(of.ci95())),
                        "that " + ControlResult.PAIRS_OF_EACH_ORDER + " pairs of each order could see")));
        notes(result).forEach(out::say);
        return out.build();
    }

    private static String row(String name, String value, Optional<String> interval, String what) {
        return String.format(Locale.ROOT, "%-16s %9s   %-18s  %s", name, value, interval.orElse("unknown"), what);
    }

    private static List<String> notes(ControlResult result) {
        List<String> notes = new ArrayList<>();
        notes.add(result.standing() + " of " + result.planned() + " pairs stand"
                + (result.isEnough()
                        ? "."
                        : "; the figures need " + result.header().criteria().minimumPerOrder() + "."));
        result.broken().stream().limit(MOST_REASONS).forEach(notes::add);
        if (result.broken().size() > MOST_REASONS) {
            notes.add("And " + (result.broken().size() - MOST_REASONS) + " more such.");
        }
        if (result.isEnough()
                && result.estimate()
                        .orderBiasCi95()
                        .filter(Interval::excludesZero)
                        .isPresent()) {
            notes.add("The second leg is not like the first: what always runs first and second would show this as an"
                    + " effect.");
        }
        if (result.isEnough()) {
            result.detectable()
                    .ifPresent(of -> notes.add(
                            "An effect of that size is found in four of five experiments with such a spread; by the"
                                    + " usual criteria one below "
                                    + size(result.header().criteria().delta()) + " counts as nothing."));
        }
        notes.add(probes(result));
        Floods.of(result.header(), result.legs()).map(RunDocument::waited).ifPresent(notes::add);
        if (!result.header().freshLives()) {
            notes.add("All pairs ran in one server process: another one may differ by more than pairs do.");
        }
        notes.addAll(result.warnings());
        return notes;
    }

    private static String probes(ControlResult result) {
        return "Medians of " + result.probes().probes() + " probes: "
                + Shown.number("%.1f ms to the first token", result.probes().ttftMillis(), "no first token") + ", "
                + Shown.number(
                        "%.0f tokens cached", result.probes().cachedTokens(), "an unknown number of tokens cached")
                + ".";
    }

    static ObjectNode document(ControlResult result) {
        return Json.object()
                .put("workloadId", result.header().workload().id())
                .put("seed", result.header().seed())
                .put("server", result.header().unit())
                .put("salted", result.header().isSalted())
                .put("plannedPairs", result.planned())
                .put("standingPairs", result.standing())
                .put("voidedPairs", result.voided().size())
                .put("enoughPairs", result.isEnough())
                .put(
                        "orderBias",
                        Json.object()
                                .put("percent", result.estimate().orderBiasPercent())
                                .put(
                                        "ci95Percent",
                                        result.estimate().orderBiasCi95().map(ResultJson::percents)))
                .put(
                        "spread",
                        Json.object()
                                .put("logSd", result.spread().map(of -> of.sd()))
                                .put("percent", result.spread().map(of -> Shown.growth(of.sd())))
                                .put("ci95Percent", result.spread().map(of -> ResultJson.percents(of.ci95()))))
                .put(
                        "smallestEffect",
                        Json.object()
                                .put("pairsOfEachOrder", ControlResult.PAIRS_OF_EACH_ORDER)
                                .put("percent", result.detectable().map(of -> Shown.growth(of.effect())))
                                .put("ci95Percent", result.detectable().map(of -> ResultJson.percents(of.ci95()))))
                .put("probeCachedTokens", result.probes().cachedTokens())
                .put("probeTtftMillis", result.probes().ttftMillis())
                .put("broken", result.broken())
                .put("warnings", result.warnings())
                .tree();
    }

    /** Shows the ends of an interval of sizes, which have no direction. */
    private static String sizes(Interval log) {
        return String.format(Locale.ROOT, "%.1f to %.1f %%", Shown.growth(log.low()), Shown.growth(log.high()));
    }

    private static String size(double log) {
        return String.format(Locale.ROOT, "%.1f %%", Shown.growth(log));
    }
}
