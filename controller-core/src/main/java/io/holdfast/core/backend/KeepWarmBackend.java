package io.holdfast.core.backend;

import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Outcome.Kind;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * Keeps a prefix in any engine that caches prefixes, by using it now and then: a touch is a request of the prefix for
 * one token.
 */
public final class KeepWarmBackend implements Backend {
    /*
     * One token more than whole blocks
     * --------------------------------
     * Engines compute the last token of a prompt in any case. Of a prompt of whole blocks they compute the last block
     * again for that, and vLLM stores it a second time, which pushes another block out. With one token beyond, all
     * blocks are found in the cache and nothing is stored. Which token that is does not matter; the last one of the
     * prefix is surely in the vocabulary.
     *
     * Too late
     * --------
     * A touch that finds less of its prefix than all of it has stored it anew. That costs a prefill, and shows by the
     * tokens that the engine found; where it does not tell those, the events do.
     */

    /** Name in configuration and reasons. */
    public static final String NAME = "keep_warm";

    public static final BackendTraits TRAITS =
            BackendTraits.soft().needing(Need.TOKENS).thatFade();

    private final PrefixSender sender;
    private final Supplier<CompletionStage<Capabilities>> probe;

    /** {@code probe} asks whether the engine caches prefixes. */
    public KeepWarmBackend(PrefixSender sender, Supplier<CompletionStage<Capabilities>> probe) {
        this.sender = sender;
        this.probe = probe;
    }

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
        return probe.get();
    }

    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        Optional<int[]> known = command.prefix().tokens();
        if (known.isEmpty()) {
            return CompletableFuture.completedFuture(
                    new Outcome(Kind.REJECTED, "A prefix is kept warm by sending it, and its tokens are not known."));
        }
        int[] tokens = command.prefix().tokensOf(command.blocks());
        int[] touch = Arrays.copyOf(tokens, tokens.length + 1);
        touch[tokens.length] = tokens[tokens.length - 1];
        return sender.send(touch).thenApply(outcome -> touched(outcome, tokens.length));
    }

    private static Outcome touched(Outcome outcome, int tokens) {
        if (outcome.kind() != Kind.ACCEPTED) {
            return outcome;
        }
        boolean late =
                outcome.cachedTokens().isPresent() && outcome.cachedTokens().getAsLong() < tokens;
        return new Outcome(
                Kind.ACCEPTED,
                late
                        ? "A request of the sidecar's own came too late: of " + tokens + " tokens the engine found "
                                + outcome.cachedTokens().getAsLong() + " in its cache, and computed the rest again."
                        : "A request of the sidecar's own used its " + tokens + " tokens.",
                outcome.cachedTokens());
    }

    /** Takes nothing back: the engine evicts automatically what is not used any more. */
    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return CompletableFuture.completedFuture(
                new Outcome(Kind.ACCEPTED, "It is kept warm no more; the engine evicts it when it needs the room."));
    }
}
