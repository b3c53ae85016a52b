package io.holdfast.benchmarks;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/**
 * Measures how long a view of a full cache takes to be exact again from the engine's memory of past batches, and how many
 * plans are made meanwhile by a view that is not.
 *
 * <p>{@code RebuildLoad [--blocks 1000000] [--batch 8] [--rate 10000] [--lost 2000]}: an engine that has stored so many
 * blocks goes on at that rate. The follower joins it (all is requested), then so many batches are lost on the way (they are
 * requested), once for each of five runs. A plan is made ten times a second.
 */
final class RebuildLoad {
    private static final int RUNS = 5;
    private static final int BLOCK_TOKENS = 16;
    private static final int ROUND_MILLIS = 100;
    private static final int SETTLE_MILLIS = 2_000;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    private RebuildLoad() {}

    public static void main(String[] args) throws InterruptedException {
        Map<String, Integer> options =
                new HashMap<>(Map.of("--blocks", 1_000_000, "--batch", 8, "--rate", 10_000, "--lost", 2_000));
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], Integer.parseInt(args[i + 1]));
        }
        int batch = options.getOrDefault("--batch", 1);
        for (int run = 0; run < RUNS; run++) {
            try (ZContext context = new ZContext()) {
                Engine engine = new Engine(
                        context, batch, options.getOrDefault("--blocks", 0), options.getOrDefault("--rate", 0) / batch);
                Thread publishes = Thread.ofPlatform().daemon().start(engine);
                new RebuildLoad().follow(engine, options.getOrDefault("--lost", 0));
                engine.stopping.set(true);
                publishes.join();
            }
        }
    }

    private void follow(Engine engine, int lost) {
        BlockTree tree = new BlockTree(BlockTree.Naming.ENGINE_HASH);
        Cache cache = tree.addCache(CacheTraits.sglang());
        try (KvEventLoop loop = new KvEventLoop(System::nanoTime)) {
            Subscription cacheEvents = loop.subscribe(
                            EventSource.of(engine.endpoint, "").withReplay(engine.replay), rank -> cache)
                    .getFirst();
            rebuild("joins", loop, cache, cacheEvents, () -> cacheEvents.replayedBatches() > 0);
            long until = System.nanoTime() + SETTLE_MILLIS * 1_000_000L;
            while (System.nanoTime() < until) {
                loop.doWork(ROUND_MILLIS);
            }
            long gaps = cacheEvents.gaps();
            engine.toLose.set(lost);
            while (cacheEvents.gaps() == gaps && !cacheEvents.recovering()) {
                loop.doWork(ROUND_MILLIS);
            }
            rebuild("lost", loop, cache, cacheEvents, () -> true);
        }
    }

    private void rebuild(String what, KvEventLoop loop, Cache cache, Subscription events, BooleanSupplier begun) {
        long wall = System.nanoTime();
        long cpu = threads.getCurrentThreadCpuTime();
        long replayed = events.replayedBatches();
        long planAt = wall;
        int plans = 0;
        while (!begun.getAsBoolean() || events.recovering() || !cache.certain()) {
            loop.doWork(ROUND_MILLIS);
            for (; System.nanoTime() >= planAt; planAt += ROUND_MILLIS * 1_000_000L) {
                plans++;
            }
        }
        System.out.printf(
                Locale.ROOT,
                "%s: %,d batches replayed, %,d blocks known, exact after %.2f s, %.2f s of processor time, %d plans"
                        + " blind%n",
                what,
                events.replayedBatches() - replayed,
                cache.blocks(),
                (System.nanoTime() - wall) / 1e9,
                (threads.getCurrentThreadCpuTime() - cpu) / 1e9,
                plans);
    }

    /** An engine that keeps every batch, on a thread of its own. */
    private static final class Engine implements Runnable {
        private final ZMQ.Socket publisher;
        private final ZMQ.Socket router;
        private final KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_MAPS);
        private final StoredBlocks chain = new StoredBlocks();
        private final List<byte[]> memory = new ArrayList<>();
        private final AtomicBoolean stopping = new AtomicBoolean();
        private final AtomicInteger toLose = new AtomicInteger();
        private final String endpoint;
        private final String replay;
        private final int batch;
        private final int batchesASecond;
        private long blocks;

        Engine(ZContext context, int batch, int blocks, int batchesASecond) {
            this.batch = batch;
            this.batchesASecond = batchesASecond;
            publisher = context.createSocket(SocketType.PUB);
            publisher.setSndHWM(100_000);
            publisher.bind("tcp://127.0.0.1:*");
            router = context.createSocket(SocketType.ROUTER);
            router.setSndHWM(0);
            router.bind("tcp://127.0.0.1:*");
            endpoint = publisher.getLastEndpoint();
            replay = router.getLastEndpoint();
            while (memory.size() * (long) batch < blocks) {
                memory.add(next());
            }
        }

        private byte[] next() {
            chain.reset().blockTokens(BLOCK_TOKENS).in(Tier.GPU);
            for (int i = 0; i < batch; i++) {
                chain.add(++blocks);
                for (int token = 0; token < BLOCK_TOKENS; token++) {
                    chain.addToken((int) blocks + token);
                }
            }
            encoder.stored(chain);
            return encoder.finish(System.currentTimeMillis() / 1e3, 0);
        }

        @Override
        public void run() {
            long begun = System.nanoTime();
            long sent = 0;
            while (!stopping.get()) {
                while (sent * 1e9 < (double) (System.nanoTime() - begun) * batchesASecond) {
                    memory.add(next());
                    sent++;
                    if (toLose.get() > 0) {
                        toLose.decrementAndGet();
                    } else {
                        publisher.send(new byte[0], ZMQ.SNDMORE);
                        publisher.send(eight(memory.size() - 1L), ZMQ.SNDMORE);
                        publisher.send(memory.getLast());
                    }
                }
                for (byte[] asker = router.recv(ZMQ.DONTWAIT); asker != null; asker = router.recv(ZMQ.DONTWAIT)) {
                    router.recv();
                    long from = ByteBuffer.wrap(router.recv()).getLong();
                    for (int number = (int) Math.max(0, from); number < memory.size(); number++) {
                        answer(asker, number, memory.get(number));
                    }
                    answer(asker, -1, new byte[0]);
                }
                LockSupport.parkNanos(1_000_000);
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
