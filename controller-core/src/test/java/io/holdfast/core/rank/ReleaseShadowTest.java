package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class ReleaseShadowTest {
    private static final int BLOCK = 16;

    private final MemoryBudget memory = new MemoryBudget(64 << 20);
    private Optional<ReleaseShadow> listening = Optional.empty();
    private final EngineBlocks tree = new EngineBlocks(
            CacheTraits.vllm(),
            new TreeListener() {
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
            },
            memory);
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
        assertThat(shadow.gaveBack(3, 10)).isTrue();
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

    @Test
    void pathsThatAreReleasedAgainAndAgain_takeNoMoreMemory_andAreKeptUntilTheLatestTime() {
        stored(1, 2, 3);
        stored(11, 12, 13);
        assertThat(shadow.gaveBack(3, 10)).isTrue();
        assertThat(shadow.gaveBack(2, 30)).isTrue();
        long bytes = memory.used().bytes();

        for (int again = 0; again <= Short.MAX_VALUE; again++) {
            assertThat(shadow.gaveBack(3, 20)).isTrue();
            assertThat(shadow.gaveBack(2, 30)).isTrue();
        }

        assertThat(memory.used().bytes()).isEqualTo(bytes);
        shadow.now(20);
        removed(3, 2, 1, 13, 12, 11);
        stored(21, 22, 23);
        stored(31, 32, 33);
        shadow.used(23, BLOCK);
        shadow.used(33, BLOCK);
        removed(23, 22, 21);
        stored(1, 2, 3);
        long found = shadow.foundTokens();
        shadow.used(3, BLOCK);
        assertThat(shadow.foundTokens() - found).as("1 and 2 are kept still").isEqualTo(BLOCK);
    }

    @Test
    void moreThanTheCacheHas_isNotMeasuredAnyMore() {
        stored(1, 2, 3);
        stored(11, 12, 13);
        assertThat(shadow.gaveBack(3, 10)).isTrue();
        assertThat(shadow.gaveBack(12, 10)).isTrue();
        removed(13, 12, 3, 2);

        shadow.used(1, BLOCK);

        assertThat(shadow.running()).isFalse();
        assertThat(shadow.whyNot()).contains("more was given back than the cache has");
    }

    @Test
    void memoryThatRunsOut_endsTheMeasure() {
        stored(1, 2, 3);
        long before = memory.used().bytes();
        assertThat(shadow.gaveBack(3, 10)).isTrue();
        assertThat(memory.used().bytes()).isGreaterThan(before);
        shadow.interrupted("it begins anew");
        assertThat(memory.used().bytes()).isEqualTo(before);
        assertThat(shadow.gaveBack(3, 10)).isTrue();
        memory.takeAnyhow(memory.used().most() - memory.used().bytes());
        stored(11, 12, 13);

        shadow.used(13, BLOCK);

        assertThat(shadow.running()).isFalse();
        assertThat(shadow.whyNot()).contains("no memory left");
    }

    /** Both caches are alike once the engine has stored as many blocks as it has. */
    @Test
    void modelEnds_onceAllLeasesAreOver_andTheCacheWasFilledAgain() {
        stored(1, 2, 3);
        stored(11, 12, 13);
        assertThat(shadow.gaveBack(3, 10)).isTrue();
        shadow.stored(100);
        assertThat(shadow.running()).as("a lease would run still").isTrue();
        shadow.now(10);
        shadow.stored(6);
        assertThat(shadow.running()).isTrue();
        shadow.stored(1);
        assertThat(shadow.running()).isFalse();
        assertThat(shadow.measured()).isTrue();
    }

    @Test
    void cacheThatIsTooLarge_isNotModelled() {
        long[] path = LongStream.rangeClosed(1, ReleaseShadow.MOST_BLOCKS).toArray();
        stored(path);
        assertThat(shadow.gaveBack(path.length, 10)).isTrue();
        stored(-1);

        assertThat(shadow.gaveBack(path.length, 10)).isFalse();
        assertThat(shadow.whyNot()).contains("more than 262144 blocks");
    }
}
