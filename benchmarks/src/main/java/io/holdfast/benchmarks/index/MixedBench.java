package io.holdfast.benchmarks.index;

import io.holdfast.benchmarks.index.StopWatch.Span;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.IntFunction;

/**
 * One writer at full speed and one reader at once, what each costs the other, and how many answers were torn.
 *
 * <p>Each round takes two indexes of the first half of the events: on one the second half is applied while nobody
 * reads, before and after which a reader asks all queries while nobody writes; on the other both happen at once. So
 * both arms of each ratio come from one process, one right after the other. A third index replays what the reader wrote
 * down.
 */
final class MixedBench {
    private static final int ROUNDS = 3;
    private static final int LATENCIES = 1 << 22;
    private static final int SAMPLES = 1 << 15;
    private static final int SAMPLE_EVERY = 61;
    private static final double NANOS_PER_SECOND = 1e9;
    private static final double MILLION = 1e6;

    private final IntFunction<Index> indexes;
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    MixedBench(IntFunction<Index> indexes) {
        this.indexes = indexes;
    }

    /** Number of events that the writer has applied. */
    private static final class Applied {
        private static final VarHandle COUNT;

        static {
            try {
                COUNT = MethodHandles.lookup().findVarHandle(Applied.class, "count", long.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        private volatile long count;
        private volatile boolean done;

        /** A store that the processor need not wait for: what was written before it is visible before it. */
        void publish(long events) {
            COUNT.setRelease(this, events);
        }
    }

    /** One reader's doings. */
    private record Read(Times times, double seconds, TornAnswers answers) {}

    Figures run(Path path, int mostQueries) {
        Events events;
        Queries queries;
        int engines;
        try (WorkloadFile file = WorkloadFile.open(path)) {
            engines = file.engines();
            events = Events.of(file);
            queries = Queries.of(file, mostQueries);
        }
        if (events.count() < 2 || queries.count() == 0) {
            throw new BenchException(path + " has too few events or no queries; generate one that has both.");
        }
        int middle = events.count() / 2;
        double operations = events.blocks(middle, events.count());

        double[] alone = new double[ROUNDS];
        double[] together = new double[ROUNDS];
        double[] aloneCpu = new double[ROUNDS];
        double[] togetherCpu = new double[ROUNDS];
        double[] loneP99 = new double[ROUNDS];
        double[] p99 = new double[ROUNDS];
        Times times = new Times(1);
        double asked = 0;
        int torn = 0;
        int sampled = 0;
        for (int round = 0; round < ROUNDS; round++) {
            Index quiet = half(engines, events, middle);
            Times lone = new Times(2 * queries.count());
            pass(quiet.reader(), queries, lone);
            Span lonely = write(quiet, events, middle, new Applied());
            alone[round] = operations / lonely.wall() / MILLION;
            aloneCpu[round] = operations / lonely.cpu() / MILLION;
            pass(quiet.reader(), queries, lone);
            loneP99[round] = lone.quantile(0.99);

            Index busy = half(engines, events, middle);
            Applied applied = new Applied();
            applied.publish(middle);
            Span written;
            Read read;
            try (ExecutorService reading = Executors.newSingleThreadExecutor()) {
                CompletableFuture<Read> reader =
                        CompletableFuture.supplyAsync(() -> read(busy.reader(), queries, applied), reading);
                try {
                    written = write(busy, events, middle, applied);
                } finally {
                    applied.done = true;
                }
                read = reader.join();
            }
            together[round] = operations / written.wall() / MILLION;
            togetherCpu[round] = operations / written.cpu() / MILLION;
            times = read.times();
            p99[round] = times.quantile(0.99);
            asked = times.count() / read.seconds();
            sampled += read.answers().size();
            torn += read.answers().torn(half(engines, events, middle), events, middle, queries);
        }
        return Figures.of("mixed")
                .add("threads", 1)
                .add("ingest_mops", Times.median(together), 3)
                .add("qps", asked, 0)
                .add(times)
                .add("lone_ingest_mops", Times.median(alone), 3)
                .add("lone_p99_ns", Times.median(loneP99), 0)
                .add("writer_ratio", ratio(together, alone), 3)
                .add("writer_cpu_ratio", ratio(togetherCpu, aloneCpu), 3)
                .add("p99_ratio", ratio(p99, loneP99), 3)
                .add("sampled", sampled)
                .add("torn", torn);
    }

    private Index half(int engines, Events events, int middle) {
        Index index = indexes.apply(engines);
        System.gc();
        index.apply(events, 0, middle);
        return index;
    }

    /** Applies the second half; the answer is how long that took, and of its thread's processor. */
    private Span write(Index index, Events events, int middle, Applied applied) {
        long cpu = threads.getCurrentThreadCpuTime();
        long start = System.nanoTime();
        for (int event = middle; event < events.count(); event++) {
            index.apply(events, event);
            applied.publish(event + 1);
        }
        double wall = (System.nanoTime() - start) / NANOS_PER_SECOND;
        return new Span(wall, (threads.getCurrentThreadCpuTime() - cpu) / NANOS_PER_SECOND);
    }

    /** Asks every query once. */
    private static void pass(Index.Reader reader, Queries queries, Times times) {
        for (int query = 0; query < queries.count(); query++) {
            long start = System.nanoTime();
            reader.match(queries, query);
            times.add(System.nanoTime() - start);
        }
    }

    /** Asks until the writer is done, and at least once. */
    private static Read read(Index.Reader reader, Queries queries, Applied applied) {
        Times times = new Times(LATENCIES);
        TornAnswers answers = new TornAnswers(SAMPLES);
        long begun = System.nanoTime();
        int query = 0;
        int until = 1;
        do {
            long before = applied.count;
            long start = System.nanoTime();
            int count = reader.match(queries, query);
            times.add(System.nanoTime() - start);
            if (--until == 0) {
                until = SAMPLE_EVERY;
                VarHandle.acquireFence();
                answers.sample(query, before, applied.count, TornAnswers.answer(reader, count));
            }
            query = query + 1 == queries.count() ? 0 : query + 1;
        } while (!applied.done);
        return new Read(times, (System.nanoTime() - begun) / NANOS_PER_SECOND, answers);
    }

    private static double ratio(double[] these, double[] those) {
        double[] ratios = new double[these.length];
        for (int i = 0; i < these.length; i++) {
            ratios[i] = these[i] / those[i];
        }
        return Times.median(ratios);
    }
}
