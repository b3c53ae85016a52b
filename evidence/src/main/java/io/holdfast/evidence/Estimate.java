package io.holdfast.evidence;

import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import java.util.stream.DoubleStream;

/*
 * The crossover model
 * ===================
 *
 * What a pair is. Two legs on one server life, each reduced to one number; y is the logarithm of that number. Legs of
 * one life share the machine, the load order of its memory, its clock: only the difference d = y_second - y_first is
 * compared, and a whole life counts as one observation, however many requests it served.
 *
 * What moves y. With S_k for the life,
 *
 *     y = mu + S_k + pi [second] + tau [pinned] + lambda [second after pinned] + noise
 *
 *     AA:  E d = pi                  the order bias: being second, nothing else
 *     BP:  E d = pi + tau            normal order
 *     PB:  E d = -tau + pi + lambda  reversed order; lambda is what the pinned leg leaves behind
 *
 * What follows. Half the difference of BP and PB is the effect tau, and the order bias, however large, is gone from
 * it. BP alone (the naive claim) holds it in full. AA is needed twice: it measures pi, and it makes lambda
 * identifiable, since BP + PB - 2 AA is lambda. The price of a lambda: tau is biased by -lambda / 2, and BP - AA is the
 * estimate that is free of it.
 *
 * Whose spread. The effect's interval takes the variance common to BP and PB. What needs AA as well takes the
 * variance common to all three. The interval of pi takes AA alone: it then holds for an A/A experiment by itself, and
 * the claim that an order bias exists does not lean on pinned legs.
 *
 * Why Student and an exact permutation. Lives are few (four to nine per order). A percentile bootstrap over so few
 * covers 74 to 86 % where it promises 95; Student's interval holds its promise, and the permutation test guards it
 * where the noise is not normal. Below four pairs per order that guard cannot pass: the smallest possible p is 0.1.
 *
 * Other designs. A block has both arms twice, so that an even drift cancels in it; what its first leg pays alone pulls
 * BPPB and PBBP to opposite sides, as being second does with BP and PB. So blocks are fitted as the two orders are,
 * with the sign of PBBP turned. Where each leg has a process of its own, no leg has another before it: the effect is
 * the mean of all pairs, pinned against baseline, and its guard deals signs and not labels. Neither has A/A pairs, nor
 * a lambda: each order by itself is then its own estimate.
 *
 * What is absent. A quantity that the data cannot give (no AA pairs, one value only) is empty. It is never 0 or NaN.
 */

/** The crossover model fitted to the pairs of one experiment. All quantities are log ratios unless named percent. */
public final class Estimate {
    /** Seed of the permutation draws when no generator is handed in: the same data always gives the same p. */
    public static final long PERMUTATION_SEED = 20_261_121L;

    private static final double[] NONE = {};

    private final CrossoverData data;
    private final Moments aa;
    private final Moments bp;
    private final Moments pb;
    /** Every pair, pinned against baseline. */
    private final Moments all;

    private final Optional<Permutation> permutation;
    private final Optional<HodgesLehmann> hodgesLehmann;

    private Estimate(CrossoverData data, RandomGenerator random) {
        this.data = data;
        double[] normal = data.withOrder();
        double[] reversed = data.againstOrder();
        aa = Moments.of(data.of(PairOrder.AA));
        bp = Moments.of(normal);
        pb = Moments.of(reversed);
        all = Moments.of(effects(normal, reversed));
        boolean both = hasBothOrders();
        permutation = !both
                ? Optional.empty()
                : Optional.of(
                        isOfFreshLegs()
                                ? Permutation.ofSigns(effects(normal, reversed), random)
                                : Permutation.of(normal, reversed, random));
        hodgesLehmann = both ? Optional.of(HodgesLehmann.of(normal, reversed)) : Optional.empty();
    }

    /** Fits the model; where relabelings must be drawn, they are drawn from {@link #PERMUTATION_SEED}. */
    public static Estimate of(CrossoverData data) {
        return of(data, new SplittableRandom(PERMUTATION_SEED));
    }

    /** Fits the model; {@code random} is used only where there are too many relabelings to look at all of them. */
    public static Estimate of(CrossoverData data, RandomGenerator random) {
        return new Estimate(data, random);
    }

    public CrossoverData data() {
        return data;
    }

    /** Effect of pinning, freed from the order of the legs; negative is less, which is better. */
    public OptionalDouble effect() {
        return hasBothOrders()
                ? OptionalDouble.of(isOfFreshLegs() ? all.mean() : (bp.mean() - pb.mean()) / 2)
                : OptionalDouble.empty();
    }

    public OptionalDouble effectPercent() {
        return percent(effect());
    }

