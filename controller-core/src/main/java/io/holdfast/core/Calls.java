package io.holdfast.core;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The calls to a backend: at most eight are under way, the rest wait in order, and each has exactly one outcome.
 *
 * <p>A client turns away what exceeds its own bound on calls under way; a call that waits here is not turned away.
 */
final class Calls {
    static final int MOST_UNDER_WAY = 8;

    private final SerialExecutor acting;
    private final Queue<Call> waiting = new ArrayDeque<>();
    private int underWay;

    private record Call(Supplier<CompletionStage<Outcome>> start, Consumer<Outcome> then) {}

    Calls(SerialExecutor acting) {
        this.acting = acting;
    }

    /** Makes the call now or later, on the acting executor; {@code then} may be called by any thread. */
    void make(Supplier<CompletionStage<Outcome>> start, Consumer<Outcome> then) {
        Call call = new Call(start, then);
        synchronized (this) {
            if (underWay == MOST_UNDER_WAY) {
                waiting.add(call);
                return;
            }
            underWay++;
        }
        act(call);
    }

    private void act(Call call) {
        acting.execute(
                () -> start(call), () -> end(call, deferred("it was not called: the executor takes no more work")));
    }

    private void start(Call call) {
        CompletionStage<Outcome> answer;
        try {
            answer = call.start.get();
        } catch (RuntimeException e) {
            answer = CompletableFuture.failedFuture(e);
        }
        answer.whenComplete((outcome, failure) ->
                end(call, failure == null ? outcome : deferred("the backend failed: " + failure)));
    }

    private void end(Call call, Outcome outcome) {
        try {
            call.then.accept(outcome);
        } finally {
            next();
        }
    }

    private void next() {
        Call next;
        synchronized (this) {
            next = waiting.poll();
            if (next == null) {
                underWay--;
                return;
            }
        }
        act(next);
    }

    private static Outcome deferred(String reason) {
        return new Outcome(Outcome.Kind.DEFERRED, reason);
    }
}
