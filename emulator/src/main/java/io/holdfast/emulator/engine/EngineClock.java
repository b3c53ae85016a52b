package io.holdfast.emulator.engine;

import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.locks.LockSupport;

/** The time in which the emulated GPU works; tests give one that they move themselves. */
public interface EngineClock {
    /** A monotonic time. */
    long nanos();

    /** The wall clock's time, as engines stamp events and answers with it. */
    double unixSeconds();

    /**
     * Waits for the deadline on {@link #nanos}. May return earlier, for one when the thread is unparked: the caller looks at
     * the time again.
     */
    void await(long deadlineNanos);

    /** The machine's time: parks up to shortly before the deadline, since waking up is late by tens of microseconds. */
    static EngineClock system() {
        return new EngineClock() {
            private static final long SPIN_NANOS = 120_000;

            private final InstantSource wall = InstantSource.system();

            @Override
            public long nanos() {
                return System.nanoTime();
            }

            @Override
            public double unixSeconds() {
                Instant now = wall.instant();
                return now.getEpochSecond() + now.getNano() / 1e9;
            }

            @Override
            public void await(long deadlineNanos) {
                long left = deadlineNanos - System.nanoTime();
                if (left > SPIN_NANOS) {
                    LockSupport.parkNanos(this, left - SPIN_NANOS);
                } else if (left > 0) {
                    Thread.onSpinWait();
                }
            }
        };
    }
}
