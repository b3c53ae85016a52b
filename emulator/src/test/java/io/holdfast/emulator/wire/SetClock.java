package io.holdfast.emulator.wire;

import io.holdfast.emulator.engine.EngineClock;

/** Two clocks that stand where the test sets them. */
final class SetClock implements EngineClock {
    private volatile long nanos = 1_000;
    private volatile double unixSeconds = 1_700_000_000.5;

    void advance(long by) {
        nanos = nanos + by;
    }

    void stamp(double seconds) {
        unixSeconds = seconds;
    }

    @Override
    public long nanos() {
        return nanos;
    }

    @Override
    public double unixSeconds() {
        return unixSeconds;
    }

    @Override
    public void await(long deadlineNanos) {
        throw new AssertionError("a publisher waits for nobody's clock");
    }
}
