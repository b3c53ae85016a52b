package io.holdfast.evidence;

/** The chi-square distribution: how far a variance of few values strays. */
final class ChiSquare {
    private static final double EPSILON = 1e-17;
    private static final int HALVINGS = 200;

    private ChiSquare() {}

    /** The probability of a value of at most {@code x}. */
    static double cdf(double freedom, double x) {
        if (x <= 0) {
            return 0;
        }
        double a = freedom / 2;
        double half = x / 2;
        // The series of the lower incomplete gamma function: its terms are all positive, so none cancels another.
        double term = Math.exp(a * Math.log(half) - half - Beta.logGamma(a + 1));
        if (term == 0) {
            // Too far out for the first term to be a number: either end.
            return half > a ? 1 : 0;
        }
        double sum = term;
        for (int n = 1; n < half || term > sum * EPSILON; n++) {
            term *= half / (a + n);
            sum += term;
        }
        return Math.min(1, sum);
    }

    /** The value that is exceeded with probability {@code 1 - p}. */
    static double quantile(double freedom, double p) {
        if (!(p > 0 && p < 1)) {
            throw new IllegalArgumentException("A quantile needs a probability between 0 and 1, not " + p + ".");
        }
        double low = 0;
        double high = freedom;
        while (cdf(freedom, high) < p) {
            low = high;
            high *= 2;
        }
        for (int i = 0; i < HALVINGS; i++) {
            double middle = low + (high - low) / 2;
            if (middle <= low || middle >= high) {
                break;
            }
            if (cdf(freedom, middle) < p) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return high;
    }
}
