package io.holdfast.app.bench;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Counts what it hears and does nothing else. */
class CountingSink implements KvEventSink {
    private long blocks;
    private long events;

    /** Blocks stored and removed. */
    final long blocks() {
        return blocks;
    }

    /** Stores, removals and clears. */
    final long events() {
        return events;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        events++;
        blocks += chain.count();
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        events++;
        blocks += to - from;
    }

    @Override
    public void cleared() {
        events++;
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(Gap gap) {
        throw new IllegalStateException("A recording has no gaps.");
    }

    @Override
    public void restarted(long seen) {
        throw new IllegalStateException("A recording does not restart.");
    }
}
