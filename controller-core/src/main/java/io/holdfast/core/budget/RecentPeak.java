package io.holdfast.core.budget;

/**
 * The most requests that there were together lately: it rises at once and falls a minute later, so that what is derived
 * from it does not change with every request that begins or ends.
 */
public final class RecentPeak {
    private static final long SLOT_NANOS = 10_000_000_000L;
    private static final int SLOTS = 7;

    private final long[] most = new long[SLOTS];
    private long slot;

    /** Takes in how many there are now. */
    public void look(double requests, long nowNanos) {
        advance(nowNanos);
        int at = (int) (slot % SLOTS);
        most[at] = Math.max(most[at], (long) requests);
    }

    /** The most of the last minute. */
    public long requests(long nowNanos) {
        advance(nowNanos);
        long peak = 0;
        for (long each : most) {
            peak = Math.max(peak, each);
        }
        return peak;
    }

    private void advance(long nowNanos) {
        long wanted = nowNanos / SLOT_NANOS;
        for (long next = Math.max(slot + 1, wanted - SLOTS + 1); next <= wanted; next++) {
            most[(int) (next % SLOTS)] = 0;
        }
        slot = Math.max(slot, wanted);
    }
}
