package io.holdfast.workbench.compare;

import io.holdfast.evidence.Interval;
import io.holdfast.evidence.StudentT;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Metric.Better;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/*
 * What repetitions allow to say
 * =============================
 *
 * Values are compared by their logarithms, so that a change is a ratio and looks the same from both sides. Each side's
 * spread is its own (Welch), since the two need not be equally noisy. With fewer than three repetitions on a side there
 * is no interval: two values tell next to nothing about their spread. "The same" is said only where the 90 % interval
 * lies within the margin, which is the test of equivalence; that an interval contains zero shows nothing.
 */

/**
 * Change of a metric from the reference to another file.
 *
 * @param logRatio of their means, which are geometric; absent where a value is zero
 * @param interval of that, at 95 %; absent without enough repetitions on both sides
 * @param narrow the same at 90 %
 */
public record Change(
        Metric metric,
        List<Double> before,
        List<Double> after,
        OptionalDouble logRatio,
        Optional<Interval> interval,
        Optional<Interval> narrow) {
    /** The fewest repetitions on a side that give an interval. */
    public static final int FEWEST = 3;

    /** Finding on a change. */
    public enum Finding {
        BETTER,
        WORSE,
        /** The interval lies within the margin. */
        SAME,
        /** The values are equal, which a single run may be by chance. */
        EQUAL,
        /** The interval allows either. */
        UNDECIDED,
        /** It is no gain and no loss. */
        DIFFERENT
    }

    public Change {
        before = List.copyOf(before);
        after = List.copyOf(after);
    }

    public static Change of(Metric metric, double[] before, double[] after) {
        boolean positive = positive(before) && positive(after);
        OptionalDouble ratio = positive ? OptionalDouble.of(meanLog(after) - meanLog(before)) : OptionalDouble.empty();
        boolean enough = positive && before.length >= FEWEST && after.length >= FEWEST;
        return new Change(
                metric,
                Arrays.stream(before).boxed().toList(),
                Arrays.stream(after).boxed().toList(),
                ratio,
                enough ? Optional.of(interval(before, after, 0.95)) : Optional.empty(),
                enough ? Optional.of(interval(before, after, 0.90)) : Optional.empty());
    }

    private static boolean positive(double[] values) {
        return values.length > 0 && Arrays.stream(values).allMatch(value -> value > 0);
    }

    private static double meanLog(double[] values) {
        return Arrays.stream(values).map(Math::log).average().orElseThrow();
    }

    private static Interval interval(double[] before, double[] after, double confidence) {
        double old = errorSquared(before);
        double fresh = errorSquared(after);
        double ratio = meanLog(after) - meanLog(before);
        if (old + fresh == 0) {
            return Interval.around(ratio, 0);
        }
        double freedom =
                Math.pow(old + fresh, 2) / (old * old / (before.length - 1) + fresh * fresh / (after.length - 1));
        return Interval.around(ratio, new StudentT(freedom).factor(confidence) * Math.sqrt(old + fresh));
    }

    /** Returns the squared standard error of the mean logarithm. */
    private static double errorSquared(double[] values) {
        double mean = meanLog(values);
        double squares = Arrays.stream(values)
                .map(value -> Math.pow(Math.log(value) - mean, 2))
                .sum();
        return squares / (values.length - 1) / values.length;
    }

    /** Returns true if there are too few repetitions for an interval. */
    public boolean isWithoutInterval() {
        return interval.isEmpty();
    }

    /** Returns the number of runs on each side, as {@code 3 and 4 runs} or {@code single run}. */
    public String repetitions() {
        if (before.size() == 1 && after.size() == 1) {
            return "single run";
        }
        return before.size() == after.size()
                ? before.size() + " runs each"
                : before.size() + " and " + after.size() + " runs";
    }

    /** The reference's value: the geometric mean of its runs. */
    public double from() {
        return mean(before.stream().mapToDouble(Double::doubleValue).toArray());
    }

    /** The other file's value. */
    public double to() {
        return mean(after.stream().mapToDouble(Double::doubleValue).toArray());
    }

    /** Returns the geometric mean of values, or the arithmetic one where a value is 0. */
    public static double mean(double[] values) {
        if (values.length == 1) {
            return values[0];
        }
        return positive(values)
                ? Math.exp(meanLog(values))
                : Arrays.stream(values).average().orElse(0);
    }

    /** The change as a share, as 0.03; absent where the reference is zero. */
    public OptionalDouble share() {
        return logRatio.isPresent() ? OptionalDouble.of(Math.expm1(logRatio.getAsDouble())) : OptionalDouble.empty();
    }

    /** Returns how much worse it became, as a share of the reference; negative where it became better. */
    public OptionalDouble overhead() {
        return share().isPresent() ? OptionalDouble.of(turned(share().getAsDouble())) : OptionalDouble.empty();
    }

    /** The interval of {@link #overhead()}. */
    public Optional<Interval> overheadInterval() {
        return interval.map(logs -> {
            double low = turned(Math.expm1(logs.low()));
            double high = turned(Math.expm1(logs.high()));
            return new Interval(Math.min(low, high), Math.max(low, high));
        });
    }

    private double turned(double share) {
        return metric.better() == Better.HIGHER ? -share : share;
    }

    /** Returns the finding, with a margin such as ln 1.05 within which two values count as the same. */
    public Finding finding(double margin) {
        if (metric.better() == Better.NEITHER) {
            return Finding.DIFFERENT;
        }
        if (logRatio.isEmpty()) {
            return byValue(to() - from());
        }
        if (interval.isEmpty()) {
            return byValue(logRatio.getAsDouble());
        }
        if (narrow.orElseThrow().within(margin)) {
            return Finding.SAME;
        }
        return interval.get().excludesZero() ? byValue(logRatio.getAsDouble()) : Finding.UNDECIDED;
    }

    private Finding byValue(double difference) {
        if (difference == 0) {
            return Finding.EQUAL;
        }
        return difference > 0 == (metric.better() == Better.HIGHER) ? Finding.BETTER : Finding.WORSE;
    }

    /** Returns true if it became worse by more than a share: all of the interval, or without one the value. */
    public boolean isWorseBy(double limit) {
        if (metric.better() == Better.NEITHER) {
            return false;
        }
        if (logRatio.isEmpty()) {
            return byValue(to() - from()) == Finding.WORSE;
        }
        return overheadInterval()
                .map(interval -> interval.low() > limit)
                .orElseGet(() -> overhead().getAsDouble() > limit);
    }
}
