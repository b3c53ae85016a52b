package io.holdfast.core.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.BlockTokens;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.prefix.SharedPrefixes;
import org.junit.jupiter.api.Test;

/** A prefix that was let go of is held automatically again once a user's request went over it. */
final class LetGoTest {
    private static final long SECOND = 1_000_000_000L;

    private final EngineBlocks tree = new EngineBlocks(CacheTraits.vllm(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {
            // Nobody asks.
        }

        @Override
        public void parted(long above, long first) {
            // Nobody asks.
        }

        @Override
        public void pinnedBlockRemoved(long block) {
            // Nobody asks.
        }
    });
    private final SharedPrefixes prefixes =
            new SharedPrefixes(tree, new BlockTokens(tree::resident), Long.MAX_VALUE / 2);
    private final Holds holds = new Holds(1, tree, prefixes, Runnable::run);

    private void storedUnder(long parent, long block, long nanos) {
        tree.now(nanos);
        StoredBlocks chain = new StoredBlocks().reset().blockTokens(16);
        if (parent != 0) {
            chain.under(parent);
        }
        tree.stored(chain.add(block));
    }

    @Test
    void requestOfOurOwn_doesNotUndoIt() {
        storedUnder(0, 1, SECOND);
        holds.now(2 * SECOND, 16);
        holds.letGo(1);
        assertThat(holds.isLetGo(1)).isTrue();

        storedUnder(1, 2, 5 * SECOND);
        holds.age(6 * SECOND);
        assertThat(holds.isLetGo(1))
                .as("a request of our own was under way then")
                .isTrue();

        storedUnder(1, 3, 8 * SECOND);
        assertThat(holds.isLetGo(1)).isFalse();
    }
}
