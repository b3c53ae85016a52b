package io.holdfast.loadtest.report;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.LinearFit;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.report.Document.Answer;
import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Card;
import io.holdfast.loadtest.report.Document.Change;
import io.holdfast.loadtest.report.Document.Fact;
import io.holdfast.loadtest.report.Document.Intervals;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
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
import java.util.stream.Stream;

/**
 * A sweep for people: in full for a page, in brief for a terminal. The page begins with the answer over all levels; each
 * level has the answer that its own page would give.
 */
public final class SweepDocument {
    /** Unit of what a server serves, in which a cliff is told. */
    public static final String RATE = "tokens a second";

    private final Sweep sweep;
    private final double delta;
    private final Document.Builder out;

    private SweepDocument(Sweep sweep) {
        this.sweep = sweep;
        this.delta = header().criteria().delta();
        this.out = Document.titled("Sweep over " + parameters() + " - load test");
    }

    /**
     * Returns all that is known of a sweep with at least one level.
     *
     * @param folder the name of the sweep's folder, for the commands at the end
     */
    public static Document page(Sweep sweep, String folder) {
        SweepDocument page = new SweepDocument(sweep);
        page.answer();
        page.intervals();
        page.figures();
        page.out.heading(3, "All levels in numbers").add(levels(sweep));
        page.out.items(sweep.levels().stream()
                .map(level -> level.result().verdict())
                .map(verdict -> verdict.headline() + ": " + PlainVerdict.meaning(verdict) + ".")
                .distinct()
                .toList());
        page.notes();
        page.environment();
        page.again(folder);
        return page.out.build();
    }

    /** Returns the levels in numbers, the verdict of each, and what they say together. */
    public static Document brief(Sweep sweep) {
        Document.Builder out = Document.titled("Sweep");
        out.lead("Sweep, " + sweep.levels().size() + " of "
                + sweep.plan().levels().size() + " levels");
        out.add(levels(sweep));
        for (Level level : sweep.levels()) {
            out.say(level.planned().name() + ":", level.result().headline() + level.beside());
            out.items(List.of(level.result().verdict().reason()));
        }
        together(sweep).forEach(out::say);
        return out.build();
    }

    private static Document.Table levels(Sweep sweep) {
        return new Document.Table(
                "All levels",
                List.of("level", "pressure", "(naive)", "baseline", "pinned", "effect"),
                sweep.levels().stream().map(SweepDocument::row).toList());
    }

    private static List<String> row(Level level) {
        return List.of(
                level.planned().name() + (level.isPlacebo() ? " (placebo)" : ""),
                Shown.number("%.2f", level.pressure().ratio()),
                Shown.number("(%.2f)", level.pressure().naiveRatio(), ""),
                Shown.number("%.1f ms", level.result().baseline().ttftMillis()),
                Shown.number("%.1f ms", level.result().pinned().ttftMillis()),
                change(level));
    }

    private String parameters() {
        return sweep.plan().levels().stream()
                .flatMap(level -> level.values().keySet().stream())
                .distinct()
                .sorted()
                .collect(Collectors.joining(" and "));
    }

    private RunHeader header() {
        return sweep.levels().getFirst().result().header();
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
        } else if (real > 0) {
            text = (isBorneOut() ? "Yes, where memory is short: at " : "Yes, at ") + real + " of " + all + " levels.";
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
        Level most = sweep.levels().stream()
                .max(Comparator.comparingDouble(
                        level -> Math.abs(level.result().estimate().effect().orElse(0))))
                .orElseThrow();
        Card effect = PlainVerdict.takeaway(most.result());
        out.add(new Answer(
                mood,
                "Does holding help, and where? A sweep over " + parameters(),
                text,
                List.of(
                        new Card(
                                "Where the difference is largest, "
                                        + most.planned().name(),
                                effect.value(),
                                effect.beside()),
                        PlainVerdict.cards(most.result()).get(1),
                        placebo()),
                sure(),
                List.of()));
    }

    private Card placebo() {
        String name = "With memory to spare";
        return sweep.levels().stream()
                .filter(Level::isPlacebo)
                .findFirst()
                .map(level -> new Card(
                        name,
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
                                        .map(ci -> ", " + Shown.interval(ci))
                                        .orElse("")))
                .orElseGet(() -> new Card(name, "not measured", "no level has it"));
    }

    private static String change(Level level) {
        return Shown.change(level.result().estimate().effect());
    }

