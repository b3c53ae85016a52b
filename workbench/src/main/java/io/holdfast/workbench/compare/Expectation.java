package io.holdfast.workbench.compare;

import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Metric.Better;
import io.holdfast.workbench.compare.Comparison.Placed;
import io.holdfast.workbench.compare.Comparison.Row;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/*
 * What an expectation is judged by
 * ================================
 *
 * Everything is turned into an overhead: how much worse the other file is than the reference, as a share, below zero
 * where it is better. `overhead(throughput)<=5%` is then everything up to 0.05, `gain(throughput)>=10%` everything up
 * to -0.10, and `change(itl_p50) in -15%..-5%` from -0.15 to -0.05.
 *
 * Of an interval: within the range it is met; all of it on the better side of the range is better than expected; all of
 * it on the worse side is missed, and harmful where an improvement was expected and all of it is worse than no change.
 * What straddles an end is undecided. A single run can miss an expectation and be harmful, and is labelled so; it
 * cannot meet one.
 */

/**
 * A change that somebody expected before it was measured.
 *
 * @param name for people
 * @param text as it was written
 * @param range of the overhead, both ends perhaps infinite
 * @param where all of these hold
 */
public record Expectation(String name, String text, String metric, Kind kind, Range range, List<Where> where) {
    private static final String NUMBER = "([+-]?\\d+(?:\\.\\d+)?)";
    private static final Pattern SHAPE = Pattern.compile("(overhead|gain|change)\\(\\s*([a-z0-9_.]+)\\s*\\)\\s*"
            + "(?:(<=|>=)\\s*" + NUMBER + "\\s*%|in\\s+" + NUMBER + "\\s*%?\\s*\\.\\.\\s*" + NUMBER + "\\s*%)"
            + "\\s*(?:@\\s*(.+))?");
    private static final Pattern WHERE_RANGE =
            Pattern.compile("(?:([A-Za-z][\\w.-]*)\\s+)?(\\d+(?:\\.\\d+)?)(?:\\s*(\\.\\.)\\s*(\\d+(?:\\.\\d+)?)?)?");
    private static final Pattern WHERE_TEXT = Pattern.compile("([A-Za-z][\\w.-]*)\\s*=\\s*([^,=]+)");
    private static final String RATE = "rate";
    private static final String WORKLOAD = "workload";

    /** Number that is meant. */
    enum Kind {
        /** Share by which it became worse, whichever direction is better. */
        OVERHEAD,
        /** Share by which it became better. */
        GAIN,
        /** Share by which it became larger. */
        CHANGE
    }

    /** A range of shares. */
    record Range(double low, double high) {
        Range turned() {
            return new Range(-high, -low);
        }
    }

    /** Setting under which it is expected, and what its value has to be. */
    private record Where(String setting, Predicate<String> value) {
        boolean holds(Row row) {
            return value.test(
                    setting.equals(WORKLOAD)
                            ? row.workload()
                            : row.reference().settings().getOrDefault(setting, ""));
        }
    }

    /** Result of an expectation, from fine to worst. */
    public enum Outcome {
        MET("met"),
        BETTER_THAN_EXPECTED("better than expected"),
        /** Nothing of it was measured, though something else of the same file was. */
        NOT_MEASURED("not measured"),
        UNDECIDED("undecided"),
        MISSED("missed"),
        /** The opposite of an expected improvement. */
        HARMFUL("HARMFUL");

        private final String text;

        Outcome(String text) {
            this.text = text;
        }

        /** Returns the printed form. */
        public String text() {
            return text;
        }
    }

    /**
     * An expectation with its outcome, which is the worst of all places where it was expected.
     *
     * @param why a line for each of those places
     */
    public record Judged(Expectation expectation, Outcome outcome, List<String> why) {}

    /** Reads one, such as {@code overhead(throughput)<=5% @ 8..16}. */
    public static Expectation of(String name, String text) {
        Matcher matcher = SHAPE.matcher(text.strip());
        if (!matcher.matches()) {
            throw new LoadTestException("The expectation '" + text
                    + "' is not understood; write one such as 'overhead(throughput)<=5% @ 8..16',"
                    + " 'gain(ttft_p50)>=10% @ workload=prefix_caching' or 'change(itl_p50) in -15%..-5% @ batch 1'.");
        }
        String metric = matcher.group(2);
        Metric first = Figures.named(metric).getFirst();
        Kind kind = Kind.valueOf(matcher.group(1).toUpperCase(Locale.ROOT));
        if (first.better() == Better.NEITHER && kind != Kind.CHANGE) {
            throw new LoadTestException("The expectation '" + text + "' asks for the " + matcher.group(1) + " of "
                    + metric + ", of which neither more nor less is better; write change(" + metric + ").");
        }
        Range written = matcher.group(3) != null
                ? bound(matcher.group(3), share(matcher.group(4)))
                : new Range(share(matcher.group(5)), share(matcher.group(6)));
        if (written.low() > written.high()) {
            throw new LoadTestException("The expectation '" + text
                    + "' has a range that ends before it begins; write the" + " lower end first.");
        }
        boolean turn = kind == Kind.GAIN || (kind == Kind.CHANGE && first.better() == Better.HIGHER);
        return new Expectation(
                name,
                text.strip(),
                metric,
                kind,
                turn ? written.turned() : written,
                where(text, Optional.ofNullable(matcher.group(7)).orElse("")));
    }

    private static Range bound(String sign, double share) {
        return sign.equals("<=")
                ? new Range(Double.NEGATIVE_INFINITY, share)
                : new Range(share, Double.POSITIVE_INFINITY);
    }

    private static double share(String percent) {
        return Double.parseDouble(percent) / 100;
    }

