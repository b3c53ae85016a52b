package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StreamPosition;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.ModelCache.Batch;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The stream's order against a publisher, a network and a clock that are all played, by seed. */
final class BatchSequencerTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final long MILLI = 1_000_000;

    @Test
    void theViewIsTheTruthOrSaysThatItIsUncertain() {
        int certain = 0;
        int taken = 0;
        int healed = 0;
        int runs = DEEP ? 100_000 : 2_000;
        for (long seed = 0; seed < runs; seed++) {
            Play play = new Play(seed);
            if (play.run()) {
                certain++;
            }
            taken += play.taken;
            healed += play.healed;
        }
        // Views of this life and of others, from before and ahead, of which only a proven one is ever used.
        assertThat(taken).isGreaterThan(runs / 10);
        assertThat(healed).isGreaterThan(runs / 50);
        // The rest could not ask, or was not answered, or could no longer reach back.
        assertThat(certain).isBetween(runs / 4, runs * 9 / 10);
    }

    /** One seeded history. */
    private static final class Play implements BatchSequencer.ReplayRequester {
        private final long seed;
        private final SplittableRandom random;
        private final boolean replay;
        private final boolean reliable;
        private final boolean complete;
        private final ModelCache cache;
        private final MirrorSink view = new MirrorSink();
        private final Subscription counts;
        private final BatchSequencer sequencer;

        /** What the subscriber's queue holds, in the order in which it came, whatever became of the connection. */
        private final Deque<Message> queue = new ArrayDeque<>();

        private final Deque<Runnable> answers = new ArrayDeque<>();
        private Optional<Long> replayRequested = Optional.empty();
        private long now = 77;
        private long connection;
        private boolean connected;
        private boolean up = true;
        private boolean faults = true;

        /** What somebody knew for certain, and after which batch. */
        private record Known(StreamPosition at, MirrorSink view) {}

        private final List<Known> known = new ArrayList<>();
        private int open;
        int taken;
        int healed;

        Play(long seed) {
            this.seed = seed;
            this.random = new SplittableRandom(seed);
            this.replay = random.nextInt(4) > 0;
            this.reliable = random.nextInt(3) > 0;
            int remembered = random.nextBoolean() ? 10_000 : random.nextInt(8);
            this.complete = replay && reliable && remembered > 8;
            this.cache = new ModelCache(random, Dialect.SGLANG_MAPS, remembered);
            EventSource source = EventSource.of("tcp://engine:5557", "");
            this.counts = new Subscription(source, 0);
            this.sequencer = new BatchSequencer(
                    counts, view, new KvEventDecoder(), replay ? Optional.of(this) : Optional.empty(), now);
        }

        boolean run() {
            for (int i = 0, steps = random.nextInt(20, 200); i < steps; i++) {
                step();
            }
            faults = false;
            up = true;
            if (!connected) {
                connect();
            }
            if (!replay || cache.remembersNothing() || random.nextBoolean()) {
                publish();
            }
            // Two silences after the last batch is seen, or not known to be: the first one may find out that another
            // life spoke it.
            int silences = 0;
            boolean seen = false;
            for (int i = 0; i < 10_000 && silences < 3; i++) {
                round();
                deliver(100_000);
                serve();
                answer(100_000);
                // Once the life was doubted, its last batch may be taken for the one that was seen under that number.
                seen |= view.holds(cache.mark().orElseThrow()) || (i > 200 && !view.certain());
                if (quiet() && !counts.recovering()) {
                    silences = seen ? silences + 1 : 0;
                    now += 40_000 * MILLI;
                } else if (!up || replayRequested.isEmpty()) {
                    now += 1_000 * MILLI;
                }
            }
            assertThat(silences)
                    .as("seed %d: the last batch is seen, or not known to be", seed)
                    .isEqualTo(3);
            assertThat(open)
                    .as("seed %d: what is offered is taken or refused", seed)
                    .isZero();
            if (view.certain()) {
                assertThat(view.copies()).as("seed %d", seed).isEqualTo(cache.copies());
            } else {
                assertThat(view.within(cache.copies()))
                        .as("seed %d, uncertain", seed)
                        .isTrue();
            }
            if (complete) {
                assertThat(view.certain())
                        .as("seed %d: all could be had again", seed)
                        .isTrue();
            }
            return view.certain();
        }

        private void remember(MirrorSink of, Optional<StreamPosition> at) {
            if (of.certain() && at.isPresent()) {
                MirrorSink copy = new MirrorSink();
                copy.become(of);
                known.add(new Known(at.get(), copy));
            }
        }

        /** What a sibling that lost nothing knows now. */
        private void askSibling() {
            List<Batch> all = cache.from(0);
            if (!all.isEmpty()) {
                MirrorSink copy = new MirrorSink();
                copy.batchStarted(0, 0);
                cache.copies().forEach((tier, blocks) -> copy.copies().put(tier, new HashMap<>(blocks)));
                Message batch =
                        message(0, all.getLast().sequence(), all.getLast().bytes());
                known.add(new Known(new StreamPosition(0, batch.sequence, batch.checksum), copy));
            }
        }

        private void offer(Known from) {
            MirrorSink copy = new MirrorSink();
            copy.become(from.view);
            open++;
            boolean before = view.certain();
            sequencer.offer(new OfferedView() {
                @Override
                public StreamPosition position() {
                    return from.at;
                }

                @Override
                public KvEventSink events() {
                    return copy;
                }

                @Override
                public void taken(StreamPosition at) {
                    assertThat(counts.position()).contains(at);
                    assertThat(at.sequence())
                            .as("seed %d: nothing is told twice", seed)
                            .isGreaterThanOrEqualTo(view.heard());
                    open--;
                    taken++;
                    healed += before ? 0 : 1;
                    view.become(copy);
                }

                @Override
                public void refused(String why) {
                    open--;
                }
            });
        }

        private boolean quiet() {
            return queue.isEmpty() && answers.isEmpty() && replayRequested.isEmpty();
        }

        private void step() {
            if (random.nextInt(12) == 0) {
                remember(view, counts.position());
            } else if (random.nextInt(12) == 0 && !known.isEmpty()) {
                offer(known.get(random.nextInt(Math.max(0, known.size() - 4), known.size())));
            }
            switch (random.nextInt(40)) {
                case 0 -> connected = false;
                case 1, 2, 3 -> connect();
                case 4 -> {
                    if (random.nextInt(3) == 0) {
                        cache.restart();
                        connected = false;
                        up = random.nextBoolean();
                        // What was sent is still on its way, or died with its sender.
                        if (random.nextBoolean()) {
                            answers.clear();
                        }
                    }
                }
                case 5 -> up = true;
                case 6 -> now += complete && (!quiet() || counts.recovering()) ? 0 : random.nextLong(12_000 * MILLI);
                case 7, 8, 9, 10, 11, 12 -> round();
                case 13, 14, 15, 16, 17, 18 -> deliver(random.nextInt(1, 6));
                case 19, 20, 21 -> serve();
                case 22, 23, 24, 25, 26 -> answer(random.nextInt(1, 6));
                case 27 -> askSibling();
                default -> publish();
            }
        }

        private void connect() {
            if (up && !connected) {
                connected = true;
                connection++;
            }
        }

        private void round() {
            now += random.nextLong(5 * MILLI);
            sequencer.round(now, connection, connected);
        }

        private void publish() {
            if (!up) {
                return;
            }
            Batch batch = cache.next();
            if (!connected) {
                return;
            }
            int chance = faults ? random.nextInt(20) : 19;
            byte[] payload = batch.bytes();
            if (chance == 0) {
                return;
            } else if (chance == 1) {
                payload = Arrays.copyOf(payload, payload.length - 1);
            } else if (chance == 2) {
                queue.add(message(connection, batch.sequence(), payload));
            }
            queue.add(message(connection, batch.sequence(), payload));
        }

        private void deliver(int most) {
            round();
            for (int i = 0; i < most && !queue.isEmpty(); i++) {
                Message came = queue.poll();
                sequencer.live(message(came.connection, came.sequence, came.payload));
            }
        }

        private Message message(long by, long sequence, byte[] payload) {
            return new Message(
                    by, ByteBuffer.allocate(8).putLong(0, sequence).array(), payload, sequencer.replayRequests());
        }

        /** The publisher looks at what it was asked. */
        private void serve() {
            if (!up || replayRequested.isEmpty()) {
                return;
            }
            List<Batch> past = cache.from(replayRequested.get());
            replayRequested = Optional.empty();
            for (Batch batch : past) {
                // One that misses its last batch and still ends in order would be taken for complete.
                boolean drop = !reliable
                        && random.nextInt(10) == 0
                        && batch.sequence() != past.getLast().sequence();
                boolean broken = !reliable && random.nextInt(20) == 0;
                byte[] payload = broken ? new byte[] {1, 2} : batch.bytes();
                if (!drop) {
                    answers.add(() -> sequencer.answered(message(0, batch.sequence(), payload)));
                }
            }
            if (reliable || random.nextInt(10) > 0) {
                answers.add(sequencer::ended);
            }
        }

        private void answer(int most) {
            round();
            for (int i = 0; i < most && !answers.isEmpty(); i++) {
                answers.poll().run();
            }
        }

        @Override
        public void requestReplay(long from) {
            answers.clear();
            replayRequested = Optional.of(from);
        }

        @Override
        public void stop() {
            answers.clear();
            replayRequested = Optional.empty();
        }
    }
}
