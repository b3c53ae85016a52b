package io.holdfast.workbench.table;

import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.measure.Metric;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All that a table has of one configuration.
 *
 * @param compared by metric, one comparison for each repetition
 * @param plain by metric, numbers that belong to no arm
 */
record Place(Map<String, String> where, Map<Metric, List<Comparison>> compared, Map<Metric, List<Observation>> plain) {

    static List<Place> of(PublishedTable table) {
        Map<Map<String, String>, Place> places = new LinkedHashMap<>();
        for (Comparison each : table.comparisons()) {
            at(places, each.where())
                    .compared
                    .computeIfAbsent(each.metric(), any -> new ArrayList<>())
                    .add(each);
        }
        table.observations().stream()
                .filter(each -> each.side().isEmpty())
                .forEach(each -> at(places, each.where())
                        .plain
                        .computeIfAbsent(each.metric(), any -> new ArrayList<>())
                        .add(each));
        return List.copyOf(places.values());
    }

    private static Place at(Map<Map<String, String>, Place> places, Map<String, String> where) {
        return places.computeIfAbsent(where, any -> new Place(where, new LinkedHashMap<>(), new LinkedHashMap<>()));
    }

    /** One for each repetition; empty where the metric is not compared. */
    List<Comparison> comparisons(Metric metric) {
        return compared.getOrDefault(metric, List.of());
    }

    /** The mean log ratio of treatment to baseline over all repetitions. */
    OptionalDouble logRatio(Metric metric) {
        return logRatios(metric).average();
    }

    DoubleStream logRatios(Metric metric) {
        return comparisons(metric).stream()
                .filter(each -> !each.isControl())
                .flatMap(each -> each.logRatio().stream())
                .mapToDouble(Double::doubleValue);
    }

    /**
     * Returns pairs for the crossover model: the logarithm of the second leg over the first, of values where less is
     * better.
     */
    CrossoverData pairs(Metric metric) {
        Map<PairOrder, List<Double>> pairs = new EnumMap<>(PairOrder.class);
        double sign = metric.better() == Metric.Better.HIGHER ? -1 : 1;
        for (Comparison each : comparisons(metric)) {
            if (each.order().isPresent() && each.logRatio().isPresent()) {
                PairOrder order = each.order().get();
                double ratio = sign * each.logRatio().get() * (order == PairOrder.PB ? -1 : 1);
                pairs.computeIfAbsent(order, any -> new ArrayList<>()).add(ratio);
            }
        }
        return CrossoverData.of(
                numbers(pairs.get(PairOrder.AA)), numbers(pairs.get(PairOrder.BP)), numbers(pairs.get(PairOrder.PB)));
    }

    private static double[] numbers(@Nullable List<Double> list) {
        return list == null
                ? new double[0]
                : list.stream().mapToDouble(Double::doubleValue).toArray();
    }

    OptionalDouble baseline(Metric metric) {
        return comparisons(metric).stream()
                .mapToDouble(each -> each.baseline().value())
                .average();
    }

    OptionalDouble treatment(Metric metric) {
        return comparisons(metric).stream()
                .mapToDouble(each -> each.treatment().value())
                .average();
    }

    /** Returns the value measured in no arm, or in the baseline where there are arms. */
    OptionalDouble measured(Metric metric) {
        List<Observation> own = plain.getOrDefault(metric, List.of());
        return own.isEmpty()
                ? baseline(metric)
                : own.stream().mapToDouble(Observation::value).average();
    }

    /** Returns a level as a number; absent where the table does not give it. */
    OptionalDouble level(String name) {
        return Optional.ofNullable(where.get(name)).flatMap(Figure::of).stream()
                .mapToDouble(figure -> figure.number().doubleValue())
                .findFirst();
    }

    /** The metric by which an effect is judged: the median of times to first token, or what comes closest. */
    Optional<Metric> judged() {
        Collection<Metric> metrics = compared.keySet();
        return Stream.of("ttft_p50", "ttft_mean", "ttft")
                .flatMap(name -> metrics.stream().filter(each -> each.name().equals(name)))
                .findFirst()
                .or(() -> metrics.stream()
                        .filter(each -> each.better() != Metric.Better.NEITHER)
                        .findFirst());
    }

    /** Reports a mean and a median that disagree in their direction. */
    Optional<String> mixed() {
        for (Metric mean : compared.keySet()) {
            Optional<Metric> median = mean.name().endsWith("_mean")
                    ? Place.named(compared.keySet(), mean.name().replace("_mean", "_p50"))
                    : Optional.empty();
            OptionalDouble of = logRatio(mean);
            OptionalDouble by = median.map(this::logRatio).orElse(OptionalDouble.empty());
            if (of.isPresent() && by.isPresent() && of.getAsDouble() * by.getAsDouble() < 0) {
                return Optional.of(
                        "MIXED: " + mean.title() + " changes by " + TableReview.percent(of.getAsDouble()) + ", and "
                                + median.orElseThrow().title() + " by " + TableReview.percent(by.getAsDouble())
                                + "; no headline can be either of them.");
            }
        }
        return Optional.empty();
    }

    /**
     * Returns the number of requests as slow as the baseline's P99, in place of its median, that make up for all that
     * the mean saves.
     */
    Optional<Double> firstWave() {
        Set<Metric> metrics = compared.keySet();
        Optional<Metric> mean = Place.named(metrics, "ttft_mean");
        Optional<Metric> median = Place.named(metrics, "ttft_p50");
        Optional<Metric> tail = Place.named(metrics, "ttft_p99");
        OptionalDouble requests = level(Column.REQUESTS);
        if (mean.isEmpty() || median.isEmpty() || tail.isEmpty() || requests.isEmpty()) {
            return Optional.empty();
        }
        double saved =
                baseline(mean.get()).orElseThrow() - treatment(mean.get()).orElseThrow();
        double height =
                baseline(tail.get()).orElseThrow() - baseline(median.get()).orElseThrow();
        return saved > 0 && height > 0 ? Optional.of(saved * requests.getAsDouble() / height) : Optional.empty();
    }

    /** Its metrics of this name, which has none or one. */
    static Optional<Metric> named(Collection<Metric> metrics, String name) {
        return metrics.stream().filter(each -> each.name().equals(name)).findFirst();
    }
}
