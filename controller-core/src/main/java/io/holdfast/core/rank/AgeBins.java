package io.holdfast.core.rank;

/** Ages in bins whose widths grow with the age: half a second first, then each 1.4 times as far as the one before. */
final class AgeBins {
    static final int COUNT = 40;
    /** How finely a bin is divided where a curve is looked up. */
    static final int STEPS = 16;

    private static final double FIRST = 0.5;
    private static final double GROWTH = 1.4;
    private static final double PER_LOG = 1 / Math.log(GROWTH);
    private static final double[] EDGES = new double[COUNT + 1];

    static {
        for (int bin = 1; bin <= COUNT; bin++) {
            EDGES[bin] = FIRST * Math.pow(GROWTH, bin - 1.0);
        }
    }

    private AgeBins() {}

    static int of(double seconds) {
        return seconds < FIRST ? 0 : Math.min(COUNT - 1, 1 + (int) (Math.log(seconds / FIRST) * PER_LOG));
    }

    /** Where a bin begins, in seconds; the last edge is where the last bin ends. */
    static double edge(int bin) {
        return EDGES[bin];
    }

    /** The step of an age: that of its bin and how far it is in it. */
    static int step(double seconds) {
        int bin = of(seconds);
        double width = EDGES[bin + 1] - EDGES[bin];
        int within = (int) ((seconds - EDGES[bin]) / width * STEPS);
        return bin * STEPS + Math.max(0, Math.min(STEPS - 1, within));
    }
}
