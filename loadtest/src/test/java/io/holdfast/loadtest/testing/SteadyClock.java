package io.holdfast.loadtest.testing;

import io.holdfast.loadtest.run.RunClock;
import java.time.Duration;
import java.time.Instant;

/**
 * The machine's time without what nobody did anything in: whatever lies between two looks counts as a moment at most.
 *
 * <p>A client voids legs in which it stood still, which a busy machine makes it do. What a run then makes of the rest is not
 * for the machine to decide: with this clock the requests, sockets and threads are real, and no pause is seen.
 */
public final class SteadyClock implements RunClock {
    /** Half of what a client may stand still. */
    private static final long LONGEST_NANOS = Duration.ofMillis(50).toNanos();

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
    public void sleepUntil(long deadlineNanos) {
        for (long left = deadlineNanos - nanos(); left > 0; left = deadlineNanos - nanos()) {
            RunClock.system().sleep(Math.min(left, LONGEST_NANOS));
        }
    }

    @Override
    public Instant now() {
        return began.plusNanos(nanos());
    }
}
