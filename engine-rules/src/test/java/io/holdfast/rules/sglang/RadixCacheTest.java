package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Pages of 4 tokens; block n of a prompt has the tokens n0, n1, n2, n3 and, here, the name of its place. */
class RadixCacheTest {
    private static final int PAGE = 4;

    private final Faults faults = Faults.none();
    private final RadixCache cache = cache(settings().withVariant(Variant.PIN_GPU));

    private static SglangSettings settings() {
        return SglangSettings.defaults().withSizes(80, PAGE, 8192);
    }

    private RadixCache cache(SglangSettings settings) {
        return new RadixCache(settings, faults);
    }

    private RadixNode store(long... blocks) {
        RadixCache.Match match = cache.match(chain(blocks), blocks.length);
        int missing = blocks.length * PAGE - match.tokens();
        if (missing > cache.freeTokens()) {
            cache.evict(missing - cache.freeTokens());
        }
        cache.take(missing);
        return cache.insert(chain(blocks), blocks.length, 0, 0).node();
    }

    private static TokenChain chain(long... blocks) {
        return chain(Namespace.PLAIN, blocks);
    }

    private static TokenChain chain(Namespace space, long... blocks) {
        return TokenChain.named(space, PAGE, tokens(blocks), blocks);
    }

    private static int[] tokens(long... blocks) {
        return LongStream.of(blocks)
                .flatMap(block -> LongStream.range(block * 10, block * 10 + PAGE))
                .mapToInt(Math::toIntExact)
                .toArray();
    }

    private static CacheEvent stored(Optional<BlockName> parent, List<BlockName> blocks, int... tokens) {
        return new CacheEvent.Stored(parent, blocks, Tokens.of(tokens), PAGE, Tier.GPU, "");
    }

    private static CacheEvent removed(long... blocks) {
        return new CacheEvent.Removed(
                LongStream.of(blocks)
                        .<BlockName>mapToObj(BlockName.Numbered::new)
                        .toList(),
                Tier.GPU);
    }

    private int cached(long... blocks) {
        return cache.match(chain(blocks), blocks.length).tokens() / PAGE;
    }

    private List<Integer> sizes() {
        return List.of(cache.freeTokens(), cache.evictableTokens(), cache.protectedTokens());
    }

    @Test
    void match_limitedToFewerBlocksThanStored_findsNoMore() {
        store(1, 2, 3);
        assertThat(cache.match(chain(1, 2, 3), 2).tokens()).isEqualTo(8);
    }

    @Test
    void match_otherNamespace_findsNothing() {
        store(1, 2);
        assertThat(cache.match(chain(new Namespace("other", ""), 1, 2), 2).tokens())
                .isZero();
    }

    @Test
    void insert_partlyKnown_storesTheRestUnderTheLastKnownBlock() {
        store(1, 2, 3);
        cache.drainEvents();
        store(1, 2, 4);
        assertThat(cache.drainEvents())
                .containsExactly(stored(
                        Optional.of(new BlockName.Numbered(2)), List.of(new BlockName.Numbered(4)), 40, 41, 42, 43));
    }

    @Test
    void events_storesThatContinueEachOther_becomeOne() {
        cache.drainEvents();
        store(1);
        store(1, 2);
        store(7);
        assertThat(cache.drainEvents())
                .containsExactly(
                        stored(
                                Optional.empty(),
                                List.of(new BlockName.Numbered(1), new BlockName.Numbered(2)),
                                10,
                                11,
                                12,
                                13,
                                20,
                                21,
                                22,
                                23),
                        stored(Optional.empty(), List.of(new BlockName.Numbered(7)), 70, 71, 72, 73));
    }

    @Test
    void events_firstOfALife_isCleared() {
        assertThat(cache.drainEvents()).containsExactly(new CacheEvent.Cleared());
    }

    @Test
    void evict_takesTheLeastRecentlyUsedLeafWhole() {
        store(1, 2);
        store(3, 4);
        cached(1, 2);
        cache.drainEvents();
        assertThat(cache.evict(1)).isEqualTo(8);
        assertThat(cache.drainEvents()).containsExactly(removed(3, 4));
        assertThat(cached(1, 2)).isEqualTo(2);
    }

    @Test
    void evict_takesLeavesBeforeTheirSharedPrefix() {
        store(1, 2);
        store(1, 3);
        cache.drainEvents();
        cache.evict(12);
        assertThat(cache.drainEvents()).containsExactly(removed(2, 3, 1));
    }

