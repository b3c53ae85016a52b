package io.holdfast.emulator.testing;

import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.VirtualClock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** A clock that stands still, the GPU busy, until the test opens it. */
public final class GateClock implements EngineClock {
    private final VirtualClock time = new VirtualClock();
    private final CountDownLatch busy = new CountDownLatch(1);
    private volatile boolean open;
    private volatile @Nullable Thread waiting;

    @Override
    public long nanos() {
        return time.nanos();
    }

    @Override
    public double unixSeconds() {
        return time.unixSeconds();
    }

    @Override
    public void await(long deadlineNanos) {
        waiting = Thread.currentThread();
        busy.countDown();
        if (open) {
            time.await(deadlineNanos);
        } else {
            LockSupport.park(this);
        }
    }

    public void awaitBusy() throws InterruptedException {
        busy.await();
    }

    public void open() {
        open = true;
        LockSupport.unpark(waiting);
    }
}
