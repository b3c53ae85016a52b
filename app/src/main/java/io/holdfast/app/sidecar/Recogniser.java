package io.holdfast.app.sidecar;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Finds out of which family an engine is, on a thread of its own that asks until the engine answers.
 *
 * <p>An engine that is gone may take many seconds not to answer. Neither the start of the process nor its end may wait for
 * that: in a pod both are watched by a clock.
 */
final class Recogniser {
    private final CompletableFuture<String> family = new CompletableFuture<>();

    private Recogniser() {}

    /** Returns one that need not ask. */
    static Recogniser of(String family) {
        Recogniser recogniser = new Recogniser();
        recogniser.family.complete(family);
        return recogniser;
    }

    /** Returns one that does not ask. */
    static Recogniser none() {
        return new Recogniser();
    }

    /**
     * Begins to ask.
     *
     * @param question asks once; absent where the engine gave no answer
     * @param pause time between two questions
     * @param threads makes the thread, which ends with the answer and else not before the process
     */
    static Recogniser asking(Supplier<Optional<String>> question, Duration pause, ThreadFactory threads) {
        Recogniser recogniser = new Recogniser();
        threads.newThread(() -> recogniser.ask(question, pause)).start();
        return recogniser;
    }

    private void ask(Supplier<Optional<String>> question, Duration pause) {
        try {
            Optional<String> answer = question.get();
            while (answer.isEmpty()) {
                Thread.sleep(pause);
                answer = question.get();
            }
            family.complete(answer.get());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns the family; absent while it is not known. */
    Optional<String> family() {
        return family.isDone() ? Optional.of(family.join()) : Optional.empty();
    }

    /** Returns the family as soon as it is known, and absent where that takes longer than this. */
    Optional<String> within(Duration limit) throws InterruptedException {
        try {
            return Optional.of(family.get(limit.toNanos(), TimeUnit.NANOSECONDS));
        } catch (TimeoutException e) {
            return Optional.empty();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
