package io.holdfast.http;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Question that is repeated until there is a real answer.
 *
 * <p>An engine that starts, or is too busy to answer, has said nothing about what it can do, so the caller waits. Only
 * the end of the timer ends the wait without an answer.
 *
 * @param <T> kind of the answer
 */
public final class ProbeLoop<T> {
    private static final long ASK_AGAIN_MILLIS = 500;

    /**
     * Outcome of one attempt.
     *
     * @param silence why nothing was said about what the engine can do; absent where it was
     * @param judge makes the answer of what was said
     */
    public record Attempt<T>(Optional<String> silence, Supplier<T> judge) {}

    private final ScheduledExecutorService timer;
    private final Supplier<CompletionStage<Attempt<T>>> ask;
    private final Function<String, T> silence;

    /**
     * @param timer paces the questions
     * @param silence makes the answer of the last reason for none, once the timer is shut down
     */
    public ProbeLoop(
            ScheduledExecutorService timer, Supplier<CompletionStage<Attempt<T>>> ask, Function<String, T> silence) {
        this.timer = timer;
        this.ask = ask;
        this.silence = silence;
    }

    /** Begins to ask. */
    public CompletionStage<T> answer() {
        CompletableFuture<T> answer = new CompletableFuture<>();
        ask(answer);
        return answer;
    }

    private void ask(CompletableFuture<T> answer) {
        CompletionStage<Void> unused = ask.get()
                .thenAccept(attempt -> attempt.silence()
                        .ifPresentOrElse(
                                why -> later(answer, why),
                                () -> answer.complete(attempt.judge().get())));
    }

    private void later(CompletableFuture<T> answer, String why) {
        try {
            Future<?> unused = timer.schedule(() -> ask(answer), ASK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            answer.complete(silence.apply(why));
        }
    }
}
