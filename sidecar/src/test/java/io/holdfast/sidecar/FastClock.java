package io.holdfast.sidecar;

import io.holdfast.rules.engine.EngineClock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.locks.LockSupport;

/** The machine's time so many times as fast, for all who are handed it: an engine, its sidecar, their clients. */
final class FastClock implements EngineClock {
    private final long origin = System.nanoTime();
    private final Instant begin = Instant.now();
    private final double pace;

    FastClock(double pace) {
        this.pace = pace;
    }

    double pace() {
        return pace;
    }

    @Override
    public long nanos() {
        return Math.round((System.nanoTime() - origin) * pace);
    }

    @Override
    public double unixSeconds() {
        Instant now = begin.plus(Duration.ofNanos(nanos()));
        return now.getEpochSecond() + now.getNano() / 1e9;
    }

    @Override
    public void await(long deadlineNanos) {
        long left = Math.round((deadlineNanos - nanos()) / pace);
        if (left > 0) {
            LockSupport.parkNanos(this, left);
        }
    }

    /** Waits for the deadline however often the thread is woken before. */
    void awaitFully(long deadlineNanos) {
        while (nanos() - deadlineNanos < 0) {
            await(deadlineNanos);
        }
    }
}
