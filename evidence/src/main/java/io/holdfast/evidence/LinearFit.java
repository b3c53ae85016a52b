package io.holdfast.evidence;

import java.util.Arrays;
import java.util.Optional;

/** A straight line through weighted points, with the uncertainty of its slope judged by the scatter around it. */
public record LinearFit(double intercept, double slope, double slopeSe, int df) {

    /** The least squares line with equal weights; absent below three points or when all x are equal. */
    public static Optional<LinearFit> of(double[] x, double[] y) {
        double[] weights = new double[x.length];
        Arrays.fill(weights, 1);
        return of(x, y, weights);
    }

    /** The weighted least squares line; absent below three points or when all x are equal. */
    public static Optional<LinearFit> of(double[] x, double[] y, double[] weights) {
        if (x.length != y.length || x.length != weights.length) {
            throw new IllegalArgumentException("A line needs as many x as y and weights, not " + x.length + ", "
                    + y.length + " and " + weights.length + ".");
        }
        double weight = 0;
        double xMean = 0;
        double yMean = 0;
        for (int i = 0; i < x.length; i++) {
            weight += weights[i];
            xMean += weights[i] * Finite.value("x", x[i]);
            yMean += weights[i] * Finite.value("y", y[i]);
        }
        xMean /= weight;
        yMean /= weight;
        double xx = 0;
        double xy = 0;
        for (int i = 0; i < x.length; i++) {
            xx += weights[i] * (x[i] - xMean) * (x[i] - xMean);
            xy += weights[i] * (x[i] - xMean) * (y[i] - yMean);
        }
        if (x.length < 3 || !(xx > 0)) {
            return Optional.empty();
        }
        double slope = xy / xx;
        double squares = 0;
        for (int i = 0; i < x.length; i++) {
            double residual = y[i] - yMean - slope * (x[i] - xMean);
            squares += weights[i] * residual * residual;
        }
        int df = x.length - 2;
        return Optional.of(new LinearFit(yMean - slope * xMean, slope, Math.sqrt(squares / df / xx), df));
    }

    /** Interval in which the slope lies with this confidence. */
    public Interval slopeInterval(double confidence) {
        return Interval.around(slope, new StudentT(df).factor(confidence) * slopeSe);
    }

    /** The probability of a slope this far from zero if the truth were flat. */
    public double pTwoSided() {
        return slope == 0 ? 1 : new StudentT(df).twoSidedP(slope / slopeSe);
    }

    /** The probability of a slope this far down if the truth were flat or rising. */
    public double pFalling() {
        return slope == 0 ? 0.5 : new StudentT(df).cdf(slope / slopeSe);
    }
}
