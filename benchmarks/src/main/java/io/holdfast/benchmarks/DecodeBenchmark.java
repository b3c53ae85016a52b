package io.holdfast.benchmarks;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
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
import org.openjdk.jmh.infra.Blackhole;

/**
 * Frames of both engines, from the wire's bytes to a sink and to the block index. With a Java 25:
 *
 * <pre>{@code
 * ./mvnw -q -pl benchmarks -am -Pbench -Dmaven.test.skip=true package
 * java -jar benchmarks/target/benchmarks.jar DecodeBenchmark -prof gc
 * }</pre>
 *
 * <p>An operation is one block that is announced as stored, with its 16 tokens, while the removal of another one is: the
 * score is such blocks per second. A frame has 32. {@code values} is the baseline of the same run: the serialisation
 * library builds its own objects of the frame, from which nobody has read anything yet. The JVM runs with the launcher's
 * flags.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 2,
        jvmArgsAppend = {
            "-Xms2g",
            "-Xmx2g",
            "-XX:+UseSerialGC",
            "-XX:+UseCompactObjectHeaders",
            "-Dmsgpack.universal-buffer=true"
        })
public class DecodeBenchmark {
    private static final int FRAMES = 32;

    @Param
    EventStyle style = EventStyle.VLLM;

    /** Blocks in the cache, a power of two; its frames are kept in memory. */
    @Param({"8192", "65536"})
    int size;

    @Param("42")
    long seed;

    private final CountingSink counting = new CountingSink();
    private final EngineBlocksIndex tree = new EngineBlocksIndex();

    /** Made by {@link #grow}, before anything is measured. */
    @SuppressWarnings("NullAway.Init")
    private SteadyFrames frames;

    @Setup
    public void grow() {
        SteadyIndex grown = new SteadyIndex(tree, new Churn(style, size, /* withTokens= */ false, seed));
        frames = SteadyFrames.of(style, size, seed);
        frames.decode(frames.count(), tree);
        if (tree.unknown() > 0 || tree.size() != grown.size()) {
            throw new IllegalStateException("The frames do not continue what the tree knows.");
        }
    }

    @Benchmark
    @OperationsPerInvocation(FRAMES * Churn.BLOCKS_PER_BATCH)
    public long decode() {
        frames.decode(FRAMES, counting);
        return counting.stored();
    }

    @Benchmark
    @OperationsPerInvocation(FRAMES * Churn.BLOCKS_PER_BATCH)
    public int decodeIntoTree() {
        frames.decode(FRAMES, tree);
        return tree.size();
    }

    @Benchmark
    @OperationsPerInvocation(FRAMES * Churn.BLOCKS_PER_BATCH)
    public void values(Blackhole hole) throws IOException {
        for (int i = 0; i < FRAMES; i++) {
            try (MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(frames.next())) {
                hole.consume(unpacker.unpackValue());
            }
        }
    }
}
