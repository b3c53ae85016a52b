package io.holdfast.evidence;

/** Student's t distribution: how far a mean of few values strays, in units of its own standard error. */
public record StudentT(double degreesOfFreedom) {
    private static final int MOST_STEPS = 200;

    public StudentT {
        if (!(degreesOfFreedom > 0 && Double.isFinite(degreesOfFreedom))) {
            throw new IllegalArgumentException("Student's t needs a positive number of degrees of freedom, not "
                    + degreesOfFreedom + "; measure at least two values.");
        }
    }

    /** The probability of a value of at most {@code t}. */
    public double cdf(double t) {
        return t > 0 ? 1 - upperTail(t) : upperTail(-t);
    }

    /** The probability of a value at least as far from zero as {@code t}, on either side. */
    public double twoSidedP(double t) {
        return 2 * upperTail(Math.abs(t));
    }

    /** The value that is exceeded with probability {@code 1 - p}. */
    public double quantile(double p) {
        if (!(p > 0 && p < 1)) {
            throw new IllegalArgumentException("A quantile needs a probability between 0 and 1, not " + p + ".");
        }
        return p < 0.5 ? -exceededWith(p) : exceededWith(1 - p);
    }

    /** The factor on a standard error that gives a two-sided interval of this confidence. */
    public double factor(double confidence) {
        return quantile(0.5 + confidence / 2);
    }

    private double upperTail(double t) {
        if (Double.isInfinite(t)) {
            return 0;
        }
        double square = t * t;
        double x = degreesOfFreedom / (degreesOfFreedom + square);
        double complement = square / (degreesOfFreedom + square);
        return 0.5 * Beta.regularized(degreesOfFreedom / 2, 0.5, x, complement);
    }

    private double density(double t) {
        double nu = degreesOfFreedom;
        return Math.exp(Beta.logGamma((nu + 1) / 2)
                - Beta.logGamma(nu / 2)
                - 0.5 * Math.log(nu * Math.PI)
                - (nu + 1) / 2 * Math.log1p(t * t / nu));
    }

    /** The root of {@code upperTail(t) = tail}: Newton's steps, and a bisection whenever one would leave the bracket. */
    private double exceededWith(double tail) {
        double low = 0;
        double high = 1;
        while (upperTail(high) > tail) {
            low = high;
            high *= 2;
        }
        double t = low + (high - low) / 2;
        for (int step = 0; step < MOST_STEPS; step++) {
            double excess = upperTail(t) - tail;
            if (excess > 0) {
                low = t;
            } else {
                high = t;
            }
            double next = t + excess / density(t);
            if (!(next > low && next < high)) {
                next = low + (high - low) / 2;
            }
            if (Math.abs(next - t) <= 1e-15 * t) {
                return next;
            }
            t = next;
        }
        return t;
    }
}
