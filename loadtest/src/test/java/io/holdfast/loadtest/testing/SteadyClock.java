package io.holdfast.loadtest.testing;

import io.holdfast.loadtest.run.RunClock;
import java.time.Duration;
import java.time.Instant;

/**
 * The machine's time without what nobody did anything in: whatever lies between two looks counts as a moment at most, and
 * waiting is over at once.
 *
 * <p>A client voids legs in which it stood still, or sent late, which a busy machine makes it do. What a run then makes of the
 * rest is not for the machine to decide: with this clock the requests, sockets and threads are real, and no pause is seen.
 */
public final class SteadyClock implements RunClock {
    /** So short that the few looks between a request's turn and its sending come to less than any limit of a run. */
    private static final long LONGEST_NANOS = Duration.ofMillis(1).toNanos();

    private final Instant began = Instant.now();
    private long looked = System.nanoTime();
    private long passed;

    @Override
    public synchronized long nanos() {
        long now = System.nanoTime();
        passed += Math.min(now - looked, LONGEST_NANOS);
        looked = now;
        return passed;
    }

    @Override
    public synchronized void sleepUntil(long deadlineNanos) {
        passed = Math.max(nanos(), deadlineNanos);
    }

    @Override
    public Instant now() {
        return began.plusNanos(nanos());
    }
}
