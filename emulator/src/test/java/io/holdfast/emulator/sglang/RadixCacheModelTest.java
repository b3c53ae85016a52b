package io.holdfast.emulator.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Model;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Seeded sessions against an oracle without a tree: a flat list of blocks, each with its parent and the number of the run it
 * belongs to; everything else is found by looking at all of them. The oracle knows no sizes and no leaf set.
 */
class RadixCacheModelTest {
    private static final int PAGE = 2;
    private static final int CAPACITY = 48 * PAGE;

    private static final class Block {
        final long name;
        final long parent;
        int run;
        int locks;
        long used;

        Block(long name, long parent) {
            this.name = name;
            this.parent = parent;
        }
    }

    /** The oracle. */
    private static final class Flat {
        final Map<Long, Block> blocks = new LinkedHashMap<>();
        final Map<Long, Integer> pins = new HashMap<>();
        final List<List<Long>> stored = new ArrayList<>();
        final List<Long> removed = new ArrayList<>();
        int runs;
        long uses;

        int match(long[] path, int count) {
            int known = 0;
            while (known < count && blocks.containsKey(path[known])) {
                known++;
            }
            touch(path, known);
            return known;
        }

        /** Stamps runs from the root down; a run that the path leaves in its middle falls apart, the upper part newer. */
        private void touch(long[] path, int known) {
            for (int i = 0; i < known; i++) {
                Block block = block(path[i]);
                if (i == 0 || block(path[i - 1]).run != block.run) {
                    uses++;
                    runOf(block.run).forEach(member -> member.used = uses);
                }
            }
            if (known > 0) {
                Block last = block(path[known - 1]);
                List<Block> run = runOf(last.run);
                int depth = depth(last);
                if (run.stream().anyMatch(member -> depth(member) > depth)) {
                    runs++;
                    uses++;
                    for (Block member : run) {
                        if (depth(member) <= depth) {
                            member.run = runs;
                            member.used = uses;
                        }
                    }
                }
            }
        }

        void insert(long[] path) {
            int known = match(path, path.length);
            if (known == path.length) {
                return;
            }
            runs++;
            uses++;
            List<Long> added = new ArrayList<>();
            for (int i = known; i < path.length; i++) {
                Block block = new Block(path[i], i == 0 ? 0 : path[i - 1]);
                block.run = runs;
                block.used = uses;
                blocks.put(path[i], block);
                added.add(path[i]);
            }
            stored.add(added);
        }

        int evict(int wanted) {
            int freed = 0;
            while (freed < wanted) {
                Set<Integer> candidates = new HashSet<>();
                blocks.values().stream().filter(b -> b.locks == 0).forEach(b -> candidates.add(b.run));
                for (Block block : blocks.values()) {
                    Block above = blocks.get(block.parent);
                    if (above != null && above.run != block.run) {
                        candidates.remove(above.run);
                    }
                }
                int victim = -1;
                for (int run : candidates) {
                    if (victim < 0 || runOf(run).getFirst().used < runOf(victim).getFirst().used) {
                        victim = run;
                    }
                }
                if (victim < 0) {
                    break;
                }
                List<Block> run = runOf(victim);
                run.sort(Comparator.comparingInt(this::depth));
                for (Block block : run) {
                    removed.add(block.name);
                    freed += PAGE;
                }
                run.forEach(block -> blocks.remove(block.name));
            }
            return freed;
        }

        void lock(long name, int change) {
            for (Block at = blocks.get(name); at != null; at = blocks.get(at.parent)) {
                at.locks += change;
            }
        }

        int protectedTokens() {
            return PAGE
                    * (int) blocks.values().stream().filter(b -> b.locks > 0).count();
        }

        private Block block(long name) {
            return Objects.requireNonNull(blocks.get(name));
        }

        private int depth(Block block) {
            int depth = 0;
            for (Block at = blocks.get(block.parent); at != null; at = blocks.get(at.parent)) {
                depth++;
            }
            return depth;
        }

        private List<Block> runOf(int run) {
            return new ArrayList<>(
                    blocks.values().stream().filter(b -> b.run == run).toList());
        }
    }

    private final RadixCache cache = new RadixCache(CAPACITY, PAGE, true);
    private final Flat oracle = new Flat();
    private final List<RadixNode> locked = new ArrayList<>();
    private final List<Long> lockedNames = new ArrayList<>();
    private final Set<Long> insertionEnds = new TreeSet<>();

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void randomSessionsLeaveTheSameBlocksLocksSizesAndEvents(long seed) {
        Random random = new Random(seed);
        int steps = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 20_000 : 1_500;
        cache.drainEvents();
        for (int step = 0; step < steps; step++) {
            long[] path = path(random);
            switch (random.nextInt(10)) {
                case 0, 1, 2, 3 -> insert(path);
                case 4 ->
                    assertThat(cache.match("", path, path.length).tokens())
                            .isEqualTo(oracle.match(path, path.length) * PAGE);
                case 5 -> evict(random.nextInt(1, 20));
                case 6 -> lockOrUnlock(random, path);
                case 7 -> pin(random);
                case 8 -> unpin(random);
                default -> rarelyClear(random);
            }
            compare("seed " + seed + " step " + step);
        }
        assertThat(insertionEnds).isNotEmpty();
    }

