package io.holdfast.emulator.process;

import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.Generation;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The one thread of an emulated engine: drains its inbox between two passes of the scheduler, parks when there is
 * nothing to do.
 *
 * <p>Ended by a flag and an unpark, never by an interrupt, which would close the event socket's channels under it.
 */
public final class EngineThread<E extends Engine> implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EngineThread.class);

    /** Failure of a request to an engine that has ended. */
    public static final class Gone extends IllegalStateException {
        private static final long serialVersionUID = 1L;

        static final String MESSAGE = "The engine has stopped.";

        Gone() {
            super(MESSAGE);
        }
    }

    private record Message(Runnable work, Runnable refusal) {}

    private final Queue<Message> inbox = new ConcurrentLinkedQueue<>();
    /** For the thread alone. */
    private final List<CompletableFuture<Boolean>> awaitingStep = new ArrayList<>();

    private final E engine;
    private final Runnable onDeath;
    private final Thread thread;
    private volatile boolean stopping;
    private volatile boolean ended;

    /**
     * @param engine builds the engine around the signal that ends its waiting
     * @param onDeath what else goes when the engine's code fails; called on this thread
     */
    public EngineThread(String name, Function<BooleanSupplier, E> engine, Runnable onDeath) {
        this.engine = engine.apply(() -> stopping);
        this.onDeath = onDeath;
        this.thread = Thread.ofPlatform().name(name).daemon().unstarted(this::run);
    }

    public void start() {
        thread.start();
    }

    /** Asks for what the engine lets any thread see, such as its numbers. */
    public <T> T look(Function<E, T> question) {
        return question.apply(engine);
    }

    public void submit(Generation request) {
        send(new Message(() -> engine.submit(request), () -> request.fail(Gone.MESSAGE)));
    }

    public void abort(Generation request) {
        send(new Message(() -> engine.abort(request), () -> {}));
    }

    /** Completes on the engine's thread, between two passes. */
    public <T> CompletionStage<T> ask(Function<E, T> question) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        send(new Message(
                () -> answer.complete(question.apply(engine)), () -> answer.completeExceptionally(new Gone())));
        return answer;
    }

    /**
     * Completes after a step that began after this call: what the engine publishes late, once it is idle, is published.
     */
    CompletionStage<Boolean> stepped() {
        CompletableFuture<Boolean> stepped = new CompletableFuture<>();
        send(new Message(() -> awaitingStep.add(stepped), () -> stepped.complete(false)));
        return stepped;
    }

    /** Waits until the thread has ended; requests in flight get no answer. */
    @Override
    public void close() {
        stopping = true;
        LockSupport.unpark(thread);
        boolean interrupted = false;
        while (thread.isAlive() && !thread.equals(Thread.currentThread())) {
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

    private void send(Message message) {
        inbox.add(message);
        LockSupport.unpark(thread);
        if (ended) {
            refuseAll();
        }
    }

    private void run() {
        try {
            // The clear at the start is published alone, whatever has already been requested.
            engine.step();
            while (!stopping) {
                boolean worked = drainInbox();
                worked |= engine.step();
                completeStepped();
                if (!worked && inbox.isEmpty() && !stopping) {
                    LockSupport.park(this);
                }
            }
        } catch (RuntimeException | Error e) {
            log.error("The engine's scheduler died.", e);
            onDeath.run();
        } finally {
            ended = true;
            refuseAll();
            completeStepped();
        }
    }

    private void completeStepped() {
        awaitingStep.forEach(stepped -> stepped.complete(true));
        awaitingStep.clear();
    }

    private boolean drainInbox() {
        boolean worked = false;
        for (Message next = inbox.poll(); next != null && !stopping; next = inbox.poll()) {
            next.work().run();
            worked = true;
        }
        return worked;
    }

    private void refuseAll() {
        for (Message next = inbox.poll(); next != null; next = inbox.poll()) {
            next.refusal().run();
        }
    }
}
