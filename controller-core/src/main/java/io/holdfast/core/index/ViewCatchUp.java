package io.holdfast.core.index;

import java.util.Optional;
import java.util.function.Function;

/**
 * A {@link ViewSnapshot} on its way to a later batch: it is told what the engine published since, beside the tree that is
 * to have it, which hears nothing twice that way.
 */
public final class ViewCatchUp {
    private static final TreeListener NOBODY = new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    };

    private final KvEventSink events;
    private final Function<StreamPosition, Optional<ViewSnapshot>> now;

    /** Begins with a snapshot. */
    public ViewCatchUp(ViewSnapshot from) {
        if (from.naming == BlockTree.Naming.ENGINE_HASH) {
            EngineBlocks blocks = new EngineBlocks(from.traits, NOBODY);
            blocks.become(from);
            events = blocks;
            now = blocks::snapshot;
        } else {
            Cache cache = new BlockTree(from.naming).addCache(from.traits);
            cache.become(from);
            events = cache;
            now = cache::snapshot;
        }
    }

    /** Sink for the batches after the snapshot's, in their order. */
    public KvEventSink events() {
        return events;
    }

    /** Returns what the cache holds after the last batch that was told; empty where that is not certain. */
    public Optional<ViewSnapshot> at(StreamPosition position) {
        return now.apply(position);
    }
}