    /** A path in a forest with few roots and few branches, so that prompts share beginnings. */
    private static long[] path(Random random) {
        long[] path = new long[1 + random.nextInt(9)];
        long name = 0;
        for (int i = 0; i < path.length; i++) {
            int branch = random.nextInt(10) < 7 ? 0 : random.nextInt(1, 3);
            name = Model.mix(name * 3 + branch + (i == 0 ? random.nextInt(4) * 7L : 0));
            path[i] = name;
        }
        return path;
    }

    private void insert(long[] path) {
        int missing = (path.length - oracle.match(path, path.length)) * PAGE;
        assertThat(cache.match("", path, path.length).tokens()).isEqualTo(path.length * PAGE - missing);
        cache.lock(cache.match("", path, path.length).node());
        RadixNode prefix = cache.match("", path, path.length).node();
        oracle.match(path, path.length);
        oracle.match(path, path.length);
        int known = path.length - missing / PAGE;
        if (known > 0) {
            oracle.lock(path[known - 1], 1);
        }
        evict(Math.max(0, missing - cache.freeTokens()));
        if (missing <= cache.freeTokens()) {
            cache.take(missing);
            cache.insert("", path, path.length, new int[path.length * PAGE]);
            oracle.insert(path);
            if (missing > 0) {
                insertionEnds.add(path[path.length - 1]);
            }
        }
        cache.unlock(prefix);
        if (known > 0) {
            oracle.lock(path[known - 1], -1);
        }
    }

    private void evict(int tokens) {
        assertThat(cache.evict(tokens)).isEqualTo(oracle.evict(tokens));
        insertionEnds.retainAll(oracle.blocks.keySet());
    }

    private void lockOrUnlock(Random random, long[] path) {
        int known = oracle.match(path, path.length);
        RadixNode node = cache.match("", path, path.length).node();
        if (locked.size() < 3 && known > 0) {
            cache.lock(node);
            oracle.lock(path[known - 1], 1);
            locked.add(node);
            lockedNames.add(path[known - 1]);
        } else if (!locked.isEmpty()) {
            int which = random.nextInt(locked.size());
            cache.unlock(locked.remove(which));
            oracle.lock(lockedNames.remove(which), -1);
        }
    }

    private void pin(Random random) {
        if (insertionEnds.isEmpty() || oracle.protectedTokens() > CAPACITY / 2) {
            return;
        }
        long block = List.copyOf(insertionEnds).get(random.nextInt(insertionEnds.size()));
        assertThat(cache.pin(new long[] {block})).isEqualTo(1);
        if (oracle.pins.merge(block, 1, Integer::sum) == 1) {
            oracle.lock(block, 1);
        }
    }

    private void unpin(Random random) {
        if (oracle.pins.isEmpty()) {
            assertThat(cache.unpin(new long[] {1})).isZero();
            return;
        }
        List<Long> pinned = List.copyOf(new TreeSet<>(oracle.pins.keySet()));
        long block = pinned.get(random.nextInt(pinned.size()));
        assertThat(cache.unpin(new long[] {block})).isEqualTo(1);
        oracle.pins.computeIfPresent(block, (_, count) -> count == 1 ? null : count - 1);
        if (!oracle.pins.containsKey(block)) {
            oracle.lock(block, -1);
        }
    }

    private void rarelyClear(Random random) {
        if (random.nextInt(20) == 0 && locked.isEmpty()) {
            cache.clear();
            assertThat(cache.drainEvents()).last().isEqualTo(new CacheEvent.Cleared());
            oracle.blocks.clear();
            oracle.pins.clear();
            insertionEnds.clear();
        }
    }

    private void compare(String step) {
        Map<Long, List<Long>> expected = new TreeMap<>();
        oracle.blocks.values().forEach(b -> expected.put(b.name, List.of(b.parent, (long) b.locks)));
        Map<Long, List<Long>> actual = new TreeMap<>();
        cache.residents().forEach(r -> actual.put(r.block(), List.of(r.parent(), (long) r.locks())));
        assertThat(actual).as(step).isEqualTo(expected);
        assertThat(cache.pins()).as(step).isEqualTo(oracle.pins);
        int inTree = expected.size() * PAGE;
        assertThat(List.of(cache.protectedTokens(), cache.evictableTokens(), cache.freeTokens()))
                .as(step)
                .containsExactly(oracle.protectedTokens(), inTree - oracle.protectedTokens(), CAPACITY - inTree);
        List<Long> stored = new ArrayList<>();
        List<Long> removed = new ArrayList<>();
        for (CacheEvent event : cache.drainEvents()) {
            switch (event) {
                case CacheEvent.Stored added -> added.blocks().forEach(block -> stored.add(block.hash()));
                case CacheEvent.Removed gone -> gone.blocks().forEach(block -> removed.add(block.hash()));
                case CacheEvent.Cleared _ -> throw new AssertionError("cleared without being asked");
            }
        }
        assertThat(stored)
                .as(step)
                .isEqualTo(oracle.stored.stream().flatMap(List::stream).toList());
        assertThat(removed).as(step).isEqualTo(oracle.removed);
        oracle.stored.clear();
        oracle.removed.clear();
    }
}
