package io.holdfast.workbench.compare;

import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import io.holdfast.workbench.compare.Comparison.Named;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Growth of throughput with the number of devices, against a reference row.
 *
 * @param over the setting that counts devices
 * @param reference its number in the reference row
 * @param metrics that are shown, throughput first
 */
public record Scaling(String over, double reference, List<Metric> metrics, List<Row> rows) {
    /** Below this efficiency devices are better used otherwise. */
    public static final double AVOID_BELOW = 0.5;

    /** Limit of the rule, for people. */
    public static final String LIMIT = Percents.whole(AVOID_BELOW).replace("+", "");

    /**
     * One size.
     *
     * @param series what tells rows of one size apart, as {@code numa=cross}; empty where nothing does
     * @param failure why there are no figures, where that is known
     */
    public record Row(
            double size, String series, Group group, Group reference, double ratio, Optional<String> failure) {
        /** Returns how many times as good as the reference it is; absent where one of them lacks the metric. */
        public OptionalDouble speedUp(Metric metric) {
            return change(metric).map(Change::logRatio).orElse(OptionalDouble.empty()).stream()
                    .map(log -> Math.exp(metric.better() == Metric.Better.LOWER ? -log : log))
                    .findFirst();
        }

        /**
         * Returns the share of the throughput that so many devices would have if each was worth one of the reference.
         */
        public OptionalDouble efficiency(Metric throughput) {
            return speedUp(throughput).stream().map(times -> times / ratio).findFirst();
        }

        /** Returns true if it lies below the rule's limit; absent where repetitions leave that open. */
        public Optional<Boolean> isToAvoid(Metric throughput) {
            double limit = Math.log(AVOID_BELOW * ratio);
            OptionalDouble efficiency = efficiency(throughput);
            Optional<Interval> logs = change(throughput).flatMap(Change::interval);
            if (ratio <= 1 || logs.isEmpty() || efficiency.isEmpty()) {
                return Optional.of(ratio > 1 && efficiency.orElse(1) < AVOID_BELOW);
            }
            boolean open = !logs.get().below(limit) && !logs.get().above(limit);
            return open ? Optional.empty() : Optional.of(logs.get().below(limit));
        }

        private Optional<Change> change(Metric metric) {
            return group.has(metric) && reference.has(metric)
                    ? Optional.of(Change.of(metric, reference.values(metric), group.values(metric)))
                    : Optional.empty();
        }

        /** Returns the value of a metric; absent where it lacks it. */
        public OptionalDouble value(Metric metric) {
            return group.has(metric) ? OptionalDouble.of(Change.mean(group.values(metric))) : OptionalDouble.empty();
        }

        public int runs() {
            return group.runs().size();
        }

        /** Returns a label such as {@code tp=4 numa=cross}. */
        public String label(String over) {
            return (over + "=" + Matrix.plain(size) + " " + series).strip();
        }
    }

    /**
     * Reads off results that differ in a number of devices.
     *
     * @param reference the number in the reference row
     */
    public static Scaling of(List<Named> files, String over, double reference, List<String> names) {
        Map<Group, Double> sizes = new LinkedHashMap<>();
        for (Named file : files) {
            for (Group group : Group.of(file.results())) {
                Comparison.number(group.settings().get(over)).ifPresent(size -> sizes.put(group, size));
            }
        }
        if (sizes.isEmpty()) {
            throw new LoadTestException("No result has a number for the setting '" + over
                    + "'; name the setting that counts devices by --over.");
        }
        List<Group> base = sizes.keySet().stream()
                .filter(group -> Double.valueOf(reference).equals(sizes.get(group)))
                .toList();
        if (base.size() != 1) {
            throw new LoadTestException("There " + (base.isEmpty() ? "is no row" : "are " + base.size() + " rows")
                    + " with "
                    + over + "=" + Matrix.plain(reference) + " to compare with; the results have " + over + "="
                    + sizes.values().stream().distinct().map(Matrix::plain).collect(Collectors.joining(", "))
                    + ": give one of them by --reference, or the results of that one.");
        }
        long ids = sizes.keySet().stream()
                .map(Group::workloadIds)
                .filter(each -> !each.isEmpty())
                .distinct()
                .count();
        if (ids > 1) {
            throw new LoadTestException(
                    "The sizes were sent different requests (workload ids differ), so nothing scales"
                            + " here; run all with one workload.");
        }
        Set<String> telling = telling(sizes.keySet(), over);
        List<Row> rows = new ArrayList<>();
        sizes.forEach((group, size) -> rows.add(new Row(
                size,
                telling.stream()
                        .filter(group.settings()::containsKey)
                        .map(name -> name + "=" + group.settings().get(name))
                        .collect(Collectors.joining(" ")),
                group,
                base.getFirst(),
                size / reference,
                group.failure())));
        rows.sort(Comparator.comparingDouble(Row::size).thenComparing(Row::series));
        return new Scaling(over, reference, metrics(names, base.getFirst()::has), rows);
    }

