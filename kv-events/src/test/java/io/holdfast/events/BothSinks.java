package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Tells two sinks the same. */
record BothSinks(KvEventSink one, KvEventSink other) implements KvEventSink {
    @Override
    public void batchStarted(long sequence, long stampMicros) {
        one.batchStarted(sequence, stampMicros);
        other.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks chain) {
        one.stored(chain);
        other.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        one.removed(hashes, from, to, tier, group);
        other.removed(hashes, from, to, tier, group);
    }

    @Override
    public void cleared() {
        one.cleared();
        other.cleared();
    }

    @Override
    public void batchEnded() {
        one.batchEnded();
        other.batchEnded();
    }

    @Override
    public void gap(Gap gap) {
        one.gap(gap);
        other.gap(gap);
    }

    @Override
    public void restarted(long seen) {
        one.restarted(seen);
        other.restarted(seen);
    }
}
