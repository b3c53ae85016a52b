package io.holdfast.evidence;

import java.util.Arrays;

/**
 * What the pairs of a crossover measured: one log ratio per pair, {@code ln(second leg) - ln(first leg)}.
 *
 * <p>The measured value must be one of which less is better (a latency). For one of which more is better (throughput)
 * hand in the negated log ratios.
 */
public final class CrossoverData {
    private final double[] aa;
    private final double[] bp;
    private final double[] pb;

    private CrossoverData(double[] aa, double[] bp, double[] pb) {
        this.aa = aa;
        this.bp = bp;
        this.pb = pb;
    }

    /**
     * Takes the log ratios of the pairs, which are copied.
     *
     * @param aa baseline then baseline, in the order of the server lives
     * @param bp baseline then pinned: the normal order
     * @param pb pinned then baseline: the reversed order
     */
    public static CrossoverData of(double[] aa, double[] bp, double[] pb) {
        return new CrossoverData(
                Finite.copy("the AA log ratios", aa),
                Finite.copy("the BP log ratios", bp),
                Finite.copy("the PB log ratios", pb));
    }

    /** The log ratios of one order, as a copy. */
    public double[] of(PairOrder order) {
        return switch (order) {
            case AA -> aa.clone();
            case BP -> bp.clone();
            case PB -> pb.clone();
        };
    }

    public int count(PairOrder order) {
        return switch (order) {
            case AA -> aa.length;
            case BP -> bp.length;
            case PB -> pb.length;
        };
    }

    /** The number of pairs of all orders. */
    public int pairs() {
        return aa.length + bp.length + pb.length;
    }

    /** The number of pairs of the order that has fewest. */
    public int fewest() {
        return Math.min(aa.length, Math.min(bp.length, pb.length));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CrossoverData that
                && Arrays.equals(aa, that.aa)
                && Arrays.equals(bp, that.bp)
                && Arrays.equals(pb, that.pb);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * Arrays.hashCode(aa) + Arrays.hashCode(bp)) + Arrays.hashCode(pb);
    }

    @Override
    public String toString() {
        return "AA " + Arrays.toString(aa) + ", BP " + Arrays.toString(bp) + ", PB " + Arrays.toString(pb);
    }
}
