package io.holdfast.emulator.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Tokens;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Faults;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Holdfast's own follower beside the emulated sockets, with every fault of the wire. */
final class FollowedPublisherTest {
    private static final EventSettings ANYWHERE = EventSettings.of(0, Dialect.SGLANG_MAPS)
            .withReplay(OptionalInt.of(0))
            .withTopic("kv");

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void lossesDoublesAndOvertaking_areMendedByAsking(Dialect dialect) {
        Faults faults = new Faults(List.of(
                new EventFault.EventLoss(20), new EventFault.EventDuplicates(20), new EventFault.EventReorder(20)));
        EventSettings settings =
                EventSettings.of(0, dialect).withReplay(OptionalInt.of(0)).withTopic("kv");
        try (EventPublisher publisher = publisher(settings, faults);
                Following following = new Following(publisher)) {
            Cache cache = new Cache(publisher);
            following.until(() -> {
                cache.act();
                return following.subscription.received() > 0;
            });
            for (int i = 0; i < 300; i++) {
                cache.act();
                following.loop.doWork(0);
            }
            following.until(() -> following.follower.blocks.equals(cache.blocks));
            assertThat(following.subscription.gaps()).isZero();
            assertThat(following.subscription.restarts()).isZero();
            assertThat(following.subscription.replayedBatches()).isPositive();
            assertThat(following.subscription.duplicates()).isPositive();
        }
    }

    @Test
    void replayTooShort_isToldAsAGap() {
        Faults faults = new Faults(List.of(new EventFault.ReplayShort(2)));
        try (EventPublisher publisher = publisher(ANYWHERE, faults);
                Following following = new Following(publisher)) {
            Cache cache = new Cache(publisher);
            cache.act();
            following.until(
                    () -> following.follower.blocks.equals(cache.blocks) && !following.subscription.recovering());
            faults.begin(new EventFault.EventLoss(100));
            for (int i = 0; i < 20; i++) {
                cache.act();
            }
            following.until(() -> following.subscription.gaps(Gap.Cause.DROPPED) > 0);
            assertThat(following.subscription.lostBatches()).isEqualTo(18);
        }
    }

    @Test
    void resetNumbers_areAnotherLife() {
        Faults faults = new Faults(List.of(new EventFault.SequenceReset(5)));
        try (EventPublisher publisher = publisher(ANYWHERE, faults);
                Following following = new Following(publisher)) {
            Cache cache = new Cache(publisher);
            for (int i = 0; i < 3; i++) {
                cache.act();
            }
            following.until(
                    () -> following.follower.blocks.equals(cache.blocks) && !following.subscription.recovering());
            for (int i = 0; i < 4; i++) {
                cache.act();
            }
            following.until(() -> following.subscription.restarts() > 0);
            assertThat(following.subscription.refused()).isZero();
        }
    }

    @Test
    void delayedAndSkewedEvents_areTakenAsTheyCome() {
        Faults faults = new Faults(List.of(
                new EventFault.EventDelay(Duration.ofMillis(50)), new EventFault.ClockSkew(Duration.ofHours(-1))));
        try (EventPublisher publisher = publisher(ANYWHERE, faults);
                Following following = new Following(publisher)) {
            Cache cache = new Cache(publisher);
            for (int i = 0; i < 50; i++) {
                cache.act();
            }
            following.until(() -> following.follower.blocks.equals(cache.blocks));
            long now = System.currentTimeMillis() * 1_000;
            assertThat(following.follower.stampMicros).isBetween(now - 3_660_000_000L, now - 3_600_000_000L);
        }
    }

    @Test
    void newLifeOnTheSamePorts_isFollowedFromItsBeginning() {
        EventPublisher first = publisher(ANYWHERE, Faults.none());
        String replay = first.replayEndpoint().orElseThrow();
        EventSettings same = ANYWHERE.withPort(first.port())
                .withReplay(OptionalInt.of(Integer.parseInt(replay.substring(replay.lastIndexOf(':') + 1))));
        try (Following following = new Following(first)) {
            Cache old = new Cache(first);
            for (int i = 0; i < 20; i++) {
                old.act();
            }
            following.until(() -> following.follower.blocks.equals(old.blocks) && !following.subscription.recovering());
            first.close();
            try (EventPublisher second = publisher(same, Faults.none())) {
                second.publish(List.of(new CacheEvent.Cleared()));
                Cache fresh = new Cache(second);
                fresh.act();
                following.until(() -> following.follower.blocks.equals(fresh.blocks));
                assertThat(following.subscription.gaps()).isZero();
            }
        }
    }

