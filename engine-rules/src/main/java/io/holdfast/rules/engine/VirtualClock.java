package io.holdfast.rules.engine;

import java.util.concurrent.atomic.AtomicLong;

/** A clock that jumps to each deadline: emulated time passes exactly, real time does not. */
public final class VirtualClock implements EngineClock {
    public static final double START = 1_700_000_000;

    private final AtomicLong now = new AtomicLong();

    @Override
    public long nanos() {
        return now.get();
    }

    @Override
    public double unixSeconds() {
        return START;
    }

    @Override
    public void await(long deadlineNanos) {
        now.accumulateAndGet(deadlineNanos, Math::max);
    }
}
