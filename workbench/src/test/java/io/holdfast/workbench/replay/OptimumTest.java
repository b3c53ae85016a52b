package io.holdfast.workbench.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class OptimumTest {
    @Test
    void smallTraces_haveNoBetterChoice() {
        for (long seed = 1; seed <= 200; seed++) {
            Trace trace = smallTrace(seed);
            int capacity = 3 + (int) (seed % 4);
            assertThat(Replay.run(trace, ReplaySettings.of(Policy.OPTIMUM), capacity)
                            .hits())
                    .as("seed %d", seed)
                    .isEqualTo(new Search(trace, capacity).best(0, 0));
        }
    }

    @Test
    void noPolicy_findsMore() {
        for (long seed = 1; seed <= 200; seed++) {
            Trace trace = smallTrace(seed);
            int capacity = 4 + (int) (seed % 4);
            long optimum = Replay.run(trace, ReplaySettings.of(Policy.OPTIMUM), capacity)
                    .hits();
            for (Policy policy : Policy.values()) {
                assertThat(Replay.run(trace, ReplaySettings.of(policy), capacity)
                                .hits())
                        .as("seed %d, %s", seed, policy)
                        .isLessThanOrEqualTo(optimum);
            }
        }
    }

    /** Paths of up to three blocks in a tree with two branches everywhere. */
    private static Trace smallTrace(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Map<String, Integer> numbers = new HashMap<>();
        Trace.Builder builder = new Trace.Builder("small", 512);
        for (int request = 0; request < 9; request++) {
            int length = 1 + random.nextInt(3);
            builder.begin(request * 1_000_000_000L, length * 512, 1);
            StringBuilder path = new StringBuilder();
            for (int depth = 0; depth < length; depth++) {
                path.append((char) ('a' + random.nextInt(2)));
                builder.block(numbers.computeIfAbsent(path.toString(), any -> numbers.size()));
            }
        }
        return builder.build();
    }

    /** Tries every way to make room. A cache is a set of bits; blocks above others are never evicted before them. */
    private static final class Search {
        private final Trace trace;
        private final int capacity;
        private final int[] parents;
        private final Map<Long, Long> known = new HashMap<>();

        Search(Trace trace, int capacity) {
            this.trace = trace;
            this.capacity = capacity;
            parents = new int[trace.uniqueBlocks()];
            for (int request = 0; request < trace.requests(); request++) {
                for (int depth = 0; depth < trace.length(request); depth++) {
                    parents[trace.block(request, depth)] = depth == 0 ? -1 : trace.block(request, depth - 1);
                }
            }
        }

        long best(int request, long cached) {
            if (request == trace.requests()) {
                return 0;
            }
            long state = cached << 8 | request;
            Long before = known.get(state);
            if (before != null) {
                return before;
            }
            long path = 0;
            long hits = 0;
            for (int depth = 0; depth < trace.length(request); depth++) {
                long bit = 1L << trace.block(request, depth);
                hits += hits == depth && (cached & bit) != 0 ? 1 : 0;
                path |= bit;
            }
            long best = hits + afterRoom(request, cached, path);
            known.put(state, best);
            return best;
        }

        private long afterRoom(int request, long cached, long path) {
            if (Long.bitCount(cached | path) <= capacity) {
                return best(request + 1, cached | path);
            }
            long best = -1;
            for (int block = 0; block < parents.length; block++) {
                long bit = 1L << block;
                if ((cached & bit) != 0 && (path & bit) == 0 && !hasChild(cached, block)) {
                    best = Math.max(best, afterRoom(request, cached & ~bit, path));
                }
            }
            return best;
        }

        private boolean hasChild(long cached, int block) {
            for (int child = 0; child < parents.length; child++) {
                if (parents[child] == block && (cached & 1L << child) != 0) {
                    return true;
                }
            }
            return false;
        }
    }
}
