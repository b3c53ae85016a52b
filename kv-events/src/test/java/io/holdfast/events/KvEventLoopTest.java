package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Real sockets on both sides. */
@Timeout(60)
final class KvEventLoopTest {
    private static final String TOPIC = "kv-events";

    private final KvEventLoop loop = new KvEventLoop(System::nanoTime);
    private final EventLog log = new EventLog();

    @AfterEach
    void close() {
        loop.close();
    }

    @Test
    void batches_reachTheSinkInOrder() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(0, cleared());
            engine.send(1, removed(5));
            until(() -> subscription.received() == 2);
            assertThat(log.lines())
                    .containsExactly("batch 0", "cleared", "end", "batch 1", "removed [5] from GPU", "end");
            assertThat(subscription.refused() + subscription.gaps() + subscription.restarts())
                    .isZero();
            assertThat(subscription.lastRefusal()).isEmpty();
        }
    }

    @Test
    void firstBatchOfALaterNumber_saysThatWeJoinedLate() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(70, cleared());
            until(() -> subscription.received() == 1);
            assertThat(log.lines()).containsExactly("gap JOINED_LATE 0 70", "batch 70", "cleared", "end");
            assertThat(subscription.gaps(Gap.Cause.JOINED_LATE)).isEqualTo(1);
            assertThat(subscription.gaps() + subscription.restarts()).isZero();
        }
    }

    @Test
    void wakeup_endsAWaitForEventsThatGather() throws InterruptedException {
        loop.gatherFor(Duration.ofHours(1));
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(0, cleared());
            until(() -> subscription.received() == 1);
            Thread waits = Thread.ofPlatform().start(() -> loop.doWork(Integer.MAX_VALUE));
            while (Stream.of(waits.getStackTrace())
                    .noneMatch(at -> at.getClassName().contains("SelectorImpl"))) {
                Thread.onSpinWait();
            }
            loop.wakeup();
            waits.join();
        }
    }

    @Test
    void engineThatComesLater_isTriedAgain_howeverLongTheOwnerWouldWait() throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        String endpoint = "tcp://127.0.0.1:" + port;
        Subscription subscription = loop.subscribe(endpoint, TOPIC, log);
        for (int round = 0; round < 5; round++) {
            loop.doWork(Integer.MAX_VALUE);
        }
        try (Publisher engine = new Publisher(endpoint)) {
            while (!subscription.connected()) {
                loop.doWork(Integer.MAX_VALUE);
            }
            until(engine::hasSubscriber);
        }
    }

    @Test
    void jumpForward_isAGapBeforeTheBatch() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(0, cleared());
            engine.send(4, cleared());
            until(() -> subscription.received() == 2);
            assertThat(log.lines())
                    .containsExactly("batch 0", "cleared", "end", "gap DROPPED 1 4", "batch 4", "cleared", "end");
            assertThat(subscription.gaps(Gap.Cause.DROPPED)).isEqualTo(1);
            assertThat(subscription.gaps()).isEqualTo(1);
            assertThat(subscription.lostBatches()).isEqualTo(3);
        }
    }

    @Test
    void fallBack_isARestartBeforeTheBatch() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(3, cleared());
            engine.send(0, cleared());
            engine.send(0, removed(1));
            engine.send(1, cleared());
            until(() -> subscription.received() == 4);
            assertThat(log.lines())
                    .containsSubsequence("batch 3", "restarted 0", "batch 0", "restarted 0", "batch 0", "batch 1");
            assertThat(subscription.restarts()).isEqualTo(2);
            assertThat(subscription.gaps()).isZero();
        }
    }

    @Test
    void secondCopyOfABatch_isDropped() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(0, cleared());
            engine.send(1, removed(5));
            engine.send(1, removed(5));
            engine.send(0, cleared());
            engine.send(2, cleared());
            until(() -> subscription.received() == 5);
            assertThat(log.lines())
                    .filteredOn(line -> line.startsWith("batch"))
                    .containsExactly("batch 0", "batch 1", "batch 2");
            assertThat(subscription.duplicates()).isEqualTo(2);
            assertThat(subscription.gaps() + subscription.restarts()).isZero();
        }
    }

    @Test
    void refusedPayload_showsAsAGapAtTheNextBatch() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(0, cleared());
            engine.send(1, new byte[] {(byte) 0x92, 0});
            engine.send(2, cleared());
            until(() -> subscription.received() == 3);
            assertThat(log.lines())
                    .containsExactly("batch 0", "cleared", "end", "gap DROPPED 1 2", "batch 2", "cleared", "end");
            assertThat(subscription.refused()).isEqualTo(1);
            assertThat(subscription.lastRefusal())
                    .hasValue("The payload of batch 1 from " + engine.endpoint
                            + " is no batch of events: a size of 2 is declared, more than the rest of it could hold.");
        }
    }

    @Test
    void messagesOfOtherShapes_areRefused() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8), cleared());
            until(() -> subscription.refused() == 1);
            assertThat(subscription.lastRefusal().orElseThrow()).contains("a batch has three");
            engine.sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8));
            engine.sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8), sequence(0), cleared(), cleared());
            engine.sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8), new byte[7], cleared());
            engine.sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8), sequence(-1), cleared());
            until(() -> subscription.refused() == 5);
            assertThat(log.lines()).isEmpty();
            engine.send(0, cleared());
            until(() -> subscription.received() == 6);
            assertThat(log.lines()).containsExactly("batch 0", "cleared", "end");
        }
    }

    @Test
    void sequenceWithAnIdentityBehindIt_isItsFirstEightBytes() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            byte[] longer =
                    ByteBuffer.allocate(24).putLong(258).putLong(-1).putLong(-1).array();
            engine.sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8), longer, cleared());
            until(() -> subscription.received() == 1);
            assertThat(log.lines()).containsExactly("gap JOINED_LATE 0 258", "batch 258", "cleared", "end");
        }
    }

    @Test
    void unknownEvents_areCountedPerSubscription() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*");
                Publisher other = new Publisher("tcp://127.0.0.1:*")) {
            Subscription first = loop.subscribe(engine.endpoint, TOPIC, log);
            Subscription second = loop.subscribe(other.endpoint, TOPIC, new EventLog());
            until(engine::hasSubscriber);
            until(other::hasSubscriber);
            engine.send(0, HexFormat.of().parseHex("92c09191a3457672"));
            other.send(0, cleared());
            until(() -> first.received() == 1 && second.received() == 1);
            assertThat(first.unknownEvents()).isEqualTo(1);
            assertThat(second.unknownEvents()).isZero();
            assertThat(log.lines()).containsExactly("batch 0", "end");
        }
    }

    @Test
    void engines_haveTheirOwnSinksAndSequences() {
        EventLog otherLog = new EventLog();
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*");
                Publisher other = new Publisher("tcp://127.0.0.1:*")) {
            Subscription first = loop.subscribe(engine.endpoint, TOPIC, log);
            Subscription second = loop.subscribe(other.endpoint, TOPIC, otherLog);
            until(engine::hasSubscriber);
            until(other::hasSubscriber);
            engine.send(0, cleared());
            other.send(0, removed(1));
            other.send(1, removed(2));
            engine.send(1, cleared());
            until(() -> first.received() == 2 && second.received() == 2);
            assertThat(log.lines()).containsExactly("batch 0", "cleared", "end", "batch 1", "cleared", "end");
            assertThat(otherLog.lines())
                    .containsExactly(
                            "batch 0", "removed [1] from GPU", "end", "batch 1", "removed [2] from GPU", "end");
        }
    }

    @Test
    void ranksThatShareAnEndpoint_haveTheirOwnSinksAndSequences() {
        EventLog otherLog = new EventLog();
        try (Publisher both = new Publisher("tcp://127.0.0.1:*")) {
            List<Subscription> ranks =
                    loop.subscribe(EventSource.of(both.endpoint, TOPIC).shared(2), rank -> rank == 0 ? log : otherLog);
            until(both::hasSubscriber);
            both.send(0, removed(1, 0));
            both.send(0, removed(2, 1));
            both.send(1, removed(3, 1));
            both.send(1, removed(4, 0));
            both.send(0, removed(5, 2));
            until(() -> ranks.get(0).received() + ranks.get(1).received() == 5);
            assertThat(log.lines())
                    .containsExactly(
                            "batch 0", "removed [1] from GPU", "end", "batch 1", "removed [4] from GPU", "end");
            assertThat(otherLog.lines())
                    .containsExactly(
                            "batch 0", "removed [2] from GPU", "end", "batch 1", "removed [3] from GPU", "end");
            assertThat(ranks.get(0).lastRefusal().orElseThrow()).startsWith("A batch of rank 2 came from ");
            assertThat(ranks).allMatch(Subscription::connected);
        }
    }

    @Test
    void otherTopics_areNotHeard() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.sendFrames("load".getBytes(StandardCharsets.UTF_8), sequence(0), removed(9));
            engine.send(0, cleared());
            until(() -> subscription.received() == 1);
            assertThat(log.lines()).containsExactly("batch 0", "cleared", "end");
        }
    }

    @Test
    void engineThatComesLaterAndComesBack_isHeardAgain() {
        String endpoint;
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            endpoint = engine.endpoint;
        }
        Subscription subscription = loop.subscribe(endpoint, "", log);
        assertThat(loop.doWork(0)).isZero();
        assertThat(subscription.connected()).isFalse();
        try (Publisher engine = new Publisher(endpoint)) {
            until(engine::hasSubscriber);
            engine.send(4, cleared());
            until(() -> subscription.received() == 1);
            assertThat(subscription.connected()).isTrue();
        }
        until(() -> !subscription.connected());
        try (Publisher engine = new Publisher(endpoint)) {
            until(engine::hasSubscriber);
            engine.send(0, cleared());
            until(() -> subscription.received() == 2);
        }
        assertThat(log.lines())
                .containsExactly(
                        "gap JOINED_LATE 0 4", "batch 4", "cleared", "end", "restarted 0", "batch 0", "cleared", "end");
    }

    @Test
    void nextNumberAfterALostConnection_isAGap_asItMayBeAnotherLifes() {
        Subscription subscription = loseTheConnectionAfter(4, removed(1), removed(2));
        assertThat(log.lines())
                .containsExactly(
                        "gap JOINED_LATE 0 4",
                        "batch 4",
                        "removed [1] from GPU",
                        "end",
                        "gap DISCONNECTED 5 5",
                        "batch 5",
                        "removed [2] from GPU",
                        "end",
                        "batch 6",
                        "cleared",
                        "end");
        assertThat(subscription.gaps(Gap.Cause.DISCONNECTED)).isEqualTo(1);
        assertThat(subscription.lostBatches()).isZero();
    }

    @Test
    void nextNumberAfterALostConnection_isNoGap_whenItsBatchBeginsWithAClear() {
        Subscription subscription = loseTheConnectionAfter(4, removed(1), cleared());
        assertThat(log.lines())
                .doesNotContain("gap DISCONNECTED 5 5")
                .containsSubsequence("batch 5", "cleared", "end", "batch 6");
        assertThat(subscription.gaps()).isZero();
    }

    /** Hears {@code first} under this number, and after another handshake {@code next} and a clear under the next two. */
    private Subscription loseTheConnectionAfter(long number, byte[] first, byte[] next) {
        Subscription subscription;
        String endpoint;
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            endpoint = engine.endpoint;
            subscription = loop.subscribe(endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            engine.send(number, first);
            until(() -> subscription.received() == 1);
        }
        until(() -> !subscription.connected());
        try (Publisher engine = new Publisher(endpoint)) {
            until(engine::hasSubscriber);
            engine.send(number + 1, next);
            engine.send(number + 2, cleared());
            until(() -> subscription.received() == 3);
        }
        return subscription;
    }

    /** Without a limit on the handshake one in fifty would stay deaf for half a minute. */
    @Test
    void freshConnections_areAllHeardSoon() {
        for (int i = 0; i < 100; i++) {
            try (Publisher engine = new Publisher("tcp://127.0.0.1:*");
                    KvEventLoop fresh = new KvEventLoop(System::nanoTime)) {
                Subscription subscription = fresh.subscribe(engine.endpoint, TOPIC, log);
                until(fresh, engine::hasSubscriber);
                engine.send(i, cleared());
                until(fresh, () -> subscription.received() == 1);
                assertThat(subscription.connected()).isTrue();
            }
        }
    }

    @Test
    void flood_isTakenInBursts_andNothingIsLost() {
        try (Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = loop.subscribe(engine.endpoint, TOPIC, log);
            until(engine::hasSubscriber);
            int batches = 5000;
            for (int i = 0; i < batches; i++) {
                engine.send(i, cleared());
            }
            int most = 0;
            int applied = 0;
            while (applied < batches) {
                int now = loop.doWork(10);
                most = Math.max(most, now);
                applied += now;
            }
            assertThat(most).isBetween(1, 256);
            assertThat(subscription.gaps()).isZero();
            assertThat(log.lines()).hasSize(3 * batches);
        }
    }

    @Test
    void afterARoundThatApplied_batchesGather() {
        AtomicLong now = new AtomicLong();
        try (KvEventLoop clocked = new KvEventLoop(now::get);
                Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = clocked.subscribe(engine.endpoint, TOPIC, log);
            until(clocked, engine::hasSubscriber);
            engine.send(0, cleared());
            until(clocked, () -> subscription.received() == 1);

            // Nothing comes, and it waits for no batch, but for the time in which some may gather.
            assertThat(clocked.doWork(Integer.MAX_VALUE)).isZero();
        }
    }

    @Test
    void wakeup_endsTheGathering() {
        try (KvEventLoop clocked = new KvEventLoop(() -> 0);
                Publisher engine = new Publisher("tcp://127.0.0.1:*")) {
            Subscription subscription = clocked.subscribe(engine.endpoint, TOPIC, log);
            until(clocked, engine::hasSubscriber);
            clocked.gatherFor(Duration.ofDays(1));
            engine.send(0, cleared());
            until(clocked, () -> subscription.received() == 1);

            CompletableFuture<Integer> applied = CompletableFuture.supplyAsync(() -> clocked.doWork(Integer.MAX_VALUE));
            clocked.wakeup();
            assertThat(applied.join()).isZero();
        }
    }

    @Test
    void wakeup_endsTheWait() {
        CompletableFuture<Integer> applied = CompletableFuture.supplyAsync(() -> loop.doWork(Integer.MAX_VALUE));
        loop.wakeup();
        assertThat(applied.join()).isZero();
        loop.wakeup();
        loop.wakeup();
        assertThat(loop.doWork(Integer.MAX_VALUE)).isZero();
    }

    @Test
    void wakeupsThatNobodyHears_doNotBlock() {
        for (int i = 0; i < 200_000; i++) {
            loop.wakeup();
        }
        assertThat(loop.doWork(Integer.MAX_VALUE)).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "127.0.0.1:5557",
                "tcp://127.0.0.1",
                "tcp://:5557",
                "tcp://127.0.0.1:0",
                "tcp://127.0.0.1:70000",
                "tcp://127.0.0.1:999999999999",
                "tcp://*:5557",
                "tcp://0.0.0.0:5557",
                "tcp://[::]:5557",
                "ipc:///tmp/events",
                "udp://127.0.0.1:5557",
                "tcp://no such host:1"
            })
    void endpointThatCannotBe_isOneSentence(String endpoint) {
        assertThatThrownBy(() -> loop.subscribe(endpoint, "", log))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("The events endpoint \"" + endpoint + "\" ")
                .hasMessageEndingWith(".");
        assertThat(loop.doWork(0)).isZero();
    }

    @Test
    void closedLoop_refusesWork_andWakesNobody() {
        loop.close();
        loop.wakeup();
        loop.close();
        assertThatThrownBy(() -> loop.doWork(0)).isInstanceOf(IllegalStateException.class);
    }

    private void until(BooleanSupplier condition) {
        until(loop, condition);
    }

    private static void until(KvEventLoop loop, BooleanSupplier condition) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("still waiting").isLessThan(deadline);
            loop.doWork(10);
        }
    }

    private static byte[] cleared() {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        encoder.cleared();
        return encoder.finish(1.5, 0);
    }

    private static byte[] removed(long hash) {
        return removed(hash, 0);
    }

    private static byte[] removed(long hash, int rank) {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.VLLM_ARRAYS);
        encoder.removed(new long[] {hash}, 0, 1, Tier.GPU, 0);
        return encoder.finish(1.5, rank);
    }

    private static byte[] sequence(long number) {
        return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
    }

    /** An engine's end of the stream; an extended PUB, so that a test can wait for its subscriber. */
    private static final class Publisher implements AutoCloseable {
        private final ZContext context = new ZContext();
        private final ZMQ.Socket socket = context.createSocket(SocketType.XPUB);
        private final String endpoint;

        Publisher(String at) {
            socket.setSndHWM(0);
            socket.setLinger(0);
            socket.bind(at);
            endpoint = socket.getLastEndpoint();
        }

        boolean hasSubscriber() {
            byte[] wish = socket.recv(ZMQ.DONTWAIT);
            return wish != null && wish[0] == 1;
        }

        void send(long number, byte[] payload) {
            sendFrames(TOPIC.getBytes(StandardCharsets.UTF_8), sequence(number), payload);
        }

        void sendFrames(byte[]... frames) {
            for (int i = 0; i < frames.length; i++) {
                socket.send(frames[i], i + 1 < frames.length ? ZMQ.SNDMORE : 0);
            }
        }

        @Override
        public void close() {
            context.close();
        }
    }
}
