package io.holdfast.benchmarks;

import io.holdfast.core.index.BlockTree.Naming;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The block tree that many readers may ask, under steady churn. With a Java 25:
 *
 * <pre>{@code
 * ./mvnw -q -pl benchmarks -am -Pbench -Dmaven.test.skip=true package
 * java -jar benchmarks/target/benchmarks.jar BlockTreeBenchmark -prof gc
 * }</pre>
 *
 * <p>An operation of {@code ingest} is one block that is stored while another one is removed, the making of both names
 * included; one of {@code match} is a prefix of {@value #PREFIX} blocks, all of them resident. {@code gc.alloc.rate.norm}
 * is bytes per operation, and rounds to 0. Side by side with other indexers: {@code benchmarks/measure index bench}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 2,
        jvmArgsAppend = {"-Xms2g", "-Xmx2g", "-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders"})
public class BlockTreeBenchmark {
    private static final int PREFIX = 256;
    private static final int PATHS = 256;
    private static final int BATCHES = 32;

    @Param
    Naming naming = Naming.ENGINE_HASH;

    @Param
    EventStyle style = EventStyle.VLLM;

    /** Blocks in the cache, a power of two. */
    @Param({"65536", "1048576"})
    int size;

    @Param("42")
    long seed;

    /** Made by {@link #grow}, before anything is measured. */
    @SuppressWarnings("NullAway.Init")
    private BlockTreeIndex index;

    @SuppressWarnings("NullAway.Init")
    private long[][] paths;

    private int path;

    @Setup
    public void grow() {
        index = new BlockTreeIndex(naming, new Churn(style, size, /* withTokens= */ false, seed));
        paths = index.paths(PATHS, PREFIX);
        for (long[] resident : paths) {
            if (index.match(resident) != PREFIX || index.errors() > 0) {
                throw new IllegalStateException("A prefix that should be resident is not.");
            }
        }
    }

    @Benchmark
    @OperationsPerInvocation(BATCHES * Churn.BLOCKS_PER_BATCH)
    public int ingest() {
        index.turn(BATCHES);
        return index.size();
    }

    @Benchmark
    public int match() {
        path = (path + 1) % PATHS;
        return index.match(paths[path]);
    }
}
