package io.holdfast.evidence;

import java.util.Arrays;
import java.util.stream.DoubleStream;

/**
 * Measurements of an experiment's lives: one log ratio per life.
 *
 * <p>Of a pair it is {@code ln(second leg) - ln(first leg)}; of a block the mean logarithm of its pinned legs less that
 * of its baseline legs.
 *
 * <p>The measured value must be one of which less is better (a latency). For one of which more is better (throughput)
 * hand in the negated log ratios.
 */
public final class CrossoverData {
    private static final double[] NONE = {};

    private final Design design;
    private final double[] aa;
    private final double[] normal;
    private final double[] reversed;

    private CrossoverData(Design design, double[] aa, double[] normal, double[] reversed) {
        this.design = design;
        this.aa = aa;
        this.normal = normal;
        this.reversed = reversed;
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
                Design.CROSSOVER,
                Finite.copy("the AA log ratios", aa),
                Finite.copy("the BP log ratios", bp),
                Finite.copy("the PB log ratios", pb));
    }

    /**
     * Takes the log ratios of pairs whose legs had a process each.
     *
     * @param bp baseline then pinned, second leg against first
     * @param pb pinned then baseline, second leg against first
     */
    public static CrossoverData freshLegs(double[] bp, double[] pb) {
        return new CrossoverData(
                Design.FRESH_LEGS, NONE, Finite.copy("the BP log ratios", bp), Finite.copy("the PB log ratios", pb));
    }

    /** Takes the log ratios of blocks, pinned legs against baseline legs. */
    public static CrossoverData blocks(double[] bppb, double[] pbbp) {
        return new CrossoverData(
                Design.BLOCKS,
                NONE,
                Finite.copy("the BPPB log ratios", bppb),
                Finite.copy("the PBBP log ratios", pbbp));
    }

    public Design design() {
        return design;
    }

    /** The log ratios of one order, as a copy; none of one that the design does not have. */
    public double[] of(PairOrder order) {
        return kept(order).clone();
    }

    private double[] kept(PairOrder order) {
        boolean blocks = design == Design.BLOCKS;
        return switch (order) {
            case AA -> aa;
            case BP -> blocks ? NONE : normal;
            case PB -> blocks ? NONE : reversed;
            case BPPB -> blocks ? normal : NONE;
            case PBBP -> blocks ? reversed : NONE;
        };
    }

    /** Ratios in which the effect of the order adds to that of pinning, as in {@code BP} pairs. */
    double[] withOrder() {
        return normal.clone();
    }

    /** Ratios in which the effect of pinning is taken from that of the order, as in {@code PB} pairs. */
    double[] againstOrder() {
        return design == Design.BLOCKS
                ? DoubleStream.of(reversed).map(ratio -> -ratio).toArray()
                : reversed.clone();
    }

    public int count(PairOrder order) {
        return kept(order).length;
    }

    /** The number of lives of all orders. */
    public int pairs() {
        return aa.length + normal.length + reversed.length;
    }

    /** The number of lives of the order that has fewest, of those that the design needs. */
    public int fewest() {
        return design.round().stream().mapToInt(this::count).min().orElse(0);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof CrossoverData that
                && design == that.design
                && Arrays.equals(aa, that.aa)
                && Arrays.equals(normal, that.normal)
                && Arrays.equals(reversed, that.reversed);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * (31 * design.hashCode() + Arrays.hashCode(aa)) + Arrays.hashCode(normal))
                + Arrays.hashCode(reversed);
    }

    @Override
    public String toString() {
        return design + ", AA " + Arrays.toString(aa) + ", normal " + Arrays.toString(normal) + ", reversed "
                + Arrays.toString(reversed);
    }
}
