package io.holdfast.core.rank;

import java.util.Arrays;
import java.util.function.IntToDoubleFunction;

/**
 * Counts of how soon places of a cache were used again, by what kind of request and hint, and of those that were not:
 * what several engines counted is their sum.
 *
 * @param numbers {@link #COUNT} of them, none negative, in an order that changes with the version of what is learned;
 *     they must not change any more
 */
@SuppressWarnings("ArrayRecordComponent")
public record ReuseCounts(double[] numbers) {
    private static final int BY_CLASS = RankedPins.CLASSES * AgeBins.COUNT;
    private static final int BY_HINT = ReuseCurves.HINTS * AgeBins.COUNT;
    private static final int UNUSED = BY_CLASS;
    private static final int HINTED_USED = UNUSED + BY_CLASS;
    private static final int HINTED_UNUSED = HINTED_USED + BY_HINT;
    private static final int GAPS = HINTED_UNUSED + BY_HINT;
    /** Number of counts. */
    public static final int COUNT = GAPS + AgeBins.COUNT;

    /** @throws IllegalArgumentException with one sentence, where they are no counts */
    public ReuseCounts {
        if (numbers.length != COUNT
                || !Arrays.stream(numbers).allMatch(count -> count >= 0 && Double.isFinite(count))) {
            throw new IllegalArgumentException("Counts of reuse are " + COUNT + " numbers, none of them negative.");
        }
    }

    static ReuseCounts of(double[] used, double[] unused, double[] hintedUsed, double[] hintedUnused, long[] gaps) {
        double[] numbers = new double[COUNT];
        System.arraycopy(used, 0, numbers, 0, BY_CLASS);
        System.arraycopy(unused, 0, numbers, UNUSED, BY_CLASS);
        System.arraycopy(hintedUsed, 0, numbers, HINTED_USED, BY_HINT);
        System.arraycopy(hintedUnused, 0, numbers, HINTED_UNUSED, BY_HINT);
        for (int bin = 0; bin < gaps.length; bin++) {
            numbers[GAPS + bin] = gaps[bin];
        }
        return new ReuseCounts(numbers);
    }

    /** Counts one more that is not used yet, into numbers that nobody else has. */
    void notUsedYet(int blockClass, int hint, int bin) {
        numbers[UNUSED + blockClass * AgeBins.COUNT + bin]++;
        numbers[HINTED_UNUSED + hint * AgeBins.COUNT + bin]++;
    }

    /** Returns counts of nothing. */
    public static ReuseCounts none() {
        return new ReuseCounts(new double[COUNT]);
    }

    public boolean isEmpty() {
        return weight() == 0;
    }

    /** Returns the sum of all numbers, in which each use is counted three times. */
    public double weight() {
        return Arrays.stream(numbers).sum();
    }

    public ReuseCounts plus(ReuseCounts more) {
        return each(at -> numbers[at] + more.numbers[at]);
    }

    ReuseCounts minus(ReuseCounts part) {
        return each(at -> Math.max(0, numbers[at] - part.numbers[at]));
    }

    /** Returns whole numbers in these proportions that weigh at most so much. */
    public ReuseCounts atMost(double weight) {
        double all = weight();
        return all <= weight ? this : each(at -> Math.floor(numbers[at] * weight / all));
    }

    private static ReuseCounts each(IntToDoubleFunction number) {
        double[] numbers = new double[COUNT];
        Arrays.setAll(numbers, number);
        return new ReuseCounts(numbers);
    }

    double[] used() {
        return Arrays.copyOfRange(numbers, 0, UNUSED);
    }

    double[] unused() {
        return Arrays.copyOfRange(numbers, UNUSED, HINTED_USED);
    }

    double[] hintedUsed() {
        return Arrays.copyOfRange(numbers, HINTED_USED, HINTED_UNUSED);
    }

    double[] hintedUnused() {
        return Arrays.copyOfRange(numbers, HINTED_UNUSED, GAPS);
    }

    long[] gaps() {
        return Arrays.stream(numbers, GAPS, COUNT)
                .mapToLong(count -> (long) count)
                .toArray();
    }
}
