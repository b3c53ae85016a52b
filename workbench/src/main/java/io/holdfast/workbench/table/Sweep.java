package io.holdfast.workbench.table;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.MeanInterval;
import io.holdfast.loadtest.measure.Metric;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Function;
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

    private static final double CLIFF = 2;

    /** Share of the best from which another reason may choose. */
    private static final double AS_GOOD = 0.95;

    Sweep {
        places = List.copyOf(places);
    }

    /** The sweeps of a table: one for each model, workload or whatever else its rows differ in. */
    static List<Sweep> of(PublishedTable table) {
        List<Place> places = Place.of(table);
        Optional<String> axis = table.levels().stream()
                .filter(level -> distinct(places, place -> place.where().getOrDefault(level, "")) >= FEWEST)
                .filter(level ->
                        places.stream().allMatch(place -> place.level(level).orElse(0) > 0))
                .findFirst();
        if (axis.isEmpty()) {
            return List.of();
        }
        Set<String> along = table.levels().stream()
                .filter(level -> goesAlong(places, axis.get(), level))
                .collect(Collectors.toSet());
        Map<Map<String, String>, List<Place>> groups = new LinkedHashMap<>();
        for (Place place : places) {
            Map<String, String> key = new HashMap<>(place.where());
            key.keySet().removeAll(along);
            groups.computeIfAbsent(key, any -> new ArrayList<>()).add(place);
        }
        return groups.values().stream()
                .filter(group -> group.size() >= FEWEST)
                .map(group -> new Sweep(
                        axis.get(),
                        group.stream()
                                .sorted(Comparator.comparingDouble(
                                        (Place place) -> place.level(axis.get()).orElseThrow()))
                                .toList()))
                .toList();
    }

    private static boolean goesAlong(List<Place> places, String axis, String level) {
        return places.stream()
                .collect(Collectors.groupingBy(place -> place.where().getOrDefault(axis, "")))
                .values()
                .stream()
                .allMatch(same -> distinct(same, place -> place.where().getOrDefault(level, "")) == 1);
    }

    private static long distinct(List<Place> places, Function<Place, String> of) {
        return places.stream().map(of).distinct().count();
    }

    /** Returns the range of all levels, as {@code concurrency 4 to 32}. */
    String range() {
        return range(places);
    }

    private String range(List<Place> some) {
        return axis + " " + some.getFirst().where().get(axis) + " to "
                + some.getLast().where().get(axis);
    }

    /** Returns true if a higher level is more memory for the same load. */
    boolean isOfMemory() {
        return axis.equals(Column.MEMORY) || axis.equals(Column.CAPACITY) || axis.equals(Column.BLOCKS);
    }

    boolean isOfLoad() {
        return axis.equals(Column.CONCURRENCY) || axis.equals(Column.RATE);
    }

    /** Returns the unit of memory: tokens where the table has them. */
    String memory() {
        return places.stream().allMatch(place -> place.level(Column.CAPACITY).orElse(0) > 0) ? Column.CAPACITY : axis;
    }

    /** A line through the logarithms of a value over the logarithm of memory. */
    Optional<LinearFit> overMemory(Function<Place, OptionalDouble> logarithm) {
        List<Place> known = places.stream()
                .filter(place -> logarithm.apply(place).isPresent())
                .toList();
        return LinearFit.of(
                known.stream()
                        .mapToDouble(place -> Math.log(place.level(memory()).orElseThrow()))
                        .toArray(),
                known.stream()
                        .mapToDouble(place -> logarithm.apply(place).orElseThrow())
                        .toArray());
    }

    Optional<LinearFit> baselineOverMemory(Metric metric) {
        return overMemory(place -> {
            OptionalDouble value = place.baseline(metric);
            return value.orElse(0) > 0 ? OptionalDouble.of(Math.log(value.getAsDouble())) : OptionalDouble.empty();
        });
    }

    Optional<LinearFit> effectOverMemory(Metric metric) {
        return overMemory(place -> place.logRatio(metric));
    }

    /** The naive effect over all levels, as if each were a repetition. */
    Optional<MeanInterval> naive(Metric metric) {
        return MeanInterval.of(places.stream()
                .flatMapToDouble(place -> place.logRatio(metric).stream())
                .toArray());
    }

    /** The effect where memory was to spare, with its interval where the table repeats itself. */
    record Placebo(Place place, OptionalDouble pressure, double logRatio, Optional<Interval> ci90) {
        /** Returns true if it lies outside of the margins, or may. */
        boolean fails(double delta) {
            return Math.abs(logRatio) >= delta;
        }

        boolean holds(double delta) {
            return ci90.map(interval -> interval.within(delta)).orElse(false);
        }
    }

    /** That of the level with most memory. */
    Optional<Placebo> placebo(Metric metric) {
        if (!isOfMemory()) {
            return Optional.empty();
        }
        Place most = places.getLast();
        OptionalDouble effect = most.logRatio(metric);
        return effect.isEmpty()
                ? Optional.empty()
                : Optional.of(new Placebo(
                        most,
                        Demand.of(most).stream()
                                .flatMapToDouble(demand -> demand.pressure().stream())
                                .findFirst(),
                        effect.getAsDouble(),
                        MeanInterval.of(most.logRatios(metric).toArray(), 0.9).map(MeanInterval::interval)));
    }

    /**
     * Returns the objection of the house's rule on doses to these effects; absent where it has none, or there is
     * nothing to judge.
     */
    Optional<String> objection(Metric metric, double delta) {
        List<DoseResponse.Level> levels = new ArrayList<>();
        for (Place place : places) {
            Optional<MeanInterval> effect =
                    MeanInterval.of(place.logRatios(metric).toArray(), 0.9);
            OptionalDouble pressure = Demand.of(place).map(Demand::pressure).orElse(OptionalDouble.empty());
            if (effect.isEmpty() || pressure.isEmpty()) {
                return Optional.empty();
            }
            levels.add(new DoseResponse.Level(
                    pressure.getAsDouble(),
                    effect.get().mean(),
                    effect.get().sd() / Math.sqrt(effect.get().count()),
                    effect.get().count() - 1));
        }
        return new DoseResponse(levels).refutation(delta);
    }

    /** A tail of the first arm that does not follow the load, and that the second arm lacks. */
    record ColdStart(double mean, double sd, double variation) {
        /** Absent where the tail follows the load, or the second arm has it, too. */
        static Optional<ColdStart> of(double[] first, double[] second) {
            if (first.length < FEWEST) {
                return Optional.empty();
            }
            MeanInterval tail = MeanInterval.of(first).orElseThrow();
            boolean lacked = true;
            for (int i = 0; i < first.length; i++) {
                lacked &= second[i] < LACKS * first[i];
            }
            ColdStart found = new ColdStart(tail.mean(), tail.sd(), tail.sd() / tail.mean());
            return lacked && found.variation < FLAT ? Optional.of(found) : Optional.empty();
        }
    }

    /** The longest run of levels, from the smallest on, over which there is such a tail, in words. */
    Optional<String> coldStart(Metric p99) {
        List<Place> with = places.stream()
                .filter(place -> place.compared().containsKey(p99))
                .toList();
        for (int last = with.size(); last >= FEWEST; last--) {
            List<Place> some = with.subList(0, last);
            Optional<ColdStart> found = ColdStart.of(
                    some.stream()
                            .mapToDouble(place -> place.baseline(p99).orElseThrow())
                            .toArray(),
                    some.stream()
                            .mapToDouble(place -> place.treatment(p99).orElseThrow())
                            .toArray());
            if (found.isPresent()) {
                return Optional.of(
                        "The baseline's %s is about the same at %s (mean %s ms, standard deviation %s, %s of the mean), and the other arm has nothing like it: that is what a cold start looks like, and eviction would grow with the load."
                                .formatted(
                                        p99.title(),
                                        range(some),
                                        Comparison.rounded(found.get().mean(), 1),
                                        Comparison.rounded(found.get().sd(), 1),
                                        Comparison.rounded(found.get().variation(), 2)));
            }
        }
        return Optional.empty();
    }

    /** Two neighbours of which one is more than twice as good, in words, with what is better chosen instead. */
    Optional<String> cliff(Metric metric) {
        boolean higher = metric.better() == Metric.Better.HIGHER;
        for (int i = 1; i < places.size(); i++) {
            double before = places.get(i - 1).measured(metric).orElse(0);
            double after = places.get(i).measured(metric).orElse(0);
            double loss = higher ? before / after : after / before;
            if (before > 0 && after > 0 && loss > CLIFF) {
                return Optional.of("Between %s %s and %s the %s is %s times worse. %s"
                        .formatted(
                                axis,
                                places.get(i - 1).where().get(axis),
                                places.get(i).where().get(axis),
                                metric.title(),
                                Comparison.rounded(loss, 1),
                                recommended(metric, places.subList(0, i), higher)));
            }
        }
        return Optional.empty();
    }

    private String recommended(Metric metric, List<Place> before, boolean higher) {
        Comparator<Place> byValue =
                Comparator.comparingDouble(place -> place.measured(metric).orElseThrow());
        Place best = before.stream().max(higher ? byValue : byValue.reversed()).orElseThrow();
        double goal = best.measured(metric).orElseThrow();
        Place first = before.stream()
                .filter(place -> {
                    double value = place.measured(metric).orElseThrow();
                    return higher ? value >= AS_GOOD * goal : goal >= AS_GOOD * value;
                })
                .findFirst()
                .orElseThrow();
        String chosen = first.where().get(axis);
        return first.equals(best)
                ? "Take " + axis + " " + chosen + ", the best before it."
                : "Take " + axis + " " + chosen + ": it is within 5 % of the best before it (" + axis + " "
                        + best.where().get(axis) + ") and further from the edge.";
    }
}
