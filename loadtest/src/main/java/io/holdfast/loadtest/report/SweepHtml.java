package io.holdfast.loadtest.report;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.LinearFit;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.report.PlainVerdict.Takeaway;
import io.holdfast.loadtest.sweep.Replicates;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.Sweep.Level;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * A sweep as one page that needs nothing else. It begins with the answer over all levels; each level has the answer
 * that its own page would give.
 */
public final class SweepHtml {
    private final Sweep sweep;
    private final String folder;
    private final Html page;
    private final double delta;

    private SweepHtml(Sweep sweep, String folder) {
        this.sweep = sweep;
        this.folder = folder;
        this.page = Html.page("Sweep over " + parameters(sweep) + " - load test");
        this.delta = header().criteria().delta();
    }

    /**
     * The whole page of a sweep with at least one level.
     *
     * @param folder the name of the sweep's folder, for the commands at the end
     */
    public static String of(Sweep sweep, String folder) {
        return new SweepHtml(sweep, folder).page();
    }

    private static String parameters(Sweep sweep) {
        return sweep.plan().levels().stream()
                .flatMap(level -> level.values().keySet().stream())
                .distinct()
                .sorted()
                .collect(Collectors.joining(" and "));
    }

    private RunHeader header() {
        return sweep.levels().getFirst().result().header();
    }

    private String page() {
        answer();
        levels();
        figures();
        table();
        notes();
        environment();
        again();
        return page.end();
    }

    private long count(Finding finding) {
        return sweep.levels().stream()
                .filter(level -> level.result().verdict().finding() == finding)
                .count();
    }

    private Optional<String> objection() {
        return sweep.doseResponse().flatMap(dose -> dose.refutation(delta));
    }

    /** Returns true if the levels bear out that kept cache is the cause: they could have refuted it, and did not. */
    private boolean isBorneOut() {
        return sweep.doseResponse()
                .filter(dose -> dose.refutation(delta).isEmpty() && dose.lacks().isEmpty())
                .isPresent();
    }

    /** Returns what the placebo leaves open, if anything. */
    private Optional<String> caution() {
        return sweep.doseResponse().flatMap(dose -> dose.caution(delta));
    }

    private void answer() {
        long real = count(Finding.REAL);
        int all = sweep.levels().size();
        String text;
        String mood;
        if (count(Finding.INVALID) > 0) {
            text = "Some levels are void, so the sweep is not whole.";
            mood = "bad";
        } else if (count(Finding.HARMFUL) > 0) {
            text = "At " + count(Finding.HARMFUL) + " of " + all + " levels it did harm.";
            mood = "bad";
        } else if (real > 0 && isBorneOut()) {
            text = "Yes, where memory is short: at " + real + " of " + all + " levels.";
            mood = "good";
        } else if (real > 0) {
            text = "Yes, at " + real + " of " + all + " levels.";
            mood = "good";
        } else if (objection().isPresent()) {
            text = "Not shown: what looks like a gain does not follow memory pressure.";
            mood = "open";
        } else if (count(Finding.INCONCLUSIVE) > 0) {
            text = "This sweep cannot tell.";
            mood = "open";
        } else {
            text = "No. It helped at none of " + all + " levels.";
            mood = "nothing";
        }
        page.line("<header class=\"" + mood + "\">");
        page.line("<p class=\"question\">Does holding help, and where? A sweep over " + Html.escaped(parameters(sweep))
                + "</p>");
        page.line("<h1 id=\"verdict\">" + Html.escaped(text) + "</h1>");
        page.line("<div class=\"cards\">");
        Level most = strongest();
        Takeaway effect = PlainVerdict.takeaway(most.result());
        page.card(
                "card main",
                new Takeaway(
                        "Where the difference is largest, " + most.planned().name(), effect.value(), effect.beside()));
        page.card("card", PlainVerdict.naive(most.result()));
        page.card("card", placebo());
        page.line("</div>");
        page.line("<p id=\"sure\"><b>How sure?</b> " + Html.prose(sure()) + "</p>");
        page.line("</header>");
    }

    /** A gain or a harm. */
    private Level strongest() {
        return sweep.levels().stream()
                .max(Comparator.comparingDouble(
                        level -> Math.abs(level.result().estimate().effect().orElse(0))))
                .orElseThrow();
    }

