package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StreamPosition;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.ViewCatchUp;
import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.TestEngine.Form;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Followers that are killed, lose batches and outlive engines, over real sockets: what they take over from their disk or a
 * sibling is what the engine has, or is refused.
 */
final class WarmStartTest {
    private static final int SEEDS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 200 : 12;
    private static final Form[] FORMS = Form.values();
    private static final int[] REMEMBERED = {3, 12, 60, 1_000};

    @Test
    @Timeout(1_200)
    void lateJoiner_hasWhatTheEngineHas_orSaysThatItIsUncertain() {
        int taken = 0;
        int refused = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            try (Play play = new Play(seed)) {
                play.run();
                taken += play.taken;
                refused += play.refusals.size();
            }
        }
        assertThat(taken).as("views taken over").isGreaterThan(SEEDS / 2);
        assertThat(refused).as("views refused").isGreaterThan(SEEDS / 4);
    }

    /** Without a place to ask, the very next number may be another life's. */
    @Test
    void engineThatRepeatsNothing_provesNothing() {
        try (Play play = new Play(1)) {
            Subscription silent = play.follower
                    .loop
                    .subscribe(
                            EventSource.of("tcp://127.0.0.1:" + play.engine.eventsPort(), ""),
                            rank -> play.sibling.cache)
                    .getFirst();
            play.publish(3);
            Cache other = new BlockTree(Naming.ENGINE_HASH).addCache(CacheTraits.sglang());
            other.batchStarted(0, 0);
            play.offer(
                    play.follower,
                    silent,
                    other.snapshot(new StreamPosition(0, 1, 1)).orElseThrow());
            assertThat(play.refusals.getLast()).startsWith("the engine repeats no past batches");
        }
    }

    /** One process that follows the engine. */
    private static final class Follower {
        final KvEventLoop loop = new KvEventLoop(System::nanoTime);
        final Cache cache;
        final Subscription subscription;

        Follower(Naming naming, EventSource source) {
            cache = new BlockTree(naming).addCache(CacheTraits.sglang());
            subscription = loop.subscribe(source, rank -> cache).getFirst();
        }

        boolean settled() {
            return subscription.connected() && !subscription.recovering();
        }

        Optional<byte[]> written() {
            return subscription.position().flatMap(cache::snapshot).map(ViewSnapshot::encode);
        }
    }

    /** One seeded history. */
    private static final class Play implements AutoCloseable {
        private final int seed;
        private final SplittableRandom random;
        private final Naming naming;
        private final ModelCache model;
        private final TestEngine engine;
        private final FaultyWire events = new FaultyWire(new SplittableRandom(1), true);
        private final FaultyWire replays = new FaultyWire(new SplittableRandom(1), true);
        private final EventSource source = EventSource.of(events.endpoint(), "").withReplay(replays.endpoint());
        private Follower follower;
        private final Follower sibling;
        private final List<byte[]> disk = new ArrayList<>();
        private final List<String> refusals = new ArrayList<>();
        private int taken;
        private boolean answered;

        Play(int seed) {
            this.seed = seed;
            random = new SplittableRandom(seed);
            naming = Naming.values()[random.nextInt(2)];
            model = new ModelCache(random, Dialect.SGLANG_MAPS, REMEMBERED[random.nextInt(REMEMBERED.length)]);
            engine = new TestEngine(FORMS[random.nextInt(FORMS.length)], model);
            lead();
            follower = new Follower(naming, source);
            sibling = new Follower(naming, source);
            publish(1);
            settle();
        }

        void run() {
            for (int i = 0, steps = random.nextInt(8, 16); i < steps; i++) {
                switch (random.nextInt(8)) {
                    case 0, 1 -> publish(random.nextInt(1, 20));
                    case 2 -> {
                        // Nobody hears them: neither the follower nor its sibling.
                        engine.lose(random.nextInt(1, 20));
                        publish(1);
                    }
                    case 3 -> write();
                    case 4, 5 -> kill();
                    case 6 -> {
                        write();
                        kill();
                    }
                    default -> restart();
                }
                settle();
                check();
            }
        }

        private void publish(int batches) {
            for (int i = 0; i < batches; i++) {
                engine.publish();
            }
        }

        private void write() {
            follower.written().ifPresent(disk::add);
        }

        /** No last word: what was written before is all there is. Meanwhile the engine goes on. */
        private void kill() {
            follower.loop.close();
            publish(random.nextInt(0, 30));
            if (random.nextInt(4) == 0) {
                restartEngine();
            }
            follower = new Follower(naming, source);
        }

        private void restart() {
            restartEngine();
            publish(random.nextInt(1, 4));
        }

        /** Another life, whose numbers may pass those of the one before at once. */
        private void restartEngine() {
            engine.restart();
            publish(random.nextInt(1, 40));
            lead();
            events.cut();
            replays.cut();
        }

        private void lead() {
            events.leadTo(engine.eventsPort());
            replays.leadTo(engine.replayPort());
        }

        private void settle() {
            for (Follower one : List.of(sibling, follower)) {
                until(() -> one.settled() && seen(one));
            }
            if (!follower.cache.certain()) {
                List<byte[]> views = new ArrayList<>();
                if (random.nextBoolean()) {
                    sibling.written().ifPresent(views::add);
                }
                disk.stream().skip(Math.max(0, disk.size() - 2)).forEach(views::add);
                for (byte[] view : views) {
                    if (!follower.cache.certain()) {
                        publish(random.nextInt(0, 3));
                        offer(follower, follower.subscription, ViewSnapshot.decode(view));
                        until(() -> answered);
                    }
                }
                // One that is ahead of all that was heard goes on from there.
                until(() -> follower.settled() && seen(follower));
            }
        }

        /** What was said last has come, or is known to be missing. */
        private boolean seen(Follower one) {
            return one.cache.holds(model.mark().orElseThrow(), Tier.GPU);
        }

        private void offer(Follower to, Subscription subscription, ViewSnapshot view) {
            answered = false;
            ViewCatchUp copy = new ViewCatchUp(view);
            to.loop.offer(subscription, new OfferedView() {
                @Override
                public StreamPosition position() {
                    return view.position();
                }

                @Override
                public KvEventSink events() {
                    return copy.events();
                }

                @Override
                public void taken(StreamPosition at) {
                    to.cache.become(copy.at(at).orElseThrow());
                    answered = true;
                    taken++;
                }

                @Override
                public void refused(String why) {
                    refusals.add(why);
                    answered = true;
                }
            });
        }

        private void check() {
            for (Follower one : List.of(sibling, follower)) {
                Map<Long, Integer> has = new HashMap<>();
                one.cache.forEachHash(has::put);
                Map<Long, Integer> truth = new HashMap<>();
                model.copies()
                        .forEach((tier, blocks) -> blocks.forEach(
                                (block, count) -> truth.merge(block, 1 << tier.ordinal(), Integer::sum)));
                if (one.cache.certain()) {
                    assertThat(has)
                            .as("seed %d: %s", seed, one.cache.certainty())
                            .isEqualTo(truth);
                } else {
                    assertThat(truth.keySet()).as("seed %d, uncertain", seed).containsAll(has.keySet());
                }
            }
            if (follower.cache.certain()) {
                checkCopies();
            }
        }

        /** Each copy goes by a removal of its own, and no block before its last one; on a copy of the view. */
        private void checkCopies() {
            Cache copy = new BlockTree(naming).addCache(CacheTraits.sglang());
            copy.become(follower.cache.snapshot(new StreamPosition(0, 0, 0)).orElseThrow());
            model.copies()
                    .forEach((tier, blocks) -> blocks.forEach((block, count) -> {
                        for (int i = 0; i < count; i++) {
                            assertThat(copy.holds(block, tier))
                                    .as("seed %d, copy %d", seed, i)
                                    .isTrue();
                            copy.removed(new long[] {block}, 0, 1, tier, 0);
                        }
                    }));
            copy.batchEnded();
            assertThat(copy.blocks()).as("seed %d", seed).isZero();
            assertThat(copy.unknownRemovals()).isZero();
        }

        private void until(BooleanSupplier condition) {
            long end = System.nanoTime() + 30_000_000_000L;
            while (!condition.getAsBoolean()) {
                engine.serve();
                sibling.loop.doWork(1);
                follower.loop.doWork(1);
                assertThat(System.nanoTime() - end).as("seed %d waits", seed).isNegative();
            }
        }

        @Override
        public void close() {
            follower.loop.close();
            sibling.loop.close();
            engine.close();
            events.close();
            replays.close();
        }
    }
}
