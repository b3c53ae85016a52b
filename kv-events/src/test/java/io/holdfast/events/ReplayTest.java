package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.TestEngine.Form;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What is asked of a real publisher, and what comes of its answers. */
@Timeout(60)
final class ReplayTest {
    private long skipped;
    private final List<Long> frames = new ArrayList<>();
    private final KvEventLoop loop =
            new KvEventLoop(() -> System.nanoTime() + skipped, (rank, sequence, payload) -> frames.add(sequence));
    private final MirrorSink view = new MirrorSink();
    private final EventLog log = new EventLog();

    @AfterEach
    void close() {
        loop.close();
    }

    @ParameterizedTest
    @EnumSource(Form.class)
    void quietEnginesPast_isKnownBeforeItsNextBatch(Form form) {
        ModelCache cache = new ModelCache(new SplittableRandom(1), Dialect.SGLANG_MAPS, 10_000);
        try (TestEngine engine = new TestEngine(form, cache)) {
            for (int i = 0; i < 300; i++) {
                engine.publish();
            }
            Subscription subscription =
                    loop.subscribe(source(engine), rank -> view).getFirst();
            until(engine, () -> subscription.replayedBatches() == 300 && !subscription.recovering());
            assertThat(view.certain()).isTrue();
            assertThat(view.copies()).isEqualTo(cache.copies());
            assertThat(subscription.received()).isZero();
            assertThat(subscription.failedReplays()).isZero();
        }
    }

