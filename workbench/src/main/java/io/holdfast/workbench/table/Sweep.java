package io.holdfast.workbench.table;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.MeanInterval;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.sweep.Cliff;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/**
 * Places that differ in one level alone, the smallest first; levels that go along with it, as blocks with a batch, do
 * not count as a second difference.
 *
 * @param axis the level, by the names of {@link Column}
 */
record Sweep(String axis, List<Place> places) {
    /** Three points make a line that can be wrong. */
    private static final int FEWEST = 3;

    /** Variation below which a value does not follow the load. */
    private static final double FLAT = 0.2;

    /** Share of the first arm below which the second lacks what the first has. */
    private static final double LACKS = 0.75;

    /** Returns the sweeps of a table: one for each model, workload or whatever else its rows differ in. */
    static List<Sweep> of(PublishedTable table) {
        List<Place> places = Place.of(table);
        Optional<String> axis = table.levels().stream()
                .filter(level ->
                        values(places, level) >= FEWEST && places.stream().allMatch(place -> place.level(level) > 0))
                .findFirst();
        Map<Map<String, String>, List<Place>> groups = new LinkedHashMap<>();
        axis.ifPresent(level -> {
            List<String> along = table.levels().stream()
                    .filter(other -> goesAlong(places, level, other))
                    .toList();
            for (Place place : places) {
                Map<String, String> key = new HashMap<>(place.where());
                along.forEach(key::remove);
                groups.computeIfAbsent(key, any -> new ArrayList<>()).add(place);
            }
        });
        return groups.values().stream()
                .filter(group -> group.size() >= FEWEST)
                .map(group -> new Sweep(
                        axis.orElseThrow(),
                        group.stream()
                                .sorted(Comparator.comparingDouble(place -> place.level(axis.orElseThrow())))
                                .toList()))
                .toList();
    }

    private static boolean goesAlong(List<Place> places, String axis, String level) {
        return places.stream()
                .collect(Collectors.groupingBy(place -> place.where().getOrDefault(axis, "")))
                .values()
                .stream()
                .allMatch(same -> values(same, level) == 1);
    }

    private static long values(List<Place> places, String level) {
        return places.stream()
                .map(place -> place.where().getOrDefault(level, ""))
                .distinct()
                .count();
    }

    /** Returns the level of a place, as {@code concurrency 4}. */
    String at(Place place) {
        return axis + " " + place.where().get(axis);
    }

    /** Returns true if a higher level is more memory for the same load. */
    boolean isOfMemory() {
        return axis.equals(Column.MEMORY) || axis.equals(Column.CAPACITY) || axis.equals(Column.BLOCKS);
    }

    boolean isOfLoad() {
        return axis.equals(Column.CONCURRENCY) || axis.equals(Column.RATE);
    }

    /** Returns the metric by which an effect is judged, at all levels. */
    Optional<Metric> judged() {
        return places.getFirst().judged();
    }

    /** Returns the unit of memory: tokens where the table has them. */
    String memory() {
        return places.stream().allMatch(place -> place.level(Column.CAPACITY) > 0) ? Column.CAPACITY : axis;
    }

    /** Returns a line through the logarithms of a value over the logarithm of memory. */
    private Optional<LinearFit> overMemory(ToDoubleFunction<Place> logarithm) {
        List<Place> known = places.stream()
                .filter(place -> Double.isFinite(logarithm.applyAsDouble(place)))
                .toList();
        return LinearFit.of(
                known.stream()
                        .mapToDouble(place -> Math.log(place.level(memory())))
                        .toArray(),
                known.stream().mapToDouble(logarithm).toArray());
    }

    Optional<LinearFit> baselineOverMemory(Metric metric) {
        return overMemory(place -> Math.log(place.baseline(metric.name())));
    }

    Optional<LinearFit> effectOverMemory(Metric metric) {
        return overMemory(place -> place.logRatio(metric.name()));
    }

    /** Returns the naive effect over all levels, as if each were a repetition. */
    Optional<MeanInterval> naive(Metric metric) {
        return MeanInterval.of(places.stream()
                .mapToDouble(place -> place.logRatio(metric.name()))
                .filter(Double::isFinite)
                .toArray());
    }

