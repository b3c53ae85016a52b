package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import java.time.Instant;
import java.util.concurrent.locks.LockSupport;

/** The time that a run is measured in, and waiting in it: the machine's, or one that jumps where nobody is to wait. */
public interface RunClock {
    /** A monotonic time. */
    long nanos();

    /**
     * Returns when {@link #nanos} has reached the deadline, at once where it has; throws where the thread is
     * interrupted.
     */
    void sleepUntil(long deadlineNanos);

    /** Date and time, for the record. */
    Instant now();

    default void sleep(long nanos) {
        sleepUntil(nanos() + nanos);
    }

    static RunClock system() {
        return new RunClock() {
            @Override
            public long nanos() {
                return System.nanoTime();
            }

            @Override
            public void sleepUntil(long deadlineNanos) {
                for (long left = deadlineNanos - nanos(); left > 0; left = deadlineNanos - nanos()) {
                    if (Thread.currentThread().isInterrupted()) {
                        throw new LoadTestException("The load test was stopped.");
                    }
                    LockSupport.parkNanos(left);
                }
            }

            @Override
            public Instant now() {
                return Instant.now();
            }
        };
    }
}
