package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class ReleaseShadowTest {
    private static final int BLOCK = 16;

    private Optional<ReleaseShadow> listening = Optional.empty();
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

        @Override
        public void pinsChanged(long[] path) {
            listening.ifPresent(shadow -> shadow.pinsChanged(path));
        }
    });
    private final ReleaseShadow shadow = new ReleaseShadow(tree, true);

    ReleaseShadowTest() {
        tree.cleared();
        listening = Optional.of(shadow);
    }

    private void stored(long... path) {
        StoredBlocks chain = new StoredBlocks().reset().blockTokens(BLOCK);
        for (long block : path) {
            chain.add(block);
        }
        tree.stored(chain);
    }

    private void removed(long... blocks) {
        tree.removed(blocks, 0, blocks.length, Tier.GPU, 0);
    }

    @Test
    void blockThatWasEvictedWhenALeaseEnded_isPinnedAgain() {
        stored(1, 2, 3);
        stored(11, 12, 13);
        assertThat(shadow.gaveBack(tree.path(3), 10)).isTrue();
        tree.pinPath(13);
        removed(3, 2, 1);
        // The cache is full of what is kept and what is pinned.
        shadow.used(13, BLOCK);
        tree.unpinPath(13);
        shadow.now(10);

        tree.pinPath(13);
        shadow.used(13, BLOCK);

        assertThat(shadow.running()).isTrue();
        assertThat(shadow.foundTokens()).as("the other cache had evicted it").isEqualTo(3 * BLOCK);
    }
}
