package io.holdfast.benchmarks;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Counts what it hears and does nothing else. */
public class CountingSink implements KvEventSink {
    private long stored;
    private long removed;
    private long events;

    public CountingSink() {}

    /** Returns the number of blocks stored. */
    public final long stored() {
        return stored;
    }

    /** Returns the number of blocks stored and removed. */
    public final long blocks() {
        return stored + removed;
    }

    /** Returns the number of stores, removals and clears. */
    public final long events() {
        return events;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        events++;
        stored += chain.count();
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        events++;
        removed += to - from;
    }

    @Override
    public void cleared() {
        events++;
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(Gap gap) {
        throw new IllegalStateException("What is played has no gaps.");
    }

    @Override
    public void restarted(long seen) {
        throw new IllegalStateException("What is played does not restart.");
    }
}