    private static List<Where> where(String text, String places) {
        if (places.isBlank()) {
            return List.of();
        }
        List<Where> all = new ArrayList<>();
        for (String place : places.split(",", -1)) {
            Matcher range = WHERE_RANGE.matcher(place.strip());
            Matcher named = WHERE_TEXT.matcher(place.strip());
            if (range.matches()) {
                double low = Double.parseDouble(range.group(2));
                double high = range.group(4) != null
                        ? Double.parseDouble(range.group(4))
                        : range.group(3) != null ? Double.POSITIVE_INFINITY : low;
                all.add(new Where(Optional.ofNullable(range.group(1)).orElse(RATE), told -> {
                    OptionalDouble value = Comparison.number(told);
                    return value.isPresent() && low <= value.getAsDouble() && value.getAsDouble() <= high;
                }));
            } else if (named.matches()) {
                all.add(new Where(named.group(1), named.group(2).strip()::equals));
            } else {
                throw new LoadTestException("The place '" + place.strip() + "' in the expectation '" + text
                        + "' is not understood; write a rate such as 8..16 or 32.., another setting such as"
                        + " 'concurrency 4..8', or one such as 'model=llama'.");
            }
        }
        return all;
    }

    /**
     * Judges those of one file, of which some may be about what was not measured; not all of them, since then the file
     * is that of something else.
     */
    public static List<Judged> judge(List<Expectation> together, Comparison comparison) {
        List<Judged> judged = together.stream()
                .map(each -> each.judged(comparison)
                        .orElseGet(() -> new Judged(
                                each, Outcome.NOT_MEASURED, List.of("Not measured: " + each.there(comparison) + "."))))
                .toList();
        if (!together.isEmpty() && judged.stream().allMatch(each -> each.outcome() == Outcome.NOT_MEASURED)) {
            throw together.getFirst().nowhere(comparison);
        }
        return judged;
    }

    /** Judges it in every place where it is expected, in the last file against the first. */
    public Judged judge(Comparison comparison) {
        return judged(comparison).orElseThrow(() -> nowhere(comparison));
    }

    private LoadTestException nowhere(Comparison comparison) {
        return new LoadTestException(
                "Nothing that is compared is where '" + text + "' is expected; " + there(comparison) + ".");
    }

    /** Judges it; absent where nothing is compared that it is about. */
    private Optional<Judged> judged(Comparison comparison) {
        List<Row> places = comparison.pairs().stream()
                .filter(row -> where.stream().allMatch(each -> each.holds(row)))
                .toList();
        int file = comparison.files().size() - 1;
        List<String> why = new ArrayList<>();
        Outcome worst = Outcome.MET;
        boolean judged = false;
        for (Row row : places) {
            Optional<Metric> of =
                    Figures.of(metric, each -> row.change(file, each).isPresent());
            if (of.isEmpty()) {
                continue;
            }
            judged = true;
            Change change = row.change(file, of.get()).orElseThrow();
            Outcome outcome = row.isSaturated() ? Outcome.UNDECIDED : outcome(change);
            why.add(why(new Placed(row, file, change), outcome));
            worst = outcome.compareTo(worst) > 0 ? outcome : worst;
        }
        return judged ? Optional.of(new Judged(this, worst, why)) : Optional.empty();
    }

    private String there(Comparison comparison) {
        if (where.isEmpty()) {
            return "no result has " + metric + " in both files";
        }
        String setting = where.getFirst().setting();
        Set<String> values = new TreeSet<>();
        comparison
                .pairs()
                .forEach(row -> values.add(
                        setting.equals(WORKLOAD)
                                ? row.workload()
                                : row.reference().settings().getOrDefault(setting, "not told")));
        return "the results have for " + setting + ": " + String.join(", ", values) + ", and perhaps no " + metric;
    }

    private Outcome outcome(Change change) {
        if (change.overhead().isEmpty()) {
            return Outcome.UNDECIDED;
        }
        Optional<Interval> interval = change.overheadInterval();
        if (interval.isEmpty()) {
            double value = change.overhead().getAsDouble();
            return value > range.high() ? worse(value) : Outcome.UNDECIDED;
        }
        double low = interval.get().low();
        double high = interval.get().high();
        if (range.low() <= low && high <= range.high()) {
            return Outcome.MET;
        }
        if (high < range.low()) {
            return Outcome.BETTER_THAN_EXPECTED;
        }
        return low > range.high() ? worse(low) : Outcome.UNDECIDED;
    }

    private Outcome worse(double least) {
        return range.high() <= 0 && least > 0 ? Outcome.HARMFUL : Outcome.MISSED;
    }

    private static String why(Placed placed, Outcome outcome) {
        Change change = placed.change();
        String value = change.overhead().stream()
                .mapToObj(overhead -> (change.metric().better() == Better.NEITHER
                                ? "change "
                                : overhead < 0 ? "better by " : "worse by ")
                        + Percents.plain(Math.abs(overhead)))
                .findFirst()
                .orElse("a value of zero");
        String range = change.overheadInterval()
                .map(interval -> ", 95 % interval of the overhead " + Percents.plainSigned(interval.low()) + " to "
                        + Percents.plainSigned(interval.high()))
                .orElse("");
        String reason = placed.row().isSaturated()
                ? "; SATURATED, so not judged"
                : change.isWithoutInterval() && outcome == Outcome.UNDECIDED
                        ? "; fewer than " + Change.FEWEST + " runs on a side cannot meet an expectation"
                        : "";
        return placed.row().label() + ": " + change.metric().title() + " " + value + range + ", " + change.repetitions()
                + ": " + outcome.text() + reason;
    }

    /** The worst of several. */
    public static Outcome worst(List<Judged> all) {
        return all.stream().map(Judged::outcome).max(Outcome::compareTo).orElse(Outcome.MET);
    }
}