    /** Returns how the naive effect of a sweep over memory scatters; absent where it is none, or nothing scatters. */
    Optional<MeanInterval> scatter() {
        return judged().filter(any -> isOfMemory()).flatMap(this::naive).filter(naive -> naive.sd() > 0);
    }

    /**
     * The effect where memory was to spare, with its interval where the table repeats itself.
     *
     * @param pressure NaN where it is not known
     */
    record Placebo(Place place, double pressure, double logRatio, Optional<Interval> ci90) {
        /** Returns true if it lies outside of the margins, or may. */
        boolean fails(double delta) {
            return Math.abs(logRatio) >= delta;
        }

        boolean holds(double delta) {
            return ci90.filter(interval -> interval.within(delta)).isPresent();
        }
    }

    /** Returns the effect at the level with most memory. */
    Optional<Placebo> placebo(Metric metric) {
        Place most = places.getLast();
        double effect = most.logRatio(metric.name());
        return !isOfMemory() || Double.isNaN(effect)
                ? Optional.empty()
                : Optional.of(new Placebo(
                        most,
                        Demand.of(most).map(Demand::pressure).orElse(Double.NaN),
                        effect,
                        MeanInterval.of(most.logRatios(metric.name()), 0.9).map(MeanInterval::interval)));
    }

    /**
     * Returns the objection of the rule on doses to these effects; absent where it has none, or there is nothing to
     * judge.
     */
    Optional<String> objection(Metric metric, double delta) {
        List<DoseResponse.Level> levels = new ArrayList<>();
        for (Place place : places) {
            Optional<MeanInterval> effect = MeanInterval.of(place.logRatios(metric.name()), 0.9);
            double pressure = Demand.of(place).map(Demand::pressure).orElse(Double.NaN);
            if (effect.isEmpty() || Double.isNaN(pressure)) {
                return Optional.empty();
            }
            levels.add(new DoseResponse.Level(
                    pressure,
                    effect.get().mean(),
                    effect.get().sd() / Math.sqrt(effect.get().count()),
                    effect.get().count() - 1));
        }
        return new DoseResponse(levels).refutation(delta);
    }

    /** Returns a tail of the first arm that does not follow the load, and that the second arm lacks; absent else. */
    static Optional<MeanInterval> coldStart(double[] first, double[] second) {
        for (int i = 0; i < first.length; i++) {
            if (!(second[i] < LACKS * first[i])) {
                return Optional.empty();
            }
        }
        return first.length < FEWEST
                ? Optional.empty()
                : MeanInterval.of(first).filter(tail -> tail.sd() / tail.mean() < FLAT);
    }

    /** Returns the longest run of levels, from the smallest on, over which there is such a tail, in words. */
    Optional<String> coldStart(Metric p99) {
        List<Place> with = places.stream()
                .filter(place -> !place.comparisons(p99.name()).isEmpty())
                .toList();
        for (int last = with.size(); last >= FEWEST; last--) {
            List<Place> some = with.subList(0, last);
            Optional<MeanInterval> found = coldStart(
                    some.stream()
                            .mapToDouble(place -> place.baseline(p99.name()))
                            .toArray(),
                    some.stream()
                            .mapToDouble(place -> place.treatment(p99.name()))
                            .toArray());
            if (found.isPresent()) {
                MeanInterval tail = found.get();
                return Optional.of("The baseline's " + p99.title() + " is about the same at " + at(some.getFirst())
                        + " to " + some.getLast().where().get(axis) + " (mean " + Figure.rounded(tail.mean(), 1)
                        + " ms, standard deviation " + Figure.rounded(tail.sd(), 1) + ", "
                        + Figure.rounded(tail.sd() / tail.mean(), 2)
                        + " of the mean), and the other arm has nothing like it: that is what a cold start looks like,"
                        + " and eviction would grow with the load.");
            }
        }
        return Optional.empty();
    }

    /** Returns the step between two neighbours at which a metric falls off, if there is one. */
    Optional<Cliff> cliff(Metric metric) {
        return Cliff.of(places.stream()
                .filter(place -> place.measured(metric.name()) > 0)
                .map(place -> new Cliff.Point(at(place), place.measured(metric.name())))
                .toList());
    }
}