    private static List<Metric> metrics(List<String> names, Predicate<Metric> there) {
        List<Metric> throughput = Figures.of(List.of("throughput"), there);
        if (throughput.isEmpty()) {
            throw new LoadTestException("The reference row has no throughput, so efficiency cannot be computed;"
                    + " give results with output_throughput or request_throughput.");
        }
        List<Metric> all = new ArrayList<>(throughput);
        (names.isEmpty()
                        ? Figures.of(List.of("ttft_p50", "itl_p50", "tpot_p50", "e2e_p50"), there)
                        : Figures.of(names, there))
                .stream().filter(metric -> !all.contains(metric)).forEach(all::add);
        return all;
    }

    private static Set<String> telling(Set<Group> groups, String over) {
        Set<String> names = new TreeSet<>();
        groups.forEach(group -> names.addAll(group.settings().keySet()));
        names.remove(over);
        names.removeIf(name -> groups.stream()
                        .map(group -> group.settings().get(name))
                        .filter(Objects::nonNull)
                        .distinct()
                        .count()
                < 2);
        return names;
    }

    /** Returns throughput over the number of devices. */
    public Plot plot() {
        Map<String, List<Point>> series = new LinkedHashMap<>();
        for (Row row : rows) {
            row.value(throughput())
                    .ifPresent(value -> series.computeIfAbsent(
                                    row.series().isEmpty() ? "reference" : row.series(), any -> new ArrayList<>())
                            .add(new Point(row.size(), value, Figures.shown(throughput(), value))));
        }
        return plot(
                over,
                throughput().title(),
                series.entrySet().stream()
                        .map(each -> new Series(each.getKey(), "", Shape.MARKS, each.getValue()))
                        .toList());
    }

    /** Returns series over a number of devices, with 0 at the bottom. */
    public static Plot plot(String over, String name, List<Series> series) {
        List<Point> all =
                series.stream().flatMap(each -> each.points().stream()).toList();
        DoubleSummaryStatistics sizes = all.stream().mapToDouble(Point::x).summaryStatistics();
        double most = all.stream().mapToDouble(Point::y).max().orElse(1);
        return new Plot(
                "",
                "",
                Axis.linear(over, sizes.getMin(), sizes.getMax(), "%.0f"),
                Axis.linear(name, 0, most, "%.0f"),
                series);
    }

    /** Returns the metric by which efficiency is told. */
    public Metric throughput() {
        return metrics.getFirst();
    }

    /** Returns the recommendations that the rows allow, with the rule behind each. */
    public List<String> recommendations() {
        Metric throughput = throughput();
        List<Row> larger = rows.stream()
                .filter(row -> row.ratio() > 1 && row.efficiency(throughput).isPresent())
                .toList();
        List<String> said = new ArrayList<>();
        larger.stream()
                .max(Comparator.comparingDouble(
                        row -> row.efficiency(throughput).orElse(0)))
                .ifPresent(row -> said.add("Most efficient: " + row.label(over) + " with " + efficiency(row) + "."));
        larger.stream()
                .filter(row -> row.isToAvoid(throughput).orElse(false))
                .forEach(row -> said.add("AVOID " + row.label(over) + ": efficiency " + efficiency(row) + ", below "
                        + LIMIT + (row.runs() < Change.FEWEST ? ", single run" : "") + "."));
        larger.stream()
                .filter(row -> row.isToAvoid(throughput).isEmpty())
                .forEach(row -> said.add("Undecided whether to avoid " + row.label(over)
                        + ": the interval of its efficiency contains " + LIMIT + "."));
        said.add("Rule: efficiency is the ratio of throughput over the ratio of " + over + " to the reference row ("
                + over + "=" + Matrix.plain(reference) + "); below " + LIMIT + " avoid it.");
        return said;
    }

    private String efficiency(Row row) {
        return Percents.plain(row.efficiency(throughput()).orElseThrow());
    }
}
