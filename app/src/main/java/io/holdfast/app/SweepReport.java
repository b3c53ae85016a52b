package io.holdfast.app;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.LinearFit;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.sweep.Pressure;
import io.holdfast.loadtest.sweep.Replicates;
import io.holdfast.loadtest.sweep.Sweep;
import java.io.PrintWriter;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** What the levels of a sweep showed, each by itself and all together, for people and as JSON. */
final class SweepReport {
    private static final int FORMAT = 1;
    private static final String UNIT = "tokens a second";

    private SweepReport() {}

    static int code(Sweep sweep) {
        if (has(sweep, Finding.INVALID)) {
            return ExitCode.CHECK_FAILED;
        }
        return has(sweep, Finding.INCONCLUSIVE) || !sweep.isWhole() ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    private static boolean has(Sweep sweep, Finding finding) {
        return sweep.levels().stream()
                .anyMatch(level -> level.result().verdict().finding() == finding);
    }

    static void print(Sweep sweep, boolean json, PrintWriter out) {
        if (json) {
            out.println(ResultReport.text(document(sweep)));
            out.flush();
            return;
        }
        TerminalText text = TerminalText.plain(out);
        text.blank();
        text.line("Sweep, " + sweep.levels().size() + " of "
                + sweep.plan().levels().size() + " levels");
        int names = sweep.levels().stream()
                .mapToInt(level -> level.planned().name().length())
                .max()
                .orElse(0);
        text.line("  " + " ".repeat(names) + "  pressure (naive)   baseline     pinned      effect");
        for (Sweep.Level level : sweep.levels()) {
            text.line(row(level, names));
        }
        text.blank();
        for (Sweep.Level level : sweep.levels()) {
            text.paragraph("  ", level.planned().name() + ": " + level.result().headline());
            text.paragraph("    ", level.result().verdict().reason());
        }
        text.blank();
        together(text, sweep);
        out.flush();
    }

    private static String row(Sweep.Level level, int names) {
        Result result = level.result();
        return String.format(
                Locale.ROOT,
                "  %-" + names + "s %9s %-8s %10s %10s %11s",
                level.planned().name(),
                shown("%.2f", level.pressure().ratio()),
                level.pressure().naiveRatio().isPresent()
                        ? "(" + shown("%.2f", level.pressure().naiveRatio()) + ")"
                        : "",
                shown("%.1f ms", result.baseline().ttftMillis()),
                shown("%.1f ms", result.pinned().ttftMillis()),
                shown("%+.1f %%", result.estimate().effectPercent()));
    }

    private static void together(TerminalText text, Sweep sweep) {
        sweep.doseResponse()
                .flatMap(DoseResponse::step)
                .ifPresent(step -> text.paragraph(
                        "  ",
                        String.format(
                                Locale.ROOT,
                                "Effect up to a full cache %+.1f %%, beyond it %+.1f %% (p %.2g that it does not"
                                        + " grow).",
                                percent(step.below()),
                                percent(step.above()),
                                step.pFalling())));
        sweep.doseResponse()
                .flatMap(DoseResponse::fit)
                .ifPresent(line -> text.paragraph("  ", "Effect over pressure: " + slope(line) + " (it has to fall)."));
        sweep.baseline()
                .ifPresent(line -> text.paragraph(
                        "  ",
                        "Baseline alone over pressure: " + slope(line)
                                + " (it has to rise before anything can be won)."));
        for (Sweep.Level level : sweep.levels()) {
            if (isPlacebo(level)) {
                text.paragraph("  ", placebo(level));
            }
        }
        for (Replicates same : sweep.replicates()) {
            text.paragraph(
                    "  ",
                    String.format(
                            Locale.ROOT,
                            "%s was measured %d times, and servers lie %.1f %% apart in baseline and %.1f %% in pinned"
                                    + " legs: less between levels is no finding.",
                            same.configuration(),
                            same.count(),
                            100 * same.baselineSpread(),
                            100 * same.pinnedSpread()));
        }
        sweep.cliff().ifPresent(cliff -> text.paragraph("  ", cliff.text(UNIT)));
        sweep.notes().forEach(note -> text.paragraph("  note: ", note));
    }

    private static String slope(LinearFit line) {
        return String.format(
                Locale.ROOT,
                "%+.3f of its logarithm for each unit of ln pressure, p %.2g",
                line.slope(),
                line.pTwoSided());
    }

    private static boolean isPlacebo(Sweep.Level level) {
        return level.planned().placebo()
                || level.pressure().ratio().orElse(Double.MAX_VALUE) <= DoseResponse.MOST_PLACEBO_PRESSURE;
    }

    private static String placebo(Sweep.Level level) {
        double delta = level.result().header().criteria().delta();
        return level.result()
                .estimate()
                .ci90()
                .map(ci -> String.format(
                        Locale.ROOT,
                        "Placebo, %s: 90 %% interval (two one-sided tests at 5 %%) %+.1f to %+.1f %%, %s %+.1f to %+.1f"
                                + " %%.",
                        level.planned().name(),
                        percent(ci.low()),
                        percent(ci.high()),
                        ci.within(delta) ? "inside" : "NOT inside",
                        percent(-delta),
                        percent(delta)))
                .orElse("Placebo, " + level.planned().name() + ": no interval.");
    }

    static ObjectNode document(Sweep sweep) {
        ObjectNode root = ResultReport.object().put("format", FORMAT);
        root.put("startedAt", sweep.plan().startedAt());
        ArrayNode levels = root.putArray("levels");
        for (Sweep.Level level : sweep.levels()) {
            level(levels.addObject(), level);
        }
        sweep.doseResponse()
                .flatMap(DoseResponse::fit)
                .ifPresent(line -> line(root.putObject("effectOverLnPressure"), line));
        sweep.baseline().ifPresent(line -> line(root.putObject("baselineOverLnPressure"), line));
        ArrayNode replicates = root.putArray("replicates");
        sweep.replicates()
                .forEach(same -> replicates
                        .addObject()
                        .put("configuration", same.configuration())
                        .put("count", same.count())
                        .put("baselineSpreadPercent", 100 * same.baselineSpread())
                        .put("pinnedSpreadPercent", 100 * same.pinnedSpread()));
        sweep.cliff()
                .ifPresent(cliff -> root.putObject("cliff")
                        .put("before", cliff.before().level())
                        .put("after", cliff.after().level())
                        .put("recommended", cliff.recommended().level())
                        .put("text", cliff.text(UNIT)));
        ArrayNode notes = root.putArray("notes");
        sweep.notes().forEach(notes::add);
        return root;
    }

    private static void level(ObjectNode node, Sweep.Level level) {
        Result result = level.result();
        Pressure pressure = level.pressure();
        ObjectNode values = node.putObject("values");
        level.planned().values().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(value -> values.put(value.getKey(), value.getValue()));
        node.put("journal", level.planned().journal())
                .put("placebo", isPlacebo(level))
                .put("demandTokens", pressure.demand())
                .put("naiveDemandTokens", pressure.naiveDemand());
        pressure.capacity().ifPresent(tokens -> node.put("capacityTokens", tokens));
        pressure.claimed().ifPresent(tokens -> node.put("claimedCapacityTokens", tokens));
        known(node, "pressure", pressure.ratio());
        known(node, "naivePressure", pressure.naiveRatio());
        known(node, "tokensASecond", level.tokensASecond());
        known(node, "baselineTtftMillis", result.baseline().ttftMillis());
        known(node, "pinnedTtftMillis", result.pinned().ttftMillis());
        Estimate estimate = result.estimate();
        known(node, "effectPercent", estimate.effectPercent());
        node.set("verdict", ResultJson.verdict(result.verdict()));
    }

    private static void line(ObjectNode node, LinearFit line) {
        node.put("slope", line.slope())
                .put("slopeSe", line.slopeSe())
                .put("intercept", line.intercept())
                .put("df", line.df())
                .put("p", line.pTwoSided());
    }

    private static void known(ObjectNode node, String key, OptionalDouble value) {
        value.ifPresent(number -> node.put(key, number));
    }

    private static double percent(double log) {
        return 100 * Math.expm1(log);
    }

    private static String shown(String format, OptionalDouble value) {
        return value.isPresent() ? String.format(Locale.ROOT, format, value.getAsDouble()) : "unknown";
    }
}
