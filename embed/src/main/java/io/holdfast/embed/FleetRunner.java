package io.holdfast.embed;

import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Works for a fleet on a thread of the embedder's factory, for an embedder that has no loop of its own. */
public final class FleetRunner implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(FleetRunner.class);
    private static final int WAIT_MILLIS = 50;

    private final Fleet fleet;
    private final Thread thread;
    private volatile boolean stopping;
    private volatile Optional<String> fault = Optional.empty();

    private FleetRunner(Fleet fleet, ThreadFactory threads) {
        this.fleet = fleet;
        this.thread = Objects.requireNonNull(threads.newThread(this::run), "The thread factory made no thread.");
    }

    /** Begins to work for a fleet, and closes it in the end. */
    public static FleetRunner start(Fleet fleet, ThreadFactory threads) {
        FleetRunner runner = new FleetRunner(fleet, threads);
        runner.thread.start();
        return runner;
    }

    /** Reason why work for the fleet ended; absent while it goes on, or once the end was requested. */
    public Optional<String> fault() {
        return fault;
    }

    private void run() {
        try (fleet) {
            work();
        }
    }

    private void work() {
        try {
            while (!stopping && !fleet.closed()) {
                fleet.doWork(WAIT_MILLIS);
            }
        } catch (RuntimeException | Error e) {
            // Closed in the middle of it by somebody else.
            if (!fleet.closed()) {
                fault = Optional.of("the fleet's thread ended by " + e + "; start another fleet and report this");
                LOG.error("The fleet's thread ended: nothing is followed or decided any more, start another fleet.", e);
            }
        }
    }

    /**
     * Ends the work and waits until the fleet is closed. Pins stay: {@link Fleet#letGo} comes before, where they should
     * not.
     */
    @Override
    public void close() {
        stopping = true;
        fleet.wakeup();
        if (Thread.currentThread().equals(thread)) {
            return;
        }
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
