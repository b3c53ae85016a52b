package io.holdfast.loadtest.report;

import io.holdfast.evidence.Estimate;
import io.holdfast.loadtest.analysis.Dependence;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.analysis.RunMeasures.Cell;
import io.holdfast.loadtest.analysis.RunMeasures.OfAnArm;
import io.holdfast.loadtest.analysis.Sample;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Tables and sentences that a run shows beside its verdict, as parts of its documents. */
record RunTables(RunMeasures measures, boolean closed) {
    /** Quantities of requests that a reader is shown; the JSON has all. */
    private static final Pattern SHOWN = Pattern.compile("(ttft|itl|tpot|e2e)_(mean|p[0-9.]+)");

    /** Quantities that are shown only where requests come at times of their own, and so may wait for their turn. */
    private static final Pattern SHOWN_OF_ARRIVALS =
            Pattern.compile("((ttft|e2e)_scheduled|schedule_lag)_(mean|p[0-9.]+)");

    private static final List<Arm> ARMS = List.of(Arm.BASELINE, Arm.PINNED);
    private static final List<String> POSITIONS = List.of("first", "second", "third", "fourth");

    private static final String SPREAD_NOTE =
            "A second question, asked besides: it decides nothing, and its interval is not corrected for that."
                    + " Whatever runs second may be steadier for that alone, so both positions stand apart.";
    private static final String LOAD_NOTE =
            "All floods and probes of the legs that count. Latencies are those of all requests of an arm together;"
                    + " rates are those of a leg, averaged over legs. They describe and decide nothing.";

    /** Adds what pinned legs do to the spread of first tokens. */
    void spread(Document.Builder out) {
        out.heading(3, "Does the first token come more evenly?").items(spread()).note(SPREAD_NOTE);
        out.note("Time to first token of probes, in ms:").add(byPosition());
        if (!waves().rows().isEmpty()) {
            out.note("The same by when in its leg a probe came, which a slow first wave would show:")
                    .add(waves());
        }
    }

    /** Adds what requests saw in both arms. */
    void load(Document.Builder out) {
        out.heading(3, "What requests saw").note(LOAD_NOTE).items(notes()).add(load());
    }

    /** The answer on spread, in a sentence or two. */
    List<String> spread() {
        return List.of(
                ratio("the standard deviation of a leg's probes", measures.spread()),
                ratio("the distance from their median to their 99th percentile", measures.tail()));
    }

    private static String ratio(String what, Estimate estimate) {
        return estimate.shown()
                .map(shown -> (shown.ci95().excludesZero()
                                ? shown.effect() < 0 ? "More evenly: " : "Less evenly: "
                                : "No difference was shown: ")
                        + "holding changes " + what + " by " + Shown.change(shown.effect())
                        + ", 95 % interval " + Shown.interval(shown.ci95()) + ".")
                .orElse("Unknown: " + what + " needs two or more probes in a leg that do not take the same time.");
    }

    /** Time to first token by arm and position. */
    Table byPosition() {
        return new Table(
                "Time to first token by arm and position",
                List.of("legs", "n", "mean", "std", "std in a leg", "min", "p50", "p90", "p95", "p99", "max"),
                measures.cells().stream().map(RunTables::row).toList());
    }

    private static List<String> row(Cell cell) {
        List<String> row = new ArrayList<>();
        row.add(name(cell.arm()) + ", " + POSITIONS.get(cell.position() - 1) + " in its life (" + cell.legs()
                + (cell.legs() == 1 ? " leg)" : " legs)"));
        row.addAll(numbers(cell.ttft(), Shown.number("%.2f", cell.legSd(), "")));
        return row;
    }

    private static List<String> numbers(Optional<Sample> sample, String legSd) {
        return sample.map(of -> Stream.concat(
                                Stream.of(Integer.toString(of.count()), millis(of.mean()), millis(of.sd()), legSd),
                                Stream.of(of.min(), of.p50(), of.p90(), of.p95(), of.p99(), of.max())
                                        .map(RunTables::millis))
                        .toList())
                .orElseGet(() -> List.of("0", "", "", "", "", "", "", "", "", ""));
    }

    /** Probes after the first flood of a leg against later ones. */
    Table waves() {
        List<List<String>> rows = new ArrayList<>();
        for (Arm arm : ARMS) {
            wave(name(arm) + ", after the first flood", measures.in(arm).first(), rows);
            wave(name(arm) + ", after later floods", measures.in(arm).steady(), rows);
        }
        return new Table(
                "Time to first token by wave",
                List.of("probes", "n", "mean", "std", "min", "p50", "p90", "p95", "p99", "max"),
                rows);
    }

    private static void wave(String name, Optional<Sample> sample, List<List<String>> rows) {
        sample.ifPresent(of -> {
            List<String> row = new ArrayList<>(List.of(name));
            row.addAll(numbers(sample, ""));
            row.remove(4);
            rows.add(row);
        });
    }

    /** Returns a table of one row a metric and one column an arm. */
    Table load() {
        OfAnArm baseline = measures.in(Arm.BASELINE);
        OfAnArm pinned = measures.in(Arm.PINNED);
        return new Table(
                "What requests saw, by arm",
                List.of("", "baseline", "pinned"),
                baseline.load().values().keySet().stream()
                        .filter(this::isShown)
                        .map(metric -> List.of(metric.title(), shown(baseline, metric), shown(pinned, metric)))
                        .toList());
    }

    private boolean isShown(Metric metric) {
        return metric.unit() != Metric.Unit.MILLIS
                || SHOWN.matcher(metric.name()).matches()
                || (!closed && SHOWN_OF_ARRIVALS.matcher(metric.name()).matches());
    }

    private static String shown(OfAnArm arm, Metric metric) {
        OptionalDouble value = arm.load().of(metric);
        return value.isPresent() ? metric.shown(value.getAsDouble()) : "";
    }

    /** Returns what a reader has to know about these figures. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        for (Arm arm : ARMS) {
            OfAnArm of = measures.in(arm);
            of.dependence().ifPresent(dependence -> notes.add(sentence(arm, dependence)));
            if (of.saturatedLegs() > 0) {
                notes.add("SATURATED: in " + of.saturatedLegs() + " of " + of.legs() + " "
                        + name(arm).toLowerCase(Locale.ROOT)
                        + " legs requests came faster than they were answered and queued, so latencies are those of a"
                        + " queue.");
            }
        }
        return notes;
    }

    private static String sentence(Arm arm, Dependence dependence) {
        return String.format(
                Locale.ROOT,
                "%s: neighbouring requests of a leg hang together with a correlation of %.2f, so %,d of them tell as"
                        + " much as %,.0f independent ones.",
                name(arm),
                dependence.lag1(),
                dependence.values(),
                dependence.effective());
    }

    private static String name(Arm arm) {
        return arm == Arm.PINNED ? "Pinned" : "Baseline";
    }

    private static String millis(double value) {
        return String.format(Locale.ROOT, "%.2f", value);
    }
}
