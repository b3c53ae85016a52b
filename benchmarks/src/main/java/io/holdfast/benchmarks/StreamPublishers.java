package io.holdfast.benchmarks;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * The other process of {@link StreamLoad}: as many engines' event sockets as it is told, silent until a byte arrives.
 *
 * <p>Each cache holds a window of prompts: every batch stores one and removes the oldest.
 */
final class StreamPublishers {
    private static final int BATCH_BLOCKS = 8;
    private static final int BLOCK_TOKENS = 16;
    private static final int WINDOW = 2048;
    private static final long SERVE_NANOS = 20_000_000;

    private StreamPublishers() {}

    /** Prints the ports, one engine a line, waits for a byte and then publishes until the input ends. */
    public static void main(String[] args) throws IOException {
        int blocksPerSecond = Integer.parseInt(args[1]);
        try (ZContext context = new ZContext()) {
            List<Engine> engines = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                engines.add(new Engine(context, i));
            }
            engines.forEach(engine -> System.out.println(engine.ports()));
            boolean going = false;
            long begun = 0;
            long served = System.nanoTime();
            long sent = 0;
            while (true) {
                if (System.in.available() > 0) {
                    if (System.in.read() == 'q') {
                        return;
                    }
                    going = true;
                    begun = System.nanoTime();
                }
                long now = System.nanoTime();
                while (going && sent * BATCH_BLOCKS * 1e9 < (double) (now - begun) * blocksPerSecond) {
                    engines.get((int) (sent++ % engines.size())).publish();
                }
                if (now - served > SERVE_NANOS) {
                    served = now;
                    engines.forEach(Engine::serve);
                }
                LockSupport.parkNanos(1_000_000);
            }
        }
    }

    /** A payload under its number. */
    private static final class Batch {
        private final long sequence;
        private final byte[] payload;

        Batch(long sequence, byte[] payload) {
            this.sequence = sequence;
            this.payload = payload;
        }
    }

    /** One engine's sockets and the cache that they speak of. */
    private static final class Engine {
        private final ZMQ.Socket publisher;
        private final ZMQ.Socket router;
        private final KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        private final StoredBlocks chain = new StoredBlocks();
        private final Deque<Batch> memory = new ArrayDeque<>();
        private final Deque<Long> window = new ArrayDeque<>();
        private final long salt;
        private long blocks;
        private long sequence;

        Engine(ZContext context, int number) {
            publisher = context.createSocket(SocketType.PUB);
            publisher.setSndHWM(100_000);
            publisher.bind("tcp://127.0.0.1:*");
            router = context.createSocket(SocketType.ROUTER);
            router.bind("tcp://127.0.0.1:*");
            salt = (long) number << 48;
        }

        String ports() {
            return publisher.getLastEndpoint() + " " + router.getLastEndpoint();
        }

        void publish() {
            chain.reset().blockTokens(BLOCK_TOKENS).in(Tier.GPU);
            for (int i = 0; i < BATCH_BLOCKS; i++) {
                long block = salt + ++blocks;
                chain.add(block);
                window.addLast(block);
                for (int t = 0; t < BLOCK_TOKENS; t++) {
                    chain.addToken((int) blocks + t);
                }
            }
            encoder.stored(chain);
            if (window.size() > WINDOW) {
                long[] old = new long[BATCH_BLOCKS];
                for (int i = 0; i < BATCH_BLOCKS; i++) {
                    old[i] = window.removeFirst();
                }
                encoder.removed(old, 0, old.length, Tier.GPU, 0);
            }
            byte[] payload = encoder.finish(System.currentTimeMillis() / 1e3, 0);
            memory.addLast(new Batch(sequence, payload));
            if (memory.size() > 1000) {
                memory.removeFirst();
            }
            publisher.send(new byte[0], ZMQ.SNDMORE);
            publisher.send(eight(sequence++), ZMQ.SNDMORE);
            publisher.send(payload);
        }

        void serve() {
            for (byte[] asker = router.recv(ZMQ.DONTWAIT); asker != null; asker = router.recv(ZMQ.DONTWAIT)) {
                router.recv();
                long from = ByteBuffer.wrap(router.recv()).getLong();
                for (Batch batch : memory) {
                    if (batch.sequence >= from) {
                        answer(asker, batch.sequence, batch.payload);
                    }
                }
                answer(asker, -1, new byte[0]);
            }
        }

        private void answer(byte[] asker, long number, byte[] payload) {
            router.send(asker, ZMQ.SNDMORE);
            router.send(new byte[0], ZMQ.SNDMORE);
            router.send(new byte[0], ZMQ.SNDMORE);
            router.send(eight(number), ZMQ.SNDMORE);
            router.send(payload);
        }

        private static byte[] eight(long number) {
            return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
        }
    }
}
