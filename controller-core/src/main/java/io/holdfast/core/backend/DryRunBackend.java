package io.holdfast.core.backend;

import io.holdfast.core.backend.BackendTraits.Need;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The backend that asks no engine: plans and reasons are real, pins are not, and the ledger is left as it is. */
public final class DryRunBackend implements Backend {
    /** Name in configuration and ledger. */
    public static final String NAME = "dry_run";

    /** Traits with the same needs as the strictest backend, so that the plan is one that could be carried out. */
    public static final BackendTraits TRAITS = BackendTraits.hard()
            .needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH)
            .endingByThemselves();

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public BackendTraits traits() {
        return TRAITS;
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        return CompletableFuture.completedFuture(new Capabilities(
                true, "dry run: nothing is asked of the engine; choose another backend to pin for real"));
    }

    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return said("dry run: would pin " + command.blocks() + " blocks");
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return said("dry run: would unpin " + String.join(", ", handles));
    }

    private static CompletionStage<Outcome> said(String reason) {
        return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, reason));
    }
}
