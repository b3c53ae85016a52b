package io.holdfast.evidence;

/** A closed interval of real numbers, as estimates carry it. */
public record Interval(double low, double high) {
    public Interval {
        if (!(low <= high)) {
            throw new IllegalArgumentException(
                    "An interval runs from low to high, not from " + low + " to " + high + ".");
        }
    }
}
