package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.CacheEvents;
import io.holdfast.loadtest.run.RunClock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Real sockets on both sides. */
@Timeout(60)
final class KvEventCollectorTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final RunClock CLOCK = RunClock.system();

    @Test
    void eventsOlderThanTheClear_areNotInTheSet() {
        try (Engine engine = new Engine();
                KvEventCollector collector = engine.heard()) {
            engine.tells(stored(Tier.GPU, 1, 2));
            until(() -> collector.gpuBlocks().equals(List.of(1L, 2L)));
            collector.clear();
            engine.tells(stored(Tier.GPU, 3));
            until(() -> !collector.gpuBlocks().isEmpty());
            assertThat(collector.gpuBlocks()).containsExactly(3L);
            assertThat(collector.counted()).isEqualTo(new CacheEvents(1, 0, 0));
            assertThat(collector.problem()).isEmpty();
        }
    }

    /** What is on its way when the cache is emptied arrives before the engine's word of that. */
    @Test
    void clearThatTheEngineTellsOf_dropsWhatArrivedSinceOurs() {
        try (Engine engine = new Engine();
                KvEventCollector collector = engine.heard()) {
            collector.clear();
            engine.tells(stored(Tier.GPU, 1, 2))
                    .tells(cleared())
                    .tells(stored(Tier.GPU, 7, 8))
                    .tells(removed(Tier.GPU, 7));
            until(() -> collector.gpuBlocks().equals(List.of(8L)));
            assertThat(collector.counted()).isEqualTo(new CacheEvents(4, 1, 1));
        }
    }

    @Test
    void blocksOfAnotherTier_areNoneOfTheGpus() {
        try (Engine engine = new Engine();
                KvEventCollector collector = engine.heard()) {
            engine.tells(stored(Tier.GPU, 1))
                    .tells(stored(Tier.HOST, 1, 2))
                    .tells(removed(Tier.HOST, 1))
                    .tells(stored(Tier.GPU, 9));
            until(() -> collector.gpuBlocks().contains(9L));
            assertThat(collector.gpuBlocks()).containsExactly(1L, 9L);
        }
    }

    @Test
    void lateJoinAndLostBatches_areToldUntilTheNextClear() {
        try (Engine engine = new Engine();
                KvEventCollector collector = engine.heard()) {
            engine.skips(5).tells(stored(Tier.GPU, 1));
            until(() -> collector.problem().isPresent());
            assertThat(collector.problem()).hasValue("the engine had told 5 batches of events before anybody listened");
            collector.clear();
            assertThat(collector.problem()).isEmpty();
            engine.skips(2).tells(stored(Tier.GPU, 2));
            until(() -> collector.problem().isPresent());
            assertThat(collector.problem()).hasValue("2 batches of events were lost");
            engine.tells(cleared());
            until(() -> collector.problem().isEmpty());
            assertThat(collector.gpuBlocks()).isEmpty();
        }
    }

    @Test
    void close_leavesNoThreadAndNoSocket() {
        try (Engine engine = new Engine()) {
            engine.heard().close();
            // What the first one brought with it for good, as classes and their files, is there by now.
            until(() -> ours() == 0);
            long open = open();
            KvEventCollector collector = engine.heard();
            assertThat(ours()).isEqualTo(1);
            assertThat(open()).isGreaterThan(open);
            collector.close();
            until(() -> ours() == 0 && open() <= open);
        }
    }

    @Test
    void endpointThatNobodyAnswersAt_isASentence() {
        Engine gone = new Engine();
        gone.close();
        assertThatThrownBy(() -> KvEventCollector.start(
                        EventSource.of(gone.endpoint, ""), Thread.ofPlatform().factory(), CLOCK, Duration.ofMillis(50)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("Nobody answers at the event endpoint " + gone.endpoint)
                .hasMessageContaining("start the engine with its KV events on");
    }

    private static long ours() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("kv-test"))
                .count();
    }

    private static long open() {
        try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
            return all.filter(KvEventCollectorTest::isSocket).count();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isSocket(Path link) {
        try {
            return Files.readSymbolicLink(link).toString().startsWith("socket:");
        } catch (IOException e) {
            return false;
        }
    }

    private static byte[] cleared() {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        encoder.cleared();
        return encoder.finish(1.5, 0);
    }

    private static byte[] removed(Tier tier, long block) {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        encoder.removed(new long[] {block}, 0, 1, tier, 0);
        return encoder.finish(1.5, 0);
    }

    private static byte[] stored(Tier tier, long... blocks) {
        KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        for (long block : blocks) {
            StoredBlocks stores = new StoredBlocks().reset().blockTokens(1).in(tier);
            encoder.stored(stores.add(block).addToken(7));
        }
        return encoder.finish(1.5, 0);
    }

    /** An engine's end of the stream, which numbers its batches as a test says. */
    private static final class Engine implements AutoCloseable {
        private final ZContext context = new ZContext();
        private final ZMQ.Socket socket = context.createSocket(SocketType.XPUB);
        private final String endpoint;
        private long next;

        Engine() {
            socket.setLinger(0);
            // Tells of each subscriber, also while the one before it is on its way out.
            socket.setXpubVerbose(true);
            socket.bind("tcp://127.0.0.1:*");
            endpoint = socket.getLastEndpoint();
        }

        KvEventCollector heard() {
            KvEventCollector collector = KvEventCollector.start(
                    EventSource.of(endpoint, ""),
                    Thread.ofPlatform().name("kv-test").factory(),
                    CLOCK,
                    LONG);
            until(() -> {
                byte[] wish = socket.recv(ZMQ.DONTWAIT);
                return wish != null && wish[0] == 1;
            });
            return collector;
        }

        Engine skips(int batches) {
            next += batches;
            return this;
        }

        Engine tells(byte[] payload) {
            socket.send(new byte[0], ZMQ.SNDMORE);
            socket.send(ByteBuffer.allocate(Long.BYTES).putLong(next).array(), ZMQ.SNDMORE);
            socket.send(payload, 0);
            next++;
            return this;
        }

        @Override
        public void close() {
            context.close();
        }
    }

    private static void until(BooleanSupplier condition) {
        long deadline = System.nanoTime() + LONG.toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("in time").isLessThan(deadline);
            Thread.onSpinWait();
        }
    }
}