    /** The standard error of {@link #effect()}. */
    public OptionalDouble se() {
        if (df().isEmpty()) {
            return OptionalDouble.empty();
        }
        double variance = spread().variance();
        if (isOfFreshLegs()) {
            return OptionalDouble.of(Math.sqrt(variance / all.count()));
        }
        return OptionalDouble.of(0.5 * Math.sqrt(variance * (1.0 / bp.count() + 1.0 / pb.count())));
    }

    /** The degrees of freedom of {@link #se()}. */
    public OptionalInt df() {
        int freedom = spread().freedom();
        return hasBothOrders() && freedom > 0 ? OptionalInt.of(freedom) : OptionalInt.empty();
    }

    public Optional<Interval> ci95() {
        return effectInterval(0.95);
    }

    /** The interval that shows equivalence: inside the margins means two one-sided tests at 5 %. */
    public Optional<Interval> ci90() {
        return effectInterval(0.90);
    }

    /** The two-sided p of {@link #effect()} by Student's t. */
    public OptionalDouble tPValue() {
        if (se().isEmpty()) {
            return OptionalDouble.empty();
        }
        double effect = effect().getAsDouble();
        double p = effect == 0 ? 1 : new StudentT(df().getAsInt()).twoSidedP(effect / se().getAsDouble());
        return OptionalDouble.of(p);
    }

    /** The permutation test of the two orders. */
    public Optional<Permutation> permutation() {
        return permutation;
    }

    public OptionalDouble permutationP() {
        return permutation.isPresent() ? OptionalDouble.of(permutation.get().p()) : OptionalDouble.empty();
    }

    /** The effect without faith in a distribution, to be shown beside {@link #effect()}. */
    public OptionalDouble hodgesLehmann() {
        return hodgesLehmann.isPresent() ? OptionalDouble.of(hodgesLehmann.get().value()) : OptionalDouble.empty();
    }

    public Optional<Interval> hodgesLehmannCi95() {
        return hodgesLehmann.flatMap(HodgesLehmann::ci95);
    }

    /**
     * Claim of a benchmark of one order alone: the order with the baseline first, or the other where there is no such
     * pair.
     */
    public OptionalDouble naive() {
        if (isOfBlocks()) {
            return OptionalDouble.empty();
        }
        return bp.isEmpty() && !pb.isEmpty() && aa.isEmpty()
                ? OptionalDouble.of(-pb.mean())
                : bp.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(bp.mean());
    }

    public Optional<Interval> naiveCi95() {
        return naive().isEmpty()
                ? Optional.empty()
                : MeanInterval.of(bp.isEmpty() ? effects(NONE, data.againstOrder()) : data.withOrder())
                        .map(MeanInterval::interval);
    }

    public OptionalDouble naivePercent() {
        return percent(naive());
    }

    /** Effect of being second, measured by the AA pairs alone. */
    public OptionalDouble orderBias() {
        return aa.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(aa.mean());
    }

    public Optional<Interval> orderBiasCi95() {
        return MeanInterval.of(data.of(PairOrder.AA)).map(MeanInterval::interval);
    }

    public OptionalDouble orderBiasPercent() {
        return percent(orderBias());
    }

    /**
     * Effect of being second, as the two orders show it: the order bias plus half the carry-over. For blocks, the
     * effect of the place in a block.
     */
    public OptionalDouble crossedOrderBias() {
        return hasBothOrders() ? OptionalDouble.of((bp.mean() + pb.mean()) / 2) : OptionalDouble.empty();
    }

    Optional<Interval> crossedOrderBiasCi95() {
        if (!hasBothOrders() || Moments.pool(bp, pb).freedom() < 1) {
            return Optional.empty();
        }
        Moments.Pool pool = Moments.pool(bp, pb);
        double se = 0.5 * Math.sqrt(pool.variance() * (1.0 / bp.count() + 1.0 / pb.count()));
        return Optional.of(
                Interval.around(crossedOrderBias().getAsDouble(), new StudentT(pool.freedom()).factor(0.95) * se));
    }

    /** Effect of a pinned leg on the leg after it. */
    public OptionalDouble carryOver() {
        return hasBothOrders() && !aa.isEmpty()
                ? OptionalDouble.of(bp.mean() + pb.mean() - 2 * aa.mean())
                : OptionalDouble.empty();
    }

    public Optional<Interval> carryOverCi95() {
        return carryOver().isEmpty()
                ? Optional.empty()
                : pooledInterval(
                        carryOver().getAsDouble(), 1.0 / bp.count() + 1.0 / pb.count() + 4.0 / aa.count(), 0.95);
    }

