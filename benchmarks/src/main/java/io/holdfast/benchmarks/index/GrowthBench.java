package io.holdfast.benchmarks.index;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.IntFunction;

/**
 * Cost of many blocks against few: ingest until the caches are full, then with full caches, and the worst single
 * request.
 *
 * <p>Requests are prepared in chunks outside the clock. The single requests are timed on an index of their own, since
 * asking for the time costs as much as a few blocks.
 */
final class GrowthBench {
    private static final int CHUNK = 512;
    private static final int ROUNDS = 5;
    private static final double MILLION = 1e6;

    private final IntFunction<Index> indexes;
    private final int operationsPerRound;
    private final ProcessTime process = new ProcessTime();
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    /** Each rate is a median of rounds of so many blocks stored and removed. */
    GrowthBench(IntFunction<Index> indexes, int operationsPerRound) {
        this.indexes = indexes;
        this.operationsPerRound = operationsPerRound;
    }

    Figures run(int engines, int fewBlocks, int manyBlocks) {
        for (int warming = 0; warming < 2; warming++) {
            rates(engines, fewBlocks, Math.max(1, operationsPerRound / fewBlocks));
        }
        Rates few = rates(engines, fewBlocks, Math.max(1, operationsPerRound / fewBlocks));
        Rates many = rates(engines, manyBlocks, 1);
        Worst worst = worst(engines, manyBlocks);
        return Figures.of("growth")
                .add("engines", engines)
                .add("few", fewBlocks)
                .add("many", manyBlocks)
                .add("few_fill_mops_cpu", few.filling, 3)
                .add("many_fill_mops_cpu", many.filling, 3)
                .add("fill_ratio", many.filling / few.filling, 3)
                .add("few_mops_cpu", few.full, 3)
                .add("many_mops_cpu", many.full, 3)
                .add("ratio", many.full / few.full, 3)
                .add("requests", worst.requests)
                .add("worst_cpu_us", worst.cpuNanos / 1e3, 1)
                .add("worst_wall_us", worst.wallNanos / 1e3, 1)
                .add("mean_cpu_us", worst.meanCpuNanos / 1e3, 1)
                .add("errors", few.errors + many.errors + worst.errors);
    }

    /** Million blocks a second of CPU. */
    private record Rates(double filling, double full, long errors) {}

    private record Worst(long requests, long cpuNanos, long wallNanos, double meanCpuNanos, long errors) {}

    private Rates rates(int engines, int blocks, int fills) {
        double[] filling = new double[fills];
        Requests requests = new Requests(engines, blocks);
        Index index = begun(engines, requests);
        for (int fill = 0; fill < fills; fill++) {
            if (fill > 0) {
                requests = new Requests(engines, blocks);
                index = begun(engines, requests);
            }
            filling[fill] = ingest(index, engines, requests, requests.places());
        }
        double[] full = new double[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            full[round] = ingest(index, engines, requests, operationsPerRound / (2 * Requests.OWN));
        }
        return new Rates(Times.median(filling), Times.median(full), index.errors());
    }

    private Worst worst(int engines, int blocks) {
        Requests requests = new Requests(engines, blocks);
        Index index = begun(engines, requests);
        Events chunk = chunk(engines);
        long worstCpu = 0;
        long worstWall = 0;
        long cpuSum = 0;
        int all = requests.places() + requests.places() / 4;
        int left = all;
        while (left > 0) {
            int some = fill(chunk, requests, left);
            for (int request = 0; request < some; request++) {
                int event = request * Requests.EVENTS;
                long wallStart = System.nanoTime();
                long cpuStart = threads.getCurrentThreadCpuTime();
                index.apply(chunk, event, event + Requests.EVENTS);
                long cpu = threads.getCurrentThreadCpuTime() - cpuStart;
                long wall = System.nanoTime() - wallStart;
                worstCpu = Math.max(worstCpu, cpu);
                worstWall = Math.max(worstWall, wall);
                cpuSum += cpu;
            }
            left -= some;
        }
        return new Worst(all, worstCpu, worstWall, (double) cpuSum / all, index.errors());
    }

    /** An index that knows the shared prefixes. */
    private Index begun(int engines, Requests requests) {
        Index index = indexes.apply(engines);
        Events shared = chunk(engines);
        requests.shared(shared);
        index.apply(shared, 0, shared.count());
        System.gc();
        return index;
    }

    private double ingest(Index index, int engines, Requests requests, int count) {
        Events chunk = chunk(engines);
        double seconds = 0;
        long operations = 0;
        int left = count;
        while (left > 0) {
            left -= fill(chunk, requests, left);
            StopWatch watch = StopWatch.start(process);
            index.apply(chunk, 0, chunk.count());
            seconds += watch.stop().cpu();
            operations += chunk.blocks(0, chunk.count());
        }
        return operations / seconds / MILLION;
    }

    private static int fill(Events chunk, Requests requests, int left) {
        chunk.clear();
        int some = Math.min(CHUNK, left);
        for (int i = 0; i < some; i++) {
            requests.next(chunk);
        }
        return some;
    }

    private static Events chunk(int engines) {
        return new Events(engines, CHUNK * Requests.EVENTS, 2 * CHUNK * Requests.OWN);
    }
}
