package io.holdfast.embed;

import java.util.concurrent.CountDownLatch;
import java.util.function.LongSupplier;

/** Holds up whoever reads it, until it is let go on: a fleet reads its clock in the middle of a round. */
final class HeldUpClock implements LongSupplier {
    private final CountDownLatch inside = new CountDownLatch(1);
    private final CountDownLatch leave = new CountDownLatch(1);

    @Override
    public long getAsLong() {
        inside.countDown();
        try {
            leave.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return 1;
    }

    /** Waits until somebody is held up. */
    void awaitReader() throws InterruptedException {
        inside.await();
    }

    void goOn() {
        leave.countDown();
    }
}
