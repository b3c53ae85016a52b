package io.holdfast.evidence;

/** A closed range that a quantity lies in with a stated confidence. A point when the data did not vary at all. */
public record Interval(double low, double high) {
    public Interval {
        if (!(Double.isFinite(low) && Double.isFinite(high) && low <= high)) {
            throw new IllegalArgumentException("An interval runs from a finite low to a finite high end, not from "
                    + low + " to " + high + "; leave it absent when the data does not bound it.");
        }
    }

    /** The interval of {@code halfWidth} to either side of {@code middle}. */
    public static Interval around(double middle, double halfWidth) {
        return new Interval(middle - halfWidth, middle + halfWidth);
    }

    public boolean excludesZero() {
        return low > 0 || high < 0;
    }

    /** Returns true if all of the interval is smaller than {@code value}. */
    public boolean below(double value) {
        return high < value;
    }

    /** Returns true if all of the interval is larger than {@code value}. */
    public boolean above(double value) {
        return low > value;
    }

    /** Returns true if all of the interval lies strictly between {@code -delta} and {@code delta}. */
    public boolean within(double delta) {
        return low > -delta && high < delta;
    }

    public boolean contains(double value) {
        return low <= value && value <= high;
    }

    public double middle() {
        return low + (high - low) / 2;
    }

    public double halfWidth() {
        return (high - low) / 2;
    }
}