    @Test
    void evict_partlyMatchedNode_keepsTheUsedPartLonger() {
        store(1, 2, 3);
        store(5, 6);
        cached(1);
        store(7);
        cache.drainEvents();
        cache.evict(8);
        cache.evict(8);
        assertThat(cache.drainEvents())
                .as("the cut-off suffix counts as used by the match that cut it")
                .containsExactly(removed(5, 6, 2, 3));
        assertThat(cached(1)).isEqualTo(1);
    }

    @Test
    void lock_movesThePathFromEvictableToProtectedAndBack() {
        store(1, 2);
        RadixNode deep = store(1, 2, 3);
        assertThat(sizes()).containsExactly(68, 12, 0);
        cache.lock(deep);
        cache.lock(deep);
        assertThat(sizes()).containsExactly(68, 0, 12);
        cache.unlock(deep);
        assertThat(sizes()).containsExactly(68, 0, 12);
        cache.unlock(deep);
        assertThat(sizes()).containsExactly(68, 12, 0);
    }

    @Test
    void pinLocksEveryAncestorUpToTheRoot() {
        store(1);
        store(1, 2);
        store(1, 2, 3);
        assertThat(cache.pins().pin(new long[] {3}).count()).isEqualTo(1);
        assertThat(cache.residents())
                .extracting(RadixCache.Resident::block, RadixCache.Resident::parent, resident -> resident.node().locks)
                .containsExactlyInAnyOrder(tuple(1L, 0L, 1), tuple(2L, 1L, 1), tuple(3L, 2L, 1));
        assertThat(sizes()).containsExactly(68, 0, 12);
        assertThat(cache.evict(1000)).isZero();
    }

    @Test
    void pin_survivesAnEvictionOfEverything_andUnpinEndsThat() {
        store(1, 2);
        store(3, 4);
        cache.pins().pin(new long[] {2});
        cache.evict(1000);
        assertThat(cached(1, 2)).isEqualTo(2);
        assertThat(cached(3, 4)).isZero();
        assertThat(cache.pins().unpin(new long[] {2}).count()).isEqualTo(1);
        cache.evict(1000);
        assertThat(cached(1, 2)).isZero();
    }

    @Test
    void pin_twice_needsTwoUnpins() {
        store(1);
        cache.pins().pin(new long[] {1});
        cache.pins().pin(new long[] {1});
        assertThat(cache.pins().counts()).containsEntry(1L, 2);
        assertThat(cache.pins().unpin(new long[] {1}).count()).isEqualTo(1);
        assertThat(cache.evict(1000)).isZero();
        assertThat(cache.pins().unpin(new long[] {1}).count()).isEqualTo(1);
        assertThat(cache.evict(1000)).isEqualTo(PAGE);
        assertThat(cache.pins().unpin(new long[] {1}).count())
                .as("a third has nothing to take")
                .isZero();
    }

    @Test
    void pin_unknownBlock_isSkippedAndNotCounted() {
        store(1);
        assertThat(cache.pins().pin(new long[] {99, 1}).count()).isEqualTo(1);
        assertThat(cache.pins().unpin(new long[] {99}).count()).isZero();
    }

    @Test
    void pin_insideAnInsertion_locksItToItsEnd() {
        store(1, 2, 3);
        cache.pins().pin(new long[] {1});
        assertThat(cache.protectedTokens()).isEqualTo(3 * PAGE);
    }

    @Test
    void pin_throughADeletedNode_endsTheEngineAtTheEvictionAfterItsUnpin() {
        store(1, 2);
        store(1, 3);
        cache.evict(1);
        assertThat(cache.pins().pin(new long[] {1}).count())
                .as("block 1 leads to the node of block 2, gone")
                .isEqualTo(1);
        assertThat(sizes()).containsExactly(72, 0, 8);
        cache.pins().unpin(new long[] {1});
        assertThatThrownBy(() -> cache.evict(1))
                .isInstanceOf(EngineDeath.class)
                .hasMessage("AssertionError: parent does not have child key");
    }

    @Test
    void deletedNode_whoseBlockCameBack_takesItAlongAtItsDeath() {
        store(1, 2);
        store(1, 3);
        cache.evict(1);
        cache.pins().pin(new long[] {1});
        cache.pins().unpin(new long[] {1});
        store(1, 2, 4);
        assertThatThrownBy(() -> cache.evict(1000)).isInstanceOf(EngineDeath.class);
        assertThat(cache.residents()).extracting(RadixCache.Resident::block).containsExactlyInAnyOrder(1L, 3L);
    }

    @Test
    void unpin_ofAnEvictedBlock_forgetsAllItsPinsAndCountsNone() {
        store(1, 2);
        cache.pins().pin(new long[] {2, 2, 2});
        cache.pins().deleted(cache.residents().getFirst().node());
        assertThat(cache.pins().unpin(new long[] {2, 2}).count()).isZero();
        assertThat(cache.pins().counts()).isEmpty();
    }

