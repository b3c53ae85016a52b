package io.holdfast.evidence;

import java.util.Optional;

/**
 * The mean of a sample with its Student interval.
 *
 * <p>One value per independent repetition: a server life, a switchback window pair. Requests of one leg are not
 * independent, and an interval over them would be far too narrow.
 *
 * @param sd the sample standard deviation (divisor n - 1)
 */
public record MeanInterval(int count, double mean, double sd, double confidence, Interval interval) {

    /** The mean with its 95 % interval; absent for fewer than two values, which say nothing about their spread. */
    public static Optional<MeanInterval> of(double[] sample) {
        return of(sample, 0.95);
    }

    /** The mean with an interval of the given confidence; absent for fewer than two values. */
    public static Optional<MeanInterval> of(double[] sample, double confidence) {
        if (!(confidence > 0 && confidence < 1)) {
            throw new IllegalArgumentException("A confidence lies between 0 and 1, not at " + confidence + ".");
        }
        Moments moments = Moments.of(Finite.copy("the sample", sample));
        if (moments.freedom() < 1) {
            return Optional.empty();
        }
        double sd = Math.sqrt(Moments.pool(moments).variance());
        double halfWidth = new StudentT(moments.freedom()).factor(confidence) * sd / Math.sqrt(moments.count());
        return Optional.of(new MeanInterval(
                moments.count(), moments.mean(), sd, confidence, Interval.around(moments.mean(), halfWidth)));
    }

    /** The mean, read as a log ratio, in percent of change. */
    public double percent() {
        return 100 * Math.expm1(mean);
    }
}
