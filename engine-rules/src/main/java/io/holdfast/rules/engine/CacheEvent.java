package io.holdfast.rules.engine;

import io.holdfast.core.index.Tier;
import java.util.List;
import java.util.Optional;

/** Act of a cache, as its event stream will tell it. */
public sealed interface CacheEvent {
    /**
     * A chain of blocks entered a tier, the first under the parent, or under the root when there is none.
     *
     * @param tokens those of all the blocks, in order
     * @param salt of the prompt, empty for none, where this engine's event tells it
     * @param session of the request that stored them, empty for none, where this engine's event tells it
     */
    record Stored(
            Optional<BlockName> parent,
            List<BlockName> blocks,
            Tokens tokens,
            int blockTokens,
            Tier tier,
            String salt,
            String session)
            implements CacheEvent {
        public Stored {
            blocks = List.copyOf(blocks);
        }

        /** Creates the event of a store without a session. */
        public Stored(
                Optional<BlockName> parent,
                List<BlockName> blocks,
                Tokens tokens,
                int blockTokens,
                Tier tier,
                String salt) {
            this(parent, blocks, tokens, blockTokens, tier, salt, "");
        }
    }

    record Removed(List<BlockName> blocks, Tier tier) implements CacheEvent {
        public Removed {
            blocks = List.copyOf(blocks);
        }
    }

    record Cleared() implements CacheEvent {}
}
