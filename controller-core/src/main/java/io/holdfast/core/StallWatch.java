package io.holdfast.core;

/**
 * Tells an engine that has stopped from one that was looked at between two batches.
 *
 * <p>Requests that wait while nothing runs are what a stopped engine shows for good, and what every busy one shows for as
 * long as the prefill of its first request takes: the running batch is empty until then. So one look proves nothing. The
 * state counts once it was read again after {@link #STANDSTILL_NANOS} with no event in between, since a prefill, or a chunk
 * of one, ends with stores.
 */
final class StallWatch {
    static final long STANDSTILL_NANOS = 2_000_000_000L;
    private static final long NEVER = Long.MIN_VALUE;

    private long sinceNanos = NEVER;
    private long lastNanos;
    private long batchesThen;

    /**
     * Takes one look.
     *
     * @param batches how many batches of events have been seen
     * @param nowNanos on the clock of {@link #stalled}
     */
    void look(EngineReadings readings, long batches, long nowNanos) {
        if (!nothingRuns(readings)) {
            sinceNanos = NEVER;
        } else if (sinceNanos == NEVER || batches != batchesThen) {
            sinceNanos = nowNanos;
            batchesThen = batches;
        }
        lastNanos = nowNanos;
    }

    /** Whether requests wait while nothing runs, and have for long enough; a look that is too old tells nothing. */
    boolean stalled(long nowNanos) {
        return sinceNanos != NEVER
                && lastNanos - sinceNanos >= STANDSTILL_NANOS
                && nowNanos - lastNanos <= BudgetRule.STALE_NANOS;
    }

    private static boolean nothingRuns(EngineReadings readings) {
        return readings.waitingRequests().number().orElse(0) > 0
                && readings.runningRequests().number().orElse(1) == 0;
    }
}
