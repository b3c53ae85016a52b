package io.holdfast.core.budget;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.util.Arrays;
import java.util.OptionalLong;

/**
 * Measures what of the engine's memory is not evictable, is not ours and belongs to no request: pins of somebody else.
 */
final class ForeignPins {
    /*
     * The engine tells how many tokens cannot be evicted: running requests, our pins and everybody else's together.
     * What is left of it after ours, while nothing runs and nothing waits, is what others have pinned: another sidecar,
     * a call by hand, a pin of ours that was lost. It keeps counting until the cache is emptied or a later look at rest
     * shows less.
     *
     * Every look, at rest or not, is an upper bound, since running requests only add to it. So a look under load lowers
     * what is believed and never raises it, and where the engine did not rest for an hour the smallest look of that
     * hour counts.
     *
     * A prompt on its own
     * -------------------
     * An engine may count what a prompt takes before it counts the request as running. So a rise is believed when every
     * look of five seconds showed it at rest. What is to be pinned meanwhile counts it all the same (BudgetRule).
     *
     * Two clocks
     * ----------
     * What is used and what is ours are not seen at the same moment, so no look counts while a pin or an unpin of ours
     * is under way or may be newer than the number. An engine at rest does not renew the number: it shows the pins of
     * its last batch for up to half a minute. So after the last call of ours a look counts when that long has passed,
     * or when the engine has served a request since, which renews it. A busy engine renews it every few dozen steps.
     */
    static final long RENEWED_AT_REST_NANOS = 35_000_000_000L;
    static final long RENEWED_UNDER_LOAD_NANOS = 5_000_000_000L;
    static final long BELIEVED_NANOS = 5_000_000_000L;
    private static final long SLOT_NANOS = 5L * 60 * 1_000_000_000;
    private static final int SLOTS = 12;
    private static final long NONE = Long.MAX_VALUE;

    private final long[] smallest = new long[SLOTS];
    private long slot;
    private long atRest = NONE;
    private long restNanos;
    private long rise = NONE;
    private long riseNanos;
    private OptionalLong restedWith = OptionalLong.empty();
    private double servedWhenQuiet = Double.NaN;
    private long quietNanos = NONE;

    ForeignPins() {
        forget();
    }

    /** The cache was emptied, and every pin with it. */
    void forget() {
        Arrays.fill(smallest, NONE);
        atRest = NONE;
        rise = NONE;
        servedWhenQuiet = Double.NaN;
        quietNanos = NONE;
    }

    /**
     * Takes one look.
     *
     * @param ourTokens what is pinned for us, or may be
     * @param quietSinceNanos since when no pin or unpin of ours is under way
     * @param nowNanos when the readings were requested, on the clock of {@code quietSinceNanos}
     */
    void look(EngineReadings readings, long ourTokens, long quietSinceNanos, long nowNanos) {
        advance(nowNanos);
        restedWith = OptionalLong.empty();
        boolean rests = readings.runningRequests().number().orElse(1) == 0
                && readings.waitingRequests().number().orElse(1) == 0;
        rise = rests ? rise : NONE;
        double served = readings.ttftCount().number().orElse(Double.NaN);
        if (quietSinceNanos != quietNanos) {
            rise = NONE;
            quietNanos = quietSinceNanos;
            servedWhenQuiet = Double.NaN;
        }
        if (nowNanos < quietSinceNanos) {
            return;
        }
        boolean renewed = served > servedWhenQuiet;
        if (Double.isNaN(servedWhenQuiet)) {
            servedWhenQuiet = served;
        }
        OptionalLong beside = beside(readings, ourTokens);
        if (beside.isEmpty()) {
            return;
        }
        long quiet = nowNanos - quietSinceNanos;
        boolean uncounted = Double.isNaN(served) && quiet >= RENEWED_AT_REST_NANOS;
        if (rests && (renewed || uncounted) && readings.usedTokens() instanceof Reading.Known used) {
            restedWith = OptionalLong.of((long) used.value());
        }
        if (quiet >= (rests ? RENEWED_AT_REST_NANOS : RENEWED_UNDER_LOAD_NANOS) || (rests && renewed)) {
            take(beside.getAsLong(), rests, nowNanos);
        }
    }

    private static OptionalLong beside(EngineReadings readings, long ourTokens) {
        return readings.usedTokens() instanceof Reading.Known used
                ? OptionalLong.of(Math.max(0, (long) used.value() - ourTokens))
                : OptionalLong.empty();
    }

    private void take(long beside, boolean rests, long nowNanos) {
        if (!rests) {
            atRest = Math.min(atRest, atRest == NONE ? NONE : beside);
            int at = (int) (slot % SLOTS);
            smallest[at] = Math.min(smallest[at], beside);
            return;
        }
        if (beside <= (atRest == NONE ? 0 : atRest)) {
            rise = NONE;
            atRest = beside;
            restNanos = nowNanos;
            return;
        }
        riseNanos = rise == NONE ? nowNanos : riseNanos;
        rise = Math.min(rise, beside);
        if (nowNanos - riseNanos >= BELIEVED_NANOS) {
            atRest = rise;
            restNanos = nowNanos;
        }
    }

    /** Returns the most that others may have pinned; 0 while nothing shows any. */
    long tokens(long nowNanos) {
        advance(nowNanos);
        long hour = Arrays.stream(smallest).min().orElse(NONE);
        boolean restedLately = atRest != NONE && nowNanos - restNanos <= SLOTS * SLOT_NANOS;
        long believed = restedLately || hour == NONE ? atRest : hour;
        return believed == NONE ? 0 : believed;
    }

    /**
     * Everything that the last look showed to be taken, if nothing ran and the number is newer than our last call: a
     * request was served since, or, where nobody counts requests, that long has passed.
     */
    OptionalLong restedWith() {
        return restedWith;
    }

    /** Returns true if {@link #tokens} was seen while nothing ran, so that it is pins and nothing else. */
    boolean seenAtRest(long nowNanos) {
        return atRest != NONE && tokens(nowNanos) <= atRest;
    }

    private void advance(long nowNanos) {
        long wanted = nowNanos / SLOT_NANOS;
        for (long next = Math.max(slot + 1, wanted - SLOTS + 1); next <= wanted; next++) {
            smallest[(int) (next % SLOTS)] = NONE;
        }
        slot = Math.max(slot, wanted);
    }
}
