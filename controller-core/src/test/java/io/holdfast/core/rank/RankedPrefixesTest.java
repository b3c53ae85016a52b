package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine that evicts the least recently used leaf, followed by its events alone. */
final class RankedPrefixesTest {
    private static final long SECOND = 1_000_000_000L;

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
                .filter(prefix -> engine.users.conversations().contains(prefix.lastBlock()))
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

    @ParameterizedTest
    @ValueSource(ints = {1, 40})
    void nothingIsChosenBeyondWhatMayBeHeld(int times) {
        Engine engine = new Engine(600 * times, times);
        engine.mayHold = 20L * times;
        engine.run(780, 6);
        assertThat(engine.ranked.chosen()).isNotEmpty();
        assertThat(engine.ranked.chosen().stream().mapToInt(RankedPrefix::adds).sum())
                .as("in blocks, not in places")
                .isLessThanOrEqualTo(20 * times);
        engine.mayHold = 0;
        engine.run(30, 6);
        assertThat(engine.ranked.chosen()).isEmpty();
    }

    /** Eight conversations over one system prompt hold it once. */
    @Test
    void whatConversationsShare_isCountedOnce() {
        Engine engine = new Engine(600, 1);
        engine.users.sharesFrom(40);
        engine.run(780, 6);
        Set<Long> blocks = new HashSet<>();
        engine.ranked.chosen().forEach(prefix -> {
            for (long at = prefix.lastBlock(); at != 0; at = engine.users.above(at)) {
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
        engine.users.empty();
        assertThat(engine.ranked.chosen()).isEmpty();
        assertThat(engine.ranked.evidence().open())
                .as("what the shadows showed")
                .isTrue();
        engine.run(150, 6);
        assertThat(engine.ranked.chosen())
                .as("held again as soon as they are back")
                .isNotEmpty();
    }

    /** Without a bound as many requests take more than twice as much. */
    @Test
    void memoryThatIsFull_isNotExceeded_andConversationsAreChosenAllTheSame() {
        MemoryBudget memory = new MemoryBudget(272L << 10);
        Engine engine =
                new Engine(600, 1, CacheTraits.sglang(), RequestRules.sglang(), RankSettings.defaults(), memory);
        for (int minute = 0; minute < 13; minute++) {
            engine.run(60, 6);
            assertThat(memory.used().bytes()).isLessThanOrEqualTo(272L << 10);
        }
        assertThat(memory.used().shortages()).as("it was full").isPositive();
        assertThat(engine.ranked.chosen()).isNotEmpty();

        Engine free = new Engine(600, 1);
        free.run(780, 6);
        assertThat(free.blocks.memory().used().bytes())
                .isGreaterThan(2 * memory.used().bytes());
        free.ranked.forget();
        engine.ranked.forget();
        assertThat(engine.ranked.places()).isZero();
    }

    /** Each of them would be remembered for ever. */
    @Test
    void requestsThatAreOver_areNotFollowed() {
        Engine engine = new Engine(600, 1);
        engine.run(300, 6);
        assertThat(engine.ranked.following()).isLessThan(60);
        engine.users.empty();
        assertThat(engine.ranked.following()).isZero();
    }

    /** What an engine says of its size may waver by a block, and what was learned is not for nothing. */
    @Test
    void capacityThatWavers_isNoOtherCache() {
        Engine engine = new Engine(16_384, 1);
        engine.run(100, 6);
        int places = engine.ranked.places();
        assertThat(places).isPositive();
        engine.ranked.capacity(16_386);
        engine.ranked.capacity(16_384);
        engine.ranked.capacity(8_000);
        assertThat(engine.ranked.places()).isEqualTo(places);
        engine.ranked.capacity(100_000);
        assertThat(engine.ranked.places()).as("another cache").isZero();
    }

    /** A plan names no more than an operator can read, and an engine is called for each of them. */
    @Test
    void noMoreThanOneHundredAndTwentyEightAreChosen() {
        Engine engine = new Engine(
                8_000,
                1,
                CacheTraits.sglang(),
                RequestRules.sglang(),
                RankSettings.defaults().withLicence(RankSettings.Licence.NONE));
        for (int i = 0; i < 1_600; i++) {
            engine.tick();
            long first = 1 + 4L * (i % 200);
            long[] path = {first, first + 1, first + 2, first + 3};
            engine.batchStarted(i, 0);
            if (i >= 200) {
                engine.removed(path, 0, 4, Tier.GPU, 0);
            }
            engine.stored(new StoredBlocks().blockTokens(16).hashes(path, 0, 4));
            engine.batchEnded();
        }
        assertThat(engine.ranked.chosen()).hasSize(128);
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

    /** However large the cache is, neither a choice nor a fit walks more than some thousand places. */
    @Test
    void largeCache_isKnownByAFewThousandPlaces() {
        Engine engine = new Engine(24_000, 40);
        engine.run(120, 6);
        assertThat(engine.blocks.size()).isGreaterThan(20_000);
        assertThat(engine.ranked.places()).isBetween(4_000, 8_192);
    }

    @Test
    void everyFourthBlock_theEnd_andWhereRequestsPart_arePlaces() {
        Engine engine = new Engine(4 * 8_192, 1);
        engine.tick();
        engine.batchStarted(0, 0);
        engine.stored(new StoredBlocks()
                .blockTokens(16)
                .hashes(LongStream.rangeClosed(1, 10).toArray(), 0, 10));
        engine.batchEnded();
        assertThat(engine.ranked.places()).as("4, 8 and 10").isEqualTo(3);
        engine.batchStarted(1, 0);
        engine.stored(new StoredBlocks()
                .blockTokens(16)
                .under(6)
                .hashes(LongStream.rangeClosed(11, 15).toArray(), 0, 5));
        engine.batchEnded();
        assertThat(engine.ranked.places()).as("and 6, 12 and 15").isEqualTo(6);
    }

    /** vLLM stores a block that two requests compute at once twice, and removes the copies one by one. */
    @Test
    void blockStoredTwice_isThereUntilBothCopiesAreRemoved() {
        Engine engine = new Engine(600, 1, CacheTraits.vllm(), RequestRules.vllm());
        engine.tick();
        for (int copy = 0; copy < 2; copy++) {
            engine.batchStarted(copy, 0);
            engine.stored(new StoredBlocks().blockTokens(16).add(1).add(2).add(3));
            engine.batchEnded();
        }
        assertThat(engine.ranked.places()).isEqualTo(3);
        for (int copy = 0; copy < 2; copy++) {
            assertThat(engine.ranked.places()).isEqualTo(3);
            engine.batchStarted(2 + copy, 0);
            engine.removed(new long[] {3, 2, 1}, 0, 3, Tier.GPU, 0);
            engine.batchEnded();
        }
        assertThat(engine.ranked.places()).isZero();
    }

    /** The engine, and what follows its events. */
    private static final class Engine implements KvEventSink {
        final int capacity;
        final EngineBlocks blocks;
        final RankedPrefixes ranked;
        final EvictingEngine users;
        /** The last blocks of all requests. */
        final Set<Long> ends = new HashSet<>();

        private final VisibleRequests requests;
        private long nanos = SECOND;
        long mayHold = Long.MAX_VALUE / 4;

        Engine(int capacity, int times) {
            this(capacity, times, CacheTraits.sglang(), RequestRules.sglang());
        }

        Engine(int capacity, int times, CacheTraits traits, RequestRules rules) {
            this(capacity, times, traits, rules, RankSettings.defaults());
        }

        Engine(int capacity, int times, CacheTraits traits, RequestRules rules, RankSettings settings) {
            this(capacity, times, traits, rules, settings, MemoryBudget.unbounded());
        }

        Engine(
                int capacity,
                int times,
                CacheTraits traits,
                RequestRules rules,
                RankSettings settings,
                MemoryBudget memory) {
            this.capacity = capacity;
            blocks = new EngineBlocks(
                    traits,
                    new TreeListener() {
                        @Override
                        public void parted(long above, long first) {
                            Engine.this.blocks.watch(above);
                        }

                        @Override
                        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

                        @Override
                        public void pinnedBlockRemoved(long block) {}
                    },
                    memory);
            ranked = new RankedPrefixes(settings, Duration.ofMinutes(5), blocks);
            requests = new VisibleRequests(rules, blocks, new RequestListener() {
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
            users = new EvictingEngine(capacity, times, this);
        }

        void run(int seconds, int conversing) {
            for (int i = 0; i < seconds; i++) {
                tick();
                users.request(conversing);
            }
        }

        /** A second later. */
        void tick() {
            nanos += SECOND;
            users.now(nanos);
            ranked.now(nanos);
            ranked.capacity(capacity);
            ranked.tick(Math.min(mayHold, capacity / 2), capacity, new long[0]);
        }

        @Override
        public void batchStarted(long sequence, long stampMicros) {
            blocks.now(nanos);
            blocks.batchStarted(sequence, stampMicros);
            requests.batchStarted(sequence, stampMicros);
        }

        @Override
        public void stored(StoredBlocks stores) {
            blocks.stored(stores);
            requests.stored(stores);
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            blocks.removed(hashes, from, to, tier, group);
            requests.removed(hashes, from, to, tier, group);
            ranked.removed(hashes, from, to);
        }

        @Override
        public void cleared() {
            blocks.cleared();
            requests.cleared();
            ranked.emptied();
        }

        @Override
        public void batchEnded() {
            blocks.batchEnded();
            requests.batchEnded();
        }

        @Override
        public void gap(Gap gap) {
            throw new AssertionError("Nothing is lost here.");
        }

        @Override
        public void restarted(long seen) {
            throw new AssertionError("One life is enough.");
        }
    }
}
