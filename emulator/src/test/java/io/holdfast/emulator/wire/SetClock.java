package io.holdfast.emulator.wire;

import io.holdfast.rules.engine.EngineClock;
import java.util.concurrent.atomic.AtomicLong;

/** Two clocks that stand where the test sets them. */
final class SetClock implements EngineClock {
    private final AtomicLong nanos = new AtomicLong(1_000);
    private volatile double unixSeconds = 1_700_000_000.5;

    void advance(long by) {
        nanos.addAndGet(by);
    }

    void stamp(double seconds) {
        unixSeconds = seconds;
    }

    @Override
    public long nanos() {
        return nanos.get();
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
