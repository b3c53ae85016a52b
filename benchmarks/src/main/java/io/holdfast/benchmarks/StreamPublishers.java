package io.holdfast.benchmarks;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * The other process of {@link StreamLoad} and of {@code safety/load.py}: as many engines as it is told, silent until a
 * byte arrives. An engine is its event sockets and the HTTP routes that a sidecar asks an SGLang.
 *
 * <p>Each cache holds a window of prompts: every batch stores one and removes the oldest. With a seed, an engine is
 * restarted each minute or so, and loses some batches for good each half minute or so.
 */
final class StreamPublishers {
    private static final int BATCH_BLOCKS = 8;
    private static final int BLOCK_TOKENS = 16;
    private static final int USUAL_WINDOW = 2048;
    private static final int MOST_AT_ONCE = 200;
    private static final long SERVE_NANOS = 20_000_000;
    private static final long ACCIDENT_NANOS = 1_000_000_000;
    private static final int RESTART_SECONDS = 60;
    private static final int GAP_SECONDS = 30;
    private static final int MOST_LOST = 20;

    private static final String METRICS = """
        sglang:num_running_reqs 0
        sglang:num_queue_reqs 0
        sglang:num_used_tokens 0
        sglang:prompt_tokens_total 0
        sglang:time_to_first_token_seconds_sum 0
        sglang:time_to_first_token_seconds_count 0
        """;

    private StreamPublishers() {}

    /**
     * Prints the ports, one engine a line, waits for a byte and then publishes until the input ends.
     *
     * @param args how many engines, blocks a second in all, the seed of restarts and gaps or 0 where there are to be
     *     none, and how many blocks each cache holds
     */
    public static void main(String[] args) throws IOException {
        int blocksPerSecond = Integer.parseInt(args[1]);
        Optional<SplittableRandom> accidents = args.length > 2 && !args[2].equals("0")
                ? Optional.of(new SplittableRandom(Long.parseLong(args[2])))
                : Optional.empty();
        long accidentsAt = 0;
        try (ZContext context = new ZContext()) {
            List<Engine> engines = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                engines.add(new Engine(context, i, args.length > 3 ? Integer.parseInt(args[3]) : USUAL_WINDOW));
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
                // Other work on the machine must not keep it from answering replay requests.
                long mostSent = sent + MOST_AT_ONCE;
                while (going
                        && sent < mostSent
                        && sent * BATCH_BLOCKS * 1e9 < (double) (now - begun) * blocksPerSecond) {
                    engines.get((int) (sent++ % engines.size())).publish();
                }
                if (going && accidents.isPresent() && now - accidentsAt > ACCIDENT_NANOS) {
                    accidentsAt = now;
                    engines.forEach(engine -> engine.accident(accidents.get()));
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
        private final int cached;
        private long blocks;
        private long sequence;

        private final HttpServer http;

        Engine(ZContext context, int number, int cached) throws IOException {
            this.cached = cached;
            http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            http.createContext("/", this::answerHttp);
            http.start();
            publisher = context.createSocket(SocketType.PUB);
            publisher.setSndHWM(100_000);
            publisher.bind("tcp://127.0.0.1:*");
            router = context.createSocket(SocketType.ROUTER);
            router.bind("tcp://127.0.0.1:*");
            salt = (long) number << 48;
        }

        String ports() {
            return publisher.getLastEndpoint() + " " + router.getLastEndpoint() + " http://127.0.0.1:"
                    + http.getAddress().getPort();
        }

        /** An engine at rest; it says nothing of its events, which are told by hand. */
        private void answerHttp(HttpExchange exchange) throws IOException {
            byte[] body = (switch (exchange.getRequestURI().getPath()) {
                        case "/v1/models" -> "{\"data\":[{\"id\":\"load\"}]}";
                        case "/server_info" ->
                            "{\"max_total_num_tokens\":%d,\"page_size\":%d,\"context_length\":4096,\"max_req_input_len\":4090}"
                                    .formatted(4 * cached * BLOCK_TOKENS, BLOCK_TOKENS);
                        case "/metrics" -> METRICS;
                        default -> "";
                    })
                    .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(body.length == 0 ? 404 : 200, body.length == 0 ? -1 : body.length);
            if (body.length > 0) {
                exchange.getResponseBody().write(body);
            }
            exchange.close();
        }

        void accident(SplittableRandom random) {
            if (random.nextInt(RESTART_SECONDS) == 0) {
                sequence = 0;
                memory.clear();
                window.clear();
                encoder.cleared();
                send(encoder.finish(System.currentTimeMillis() / 1e3, 0));
            } else if (random.nextInt(GAP_SECONDS) == 0) {
                sequence += 1 + random.nextInt(MOST_LOST);
                memory.clear();
            }
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
            if (window.size() > cached) {
                long[] old = new long[BATCH_BLOCKS];
                for (int i = 0; i < BATCH_BLOCKS; i++) {
                    old[i] = window.removeFirst();
                }
                encoder.removed(old, 0, old.length, Tier.GPU, 0);
            }
            send(encoder.finish(System.currentTimeMillis() / 1e3, 0));
        }

        private void send(byte[] payload) {
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