    @Test
    void pin_lastBlockOfAnInsertion_staysRightWhenItsNodeIsCutAndItsBranchesGo() {
        store(1);
        store(1, 2);
        store(1, 3);
        cache.pins().pin(new long[] {1});
        assertThat(sizes()).containsExactly(68, 8, 4);
        cache.evict(1000);
        cache.pins().unpin(new long[] {1});
        assertThat(cache.evict(1000)).isEqualTo(PAGE);
        assertThat(sizes()).containsExactly(80, 0, 0);
    }

    @Test
    void clear_forgetsBlocksPinsAndLocks() {
        store(1, 2);
        cache.pins().pin(new long[] {2});
        cache.clear();
        assertThat(sizes()).containsExactly(80, 0, 0);
        assertThat(cache.pins().counts()).isEmpty();
        assertThat(cache.pins().unpin(new long[] {2}).count()).isZero();
    }

    @Test
    void pin_whileFaultsIgnorePins_countsAndLocksNothing_andItsUnpinUnlocksNothing() {
        store(1);
        faults.begin(new CacheFault.PinIgnored());
        assertThat(cache.pins().pin(new long[] {1, 2}).count()).isEqualTo(1);
        assertThat(cache.protectedTokens()).isZero();
        faults.end(new CacheFault.PinIgnored().kind());
        assertThat(cache.pins().unpin(new long[] {1}).count()).isEqualTo(1);
        assertThat(sizes()).containsExactly(76, 4, 0);
        cache.pins().pin(new long[] {1});
        assertThat(cache.protectedTokens()).isEqualTo(PAGE);
    }

    @Test
    void pin_throughADeletedNodeOfAForgivingBranch_doesNoHarm() {
        faults.begin(new CacheFault.PinForgiving());
        store(1, 2);
        store(1, 3);
        cache.evict(1);
        cache.pins().pin(new long[] {1});
        cache.pins().unpin(new long[] {1});
        assertThat(cache.evict(1000)).isEqualTo(2 * PAGE);
        assertThat(sizes()).containsExactly(80, 0, 0);
    }

    @Test
    void pin_thatIsLostAtOnce_isAnsweredAsIfItHeld() {
        faults.begin(new CacheFault.HoldLost(100));
        store(1);
        assertThat(cache.pins().pin(new long[] {1})).isEqualTo(new PinAnswer(true, 1, "Pinned 1/1 blocks"));
        assertThat(cache.evict(1)).isEqualTo(PAGE);
    }

    @Test
    void pin_halfOfThemLost_holdsAboutHalf() {
        faults.begin(new CacheFault.HoldLost(50));
        RadixCache large =
                new RadixCache(settings().withSizes(4_000, PAGE, 8192).withVariant(Variant.PIN_GPU), faults);
        for (long block = 1; block <= 1_000; block++) {
            large.take(PAGE);
            large.insert(chain(block), 1, 0, 0);
            large.pins().pin(new long[] {block});
        }
        assertThat(large.protectedTokens() / PAGE).isBetween(400, 600);
    }

    @Test
    void session_whoseHoldIsLost_refersToNothing() {
        RadixCache held = cache(settings().withSessions(true));
        faults.begin(new CacheFault.HoldLost(100));
        held.take(PAGE);
        RadixNode node = held.insert(chain(1), 1, 0, 0).node();
        held.sessions().finished(held.sessions().arrived("s"), node);
        assertThat(node.references).isZero();
        faults.end(new CacheFault.HoldLost(100).kind());
        held.sessions().finished(held.sessions().arrived("s"), node);
        assertThat(node.references).isEqualTo(1);
    }

    @Test
    void limit_evictsWhatIsAboveIt_butForWhatIsLocked_andGivesBack() {
        store(1, 2);
        cache.lock(store(3, 4));
        store(5, 6);
        cache.limit(4);
        assertThat(cache.capacityTokens()).isEqualTo(8);
        assertThat(sizes()).containsExactly(0, 0, 8);
        cache.limit(Integer.MAX_VALUE);
        assertThat(sizes()).containsExactly(72, 0, 8);
        cache.limit(40);
        assertThat(sizes()).containsExactly(32, 0, 8);
        cache.clear();
        assertThat(sizes()).containsExactly(40, 0, 0);
    }

    @Test
    void take_moreThanIsFree_isTheEnd() {
        assertThatThrownBy(() -> cache.take(84)).isInstanceOf(EngineDeath.class);
    }
}
