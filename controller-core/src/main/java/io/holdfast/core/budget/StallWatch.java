package io.holdfast.core.budget;

import io.holdfast.core.reading.EngineReadings;
import java.util.Optional;

/** Tells an engine that has stopped from one that was looked at between two batches, and remembers that it had. */
public final class StallWatch {
    /*
     * What a stall is
     * ---------------
     * Requests that wait while nothing runs are what a stopped engine shows for good, and what every busy one shows for
     * as long as the prefill of its first request takes: the running batch is empty until then. So one look proves
     * nothing. The state counts once it was read again after STANDSTILL_NANOS with no event in between, since a
     * prefill, or a chunk of one, ends with stores.
     *
     * What it proves
     * --------------
     * The guard is made so that this cannot happen. When it does, a number in it is wrong, and the same pins would do
     * it again: they stay off for a minute, for two after the next stall, and so on up to an hour. They also stay off
     * until the engine was seen to serve again. A day without a stall begins at a minute again; resuming holding
     * by hand ends the wait and keeps the count.
     */
    public static final long STANDSTILL_NANOS = 2_000_000_000L;
    static final long FIRST_WAIT_NANOS = 60_000_000_000L;
    static final long LONGEST_WAIT_NANOS = 60 * FIRST_WAIT_NANOS;
    private static final long FORGIVEN_NANOS = 24 * LONGEST_WAIT_NANOS;
    private static final long NEVER = Long.MIN_VALUE;

    private long sinceNanos = NEVER;
    private long lastNanos;
    private long batchesThen;
    private boolean stalling;
    private long stalls;
    private long nextWaitNanos = FIRST_WAIT_NANOS;
    private long waitNanos;
    private long endedNanos = NEVER;
    private boolean served;
    private boolean resumed = true;

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
        remember(readings, nowNanos);
    }

    private void remember(EngineReadings readings, long nowNanos) {
        boolean stalls = stalled(nowNanos);
        if (stalls && !stalling) {
            begins(nowNanos);
        }
        if (stalls) {
            endedNanos = nowNanos;
            served = false;
        } else if (readings.runningRequests().number().orElse(0) > 0
                || readings.waitingRequests().number().orElse(1) == 0) {
            served = true;
        }
        stalling = stalls;
    }

    private void begins(long nowNanos) {
        if (endedNanos != NEVER && nowNanos - endedNanos > FORGIVEN_NANOS) {
            nextWaitNanos = FIRST_WAIT_NANOS;
        }
        stalls++;
        waitNanos = nextWaitNanos;
        nextWaitNanos = Math.min(2 * nextWaitNanos, LONGEST_WAIT_NANOS);
        resumed = false;
    }

    /**
     * Returns true if requests wait while nothing runs, and have for long enough; a look that is too old tells nothing.
     */
    boolean stalled(long nowNanos) {
        return sinceNanos != NEVER
                && lastNanos - sinceNanos >= STANDSTILL_NANOS
                && nowNanos - lastNanos <= BudgetRule.STALE_NANOS;
    }

    /** Returns the number of times that the engine has stalled since we follow it. */
    long stalls() {
        return stalls;
    }

    /** Somebody decides to pin again. */
    void resume() {
        resumed = true;
    }

    /**
     * Returns the reason why nothing is pinned hard because of a stall; absent when there was none, or it was long
     * enough ago.
     */
    Optional<String> hindrance(long nowNanos) {
        if (resumed || (served && nowNanos - endedNanos >= waitNanos)) {
            return Optional.empty();
        }
        String wait = served
                ? "nothing is pinned for another " + Math.max(1, (waitNanos - (nowNanos - endedNanos)) / 1_000_000_000)
                        + " s"
                : "nothing is pinned before it serves again";
        return Optional.of("requests waited while nothing ran, stall number " + stalls
                + ", so the guard was wrong about this engine: " + wait
                + "; resume holding to end that, and report the budget of this engine");
    }

    private static boolean nothingRuns(EngineReadings readings) {
        return readings.waitingRequests().number().orElse(0) > 0
                && readings.runningRequests().number().orElse(1) == 0;
    }
}
