package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.ControlResult.Detectable;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.workload.Arrivals;
import java.io.PrintWriter;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleUnaryOperator;

/** What A/A pairs showed, for people and as JSON. It has no word for a verdict, since there is nothing to judge. */
final class ControlReport {
    private static final int MOST_REASONS = 3;

    private ControlReport() {}

    /** What will be sent, to whom, and about how long it takes. */
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
            print(result, TerminalText.plain(out));
        }
        out.flush();
        return result.isEnough() ? ExitCode.OK : ExitCode.INCONCLUSIVE;
    }

    /** By how much the second leg differs from the first, with its interval. */
    static String orderBias(ControlResult result) {
        return (result.estimate().orderBiasPercent().isPresent()
                        ? "%+.1f %%"
                                .formatted(result.estimate().orderBiasPercent().getAsDouble())
                        : "unknown")
                + result.estimate()
                        .orderBiasCi95()
                        .map(ci -> ", 95 % interval " + change(ci))
                        .orElse("");
    }

    private static void print(ControlResult result, TerminalText text) {
        text.blank();
        text.line("                                 95 % interval");
        text.line(String.format(
                Locale.ROOT,
                "  order bias       %9s   %-18s  second leg against first",
                result.estimate().orderBiasPercent().isPresent()
                        ? "%+.1f %%"
                                .formatted(result.estimate().orderBiasPercent().getAsDouble())
                        : "unknown",
                result.estimate().orderBiasCi95().map(ControlReport::change).orElse("unknown")));
        text.line(String.format(
                Locale.ROOT,
                "  spread of a pair %9s   %-18s  one standard deviation",
                result.spread().map(of -> size(of.sd())).orElse("unknown"),
                result.spread().map(of -> sizes(of.ci95())).orElse("unknown")));
        text.line(String.format(
                Locale.ROOT,
                "  smallest effect  %9s   %-18s  that %d pairs of each order could see",
                result.detectable().map(of -> size(of.effect())).orElse("unknown"),
                result.detectable().map(of -> sizes(of.ci95())).orElse("unknown"),
                ControlResult.PAIRS_OF_EACH_ORDER));
        text.blank();
        notes(result).forEach(note -> text.paragraph("  ", note));
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
        String cached = result.probes().cachedTokens().isPresent()
                ? String.format(
                        Locale.ROOT,
                        "%.0f tokens cached",
                        result.probes().cachedTokens().getAsDouble())
                : "an unknown number of tokens cached";
        String first = result.probes().ttftMillis().isPresent()
                ? String.format(
                        Locale.ROOT,
                        "%.1f ms to the first token",
                        result.probes().ttftMillis().getAsDouble())
                : "no first token";
        return "Medians of " + result.probes().probes() + " probes: " + first + ", " + cached + ".";
    }

    static ObjectNode document(ControlResult result) {
        ObjectNode root = JsonText.object();
        root.put("workloadId", result.header().workload().id())
                .put("seed", result.header().seed())
                .put("server", result.header().unit())
                .put("salted", result.header().isSalted())
                .put("plannedPairs", result.planned())
                .put("standingPairs", result.standing())
                .put("voidedPairs", result.voided().size())
                .put("enoughPairs", result.isEnough());
        ObjectNode bias = root.putObject("orderBias");
        JsonText.number(bias, "percent", result.estimate().orderBiasPercent());
        result.estimate()
                .orderBiasCi95()
                .ifPresentOrElse(
                        ci -> interval(bias, ci, log -> 100 * Math.expm1(log)), () -> bias.putNull("ci95Percent"));
        ObjectNode spread = root.putObject("spread");
        result.spread()
                .ifPresentOrElse(
                        of -> {
                            spread.put("logSd", of.sd());
                            interval(spread.put("percent", percent(of.sd())), of.ci95(), ControlReport::percent);
                        },
                        () -> spread.putNull("logSd").putNull("percent").putNull("ci95Percent"));
        ObjectNode smallest = root.putObject("smallestEffect");
        smallest.put("pairsOfEachOrder", ControlResult.PAIRS_OF_EACH_ORDER);
        result.detectable()
                .ifPresentOrElse(
                        (Detectable of) -> interval(
                                smallest.put("percent", percent(of.effect())), of.ci95(), ControlReport::percent),
                        () -> smallest.putNull("percent").putNull("ci95Percent"));
        JsonText.number(root, "probeCachedTokens", result.probes().cachedTokens());
        JsonText.number(root, "probeTtftMillis", result.probes().ttftMillis());
        ArrayNode broken = root.putArray("broken");
        result.broken().forEach(broken::add);
        ArrayNode warnings = root.putArray("warnings");
        result.warnings().forEach(warnings::add);
        return root;
    }

    private static void interval(ObjectNode node, Interval interval, DoubleUnaryOperator percent) {
        node.putArray("ci95Percent")
                .add(percent.applyAsDouble(interval.low()))
                .add(percent.applyAsDouble(interval.high()));
    }

    /** A log ratio that has a direction. */
    private static String change(Interval log) {
        return String.format(
                Locale.ROOT, "%+.1f to %+.1f %%", 100 * Math.expm1(log.low()), 100 * Math.expm1(log.high()));
    }

    private static String sizes(Interval log) {
        return String.format(Locale.ROOT, "%.1f to %.1f %%", percent(log.low()), percent(log.high()));
    }

    private static String size(double log) {
        return String.format(Locale.ROOT, "%.1f %%", percent(log));
    }

    /** A log ratio that has a size only, as the growth that it is. */
    private static double percent(double log) {
        return 100 * Math.expm1(log);
    }
}
