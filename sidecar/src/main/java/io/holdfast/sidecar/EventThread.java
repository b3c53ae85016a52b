package io.holdfast.sidecar;

import io.holdfast.core.Controller;
import io.holdfast.events.KvEventLoop;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread that reads every engine's events and drives every controller.
 *
 * <p>Each round reads what the sockets have, then polls every controller. It sleeps in the sockets' poll; mail for a
 * controller, a new subscription and the end of the thread wake it. A controller that throws is a fault of ours: it is
 * polled no more and {@link #fault} says so, while the other engines go on.
 */
final class EventThread implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventThread.class);

    private final KvEventLoop loop;
    private final LongSupplier clock;
    private final int pollMillis;
    private final List<Driven> driven = new CopyOnWriteArrayList<>();
    private final Queue<Consumer<KvEventLoop>> tasks = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile long cameRoundAt;
    private volatile boolean stopping;

    /** A controller with what became of driving it. */
    private static final class Driven {
        private final Controller controller;
        private volatile String fault = "";

        Driven(Controller controller) {
            this.controller = controller;
        }
    }

    EventThread(LongSupplier clock, int pollMillis) {
        this.loop = new KvEventLoop();
        this.clock = clock;
        this.pollMillis = pollMillis;
        this.cameRoundAt = clock.getAsLong();
        this.thread = Thread.ofPlatform().name("holdfast-events").daemon().unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    void drive(Controller controller) {
        driven.add(new Driven(controller));
        controller.onMail(loop::wakeup);
    }

    /** Runs on the thread, between two rounds. */
    void execute(Consumer<KvEventLoop> task) {
        tasks.add(task);
        loop.wakeup();
    }

    double lagNanos() {
        return clock.getAsLong() - cameRoundAt;
    }

    /** Why the process should be restarted; absent while all is well. */
    Optional<String> fault() {
        if (!thread.isAlive()) {
            return Optional.of("The event thread has ended; restart the sidecar.");
        }
        return driven.stream()
                .filter(each -> !each.fault.isEmpty())
                .map(each -> "Engine " + each.controller.view().engineId() + ": " + each.fault + ".")
                .findFirst();
    }

    /** Why a controller is driven no more; empty while all is well. */
    String fault(Controller controller) {
        return driven.stream()
                .filter(each -> each.controller == controller)
                .map(each -> each.fault)
                .findFirst()
                .orElse("");
    }

    private void run() {
        try (loop) {
            while (!stopping) {
                for (Consumer<KvEventLoop> task = tasks.poll(); task != null; task = tasks.poll()) {
                    task.accept(loop);
                }
                loop.doWork(pollMillis);
                poll();
                cameRoundAt = clock.getAsLong();
            }
        } catch (RuntimeException e) {
            LOG.error("The event thread ended: nothing is followed or decided any more, restart the sidecar.", e);
        }
    }

    private void poll() {
        for (Driven each : driven) {
            if (each.fault.isEmpty()) {
                try {
                    each.controller.poll(clock.getAsLong());
                } catch (RuntimeException e) {
                    each.fault = "its controller failed (" + e + "); restart the sidecar and report this";
                    LOG.error(
                            "A controller failed and is driven no more: {}",
                            each.controller.view().engineId(),
                            e);
                }
            }
        }
    }

    @Override
    public void close() {
        stopping = true;
        if (thread.getState() == Thread.State.NEW) {
            loop.close();
            return;
        }
        loop.wakeup();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
