package io.holdfast.app.cli;

import io.holdfast.loadtest.run.RunStop;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Lets Ctrl-C end a load test in order: a shutdown hook asks the run to stop and keeps the process until it has released
 * what it held and has told how to go on. The process then ends with 128 and the number of the signal, as ever.
 */
public final class StopOnSignal implements AutoCloseable {
    private static final long POLITE_MILLIS = 1_500;
    private static final long MOST_MILLIS = 15_000;

    private final RunStop stop;
    private final CountDownLatch over = new CountDownLatch(1);
    private final Thread hook = new Thread(this::stop, "holdfast-stop");

    public StopOnSignal(RunStop stop) {
        this.stop = stop;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private void stop() {
        try {
            stop.ask();
            if (!over.await(POLITE_MILLIS, TimeUnit.MILLISECONDS)) {
                stop.insist();
                if (!over.await(MOST_MILLIS, TimeUnit.MILLISECONDS)) {
                    System.err.println("holdfast: stopped before everything was released; holds end"
                            + " automatically, or by a flush of the engine's cache.");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        over.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // It runs already, and has just been let go.
            over.countDown();
        }
    }
}
