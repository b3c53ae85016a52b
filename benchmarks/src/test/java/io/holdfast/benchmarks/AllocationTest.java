package io.holdfast.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.holdfast.core.hold.HoldRequest;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The hot path allocates nothing per block or frame, counted by the JVM for this thread. A run may allocate a little once, whatever
 * its length: that is what {@link #ONCE} allows.
 */
class AllocationTest {
    private static final long ONCE = 16 << 10;

    private static final int SIZE = 1 << 13;
    private static final int PREFIX = 256;
    private static final long SEED = 7;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @ParameterizedTest
    @EnumSource
    void ingest_steady_allocatesNothing(EventStyle style) {
        SteadyIndex steady = steady(IndexKind.TREE, style);

        long bytes = allocated(() -> steady.turn(10_000));

        assertThat(bytes).isLessThan(ONCE);
    }

    @ParameterizedTest
    @EnumSource
    void match_residentPrefixes_allocatesNothing(EventStyle style) {
        SteadyIndex steady = steady(IndexKind.TREE, style);
        HoldRequest[] paths = steady.paths(32, PREFIX);
        long[] matched = new long[1];
        Runnable matches = () -> {
            for (int i = 0; i < 2_000; i++) {
                matched[0] += steady.match(paths[i % paths.length]);
            }
        };
        matches.run();

        long bytes = allocated(matches);

        assertThat(matched[0]).isEqualTo(2L * 2_000 * PREFIX);
        assertThat(bytes).isLessThan(ONCE);
    }

    @ParameterizedTest
    @EnumSource
    void decodeIntoTree_steady_allocatesNothing(EventStyle style) {
        EngineBlocksIndex tree = new EngineBlocksIndex();
        new SteadyIndex(tree, new Churn(style, SIZE, /* withTokens= */ false, SEED));
        SteadyFrames frames = SteadyFrames.of(style, SIZE, SEED);
        frames.decode(frames.count(), tree);
        int count = 4 * frames.count();

        long bytes = allocated(() -> frames.decode(count, tree));

        assertThat(tree.unknown()).isZero();
        assertThat(bytes).isLessThan(ONCE);
    }

    @ParameterizedTest
    @EnumSource
    void theCountSeesAnIndexThatAllocates(EventStyle style) {
        SteadyIndex steady = steady(IndexKind.MAP, style);

        long bytes = allocated(() -> steady.turn(10_000));

        assertThat(bytes).isGreaterThan(10_000L * Churn.BLOCKS_PER_BATCH * Long.BYTES);
    }

    private long allocated(Runnable work) {
        long before = threads.getCurrentThreadAllocatedBytes();
        work.run();
        return threads.getCurrentThreadAllocatedBytes() - before;
    }

    private static SteadyIndex steady(IndexKind index, EventStyle style) {
        return new SteadyIndex(index.create(), new Churn(style, SIZE, /* withTokens= */ false, SEED));
    }
}
