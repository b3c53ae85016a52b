package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine that evicts the least recently used leaf, followed by its events alone. */
final class RankedPrefixesTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int BLOCKS_OF_A_TURN = 8;

    /** Conversations that go on each minute, among prompts that come once; the cache turns over within less. */
    @ParameterizedTest
    @ValueSource(ints = {1, 40})
    void conversations_areChosen_whereverTheyEndNow(int times) {
        Engine engine = new Engine(600 * times, times);
        engine.run(780, 6);
        assertThat(engine.ranked.evidence().open()).isTrue();
        assertThat(engine.ranked.chosen()).isNotEmpty().allSatisfy(prefix -> {
            assertThat(engine.ends).contains(prefix.lastBlock());
            // It may have left the cache since it was chosen.
            assertThat(engine.blocks.depth(prefix.lastBlock())).isIn(0, prefix.blocks());
            assertThat(prefix.adds()).isBetween(1, prefix.blocks());
        });
        long going = engine.ranked.chosen().stream()
                .filter(prefix -> engine.conversations.containsValue(prefix.lastBlock()))
                .count();
        assertThat(going).isGreaterThan(engine.ranked.chosen().size() / 2);
    }

    @Test
    void oneShots_areNotChosen() {
        Engine engine = new Engine(600, 1);
        engine.run(600, 0);
        assertThat(engine.ranked.chosen()).isEmpty();
        assertThat(engine.ranked.evidence().open()).isFalse();
    }

    @Test
    void nothingIsChosenBeyondWhatMayBeHeld() {
        Engine engine = new Engine(600, 1);
        engine.mayHold = 100;
        engine.run(780, 6);
        assertThat(engine.ranked.chosen()).isNotEmpty();
        assertThat(engine.ranked.chosen().stream().mapToInt(RankedPrefix::adds).sum())
                .isLessThanOrEqualTo(100);
        engine.mayHold = 0;
        engine.run(30, 6);
        assertThat(engine.ranked.chosen()).isEmpty();
    }

    /** Eight conversations over one system prompt hold it once. */
    @Test
    void whatConversationsShare_isCountedOnce() {
        Engine engine = new Engine(600, 1);
        engine.beginning = engine.send(0, 40);
        engine.run(780, 6);
        Set<Long> blocks = new HashSet<>();
        engine.ranked.chosen().forEach(prefix -> {
            for (long at = prefix.lastBlock(); at != 0; at = engine.parents.getOrDefault(at, 0L)) {
                blocks.add(at);
            }
        });
        assertThat(engine.ranked.chosen()).hasSizeGreaterThan(1);
        assertThat(engine.ranked.chosen().stream().mapToInt(RankedPrefix::adds).sum())
                .isEqualTo(blocks.size());
    }

    @Test
    void emptiedCache_hasNothingToHold_andIsNotLearnedAnew() {
        Engine engine = new Engine(600, 1);
        engine.run(780, 6);
        engine.empty();
        assertThat(engine.ranked.chosen()).isEmpty();
        assertThat(engine.ranked.evidence().open())
                .as("what the shadows showed")
                .isTrue();
        engine.run(150, 6);
        assertThat(engine.ranked.chosen())
                .as("held again as soon as they are back")
                .isNotEmpty();
    }

    @Test
    void unknownCapacity_teachesNothing() {
        Engine engine = new Engine(600, 1);
        RankedPrefixes unknown = new RankedPrefixes(RankSettings.defaults(), Duration.ofMinutes(5), engine.blocks);
        unknown.now(SECOND);
        assertThat(unknown.tick(100, 100, new long[0])).isFalse();
        assertThat(unknown.chosen()).isEmpty();
        assertThat(unknown.evidence()).isEqualTo(Evidence.NONE);
    }

    private static final class Engine {
        final int capacity;
        /** How many blocks stand for one. */
        final int times;

        final EngineBlocks blocks = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
            @Override
            public void parted(long above, long first) {}

            @Override
            public void insertionEnded(long lastBlock, int depth, boolean ended) {}

            @Override
            public void pinnedBlockRemoved(long block) {}
        });
        final RankedPrefixes ranked = new RankedPrefixes(RankSettings.defaults(), Duration.ofMinutes(5), blocks);
        final VisibleRequests requests = new VisibleRequests(RequestRules.sglang(), blocks, new RequestListener() {
            @Override
            public void prompt(VisibleRequest request, int before) {
                ranked.prompt(request, before);
                ends.add(request.lastBlock());
            }

            @Override
            public void answered(VisibleRequest request) {
                ranked.answered(request);
                ends.add(request.lastBlock());
            }

            @Override
            public void completed(VisibleRequest request) {
                ranked.completed(request);
            }
        });
        /** The last block of each that goes on, by its number. */
        final Map<Integer, Long> conversations = new LinkedHashMap<>();

        final Set<Long> ends = new HashSet<>();
        private final Map<Long, Long> parents = new LinkedHashMap<>();
        private final Map<Long, Integer> children = new LinkedHashMap<>();
        private final LinkedHashMap<Long, Boolean> leastRecent = new LinkedHashMap<>(16, 0.75f, true);
        private final SplittableRandom random = new SplittableRandom(3);
        private final Deque<Integer> goOn = new ArrayDeque<>();
        private long nextBlock = 1;
        private int next;
        private long batch;
        private long nanos = SECOND;
        /** What every conversation begins with. */
        long beginning;

        long mayHold = Long.MAX_VALUE / 4;

        Engine(int capacity, int times) {
            this.capacity = capacity;
            this.times = times;
        }

        /** One request a second; of each minute so many go on with a conversation, of which there are as many. */
        void run(int seconds, int conversing) {
            for (int i = 0; i < seconds; i++) {
                nanos += SECOND;
                ranked.now(nanos);
                ranked.capacity(capacity);
                ranked.tick(Math.min(mayHold, capacity / 2), capacity, new long[0]);
                if (i % 10 < 1 && conversing > 0) {
                    int number = goOn.size() < conversing ? next++ : goOn.removeFirst();
                    goOn.addLast(number);
                    long under = conversations.getOrDefault(number, beginning);
                    if (depth(under) > depth(beginning) + 6 * BLOCKS_OF_A_TURN * times) {
                        conversations.remove(number);
                        goOn.removeLast();
                        under = beginning;
                        number = next++;
                        goOn.addLast(number);
                    }
                    conversations.put(number, send(under, BLOCKS_OF_A_TURN * times));
                } else {
                    send(0, random.nextInt(14, 26) * times);
                }
            }
        }

        void empty() {
            blocks.batchStarted(++batch, nanos / 1000);
            requests.batchStarted(batch, nanos / 1000);
            blocks.cleared();
            requests.cleared();
            ranked.emptied();
            blocks.batchEnded();
            requests.batchEnded();
            leastRecent.clear();
            children.clear();
        }

        private int depth(long block) {
            int depth = 0;
            for (long at = block; at != 0; at = parents.getOrDefault(at, 0L)) {
                depth++;
            }
            return depth;
        }

        /** A request whose path goes on under a block, with all of the path that is gone stored anew. */
        private long send(long under, int fresh) {
            Deque<Long> path = new ArrayDeque<>();
            for (int i = 0; i < fresh; i++) {
                parents.put(nextBlock, i == 0 ? under : nextBlock - 1);
                path.addLast(nextBlock++);
            }
            for (long at = under; at != 0; at = parents.getOrDefault(at, 0L)) {
                path.addFirst(at);
            }
            List<Long> missing = path.stream()
                    .filter(block -> !leastRecent.containsKey(block))
                    .toList();
            path.forEach(leastRecent::get);
            blocks.now(nanos);
            blocks.batchStarted(++batch, nanos / 1000);
            requests.batchStarted(batch, nanos / 1000);
            evict(missing.size(), new HashSet<>(path));
            long[] stored = missing.stream().mapToLong(Long::longValue).toArray();
            long above = parents.getOrDefault(missing.getFirst(), 0L);
            StoredBlocks stores = new StoredBlocks().blockTokens(16);
            for (long block : stored) {
                stores.add(block);
            }
            if (above != 0) {
                stores.under(above);
            }
            missing.forEach(block -> {
                leastRecent.put(block, true);
                children.merge(parents.getOrDefault(block, 0L), 1, Integer::sum);
            });
            blocks.stored(stores);
            requests.stored(stores);
            blocks.batchEnded();
            requests.batchEnded();
            return path.getLast();
        }

        private void evict(int room, Set<Long> used) {
            Set<Long> gone = new LinkedHashSet<>();
            while (leastRecent.size() - gone.size() + room > capacity) {
                long leaf = leastRecent.keySet().stream()
                        .filter(block -> !gone.contains(block) && !used.contains(block))
                        .filter(block -> children.getOrDefault(block, 0) == 0)
                        .findFirst()
                        .orElseThrow();
                for (long at = leaf;
                        at != 0
                                && children.getOrDefault(at, 0) == 0
                                && !used.contains(at)
                                && leastRecent.size() - gone.size() + room > capacity;
                        at = parents.getOrDefault(at, 0L)) {
                    gone.add(at);
                    children.merge(parents.getOrDefault(at, 0L), -1, Integer::sum);
                }
            }
            gone.forEach(leastRecent::remove);
            if (!gone.isEmpty()) {
                long[] hashes = gone.stream().mapToLong(Long::longValue).toArray();
                blocks.removed(hashes, 0, hashes.length, Tier.GPU, 0);
                requests.removed(hashes, 0, hashes.length, Tier.GPU, 0);
                ranked.removed(hashes, 0, hashes.length);
            }
        }
    }
}
