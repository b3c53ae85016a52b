package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Quantiles;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;

/**
 * A quantile of the requests of an arm, in milliseconds. It describes them and decides nothing: requests of one leg are
 * not independent of each other.
 *
 * @param ci95 by the ranks of order statistics; absent where the sample is too small to bound it on both sides
 */
public record QuantileRange(double quantile, double value, Optional<Interval> ci95) {
    private static final double[] SHOWN = {0.5, 0.9, 0.95, 0.99};

    static List<QuantileRange> of(double[] sample) {
        if (sample.length == 0) {
            return List.of();
        }
        double[] sorted = sample.clone();
        Arrays.sort(sorted);
        return DoubleStream.of(SHOWN)
                .mapToObj(quantile -> new QuantileRange(
                        quantile,
                        Quantiles.ofSorted(sorted, quantile),
                        Quantiles.ranks(sorted.length, quantile).in(sorted)))
                .toList();
    }
}
