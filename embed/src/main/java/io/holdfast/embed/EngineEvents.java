package io.holdfast.embed;

import io.holdfast.core.index.Cache;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.Optional;

/**
 * The events of one cache, decoded once and told twice: to the fleet's index and, where anything is held there, to the
 * engine's controller. What either throws is the fault of this engine and of no other; routing goes on without deciding.
 *
 * @param index by content, as routing asks
 * @param decisions by the engine's own names, as the engine is told to pin
 */
record EngineEvents(Engine engine, Cache index, Optional<KvEventSink> decisions) implements KvEventSink {
    @FunctionalInterface
    private interface Event {
        void tell(KvEventSink sink);
    }

    private void tell(Event event) {
        if (engine.routed()) {
            try {
                event.tell(index);
            } catch (RuntimeException | Error e) {
                engine.indexFailed(e);
            }
        }
        if (decisions.isPresent() && engine.fault().isEmpty()) {
            try {
                event.tell(decisions.get());
            } catch (RuntimeException | Error e) {
                engine.failed("its events could not be learned from", e);
            }
        }
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        engine.toldEvents();
        tell(sink -> sink.batchStarted(sequence, stampMicros));
    }

    @Override
    public void stored(StoredBlocks stores) {
        engine.announced(stores.blockTokens());
        tell(sink -> sink.stored(stores));
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        tell(sink -> sink.removed(hashes, from, to, tier, group));
    }

    @Override
    public void cleared() {
        tell(KvEventSink::cleared);
    }

    @Override
    public void batchEnded() {
        tell(KvEventSink::batchEnded);
    }

    @Override
    public void gap(Gap gap) {
        engine.toldEvents();
        tell(sink -> sink.gap(gap));
    }

    @Override
    public void restarted(long seen) {
        engine.toldEvents();
        tell(sink -> sink.restarted(seen));
    }
}
