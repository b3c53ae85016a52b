package io.holdfast.workbench.compare;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.workbench.compare.Change.Finding;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Result files beside each other; the first is the reference.
 *
 * @param differing settings that each file has one value of, and not all the same: what is compared
 * @param pairs what belongs together, in the order of the reference
 * @param alone what has no counterpart, by file
 * @param warnings what else was not equal
 */
public record Comparison(
        List<Named> files,
        Set<String> differing,
        List<Row> pairs,
        Map<String, List<String>> alone,
        List<String> warnings) {
    private static final int MOST_REGRESSIONS = 3;
    /** A change this many times that of any other configuration is that one's own. */
    private static final double OF_ONE = 3;

    private static final String RATE = "rate";
    /** Share of the offered rate that a server which keeps up answers at least. */
    private static final double KEEPS_UP = 0.95;

    /**
     * A file with its name.
     *
     * @param name short, for tables
     */
    public record Named(String name, ResultFile results) {
        /** Returns the tools that measured it. */
        public List<String> sources() {
            return results.results().stream().map(LoadResult::source).distinct().toList();
        }
    }

    /**
     * One workload with one configuration, in each file.
     *
     * @param label what tells it apart from the others of the comparison
     * @param groups by file; absent where a file has none
     */
    public record Row(String workload, String label, List<Optional<Group>> groups) {
        public Group reference() {
            return groups.getFirst().orElseThrow();
        }

        /** Returns the label without the name of its workload, unless that is all. */
        public String detail() {
            return label.equals(workload)
                    ? label
                    : label.substring(workload.length()).strip();
        }

        /**
         * Returns the change in a file from 1 on; absent where it has no counterpart or one of them lacks the metric.
         */
        public Optional<Change> change(int file, Metric metric) {
            return groups.get(file)
                    .filter(group -> group.has(metric) && reference().has(metric))
                    .map(group -> Change.of(metric, reference().values(metric), group.values(metric)));
        }

        /** Returns true if the reference has the metric, and so has another file if there is one. */
        public boolean has(Metric metric) {
            return reference().has(metric)
                    && (groups.size() == 1
                            || groups.stream().skip(1).flatMap(Optional::stream).anyMatch(group -> group.has(metric)));
        }

        /** Returns true if the server fell behind the offered load, in some file. */
        public boolean isSaturated() {
            return groups.stream().flatMap(Optional::stream).anyMatch(Row::isSaturated);
        }

        private static boolean isSaturated(Group group) {
            OptionalDouble rate = number(group.settings().get(RATE));
            double[] answered = group.values(Metric.REQUEST_THROUGHPUT);
            return rate.isPresent() && answered.length > 0 && Change.mean(answered) < KEEPS_UP * rate.getAsDouble();
        }
    }

    /** A change in its place. */
    public record Placed(Row row, int file, Change change) {}

    public Comparison {
        files = List.copyOf(files);
        pairs = List.copyOf(pairs);
        warnings = List.copyOf(warnings);
    }

    /**
     * Pairs what belongs together.
     *
     * @param only workloads that are meant; all where there are none
     */
    public static Comparison of(List<Named> files, Set<String> only) {
        return new Pairing(files, only).comparison();
    }

    static OptionalDouble number(@Nullable String text) {
        try {
            return text == null ? OptionalDouble.empty() : OptionalDouble.of(Double.parseDouble(text));
        } catch (NumberFormatException e) {
            return OptionalDouble.empty();
        }
    }

    /** The metrics of these names, or the usual ones; refused where no pair has one of those that were named. */
    public List<Metric> metrics(List<String> names) {
        Predicate<Metric> there = metric -> pairs.stream().anyMatch(row -> row.has(metric));
        if (names.isEmpty()) {
            return Figures.usual(there);
        }
        for (String name : names) {
            if (Figures.of(name, there).isEmpty()) {
                throw new LoadTestException("No result has " + name + " in the first file and another one; those have "
                        + Figures.usual(there).stream().map(Metric::name).collect(Collectors.joining(", "))
                        + " in common.");
            }
        }
        return Figures.of(names, there);
    }

    /** All changes of these metrics against the reference. */
    public List<Placed> changes(List<Metric> metrics) {
        List<Placed> all = new ArrayList<>();
        for (Row row : pairs) {
            for (int file = 1; file < files.size(); file++) {
                for (Metric metric : metrics) {
                    int at = file;
                    row.change(file, metric).ifPresent(change -> all.add(new Placed(row, at, change)));
                }
            }
        }
        return all;
    }

    /** Returns the worst changes, first those from nothing to something, then the largest. */
    public List<Placed> regressions(List<Metric> metrics, double margin) {
        return changes(metrics).stream()
                .filter(placed -> placed.change().finding(margin) == Finding.WORSE)
                .sorted(Comparator.comparingDouble(
                        (Placed placed) -> -Math.abs(placed.change().logRatio().orElse(Double.MAX_VALUE))))
                .limit(MOST_REGRESSIONS)
                .toList();
    }

    /** Returns the changes for the worse by more than a share. */
    public List<Placed> worseBy(double limit, List<Metric> metrics) {
        return changes(metrics).stream()
                .filter(placed -> placed.change().isWorseBy(limit))
                .toList();
    }

    /**
     * Reports what the reference has and another file lacks, a sentence each: nobody can tell whether that became
     * worse.
     */
    public List<String> untold(List<Metric> metrics) {
        List<String> said = new ArrayList<>();
        for (int file = 1; file < files.size(); file++) {
            String name = files.get(file).name();
            for (Row row : pairs) {
                List<String> lacking = row.groups().get(file).stream()
                        .flatMap(group -> metrics.stream()
                                .filter(metric -> row.reference().has(metric) && !group.has(metric)))
                        .map(Metric::title)
                        .toList();
                if (!lacking.isEmpty()) {
                    said.add(row.label() + " has no " + String.join(", no ", lacking) + " in " + name + ".");
                }
                if (row.groups().get(file).isEmpty()) {
                    said.add(row.label() + " is not in " + name + ".");
                }
            }
        }
        alone.getOrDefault(files.getFirst().name(), List.of())
                .forEach(label -> said.add(label + " is in " + files.getFirst().name() + " alone."));
        return said;
    }

    /** Returns statements on all changes together, where a glance at one of them would suggest something else. */
    public List<String> statements(List<Metric> metrics, double margin) {
        List<String> said = new ArrayList<>();
        Map<String, List<Row>> byWorkload =
                pairs.stream().collect(Collectors.groupingBy(Row::workload, LinkedHashMap::new, Collectors.toList()));
        for (int file = 1; file < files.size(); file++) {
            for (var entry : byWorkload.entrySet()) {
                for (Metric metric : metrics) {
                    across(entry.getKey(), entry.getValue(), file, metric, margin)
                            .ifPresent(said::add);
                }
            }
            for (Row row : pairs) {
                meanAgainstMedian(row, file).ifPresent(said::add);
            }
        }
        return said;
    }

    /** Over configurations of one workload: mixed signs, or a regression of one alone. */
    private static Optional<String> across(String workload, List<Row> rows, int file, Metric metric, double margin) {
        List<Placed> changes = rows.stream()
                .flatMap(row -> row.change(file, metric).map(change -> new Placed(row, file, change)).stream())
                .filter(placed -> placed.change().logRatio().isPresent())
                .toList();
        List<Finding> findings =
                changes.stream().map(placed -> placed.change().finding(margin)).toList();
        if (changes.size() < 2 || !findings.contains(Finding.WORSE)) {
            return Optional.empty();
        }
        String told = changes.stream()
                .map(placed -> Percents.plainSigned(placed.change().share().orElseThrow()) + " "
                        + placed.row().detail())
                .collect(Collectors.joining(", "));
        List<Placed> bySize = changes.stream()
                .sorted(Comparator.comparingDouble(
                        (Placed placed) -> -Math.abs(placed.change().logRatio().orElseThrow())))
                .toList();
        Placed first = bySize.getFirst();
        boolean ofOne = first.change().finding(margin) == Finding.WORSE
                && size(first) >= OF_ONE * size(bySize.get(1))
                && size(first) > margin;
        if (findings.contains(Finding.BETTER)) {
            return Optional.of(workload + ", " + metric.title() + ": mixed signs, so nothing holds for all (" + told
                    + ")"
                    + (ofOne ? "; the regression is that of " + first.row().detail() + " alone." : "."));
        }
        return ofOne
                ? Optional.of(workload + ", " + metric.title() + ": the regression is that of "
                        + first.row().detail() + " alone (" + told + ").")
                : Optional.empty();
    }

    private static double size(Placed placed) {
        return Math.abs(placed.change().logRatio().orElseThrow());
    }

    private static Optional<String> meanAgainstMedian(Row row, int file) {
        Optional<Change> mean = Metric.named("ttft_mean").flatMap(metric -> row.change(file, metric));
        Optional<Change> median = Metric.named("ttft_p50").flatMap(metric -> row.change(file, metric));
        if (mean.isEmpty() || median.isEmpty()) {
            return Optional.empty();
        }
        double ofMean = mean.get().logRatio().orElse(0);
        double ofMedian = median.get().logRatio().orElse(0);
        return ofMean * ofMedian < 0
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "%s: mean and median of TTFT disagree (%s and %s), so the change is not that of most requests.",
                        row.label(),
                        Percents.plainSigned(Math.expm1(ofMean)),
                        Percents.plainSigned(Math.expm1(ofMedian))))
                : Optional.empty();
    }

    /** The largest change of a metric in workloads that nothing should have changed: what noise alone does. */
    public OptionalDouble noiseFloor(Metric metric, Set<String> controls) {
        return changes(List.of(metric)).stream()
                .filter(placed -> controls.contains(placed.row().workload()))
                .flatMapToDouble(placed -> placed.change().share().stream())
                .map(Math::abs)
                .max();
    }

    /** Returns how far repetitions of one configuration lie apart, of those with more than one. */
    public List<String> spreads(List<Metric> metrics) {
        List<String> said = new ArrayList<>();
        IntStream.range(0, files.size())
                .forEach(file -> pairs.forEach(row -> row.groups().get(file).ifPresent(group -> {
                    if (group.runs().size() > 1) {
                        said.add(files.get(file).name() + ", " + row.label() + ": "
                                + group.runs().size()
                                + " runs; largest over smallest "
                                + metrics.stream()
                                        .filter(metric -> Arrays.stream(group.values(metric))
                                                .anyMatch(value -> value > 0))
                                        .map(metric -> spread(metric, group.values(metric)))
                                        .collect(Collectors.joining(", ")));
                    }
                })));
        return said;
    }

    private static String spread(Metric metric, double[] values) {
        double least = Arrays.stream(values).min().orElse(0);
        double most = Arrays.stream(values).max().orElse(0);
        return metric.title() + " "
                + (least > 0
                        ? "+" + Percents.plain(Figures.apart(values))
                        : Figures.shown(metric, most) + " over " + Figures.shown(metric, least));
    }

    /** Whose numbers a metric's values are, over all files; none where no file has it. */
    public List<String> methods(Metric metric) {
        return files.stream()
                .flatMap(file -> file.results().results().stream())
                .filter(result -> result.measures().of(metric).isPresent())
                .map(result -> result.method(metric))
                .distinct()
                .toList();
    }

    /** Returns the tools that measured each file. */
    public List<String> sources() {
        return files.stream()
                .map(file -> file.name() + ": " + String.join(", ", file.sources()))
                .toList();
    }
}
