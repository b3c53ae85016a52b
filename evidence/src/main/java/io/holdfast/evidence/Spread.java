package io.holdfast.evidence;

import java.util.Optional;

/**
 * The standard deviation of a sample (divisor n - 1) with its interval, which is that of a normal distribution.
 *
 * <p>It is wide for few values: eight of them leave a factor of three between its ends.
 */
public record Spread(int count, double sd, Interval ci95) {
    private static final double LOWER = 0.025;
    private static final double UPPER = 0.975;

    /** The spread of a sample; absent for fewer than two values. */
    public static Optional<Spread> of(double[] sample) {
        Moments moments = Moments.of(Finite.copy("the sample", sample));
        int freedom = moments.freedom();
        if (freedom < 1) {
            return Optional.empty();
        }
        double variance = Moments.pool(moments).variance();
        return Optional.of(new Spread(
                moments.count(),
                Math.sqrt(variance),
                new Interval(
                        Math.sqrt(freedom * variance / ChiSquare.quantile(freedom, UPPER)),
                        Math.sqrt(freedom * variance / ChiSquare.quantile(freedom, LOWER)))));
    }
}
