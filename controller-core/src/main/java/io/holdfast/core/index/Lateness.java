package io.holdfast.core.index;

/**
 * Whether events come late, by the stamps of their publisher, whose clock is not ours: what counts is by how much more than
 * the least that was seen in the last minutes.
 */
final class Lateness {
    private static final long MOST_MICROS = 500_000;
    private static final long SLOT_NANOS = 300_000_000_000L;
    private static final long UNKNOWN = Long.MAX_VALUE;

    private long least = UNKNOWN;
    private long leastBefore = UNKNOWN;
    private long slot;
    private boolean wasLate;
    private long lateNanos;

    void heard(long nowNanos, long stampMicros) {
        if (stampMicros <= 0) {
            return;
        }
        if (nowNanos / SLOT_NANOS != slot) {
            slot = nowNanos / SLOT_NANOS;
            leastBefore = least;
            least = UNKNOWN;
        }
        long onTheWay = nowNanos / 1_000 - stampMicros;
        least = Math.min(least, onTheWay);
        if (onTheWay - Math.min(least, leastBefore) > MOST_MICROS) {
            wasLate = true;
            lateNanos = nowNanos;
        }
    }

    /**
     * What the publisher's clock shows now, as far as its stamps tell: not less than by those that came soonest, so that what
     * is on its way still was made before; 0 before there was one.
     */
    long publisherMicros(long nowNanos) {
        long soonest = Math.min(least, leastBefore);
        return soonest == UNKNOWN ? 0 : nowNanos / 1_000 - soonest;
    }

    /** Whether a batch came late within so many nanoseconds. */
    boolean late(long nowNanos, long within) {
        return wasLate && nowNanos - lateNanos < within;
    }
}
