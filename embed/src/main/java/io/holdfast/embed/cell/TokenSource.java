package io.holdfast.embed.cell;

import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Way to the tokens of a fleet's holds that another process took; they never pass a store. */
public interface TokenSource {
    /** No process may be asked. */
    TokenSource NONE = new TokenSource() {
        @Override
        public Optional<String> whyNot(FleetHold hold) {
            return Optional.of("nobody may be asked for its tokens");
        }

        @Override
        public CompletionStage<int[]> tokens(FleetHold hold) {
            throw new IllegalStateException("Nobody may be asked.");
        }
    };

    /** Returns the reason why nobody may be asked for those of this hold, in a clause that names the mend. */
    Optional<String> whyNot(FleetHold hold);

    /** Asks for them; fails with one sentence that has none of them. They may be anybody's word. */
    CompletionStage<int[]> tokens(FleetHold hold);

    /** Returns true if a process at this address, which was read from a store, may be asked for tokens. */
    default boolean mayAsk(String address) {
        return false;
    }

    /**
     * Asks a process at an address that may be asked for the tokens of a prefix that is hot there; fails with one sentence
     * that has none of them.
     *
     * @param name of its last block, by {@link io.holdfast.core.hash.ContentNames}
     * @param count how many it has
     */
    default CompletionStage<int[]> tokens(String address, long name, int count) {
        throw new IllegalStateException("Nobody may be asked.");
    }

    /**
     * Answers whether this engine's vocabulary has a token id, by its own word; an id outside of it can end an engine.
     * Where nobody can say, it is false.
     */
    default CompletionStage<Boolean> engineHas(long token) {
        return CompletableFuture.completedStage(false);
    }
}
