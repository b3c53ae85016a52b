package io.holdfast.benchmarks;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.head.UnstableHead;
import io.holdfast.core.head.UnstableHeads;
import java.util.List;
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
 * Cost of looking at a token that an engine computed, for requests that differ early. With a Java 25:
 *
 * <pre>{@code
 * ./mvnw -q -pl benchmarks -am -Pbench -Dmaven.test.skip=true package
 * java -jar benchmarks/target/benchmarks.jar HeadBenchmark -prof gc
 * }</pre>
 *
 * <p>An operation is one token. A round is 512 prompts of 2,048 tokens in blocks of 16: {@code fresh}, none like
 * another, or {@code date}, all alike behind a first block that differs. The names of their blocks on the content
 * chain, which the events' side has to make in a fleet anyway, are the baseline.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 2,
        jvmArgsAppend = {"-Xms1g", "-Xmx1g", "-XX:+UseSerialGC", "-XX:+UseCompactObjectHeaders"})
public class HeadBenchmark {
    private static final int PROMPTS = 512;
    private static final int TOKENS = 2_048;
    private static final int BLOCK = 16;

    @Param({"fresh", "date"})
    String traffic = "";

    @Param("42")
    long seed;

    private final int[][] prompts = new int[PROMPTS][TOKENS];
    private final long[][] names = new long[PROMPTS][TOKENS / BLOCK];

    @Setup
    public void draw() {
        SplittableRandom random = new SplittableRandom(seed);
        for (int prompt = 0; prompt < PROMPTS; prompt++) {
            for (int i = 0; i < TOKENS; i++) {
                boolean same = traffic.equals("date") && prompt > 0 && i >= BLOCK;
                prompts[prompt][i] = same ? prompts[0][i] : random.nextInt(150_000);
            }
            name(prompt);
        }
    }

    private void name(int prompt) {
        ContentNames.names(prompts[prompt], 0, TOKENS, BLOCK, ContentNames.NO_NAMESPACE, names[prompt]);
    }

    @Benchmark
    @OperationsPerInvocation(PROMPTS * TOKENS)
    public List<UnstableHead> heads() {
        UnstableHeads heads = new UnstableHeads();
        for (int prompt = 0; prompt < PROMPTS; prompt++) {
            heads.prompt(prompts[prompt], names[prompt], 0, false);
        }
        return heads.found();
    }

    @Benchmark
    @OperationsPerInvocation(PROMPTS * TOKENS)
    public long[][] contentChain() {
        for (int prompt = 0; prompt < PROMPTS; prompt++) {
            name(prompt);
        }
        return names;
    }
}
