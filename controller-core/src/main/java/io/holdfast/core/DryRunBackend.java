package io.holdfast.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The backend that asks no engine: plans, ledger and reasons are real, pins are not. */
public final class DryRunBackend implements Backend {
    @Override
    public String name() {
        return "dry_run";
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        return CompletableFuture.completedFuture(new Capabilities(
                true, true, true, "dry run: nothing is asked of the engine; choose another backend to pin for real"));
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return said("dry run: would pin " + command.blocks() + " blocks");
    }

    @Override
    public CompletionStage<Outcome> unpin(PinCommand command) {
        return said("dry run: would unpin " + command.blocks() + " blocks");
    }

    private static CompletionStage<Outcome> said(String reason) {
        return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, reason));
    }
}
