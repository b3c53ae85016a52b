package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
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
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
            out.println(JsonText.of(document(sweep)));
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
            text.paragraph("  ", level.planned().name() + ": " + level.result().headline() + level.beside());
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
        sweep.doseResponse().flatMap(SweepReport::trend).ifPresent(trend -> text.paragraph("  ", trend));
        sweep.baseline()
                .ifPresent(line -> text.paragraph(
                        "  ",
                        "Baseline alone over pressure: " + slope(line, line.pTwoSided())
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

    /** One sentence, since a level is REAL by either of the two and the other then contradicts nothing. */
    private static Optional<String> trend(DoseResponse sweep) {
        Optional<String> step = sweep.step()
                .map(of -> String.format(
                        Locale.ROOT,
                        "%+.1f %% up to a full cache, %+.1f %% beyond it (p %.2g)",
                        percent(of.below()),
                        percent(of.above()),
                        of.pFalling()));
        Optional<String> line = sweep.fit().map(of -> slope(of, of.pFalling()));
        return switch (sweep.trend()) {
            case STEP -> step.map(of -> "The effect comes with a full cache, as that of kept cache may: " + of + ".");
            case LINE -> line.map(of -> "The effect grows with pressure, as that of kept cache may: " + of + ".");
            case NONE ->
                Optional.of("The effect was not shown to come with pressure, so no level is REAL: "
                        + Stream.of(step, line).flatMap(Optional::stream).collect(Collectors.joining("; ")) + ".");
            case UNASKED -> Optional.empty();
        };
    }

    private static String slope(LinearFit line, double p) {
        return String.format(
                Locale.ROOT, "%+.3f of its logarithm for each unit of ln pressure, p %.2g", line.slope(), p);
    }

    private static boolean isPlacebo(Sweep.Level level) {
        return level.planned().placebo()
                || level.pressure().ratio().orElse(Double.MAX_VALUE) <= DoseResponse.MOST_PLACEBO_PRESSURE;
    }

    private static String placebo(Sweep.Level level) {
        double delta = level.result().header().criteria().delta();
        return level.dose()
                .map(dose -> String.format(
                        Locale.ROOT,
                        "Placebo, %s: %+.1f %%, 90 %% interval (two one-sided tests at 5 %%) %+.1f to %+.1f %%, %s"
                                + " %+.1f to %+.1f %%. %s",
                        level.planned().name(),
                        percent(dose.effect()),
                        percent(dose.ci90().low()),
                        percent(dose.ci90().high()),
                        dose.ci90().within(delta) ? "inside" : "NOT inside",
                        percent(-delta),
                        percent(delta),
                        answer(dose, delta)))
                .orElse("Placebo, " + level.planned().name() + ": no interval.");
    }

    private static String answer(DoseResponse.Level placebo, double delta) {
        return switch (placebo.asked(delta)) {
            case NOTHING -> "Nothing that matters happens with memory to spare.";
            case GAIN -> "Another cause than kept cache is at work, so no level is REAL.";
            case UNKNOWN ->
                String.format(
                        Locale.ROOT,
                        "It cannot tell: a gain of another cause may be up to %+.1f %% (a bound at 1 %%), which takes"
                                + " REAL only from levels whose interval does not lie beyond that. %s",
                        percent(placebo.mostGain()),
                        placebo.pairsToTell(delta).isPresent()
                                ? "Run about " + placebo.pairsToTell(delta).getAsInt()
                                        + " pairs of each order there, or more cycles a leg."
                                : "Run more cycles a leg there.");
        };
    }

    static ObjectNode document(Sweep sweep) {
        ObjectNode root = JsonText.object().put("format", FORMAT);
        root.put("startedAt", sweep.plan().startedAt());
        ArrayNode levels = root.putArray("levels");
        for (Sweep.Level level : sweep.levels()) {
            level(levels.addObject(), level);
        }
        sweep.doseResponse()
                .flatMap(DoseResponse::fit)
                .ifPresent(line -> line(root.putObject("effectOverLnPressure"), line));
        sweep.doseResponse().ifPresent(doses -> root.put("trend", doses.trend().name()));
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
        if (isPlacebo(level)) {
            level.dose()
                    .ifPresent(dose -> node.put(
                            "placeboAnswer",
                            dose.asked(result.header().criteria().delta()).name()));
        }
        node.put("alone", level.alone().headline());
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
