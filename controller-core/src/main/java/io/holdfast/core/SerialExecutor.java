package io.holdfast.core;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;

/** Runs tasks one at a time, in the order given, on an executor that may have many threads. */
final class SerialExecutor implements Executor {
    private final Executor threads;
    private final Queue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final AtomicInteger waiting = new AtomicInteger();

    SerialExecutor(Executor threads) {
        this.threads = threads;
    }

    @Override
    public void execute(Runnable task) {
        tasks.add(task);
        if (waiting.getAndIncrement() == 0) {
            try {
                threads.execute(this::runTasks);
            } catch (RejectedExecutionException closed) {
                tasks.clear();
                waiting.set(0);
                throw closed;
            }
        }
    }

    private void runTasks() {
        do {
            tasks.remove().run();
        } while (waiting.decrementAndGet() > 0);
    }
}
