package io.holdfast.sidecar.look;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;

/** Listens to an engine's events for a few seconds, to see whether they come, can be read, and mean what they should. */
final class EventTrial {
    private static final Duration CONNECT = Duration.ofSeconds(3);
    private static final Duration ANSWER = Duration.ofSeconds(5);
    private static final int POLL_MILLIS = 20;
    private static final int MOST_PROMPTS = 64;

    /**
     * Outcome of a trial.
     *
     * @param connected ranks whose publisher answered
     * @param ranks all that there are
     * @param live batches that came unasked
     * @param replayed past batches that were had by asking
     * @param refusal why a message could not be read; absent where all could
     * @param replayFailure why past batches were not had; absent where nobody was asked or all is well
     * @param namedRight prompts whose blocks have the names that their tokens give
     * @param namedWrong prompts whose blocks have others
     * @param rule how the engine names blocks, where engines of its family differ in that
     * @param blockTokens tokens in a block as the events say; 0 where none came
     * @param lateMicros the least time from a batch's stamp until it was here, by both clocks; absent where none came
     */
    record Heard(
            int connected,
            int ranks,
            long live,
            long replayed,
            Optional<String> refusal,
            Optional<String> replayFailure,
            int namedRight,
            int namedWrong,
            Optional<String> rule,
            int blockTokens,
            OptionalLong lateMicros) {
        long batches() {
            return live + replayed;
        }
    }

    private final EventSource source;
    private final BlockNaming naming;
    private final InstantSource wall;

    private int namedRight;
    private int namedWrong;
    private int blockTokens;
    private long leastLate = Long.MAX_VALUE;

    EventTrial(EventSource source, BlockNaming naming, InstantSource wall) {
        this.source = source;
        this.naming = naming;
        this.wall = wall;
    }

    /**
     * Listens; blocks.
     *
     * @param patience how long to wait for traffic
     * @param onConnected once the engine is listened to, and has answered what was asked of its past
     */
    Heard listen(Duration patience, Runnable onConnected) {
        try (KvEventLoop loop = new KvEventLoop(System::nanoTime)) {
            List<Subscription> caches = loop.subscribe(source, rank -> naming.listening(new Looker()));
            if (until(loop, CONNECT, () -> caches.stream().allMatch(Subscription::connected))) {
                // A publisher says nothing to a subscriber that it has not heard of yet; by its answer it has.
                if (source.replayEndpoint().isPresent()) {
                    boolean _ = until(loop, ANSWER, () -> caches.stream().allMatch(EventTrial::answered));
                }
                onConnected.run();
                // The first batch may be a removal, or the clear of an engine that has just started.
                boolean _ = until(
                        loop,
                        patience,
                        () -> namedRight + namedWrong > 0 && caches.stream().allMatch(each -> each.received() > 0));
            }
            return heard(caches);
        }
    }

    private static boolean answered(Subscription cache) {
        return cache.failedReplays() > 0 || (cache.replays() > 0 && !cache.recovering());
    }

    private static boolean until(KvEventLoop loop, Duration patience, BooleanSupplier done) {
        long end = System.nanoTime() + patience.toNanos();
        while (!done.getAsBoolean() && System.nanoTime() - end < 0) {
            loop.doWork(POLL_MILLIS);
        }
        return done.getAsBoolean();
    }

    private Heard heard(List<Subscription> caches) {
        return new Heard(
                (int) caches.stream().filter(Subscription::connected).count(),
                caches.size(),
                caches.stream()
                        .mapToLong(each -> each.received() - each.refused())
                        .sum(),
                caches.stream().mapToLong(Subscription::replayedBatches).sum(),
                caches.stream().flatMap(each -> each.lastRefusal().stream()).findFirst(),
                caches.stream()
                        .flatMap(each -> each.lastReplayFailure().stream())
                        .findFirst(),
                namedRight,
                namedWrong,
                naming.rule(),
                blockTokens,
                leastLate == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(leastLate));
    }

    private final class Looker implements KvEventSink {
        @Override
        public void batchStarted(long sequence, long stampMicros) {
            long now = ChronoUnit.MICROS.between(Instant.EPOCH, wall.instant());
            leastLate = Math.min(leastLate, now - stampMicros);
        }

        @Override
        public void stored(StoredBlocks stores) {
            blockTokens = stores.blockTokens() > 0 ? stores.blockTokens() : blockTokens;
            boolean plain = stores.rooted()
                    && stores.count() > 0
                    && stores.blockTokens() > 0
                    && stores.tokenCount() == stores.count() * stores.blockTokens()
                    && !stores.windowed()
                    && stores.namespace() == 0
                    && stores.extra(0) == 0;
            if (plain && namedRight + namedWrong < MOST_PROMPTS) {
                compareNames(stores);
            }
        }

        private void compareNames(StoredBlocks stores) {
            int[] tokens = new int[stores.tokenCount()];
            for (int i = 0; i < tokens.length; i++) {
                tokens[i] = stores.token(i);
            }
            if (named(tokens, stores)) {
                namedRight++;
            } else {
                namedWrong++;
            }
        }

        private boolean named(int[] tokens, StoredBlocks stores) {
            try {
                // An image further on changes the names below it; the first block is plain.
                return naming.of(tokens, stores.blockTokens())[0] == stores.hash(0);
            } catch (BlockNaming.UnknownRule e) {
                return false;
            }
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {}

        @Override
        public void cleared() {}

        @Override
        public void batchEnded() {}

        @Override
        public void gap(Gap gap) {}

        @Override
        public void restarted(long seen) {}
    }
}
