package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.Script.Add;
import io.holdfast.core.index.Script.Batch;
import io.holdfast.core.index.Script.Block;
import io.holdfast.core.index.Script.Clear;
import io.holdfast.core.index.Script.Drop;
import io.holdfast.core.index.Script.Event;
import io.holdfast.core.index.Script.Form;
import io.holdfast.core.index.Script.Lost;
import io.holdfast.core.index.Script.Remove;
import io.holdfast.core.index.Script.Restart;
import io.holdfast.core.index.Script.Step;
import io.holdfast.core.index.Script.Store;
import java.util.List;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a {@link BlockTree} promises, one by one; {@link NaiveForest} must keep each promise as well. */
final class BlockTreeTest {
    /** In a content-named tree a block's name is this much more than its hash. */
    private static final long APART = 1_000_000;

    private static final CacheTraits TOUCHES = new CacheTraits(false, false);

    private Twins twins = new Twins(Naming.ENGINE_HASH);
    private Naming naming = Naming.ENGINE_HASH;

    @ParameterizedTest
    @EnumSource(Naming.class)
    void match_chainStored_isAsLongAsThePathAgrees(Naming named) {
        start(named, CacheTraits.sglang());

        batch(store(chain(1, 40)));

        assertThat(match(path(chain(1, 40)))).isEqualTo(40);
        assertThat(match(path(chain(1, 17)))).isEqualTo(17);
        assertThat(match(path(chain(1, 50)))).isEqualTo(40);
        assertThat(match(path(chain(1, 20), chain(70, 80)))).isEqualTo(20);
        assertThat(match(path(chain(2, 40)))).isZero();
        assertThat(match(new long[0])).isZero();
        assertThat(twins.tree.blocks()).isEqualTo(40);
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void match_partOfAnArray_looksAtThatPartOnly(Naming named) {
        start(named, CacheTraits.sglang());
        batch(store(chain(1, 40)));
        long[] padded = LongStream.concat(
                        LongStream.of(7, 7, 7), LongStream.concat(LongStream.of(path(chain(1, 40))), LongStream.of(7)))
                .toArray();

        Matches matches = new Matches();
        twins.tree.match(padded, 3, 30, matches);

        assertThat(matches.depth(0)).isEqualTo(30);
        assertThat(matches.depthOf(matches.cache(0), Tier.GPU)).isEqualTo(30);
        assertThatThrownBy(() -> twins.tree.match(padded, 30, 30, matches))
                .isInstanceOf(IndexOutOfBoundsException.class);
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void match_branches_followsEachOfThem(Naming named) {
        start(named, CacheTraits.sglang());

        batch(store(chain(1, 40)));
        for (int offset = 1; offset <= 40; offset++) {
            batch(under(offset, Tier.GPU, chain(offset * 100, offset * 100 + 20)));
        }

        for (int offset = 1; offset <= 40; offset++) {
            assertThat(match(path(chain(1, offset), chain(offset * 100, offset * 100 + 20))))
                    .isEqualTo(offset + 21);
        }
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void match_blockRemovedInTheMiddle_endsThereUntilItIsStoredAgain(Naming named) {
        start(named, CacheTraits.sglang());
        batch(store(chain(1, 40)));

        batch(remove(Tier.GPU, 20));

        assertThat(match(path(chain(1, 40)))).isEqualTo(19);
        assertThat(twins.tree.blocks()).as("the hole is followed").isEqualTo(40);

        batch(under(19, Tier.GPU, 20));

        assertThat(match(path(chain(1, 40)))).isEqualTo(40);
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void match_firstBlockRemoved_findsNoCache(Naming named) {
        start(named, CacheTraits.sglang());
        batch(store(chain(1, 40)));

        batch(remove(Tier.GPU, 1));

        assertThat(count(path(chain(1, 40)))).isZero();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void store_heldBlock_isACopyThatWantsARemovalOfItsOwn(Naming named) {
        start(named, CacheTraits.vllm());

        batch(store(chain(1, 3)), store(chain(1, 3)));
        batch(remove(Tier.GPU, 3));
        assertThat(match(path(chain(1, 3)))).isEqualTo(3);
        batch(remove(Tier.GPU, 3));
        assertThat(match(path(chain(1, 3)))).isEqualTo(2);
        assertThat(cache().unknownRemovals()).isZero();
        batch(remove(Tier.GPU, 3));
        assertThat(cache().unknownRemovals()).isOne();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void store_heldBlockOfAnEngineThatAnnouncesHits_isATouch(Naming named) {
        start(named, TOUCHES);

        batch(store(chain(1, 3)), store(chain(1, 3)));
        batch(remove(Tier.GPU, 3));

        assertThat(match(path(chain(1, 3)))).isEqualTo(2);
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void match_tiers_eachCountsItsOwnBlocksAndNearerOnes(Naming named) {
        start(named, CacheTraits.sglang());

        batch(
                store(chain(1, 10)),
                store(chain(1, 20), Tier.HOST),
                under(20, Tier.DISK, chain(21, 25)),
                under(25, Tier.EXTERNAL, chain(26, 40)));
        batch(remove(Tier.HOST, 5));

        long[] path = path(chain(1, 40));
        assertThat(depths(path)).containsExactly(10, 20, 25, 40);
        assertThat(cache().holds(5, Tier.HOST)).isFalse();
        assertThat(cache().holds(5, Tier.GPU)).isTrue();
        assertThat(cache().blocks()).isEqualTo(40);
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void store_otherGroup_isCountedButNotMatched(Naming named) {
        start(named, CacheTraits.vllm());

        batch(inGroup(2, chain(1, 5)), inGroup(1, chain(1, 5)), inGroup(0, chain(1, 9)));

        assertThat(match(path(chain(1, 9))))
                .as("the first group that is not windowed counts")
                .isEqualTo(5);
        assertThat(cache().holds(9, Tier.GPU)).isFalse();
        assertThat(cache().holds(9, Tier.GPU, 0)).isTrue();
        assertThat(cache().holds(5, Tier.GPU, 2)).isTrue();

        batch(new Remove(List.of(9L, 9L), Tier.GPU, 0));

        assertThat(cache().holds(9, Tier.GPU, 0)).isFalse();
        assertThat(cache().unknownRemovals()).isOne();
        assertThat(match(path(chain(1, 9)))).isEqualTo(5);
    }

    @Test
    void store_unknownParentInATreeNamedByEngines_isLinkedWhenTheParentComes() {
        start(Naming.ENGINE_HASH, CacheTraits.sglang());

        batch(under(20, Tier.GPU, chain(21, 40)));
        assertThat(match(path(chain(21, 40)))).as("not a root").isZero();
        assertThat(match(path(chain(1, 40)))).isZero();
        assertThat(cache().holds(40, Tier.GPU)).isTrue();

        batch(store(chain(1, 20)));
        assertThat(match(path(chain(1, 40)))).isEqualTo(40);
    }

    @Test
    void store_unknownParentInATreeNamedByContent_isUnplacedUntilAnnouncedAgain() {
        start(Naming.CONTENT_CHAIN, CacheTraits.sglang());

        batch(under(20, Tier.GPU, chain(21, 40)));
        batch(store(chain(1, 20)));
        assertThat(match(path(chain(1, 40)))).isEqualTo(20);
        assertThat(cache().unplaced()).isEqualTo(20);
        assertThat(cache().holds(40, Tier.GPU)).isTrue();
        assertThat(cache().blocks()).isEqualTo(40);

        batch(under(20, Tier.GPU, chain(21, 30)));
        assertThat(match(path(chain(1, 40)))).isEqualTo(30);
        assertThat(cache().unplaced()).isEqualTo(10);

        batch(remove(Tier.GPU, chain(21, 40)));
        assertThat(cache().unplaced()).isZero();
        assertThat(match(path(chain(1, 40))))
                .as("the second announcement was a copy")
                .isEqualTo(30);
    }

    @Test
    void store_underAHoleInATreeNamedByContent_isUnplaced() {
        start(Naming.CONTENT_CHAIN, CacheTraits.sglang());
        batch(store(chain(1, 20)));

        batch(remove(Tier.GPU, 10));
        batch(under(10, Tier.GPU, 50));

        assertThat(cache().unplaced()).isOne();
    }

    @Test
    void store_anotherParentForALivingBlock_isNotBelieved() {
        start(Naming.ENGINE_HASH, CacheTraits.sglang());

        batch(store(chain(1, 5)), store(chain(11, 15)));
        batch(under(15, Tier.GPU, 3), store(4));

        assertThat(match(path(chain(1, 5)))).isEqualTo(5);
        assertThat(match(path(chain(11, 15), chain(3, 3)))).isEqualTo(5);
        assertThat(match(path(chain(4, 5)))).isZero();
    }

    @Test
    void store_circle_isNotClosed() {
        start(Naming.ENGINE_HASH, CacheTraits.sglang());

        batch(under(3, Tier.GPU, 1, 2, 3), under(7, Tier.GPU, 7));
        assertThat(match(path(chain(1, 3)))).isZero();
        assertThat(cache().blocks()).isEqualTo(4);

        batch(store(3));
        assertThat(match(new long[] {3, 1, 2, 3})).isEqualTo(3);
        batch(remove(Tier.GPU, 1, 2, 3, 3, 7));
        assertThat(twins.tree.blocks()).isZero();
    }

    @Test
    void match_cachesThatHashAlike_tellsEachOfThem() {
        start(Naming.ENGINE_HASH, CacheTraits.sglang());
        play(new Add(1, CacheTraits.vllm()), new Add(2, CacheTraits.vllm()));

        batch(store(chain(1, 30)));
        play(new Batch(1, List.of(store(chain(1, 40)))), new Batch(2, List.of(store(chain(50, 60)))));

        assertThat(count(path(chain(1, 40)))).isEqualTo(2);
        assertThat(match(path(chain(1, 40)))).isEqualTo(30);
        assertThat(depths(path(chain(1, 40)), 1)).containsExactly(40, 40, 40, 40);
        assertThat(twins.tree.blocks()).isEqualTo(51);
    }

    @Test
    void match_cachesThatHashDifferently_meetByContent() {
        start(Naming.CONTENT_CHAIN, CacheTraits.sglang());
        play(new Add(1, CacheTraits.vllm()));

        batch(store(chain(1, 30)));
        List<Block> others = IntStream.rangeClosed(1, 20)
                .mapToObj(i -> new Block(-i, i + APART, i))
                .toList();
        play(new Batch(1, List.of(new Store(OptionalLong.empty(), others, Tier.GPU, 0, Form.NAMES))));

        assertThat(match(path(chain(1, 30)))).isEqualTo(30);
        assertThat(depths(path(chain(1, 30)), 1)).containsExactly(20, 20, 20, 20);
        assertThat(twins.tree.blocks()).isEqualTo(30);
        assertThat(twins.cache(1).holds(-20, Tier.GPU)).isTrue();
        assertThat(twins.cache(1).holds(20, Tier.GPU)).isFalse();
    }

    @Test
    void store_tokensWithoutNames_isNamedByTheContentChain() {
        start(Naming.CONTENT_CHAIN, CacheTraits.vllm());
        int[] tokens = IntStream.range(0, 64).toArray();
        long namespace = ContentNames.namespace("salt", "");
        long[] names = new long[4];
        ContentNames.names(tokens, 0, 64, 16, namespace, names);
        Cache cache = cache();

        cache.batchStarted(0, 0);
        cache.stored(new StoredBlocks()
                .hashes(new long[] {5, 6}, 0, 2)
                .tokens(tokens, 0, 32)
                .blockTokens(16)
                .namespace(namespace));
        cache.stored(new StoredBlocks()
                .hashes(new long[] {7, 8}, 0, 2)
                .under(6)
                .tokens(tokens, 32, 32)
                .blockTokens(16)
                .namespace(namespace));
        cache.batchEnded();

        Matches matches = new Matches();
        twins.tree.match(names, 0, 4, matches);
        assertThat(matches.depthOf(cache.id(), Tier.GPU)).isEqualTo(4);
        ContentNames.names(tokens, 0, 64, 16, ContentNames.NO_NAMESPACE, names);
        twins.tree.match(names, 0, 4, matches);
        assertThat(matches.count()).isZero();
    }

    @Test
    void store_neitherNamesNorTokens_isUnplaced() {
        start(Naming.CONTENT_CHAIN, CacheTraits.vllm());

        batch(new Store(OptionalLong.empty(), blocks(1, 2, 3), Tier.GPU, 0, Form.NOTHING));

        assertThat(cache().unplaced()).isEqualTo(3);
        assertThat(twins.tree.blocks()).isZero();
    }

    @Test
    void store_twoHashesForOneName_theSecondIsUnplaced() {
        start(Naming.CONTENT_CHAIN, CacheTraits.vllm());
        Block other = new Block(9, 1 + APART, 1);

        batch(store(1), new Store(OptionalLong.empty(), List.of(other), Tier.GPU, 0, Form.NAMES));
        batch(remove(Tier.GPU, 1));

        assertThat(cache().holds(9, Tier.GPU)).isTrue();
        assertThat(cache().holds(1, Tier.GPU)).isFalse();
        assertThat(match(path(chain(1, 1)))).isZero();
        batch(remove(Tier.GPU, 9));
        assertThat(cache().blocks()).isZero();
        assertThat(cache().unknownRemovals()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void cleared_offloadTiersSurvive_onlyTheGpuIsEmpty(Naming named) {
        start(named, CacheTraits.vllm());
        batch(store(chain(1, 10)), store(chain(1, 5), Tier.HOST), inGroup(1, chain(1, 3)));

        batch(new Clear());

        assertThat(depths(path(chain(1, 10)))).containsExactly(0, 5, 5, 5);
        assertThat(cache().blocks()).isEqualTo(5);
        assertThat(cache().holds(1, Tier.GPU, 1)).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void cleared_engineClearsEverything_isEmpty(Naming named) {
        start(named, CacheTraits.sglang());
        batch(store(chain(1, 10)), store(chain(1, 5), Tier.HOST), under(99, Tier.GPU, 100));

        batch(new Clear());

        assertThat(cache().blocks()).isZero();
        assertThat(cache().unplaced()).isZero();
        assertThat(twins.tree.blocks()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void gap_heldBlocks_areForgottenAndTheCacheIsUncertain(Naming named) {
        start(named, CacheTraits.sglang());
        batch(store(chain(1, 10)));
        assertThat(cache().certain()).isTrue();

        play(new Lost(0, Gap.Cause.DROPPED));
        assertThat(cache().blocks()).isZero();
        assertThat(cache().certain()).isFalse();
        assertThat(cache().certainty()).contains("dropped");

        batch(under(10, Tier.GPU, 11));
        assertThat(cache().certain()).isFalse();
        batch(new Clear());
        assertThat(cache().certain()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void cleared_afterAGapAndOffloadTiersSurvive_staysUncertain(Naming named) {
        start(named, CacheTraits.vllm());
        batch(store(chain(1, 10), Tier.HOST));

        play(new Lost(0, Gap.Cause.DROPPED));
        batch(new Clear());

        assertThat(cache().certain()).isFalse();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void gap_joinedLate_isUncertainUntilARestartFromTheBeginning(Naming named) {
        start(named, CacheTraits.sglang());

        play(new Lost(0, Gap.Cause.JOINED_LATE));
        batch(store(chain(1, 10)));
        assertThat(cache().certain()).isFalse();
        assertThat(match(path(chain(1, 10)))).isEqualTo(10);

        play(new Restart(0, 3));
        assertThat(cache().certain()).isFalse();
        assertThat(match(path(chain(1, 10)))).isZero();

        play(new Restart(0, 0));
        assertThat(cache().certain()).isTrue();
    }

    @Test
    void cache_beforeItsFirstBatch_isUncertain() {
        start(Naming.ENGINE_HASH, CacheTraits.sglang());

        assertThat(cache().certain()).isFalse();
        batch(store(1));
        assertThat(cache().certain()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void dropCache_sharedBlocks_staysWithTheOthers(Naming named) {
        start(named, CacheTraits.sglang());
        play(new Add(1, CacheTraits.vllm()), new Batch(1, List.of(store(chain(1, 20)))));
        batch(store(chain(1, 40)), under(99, Tier.GPU, 100));
        int id = cache().id();
        Cache dropped = cache();

        play(new Drop(0));

        assertThat(count(path(chain(1, 40)))).isOne();
        assertThat(depths(path(chain(1, 40)), 1)).containsExactly(20, 20, 20, 20);
        assertThat(twins.tree.blocks()).isEqualTo(20);
        assertThatThrownBy(() -> twins.tree.dropCache(dropped)).isInstanceOf(IllegalArgumentException.class);

        play(new Add(0, CacheTraits.sglang()));
        assertThat(cache().id()).as("given out again").isEqualTo(id);
        assertThat(count(path(chain(1, 40)))).isOne();
        assertThat(cache().blocks()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void batch_storedAndRemovedWithin_leavesNothing(Naming named) {
        start(named, CacheTraits.sglang());

        batch(store(chain(1, 100)), remove(Tier.GPU, chain(1, 100)));

        assertThat(cache().blocks()).isZero();
        assertThat(twins.tree.blocks()).isZero();
        assertThat(cache().unknownRemovals()).isZero();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void remove_everythingAfterManyShapes_leavesATreeAsEmptyAsAFreshOne(Naming named) {
        start(named, CacheTraits.sglang());
        int[] trunk = chain(1, 20_000);
        batch(store(trunk));
        for (int offset = 1; offset < 20_000; offset += 7) {
            twins.play(new Batch(0, List.of(under(offset, Tier.HOST, 100_000 + offset, 200_000 + offset))));
        }
        batch(remove(Tier.GPU, trunk));
        assertThat(cache().blocks()).isPositive();

        for (int offset = 1; offset < 20_000; offset += 7) {
            twins.play(new Batch(0, List.of(remove(Tier.HOST, 200_000 + offset, 100_000 + offset))));
        }

        assertThat(cache().blocks()).isZero();
        assertThat(twins.tree.blocks()).isZero();
        batch(store(chain(300_000, 300_025)));
        assertThat(match(path(chain(300_000, 300_025)))).isEqualTo(26);
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void forEachHash_visitsEachBlockOnceWithItsTiers(Naming named) {
        start(named, CacheTraits.sglang());
        batch(store(chain(1, 2)), store(chain(2, 3), Tier.HOST), under(99, Tier.DISK, 100), inGroup(1, 7));

        TreeMap<Long, Integer> visited = new TreeMap<>();
        cache().forEachHash(
                        (hash, tiers) -> assertThat(visited.put(hash, tiers)).isNull());

        assertThat(visited).hasToString("{1=1, 2=3, 3=2, 100=4}");
    }

    private void start(Naming named, CacheTraits traits) {
        naming = named;
        twins = new Twins(named);
        play(new Add(0, traits));
    }

    private void batch(Event... events) {
        play(new Batch(0, List.of(events)));
    }

    /** Plays to both, and compares them. */
    private void play(Step... steps) {
        for (Step step : steps) {
            assertThat(twins.play(step)).isEqualTo(step);
            assertThat(twins.difference(1, 20))
                    .as("tree and oracle after " + step)
                    .isEmpty();
        }
    }

    private Cache cache() {
        return twins.cache(0);
    }

    private int match(long[] path) {
        return depths(path)[0];
    }

    private int[] depths(long[] path) {
        return depths(path, 0);
    }

    private int[] depths(long[] path, int place) {
        assertThat(twins.differenceAt(path, 0, path.length)).isEmpty();
        Matches matches = new Matches();
        twins.tree.match(path, 0, path.length, matches);
        int id = twins.cache(place).id();
        return Stream.of(Tier.values())
                .mapToInt(tier -> matches.depthOf(id, tier))
                .toArray();
    }

    private int count(long[] path) {
        assertThat(twins.differenceAt(path, 0, path.length)).isEmpty();
        Matches matches = new Matches();
        twins.tree.match(path, 0, path.length, matches);
        return matches.count();
    }

    private static Store store(int... blocks) {
        return store(blocks, Tier.GPU);
    }

    private static Store store(int[] blocks, Tier tier) {
        return new Store(OptionalLong.empty(), blocks(blocks), tier, 0, Form.NAMES);
    }

    private static Store under(int parent, Tier tier, int... blocks) {
        return new Store(OptionalLong.of(parent), blocks(blocks), tier, 0, Form.NAMES);
    }

    private static Store inGroup(int group, int... blocks) {
        return new Store(OptionalLong.empty(), blocks(blocks), Tier.GPU, group, Form.NAMES);
    }

    private static Remove remove(Tier tier, int... blocks) {
        return new Remove(IntStream.of(blocks).mapToObj(block -> (long) block).toList(), tier, 0);
    }

    private static List<Block> blocks(int... blocks) {
        return IntStream.of(blocks)
                .mapToObj(block -> new Block(block, block + APART, block))
                .toList();
    }

    private static int[] chain(int first, int last) {
        return IntStream.rangeClosed(first, last).toArray();
    }

    private long[] path(int[]... parts) {
        return List.of(parts).stream()
                .flatMapToInt(IntStream::of)
                .mapToLong(block -> naming == Naming.ENGINE_HASH ? block : block + APART)
                .toArray();
    }

    @Test
    void blocksWithoutTokens_ofASizeThatOverflows_haveNoName() {
        BlockTree tree = new BlockTree(Naming.CONTENT_CHAIN);
        Cache cache = tree.addCache(CacheTraits.vllm());
        StoredBlocks chain = new StoredBlocks().add(1).add(2).add(3).add(4).blockTokens(1 << 30);
        cache.batchStarted(0, 0);
        cache.stored(chain);
        cache.batchEnded();
        assertThat(cache.unplaced()).isEqualTo(4);
        assertThat(tree.blocks()).isZero();
    }
}
