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
 * <p>An engine that starts, or is too busy to answer, has said nothing about what it can do, and whoever waits for it
 * waits. Only the end of the timer ends that without an answer.
 */
final class ProbeLoop {
    private static final long ASK_AGAIN_MILLIS = 500;

    /** Outcome of one attempt. */
    sealed interface Attempt {
        record Answered(Capabilities capabilities) implements Attempt {}

        /** Nothing was said about what the engine can do. */
        record Unanswered(String why) implements Attempt {}
    }

    private final ScheduledExecutorService timer;
    private final Supplier<CompletionStage<Attempt>> ask;

    /** @param timer paces the questions; once it is shut down, no answer is taken for a no */
    ProbeLoop(ScheduledExecutorService timer, Supplier<CompletionStage<Attempt>> ask) {
        this.timer = timer;
        this.ask = ask;
    }

    CompletionStage<Capabilities> answer() {
        CompletableFuture<Capabilities> answer = new CompletableFuture<>();
        ask(answer);
        return answer;
    }

    private void ask(CompletableFuture<Capabilities> answer) {
        CompletionStage<Void> unused = ask.get().thenAccept(attempt -> {
            switch (attempt) {
                case Attempt.Answered answered -> answer.complete(answered.capabilities());
                case Attempt.Unanswered unanswered -> later(answer, unanswered.why());
            }
        });
    }

    private void later(CompletableFuture<Capabilities> answer, String why) {
        try {
            Future<?> unused = timer.schedule(() -> ask(answer), ASK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            answer.complete(new Capabilities(false, why));
        }
    }

    /** Reason why an answer says nothing about what the engine can do; absent when it does say it. */
    static Optional<String> whyUnanswered(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Optional.of(lost.why());
            case Reply.Answer answer
            when Answers.busy(answer) ->
                Optional.of("The engine answered a probe with HTTP " + answer.status() + ": " + Answers.said(answer));
            case Reply.Answer answer -> Optional.empty();
        };
    }
}
