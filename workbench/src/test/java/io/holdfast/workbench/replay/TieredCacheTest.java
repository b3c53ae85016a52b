package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class TieredCacheTest {
    private static final int FAN_OUT = 3;
    private static final int DEPTH = 6;
    private static final int BLOCKS = 2_000;

    @Test
    void blockThatWasFound_outlivesOnesThatWereNot() {
        EngineCache cache = TieredCache.segmented(10, 5);
        cache.use(new int[] {0}, 1, 1);
        cache.use(new int[] {0}, 1, 2);
        for (int block = 1; block < 9; block++) {
            cache.use(new int[] {block}, 1, 2 + block);
        }
        assertThat(cache.hits(new int[] {0}, 1)).isEqualTo(1);
        assertThat(cache.hits(new int[] {5}, 1)).isEqualTo(1);
        assertThat(cache.hits(new int[] {4}, 1)).isZero();
    }

    @Test
    void blockUsedOftenBefore_outlivesOneStoredSince() {
        EngineCache cache = TieredCache.leastFrequent(10, 2);
        for (int use = 0; use < 3; use++) {
            cache.use(new int[] {0}, 1, use);
        }
        cache.use(new int[] {1}, 1, 10);
        cache.use(new int[] {2}, 1, 20);
        assertThat(cache.hits(new int[] {0}, 1)).isEqualTo(1);
        assertThat(cache.hits(new int[] {1}, 1)).isZero();
        // Block 1 was used before it was evicted, so it stands above block 3 now.
        cache.use(new int[] {1}, 1, 30);
        cache.use(new int[] {1}, 1, 31);
        cache.resize(3);
        cache.use(new int[] {3}, 1, 40);
        cache.use(new int[] {4}, 1, 50);
        assertThat(cache.hits(new int[] {1}, 1)).isEqualTo(1);
        assertThat(cache.hits(new int[] {3}, 1)).isZero();
    }

    @Test
    void whatIsKept_staysAndCutsARequestShort() {
        EngineCache cache = TieredCache.leastFrequent(10, 3);
        cache.use(new int[] {0, 1}, 2, 1);
        cache.keep(0);
        cache.keep(1);
        assertThat(cache.use(new int[] {2, 3, 4}, 3, 2)).isEqualTo(1);
        cache.release(1);
        assertThat(cache.use(new int[] {2, 3, 4}, 3, 3)).isEqualTo(2);
        assertThat(cache.hits(new int[] {0, 1}, 2)).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void randomUse_isThatOfATreeThatIsSearched(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int capacity = 7 + random.nextInt(4) * random.nextInt(16);
        boolean segmented = seed % 2 == 0;
        EngineCache cache =
                segmented ? TieredCache.segmented(BLOCKS, capacity) : TieredCache.leastFrequent(BLOCKS, capacity);
        Model model = new Model(capacity, segmented);
        for (int step = 1; step <= 20_000; step++) {
            int what = random.nextInt(10);
            int[] path = path(random);
            if (what < 7) {
                assertThat(cache.hits(path, path.length))
                        .as("hits, seed %d, step %d", seed, step)
                        .isEqualTo(model.hits(path));
                assertThat(cache.use(path, path.length, step))
                        .as("stored, seed %d, step %d", seed, step)
                        .isEqualTo(model.use(path));
            } else if (what < 8) {
                // A request that runs holds all that it found.
                int hits = model.hits(path);
                if (model.kept.size() < capacity / DEPTH / 2) {
                    int[] found = Arrays.copyOf(path, hits);
                    Arrays.stream(found).forEach(cache::keep);
                    model.kept.add(found);
                }
            } else if (!model.kept.isEmpty()) {
                int[] over = model.kept.remove(random.nextInt(model.kept.size()));
                Arrays.stream(over).forEach(cache::release);
            }
            assertThat(cache.size()).isEqualTo(model.cached.size());
        }
    }

    /** A path down a tree in which the children of block n are 3n + 2 to 3n + 4. */
    private static int[] path(SplittableRandom random) {
        int[] path = new int[1 + random.nextInt(DEPTH)];
        int block = random.nextInt(2);
        for (int depth = 0; depth < path.length; depth++) {
            path[depth] = block;
            block = FAN_OUT * block + 2 + random.nextInt(FAN_OUT);
        }
        return path;
    }

    /** The rules over a real tree: lists that are searched for a block that nothing keeps and that has no child. */
    private static final class Model {
        private final int capacity;
        private final boolean segmented;
        private final Set<Integer> cached = new HashSet<>();
        private final List<int[]> kept = new ArrayList<>();
        /** Next to go first; of LFU all are in the first. */
        private final List<Integer> probation = new ArrayList<>();

        private final List<Integer> protectedBlocks = new ArrayList<>();
        private final int[] uses = new int[BLOCKS];

        Model(int capacity, boolean segmented) {
            this.capacity = capacity;
            this.segmented = segmented;
        }

        int hits(int[] path) {
            int hits = 0;
            while (hits < path.length && cached.contains(path[hits])) {
                hits++;
            }
            return hits;
        }

        int use(int[] path) {
            int hits = hits(path);
            Set<Integer> own = new HashSet<>();
            for (int depth = 0; depth < hits; depth++) {
                own.add(path[depth]);
            }
            while (cached.size() + path.length - hits > capacity && evictOne(own)) {
                // One more.
            }
            int stored = Math.min(path.length, hits + Math.max(0, capacity - cached.size()));
            for (int block : path) {
                uses[block]++;
            }
            for (int depth = stored - 1; depth >= 0; depth--) {
                Integer block = path[depth];
                cached.add(block);
                probation.remove((Object) block);
                protectedBlocks.remove((Object) block);
                if (segmented && depth < hits) {
                    protectedBlocks.add(block);
                    if (protectedBlocks.size() > 4 * capacity / 5) {
                        probation.add(protectedBlocks.removeFirst());
                    }
                } else {
                    probation.add(block);
                }
            }
            return stored;
        }

        private boolean evictOne(Set<Integer> own) {
            List<Integer> order = new ArrayList<>(probation);
            if (segmented) {
                order.addAll(protectedBlocks);
            } else {
                order.sort((one, other) -> Integer.compare(uses[one], uses[other]));
            }
            for (Integer block : order) {
                boolean leaf = true;
                for (int child = 2; child < 2 + FAN_OUT; child++) {
                    leaf &= !cached.contains(FAN_OUT * block + child);
                }
                if (leaf
                        && !own.contains(block)
                        && kept.stream().flatMapToInt(Arrays::stream).noneMatch(block::equals)) {
                    cached.remove(block);
                    probation.remove((Object) block);
                    protectedBlocks.remove((Object) block);
                    return true;
                }
            }
            return false;
        }
    }
}
