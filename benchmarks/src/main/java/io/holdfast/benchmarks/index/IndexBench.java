package io.holdfast.benchmarks.index;

import io.holdfast.benchmarks.index.StopWatch.Span;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * The phases of one run on a workload file, each giving the figures by the names that all indexers' drivers use.
 *
 * <p>Events lie in flat arrays and queries are content chains before a clock starts; each clock stops when everything
 * is applied or answered.
 */
final class IndexBench {
    private static final int ROUNDS = 3;
    private static final int CHECKPOINTS = 10;
    private static final int CHECK_QUERIES = 5_000;
    private static final int QUERY_PASSES = 15;
    private static final int CHUNK_EVENTS = 1_000;
    private static final int CHUNK_BLOCKS = 1 << 14;
    private static final double MILLION = 1e6;

    private final IntFunction<Index> indexes;
    private final ProcessTime process = new ProcessTime();

    /** Measures what this makes for a number of engines. */
    IndexBench(IntFunction<Index> indexes) {
        this.indexes = indexes;
    }

    /** Three ingests into a new index each, then passes over the queries, then each query alone. */
    Figures bench(Path path, int mostQueries) {
        StopWatch loading = StopWatch.start(process);
        int engines;
        int operations;
        Events events;
        Queries queries;
        try (WorkloadFile file = WorkloadFile.open(path)) {
            engines = file.engines();
            operations = file.operations();
            events = Events.of(file);
            queries = Queries.of(file, mostQueries);
        }
        final double load = loading.stop().wall();

        double[] wall = new double[ROUNDS];
        double[] cpu = new double[ROUNDS];
        Index index = indexes.apply(engines);
        for (int round = 0; round < ROUNDS; round++) {
            if (round > 0) {
                index = indexes.apply(engines);
            }
            // The index of the round before goes outside the clock, as it does where memory is freed by hand.
            System.gc();
            StopWatch watch = StopWatch.start(process);
            index.apply(events, 0, events.count());
            Span span = watch.stop();
            wall[round] = span.wall();
            cpu[round] = span.cpu();
        }

        Index.Reader reader = index.reader();
        Answers answers = Answers.of(reader, queries);
        // A pass can be over in fifty milliseconds, before its code is compiled: the median is one of many passes.
        double[] rates = new double[QUERY_PASSES];
        double[] cpuRates = new double[QUERY_PASSES];
        long depths = 0;
        for (int pass = 0; pass < QUERY_PASSES; pass++) {
            StopWatch watch = StopWatch.start(process);
            depths += depths(reader, queries);
            Span span = watch.stop();
            rates[pass] = queries.count() / span.wall();
            cpuRates[pass] = queries.count() / span.cpu();
        }
        Times times = new Times(Math.max(1, queries.count()));
        for (int query = 0; query < queries.count(); query++) {
            long start = System.nanoTime();
            depths += depths(reader, queries, query);
            times.add(System.nanoTime() - start);
        }
        if (depths != answers.matched() * (QUERY_PASSES + 1)) {
            throw new IllegalStateException("The same queries were answered differently from one pass to the next.");
        }
        double median = Times.median(wall);
        return Figures.of("bench")
                .add("threads", 1)
                .add("load_s", load, 2)
                .add("first_s", wall[0], 3)
                .add("ingest_s", median, 3)
                .add("mops", operations / median / MILLION, 3)
                .add("best_mops", operations / Arrays.stream(wall).min().orElseThrow() / MILLION, 3)
                .add("mops_cpu", operations / Times.median(cpu) / MILLION, 3)
                .add("first_cpu_s", cpu[0], 3)
                .add("qps", Times.median(rates), 0)
                .add("qps_cpu", Times.median(cpuRates), 0)
                .add(times)
                .addHex("check", answers.checksum())
                .add("matched", answers.matched())
                .add("best", answers.best())
                .add("errors", index.errors());
    }

    /** The answers to the first queries at ten points of the ingest. */
    Figures check(Path path) {
        try (WorkloadFile file = WorkloadFile.open(path)) {
            Events events = Events.of(file);
            Queries queries = Queries.of(file, CHECK_QUERIES);
            Index index = indexes.apply(file.engines());
            Index.Reader reader = index.reader();
            Answers[] answers = new Answers[CHECKPOINTS];
            long folded = 0;
            for (int k = 0; k < CHECKPOINTS; k++) {
                index.apply(events, checkpoint(events, k), checkpoint(events, k + 1));
                answers[k] = Answers.of(reader, queries);
                folded = Long.rotateLeft(folded, 7) ^ answers[k].checksum();
            }
            return Figures.of("check")
                    .add("threads", 1)
                    .addHex("check", folded)
                    .add(
                            "checksums",
                            Arrays.stream(answers)
                                    .map(each -> "%016x".formatted(each.checksum()))
                                    .collect(Collectors.joining(",")))
                    .add(
                            "blocks",
                            Arrays.stream(answers)
                                    .map(each -> Long.toString(each.matched()))
                                    .collect(Collectors.joining(",")))
                    .add("errors", index.errors());
        }
    }

    /** Measures what the index keeps on the heap when all events have been streamed into it. */
    Figures mem(Path path) {
        load(path, CHUNK_EVENTS);
        long heap = Memory.heap();
        OptionalLong resident = Memory.resident();
        Index index = load(path, Integer.MAX_VALUE);
        long heapAfter = Memory.heap();
        OptionalLong residentAfter = Memory.resident();
        Figures figures = Figures.of("mem").add("threads", 1).add("heap_delta", heapAfter - heap);
        if (resident.isPresent() && residentAfter.isPresent()) {
            figures.add("rss_delta", residentAfter.getAsLong() - resident.getAsLong());
        }
        // Asked last, so that the index is there until everything was measured.
        return figures.add("errors", index.errors());
    }

    /** An index of the first events of a file, of which only a chunk is in memory at a time. */
    private Index load(Path path, int mostEvents) {
        try (WorkloadFile file = WorkloadFile.open(path)) {
            Index index = indexes.apply(file.engines());
            Events chunk = new Events(file.engines(), CHUNK_EVENTS, CHUNK_BLOCKS);
            int left = Math.min(mostEvents, file.events());
            while (left > 0) {
                chunk.clear();
                for (int i = Math.min(left, CHUNK_EVENTS); i > 0 && file.nextEvent(); i--) {
                    chunk.add(file);
                }
                index.apply(chunk, 0, chunk.count());
                left -= chunk.count();
            }
            return index;
        }
    }

    private static int checkpoint(Events events, int k) {
        return (int) ((long) events.count() * k / CHECKPOINTS);
    }

    private static long depths(Index.Reader reader, Queries queries) {
        long depths = 0;
        for (int query = 0; query < queries.count(); query++) {
            depths += depths(reader, queries, query);
        }
        return depths;
    }

    private static long depths(Index.Reader reader, Queries queries, int query) {
        long depths = 0;
        int count = reader.match(queries, query);
        for (int i = 0; i < count; i++) {
            depths += reader.depth(i);
        }
        return depths;
    }
}
