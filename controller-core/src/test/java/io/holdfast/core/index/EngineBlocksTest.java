package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hold.HoldRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class EngineBlocksTest {
    private final List<Long> ends = new ArrayList<>();
    private final List<Long> partings = new ArrayList<>();
    private final EngineBlocks tree = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {
            if (ended) {
                ends.add(lastBlock);
            }
        }

        @Override
        public void parted(long above, long first) {
            partings.add(above);
        }

        @Override
        public void pinnedBlockRemoved(long block) {}
    });

    @Test
    void hash_zeroAndNegative_areOrdinary() {
        root(0, -1, Long.MIN_VALUE);
        assertThat(match(0, -1, Long.MIN_VALUE)).isEqualTo(3);
        remove(Long.MIN_VALUE);
        assertThat(match(0, -1, Long.MIN_VALUE)).isEqualTo(2);
    }

    @Test
    void match_blockInTheMiddleRemoved_stopsAtTheHoleAndHealsWhenItReturns() {
        root(1, 2, 3);
        remove(2);
        assertThat(match(1, 2, 3)).isEqualTo(1);
        under(1, 2);
        assertThat(match(1, 2, 3)).isEqualTo(3);
    }

    @Test
    void store_underUnknownParent_claimsNothingUntilTheWayToTheRootIsKnown() {
        under(2, 3, 4);
        assertThat(tree.size()).isEqualTo(2);
        assertThat(match(3, 4)).isZero();
        assertThat(tree.depth(4)).isZero();
        root(1, 2);
        assertThat(match(1, 2, 3, 4)).isEqualTo(4);
        assertThat(tree.depth(4)).isEqualTo(4);
    }

    @Test
    void store_thatWouldCloseACycle_isNotLinked() {
        under(2, 1);
        under(1, 2);
        assertThat(tree.depth(1)).isZero();
        assertThat(tree.depth(2)).isZero();
        assertThat(tree.size()).isEqualTo(2);
    }

    @Test
    void insertion_endsAtTheLastBlockOfAChainOverSeveralAnnouncements() {
        batch(() -> {
            store(chain(1, 2));
            store(chain(3).under(2));
            store(chain(7));
        });
        assertThat(tree.endedInsertion(2)).isFalse();
        assertThat(tree.endedInsertion(3)).isTrue();
        assertThat(tree.endedInsertion(7)).isTrue();
    }

    @Test
    void insertion_extendedInALaterBatch_keepsItsMark() {
        root(1, 2);
        under(2, 3);
        assertThat(tree.endedInsertion(2)).isTrue();
        assertThat(tree.endedInsertion(3)).isTrue();
    }

    @Test
    void insertion_removedAndStoredWithinAnother_mustEarnItsMarkAgain() {
        root(1, 2);
        remove(2);
        under(1, 2, 3);
        assertThat(tree.endedInsertion(2)).isFalse();
    }

    @Test
    void insertion_removedBeforeTheBatchEnds_earnsNoMark() {
        batch(() -> {
            store(chain(1, 2));
            tree.removed(new long[] {2}, 0, 1, Tier.GPU, 0);
        });
        assertThat(tree.endedInsertion(2)).isFalse();
    }

    @Test
    void block_announcedTwice_staysAndIsAmbiguousUntilBothCopiesAreRemoved() {
        root(1, 2);
        root(1, 2);
        assertThat(tree.size()).isEqualTo(2);
        assertThat(tree.ambiguous(2)).isTrue();
        assertThat(tree.endedInsertion(2)).isFalse();
        remove(2);
        assertThat(match(1, 2)).isEqualTo(2);
        assertThat(tree.ambiguous(2)).isTrue();
        assertThat(tree.endedInsertion(2)).isFalse();
        assertThat(tree.ghosts()).isZero();
        remove(2);
        assertThat(match(1, 2)).isEqualTo(1);
        assertThat(tree.size()).isEqualTo(1);
        assertThat(tree.ghosts()).isEqualTo(1);
        under(1, 2);
        assertThat(tree.ambiguous(2)).isFalse();
        assertThat(tree.endedInsertion(2)).isTrue();
    }

    @Test
    void block_announcedManyTimes_goesWithItsLastCopy() {
        int copies = Short.MAX_VALUE + 10;
        for (int i = 0; i < copies; i++) {
            root(1);
        }
        for (int i = 0; i < copies - 1; i++) {
            remove(1);
        }
        assertThat(match(1)).isEqualTo(1);
        remove(1);
        assertThat(match(1)).isZero();
    }

    @Test
    void block_storedOnTheHost_isNeitherResidentNorMarked() {
        batch(() -> store(chain(1, 2).in(Tier.HOST)));
        assertThat(match(1, 2)).isZero();
        assertThat(tree.size()).isZero();
        assertThat(tree.endedInsertion(2)).isFalse();
    }

    @Test
    void insertionEnd_isReportedAndLossesAreCounted() {
        root(1, 2);
        remove(2, 1);
        root(1, 2, 3);
        remove(3, 2);
        under(1, 2);
        assertThat(ends).containsExactly(2L, 3L, 2L);
        assertThat(tree.timesLost(2)).isEqualTo(2);
    }

    @Test
    void ways_thatPartInsideAPath_areReported() {
        root(1, 2, 3);
        under(2, 4);
        assertThat(partings).containsExactly(2L);
    }

    @Test
    void ways_ofWhichTheOtherWasEvicted_areReported() {
        root(1, 2, 3);
        remove(3);
        under(2, 4);
        assertThat(partings).containsExactly(2L);
    }

    @Test
    void nextTurn_beginsWhereAnInsertionEnded_partsNothing() {
        root(1, 2, 3);
        under(3, 4, 5);
        under(5, 6);
        assertThat(partings).isEmpty();
    }

    @Test
    void secondTurnAtTheSameEnd_parts() {
        root(1, 2, 3);
        under(3, 4);
        under(3, 5);
        assertThat(partings).containsExactly(3L);
    }

    @Test
    void ways_ofWhichAllWasLost_partWhereWhatCameBackEnds() {
        root(1, 2, 3);
        remove(3, 2, 1);
        root(1, 2, 4, 5);
        assertThat(partings).containsExactly(2L);
        remove(5, 4, 2);
        under(1, 2, 6);
        assertThat(partings).containsExactly(2L, 2L);
    }

    @Test
    void pathThatComesBackAsItWas_partsNowhere() {
        root(1, 2, 3);
        remove(3, 2, 1);
        root(1, 2, 3);
        remove(3, 2);
        under(1, 2, 3);
        assertThat(partings).isEmpty();
    }

    @Test
    void blocksOfANamespace_orBelowTwins_partNowhere() {
        batch(() -> store(chain(1, 2, 3).namespaced(true)));
        batch(() -> store(chain(4).under(2).namespaced(true)));
        assertThat(partings).isEmpty();
        root(11, 12);
        root(11, 12);
        under(12, 13);
        assertThat(partings).isEmpty();
    }

    @Test
    void ways_whoseWayToTheRootIsUnknown_partNowhere() {
        under(9, 1, 2, 3);
        under(2, 4);
        assertThat(partings).isEmpty();
        remove(4, 3, 2);
        under(1, 2, 5);
        assertThat(partings).isEmpty();
    }

    @Test
    void ways_thatPartAtTheLastPlaceOfAStrip_areReported() {
        root(LongStream.rangeClosed(1, 16).toArray());
        under(16, 17);
        under(16, 18);
        assertThat(partings).containsExactly(16L);
    }

    @Test
    void watchedBlock_isShownToEveryPathOverItAndAgainAfterALoss() {
        root(LongStream.rangeClosed(1, 40).toArray());
        tree.watch(20);
        tree.watch(35);
        assertThat(watchedOn(40)).containsExactly(35L, 20L);
        assertThat(watchedOn(34)).containsExactly(20L);
        remove(LongStream.rangeClosed(1, 40).map(block -> 41 - block).toArray());
        root(LongStream.rangeClosed(1, 40).toArray());
        assertThat(watchedOn(40)).containsExactly(35L, 20L);
        tree.unwatch(35);
        assertThat(watchedOn(40)).containsExactly(20L);
    }

    @Test
    void insertionEnds_atOrBelowABlock_areFound() {
        root(LongStream.rangeClosed(1, 20).toArray());
        under(18, 31, 32);
        under(10, 41);
        List<Long> found = new ArrayList<>();
        tree.endsBelow(18, found::add);
        assertThat(found).containsExactlyInAnyOrder(20L, 32L);
    }

    private List<Long> watchedOn(long block) {
        List<Long> found = new ArrayList<>();
        tree.watchedOn(block, found::add);
        return found;
    }

    @Test
    void pinPath_sharedPrefix_countsDistinctBlocks() {
        root(1, 2, 3);
        under(2, 4);
        tree.pinPath(3);
        tree.pinPath(4);
        assertThat(tree.pinnedBlocks()).isEqualTo(4);
        assertThat(tree.pathsToUnpin(new long[] {3, 4}, 0, 3)).isEqualTo(1);
        assertThat(tree.pathsToUnpin(new long[] {3, 4}, 0, 2)).isEqualTo(2);
        assertThat(tree.pathsToUnpin(new long[] {3, 4}, 1, 4)).isEqualTo(1);
        assertThat(tree.pinnedBlocks()).isEqualTo(4);
        tree.unpinPath(3);
        assertThat(tree.pinnedBlocks()).isEqualTo(3);
        tree.unpinPath(4);
        assertThat(tree.pinnedBlocks()).isZero();
    }

    @Test
    void pinPath_orphan_isRefusedByName() {
        under(8, 9);
        assertThatThrownBy(() -> tree.pinPath(9)).hasMessageContaining("Block 9 cannot be pinned");
        assertThatThrownBy(() -> tree.unpinPath(9)).hasMessageContaining("Block 9 is not pinned");
    }

    @Test
    void touch_storeUnderAPrefix_touchesItsWholePath() {
        root(1, 2);
        batchAt(50L << 26, () -> store(chain(3).under(2)));
        assertThat(tree.lastTouch(1)).isEqualTo(50L << 26);
        batchAt(60L << 26, () -> store(chain(9)));
        assertThat(tree.lastTouch(1)).isEqualTo(50L << 26);
    }

    @Test
    void touches_countOnceAGrainAndOutliveALoss() {
        batchAt(50L << 26, () -> store(chain(1, 2)));
        batchAt((50L << 26) + 5, () -> store(chain(3).under(2)));
        batchAt(51L << 26, () -> store(chain(4).under(2)));
        assertThat(tree.touches(2)).isEqualTo(2);
        assertThat(tree.touches(3)).isEqualTo(1);
        remove(4, 3, 2);
        assertThat(tree.touches(2)).isZero();
        batchAt(52L << 26, () -> store(chain(2).under(1)));
        assertThat(tree.touches(2)).isEqualTo(3);
        assertThat(tree.touches(1)).isEqualTo(3);
    }

    @Test
    void pinnedPath_eventsLost_staysHeldUntilTheEngineLetsGo() {
        root(1, 2);
        under(2, 3);
        tree.pinPath(2);
        tree.gap(new Gap(Gap.Cause.DROPPED, 5, 7));
        assertThat(match(1, 2, 3)).isEqualTo(2);
        assertThat(tree.endedInsertion(2)).isTrue();
        assertThat(tree.eventsLost()).isTrue();
        remove(2, 1);
        assertThat(match(1, 2)).isZero();
        assertThat(tree.pinnedBlocks()).isEqualTo(2);
        assertThat(tree.depth(2)).isEqualTo(2);
        tree.unpinPath(2);
        batch(() -> {});
        assertThat(tree.depth(2)).isZero();
    }

    @Test
    void block_storedByAnotherGroup_isNoCopy() {
        batch(() -> {
            store(chain(1, 2));
            store(chain(1, 2).group(1));
        });
        assertThat(tree.ambiguous(2)).isFalse();
        assertThat(tree.endedInsertion(2)).isTrue();
        remove(2);
        assertThat(match(1, 2)).isEqualTo(1);
        assertThat(tree.unknownRemovals()).isZero();
    }

    @Test
    void cleared_hostTierSurvives_gpuIsKnownAndTheRestIsNot() {
        EngineBlocks vllm = new EngineBlocks(CacheTraits.vllm(), new TreeListener() {
            @Override
            public void insertionEnded(long lastBlock, int depth, boolean ended) {}

            @Override
            public void parted(long above, long first) {}

            @Override
            public void pinnedBlockRemoved(long block) {}
        });
        vllm.batchStarted(0, 0);
        vllm.stored(chain(1).in(Tier.HOST));
        vllm.batchEnded();
        vllm.gap(new Gap(Gap.Cause.DROPPED, 1, 2));
        assertThat(vllm.eventsLost()).isTrue();
        vllm.batchStarted(2, 0);
        vllm.cleared();
        vllm.batchEnded();
        assertThat(vllm.eventsLost()).isFalse();
        assertThat(vllm.certain()).isFalse();
        assertThat(vllm.certainty()).startsWith("what the GPU has is known since it was cleared");
    }

    @Test
    void tree_aMillionBlocksStoredAndRemoved_staysExactThroughGrowth() {
        int blocks = 1_000_000;
        for (int from = 0; from < blocks; from += 100) {
            long[] prompt = LongStream.range(from, from + 100).toArray();
            root(prompt);
        }
        assertThat(tree.size()).isEqualTo(blocks);
        assertThat(match(LongStream.range(777_700, 777_800).toArray())).isEqualTo(100);
        for (int from = 0; from < blocks; from += 200) {
            remove(LongStream.range(from, from + 100).toArray());
        }
        assertThat(tree.size()).isEqualTo(blocks / 2);
        assertThat(tree.ghosts()).isEqualTo(blocks / 2);
        assertThat(match(LongStream.range(777_600, 777_700).toArray())).isZero();
        assertThat(match(LongStream.range(777_700, 777_800).toArray())).isEqualTo(100);
    }

    private int match(long... path) {
        return tree.match(new HoldRequest(path, Duration.ofSeconds(1)));
    }

    private void root(long... blocks) {
        batch(() -> store(chain(blocks)));
    }

    private void under(long parent, long... blocks) {
        batch(() -> store(chain(blocks).under(parent)));
    }

    private void remove(long... blocks) {
        batch(() -> tree.removed(blocks, 0, blocks.length, Tier.GPU, 0));
    }

    private void batch(Runnable events) {
        batchAt(1L << 26, events);
    }

    private void batchAt(long nanos, Runnable events) {
        tree.now(nanos);
        tree.batchStarted(0, 0);
        events.run();
        tree.batchEnded();
    }

    private void store(StoredBlocks chain) {
        tree.stored(chain);
    }

    private static StoredBlocks chain(long... blocks) {
        StoredBlocks chain = new StoredBlocks().reset();
        for (long block : blocks) {
            chain.add(block);
        }
        return chain;
    }
}
