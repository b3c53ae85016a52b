package io.holdfast.workbench.table;

import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.measure.Metric;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;

/**
 * All that a table has of one configuration. A number that it does not have is NaN, which is above and below nothing.
 *
 * @param compared one for each metric and repetition
 * @param plain numbers that belong to no arm
 */
record Place(Map<String, String> where, List<Comparison> compared, List<Observation> plain) {
    static List<Place> of(PublishedTable table) {
        return of(table.observations(), table.comparisons());
    }

    static List<Place> of(List<Observation> observations, List<Comparison> comparisons) {
        Map<Map<String, String>, Place> places = new LinkedHashMap<>();
        comparisons.forEach(each -> at(places, each.where()).compared.add(each));
        observations.stream()
                .filter(each -> each.side().isEmpty())
                .forEach(each -> at(places, each.where()).plain.add(each));
        return List.copyOf(places.values());
    }

    private static Place at(Map<Map<String, String>, Place> places, Map<String, String> where) {
        return places.computeIfAbsent(where, any -> new Place(where, new ArrayList<>(), new ArrayList<>()));
    }

    /** Returns a place for people, as {@code concurrency 32, model Qwen3}. */
    static String text(Map<String, String> where) {
        return where.entrySet().stream()
                .map(each -> each.getKey() + " " + each.getValue())
                .sorted()
                .collect(Collectors.joining(", "));
    }

    /** Returns the metrics that it compares. */
    Set<Metric> comparedMetrics() {
        return compared.stream().map(Comparison::metric).collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /** Returns the metrics of numbers that belong to no arm. */
    Set<Metric> plainMetrics() {
        return plain.stream().map(Observation::metric).collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /** Returns the values of a metric that belong to no arm, one for each repetition. */
    double[] values(Metric metric) {
        return plain.stream()
                .filter(each -> each.metric().equals(metric))
                .mapToDouble(Observation::value)
                .toArray();
    }

    /** Returns the first number of a metric that belongs to no arm. */
    Optional<Observation> plain(String metric) {
        return plain.stream()
                .filter(each -> each.metric().name().equals(metric))
                .findFirst();
    }

    static Set<Metric> metrics(Collection<Place> places) {
        return places.stream()
                .flatMap(place -> Stream.concat(place.comparedMetrics().stream(), place.plainMetrics().stream()))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    /** Returns the comparisons of a metric, one for each repetition; empty where it is not compared. */
    List<Comparison> comparisons(String metric) {
        return compared.stream()
                .filter(each -> each.metric().name().equals(metric))
                .toList();
    }

    /** Returns the first comparison of each metric. */
    List<Comparison> firstOfEach() {
        return comparedMetrics().stream()
                .map(metric -> comparisons(metric.name()).getFirst())
                .toList();
    }

    /** Returns the log ratios of treatment to baseline, one for each repetition that is no control. */
    double[] logRatios(String metric) {
        return numbers(comparisons(metric).stream().filter(each -> !each.isControl()), Comparison::logRatio)
                .toArray();
    }

    /** Returns the mean of the log ratios. */
    double logRatio(String metric) {
        return DoubleStream.of(logRatios(metric)).average().orElse(Double.NaN);
    }

    double baseline(String metric) {
        return mean(comparisons(metric).stream().map(Comparison::baseline));
    }

    double treatment(String metric) {
        return mean(comparisons(metric).stream().map(Comparison::treatment));
    }

    /** Returns the value measured in no arm, or in the baseline where there are arms. */
    double measured(String metric) {
        double own = mean(plain.stream().filter(each -> each.metric().name().equals(metric)));
        return Double.isNaN(own) ? baseline(metric) : own;
    }

    /** Returns a level as a number. */
    double level(String name) {
        return Figure.value(where.get(name));
    }

    private static double mean(Stream<Observation> some) {
        return some.mapToDouble(Observation::value).average().orElse(Double.NaN);
    }

    private static <T> DoubleStream numbers(Stream<T> all, ToDoubleFunction<T> of) {
        return all.mapToDouble(of).filter(number -> !Double.isNaN(number));
    }

    /**
     * Returns pairs for the crossover model: the logarithm of the second leg over the first, of values where less is
     * better.
     */
    CrossoverData pairs(Metric metric) {
        double sign = metric.better() == Metric.Better.HIGHER ? -1 : 1;
        return CrossoverData.of(
                ratios(metric, PairOrder.AA, sign),
                ratios(metric, PairOrder.BP, sign),
                ratios(metric, PairOrder.PB, -sign));
    }

    private double[] ratios(Metric metric, PairOrder order, double sign) {
        return numbers(
                        comparisons(metric.name()).stream()
                                .filter(each -> each.order().equals(Optional.of(order))),
                        each -> sign * each.logRatio())
                .toArray();
    }

    /** Returns the metric by which an effect is judged: the median of times to first token, or what comes closest. */
    Optional<Metric> judged() {
        Set<Metric> metrics = comparedMetrics();
        return Stream.of("ttft_p50", "ttft_mean", "ttft")
                .flatMap(name -> metrics.stream().filter(each -> each.name().equals(name)))
                .findFirst()
                .or(() -> metrics.stream()
                        .filter(each -> each.better() != Metric.Better.NEITHER)
                        .findFirst());
    }

    /** Reports a mean and a median that disagree in their direction. */
    Optional<String> mixed() {
        return comparedMetrics().stream()
                .filter(metric -> metric.name().endsWith("_mean"))
                .flatMap(mean -> comparedMetrics().stream()
                        .filter(metric -> metric.name().equals(mean.name().replace("_mean", "_p50")))
                        .filter(median -> logRatio(mean.name()) * logRatio(median.name()) < 0)
                        .map(median -> "MIXED: " + mean.title() + " changes by "
                                + TableReview.percent(logRatio(mean.name())) + ", and " + median.title() + " by "
                                + TableReview.percent(logRatio(median.name()))
                                + "; no headline can be either of them."))
                .findFirst();
    }

    /**
     * Returns the number of requests as slow as the baseline's P99, in place of its median, that make up for all that
     * the mean saves.
     */
    double firstWave() {
        double saved = baseline("ttft_mean") - treatment("ttft_mean");
        double height = baseline("ttft_p99") - baseline("ttft_p50");
        return saved > 0 && height > 0 ? saved * level(Column.REQUESTS) / height : Double.NaN;
    }
}
