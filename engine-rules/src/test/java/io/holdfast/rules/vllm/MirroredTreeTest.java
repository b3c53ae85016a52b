package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.testing.Heard;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The controller's view of the prefix profile's cache, from events alone. */
final class MirroredTreeTest {
    private static final int REQUESTS = 10_000;
    private static final int CHECKED_EVERY = 500;

    private final BlockTree view = new BlockTree(BlockTree.Naming.ENGINE_HASH);
    private final Cache cache = view.addCache(CacheTraits.vllm());
    private final StoredBlocks chain = new StoredBlocks();
    private long batches;
    private long evicted;

    @Test
    void view_equalsTheTree_hashByHash() {
        VirtualClock clock = new VirtualClock();
        VllmEngine engine = new VllmEngine(
                Stage.settings(Profile.PREFIX, Rates.LLAMA)
                        .withSizes(513, 16, 4096)
                        .withBatch(16, 512),
                Faults.none(),
                clock,
                new Gpu(new Speed(0, 0, 0, 1), Faults.none(), clock, () -> false),
                Model.seeded(1, 1000),
                this::hear,
                ElasticPool.OWN);
        Random random = new Random(1);
        int[][] shared = new int[12][];
        for (int i = 0; i < shared.length; i++) {
            shared[i] = Workload.tokens(random, 16 + random.nextInt(600));
        }
        for (int i = 1; i <= REQUESTS; i++) {
            int[] head = shared[random.nextInt(shared.length)];
            int[] prompt = Workload.joined(
                    Arrays.copyOf(head, 1 + random.nextInt(head.length)), Workload.tokens(random, random.nextInt(40)));
            engine.submit(new Generation(
                    prompt, RequestOptions.of(1 + random.nextInt(24)), true, clock.nanos(), new Heard()));
            while (engine.stats().waiting() > 2 && engine.step()) {}
            if (i % CHECKED_EVERY == 0) {
                while (engine.step()) {}
                assertSame(engine);
            }
        }
        assertThat(engine.stats().failed()).isZero();
        assertThat(evicted).isGreaterThan(512);
        assertThat(engine.stats().cachedTokens()).isGreaterThan(1_000_000);
    }

    private void assertSame(VllmEngine engine) {
        Set<Long> seen = new HashSet<>();
        cache.forEachHash((hash, tiers) -> {
            assertThat(tiers).isEqualTo(1);
            seen.add(hash);
        });
        assertThat(seen).isEqualTo(engine.cache().pool().hashes());
        assertThat(cache.unplaced()).isZero();
        assertThat(cache.unknownRemovals()).isZero();
    }

    private void hear(List<CacheEvent> batch) {
        cache.batchStarted(batches++, 0);
        for (CacheEvent event : batch) {
            switch (event) {
                case CacheEvent.Stored stored -> {
                    chain.reset().blockTokens(stored.blockTokens()).in(stored.tier());
                    stored.parent().ifPresent(parent -> chain.under(parent.hash()));
                    stored.blocks().forEach(block -> chain.add(block.hash()));
                    for (int i = 0; i < stored.tokens().size(); i++) {
                        chain.addToken(stored.tokens().get(i));
                    }
                    cache.stored(chain);
                }
                case CacheEvent.Removed removed -> {
                    long[] names =
                            removed.blocks().stream().mapToLong(BlockName::hash).toArray();
                    evicted += names.length;
                    cache.removed(names, 0, names.length, Tier.GPU, 0);
                }
                case CacheEvent.Cleared _ -> cache.cleared();
            }
        }
        cache.batchEnded();
    }
}
