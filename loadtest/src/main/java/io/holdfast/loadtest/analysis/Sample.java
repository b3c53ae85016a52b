package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Quantiles;
import java.util.Arrays;
import java.util.Optional;

/**
 * Summary of values of one kind, in their own unit. Quantiles are those of Hyndman and Fan's definition 7.
 *
 * @param sd with the divisor n - 1; 0 of a single value
 */
public record Sample(
        int count, double mean, double sd, double min, double p50, double p90, double p95, double p99, double max) {
    /** Summarises values; absent where there is no value. */
    public static Optional<Sample> of(double[] values) {
        if (values.length == 0) {
            return Optional.empty();
        }
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        double mean = Arrays.stream(sorted).average().orElseThrow();
        double squares = Arrays.stream(sorted)
                .map(value -> (value - mean) * (value - mean))
                .sum();
        return Optional.of(new Sample(
                sorted.length,
                mean,
                sorted.length == 1 ? 0 : Math.sqrt(squares / (sorted.length - 1)),
                sorted[0],
                Quantiles.ofSorted(sorted, 0.5),
                Quantiles.ofSorted(sorted, 0.9),
                Quantiles.ofSorted(sorted, 0.95),
                Quantiles.ofSorted(sorted, 0.99),
                sorted[sorted.length - 1]));
    }
}