    private Takeaway placebo() {
        return sweep.levels().stream()
                .filter(this::isPlacebo)
                .findFirst()
                .map(level -> new Takeaway(
                        "With memory to spare",
                        level.dose()
                                .map(dose -> switch (dose.asked(delta)) {
                                    case NOTHING -> "none that matters";
                                    case UNKNOWN -> "not known well enough";
                                    case GAIN -> change(level);
                                })
                                .orElse("unknown"),
                        level.planned().name() + "; measured " + change(level)
                                + level.result()
                                        .estimate()
                                        .ci95()
                                        .map(ci -> ", " + PlainVerdict.interval(ci))
                                        .orElse("")))
                .orElseGet(() -> new Takeaway("With memory to spare", "not measured", "no level has it"));
    }

    private boolean isPlacebo(Level level) {
        return level.planned().placebo()
                || level.pressure().ratio().orElse(Double.MAX_VALUE) <= DoseResponse.MOST_PLACEBO_PRESSURE;
    }

    private static String change(Level level) {
        OptionalDouble effect = level.result().estimate().effect();
        return effect.isPresent() ? PlainVerdict.change(effect.getAsDouble()) : "unknown";
    }

    private String sure() {
        String p = pOfTrend().stream()
                .mapToObj(value -> String.format(Locale.ROOT, " (p %.2g over %d levels)", value, doses()))
                .findFirst()
                .orElse("");
        if (objection().isPresent()) {
            return "Not sure: " + objection().get() + ", so another cause than kept cache is likely.";
        }
        if (isBorneOut() && caution().isPresent()) {
            return "Fairly sure. The effect is there where memory is short" + p + ". "
                    + caution().get() + " Each level was judged by itself, and corrected for how many there are.";
        }
        if (isBorneOut()) {
            boolean clear = pOfTrend().orElse(1) <= 0.01;
            return (clear ? "Sure." : "Fairly sure.") + " The effect is there where memory is short" + p
                    + " and is gone with memory to spare; each level was judged by itself, and corrected for how many"
                    + " there are.";
        }
        return "Each level was judged by itself, and corrected for how many there are; whether the effect follows"
                + " memory pressure this sweep cannot show"
                + sweep.doseResponse()
                        .flatMap(dose -> dose.lacks().stream().findFirst())
                        .map(lack -> ": " + Character.toLowerCase(lack.charAt(0)) + lack.substring(1))
                        .orElse(".");
    }

    /** Returns the p value of the step, or of the line where there is no step. */
    private OptionalDouble pOfTrend() {
        return sweep.doseResponse()
                .flatMap(dose -> switch (dose.trend()) {
                    case STEP -> dose.step().map(DoseResponse.Step::pFalling);
                    case LINE, NONE, UNASKED -> dose.fit().map(LinearFit::pFalling);
                })
                .map(OptionalDouble::of)
                .orElse(OptionalDouble.empty());
    }

    private int doses() {
        return sweep.doseResponse().map(dose -> dose.levels().size()).orElse(0);
    }

    private void levels() {
        page.section("Every level");
        page.note("Change of time to first token by holding. Left of zero is faster. The grey band is too small to"
                + " matter ("
                + PlainVerdict.interval(new Interval(-delta, delta)) + "); bars are 95 % intervals.");
        new IntervalRows(sweep.levels().stream().map(SweepHtml::row).toList(), delta).on(page);
        page.endSection();
    }

    private static IntervalRows.Row row(Level level) {
        Result result = level.result();
        return new IntervalRows.Row(
                level.planned().name(),
                result.headline()
                        + (level.pressure().ratio().isPresent()
                                ? String.format(
                                        Locale.ROOT,
                                        "; memory pressure %.2f",
                                        level.pressure().ratio().getAsDouble())
                                : ""),
                PlainVerdict.word(result),
                result.estimate().effect(),
                result.estimate().ci95(),
                result.verdict().finding() == Finding.REAL);
    }