    private String sure() {
        String each = " Each level was judged separately, with a correction for the number of levels.";
        if (objection().isPresent()) {
            return "Not sure: " + objection().get() + ", so another cause than kept cache is likely.";
        }
        if (isBorneOut()) {
            boolean clear = caution().isEmpty() && pOfTrend().orElse(1) <= 0.01;
            return Stream.of(
                            Optional.of(clear ? "Sure." : "Fairly sure."),
                            sweep.doseResponse().flatMap(SweepDocument::trend),
                            caution())
                    .flatMap(Optional::stream)
                    .collect(Collectors.joining(" ", "", each));
        }
        return "Whether the effect follows memory pressure this sweep cannot show"
                + sweep.doseResponse()
                        .flatMap(dose -> dose.lacks().stream().findFirst())
                        .map(lack -> ": " + Character.toLowerCase(lack.charAt(0)) + lack.substring(1))
                        .orElse(".")
                + each;
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

    private void intervals() {
        out.heading(3, "Every level");
        out.note("Change of time to first token by holding. Left of zero is faster. The grey band is too small to"
                + " matter (" + Shown.interval(new Interval(-delta, delta)) + "); bars are 95 % intervals.");
        out.add(new Intervals(
                sweep.levels().stream().map(SweepDocument::interval).toList(), delta));
    }

    private static Change interval(Level level) {
        Result result = level.result();
        return new Change(
                level.planned().name(),
                result.headline()
                        + Shown.number(
                                "; memory pressure %.2f", level.pressure().ratio(), ""),
                PlainVerdict.word(result),
                result.estimate().effect(),
                result.estimate().ci95(),
                "",
                result.verdict().finding() == Finding.REAL);
    }

    private void figures() {
        out.heading(3, "What it does over memory pressure");
        out.note("Memory pressure is what a leg asks of the cache, with a shared prefix counted once, over what the"
                + " cache holds: up to " + DoseResponse.MOST_PLACEBO_PRESSURE + " nothing has to be evicted.");
        List<Level> known = sweep.levels().stream()
                .filter(level -> level.pressure().ratio().isPresent())
                .sorted(Comparator.comparingDouble(SweepDocument::pressure))
                .toList();
        if (known.size() < 2) {
            out.say("The pressure is unknown: the server does not tell how much its cache holds.");
            return;
        }
        Axis pressure = Axis.logarithmic(
                "memory pressure", pressure(known.getFirst()) * 0.9, pressure(known.getLast()) * 1.1, "%.1f");
        out.add(effects(known, pressure));
        out.add(arms(known, pressure));
    }

    private static double pressure(Level level) {
        return level.pressure().ratio().orElseThrow();
    }

    private static Plot effects(List<Level> known, Axis pressure) {
        List<Series> series = new ArrayList<>();
        List<Point> effects = new ArrayList<>();
        for (Level level : known) {
            double x = pressure(level);
            level.result()
                    .estimate()
                    .ci95()
                    .ifPresent(ci -> series.add(new Series(
                            "",
                            "whisker",
                            Shape.LINE,
                            List.of(
                                    new Point(x, Shown.growth(ci.low()), ""),
                                    new Point(x, Shown.growth(ci.high()), "")))));
            level.result()
                    .estimate()
                    .effect()
                    .ifPresent(log -> effects.add(
                            new Point(x, Shown.growth(log), level.planned().name() + ": " + Shown.change(log))));
        }
        series.add(new Series("pinned", "pinned", Shape.MARKS, effects));
        double[] ends = series.stream()
                .flatMap(each -> each.points().stream())
                .mapToDouble(Point::y)
                .sorted()
                .toArray();
        double least = Math.min(-5, ends.length == 0 ? 0 : ends[0]);
        double most = Math.max(5, ends.length == 0 ? 0 : ends[ends.length - 1]);
        double room = 0.06 * (most - least);
        return new Plot(
                "Effect over memory pressure",
                known.stream()
                                .map(level -> String.format(Locale.ROOT, "%.2f: %s", pressure(level), change(level)))
                                .collect(Collectors.joining("; "))
                        + ". What kept cache saves has to grow with pressure and be gone at the left.",
                pressure,
                Axis.linear("effect of holding, %", least - room, most + room, "%+.0f"),
                series);
    }

    private Plot arms(List<Level> known, Axis pressure) {
        List<Series> series = Stream.of(Arm.values())
                .map(arm -> new Series(
                        arm.name().toLowerCase(Locale.ROOT),
                        arm.name().toLowerCase(Locale.ROOT),
                        Shape.MARKS,
                        known.stream()
                                .flatMap(level -> median(level, arm).stream()
                                        .mapToObj(millis -> new Point(
                                                pressure(level),
                                                millis,
                                                level.planned().name()
                                                        + String.format(Locale.ROOT, ": %.1f ms", millis))))
                                .toList()))
                .toList();
        double most = series.stream()
                .flatMap(each -> each.points().stream())
                .mapToDouble(Point::y)
                .max()
                .orElse(1);
        return new Plot(
                "Both arms",
                "Round marks are the medians of baseline probes, diamonds those of pinned ones. "
                        + sweep.baseline()
                                .map(line -> line.slope() > 0 && line.pTwoSided() < 0.05
                                        ? "The baseline becomes slower with pressure, so there is something to win."
                                        : "The baseline was not shown to become slower with pressure.")
                                .orElse("Whether the baseline becomes slower with pressure is unknown."),
                pressure,
                Axis.linear("time to first token, ms", 0, most * 1.08, "%.0f"),
                series);
    }

    private static OptionalDouble median(Level level, Arm arm) {
        return (arm == Arm.PINNED ? level.result().pinned() : level.result().baseline()).ttftMillis();
    }

    private void notes() {
        List<String> notes = together(sweep);
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
        out.heading(3, "What to know before believing it");
        if (notes.isEmpty()) {
            out.say("Nothing is left to look into: every gate held and nothing was odd.");
        }
        out.items(notes);
    }

    /** Returns what the levels say together, a sentence or two each. */
    private static List<String> together(Sweep sweep) {
        List<String> all = new ArrayList<>();
        sweep.doseResponse().flatMap(SweepDocument::trend).ifPresent(all::add);
        sweep.baseline()
                .ifPresent(line -> all.add("Baseline alone over pressure: " + slope(line, line.pTwoSided())
                        + " (it has to rise before anything can be won)."));
        sweep.levels().stream()
                .filter(Level::isPlacebo)
                .map(SweepDocument::placebo)
                .forEach(all::add);
        sweep.replicates()
                .forEach(same -> all.add(String.format(
                        Locale.ROOT,
                        "%s was measured %d times, and servers lie %.1f %% apart in baseline and %.1f %% in pinned"
                                + " legs: less between levels is no finding.",
                        same.configuration(),
                        same.count(),
                        100 * same.baselineSpread(),
                        100 * same.pinnedSpread())));
        sweep.cliff().ifPresent(cliff -> all.add(cliff.text(RATE)));
        all.addAll(sweep.notes());
        return all;
    }

    /** Returns one sentence, since a level is REAL by either of the two and the other then contradicts nothing. */
    private static Optional<String> trend(DoseResponse sweep) {
        Optional<String> step = sweep.step()
                .map(of -> String.format(
                        Locale.ROOT,
                        "%s up to a full cache, %s beyond it (p %.2g)",
                        Shown.change(of.below()),
                        Shown.change(of.above()),
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

    private static String placebo(Level level) {
        double delta = level.result().header().criteria().delta();
        return "Placebo, " + level.planned().name() + ": "
                + level.dose()
                        .map(dose -> Shown.change(dose.effect())
                                + ", 90 % interval (two one-sided tests at 5 %) "
                                + Shown.interval(dose.ci90()) + ", "
                                + (dose.ci90().within(delta) ? "inside " : "NOT inside ")
                                + Shown.interval(new Interval(-delta, delta)) + ". " + answer(dose, delta))
                        .orElse("no interval.");
    }

    private static String answer(DoseResponse.Level placebo, double delta) {
        return switch (placebo.asked(delta)) {
            case NOTHING -> "Nothing that matters happens with memory to spare.";
            case GAIN -> "Another cause than kept cache is at work, so no level is REAL.";
            case UNKNOWN ->
                "It cannot tell: a gain of another cause may be up to " + Shown.change(placebo.mostGain())
                        + " (a bound at 1 %), which takes REAL only from levels whose interval does not lie beyond"
                        + " that. "
                        + (placebo.pairsToTell(delta).isPresent()
                                ? "Run about " + placebo.pairsToTell(delta).getAsInt()
                                        + " pairs of each order there, or more cycles a leg."
                                : "Run more cycles a leg there.");
        };
    }

    private void environment() {
        RunHeader header = header();
        out.heading(3, "How it was measured");
        out.facts(List.of(
                new Fact("server", header.unit()),
                new Fact("engine", header.engine().text()),
                new Fact("pinned legs", header.holder()),
                new Fact("workload of the first level", header.workload().name()),
                new Fact(
                        "plan",
                        header.plan().lives().size() + " lives at each of "
                                + sweep.plan().levels().size() + " levels; seed " + header.seed()),
                new Fact("begun", sweep.plan().startedAt())));
    }

    private void again(String folder) {
        out.heading(3, "To do it again");
        Map<String, List<String>> values = new TreeMap<>();
        sweep.plan()
                .levels()
                .forEach(level -> level.values()
                        .forEach((name, value) -> values.computeIfAbsent(name, key -> new ArrayList<>())
                                .add(value)));
        RunCommand.of(header())
                .ifPresent(command -> out.note("The same levels, each with the same requests in the same order; what a"
                                + " level changes is left out of the rest:")
                        .pre(RunCommand.sweep(command, values)));
        String first = folder + "/" + sweep.levels().getFirst().planned().journal();
        out.note("The same answer from the same data, and the page of one level:")
                .pre("holdfast loadtest report " + RunCommand.quoted(folder) + "\nholdfast loadtest report "
                        + RunCommand.quoted(first));
    }
}
