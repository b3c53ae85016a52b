package io.holdfast.app;

import io.holdfast.loadtest.run.RunClock;
import java.time.Duration;
import java.time.Instant;

/**
 * The machine's time for tests that ask for no times. It jumps where the run's own thread would wait out a time of the run,
 * such as the slot of a leg, and counts a pause of the machine as a moment, so that no pair is spoiled by a busy one.
 *
 * <p>A look for something outside, again and again, sleeps in between, and the turns of requests come sooner than what is
 * jumped over.
 */
final class JumpingClock implements RunClock {
    private static final long LEAST_JUMP = Duration.ofMillis(100).toNanos();
    /** So short that what lies between a request's turn and its sending comes to less than any limit of a run. */
    private static final long LONGEST_PAUSE = Duration.ofMillis(1).toNanos();

    private static final long LONGEST_SLEEP = Duration.ofMillis(50).toNanos();

    private final Thread jumps;
    private final Instant began = Instant.now();
    private long looked = System.nanoTime();
    private long passed;

    JumpingClock(Thread jumps) {
        this.jumps = jumps;
    }

    @Override
    public synchronized long nanos() {
        long now = System.nanoTime();
        passed += Math.min(now - looked, LONGEST_PAUSE);
        looked = now;
        return passed;
    }

    @Override
    public void sleepUntil(long deadlineNanos) {
        if (Thread.currentThread() == jumps && deadlineNanos - nanos() >= LEAST_JUMP) {
            jumpTo(deadlineNanos);
        }
        for (long left = deadlineNanos - nanos(); left > 0; left = deadlineNanos - nanos()) {
            sleep(Math.min(left, LONGEST_SLEEP));
        }
    }

    private synchronized void jumpTo(long nanos) {
        passed = Math.max(nanos(), nanos);
    }

    @Override
    public void sleep(long nanos) {
        long until = nanos() + nanos;
        RunClock.system().sleep(nanos);
        jumpTo(until);
    }

    @Override
    public Instant now() {
        return began.plusNanos(nanos());
    }
}
