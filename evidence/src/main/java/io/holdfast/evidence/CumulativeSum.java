package io.holdfast.evidence;

/** Notices that values which strayed around zero stray to one side now. */
public final class CumulativeSum {
    /*
     * Page's cumulative sum: what a value exceeds the slack by is added up, and never falls below zero. A single odd
     * value is forgotten; a lasting shift by more than the slack reaches the limit soon.
     */
    private final double slack;
    private final double limit;
    private double sum;

    /** Both in units of how far values usually stray. */
    public CumulativeSum(double slack, double limit) {
        this.slack = slack;
        this.limit = limit;
    }

    /** Adds a value; returns true if the limit is reached with it. */
    public boolean add(double value) {
        sum = Math.max(0, sum + Finite.value("a value", value) - slack);
        return sum >= limit;
    }

    /** Returns true if the sum is so near to the limit that a shift may have begun. */
    public boolean doubtful() {
        return sum >= limit / 2;
    }
}
