package io.holdfast.evidence;

import java.util.Arrays;
import java.util.Optional;

/**
 * The effect without faith in a distribution: the median of all half differences between a BP and a PB pair.
 *
 * @param ci95 from the order statistics that the Mann-Whitney test cannot reject; absent with so few pairs that the
 *     test rejects nothing
 */
record HodgesLehmann(double value, Optional<Interval> ci95) {
    private static final double TAIL = 0.025;
    private static final double NORMAL_FACTOR = 1.959963984540054;
    /** The largest product of counts for which the exact distribution is computed. */
    private static final int MOST_EXACT = 1_600;

    static HodgesLehmann of(double[] bp, double[] pb) {
        double[] differences = new double[bp.length * pb.length];
        int at = 0;
        for (double normal : bp) {
            for (double reversed : pb) {
                differences[at++] = (normal - reversed) / 2;
            }
        }
        Arrays.sort(differences);
        int rank = criticalRank(bp.length, pb.length);
        Optional<Interval> ci = rank >= 1
                ? Optional.of(new Interval(differences[rank - 1], differences[differences.length - rank]))
                : Optional.empty();
        return new HodgesLehmann(Quantiles.ofSorted(differences, 0.5), ci);
    }

    /** The largest k with P(U < k) of at most 2.5 %. */
    private static int criticalRank(int m, int n) {
        double middle = m * n / 2.0;
        if (m * n > MOST_EXACT) {
            double spread = Math.sqrt(middle * (m + n + 1) / 6);
            return Math.max(0, (int) Math.floor(middle + 0.5 - NORMAL_FACTOR * spread));
        }
        double[] distribution = mannWhitney(m, n);
        double below = 0;
        int rank = 0;
        while (below + distribution[rank] <= TAIL) {
            below += distribution[rank];
            rank++;
        }
        return rank;
    }

    /** The distribution of U for m and n values, built up by the sample that the largest value comes from. */
    private static double[] mannWhitney(int m, int n) {
        double[][] row = new double[n + 1][];
        Arrays.fill(row, new double[] {1});
        for (int i = 1; i <= m; i++) {
            double[][] next = new double[n + 1][];
            next[0] = new double[] {1};
            for (int j = 1; j <= n; j++) {
                double[] distribution = new double[i * j + 1];
                double[] withoutFirst = row[j];
                double[] withoutSecond = next[j - 1];
                for (int u = 0; u < distribution.length; u++) {
                    double first = u >= j && u - j < withoutFirst.length ? withoutFirst[u - j] * i : 0;
                    double second = u < withoutSecond.length ? withoutSecond[u] * j : 0;
                    distribution[u] = (first + second) / (i + j);
                }
                next[j] = distribution;
            }
            row = next;
        }
        return row[n];
    }
}
