package io.holdfast.evidence;

import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.IntPredicate;

/**
 * Quantiles of one leg's requests and how far they can be trusted.
 *
 * <p>The value is Hyndman and Fan's definition 7: linear between the order statistics around {@code (n - 1) q}. The
 * bounds are ranks of order statistics and assume nothing about the distribution, but do assume independent requests:
 * they describe a leg and never decide a verdict.
 */
public final class Quantiles {
    private Quantiles() {}

    /** The {@code q}-quantile of the sample, in any order; the sample is left as it is. */
    public static double of(double[] sample, double q) {
        double[] sorted = Finite.copy("the sample", sample);
        Arrays.sort(sorted);
        return ofSorted(sorted, q);
    }

    /** The {@code q}-quantile of a sample that is sorted already, for callers that need several of them. */
    public static double ofSorted(double[] sorted, double q) {
        if (sorted.length == 0) {
            throw new IllegalArgumentException("A quantile needs at least one value; the sample is empty.");
        }
        if (!(q >= 0 && q <= 1)) {
            throw new IllegalArgumentException("A quantile lies between 0 and 1, not at " + q + ".");
        }
        double position = (sorted.length - 1) * q;
        int below = (int) position;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (position - below) * (sorted[above] - sorted[below]);
    }

    /** The ranks whose order statistics enclose the true {@code q}-quantile of {@code n} values with 95 % confidence. */
    public static Ranks ranks(int n, double q) {
        return ranks(n, q, 0.95);
    }

    /** The ranks whose order statistics enclose the true {@code q}-quantile with this confidence. */
    public static Ranks ranks(int n, double q, double confidence) {
        if (n < 1 || !(q > 0 && q < 1) || !(confidence > 0 && confidence < 1)) {
            throw new IllegalArgumentException("Ranks need at least one value, and a quantile and a confidence between"
                    + " 0 and 1, not " + n + ", " + q + " and " + confidence + ".");
        }
        double tail = (1 - confidence) / 2;
        Binomial belowQuantile = new Binomial(n, q);
        int low = lastTrue(n, rank -> belowQuantile.fewerThan(rank) <= tail);
        int firstTooHigh = lastTrue(n, rank -> belowQuantile.atLeast(rank) > tail) + 1;
        return new Ranks(
                low >= 1 ? OptionalInt.of(low) : OptionalInt.empty(),
                firstTooHigh <= n ? OptionalInt.of(firstTooHigh) : OptionalInt.empty());
    }

    /** The largest rank of 1..n for which a condition holds that turns false once, or 0. */
    private static int lastTrue(int n, IntPredicate condition) {
        int known = 0;
        int unknown = n;
        while (known < unknown) {
            int middle = known + (unknown - known + 1) / 2;
            if (condition.test(middle)) {
                known = middle;
            } else {
                unknown = middle - 1;
            }
        }
        return known;
    }

    /** The ranks (from 1) of the lower and the upper bound of a quantile, each absent where the sample gives none. */
    public record Ranks(OptionalInt low, OptionalInt high) {
        /** The values at these ranks, present when the quantile is bounded on both sides. */
        public Optional<Interval> in(double[] sorted) {
            if (low.isEmpty() || high.isEmpty()) {
                return Optional.empty();
            }
            return Optional.of(new Interval(sorted[low.getAsInt() - 1], sorted[high.getAsInt() - 1]));
        }
    }
}
