package io.holdfast.core.pin;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs tasks one at a time, in the order given, on an executor that may have many threads.
 *
 * <p>Every task has exactly one of two ends: it ran, or, because the executor takes no more, what it named for that
 * case did. A task that throws is logged and stops nobody.
 */
final class SerialExecutor {
    private static final Logger LOG = LoggerFactory.getLogger(SerialExecutor.class);

    private final Executor threads;
    private final Queue<Task> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();

    private record Task(Runnable work, Runnable refused) {}

    SerialExecutor(Executor threads) {
        this.threads = threads;
    }

    /** {@code refused} may be called by any thread. */
    void execute(Runnable work, Runnable refused) {
        tasks.add(new Task(work, refused));
        if (waiting.getAndIncrement() == 0) {
            try {
                threads.execute(this::runTasks);
            } catch (RejectedExecutionException closed) {
                refuseTasks();
            }
        }
    }

    private void runTasks() {
        do {
            run(tasks.remove().work);
        } while (waiting.decrementAndGet() > 0);
    }

    private void refuseTasks() {
        do {
            run(tasks.remove().refused);
        } while (waiting.decrementAndGet() > 0);
    }

    private static void run(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            LOG.error("A task of the ledger failed; the next ones go on.", e);
        }
    }
}
