package io.holdfast.workbench.compare;

import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Metric.Better;
import io.holdfast.workbench.compare.Comparison.Named;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * One metric of several variants in a table of settings: a cell for each row and column, and in it who is ahead and by
 * how much.
 *
 * <p>Variants are the values of one setting, or the files. Ahead is the best against the second best: a time's lead is
 * the slower over the faster less one, a throughput's the larger over the smaller less one. There is a winner only
 * where the interval of their ratio excludes no difference.
 *
 * @param variants in the order in which they came
 * @param across what rows are told apart by
 * @param along what columns are told apart by; none where there is one column
 * @param rows the values of {@code across}
 * @param columns the values of {@code along}
 */
public record Matrix(
        Metric metric,
        List<String> variants,
        List<String> across,
        List<String> along,
        List<String> rows,
        List<String> columns,
        Map<Place, Cell> cells) {
    /** The setting that tells workloads apart. */
    public static final String WORKLOAD = "workload";

    /** Setting that stands for the files. */
    public static final String FILES = "file";

    private static final String NO_COLUMN = "";

    /** Position of a cell. */
    public record Place(String row, String column) {}

    /**
     * The values of the variants in one place.
     *
     * @param settings by which it was found
     * @param values of each variant that has some
     * @param failures why a variant has none, where that is known
     */
    public record Cell(
            Metric metric, Map<String, String> settings, Map<String, double[]> values, Map<String, String> failures) {
        /** Returns the variants from best to worst. */
        public List<String> ranked() {
            Comparator<String> order =
                    Comparator.comparingDouble(variant -> value(variant).orElse(0));
            return values.keySet().stream()
                    .sorted(metric.better() == Better.HIGHER ? order.reversed() : order)
                    .toList();
        }

        public OptionalDouble value(String variant) {
            double[] all = values.get(variant);
            return all == null ? OptionalDouble.empty() : OptionalDouble.of(Change.mean(all));
        }

        /** The best against the second best; absent where there are no two with values. */
        public Optional<Change> lead() {
            List<String> ranked = ranked();
            return ranked.size() < 2
                    ? Optional.empty()
                    : Optional.of(
                            metric.better() == Better.HIGHER
                                    ? change(ranked.get(1), ranked.get(0))
                                    : change(ranked.get(0), ranked.get(1)));
        }

        private Change change(String from, String to) {
            return Change.of(
                    metric,
                    Optional.ofNullable(values.get(from)).orElseThrow(),
                    Optional.ofNullable(values.get(to)).orElseThrow());
        }

        /** Who is ahead beyond what the repetitions leave open. */
        public Optional<String> winner() {
            return lead().flatMap(Change::interval)
                    .filter(Interval::excludesZero)
                    .map(any -> ranked().getFirst());
        }

        /** Returns the lead of the best, as a share. */
        public OptionalDouble leadShare() {
            return lead().map(Change::share).orElse(OptionalDouble.empty());
        }

        private double ledBy() {
            return leadShare().orElse(0);
        }

        /** The last variant against the first. */
        public Optional<Change> lastAgainstFirst(List<String> variants) {
            return values.containsKey(variants.getFirst())
                            && values.containsKey(variants.getLast())
                            && variants.size() > 1
                    ? Optional.of(change(variants.getFirst(), variants.getLast()))
                    : Optional.empty();
        }
    }

    /** Request for a table. */
    public record Layout(String metric, Optional<String> variant, List<String> rows, List<String> columns) {}

    /** Lays results out; what is not named is chosen by what the results differ in. */
    public static Matrix of(List<Named> files, Layout layout) {
        List<Entry> entries = entries(files);
        Metric metric = Figures.of(
                        layout.metric(),
                        each -> entries.stream().anyMatch(entry -> entry.group().has(each)))
                .orElseThrow(() -> new LoadTestException("No result has " + layout.metric() + "; they have "
                        + Figures.usual(each -> entries.stream()
                                        .anyMatch(entry -> entry.group().has(each)))
                                .stream()
                                .map(Metric::name)
                                .collect(Collectors.joining(", "))
                        + "."));
        String variant = layout.variant().orElseGet(() -> usualVariant(files, entries));
        Set<String> free = new LinkedHashSet<>(differing(entries));
        require(variant, free);
        free.remove(variant);
        free.remove(FILES);
        // What differs only because the variant does is no dimension of its own.
        free.removeIf(name -> followsFrom(name, variant, entries));
        layout.rows().forEach(name -> require(name, free));
        layout.columns().forEach(name -> require(name, free));
        List<String> left = free.stream()
                .filter(name ->
                        !layout.rows().contains(name) && !layout.columns().contains(name))
                .toList();
        List<String> columns = layout.columns();
        List<String> rows = layout.rows();
        if (columns.isEmpty() && left.size() > (rows.isEmpty() ? 1 : 0)) {
            columns = List.of(left.getLast());
            left = left.subList(0, left.size() - 1);
        }
        rows = Stream.concat(rows.stream(), left.stream()).toList();
        return laidOut(metric, variant, rows, columns, entries);
    }

    /** A group with its file and all that tells it apart. */
    private record Entry(Group group, Map<String, String> all) {
        String label(List<String> names) {
            return names.stream()
                    .map(name -> name.equals(WORKLOAD)
                            ? all.getOrDefault(name, "-")
                            : name + "=" + all.getOrDefault(name, "-"))
                    .collect(Collectors.joining(" "));
        }
    }

    private static List<Entry> entries(List<Named> files) {
        List<Entry> entries = new ArrayList<>();
        for (Named file : files) {
            for (Group group : Group.of(file.results())) {
                Map<String, String> all = new LinkedHashMap<>();
                all.put(WORKLOAD, group.workload());
                all.putAll(group.settings());
                all.put(FILES, file.name());
                entries.add(new Entry(group, all));
            }
        }
        return entries;
    }

    private static Set<String> differing(List<Entry> entries) {
        Set<String> names = new LinkedHashSet<>();
        entries.forEach(entry -> names.addAll(entry.all().keySet()));
        names.removeIf(name -> entries.stream()
                        .map(entry -> entry.all().getOrDefault(name, ""))
                        .distinct()
                        .count()
                < 2);
        return names;
    }

    private static String usualVariant(List<Named> files, List<Entry> entries) {
        if (differing(entries).contains("variant")) {
            return "variant";
        }
        if (files.size() > 1) {
            return FILES;
        }
        List<String> settings =
                differing(entries).stream().filter(name -> !name.equals(FILES)).toList();
        throw new LoadTestException("The results of one file have no setting 'variant' with two values; "
                + (settings.isEmpty()
                        ? "they differ in no other either, so there is none for --variant; name a second file."
                        : "name the setting whose values are compared by --variant: they differ in "
                                + String.join(", ", settings) + "."));
    }

    private static void require(String name, Collection<String> differing) {
        if (!differing.contains(name)) {
            throw new LoadTestException("The results do not differ in '" + name + "'; they differ in "
                    + (differing.isEmpty() ? "nothing" : String.join(", ", differing)) + ".");
        }
    }

    /** Returns true if each variant has one value of it, so that it only names the variant a second time. */
    private static boolean followsFrom(String name, String variant, List<Entry> entries) {
        return entries.stream()
                .collect(Collectors.groupingBy(entry -> entry.all().getOrDefault(variant, "")))
                .values()
                .stream()
                .allMatch(of -> of.stream()
                                .map(entry -> entry.all().getOrDefault(name, ""))
                                .distinct()
                                .count()
                        == 1);
    }

    private static Matrix laidOut(
            Metric metric, String variant, List<String> across, List<String> along, List<Entry> entries) {
        Map<Place, Cell> cells = new LinkedHashMap<>();
        Map<Place, Set<String>> ids = new LinkedHashMap<>();
        for (Entry entry : entries) {
            Place place = new Place(
                    across.isEmpty() ? entry.group().workload() : entry.label(across),
                    along.isEmpty() ? NO_COLUMN : entry.label(along));
            Cell cell = cells.computeIfAbsent(
                    place,
                    any -> new Cell(metric, new TreeMap<>(entry.all()), new LinkedHashMap<>(), new LinkedHashMap<>()));
            String of = entry.all().getOrDefault(variant, "not told");
            double[] values = entry.group().values(metric);
            if (values.length > 0) {
                cell.values().merge(of, values, Matrix::both);
                refuseOther(place, ids.computeIfAbsent(place, any -> new LinkedHashSet<>()), entry.group());
            } else {
                entry.group().failure().ifPresent(why -> cell.failures().put(of, why));
            }
        }
        return new Matrix(
                metric,
                entries.stream()
                        .map(entry -> entry.all().getOrDefault(variant, "not told"))
                        .distinct()
                        .toList(),
                across,
                along,
                cells.keySet().stream().map(Place::row).distinct().toList(),
                cells.keySet().stream().map(Place::column).distinct().toList(),
                cells);
    }

    private static double[] both(double[] one, double[] other) {
        return DoubleStream.concat(DoubleStream.of(one), DoubleStream.of(other)).toArray();
    }

    private static void refuseOther(Place place, Set<String> seen, Group group) {
        Set<String> own = group.workloadIds();
        if (!own.isEmpty() && !seen.isEmpty() && !seen.equals(own)) {
            throw new LoadTestException("The variants of " + (place.row() + " " + place.column()).strip()
                    + " were sent different requests (workload ids differ), so none of them is ahead; run all with one"
                    + " workload.");
        }
        seen.addAll(own);
    }

    public Optional<Cell> cell(String row, String column) {
        return Optional.ofNullable(cells.get(new Place(row, column)));
    }

    /**
     * Returns statements on the table as a whole, computed from it: who leads by how much, and how that depends on a
     * setting.
     */
    public List<String> statements() {
        List<String> said = new ArrayList<>();
        List<Cell> led = cells.values().stream()
                .filter(cell -> cell.leadShare().isPresent())
                .toList();
        for (String variant : variants) {
            List<Cell> won = led.stream()
                    .filter(cell -> cell.winner().filter(variant::equals).isPresent())
                    .toList();
            if (!won.isEmpty()) {
                DoubleSummaryStatistics leads =
                        won.stream().mapToDouble(Cell::ledBy).summaryStatistics();
                said.add(variant + " is ahead in " + won.size() + " of " + led.size() + " cells, by "
                        + Percents.range(leads.getMin(), leads.getMax()) + ".");
                trends(variant, won, said);
            }
        }
        long open = led.stream().filter(cell -> cell.winner().isEmpty()).count();
        if (open > 0) {
            boolean single = led.stream()
                    .filter(cell -> cell.winner().isEmpty())
                    .allMatch(cell ->
                            cell.lead().filter(Change::isWithoutInterval).isPresent());
            said.add("No winner in " + open + " of " + led.size() + " cells: "
                    + (single
                            ? "an interval needs " + Change.FEWEST + " runs of each variant."
                            : "the interval allows no difference, or there are fewer than " + Change.FEWEST
                                    + " runs of a variant."));
        }
        return said;
    }

    /** Adds how the lead of a variant depends on a number, everything else equal, where it only rises or only falls. */
    private void trends(String variant, List<Cell> won, List<String> said) {
        List<String> names = Stream.concat(across.stream(), along.stream())
                .filter(name -> won.stream()
                                .map(cell -> Comparison.number(cell.settings().get(name)))
                                .filter(OptionalDouble::isPresent)
                                .distinct()
                                .count()
                        > 1)
                .toList();
        boolean told = false;
        for (String name : names) {
            List<List<Cell>> lines = won.stream()
                    .collect(Collectors.groupingBy(
                            cell -> names.stream()
                                    .filter(other -> !other.equals(name))
                                    .map(other -> cell.settings().getOrDefault(other, ""))
                                    .toList(),
                            LinkedHashMap::new,
                            Collectors.toList()))
                    .values()
                    .stream()
                    .filter(line -> line.size() > 1)
                    .map(line -> sorted(line, name))
                    .toList();
            if (!lines.isEmpty()) {
                told = true;
                way(lines)
                        .ifPresent(way -> said.add("The lead of " + variant + " " + way + " with " + name + ": "
                                + lines.stream()
                                        .map(line -> from(line, name))
                                        .distinct()
                                        .collect(Collectors.joining("; "))
                                + "."));
            }
        }
        if (!told && names.size() > 1) {
            List<Cell> sorted = sorted(won, names.getFirst());
            way(List.of(sorted))
                    .ifPresent(way -> said.add("The lead of " + variant + " " + way + " from "
                            + Percents.whole(sorted.getFirst().ledBy()) + " to "
                            + Percents.whole(sorted.getLast().ledBy()) + " as " + names.getFirst()
                            + " rises, but "
                            + String.join(" and ", names)
                            + " change together in this table, so it cannot tell which of them does it."));
        }
    }

    private static List<Cell> sorted(List<Cell> cells, String name) {
        return cells.stream()
                .sorted(Comparator.comparingDouble(cell -> number(cell, name)))
                .toList();
    }

    private static double number(Cell cell, String name) {
        return Comparison.number(cell.settings().get(name)).orElse(0);
    }

    private static String from(List<Cell> line, String name) {
        return "from " + Percents.whole(line.getFirst().ledBy()) + " at "
                + plain(number(line.getFirst(), name)) + " to "
                + Percents.whole(line.getLast().ledBy()) + " at " + plain(number(line.getLast(), name));
    }

    /** Returns {@code falls} or {@code rises} where leads do only that along all of these lines. */
    private static Optional<String> way(List<List<Cell>> lines) {
        List<Double> steps = lines.stream()
                .flatMap(line -> IntStream.range(1, line.size())
                        .mapToObj(i -> line.get(i).ledBy() - line.get(i - 1).ledBy()))
                .toList();
        if (steps.stream().allMatch(step -> step < 0)) {
            return Optional.of("falls");
        }
        return steps.stream().allMatch(step -> step > 0) ? Optional.of("rises") : Optional.empty();
    }

    static String plain(double number) {
        return number == Math.rint(number) ? Long.toString(Math.round(number)) : Double.toString(number);
    }
}
