package io.holdfast.benchmarks;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Hands everything on and remembers which batch was the last. */
final class LastHeard implements KvEventSink {
    private final KvEventSink next;
    private long sequence = -1;

    LastHeard(KvEventSink next) {
        this.next = next;
    }

    /** The last batch that was handed on whole; -1 before the first. */
    long sequence() {
        return sequence;
    }

    @Override
    public void batchStarted(long number, long stampMicros) {
        next.batchStarted(number, stampMicros);
        sequence = number;
    }

    @Override
    public void stored(StoredBlocks chain) {
        next.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        next.removed(hashes, from, to, tier, group);
    }

    @Override
    public void cleared() {
        next.cleared();
    }

    @Override
    public void batchEnded() {
        next.batchEnded();
    }

    @Override
    public void gap(Gap gap) {
        next.gap(gap);
    }

    @Override
    public void restarted(long seen) {
        next.restarted(seen);
    }
}