    @Test
    void ranks_areFollowedEachByItself() {
        List<EventPublisher> ranks =
                EventPublisher.forRanks(ANYWHERE, 2, Faults.none(), new MachineClock(), new SplittableRandom(3));
        EventSource source = EventSource.of(ranks.getFirst().endpoint(), "kv")
                .withReplay(ranks.getFirst().replayEndpoint().orElseThrow())
                .withRanks(2);
        List<Follower> views = List.of(new Follower(), new Follower());
        try (KvEventLoop loop = new KvEventLoop(System::nanoTime)) {
            List<Subscription> subscriptions = loop.subscribe(source, views::get);
            Cache left = new Cache(ranks.getFirst());
            Cache right = new Cache(ranks.getLast());
            for (int i = 0; i < 20; i++) {
                left.act();
            }
            right.act();
            long deadline = System.nanoTime() + 30_000_000_000L;
            while (!(views.getFirst().blocks.equals(left.blocks)
                    && views.getLast().blocks.equals(right.blocks))) {
                loop.doWork(20);
                assertThat(System.nanoTime()).isLessThan(deadline);
            }
            assertThat(subscriptions).allMatch(subscription -> subscription.refused() == 0);
        } finally {
            ranks.forEach(EventPublisher::close);
        }
    }

    private static EventPublisher publisher(EventSettings settings, Faults faults) {
        return new EventPublisher(settings, 0, faults, new MachineClock(), new SplittableRandom(11));
    }

    /** A cache that stores and removes blocks by seed. */
    private static final class Cache {
        private final SplittableRandom random = new SplittableRandom(5);
        private final EventPublisher publisher;
        private final Set<Long> blocks = new TreeSet<>();

        Cache(EventPublisher publisher) {
            this.publisher = publisher;
        }

        void act() {
            long block = random.nextLong();
            List<CacheEvent> batch = new ArrayList<>();
            if (blocks.size() > 20) {
                long oldest = blocks.iterator().next();
                blocks.remove(oldest);
                batch.add(new CacheEvent.Removed(List.of(new BlockName.Numbered(oldest)), Tier.GPU));
            }
            blocks.add(block);
            batch.add(new CacheEvent.Stored(
                    Optional.empty(),
                    List.of(new BlockName.Numbered(block)),
                    Tokens.of(1, 2, 3, 4),
                    4,
                    Tier.GPU,
                    random.nextBoolean() ? "tenant" : ""));
            publisher.publish(batch);
        }
    }

    /** Our follower of one publisher, driven by the test. */
    private static final class Following implements AutoCloseable {
        private final KvEventLoop loop = new KvEventLoop(System::nanoTime);
        private final Follower follower = new Follower();
        private final Subscription subscription;

        Following(EventPublisher publisher) {
            EventSource source = EventSource.of(publisher.endpoint(), "kv")
                    .withReplay(publisher.replayEndpoint().orElseThrow());
            subscription = loop.subscribe(source, _ -> follower).getFirst();
        }

        void until(BooleanSupplier condition) {
            long deadline = System.nanoTime() + 30_000_000_000L;
            while (!condition.getAsBoolean()) {
                loop.doWork(20);
                assertThat(System.nanoTime()).as("in time").isLessThan(deadline);
            }
        }

        @Override
        public void close() {
            loop.close();
        }
    }

    /** What a listener believes to be cached. */
    private static final class Follower implements KvEventSink {
        private final Set<Long> blocks = new TreeSet<>();
        private long stampMicros;

        @Override
        public void batchStarted(long sequence, long stampMicros) {
            this.stampMicros = stampMicros;
        }

        @Override
        public void stored(StoredBlocks chain) {
            for (int i = 0; i < chain.count(); i++) {
                blocks.add(chain.hash(i));
            }
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            for (int i = from; i < to; i++) {
                blocks.remove(hashes[i]);
            }
        }

        @Override
        public void cleared() {
            blocks.clear();
        }

        @Override
        public void batchEnded() {}

        @Override
        public void gap(Gap gap) {}

        @Override
        public void restarted(long seen) {
            blocks.clear();
        }
    }
}
