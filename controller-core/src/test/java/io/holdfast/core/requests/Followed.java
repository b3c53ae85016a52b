package io.holdfast.core.requests;

import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.RequestRules.Decoding;

/** An engine's blocks and the requests that its events show, told of each event in this order. */
final class Followed implements KvEventSink {
    final VisibleRequests requests;
    final EngineBlocks blocks;

    Followed(RequestRules rules, RequestListener listener) {
        blocks = new EngineBlocks(
                rules.decoding() == Decoding.AT_FINISH ? CacheTraits.sglang() : CacheTraits.vllm(), new TreeListener() {
                    @Override
                    public void parted(long above, long first) {}

                    @Override
                    public void insertionEnded(long lastBlock, int depth, boolean ended) {}

                    @Override
                    public void pinnedBlockRemoved(long block) {}
                });
        requests = new VisibleRequests(rules, blocks, listener);
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        blocks.now(stampMicros * 1000);
        blocks.batchStarted(sequence, stampMicros);
        requests.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks chain) {
        blocks.stored(chain);
        requests.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        blocks.removed(hashes, from, to, tier, group);
        requests.removed(hashes, from, to, tier, group);
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
