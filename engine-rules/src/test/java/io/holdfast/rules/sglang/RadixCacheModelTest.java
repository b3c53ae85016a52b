package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Seeded sessions against a cache without a tree: the same blocks, tiers, locks, hits, references, sizes and events. */
class RadixCacheModelTest {
    private static final int PAGE = 2;
    private static final int CAPACITY = 48 * PAGE;
    private static final List<String> SESSIONS = List.of("a", "b", "c");

    private record Held(RadixNode node, long block) {}

    private final List<Held> locked = new ArrayList<>();
    private final Set<Long> insertionEnds = new TreeSet<>();
    private RadixCache cache = cache(SglangSettings.defaults());
    private FlatCache oracle = new FlatCache(SglangSettings.defaults());
    private int loaded;

    static Stream<Arguments> kinds() {
        SglangSettings plain = SglangSettings.defaults().withSizes(CAPACITY, PAGE, 8192);
        SglangSettings held = plain.withSessions(true);
        return Stream.of(
                Arguments.of(1, plain.withVariant(Variant.PIN_GPU)),
                Arguments.of(2, plain.withVariant(Variant.PIN_GPU)),
                Arguments.of(3, plain.withVariant(Variant.PIN_GPU).withEviction(Eviction.PRIORITY)),
                Arguments.of(4, held),
                Arguments.of(5, held.withEviction(Eviction.LFU)),
                Arguments.of(6, held.withEviction(Eviction.SLRU)),
                Arguments.of(7, plain.withEviction(Eviction.PRIORITY)),
                Arguments.of(8, plain.withHostRatio(0.5)),
                Arguments.of(9, plain.withHostRatio(2)),
                Arguments.of(10, held.withHostRatio(1.5).withEviction(Eviction.PRIORITY)),
                Arguments.of(11, held.withHostRatio(1.2).withEviction(Eviction.LFU)));
    }

    @BeforeEach
    void forget() {
        locked.clear();
        insertionEnds.clear();
    }

    @ParameterizedTest
    @MethodSource("kinds")
    void randomSessionsLeaveTheSameBlocksAndEvents(long seed, SglangSettings settings) {
        Random random = new Random(seed);
        int steps = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 20_000 : 1_200;
        cache = cache(settings);
        oracle = new FlatCache(settings);
        cache.drainEvents();
        for (int step = 0; step < steps; step++) {
            long[] path = path(random);
            switch (random.nextInt(12)) {
                case 0, 1, 2, 3, 4 -> serve(random, path, settings);
                case 5 ->
                    assertThat(cache.match(chain(path), path.length).tokens())
                            .isEqualTo(oracle.match(path, path.length) * PAGE);
                case 6 -> evict(random.nextInt(1, 20));
                case 7 -> lockOrUnlock(random, path);
                case 8 -> pinOrClose(random, settings);
                case 9 -> unpin(random);
                case 10 -> insertWithoutRequest(random, path);
                default -> rarelyClear(random);
            }
            compare("seed " + seed + " step " + step);
        }
        assertThat(insertionEnds).isNotEmpty();
        assertThat(loaded > 0).as("loaded back").isEqualTo(settings.hostRatio() > 0);
    }

