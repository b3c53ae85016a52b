package io.holdfast.core.pin;

import io.holdfast.core.backend.Outcome;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Makes calls away from the controller's thread and takes their outcomes on it: one outcome for each call. */
public final class Acting {
    private final Executor acting;
    private final Executor owner;

    /** Calls are made by {@code acting}; {@code owner} runs what it is given on the controller's thread, soon. */
    public Acting(Executor acting, Executor owner) {
        this.acting = acting;
        this.owner = owner;
    }

    /** Makes a call, and tells its outcome on the controller's thread, whatever fails. */
    public void call(Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> then) {
        Consumer<Outcome> answer = outcome -> owner.execute(() -> then.accept(outcome));
        try {
            acting.execute(() -> ask(call, answer));
        } catch (RejectedExecutionException closed) {
            answer.accept(new Outcome(
                    Outcome.Kind.NOT_SENT,
                    "It was not sent: the executor that acts for the ledger takes no more work."));
        }
    }

    private static void ask(Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> answer) {
        CompletionStage<Outcome> outcome;
        try {
            outcome = call.get();
        } catch (RuntimeException | Error e) {
            outcome = CompletableFuture.failedFuture(e);
        }
        outcome.whenComplete((known, failure) -> answer.accept(
                failure == null ? known : new Outcome(Outcome.Kind.DEFERRED, "The backend failed: " + failure)));
    }
}
