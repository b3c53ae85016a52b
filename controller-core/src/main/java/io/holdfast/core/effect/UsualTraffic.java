package io.holdfast.core.effect;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;

/** Number of requests that windows usually have, against which one may be too thin. */
final class UsualTraffic {
    private static final int WINDOWS = 20;
    private static final double THIN = 0.2;

    private final Deque<Double> rates = new ArrayDeque<>();

    /** Takes a window in, and says whether it has so few requests that it says nothing about busier ones. */
    Optional<String> thin(int requests, long nanos) {
        double rate = (double) requests / Math.max(1, nanos);
        double[] sorted =
                rates.stream().mapToDouble(Double::doubleValue).sorted().toArray();
        rates.addLast(rate);
        if (rates.size() > WINDOWS) {
            rates.removeFirst();
        }
        return sorted.length > 0 && rate < THIN * sorted[sorted.length / 2]
                ? Optional.of("traffic was less than a fifth of what is usual, so it says nothing about that")
                : Optional.empty();
    }
}
