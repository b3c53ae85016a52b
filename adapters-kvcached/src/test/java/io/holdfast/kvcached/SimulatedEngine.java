package io.holdfast.kvcached;

import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.kvcached.PoolSegment;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/** An engine's memory by kvcached's own rules, in virtual time: what it wants it gets as far as its limit allows. */
final class SimulatedEngine {
    static final long BUNDLE = 16 << 20;
    private static final int BLOCKS_PER_PAGE = 8;

    /** The segment, with the time of its last write. */
    private final class Memory implements PoolSegment {
        @Override
        public OptionalLong limit() {
            return OptionalLong.of(limit);
        }

        @Override
        public void publish(long usedBytes, long preallocatedBytes) {
            used = usedBytes;
            reserved = preallocatedBytes;
            lastWritten = clock.nanos();
        }

        @Override
        public void close() {}
    }

    private final VirtualClock clock;
    private KvcachedSettings settings;
    private KvcachedPool pool;
    private int blocks;
    long limit;
    long used;
    long reserved;
    long lastWritten;
    boolean answers = true;
    double waiting;
    double running;
    double ttftSum;
    double ttftCount;
    double preemptions;
    double largestRequest = 512;

    SimulatedEngine(VirtualClock clock, int pages) {
        this.clock = clock;
        this.settings = KvcachedSettings.of(EngineTag.VLLM, pages * BLOCKS_PER_PAGE, 16);
        this.pool = started();
    }

    private KvcachedPool started() {
        limit = settings.startupBytes();
        used = 0;
        reserved = 0;
        blocks = 0;
        return KvcachedPool.start(settings, clock, new Memory());
    }

    void restart() {
        pool = started();
    }

    void restart(int pages, boolean preallocates) {
        settings =
                KvcachedSettings.of(EngineTag.VLLM, pages * BLOCKS_PER_PAGE, 16).withPreallocates(preallocates);
        pool = started();
    }

    /** Requests need so many blocks together; answers how many they got. */
    int want(int wanted) {
        if (wanted > blocks) {
            wanted = Math.max(blocks, Math.min(wanted, pool.allowedBlocks()));
        }
        blocks = wanted;
        pool.used(wanted);
        return wanted;
    }

    void write(long bytes) {
        limit = bytes;
        lastWritten = clock.nanos();
    }

    long startup() {
        return settings.startupBytes();
    }

    long mapped() {
        return used + reserved;
    }

    /** What it may have by the limit that it follows, in bytes of whole pages. */
    long inForce() {
        return (blocks + 1 + pool.available()) / BLOCKS_PER_PAGE * BUNDLE;
    }

    Segment segment() {
        return new Segment(limit, used, reserved);
    }

    EngineLoad load() {
        return new EngineLoad(
                answers,
                OptionalDouble.of(running),
                OptionalDouble.of(waiting),
                OptionalDouble.of(ttftSum),
                OptionalDouble.of(ttftCount),
                OptionalDouble.of(preemptions),
                OptionalDouble.of(settings.blocks() * 16.0),
                OptionalDouble.of(largestRequest),
                1);
    }
}
