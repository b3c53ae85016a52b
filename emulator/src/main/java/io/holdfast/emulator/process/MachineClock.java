package io.holdfast.emulator.process;

import io.holdfast.rules.engine.EngineClock;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.locks.LockSupport;

/** The machine's time: parks up to shortly before the deadline, since waking up is late by tens of microseconds. */
public final class MachineClock implements EngineClock {
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
}
