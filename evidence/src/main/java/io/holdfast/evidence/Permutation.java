package io.holdfast.evidence;

import java.util.OptionalLong;
import java.util.function.IntPredicate;
import java.util.random.RandomGenerator;

/**
 * The permutation test of the two orders: among all ways to deal the labels BP and PB to the measured pairs, how many
 * set the orders at least as far apart as the experiment did.
 *
 * @param extreme the relabelings at least as far apart, the true one included
 * @param relabelings the relabelings looked at
 * @param exact whether these are all that there are
 */
public record Permutation(long extreme, long relabelings, boolean exact) {
    /** Up to this many relabelings all are looked at, above it as many are drawn. */
    public static final int MOST_RELABELINGS = 100_000;

    /** So many values have fewer ways to deal their signs than that. */
    private static final int MOST_SIGNS = 16;

    public double p() {
        return (double) extreme / relabelings;
    }

    static Permutation of(double[] bp, double[] pb, RandomGenerator random) {
        double[] all = new double[bp.length + pb.length];
        System.arraycopy(bp, 0, all, 0, bp.length);
        System.arraycopy(pb, 0, all, bp.length, pb.length);
        Deal deal = new Deal(all, bp.length);
        OptionalLong ways = choose(all.length, bp.length);
        return ways.isPresent() ? deal.everyWay(ways.getAsLong()) : deal.draws(random);
    }

    /** Tests one sample, where chance gives each value its sign. */
    static Permutation ofSigns(double[] values, RandomGenerator random) {
        double total = 0;
        double size = 0;
        for (double value : values) {
            total += value;
            size += Math.abs(value);
        }
        double threshold = Math.abs(total) - 1e-12 * size;
        if (values.length <= MOST_SIGNS) {
            long ways = 1L << values.length;
            long extreme = 0;
            for (long signs = 0; signs < ways; signs++) {
                long turned = signs;
                extreme += Math.abs(sum(values, at -> (turned >> at & 1) == 1)) >= threshold ? 1 : 0;
            }
            return new Permutation(extreme, ways, true);
        }
        long extreme = 1;
        for (int draw = 0; draw < MOST_RELABELINGS; draw++) {
            extreme += Math.abs(sum(values, at -> random.nextBoolean())) >= threshold ? 1 : 0;
        }
        return new Permutation(extreme, MOST_RELABELINGS + 1L, false);
    }

    private static double sum(double[] values, IntPredicate turned) {
        double sum = 0;
        for (int i = 0; i < values.length; i++) {
            sum += turned.test(i) ? -values[i] : values[i];
        }
        return sum;
    }

    /** The number of ways to choose k of n, absent when there are more than {@link #MOST_RELABELINGS}. */
    private static OptionalLong choose(int n, int k) {
        long ways = 1;
        for (int i = 1; i <= Math.min(k, n - k); i++) {
            ways = ways * (n - i + 1) / i;
            if (ways > MOST_RELABELINGS) {
                return OptionalLong.empty();
            }
        }
        return OptionalLong.of(ways);
    }

    /** The pooled log ratios, of which {@code chosen} are to be called BP. */
    private static final class Deal {
        private final double[] all;
        private final int chosen;
        private final double total;
        private final double threshold;

        Deal(double[] all, int chosen) {
            this.all = all;
            this.chosen = chosen;
            double sum = 0;
            double first = 0;
            double size = 0;
            for (int i = 0; i < all.length; i++) {
                sum += all[i];
                first += i < chosen ? all[i] : 0;
                size += Math.abs(all[i]);
            }
            total = sum;
            // Equal sums must count as equal in whatever order they were added.
            threshold = distance(first) - 1e-12 * size;
        }

        private double distance(double sumOfChosen) {
            return Math.abs(sumOfChosen / chosen - (total - sumOfChosen) / (all.length - chosen));
        }

        private boolean isExtreme(double sumOfChosen) {
            return distance(sumOfChosen) >= threshold;
        }

        Permutation everyWay(long ways) {
            return new Permutation(countFrom(0, chosen, 0), ways, true);
        }

        private long countFrom(int start, int missing, double sum) {
            if (missing == 0) {
                return isExtreme(sum) ? 1 : 0;
            }
            long count = 0;
            for (int i = start; i <= all.length - missing; i++) {
                count += countFrom(i + 1, missing - 1, sum + all[i]);
            }
            return count;
        }

        Permutation draws(RandomGenerator random) {
            double[] shuffled = all.clone();
            long extreme = 1;
            for (int draw = 0; draw < MOST_RELABELINGS; draw++) {
                double sum = 0;
                for (int i = 0; i < chosen; i++) {
                    int from = i + random.nextInt(shuffled.length - i);
                    double picked = shuffled[from];
                    shuffled[from] = shuffled[i];
                    shuffled[i] = picked;
                    sum += picked;
                }
                if (isExtreme(sum)) {
                    extreme++;
                }
            }
            return new Permutation(extreme, MOST_RELABELINGS + 1L, false);
        }
    }
}
