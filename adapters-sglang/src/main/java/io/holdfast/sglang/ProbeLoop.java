package io.holdfast.sglang;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.http.Reply;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Asks until there is a real answer.
 *
 * <p>An engine that starts, or is too busy to answer, has said nothing about what it can do, and whoever waits for it waits.
 * Only the end of the timer ends that without an answer.
 */
final class ProbeLoop {
    private static final long ASK_AGAIN_MILLIS = 500;

    /** What came of asking once. */
    sealed interface Heard {
        record Told(Capabilities capabilities) implements Heard {}

        /** Nothing was said about what the engine can do. */
        record Silence(String why) implements Heard {}
    }

    private final ScheduledExecutorService timer;
    private final Supplier<CompletionStage<Heard>> ask;

    /** @param timer paces the questions; once it is shut down, silence is taken for a no */
    ProbeLoop(ScheduledExecutorService timer, Supplier<CompletionStage<Heard>> ask) {
        this.timer = timer;
        this.ask = ask;
    }

    CompletionStage<Capabilities> answer() {
        CompletableFuture<Capabilities> told = new CompletableFuture<>();
        ask(told);
        return told;
    }

    private void ask(CompletableFuture<Capabilities> told) {
        CompletionStage<Void> unused = ask.get().thenAccept(heard -> {
            switch (heard) {
                case Heard.Told answer -> told.complete(answer.capabilities());
                case Heard.Silence silence -> later(told, silence.why());
            }
        });
    }

    private void later(CompletableFuture<Capabilities> told, String why) {
        try {
            Future<?> unused = timer.schedule(() -> ask(told), ASK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            told.complete(new Capabilities(false, why));
        }
    }

    /** Why an answer says nothing about what the engine can do; absent when it does say it. */
    static Optional<String> silence(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Optional.of(lost.why());
            case Reply.Answer answer
            when Answers.busy(answer) ->
                Optional.of("The engine answered a probe with HTTP " + answer.status() + ": " + Answers.said(answer));
            case Reply.Answer answer -> Optional.empty();
        };
    }
}