    /**
     * The effect as the normal order alone shows it against AA; free of carry-over. Without A/A, in designs that need
     * none, as that order shows it.
     */
    public OptionalDouble tauNormal() {
        if (data.design() != Design.CROSSOVER) {
            return bp.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(bp.mean());
        }
        return aa.isEmpty() || bp.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(bp.mean() - aa.mean());
    }

    public Optional<Interval> tauNormalCi95() {
        return tauNormalInterval(0.95);
    }

    Optional<Interval> tauNormalInterval(double confidence) {
        if (tauNormal().isEmpty()) {
            return Optional.empty();
        }
        return data.design() == Design.CROSSOVER
                ? pooledInterval(tauNormal().getAsDouble(), 1.0 / bp.count() + 1.0 / aa.count(), confidence)
                : MeanInterval.of(data.withOrder(), confidence).map(MeanInterval::interval);
    }

    /** The effect as the reversed order alone shows it against AA, or without A/A in designs that need none. */
    public OptionalDouble tauReversed() {
        if (data.design() != Design.CROSSOVER) {
            return pb.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(-pb.mean());
        }
        return aa.isEmpty() || pb.isEmpty() ? OptionalDouble.empty() : OptionalDouble.of(aa.mean() - pb.mean());
    }

    /**
     * The standard deviation of the log ratios of pairs, common to BP and PB: what the number of pairs works against.
     */
    public OptionalDouble pairSd() {
        Moments.Pool pool = spread();
        return pool.freedom() > 0 ? OptionalDouble.of(Math.sqrt(pool.variance())) : OptionalDouble.empty();
    }

    /**
     * The effect to show with its interval: that of both orders, or, where pinned legs were shown to leave something
     * behind, that of the normal order, which is free of it.
     *
     * <p>Whether something is left behind is itself decided by the data, by chance in one experiment of twenty, and
     * just those have a normal order that lies far off. Its interval alone would cover too seldom then; so it is
     * stretched to hold that of both orders as well.
     */
    public Optional<Shown> shown() {
        boolean leftBehind = carryOverCi95().filter(Interval::excludesZero).isPresent();
        if (!leftBehind || ci95().isEmpty()) {
            return ci95().map(ci -> new Shown(effect().orElseThrow(), ci, false));
        }
        Interval both = ci95().get();
        return tauNormalCi95()
                .map(normal -> new Shown(
                        tauNormal().orElseThrow(),
                        new Interval(Math.min(normal.low(), both.low()), Math.max(normal.high(), both.high())),
                        true));
    }

    /**
     * An effect with a 95 % interval.
     *
     * @param normalOrder whether it is that of the normal order against A/A
     */
    public record Shown(double effect, Interval ci95, boolean normalOrder) {}

    private boolean hasBothOrders() {
        return !bp.isEmpty() && !pb.isEmpty();
    }

    private boolean isOfFreshLegs() {
        return data.design() == Design.FRESH_LEGS;
    }

    private boolean isOfBlocks() {
        return data.design() == Design.BLOCKS;
    }

    /** The spread that the effect's interval goes by. */
    private Moments.Pool spread() {
        return isOfFreshLegs() ? Moments.pool(all) : Moments.pool(bp, pb);
    }

    private static double[] effects(double[] normal, double[] reversed) {
        return DoubleStream.concat(
                        DoubleStream.of(normal), DoubleStream.of(reversed).map(ratio -> -ratio))
                .toArray();
    }

    Optional<Interval> effectInterval(double confidence) {
        if (se().isEmpty()) {
            return Optional.empty();
        }
        double halfWidth = new StudentT(df().getAsInt()).factor(confidence) * se().getAsDouble();
        return Optional.of(Interval.around(effect().getAsDouble(), halfWidth));
    }

    /** The interval of a contrast of the three means, by the variance common to all of them. */
    private Optional<Interval> pooledInterval(double contrast, double varianceFactor, double confidence) {
        Moments.Pool pool = Moments.pool(aa, bp, pb);
        if (pool.freedom() < 1) {
            return Optional.empty();
        }
        double halfWidth =
                new StudentT(pool.freedom()).factor(confidence) * Math.sqrt(pool.variance() * varianceFactor);
        return Optional.of(Interval.around(contrast, halfWidth));
    }

    private static OptionalDouble percent(OptionalDouble logRatio) {
        return logRatio.isPresent()
                ? OptionalDouble.of(100 * Math.expm1(logRatio.getAsDouble()))
                : OptionalDouble.empty();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Estimate that && data.equals(that.data) && permutation.equals(that.permutation);
    }

    @Override
    public int hashCode() {
        return data.hashCode();
    }

    @Override
    public String toString() {
        return "effect " + effect() + " " + ci95() + ", order bias " + orderBias() + ", from " + data;
    }
}