    private void figures() {
        page.section("What it does over memory pressure");
        page.note("Memory pressure is what a leg asks of the cache, with a shared prefix counted once, over what the"
                + " cache holds: up to " + DoseResponse.MOST_PLACEBO_PRESSURE + " nothing has to be evicted.");
        List<Level> known = sweep.levels().stream()
                .filter(level -> level.pressure().ratio().isPresent())
                .sorted(Comparator.comparingDouble(
                        level -> level.pressure().ratio().getAsDouble()))
                .toList();
        if (known.size() < 2) {
            page.line("<p class=\"unknown\">unknown: the server does not tell how much its cache holds</p>");
        } else {
            page.line("<div class=\"figures\">");
            doseResponse(known);
            bothArms(known);
            page.line("</div>");
        }
        page.endSection();
    }

    private static double pressure(Level level) {
        return level.pressure().ratio().orElseThrow();
    }

    private void doseResponse(List<Level> known) {
        double[] ends = known.stream()
                .flatMapToDouble(level -> DoubleStream.concat(
                        level.result().estimate().effect().stream(),
                        level.result().estimate().ci95().stream()
                                .flatMapToDouble(ci -> DoubleStream.of(ci.low(), ci.high()))))
                .map(log -> 100 * Math.expm1(log))
                .sorted()
                .toArray();
        double least = Math.min(-5, ends.length == 0 ? 0 : ends[0]);
        double most = Math.max(5, ends.length == 0 ? 0 : ends[ends.length - 1]);
        double room = 0.06 * (most - least);
        Svg svg = over(known, "Effect over memory pressure", least - room, most + room)
                .yAxis("effect of holding, %", "%+.0f")
                .xAxis("memory pressure", "%.1f");
        svg.line("zero", leastPressure(known), 0, mostPressure(known), 0);
        for (Level level : known) {
            double x = pressure(level);
            level.result()
                    .estimate()
                    .ci95()
                    .ifPresent(
                            ci -> svg.line("whisker", x, 100 * Math.expm1(ci.low()), x, 100 * Math.expm1(ci.high())));
            level.result()
                    .estimate()
                    .effect()
                    .ifPresent(log -> svg.mark(
                            "pinned",
                            x,
                            100 * Math.expm1(log),
                            5,
                            level.planned().name() + ": " + change(level)));
        }
        page.figure(
                "Effect over memory pressure",
                known.stream()
                                .map(level -> String.format(Locale.ROOT, "%.2f: %s", pressure(level), change(level)))
                                .collect(Collectors.joining("; "))
                        + ". What kept cache saves has to grow with pressure and be gone at the left.",
                Optional.of(svg.end()));
    }

    private void bothArms(List<Level> known) {
        double most = known.stream()
                .flatMapToDouble(level -> DoubleStream.concat(
                        level.result().baseline().ttftMillis().stream(), level.result().pinned().ttftMillis().stream()))
                .max()
                .orElse(1);
        Svg svg = over(known, "Median time to first token of both arms over memory pressure", 0, most * 1.08)
                .yAxis("time to first token, ms", "%.0f")
                .xAxis("memory pressure", "%.1f");
        for (Level level : known) {
            for (Arm arm : Arm.values()) {
                (arm == Arm.PINNED ? level.result().pinned() : level.result().baseline())
                        .ttftMillis()
                        .ifPresent(millis -> svg.mark(
                                arm.name().toLowerCase(Locale.ROOT),
                                pressure(level),
                                millis,
                                5,
                                level.planned().name() + String.format(Locale.ROOT, ": %.1f ms", millis)));
            }
        }
        page.figure(
                "Both arms",
                "Round marks are the medians of baseline probes, diamonds those of pinned ones. "
                        + sweep.baseline()
                                .map(SweepHtml::baseline)
                                .orElse("Whether the baseline becomes slower with pressure is unknown."),
                Optional.of(svg.end()));
    }

    private static String baseline(LinearFit line) {
        return line.slope() > 0 && line.pTwoSided() < 0.05
                ? "The baseline becomes slower with pressure, so there is something to win."
                : "The baseline was not shown to become slower with pressure.";
    }

    private static Svg over(List<Level> known, String label, double least, double most) {
        return Svg.logarithmic(label, leastPressure(known), mostPressure(known), least, most);
    }

    private static double leastPressure(List<Level> known) {
        return pressure(known.getFirst()) * 0.9;
    }

