package io.holdfast.evidence;

import java.util.OptionalInt;
import java.util.function.IntPredicate;

/** Pairs of each order that an experiment needs before it can tell, and what it can tell with so many. */
public final class RequiredPairs {
    /** Nobody runs more server lives than this. */
    private static final int MOST = 100_000;

    private RequiredPairs() {}

    /**
     * The pairs per order that find an effect with 80 % power at a two-sided 5 % level.
     *
     * @param sd standard deviation of the log ratios of pairs
     * @param effect the log ratio to be found
     * @return at least 2; absent when no practical number is enough
     */
    public static OptionalInt toDetect(double sd, double effect) {
        double needed = square(sd / effect) / 2;
        return smallest(n -> n >= needed * square(t(n).quantile(0.975) + t(n).quantile(0.80)));
    }

    /**
     * The smallest log ratio that so many pairs of each order find with 80 % power at a two-sided 5 % level.
     *
     * @param sd standard deviation of the log ratios of pairs
     */
    public static double detectable(double sd, int perOrder) {
        if (perOrder < 2) {
            throw new IllegalArgumentException(
                    "An effect is found by at least 2 pairs of each order, not " + perOrder + ".");
        }
        StudentT t = t(perOrder);
        return sd * (t.quantile(0.975) + t.quantile(0.80)) / Math.sqrt(2.0 * perOrder);
    }

    /** The pairs per order whose 90 % interval reaches less than {@code distance} to either side. */
    static OptionalInt toNarrow(double sd, double distance) {
        return toNarrow(sd, distance, 0.90);
    }

    /** Pairs for an interval of that confidence. */
    static OptionalInt toNarrow(double sd, double distance, double confidence) {
        return smallest(n -> t(n).factor(confidence) * sd / Math.sqrt(2.0 * n) < distance);
    }

    private static StudentT t(int perOrder) {
        return new StudentT(2.0 * perOrder - 2);
    }

    private static double square(double x) {
        return x * x;
    }

    /** The smallest number from 2 on from which the condition holds. */
    private static OptionalInt smallest(IntPredicate enough) {
        int low = 2;
        int high = 2;
        while (!enough.test(high)) {
            if (high == MOST) {
                return OptionalInt.empty();
            }
            low = high + 1;
            high = Math.min(MOST, 2 * high);
        }
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (enough.test(middle)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        return OptionalInt.of(low);
    }
}
