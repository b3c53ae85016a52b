package io.holdfast.core.pin;

import io.holdfast.core.backend.Outcome;
import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The calls to backends: pins never in the way of unpins, at most eight of each under way, each with one outcome.
 *
 * <p>Belongs to the controller's thread: calls are made on the executor, their outcomes come back on its own thread. A
 * client turns away what exceeds its own bound on calls under way; a call that waits here is not turned away.
 */
final class PinCalls {
    static final int MOST_UNDER_WAY = 8;

    private final Executor acting;
    private final Executor owner;
    private final Lane pins = new Lane();
    private final Lane unpins = new Lane();

    /**
     * One call.
     *
     * @param refusal asked when it is about to be made, since the world goes on while it waits: why it is not made
     *     after all
     * @param then told of the outcome on the controller's thread
     */
    private record Call(
            Supplier<Optional<String>> refusal, Supplier<CompletionStage<Outcome>> start, Consumer<Outcome> then) {}

    private static final class Lane {
        final Queue<Call> waiting = new ArrayDeque<>();
        int underWay;
    }

    /** {@code owner} runs what it is given on the controller's thread. */
    PinCalls(Executor acting, Executor owner) {
        this.acting = acting;
        this.owner = owner;
    }

    void pin(Supplier<Optional<String>> refusal, Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> then) {
        make(pins, new Call(refusal, call, then));
    }

    void unpin(Supplier<Optional<String>> refusal, Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> then) {
        make(unpins, new Call(refusal, call, then));
    }

    /** Past whatever waits, and past the bound. */
    void unpinNow(Supplier<CompletionStage<Outcome>> call, Consumer<Outcome> then) {
        unpins.underWay++;
        start(unpins, new Call(Optional::empty, call, then));
    }

    private void make(Lane lane, Call call) {
        lane.waiting.add(call);
        next(lane);
    }

    private void next(Lane lane) {
        while (lane.underWay < MOST_UNDER_WAY && !lane.waiting.isEmpty()) {
            Call call = lane.waiting.remove();
            Optional<String> refusal = call.refusal.get();
            if (refusal.isPresent()) {
                call.then.accept(notSent(refusal.get()));
            } else {
                lane.underWay++;
                start(lane, call);
            }
        }
    }

    private void start(Lane lane, Call call) {
        Consumer<Outcome> answer = outcome -> owner.execute(() -> {
            lane.underWay--;
            call.then.accept(outcome);
            next(lane);
        });
        try {
            acting.execute(() -> ask(call, answer));
        } catch (RejectedExecutionException closed) {
            answer.accept(notSent("It was not sent: the executor that acts for the ledger takes no more work."));
        }
    }

    private static void ask(Call call, Consumer<Outcome> answer) {
        CompletionStage<Outcome> outcome;
        try {
            outcome = call.start.get();
        } catch (RuntimeException | Error e) {
            outcome = CompletableFuture.failedFuture(e);
        }
        outcome.whenComplete((known, failure) -> answer.accept(
                failure == null ? known : new Outcome(Outcome.Kind.DEFERRED, "The backend failed: " + failure)));
    }

    private static Outcome notSent(String why) {
        return new Outcome(Outcome.Kind.NOT_SENT, why);
    }
}
