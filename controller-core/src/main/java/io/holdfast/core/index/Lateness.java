package io.holdfast.core.index;

/**
 * Tells whether events come late, by the stamps of their publisher. Its clock is not ours, so what counts is by how
 * much a delay exceeds the least one of the last minutes.
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
     * Returns the time on the publisher's clock now, as far as its stamps tell; 0 before there was one. It is no less
     * than the soonest stamps suggest, so that whatever is still on its way was made before it.
     */
    long publisherMicros(long nowNanos) {
        long soonest = Math.min(least, leastBefore);
        return soonest == UNKNOWN ? 0 : nowNanos / 1_000 - soonest;
    }

    /** Returns true if a batch came late within so many nanoseconds. */
    boolean late(long nowNanos, long within) {
        return wasLate && nowNanos - lateNanos < within;
    }
}
