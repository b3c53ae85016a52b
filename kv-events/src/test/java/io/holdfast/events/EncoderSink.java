package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** Writes down again what the decoder read. */
record EncoderSink(KvEventEncoder encoder) implements KvEventSink {
    @Override
    public void batchStarted(long sequence) {}

    @Override
    public void stored(StoredBlocks chain) {
        encoder.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int count, Tier tier) {
        encoder.removed(hashes, count, tier);
    }

    @Override
    public void cleared() {
        encoder.cleared();
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(long expected, long seen) {}

    @Override
    public void restarted(long seen) {}
}
