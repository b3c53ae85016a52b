package io.holdfast.events;

/** Time for which batches gather: a full receive buffer holds the publisher back, so less where more comes in it. */
final class GatherPace {
    static final long LEAST_NANOS = 1_000_000;
    /** Share of what may gather, below which twice the time would do. */
    private static final double LITTLE = 0.25;

    private long nanos = Long.MAX_VALUE;
    /** Bytes of the fullest socket since the last round that left nothing behind, as a share of what may gather. */
    private double gathered;

    /** Returns the time until the next round, which is never more than the owner's. */
    long nanos(long most) {
        return Math.min(nanos, most);
    }

    /**
     * Takes in a round.
     *
     * @param fill bytes of the fullest socket, as a share of what may gather
     * @param full true where something was left behind
     */
    void round(double fill, boolean full, long most) {
        gathered += fill;
        if (!full) {
            long pace = nanos(most);
            nanos = gathered > 1 ? Math.max(LEAST_NANOS, pace / 2) : gathered < LITTLE ? 2 * pace : pace;
            gathered = 0;
        }
    }
}