    private static double mostPressure(List<Level> known) {
        return pressure(known.getLast()) * 1.1;
    }

    private void table() {
        page.section("All levels in numbers");
        page.table(
                "All levels",
                List.of(
                        "level",
                        "pressure",
                        "counted in full",
                        "baseline",
                        "pinned",
                        "effect",
                        "95 % interval",
                        "finding"),
                sweep.levels().stream()
                        .map(level -> List.of(
                                level.planned().name() + (isPlacebo(level) ? " (placebo)" : ""),
                                PlainVerdict.number(level.pressure().ratio(), "%.2f"),
                                PlainVerdict.number(level.pressure().naiveRatio(), "%.2f"),
                                PlainVerdict.number(level.result().baseline().ttftMillis(), "%.1f ms"),
                                PlainVerdict.number(level.result().pinned().ttftMillis(), "%.1f ms"),
                                change(level),
                                level.result()
                                        .estimate()
                                        .ci95()
                                        .map(PlainVerdict::interval)
                                        .orElse("none"),
                                level.result().verdict().headline())));
        page.list(sweep.levels().stream()
                .map(level -> level.result().verdict())
                .map(verdict -> verdict.headline() + ": " + PlainVerdict.meaning(verdict) + ".")
                .distinct()
                .toList());
        page.endSection();
    }

    private void notes() {
        List<String> notes = new ArrayList<>(sweep.notes());
        sweep.replicates().stream().map(SweepHtml::replicates).forEach(notes::add);
        sweep.cliff().ifPresent(cliff -> notes.add(cliff.text("tokens a second")));
        // Most are the same at every level.
        Map<String, List<String>> by = new LinkedHashMap<>();
        for (Level level : sweep.levels()) {
            Stream.concat(level.result().verdict().warnings().stream(), level.result().warnings().stream())
                    .forEach(note -> by.computeIfAbsent(note, key -> new ArrayList<>())
                            .add(level.planned().name()));
        }
        by.forEach((note, levels) -> notes.add(
                (levels.size() == sweep.levels().size() ? "At every level: " : "At " + String.join("; ", levels) + ": ")
                        + note));
        page.section("What to know before believing it");
        if (notes.isEmpty()) {
            page.line("<p>Nothing: every gate held and nothing was odd.</p>");
        } else {
            page.list(notes);
        }
        page.endSection();
    }

    private static String replicates(Replicates same) {
        return String.format(
                Locale.ROOT,
                "%s was measured %d times, and servers lie %.1f %% apart in baseline and %.1f %% in pinned legs: less"
                        + " between levels is no finding.",
                same.configuration(),
                same.count(),
                100 * same.baselineSpread(),
                100 * same.pinnedSpread());
    }

    private void environment() {
        RunHeader header = header();
        page.section("How it was measured");
        page.line("<dl>");
        page.entry("server", header.unit());
        page.entry("engine", header.engine().text());
        page.entry("pinned legs", header.holder());
        page.entry("workload of the first level", header.workload().name());
        page.entry(
                "plan",
                header.plan().lives().size() + " lives at each of "
                        + sweep.plan().levels().size() + " levels; seed " + header.seed());
        page.entry("begun", sweep.plan().startedAt());
        page.line("</dl>");
        page.endSection();
    }

    private void again() {
        page.section("To do it again");
        Map<String, List<String>> values = new TreeMap<>();
        sweep.plan()
                .levels()
                .forEach(level -> level.values()
                        .forEach((name, value) -> values.computeIfAbsent(name, key -> new ArrayList<>())
                                .add(value)));
        RunCommand.of(header()).ifPresent(command -> {
            page.note("The same levels, each with the same requests in the same order; what a level changes is left out"
                    + " of the rest:");
            page.line("<pre>" + Html.escaped(RunCommand.sweep(command, values)) + "</pre>");
        });
        page.note("The same answer from the same data, and the page of one level:");
        String path = RunCommand.quoted(folder);
        page.line("<pre>holdfast loadtest report " + Html.escaped(path) + "\nholdfast loadtest report "
                + Html.escaped(RunCommand.quoted(
                        folder + "/" + sweep.levels().getFirst().planned().journal()))
                + "</pre>");
        page.endSection();
    }
}
