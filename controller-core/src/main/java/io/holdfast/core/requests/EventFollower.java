package io.holdfast.core.requests;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.RequestRules.Decoding;

/**
 * The blocks of one cache and the requests that its events show, told of each event in this order: for callers that
 * follow an engine by nothing but its events, in their own time.
 */
public final class EventFollower implements KvEventSink {
    /** Hears what it has a use for. */
    public interface Listener extends TreeListener, RequestListener {
        /** A batch comes, made at this time. */
        default void batch(long stampMicros) {}

        /** A chain was stored: its blocks are known, its request is not yet. */
        default void stored(StoredBlocks stores) {}

        /** Blocks were removed, as in {@link KvEventSink#removed}. */
        default void removed(long[] hashes, int from, int to) {}

        @Override
        default void prompt(VisibleRequest request, int before) {}

        @Override
        default void completed(VisibleRequest request) {}

        @Override
        default void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        default void parted(long above, long first) {}

        @Override
        default void pinnedBlockRemoved(long block) {}
    }

    private final Listener listener;
    private final EngineBlocks blocks;
    private final VisibleRequests requests;

    public EventFollower(RequestRules rules, Listener listener) {
        this.listener = listener;
        // Who stores what was generated when a request ends is SGLang.
        blocks = new EngineBlocks(
                rules.decoding() == Decoding.AT_FINISH ? CacheTraits.sglang() : CacheTraits.vllm(), listener);
        requests = new VisibleRequests(rules, blocks, listener);
    }

    public EngineBlocks blocks() {
        return blocks;
    }

    public VisibleRequests requests() {
        return requests;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        listener.batch(stampMicros);
        blocks.now(stampMicros * 1000);
        blocks.batchStarted(sequence, stampMicros);
        requests.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks stores) {
        blocks.stored(stores);
        listener.stored(stores);
        requests.stored(stores);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        blocks.removed(hashes, from, to, tier, group);
        requests.removed(hashes, from, to, tier, group);
        listener.removed(hashes, from, to);
    }

    @Override
    public void cleared() {
        blocks.cleared();
        requests.cleared();
    }

    @Override
    public void batchEnded() {
        blocks.batchEnded();
        requests.batchEnded();
    }

    @Override
    public void gap(Gap gap) {
        blocks.gap(gap);
        requests.gap(gap);
    }

    @Override
    public void restarted(long seen) {
        blocks.restarted(seen);
        requests.restarted(seen);
    }
}