    @Test
    void lateJoiner_isToldWhatTheEngineNoLongerRemembers() {
        ModelCache cache = new ModelCache(new SplittableRandom(2), Dialect.VLLM_MAPS, 3);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache)) {
            for (int i = 0; i < 10; i++) {
                engine.publish();
            }
            Subscription subscription =
                    loop.subscribe(source(engine), rank -> log).getFirst();
            until(engine, () -> subscription.replayedBatches() == 3);
            assertThat(log.lines().getFirst()).isEqualTo("gap JOINED_LATE 0 7");
            assertThat(batches()).containsExactly("batch 7", "batch 8", "batch 9");
        }
    }

    @Test
    void lostBatches_areHadAgainInTheirOrder() {
        ModelCache cache = new ModelCache(new SplittableRandom(3), Dialect.SGLANG_MAPS, 10_000);
        try (TestEngine engine = new TestEngine(Form.OLDER, cache)) {
            Subscription subscription = followed(engine, log);
            engine.lose(4);
            engine.publish();
            until(engine, () -> !subscription.recovering() && subscription.replayedBatches() >= 4);
            assertThat(batches()).containsExactly("batch 0", "batch 1", "batch 2", "batch 3", "batch 4", "batch 5");
            assertThat(subscription.gaps() + subscription.restarts()).isZero();
            assertThat(frames).containsExactly(0L, 1L, 2L, 3L, 4L, 5L);
        }
    }

    @Test
    void lastBatchBeforeASilence_isMissedAfterAWhile() {
        ModelCache cache = new ModelCache(new SplittableRandom(4), Dialect.SGLANG_MAPS, 10_000);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache)) {
            Subscription subscription = followed(engine, view);
            engine.lose(1);
            skipped += TimeUnit.SECONDS.toNanos(40);
            until(engine, () -> view.holds(cache.mark().orElseThrow()));
            assertThat(view.certain()).isTrue();
            assertThat(view.copies()).isEqualTo(cache.copies());
            assertThat(subscription.gaps()).isZero();
        }
    }

    @Test
    void lostBatchesThatTheEngineForgot_areAGap() {
        ModelCache cache = new ModelCache(new SplittableRandom(5), Dialect.SGLANG_MAPS, 2);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache)) {
            Subscription subscription = followed(engine, log);
            engine.lose(5);
            engine.publish();
            until(engine, () -> subscription.gaps() == 1 && !subscription.recovering());
            assertThat(log.lines()).contains("gap DROPPED 1 5");
            assertThat(batches()).containsExactly("batch 0", "batch 5", "batch 6");
            assertThat(subscription.lostBatches()).isEqualTo(4);
        }
    }

    /** It would be asked again at once, thousands of times a second. */
    @Test
    void endpointThatHangsUp_isGivenUpAfterAFewTimes() throws IOException {
        AtomicInteger accepted = new AtomicInteger();
        ModelCache cache = new ModelCache(new SplittableRandom(8), Dialect.SGLANG_MAPS, 100);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache);
                ServerSocket door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> hangUp(door, accepted));
            Subscription subscription = loop.subscribe(
                            new EventSource(
                                    "tcp://127.0.0.1:" + engine.eventsPort(),
                                    Optional.of("tcp://127.0.0.1:" + door.getLocalPort()),
                                    TestEngine.TOPIC,
                                    1),
                            rank -> log)
                    .getFirst();
            until(engine, () -> subscription.failedReplays() > 0);
            assertThat(subscription.lastReplayFailure().orElseThrow()).contains("it hung up 4 times");
            assertThat(accepted.get()).isLessThan(20);
        }
    }

    @Test
    void replayEndpointThatSpeaksSomethingElse_isNamedInTheFailure() throws IOException {
        ModelCache cache = new ModelCache(new SplittableRandom(9), Dialect.SGLANG_MAPS, 100);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache);
                ServerSocket web = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            Thread.ofVirtual().start(() -> answerAsAWebServer(web));
            String replay = "tcp://127.0.0.1:" + web.getLocalPort();
            Subscription subscription = loop.subscribe(
                            new EventSource(
                                    "tcp://127.0.0.1:" + engine.eventsPort(), Optional.of(replay), TestEngine.TOPIC, 1),
                            rank -> log)
                    .getFirst();
            until(engine, () -> subscription.failedReplays() > 0);
            assertThat(subscription.lastReplayFailure().orElseThrow()).contains("What answers at " + replay + " ");
        }
    }

    private static void answerAsAWebServer(ServerSocket door) {
        try {
            while (true) {
                try (Socket near = door.accept()) {
                    near.getOutputStream()
                            .write("HTTP/1.1 400 Bad Request\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                    near.getInputStream().readNBytes(64);
                }
            }
        } catch (IOException e) {
            // The test is over.
        }
    }

    /** Shakes hands with each and goes. */
    private static void hangUp(ServerSocket door, AtomicInteger accepted) {
        byte[] hands = new byte[64 + 2 + 6 + 12 + 4 + 6];
        ByteBuffer.wrap(hands)
                .put(0, (byte) 0xff)
                .put(9, (byte) 0x7f)
                .put(10, (byte) 3)
                .put(12, "NULL".getBytes(StandardCharsets.US_ASCII))
                .position(64)
                .put((byte) 4)
                .put((byte) 28)
                .put((byte) 5)
                .put("READY".getBytes(StandardCharsets.US_ASCII))
                .put((byte) 11)
                .put("Socket-Type".getBytes(StandardCharsets.US_ASCII))
                .putInt(6)
                .put("ROUTER".getBytes(StandardCharsets.US_ASCII));
        try {
            while (true) {
                try (Socket near = door.accept()) {
                    accepted.incrementAndGet();
                    near.getOutputStream().write(hands);
                    near.getInputStream().readNBytes(64);
                }
            }
        } catch (IOException e) {
            // Closed.
        }
    }

    @Test
    void endpointThatDoesNotAnswer_isGivenUpAfterItsTime() {
        ModelCache cache = new ModelCache(new SplittableRandom(6), Dialect.SGLANG_MAPS, 100);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache)) {
            engine.publish();
            Subscription subscription =
                    loop.subscribe(source(engine), rank -> log).getFirst();
            until(subscription::recovering);
            until(() -> {
                engine.publish();
                return subscription.received() > 2;
            });
            assertThat(log.lines()).isEmpty();
            skipped += TimeUnit.SECONDS.toNanos(6);
            until(() -> !subscription.recovering());
            assertThat(log.lines().getFirst()).startsWith("gap JOINED_LATE 0 ");
            assertThat(subscription.failedReplays()).isEqualTo(1);
            assertThat(subscription.lastReplayFailure().orElseThrow()).endsWith("did not answer within 5 seconds.");
        }
    }

    @Test
    void restart_isFoundOutWithoutAnyLiveBatch() {
        ModelCache cache = new ModelCache(new SplittableRandom(7), Dialect.SGLANG_MAPS, 100);
        try (FaultyWire wire = new FaultyWire(new SplittableRandom(1), true);
                FaultyWire replayWire = new FaultyWire(new SplittableRandom(1), true);
                TestEngine engine = new TestEngine(Form.NEWER, cache)) {
            wire.leadTo(engine.eventsPort());
            replayWire.leadTo(engine.replayPort());
            engine.publish();
            Subscription subscription = loop.subscribe(
                            EventSource.of(wire.endpoint(), "").withReplay(replayWire.endpoint()), rank -> view)
                    .getFirst();
            until(engine, () -> view.holds(cache.mark().orElseThrow()));
            engine.restart();
            // Another life that has come to the very number that was seen last.
            engine.publish();
            wire.leadTo(engine.eventsPort());
            replayWire.leadTo(engine.replayPort());
            wire.cut();
            until(engine, () -> view.holds(cache.mark().orElseThrow()) && !subscription.recovering());
            assertThat(subscription.restarts()).isEqualTo(1);
            assertThat(view.certain()).isTrue();
            assertThat(view.copies()).isEqualTo(cache.copies());
        }
    }

    @Test
    void sameLifeAfterALostConnection_isProven_andNothingIsForgotten() {
        ModelCache cache = new ModelCache(new SplittableRandom(8), Dialect.VLLM_ARRAYS, 100);
        try (FaultyWire wire = new FaultyWire(new SplittableRandom(1), true);
                TestEngine engine = new TestEngine(Form.OLDER, cache)) {
            wire.leadTo(engine.eventsPort());
            engine.publish();
            Subscription subscription = loop.subscribe(
                            EventSource.of(wire.endpoint(), "").withReplay(endpoint(engine.replayPort())), rank -> view)
                    .getFirst();
            until(engine, () -> view.holds(cache.mark().orElseThrow()) && !subscription.recovering());
            wire.cut();
            engine.publish();
            until(engine, () -> view.holds(cache.mark().orElseThrow()) && !subscription.recovering());
            assertThat(subscription.restarts() + subscription.gaps()).isZero();
            assertThat(view.certain()).isTrue();
            assertThat(view.copies()).isEqualTo(cache.copies());
        }
    }

    @Test
    void ranks_areStreamsOfTheirOwn_onePortAboveEachOther() {
        List<MirrorSink> views = new ArrayList<>();
        EventSource source = EventSource.of("tcp://127.0.0.1:40001", "")
                .withReplay("tcp://127.0.0.1:40011")
                .withRanks(3);
        List<Subscription> ranks = loop.subscribe(source, rank -> {
            views.add(new MirrorSink());
            return views.get(rank);
        });
        assertThat(ranks).extracting(Subscription::rank).containsExactly(0, 1, 2);
        assertThat(ranks)
                .extracting(Subscription::endpoint)
                .containsExactly("tcp://127.0.0.1:40001", "tcp://127.0.0.1:40002", "tcp://127.0.0.1:40003");
        assertThat(ranks)
                .extracting(rank -> rank.replayEndpoint().orElseThrow())
                .containsExactly("tcp://127.0.0.1:40011", "tcp://127.0.0.1:40012", "tcp://127.0.0.1:40013");
        assertThat(views).hasSize(3);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "tcp://h:5557  | tcp://h:5558  | 2 | lies among the ports at which the engine publishes, 5557 to 5558",
                "tcp://h:5557  | tcp://h:5557  | 1 | lies among the ports",
                "tcp://h:5557  | tcp://*:5558  | 1 | says where the engine listens",
                "tcp://h:65535 | tcp://h:100   | 2 | leaves no ports for 2 caches",
                "tcp://h:5557  | tcp://h:5600  | 0 | An engine with 0 caches publishes nothing",
                "tcp://h:5557  | ipc://x       | 1 | The replay endpoint \"ipc://x\" is not of the form"
            })
    void sourceThatCannotBe_isOneSentence(String events, String replay, int ranks, String part) {
        assertThatThrownBy(() -> new EventSource(events, Optional.of(replay), "", ranks, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(part)
                .hasMessageEndingWith(".");
    }

    @Test
    void ranksThatShareAnEndpoint_cannotBeAskedThere() {
        assertThatThrownBy(() ->
                        EventSource.of("tcp://h:1", "").withReplay("tcp://h:2").shared(2))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("can answer for one publisher only");
    }

    @Test
    void unsubscribed_isToldNothingMore() {
        ModelCache cache = new ModelCache(new SplittableRandom(9), Dialect.SGLANG_MAPS, 100);
        try (TestEngine engine = new TestEngine(Form.NEWER, cache)) {
            Subscription subscription = followed(engine, log);
            int told = log.lines().size();
            loop.unsubscribe(subscription);
            engine.publish();
            assertThat(loop.doWork(20)).isZero();
            assertThat(log.lines()).hasSize(told);
        }
    }

    /** Follows the engine from its first batch on. */
    private Subscription followed(TestEngine engine, KvEventSink sink) {
        Subscription subscription = loop.subscribe(source(engine), rank -> sink).getFirst();
        engine.publish();
        until(engine, () -> subscription.replayedBatches() == 1 && !subscription.recovering());
        assertThat(subscription.gaps(Gap.Cause.JOINED_LATE)).isZero();
        return subscription;
    }

    private List<String> batches() {
        return log.lines().stream().filter(line -> line.startsWith("batch")).toList();
    }

    private static EventSource source(TestEngine engine) {
        return EventSource.of(endpoint(engine.eventsPort()), TestEngine.TOPIC)
                .withReplay(endpoint(engine.replayPort()));
    }

    private static String endpoint(int port) {
        return "tcp://127.0.0.1:" + port;
    }

    private void until(TestEngine engine, BooleanSupplier condition) {
        until(() -> {
            engine.serve();
            return condition.getAsBoolean();
        });
    }

    private void until(BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("still waiting").isLessThan(deadline);
            loop.doWork(5);
        }
    }
}
