package io.holdfast.benchmarks;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.events.VllmBlockNames;
import io.holdfast.events.VllmHashing;
import java.util.SplittableRandom;
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
 * The names of a prompt's blocks, for a fleet and as each engine makes them. With a Java 25:
 *
 * <pre>{@code
 * ./mvnw -q -pl benchmarks -am -Pbench -Dmaven.test.skip=true package
 * java -jar benchmarks/target/benchmarks.jar HashBenchmark -prof gc
 * }</pre>
 *
 * <p>An operation is one token, so that block sizes compare: a block of 16 takes sixteen times the score. The prompt has
 * 8,192 tokens. The engines' own names, made with the JDK's SHA-256, are the baseline of the content chain.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 2,
        jvmArgsAppend = {"-Xms1g", "-Xmx1g", "-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders"})
public class HashBenchmark {
    private static final int TOKENS = 1 << 13;

    @Param({"1", "16", "64"})
    int blockTokens;

    @Param("42")
    long seed;

    /** Not zero, so that the first block is chained too. */
    private final long namespace = ContentNames.namespace("tenant", "");

    private final VllmBlockNames cbor = vllm(VllmHashing.Algorithm.SHA256_CBOR);
    private final VllmBlockNames pickle = vllm(VllmHashing.Algorithm.SHA256);
    private final long[] names = new long[TOKENS];
    private final int[] tokens = new int[TOKENS];

    @Setup
    public void draw() {
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < TOKENS; i++) {
            tokens[i] = random.nextInt(150_000);
        }
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public long[] contentChain() {
        ContentNames.names(tokens, 0, TOKENS, blockTokens, namespace, names);
        return names;
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public long[] sglang() {
        return SglangBlockNames.of(tokens, blockTokens);
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public long[] vllmCbor() {
        return cbor.of(tokens, blockTokens);
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public long[] vllmPickle() {
        return pickle.of(tokens, blockTokens);
    }

    private static VllmBlockNames vllm(VllmHashing.Algorithm algorithm) {
        return new VllmBlockNames(new VllmHashing(algorithm, VllmHashing.UNSET_SEED, VllmHashing.Form.TAGGED));
    }
}
