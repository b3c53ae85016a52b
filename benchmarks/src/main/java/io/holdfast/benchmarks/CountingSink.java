package io.holdfast.benchmarks;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Counts blocks that are stored and does nothing else. */
final class CountingSink implements ChurnSink {
    private long stored;

    long stored() {
        return stored;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        stored += chain.count();
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {}

    @Override
    public void batchEnded() {}
}
