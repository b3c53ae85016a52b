package io.holdfast.benchmarks;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToLongFunction;

/**
 * Cost of the event thread of a router with many engines, and its growth: one loop and one block tree in this process,
 * real publishers in another.
 *
 * <p>{@code StreamLoad [--minutes 30] [--engines 64] [--blocks 10000]}: first an idle minute, all connected and nobody
 * publishing, then the load, one line for each half minute. CPU is that of the loop's thread (decoding and indexing)
 * and of JeroMQ's I/O thread, each as a share of one core.
 */
final class StreamLoad {
    private static final int WARM_UP_SECONDS = 10;
    private static final int IDLE_SECONDS = 60;
    private static final int LINE_SECONDS = 30;
    private static final int POLL_MILLIS = 100;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final KvEventLoop loop = new KvEventLoop(System::nanoTime);
    private final BlockTree tree = new BlockTree(BlockTree.Naming.ENGINE_HASH);
    private final List<Subscription> subscriptions = new ArrayList<>();

    private StreamLoad() {}

    /** CPU used so far, in nanoseconds. */
    private record Cpu(long wall, long loop, long io) {
        double loopShare(Cpu from) {
            return 100.0 * (loop - from.loop) / (wall - from.wall);
        }

        double ioShare(Cpu from) {
            return 100.0 * (io - from.io) / (wall - from.wall);
        }
    }

    public static void main(String[] args) throws IOException {
        Map<String, Integer> options = new HashMap<>(Map.of("--minutes", 30, "--engines", 64, "--blocks", 10_000));
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], Integer.parseInt(args[i + 1]));
        }
        int engines = options.getOrDefault("--engines", 0);
        Process publishers = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        StreamPublishers.class.getName(),
                        Integer.toString(engines),
                        Integer.toString(options.getOrDefault("--blocks", 0)))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (OutputStream orders = publishers.getOutputStream();
                BufferedReader ports = publishers.inputReader(StandardCharsets.UTF_8)) {
            StreamLoad load = new StreamLoad();
            for (int i = 0; i < engines; i++) {
                String[] two = Optional.ofNullable(ports.readLine()).orElse("").split(" ", 3);
                load.subscriptions.addAll(load.loop.subscribe(
                        EventSource.of(two[0], "").withReplay(two[1]),
                        rank -> load.tree.addCache(CacheTraits.sglang())));
            }
            load.run(options.getOrDefault("--minutes", 0), orders);
        } finally {
            publishers.destroy();
        }
    }

    private void run(int minutes, OutputStream orders) throws IOException {
        work(WARM_UP_SECONDS);
        Cpu from = cpu();
        work(IDLE_SECONDS);
        Cpu to = cpu();
        double idle = to.loopShare(from);
        System.out.printf(
                Locale.ROOT,
                "connected=%d idle: loop %.2f %%, io %.2f %% of a core, heap after collection %.1f MiB%n",
                subscriptions.stream().filter(Subscription::connected).count(),
                idle,
                to.ioShare(from),
                heap());
        orders.write('g');
        orders.flush();
        work(WARM_UP_SECONDS);
        for (int line = 0; line < minutes * 60 / LINE_SECONDS; line++) {
            long received = sum(Subscription::received);
            from = cpu();
            work(LINE_SECONDS);
            to = cpu();
            System.out.printf(
                    Locale.ROOT,
                    "%5d s: batches/s %.0f, loop %.2f %% (%.2f beyond idle), io %.2f %%, gaps %d, full rounds %d,"
                            + " blocks %d, heap after collection %.1f MiB%n",
                    (line + 1) * LINE_SECONDS,
                    (sum(Subscription::received) - received) / (double) LINE_SECONDS,
                    to.loopShare(from),
                    to.loopShare(from) - idle,
                    to.ioShare(from),
                    sum(Subscription::gaps),
                    sum(Subscription::fullRounds),
                    tree.blocks(),
                    heap());
        }
        orders.write('q');
        orders.flush();
        loop.close();
    }

    private long sum(ToLongFunction<Subscription> counter) {
        return subscriptions.stream().mapToLong(counter).sum();
    }

    private void work(int seconds) {
        long until = System.nanoTime() + seconds * 1_000_000_000L;
        while (System.nanoTime() < until) {
            loop.doWork(POLL_MILLIS);
        }
    }

    private Cpu cpu() {
        long io = 0;
        for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
            if (thread != null && thread.getThreadName().contains("iothread")) {
                io += threads.getThreadCpuTime(thread.getThreadId());
            }
        }
        return new Cpu(System.nanoTime(), threads.getCurrentThreadCpuTime(), io);
    }

    /** MiB in use after a full collection. */
    private static double heap() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 1048576.0;
    }
}
