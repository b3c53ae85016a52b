package io.holdfast.evidence;

/**
 * The regularized incomplete beta function, on which the Student and the binomial distribution rest.
 *
 * <p>Evaluated by its continued fraction (modified Lentz), on whichever side of the mean it converges fast.
 */
final class Beta {
    private static final double TINY = 1e-300;
    private static final double EPSILON = 1e-16;
    private static final int MOST_TERMS = 100_000;
    private static final double HALF_LOG_TWO_PI = 0.5 * Math.log(2 * Math.PI);

    private Beta() {}

    /**
     * I<sub>x</sub>(a, b).
     *
     * @param x between 0 and 1
     * @param complement 1 - x, handed in because the caller often knows it without cancellation
     */
    static double regularized(double a, double b, double x, double complement) {
        if (x <= 0) {
            return 0;
        }
        if (complement <= 0) {
            return 1;
        }
        double front =
                Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(complement));
        return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a : 1 - front * fraction(b, a, complement) / b;
    }

    private static double fraction(double a, double b, double x) {
        double c = 1;
        double d = 1 / away(1 - (a + b) * x / (a + 1));
        double value = d;
        for (int m = 1; m < MOST_TERMS; m++) {
            double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
            d = 1 / away(1 + even * d);
            c = away(1 + even / c);
            value *= d * c;
            double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
            d = 1 / away(1 + odd * d);
            c = away(1 + odd / c);
            double factor = d * c;
            value *= factor;
            if (Math.abs(factor - 1) < EPSILON) {
                break;
            }
        }
        return value;
    }

    /** Keeps a denominator away from zero. */
    private static double away(double value) {
        return Math.abs(value) < TINY ? TINY : value;
    }

    /** ln of the gamma function for positive arguments: Stirling's series, after shifting the argument above 10. */
    static double logGamma(double x) {
        double shift = 0;
        double at = x;
        while (at < 10) {
            shift += Math.log(at);
            at += 1;
        }
        double inverse = 1 / (at * at);
        double series = (1.0 / 12
                        - inverse
                                * (1.0 / 360
                                        - inverse
                                                * (1.0 / 1260
                                                        - inverse
                                                                * (1.0 / 1680
                                                                        - inverse
                                                                                * (1.0 / 1188
                                                                                        - inverse * 691.0 / 360360)))))
                / at;
        return (at - 0.5) * Math.log(at) - at + HALF_LOG_TWO_PI + series - shift;
    }
}
