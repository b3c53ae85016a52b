package io.holdfast.evidence;

import java.util.Arrays;

/**
 * Confidence that each of several looks at growing data needs, so that all together are wrong no more often than
 * allowed. One-sided.
 */
public final class ErrorSpending {
    /*
     * Who looks twenty times at 5 % each finds something in one of three series of nothing. So the error that is
     * allowed in all is spent a little at each look, by a function of the part of the data that is there (Lan and
     * DeMets): its cube root, for what is mostly plain at the first looks and may be looked at for long all the same.
     * What remains is to find the bound at which a look spends just its part. The sum behind the estimate is a random
     * walk whose steps are independent, so the density of walks that have not crossed yet is carried from look to look:
     * convolved with a step's density, and cut at the bound.
     *
     * A bound is kept as the probability of what lies beyond it and not as a factor, since the spread is estimated:
     * whoever applies it to few values takes Student's quantile of the same probability.
     */
    private static final double STEP = 0.02;
    private static final double FARTHEST = 5;

    private final int first;
    private final double[] levels;

    /**
     * @param error how often all looks together may be wrong, below a half
     * @param looks at equal distances, the last with all the data
     * @param first the first at which anything is said; what would have been spent before is spent there
     */
    public ErrorSpending(double error, int looks, int first) {
        if (!(error > 0 && error < 0.5) || first < 1 || first > looks) {
            throw new IllegalArgumentException("Looks " + first + " to " + looks + " cannot spend an error of " + error
                    + ": it lies between 0 and 0.5, and the first look is one of them.");
        }
        this.first = first;
        this.levels = levels(error, looks, first);
    }

    /** The one-sided level of a look, counted from 1; absent looks, before the first, have none and answer 0. */
    public double level(int look) {
        return look < first ? 0 : levels[Math.min(look, levels.length) - 1];
    }

    private static double[] levels(double error, int looks, int first) {
        double[] levels = new double[looks];
        double sd = Math.sqrt(1.0 / looks);
        double[] density = normal(Math.sqrt((double) first / looks));
        double[] step = normal(sd);
        double before = 0;
        for (int look = first; look <= looks; look++) {
            if (look > first) {
                density = convolved(density, step, (int) Math.ceil(FARTHEST * sd / STEP));
            }
            double spent = error * Math.cbrt((double) look / looks);
            double bound = cut(density, spent - before);
            before = spent;
            levels[look - 1] = beyond(bound / Math.sqrt((double) look / looks));
        }
        return levels;
    }

    private static double[] normal(double sd) {
        int half = (int) Math.round(FARTHEST / STEP);
        double[] density = new double[2 * half + 1];
        for (int i = 0; i < density.length; i++) {
            double z = (i - half) * STEP / sd;
            density[i] = Math.exp(-z * z / 2) / (sd * Math.sqrt(2 * Math.PI));
        }
        return density;
    }

    private static double[] convolved(double[] density, double[] step, int reach) {
        int half = (step.length - 1) / 2;
        double[] sum = new double[density.length];
        for (int to = 0; to < sum.length; to++) {
            double here = 0;
            for (int from = Math.max(0, to - reach); from <= Math.min(density.length - 1, to + reach); from++) {
                here += density[from] * step[half + to - from];
            }
            sum[to] = here * STEP;
        }
        return sum;
    }

    /** Takes this much off the upper end, and answers where that begins. */
    private static double cut(double[] density, double mass) {
        double taken = 0;
        for (int i = density.length - 1; i > 0; i--) {
            double cell = density[i] * STEP;
            if (taken + cell >= mass) {
                double part = (mass - taken) / cell;
                density[i] *= 1 - part;
                return (i - (density.length - 1) / 2.0 + 0.5 - part) * STEP;
            }
            taken += cell;
            density[i] = 0;
        }
        throw new IllegalStateException("There is less than " + mass + " to cut off.");
    }

    private static double beyond(double z) {
        return new StudentT(1e7).cdf(-z);
    }

    @Override
    public String toString() {
        return "levels " + Arrays.toString(levels) + " from look " + first;
    }
}
