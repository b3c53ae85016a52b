package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/** An engine's events on their way to their receiver, for one that listens to some of them. */
abstract class RelayedEvents implements KvEventSink {
    private final KvEventSink next;

    RelayedEvents(KvEventSink next) {
        this.next = next;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        next.batchStarted(sequence, stampMicros);
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
