package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Writes down again what the decoder read. */
record EncoderSink(KvEventEncoder encoder) implements KvEventSink {
    @Override
    public void batchStarted(long sequence, long stampMicros) {}

    @Override
    public void stored(StoredBlocks chain) {
        encoder.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        encoder.removed(hashes, from, to, tier, group);
    }

    @Override
    public void cleared() {
        encoder.cleared();
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(Gap gap) {}

    @Override
    public void restarted(long seen) {}
}
