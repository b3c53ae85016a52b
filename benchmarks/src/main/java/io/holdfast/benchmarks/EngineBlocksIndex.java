package io.holdfast.benchmarks;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;

/** {@link EngineBlocks} whose engine publishes a batch each millisecond. */
final class EngineBlocksIndex implements PrefixIndex, TreeListener {
    private static final long NANOS_PER_BATCH = 1_000_000;

    private final EngineBlocks tree = new EngineBlocks(CacheTraits.vllm(), this);
    private long chains;

    /** Removals that named no known block: 0 as long as events and tree agree. */
    long unknown() {
        return tree.unknownRemovals();
    }

    /** Chains of stores that ended. */
    long chains() {
        return chains;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        tree.now(sequence * NANOS_PER_BATCH);
        tree.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks chain) {
        tree.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        tree.removed(hashes, from, to, tier, group);
    }

    @Override
    public void batchEnded() {
        tree.batchEnded();
    }

    @Override
    public int match(HoldRequest path) {
        return tree.match(path);
    }

    @Override
    public int size() {
        return tree.size();
    }

    @Override
    public void parted(long above, long first) {}

    @Override
    public void insertionEnded(long lastBlock, int depth, boolean ended) {
        chains++;
    }

    @Override
    public void pinnedBlockRemoved(long block) {
        throw new IllegalStateException("Nothing is pinned here.");
    }
}
