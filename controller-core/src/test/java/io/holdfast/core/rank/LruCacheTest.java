package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LruCacheTest {
    private static final int FAN_OUT = 3;
    private static final int DEPTH = 6;

    private final List<Integer> evicted = new ArrayList<>();

    @Test
    void clearedCache_hasNothingInItsHeapEither() {
        LruCache cache = new LruCache(10, block -> {
            throw new AssertionError("Nothing is evicted.");
        });
        for (int i = 0; i < 100; i++) {
            cache.use(new int[] {1, 2, 3}, 3, i);
        }
        cache.clear();
        assertThat(cache.size()).isZero();
        assertThat(cache.entries()).isZero();
        assertThat(cache.use(new int[] {4, 5}, 2, 100)).isEqualTo(2);
    }

    @Test
    void pathUsedLongest_goesFromItsEnd() {
        LruCache cache = new LruCache(4, evicted::add);
        assertThat(cache.use(new int[] {1, 2, 3}, 3, 10)).isEqualTo(3);
        assertThat(cache.use(new int[] {1, 4, 5}, 3, 20)).isEqualTo(3);
        assertThat(evicted).containsExactly(3);
        assertThat(cache.hits(new int[] {1, 2, 3}, 3)).isEqualTo(2);
    }

    @Test
    void whatIsKept_staysAndReturnsToItsPlace() {
        LruCache cache = new LruCache(3, evicted::add);
        cache.use(new int[] {1}, 1, 10);
        cache.use(new int[] {2}, 1, 20);
        cache.use(new int[] {3}, 1, 30);
        cache.keep(1);
        cache.use(new int[] {4}, 1, 40);
        assertThat(evicted).containsExactly(2);
        cache.release(1);
        cache.use(new int[] {5}, 1, 50);
        assertThat(evicted).containsExactly(2, 1);
    }

    @Test
    void blocksOfOneMoment_goByNumber_theLargestFirst() {
        LruCache cache = new LruCache(7, evicted::add);
        for (int block : new int[] {3, 6, 0, 5, 1, 4, 2}) {
            cache.use(new int[] {block}, 1, 10);
        }
        assertThat(cache.isOlder(6, 5)).isTrue();
        assertThat(cache.isOlder(5, 6)).isFalse();
        cache.resize(0);
        assertThat(evicted).containsExactly(6, 5, 4, 3, 2, 1, 0);
    }

    @Test
    void requestThatDoesNotFitBesidePins_isCutShort() {
        LruCache cache = new LruCache(3, evicted::add);
        cache.use(new int[] {1, 2}, 2, 10);
        cache.keep(1);
        cache.keep(2);
        assertThat(cache.use(new int[] {7, 8, 9}, 3, 20)).isEqualTo(1);
        assertThat(evicted).isEmpty();
        assertThat(cache.use(new int[] {1, 2, 3}, 3, 30)).isEqualTo(3);
        assertThat(evicted).containsExactly(7);
    }

    @Test
    void pinsThatComeAndGo_pileNothingUp() {
        LruCache cache = new LruCache(10, evicted::add);
        cache.use(new int[] {1, 2, 3}, 3, 1);
        for (int i = 0; i < 1_000_000; i++) {
            cache.keep(3);
            cache.release(3);
        }
        assertThat(cache.entries()).isLessThan(10_000);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void randomUse_isThatOfAListThatIsSearched(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int capacity = 8 + random.nextInt(60);
        LruCache cache = new LruCache(capacity, evicted::add);
        Model model = new Model(capacity);
        for (int step = 1; step <= 20_000; step++) {
            int what = random.nextInt(10);
            if (what < 6) {
                int[] path = path(random);
                assertThat(cache.hits(path, path.length)).isEqualTo(model.hits(path));
                // Often several uses have one moment.
                assertThat(cache.use(path, path.length, step / 3)).isEqualTo(model.use(path, step / 3));
            } else if (what < 8) {
                model.anyBlock(random).ifPresent(block -> {
                    cache.keep(block);
                    model.keepers.merge(block, 1, Integer::sum);
                });
            } else if (what < 9) {
                model.anyKept(random).ifPresent(block -> {
                    cache.release(block);
                    model.keepers.merge(block, -1, Integer::sum);
                });
            } else if (random.nextInt(20) == 0) {
                int size = 8 + random.nextInt(60);
                cache.resize(size);
                model.resize(size);
            }
            assertThat(evicted).as("seed %d, step %d", seed, step).isEqualTo(model.evicted);
            assertThat(cache.size()).isEqualTo(model.used.size());
            evicted.clear();
            model.evicted.clear();
        }
    }

    /** A path down a tree in which the children of block n are 3n + 1 to 3n + 3. */
    private static int[] path(SplittableRandom random) {
        int[] path = new int[1 + random.nextInt(DEPTH)];
        int block = random.nextInt(2);
        for (int depth = 0; depth < path.length; depth++) {
            path[depth] = block;
            block = FAN_OUT * block + 2 + random.nextInt(FAN_OUT);
        }
        return path;
    }

    /** The rule, in so many words. */
    private static final class Model {
        private final Map<Integer, long[]> used = new HashMap<>();
        private final Map<Integer, Integer> keepers = new HashMap<>();
        private final List<Integer> evicted = new ArrayList<>();
        private int capacity;

        Model(int capacity) {
            this.capacity = capacity;
        }

        int hits(int[] path) {
            int hits = 0;
            while (hits < path.length && used.containsKey(path[hits])) {
                hits++;
            }
            return hits;
        }

        int use(int[] path, long now) {
            int stored = hits(path);
            Set<Integer> own = new HashSet<>();
            for (int depth = 0; depth < stored; depth++) {
                used.put(path[depth], new long[] {now, -depth});
                own.add(path[depth]);
            }
            int room = room(path.length - stored, own);
            for (int i = 0; i < room; i++, stored++) {
                used.put(path[stored], new long[] {now, -stored});
            }
            return stored;
        }

        void resize(int size) {
            capacity = size;
            room(0, Set.of());
        }

        private int room(int wanted, Set<Integer> own) {
            while (used.size() + wanted > capacity) {
                Optional<Integer> oldest = used.entrySet().stream()
                        .filter(entry -> keepers.getOrDefault(entry.getKey(), 0) == 0 && !own.contains(entry.getKey()))
                        .min(Comparator.comparingLong((Map.Entry<Integer, long[]> entry) -> entry.getValue()[0])
                                .thenComparingLong(entry -> entry.getValue()[1])
                                .thenComparingInt(entry -> -entry.getKey()))
                        .map(Map.Entry::getKey);
                if (oldest.isEmpty()) {
                    return Math.max(0, Math.min(wanted, capacity - used.size()));
                }
                used.remove(oldest.get());
                evicted.add(oldest.get());
            }
            return wanted;
        }

        Optional<Integer> anyBlock(SplittableRandom random) {
            List<Integer> blocks = used.keySet().stream().sorted().toList();
            return blocks.isEmpty() ? Optional.empty() : Optional.of(blocks.get(random.nextInt(blocks.size())));
        }

        Optional<Integer> anyKept(SplittableRandom random) {
            List<Integer> kept = keepers.entrySet().stream()
                    .filter(entry -> entry.getValue() > 0)
                    .map(Map.Entry::getKey)
                    .sorted()
                    .toList();
            return kept.isEmpty() ? Optional.empty() : Optional.of(kept.get(random.nextInt(kept.size())));
        }
    }
}
