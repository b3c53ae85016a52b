package io.holdfast.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.holdfast.core.index.BlockTree.Naming;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The tree of many readers allocates nothing per block stored, removed or matched, counted by the JVM for this thread. A run
 * may allocate a little once, whatever its length: that is what {@link #ONCE} allows.
 */
class BlockTreeAllocationTest {
    private static final long ONCE = 16 << 10;

    private static final int SIZE = 1 << 13;
    private static final int PREFIX = 256;
    private static final int BATCHES = 10_000;
    private static final int MATCHES = 2_000;
    private static final long SEED = 7;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @ParameterizedTest
    @CsvSource({"ENGINE_HASH, VLLM", "ENGINE_HASH, SGLANG", "CONTENT_CHAIN, VLLM", "CONTENT_CHAIN, SGLANG"})
    void ingest_steady_allocatesNothing(Naming naming, EventStyle style) {
        BlockTreeIndex steady = steady(naming, style);
        int size = steady.size();
        steady.turn(BATCHES);

        long bytes = allocated(() -> steady.turn(BATCHES));

        assertThat(steady.errors()).isZero();
        assertThat(steady.size()).isEqualTo(size);
        assertThat(bytes).isLessThan(ONCE);
    }

    @ParameterizedTest
    @CsvSource({"ENGINE_HASH, VLLM", "ENGINE_HASH, SGLANG", "CONTENT_CHAIN, VLLM", "CONTENT_CHAIN, SGLANG"})
    void match_residentPrefixes_allocatesNothing(Naming naming, EventStyle style) {
        BlockTreeIndex steady = steady(naming, style);
        long[][] paths = steady.paths(32, PREFIX);
        long[] matched = new long[1];
        Runnable matches = () -> {
            for (int i = 0; i < MATCHES; i++) {
                matched[0] += steady.match(paths[i % paths.length]);
            }
        };
        matches.run();

        long bytes = allocated(matches);

        assertThat(matched[0]).isEqualTo(2L * MATCHES * PREFIX);
        assertThat(bytes).isLessThan(ONCE);
    }

    private long allocated(Runnable work) {
        long before = threads.getCurrentThreadAllocatedBytes();
        work.run();
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    private static BlockTreeIndex steady(Naming naming, EventStyle style) {
        return new BlockTreeIndex(naming, new Churn(style, SIZE, /* withTokens= */ false, SEED));
    }
}
