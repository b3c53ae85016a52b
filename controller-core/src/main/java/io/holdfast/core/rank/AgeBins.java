package io.holdfast.core.rank;

/** Ages in bins whose widths grow with the age: half a second first, then each 1.4 times as far as the one before. */
final class AgeBins {
    static final int COUNT = 40;
    /** Number of parts of a bin where a curve is looked up. */
    static final int STEPS = 16;

    private static final double FIRST = 0.5;
    private static final double GROWTH = 1.4;
    private static final double[] EDGES = new double[COUNT + 1];

    /*
     * A fit asks for the bin of each block that is remembered, a hundred thousand at a time, so no logarithm is taken.
     * The exponent and the first bits of an age's mantissa, which are the first bits of its number, cut the ages into
     * pieces that are each narrower than any bin: so the bin at a piece's begin is the right one, or the next is.
     */
    private static final int PIECE_SHIFT = Double.PRECISION - 1 - 4;
    private static final long FIRST_PIECE = piece(FIRST);
    private static final byte[] BINS;

    static {
        for (int bin = 1; bin <= COUNT; bin++) {
            EDGES[bin] = FIRST * Math.pow(GROWTH, bin - 1.0);
        }
        BINS = new byte[(int) (piece(EDGES[COUNT]) - FIRST_PIECE) + 1];
        int bin = 1;
        for (int at = 0; at < BINS.length; at++) {
            double begin = Double.longBitsToDouble((FIRST_PIECE + at) << PIECE_SHIFT);
            while (bin < COUNT - 1 && EDGES[bin + 1] <= begin) {
                bin++;
            }
            BINS[at] = (byte) bin;
        }
    }

    private static long piece(double seconds) {
        return Double.doubleToRawLongBits(seconds) >>> PIECE_SHIFT;
    }

    private AgeBins() {}

    static int of(double seconds) {
        if (!(seconds >= FIRST)) {
            return 0;
        }
        long at = piece(seconds) - FIRST_PIECE;
        int bin = at < BINS.length ? BINS[(int) at] : COUNT - 1;
        return bin < COUNT - 1 && seconds >= EDGES[bin + 1] ? bin + 1 : bin;
    }

    /** Returns where a bin begins, in seconds; the last edge is where the last bin ends. */
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
