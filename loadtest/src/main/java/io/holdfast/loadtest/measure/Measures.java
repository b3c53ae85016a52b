package io.holdfast.loadtest.measure;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.journal.CacheEvents;
import io.holdfast.loadtest.journal.RequestRecord;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.function.Function;

/**
 * Values by metric, in an order for people. What was not measured is not there: never zero.
 *
 * <p>Requests that were not answered well are in no value but {@link Metric#ERRORS}.
 */
public record Measures(Map<Metric, Double> values) {
    private static final List<Double> PERCENTILES = List.of(50.0, 90.0, 95.0, 99.0);

    public Measures {
        values.forEach((metric, value) -> {
            if (!Double.isFinite(value)) {
                throw new IllegalArgumentException("The value of " + metric.name() + " is " + value + ".");
            }
        });
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }

    /** Computes the measures of a list of requests, with the usual percentiles and no limits. */
    public static Measures of(List<RequestRecord> requests) {
        return of(requests, PERCENTILES, Optional.empty());
    }

    /**
     * Computes the measures of a list of requests.
     *
     * @param percentiles as 50 or 99.9
     * @param slo limits that a request has to keep to count into goodput, where goodput is wanted
     */
    public static Measures of(List<RequestRecord> requests, List<Double> percentiles, Optional<Slo> slo) {
        List<RequestRecord> ok = requests.stream().filter(RequestRecord::isOk).toList();
        Map<Metric, Double> values = new LinkedHashMap<>();
        values.put(Metric.ERRORS, (double) requests.size() - ok.size());
        OptionalDouble prompts = total(ok, RequestRecord::promptTokens);
        OptionalDouble answers = total(ok, RequestRecord::completionTokens);
        OptionalDouble cached = total(ok, RequestRecord::cachedTokens);
        seconds(ok).ifPresent(seconds -> {
            values.put(Metric.DURATION, seconds);
            values.put(Metric.REQUEST_THROUGHPUT, ok.size() / seconds);
            answers.ifPresent(tokens -> values.put(Metric.OUTPUT_THROUGHPUT, tokens / seconds));
            if (answers.isPresent() && prompts.isPresent()) {
                values.put(Metric.TOTAL_THROUGHPUT, (answers.getAsDouble() + prompts.getAsDouble()) / seconds);
            }
            slo.ifPresent(limits -> {
                long good = requests.stream().filter(limits::isMetBy).count();
                values.put(Metric.GOODPUT, good / seconds);
                values.put(Metric.GOOD_SHARE, (double) good / requests.size());
            });
            double underWay = ok.stream()
                    .mapToDouble(request -> request.endToEndMillis().orElse(0) / 1e3)
                    .sum();
            values.put(Metric.CONCURRENCY, underWay / seconds);
        });
        for (Quantity quantity : Quantity.values()) {
            reduce(quantity, ok.stream().flatMapToDouble(quantity::of).sorted().toArray(), percentiles, values);
        }
        prompts.ifPresent(tokens -> values.put(Metric.PROMPT_TOKENS, tokens / ok.size()));
        answers.ifPresent(tokens -> values.put(Metric.COMPLETION_TOKENS, tokens / ok.size()));
        if (cached.isPresent() && prompts.orElse(0) > 0) {
            values.put(Metric.CACHED_SHARE, cached.getAsDouble() / prompts.getAsDouble());
        }
        return new Measures(values);
    }

    /** The sum over all; absent where one of them does not tell. */
    private static OptionalDouble total(List<RequestRecord> ok, Function<RequestRecord, OptionalInt> tokens) {
        return ok.isEmpty()
                        || ok.stream().anyMatch(request -> tokens.apply(request).isEmpty())
                ? OptionalDouble.empty()
                : OptionalDouble.of(ok.stream()
                        .mapToDouble(request -> tokens.apply(request).getAsInt())
                        .sum());
    }

    /**
     * Computes the metrics of single values in milliseconds, no matter what measured them; empty where there are no
     * values.
     */
    public static Map<Metric, Double> of(Quantity quantity, double[] values) {
        Map<Metric, Double> all = new LinkedHashMap<>();
        reduce(quantity, Arrays.stream(values).sorted().toArray(), PERCENTILES, all);
        return all;
    }

    /** Adds what an engine reported about its cache. */
    public Measures with(CacheEvents events) {
        Map<Metric, Double> all = new LinkedHashMap<>(values);
        all.put(Metric.BLOCKS_STORED, (double) events.stored());
        all.put(Metric.BLOCKS_REMOVED, (double) events.removed());
        all.put(Metric.CACHE_CLEARS, (double) events.clears());
        return new Measures(all);
    }

    public OptionalDouble of(Metric metric) {
        Double value = values.get(metric);
        return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
    }

    private static void reduce(
            Quantity quantity, double[] sorted, List<Double> percentiles, Map<Metric, Double> values) {
        if (sorted.length == 0) {
            return;
        }
        double mean = Arrays.stream(sorted).average().orElseThrow();
        values.put(Metric.mean(quantity), mean);
        percentiles.forEach(
                percent -> values.put(Metric.percentile(quantity, percent), Quantiles.ofSorted(sorted, percent / 100)));
        double squares = Arrays.stream(sorted)
                .map(value -> (value - mean) * (value - mean))
                .sum();
        values.put(Metric.std(quantity), sorted.length < 2 ? 0 : Math.sqrt(squares / (sorted.length - 1)));
        values.put(Metric.min(quantity), sorted[0]);
        values.put(Metric.max(quantity), sorted[sorted.length - 1]);
    }

    /** Returns the seconds from the first request sent to the last token, among those that were answered. */
    private static OptionalDouble seconds(List<RequestRecord> ok) {
        long first = ok.stream().mapToLong(RequestRecord::sent).min().orElse(0);
        long last = ok.stream()
                .flatMapToLong(request -> request.lastToken().stream())
                .max()
                .orElse(first);
        return last > first ? OptionalDouble.of((last - first) / 1e9) : OptionalDouble.empty();
    }
}
