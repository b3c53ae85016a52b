package io.holdfast.core.index;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.index.BlockTree.Naming;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is written of a cache, to the byte, and what is refused of what comes in its place. */
final class ViewSnapshotTest {
    private static final StreamPosition AT = new StreamPosition(5, 41, -3);
    private static final TreeListener NOBODY = new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    };

    /** Version 1 is read for as long as it is version 1: a change of these bytes is another version. */
    @Test
    void encode_versionOne_isTheseBytes() {
        assertThat(HexFormat.of().formatHex(small(Naming.ENGINE_HASH).encode()))
                .isEqualTo("686f6c6476696577" + "01000000" + "1c000000" + "00000000"
                        + "0500000000000000" + "2900000000000000" + "fdffffffffffffff"
                        + "02000000" + "03000000" + "02000000"
                        + "ffffffff" + "02000000" + "00000000" + "01000000"
                        + "0700000000000000" + "0800000000000000" + "0900000000000000"
                        + "01" + "03" + "01"
                        + "0200000000000000" + "00000000" + "02000000"
                        + "0a00000000000000" + "08010000" + "01000000"
                        + "b4254d9d");
        assertThat(HexFormat.of().formatHex(small(Naming.CONTENT_CHAIN).encode()))
                .isEqualTo("686f6c6476696577" + "01000000" + "1d000000" + "00000000"
                        + "0500000000000000" + "2900000000000000" + "fdffffffffffffff"
                        + "02000000" + "03000000" + "03000000"
                        + "ffffffff" + "02000000" + "00000000" + "01000000"
                        + "4600000000000000" + "5000000000000000" + "5a00000000000000"
                        + "0700000000000000" + "0800000000000000" + "0900000000000000"
                        + "01" + "03" + "01"
                        + "0200000000000000" + "00000000" + "02000000"
                        + "0a00000000000000" + "08010000" + "01000000"
                        + "0b00000000000000" + "04000000" + "01000000"
                        + "f7909a67");
    }

    /** Two blocks of which one is on the host as well, one beside the second that is there twice, one of another group. */
    private static ViewSnapshot small(Naming naming) {
        Cache cache = new BlockTree(naming).addCache(CacheTraits.sglang());
        StoredBlocks chain = new StoredBlocks();
        long[] names = {70, 80, 90, 100};
        cache.batchStarted(0, 1);
        cache.stored(chain.reset().add(7).add(8).names(names, 0));
        cache.stored(chain.reset().under(7).add(8).names(names, 1).in(Tier.HOST));
        cache.stored(chain.reset().under(7).add(9).names(names, 2));
        cache.stored(chain.reset().under(7).add(9).names(names, 2));
        cache.stored(chain.reset().add(10).names(names, 3).group(1));
        if (naming == Naming.CONTENT_CHAIN) {
            cache.stored(chain.reset().under(99).add(11).names(names, 3));
        }
        cache.batchEnded();
        return cache.snapshot(AT).orElseThrow();
    }

    @ParameterizedTest
    @EnumSource(Naming.class)
    void decode_mutated_isRefusedOrEqual(Naming naming) {
        byte[] whole = small(naming).encode();
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 200; i++) {
            byte[] mutated = mutated(whole, random);
            if (!Arrays.equals(mutated, whole)) {
                assertThatThrownBy(() -> ViewSnapshot.decode(mutated))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageStartingWith("This is no view of a cache that can be taken over: ");
            }
        }
    }

    /** Whoever forges the checksum as well gets nonsense into a view, and nothing else. */
    @ParameterizedTest
    @EnumSource(Naming.class)
    void decode_forged_isRefusedOrANonsenseThatHarmsNothing(Naming naming) {
        byte[] whole = small(naming).encode();
        SplittableRandom random = new SplittableRandom(2);
        int taken = 0;
        for (int i = 0; i < 2_000; i++) {
            byte[] mutated = mutated(whole, random);
            CRC32C sum = new CRC32C();
            if (mutated.length < 4) {
                continue;
            }
            sum.update(mutated, 0, mutated.length - 4);
            ByteBuffer.wrap(mutated).order(ByteOrder.LITTLE_ENDIAN).putInt(mutated.length - 4, (int) sum.getValue());
            ViewSnapshot view;
            try {
                view = ViewSnapshot.decode(mutated);
            } catch (IllegalArgumentException refused) {
                assertThat(refused).hasMessageStartingWith("This is no view of a cache that can be taken over: ");
                continue;
            }
            if (!view.traits.equals(CacheTraits.sglang()) || view.naming != naming) {
                continue;
            }
            taken++;
            BlockTree tree = new BlockTree(naming);
            Cache cache = tree.addCache(CacheTraits.sglang());
            cache.become(view);
            cache.restarted(0);
            assertThat(tree.blocks()).as("mutation %d leaves nothing behind", i).isZero();
        }
        assertThat(taken).isGreaterThan(100);
    }

    /** The counts at the beginning promise more than there is: nothing is made for what is not there. */
    @Test
    void decode_absurdCounts_isRefusedBeforeAnythingIsAllocated() {
        byte[] whole = small(Naming.ENGINE_HASH).encode();
        for (int at : new int[] {44, 48, 52}) {
            for (int count : new int[] {-1, Integer.MAX_VALUE, Integer.MIN_VALUE, 1 << 24}) {
                byte[] absurd = whole.clone();
                ByteBuffer.wrap(absurd).order(ByteOrder.LITTLE_ENDIAN).putInt(at, count);
                CRC32C sum = new CRC32C();
                sum.update(absurd, 0, absurd.length - 4);
                ByteBuffer.wrap(absurd).order(ByteOrder.LITTLE_ENDIAN).putInt(absurd.length - 4, (int) sum.getValue());
                assertThatThrownBy(() -> ViewSnapshot.decode(absurd))
                        .hasMessageContaining("its numbers do not fit its length");
            }
        }
    }

    @Test
    void become_ofAnotherKind_isRefused() {
        Cache cache = new BlockTree(Naming.ENGINE_HASH).addCache(CacheTraits.vllm());
        assertThatThrownBy(() -> cache.become(small(Naming.ENGINE_HASH)))
                .hasMessageContaining("named or counted in another way");
    }

    @Test
    void snapshot_ofAnUncertainCache_isNone() {
        Cache cache = new BlockTree(Naming.ENGINE_HASH).addCache(CacheTraits.sglang());
        assertThat(cache.snapshot(AT)).isEmpty();
        cache.gap(new Gap(Gap.Cause.JOINED_LATE, 0, 5));
        cache.batchStarted(5, 1);
        cache.batchEnded();
        assertThat(cache.snapshot(AT)).isEmpty();
    }

    /** A pin goes by these: what is not known is not there, what is ambiguous stays so, what stayed keeps its mark. */
    @Test
    void become_ofDecisions_knowsNoEndThatItDidNotSee() {
        EngineBlocks first = new EngineBlocks(CacheTraits.sglang(), NOBODY);
        StoredBlocks chain = new StoredBlocks();
        first.now(1L << 27);
        first.batchStarted(0, 1);
        first.stored(chain.reset().add(1).add(2));
        first.stored(chain.reset().add(5).namespaced(true));
        first.batchEnded();
        first.batchStarted(1, 1);
        first.stored(chain.reset().add(3).add(4));
        first.stored(chain.reset().under(3).add(4));
        first.batchEnded();
        assertThat(first.endedInsertion(2)).isTrue();
        assertThat(first.ambiguous(4)).isTrue();
        ViewSnapshot view = ViewSnapshot.decode(first.snapshot(AT).orElseThrow().encode());

        EngineBlocks second = new EngineBlocks(CacheTraits.sglang(), NOBODY);
        second.now(1L << 28);
        second.become(view);
        assertThat(second.certain()).isTrue();
        assertThat(second.size()).isEqualTo(first.size());
        assertThat(second.endedInsertion(2)).isFalse();
        assertThat(second.ambiguous(4)).isTrue();
        assertThat(second.ambiguous(5)).isTrue();
        assertThat(second.ambiguous(2)).isFalse();
        assertThat(second.lastTouch(2)).isZero();
        assertThat(second.depth(2)).isEqualTo(2);

        first.become(view);
        assertThat(first.endedInsertion(2)).isTrue();
        assertThat(first.ambiguous(4)).isTrue();
    }

    /** A pinned block that the exact view lacks was released by the engine, and is told. */
    @Test
    void become_withoutAPinnedBlock_tellsThatItLeft() {
        List<Long> told = new ArrayList<>();
        EngineBlocks blocks = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
            @Override
            public void insertionEnded(long lastBlock, int depth, boolean ended) {}

            @Override
            public void parted(long above, long first) {}

            @Override
            public void pinnedBlockRemoved(long block) {
                told.add(block);
            }
        });
        blocks.now(1L << 27);
        StoredBlocks chain = new StoredBlocks();
        blocks.batchStarted(0, 1);
        blocks.stored(chain.reset().add(1).add(2));
        blocks.batchEnded();
        blocks.pinPath(2);
        blocks.gap(new Gap(Gap.Cause.DROPPED, 1, 3));
        assertThat(blocks.resident(2)).isTrue();

        EngineBlocks exact = new EngineBlocks(CacheTraits.sglang(), NOBODY);
        exact.batchStarted(0, 1);
        exact.stored(chain.reset().add(1));
        exact.batchEnded();
        blocks.become(exact.snapshot(AT).orElseThrow());
        assertThat(told).containsExactly(2L);
        assertThat(blocks.resident(1)).isTrue();
        assertThat(blocks.resident(2)).isFalse();
        assertThat(blocks.pinnedBlocks()).isEqualTo(2);
    }

    /** Blocks that only others hold lead down to ours: a fleet's tree is shared. */
    @Test
    void become_inATreeOfMany_isFoundByContent() {
        BlockTree tree = new BlockTree(Naming.CONTENT_CHAIN);
        Cache one = tree.addCache(CacheTraits.sglang());
        Cache two = tree.addCache(CacheTraits.vllm());
        long[] names = new long[40];
        long[] hashes = new long[40];
        for (int i = 0; i < names.length; i++) {
            names[i] = 1_000 + i;
            hashes[i] = i + 1;
        }
        StoredBlocks chain = new StoredBlocks();
        for (Cache cache : List.of(one, two)) {
            cache.batchStarted(0, 1);
            cache.stored(chain.reset().hashes(hashes, 0, 40).names(names, 0));
            cache.batchEnded();
        }
        one.removed(hashes, 3, 20, Tier.GPU, 0);
        one.batchEnded();
        ViewSnapshot view = ViewSnapshot.decode(one.snapshot(AT).orElseThrow().encode());
        tree.dropCache(one);
        Cache again = tree.addCache(CacheTraits.sglang());
        again.become(view);
        Map<Long, Integer> tiers = new TreeMap<>();
        again.forEachHash(tiers::put);
        assertThat(tiers).hasSize(23).containsEntry(3L, 1).containsEntry(40L, 1).doesNotContainKey(4L);
        Matches matches = new Matches();
        tree.match(names, 0, 40, matches);
        assertThat(matches.depthOf(again.id(), Tier.GPU)).isEqualTo(3);
        assertThat(matches.depthOf(two.id(), Tier.GPU)).isEqualTo(40);
        chain.reset().under(3).names(names, 3).hashes(hashes, 3, 17);
        again.stored(chain);
        again.batchEnded();
        tree.match(names, 0, 40, matches);
        assertThat(matches.depthOf(again.id(), Tier.GPU)).isEqualTo(40);
    }

    /** So many chains that readers see them by parts: over nothing, and over what it holds already. */
    @ParameterizedTest
    @EnumSource(Naming.class)
    void become_ofManyChains_isWhole(Naming naming) {
        SplittableRandom random = new SplittableRandom(3);
        BlockTree tree = new BlockTree(naming);
        Cache cache = tree.addCache(CacheTraits.sglang());
        StoredBlocks chain = new StoredBlocks();
        List<long[]> prompts = new ArrayList<>();
        cache.batchStarted(0, 1);
        for (int i = 0; i < 6_000; i++) {
            long[] hashes = random.longs(random.nextInt(1, 40)).toArray();
            boolean under = i > 0 && random.nextBoolean();
            chain.reset().hashes(hashes, 0, hashes.length).names(hashes, 0);
            if (under) {
                long[] other = prompts.get(random.nextInt(i));
                chain.under(other[random.nextInt(other.length)]);
            }
            cache.stored(chain);
            prompts.add(hashes);
        }
        cache.batchEnded();
        for (int i = 0; i < prompts.size(); i += 3) {
            long[] gone = prompts.get(i);
            cache.removed(gone, 0, random.nextInt(gone.length), Tier.GPU, 0);
            cache.batchEnded();
        }
        Map<Long, Integer> before = tiers(cache);
        int blocks = tree.blocks();
        ViewSnapshot view = cache.snapshot(AT).orElseThrow();
        assertThat(view.parents.length).isGreaterThan(1 << 12);

        BlockTree other = new BlockTree(naming);
        Cache fresh = other.addCache(CacheTraits.sglang());
        fresh.become(view);
        assertThat(tiers(fresh)).isEqualTo(before);
        assertThat(other.blocks()).isLessThanOrEqualTo(blocks);

        long[] more = random.longs(30).toArray();
        cache.stored(chain.reset().hashes(more, 0, 30).names(more, 0));
        cache.removed(prompts.get(1), 0, prompts.get(1).length, Tier.GPU, 0);
        cache.batchEnded();
        cache.become(view);
        assertThat(tiers(cache)).isEqualTo(before);
        cache.restarted(0);
        assertThat(tree.blocks()).isZero();
        fresh.restarted(0);
        assertThat(other.blocks()).isZero();
    }

    private static Map<Long, Integer> tiers(Cache cache) {
        Map<Long, Integer> tiers = new TreeMap<>();
        cache.forEachHash(tiers::put);
        return tiers;
    }

    private static byte[] mutated(byte[] whole, SplittableRandom random) {
        byte[] bytes = whole.clone();
        switch (random.nextInt(4)) {
            case 0 -> bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
            case 1 -> bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length));
            case 2 -> bytes = Arrays.copyOf(bytes, bytes.length + random.nextInt(1, 40));
            default -> {
                int at = random.nextInt(bytes.length - 4);
                ByteBuffer.wrap(bytes).putInt(at, random.nextInt());
            }
        }
        return bytes;
    }
}