    private static RadixCache cache(SglangSettings settings) {
        return new RadixCache(settings, Faults.none());
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

    private static TokenChain chain(long[] path) {
        return TokenChain.named(Namespace.PLAIN, PAGE, new int[path.length * PAGE], path);
    }

    /** As an engine does: match all but the last block, lock, load back, make room, take, insert, refer, unlock. */
    private void serve(Random random, long[] path, SglangSettings settings) {
        int most = path.length - random.nextInt(2);
        RadixCache.Match match = cache.match(chain(path), most);
        int known = oracle.match(path, most);
        int onGpu = oracle.onGpu(path, known);
        assertThat(match.tokens()).isEqualTo(known * PAGE);
        assertThat(match.onGpu()).isEqualTo(onGpu * PAGE);
        cache.lock(match.gpuNode());
        lock(path, onGpu, 1);
        int prefix = known;
        if (known > onGpu) {
            prefix = loadBack(match, path, known, onGpu);
        }
        RadixNode node = cache.match(chain(path), prefix).node();
        oracle.match(path, prefix);
        int missing = (path.length - prefix) * PAGE;
        evict(Math.max(0, missing - cache.freeTokens()));
        if (missing <= cache.freeTokens()) {
            cache.take(missing);
            int priority = random.nextInt(4) == 0 ? random.nextInt(-2, 5) : 0;
            int counted = random.nextInt(4) == 0 ? prefix : 0;
            int there = oracle.onGpu(path, path.length);
            if (oracle.known(path, path.length) < path.length) {
                insertionEnds.add(path[path.length - 1]);
            }
            RadixCache.Insertion stored = cache.insert(chain(path), path.length, priority, counted);
            oracle.insert(path, priority, counted);
            assertThat(stored.present()).isEqualTo(there * PAGE);
            cache.giveBack(stored.present() - prefix * PAGE);
            if (settings.sessions() && random.nextBoolean()) {
                String session = SESSIONS.get(random.nextInt(SESSIONS.size()));
                cache.sessions().finished(cache.sessions().arrived(session), stored.node());
                oracle.finished(session, path[path.length - 1]);
            }
        }
        cache.unlock(node);
        lock(path, prefix, -1);
    }

    private int loadBack(RadixCache.Match match, long[] path, int known, int onGpu) {
        RadixCache.Match prefix = cache.loadBack(match);
        assertThat(prefix.onHost()).isZero();
        lock(path, known, 1);
        lock(path, onGpu, -1);
        if (match.onHost() >= 10) {
            int before = CAPACITY - oracle.gpuTokens();
            if (before < match.onHost()) {
                oracle.evict(match.onHost() - before);
            }
        }
        if (prefix.tokens() == match.tokens()) {
            oracle.load(path, known);
            loaded++;
            return known;
        }
        assertThat(match.onHost() < 10 || CAPACITY - oracle.gpuTokens() < match.onHost())
                .isTrue();
        lock(path, onGpu, 1);
        lock(path, known, -1);
        return onGpu;
    }

    private void lock(long[] path, int count, int change) {
        if (count > 0) {
            oracle.lock(path[count - 1], change);
        }
    }

    private void insertWithoutRequest(Random random, long[] path) {
        int known = oracle.known(path, path.length);
        if (known > 0 && oracle.onGpu(path, known) == known) {
            long[] part = Arrays.copyOf(path, known);
            int priority = random.nextInt(3);
            cache.insert(chain(part), known, priority, known);
            oracle.insert(part, priority, known);
        }
    }

    private void evict(int tokens) {
        assertThat(cache.evict(tokens)).isEqualTo(oracle.evict(tokens));
        insertionEnds.retainAll(oracle.blocks.keySet());
    }

    private void lockOrUnlock(Random random, long[] path) {
        RadixCache.Match match = cache.match(chain(path), path.length);
        int known = oracle.match(path, path.length);
        if (locked.size() < 3 && known > 0) {
            cache.lock(match.node());
            locked.add(new Held(match.node(), path[known - 1]));
            lock(path, known, 1);
        } else if (!locked.isEmpty()) {
            Held held = locked.remove(random.nextInt(locked.size()));
            cache.unlock(held.node());
            oracle.lock(held.block(), -1);
        }
    }

    private void pinOrClose(Random random, SglangSettings settings) {
        if (settings.variant() == Variant.PIN_GPU) {
            pin(random);
        } else if (settings.sessions()) {
            String session = SESSIONS.get(random.nextInt(SESSIONS.size()));
            cache.sessions().close(session);
            oracle.sessions.remove(session);
        }
    }

    private void pin(Random random) {
        List<Long> ends = List.copyOf(insertionEnds);
        if (ends.isEmpty() || oracle.protectedTokens() > CAPACITY / 2) {
            assertThat(cache.pins().pin(new long[] {1}).count()).isZero();
            return;
        }
        long block = ends.get(random.nextInt(ends.size()));
        assertThat(cache.pins().pin(new long[] {block}).count()).isEqualTo(1);
        if (oracle.pins.merge(block, 1, Integer::sum) == 1) {
            oracle.lock(block, 1);
        }
    }

    private void unpin(Random random) {
        if (oracle.pins.isEmpty()) {
            assertThat(cache.pins().unpin(new long[] {1}).count()).isZero();
            return;
        }
        List<Long> pinned = List.copyOf(new TreeSet<>(oracle.pins.keySet()));
        long block = pinned.get(random.nextInt(pinned.size()));
        assertThat(cache.pins().unpin(new long[] {block}).count()).isEqualTo(1);
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
            oracle.sessions.clear();
            insertionEnds.clear();
        }
    }

    private void compare(String step) {
        Map<Long, List<Object>> expected = new TreeMap<>();
        oracle.blocks
                .values()
                .forEach(b -> expected.put(
                        b.name,
                        List.of(b.parent, b.locks, b.hits, b.priority, oracle.references(b), b.onGpu, b.onHost)));
        Map<Long, List<Object>> actual = new TreeMap<>();
        cache.residents().forEach(r -> {
            RadixNode n = r.node();
            actual.put(r.block(), List.of(r.parent(), n.locks, n.hits, n.priority, n.references, n.onGpu(), n.onHost));
        });
        assertThat(actual).as(step).isEqualTo(expected);
        assertThat(cache.pins().counts()).as(step).isEqualTo(oracle.pins);
        int onGpu = oracle.gpuTokens();
        assertThat(List.of(
                        cache.protectedTokens(),
                        cache.evictableTokens(),
                        cache.freeTokens(),
                        cache.host().freeTokens()))
                .as(step)
                .containsExactly(
                        oracle.protectedTokens(),
                        onGpu - oracle.protectedTokens(),
                        CAPACITY - onGpu,
                        cache.host().capacityTokens() - oracle.hostUsed());
        assertThat(told(cache.drainEvents())).as(step).isEqualTo(oracle.events);
        oracle.events.clear();
    }

    private static List<String> told(List<CacheEvent> events) {
        List<String> all = new ArrayList<>();
        for (CacheEvent event : events) {
            switch (event) {
                case CacheEvent.Stored stored -> add("stored ", stored.blocks(), " " + stored.tier(), all);
                case CacheEvent.Removed removed -> add("removed ", removed.blocks(), " " + removed.tier(), all);
                case CacheEvent.Cleared _ -> throw new AssertionError("cleared without being asked");
            }
        }
        return all;
    }

    private static void add(String what, List<BlockName> blocks, String tier, List<String> to) {
        blocks.forEach(block -> to.add(what + block.hash() + tier));
    }
}
