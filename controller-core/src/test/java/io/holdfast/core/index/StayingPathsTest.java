package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.Gap.Cause;
import org.junit.jupiter.api.Test;

/** How much of a path stays, as an engine's events tell it. */
final class StayingPathsTest {
    private static final long SECOND = 1_000_000;
    private static final long SINCE = 1_000 * SECOND;

    private final EngineBlocks tree = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    });
    private long sequence;

    @Test
    void wholePath_isThere_untilItsEndGoes() {
        stored(900, 1, 2, 3);
        StayingPath path = tree.follow(3, SINCE);
        assertThat(path.known()).isTrue();
        assertThat(path.blocks()).isEqualTo(3);
        removed(1_100, 3);
        assertThat(path.blocks()).isEqualTo(2);
        assertThat(path.block(1)).isEqualTo(2);
    }

    @Test
    void blockThatWentAndCameBack_hasNotStayed() {
        stored(900, 1, 2, 3);
        StayingPath path = tree.follow(3, SINCE);
        removed(1_100, 2, 3);
        storedUnder(1_200, 1, 2, 3);
        assertThat(path.blocks()).isEqualTo(1);
        removed(1_300, 1);
        stored(1_400, 1, 2, 3);
        assertThat(path.known()).isTrue();
        assertThat(path.blocks()).isZero();
    }

    @Test
    void blockThatWentBeforeTheMoment_andCameBack_hasStayed() {
        stored(800, 1, 2, 3);
        StayingPath path = tree.follow(3, SINCE);
        removed(900, 2, 3);
        assertThat(path.blocks()).as("while it is gone").isEqualTo(1);
        storedUnder(950, 1, 2, 3);
        assertThat(path.blocks()).isEqualTo(3);
    }

    @Test
    void removalOlderThanItsStamp_takesNothingThatIsThereAgain() {
        stored(800, 1, 2, 3);
        StayingPath path = tree.follow(3, SINCE);
        removed(1_014, 3);
        assertThat(path.blocks()).isEqualTo(2);
        storedUnder(1_014, 2, 3);
        assertThat(path.blocks()).isEqualTo(3);
        removed(1_016, 3);
        storedUnder(1_017, 2, 3);
        assertThat(path.blocks()).isEqualTo(2);
    }

    @Test
    void clear_aMomentLater_endsIt() {
        stored(900, 1, 2);
        StayingPath path = tree.follow(2, SINCE);
        cleared(1_003);
        stored(1_004, 1, 2);
        assertThat(path.blocks()).isZero();
    }

    @Test
    void pathThatIsToldLater_isKnownFromItsLastBlockOn() {
        StayingPath path = tree.follow(3, SINCE);
        stored(800, 1, 2);
        assertThat(path.known()).isFalse();
        assertThat(path.blocks()).isZero();
        storedUnder(900, 2, 3);
        assertThat(path.known()).isTrue();
        assertThat(path.blocks()).isEqualTo(3);
        removed(1_100, 3);
        assertThat(path.blocks()).isEqualTo(2);
    }

    @Test
    void clear_afterTheMoment_endsIt_whateverComesBack() {
        stored(900, 1, 2);
        StayingPath path = tree.follow(2, SINCE);
        cleared(1_100);
        stored(1_200, 1, 2);
        assertThat(path.known()).isTrue();
        assertThat(path.blocks()).isZero();
    }

    @Test
    void clear_beforeTheMoment_isWhatItWasStoredAfter() {
        StayingPath path = tree.follow(2, SINCE);
        stored(700, 1, 2);
        cleared(800);
        assertThat(path.known()).isFalse();
        stored(900, 1, 2);
        assertThat(path.blocks()).isEqualTo(2);
    }

    @Test
    void restart_endsItWithItsFirstBatch() {
        stored(900, 1, 2);
        StayingPath path = tree.follow(2, SINCE);
        tree.restarted(0);
        assertThat(path.blocks()).as("gone from the view").isZero();
        stored(1_200, 1, 2);
        assertThat(path.known()).isTrue();
        assertThat(path.blocks()).isZero();
    }

    @Test
    void lostEvents_takeNothingAway_butRemovalsThatAreHeardDo() {
        stored(900, 1, 2, 3);
        StayingPath path = tree.follow(3, SINCE);
        tree.gap(new Gap(Cause.DROPPED, 5, 7));
        assertThat(path.blocks()).isEqualTo(3);
        removed(1_100, 3);
        assertThat(path.blocks()).isEqualTo(2);
    }

    @Test
    void secondBlockOfTheSameHash_leavesOneAfterTheFirstRemoval() {
        stored(900, 1, 2);
        stored(950, 1, 2);
        StayingPath path = tree.follow(2, SINCE);
        removed(1_100, 2);
        assertThat(path.blocks()).isEqualTo(2);
        removed(1_200, 2);
        assertThat(path.blocks()).isEqualTo(1);
    }

    @Test
    void twoPathsThatShareBlocks_areForgottenOneByOne() {
        stored(900, 1, 2);
        storedUnder(900, 1, 3);
        StayingPath one = tree.follow(2, SINCE);
        StayingPath other = tree.follow(3, SINCE);
        one.forget();
        removed(1_100, 3);
        removed(1_100, 1);
        assertThat(other.blocks()).isZero();
        other.forget();
    }

    private void stored(long stamp, long... blocks) {
        batch(stamp, () -> tree.stored(chain(blocks)));
    }

    private void storedUnder(long stamp, long parent, long... blocks) {
        batch(stamp, () -> tree.stored(chain(blocks).under(parent)));
    }

    private void removed(long stamp, long... blocks) {
        batch(stamp, () -> tree.removed(blocks, 0, blocks.length, Tier.GPU, 0));
    }

    private void cleared(long stamp) {
        batch(stamp, tree::cleared);
    }

    private void batch(long seconds, Runnable events) {
        tree.batchStarted(sequence++, seconds * SECOND);
        events.run();
        tree.batchEnded();
    }

    private static StoredBlocks chain(long... blocks) {
        StoredBlocks chain = new StoredBlocks().reset().blockTokens(16);
        for (long block : blocks) {
            chain.add(block);
        }
        return chain;
    }
}
