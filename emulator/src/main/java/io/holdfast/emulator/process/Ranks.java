package io.holdfast.emulator.process;

import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.Generation;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * The engines behind one server: one, or one for each data-parallel rank, each with a cache of its own. Requests go round;
 * what concerns caches is asked of all. Thread-safe.
 */
public final class Ranks<E extends Engine> implements AutoCloseable {
    private final List<EngineThread<E>> engines;
    private final AtomicInteger next = new AtomicInteger();

    public Ranks(List<EngineThread<E>> engines) {
        this.engines = List.copyOf(engines);
    }

    public int count() {
        return engines.size();
    }

    public void start() {
        engines.forEach(EngineThread::start);
    }

    public void submit(Generation request) {
        engines.get(Integer.remainderUnsigned(next.getAndIncrement(), engines.size()))
                .submit(request);
    }

    /** The client of the request went away; the ranks that do not have it do not mind. */
    public void abort(Generation request) {
        engines.forEach(engine -> engine.abort(request));
    }

    /** Completes with an answer for each rank, each given on its engine's thread between two passes. */
    public <T> CompletionStage<List<T>> ask(Function<E, T> question) {
        List<CompletableFuture<T>> answers = engines.stream()
                .map(engine -> engine.ask(question).toCompletableFuture())
                .toList();
        return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
                .thenApply(_ -> answers.stream().map(CompletableFuture::join).toList());
    }

    /** Asks each engine for what it lets any thread see, such as its numbers. */
    public <T> List<T> look(Function<E, T> question) {
        return engines.stream().map(engine -> engine.look(question)).toList();
    }

    /** Waits until each engine has made one more step, or has ended. */
    public void awaitStep() {
        List<CompletableFuture<Boolean>> steps = engines.stream()
                .map(engine -> engine.stepped().toCompletableFuture())
                .toList();
        steps.forEach(CompletableFuture::join);
    }

    /** Waits until all engines have ended; requests in flight get no answer. */
    @Override
    public void close() {
        engines.forEach(EngineThread::close);
    }
}
