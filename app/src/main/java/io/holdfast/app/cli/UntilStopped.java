package io.holdfast.app.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Keeps a server command alive until the process is told to stop, and the process until the command has cleaned up.
 *
 * <p>Open it before what it guards: a shutdown hook wakes {@link #await}, the resources opened later close, and
 * {@link #close} lets the process go. Without it the JVM would end while pins are still being released.
 */
public final class UntilStopped implements AutoCloseable {
    private static final long MOST_SECONDS = 15;

    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch cleanedUp = new CountDownLatch(1);

    public UntilStopped() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "holdfast-stop"));
    }

    public void await() throws InterruptedException {
        asked.await();
    }

    /** Whether the process was told to stop within this time. */
    public boolean await(Duration most) throws InterruptedException {
        return asked.await(most.toNanos(), TimeUnit.NANOSECONDS);
    }

    @Override
    public void close() {
        cleanedUp.countDown();
    }

    private void stop() {
        asked.countDown();
        try {
            if (!cleanedUp.await(MOST_SECONDS, TimeUnit.SECONDS)) {
                System.err.println(
                        "holdfast: stopped before everything was cleaned up; the next start releases the rest.");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
