package io.holdfast.benchmarks.index;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;

/**
 * The block tree that ships. One engine's blocks are named by its own hashes, several engines' by content chain with a map
 * for each engine.
 */
final class TreeIndex implements Index {
    /** In a workload file a second store of a block is a touch, and a clear empties all there is. */
    private static final CacheTraits TRAITS = new CacheTraits(false, false);

    private final BlockTree tree;
    private final Cache[] caches;
    private final int[] engineOf;
    private final long[] sequences;
    private final boolean named;
    private final StoredBlocks chain = new StoredBlocks();

    TreeIndex(int engines) {
        named = engines > 1;
        tree = new BlockTree(named ? BlockTree.Naming.CONTENT_CHAIN : BlockTree.Naming.ENGINE_HASH);
        caches = new Cache[engines];
        engineOf = new int[engines];
        sequences = new long[engines];
        for (int i = 0; i < engines; i++) {
            caches[i] = tree.addCache(TRAITS);
            engineOf[caches[i].id()] = i;
        }
    }

    @Override
    public void apply(Events events, int event) {
        int engine = events.engine(event);
        int from = events.from(event);
        int to = events.to(event);
        Cache cache = caches[engine];
        cache.batchStarted(sequences[engine]++, 0);
        switch (events.kind(event)) {
            case WorkloadFile.REMOVE -> cache.removed(events.hashes(), from, to, Tier.GPU, 0);
            case WorkloadFile.CLEAR -> cache.cleared();
            default -> {
                chain.reset().hashes(events.hashes(), from, to - from);
                if (named) {
                    chain.names(events.names(), from);
                }
                if (events.kind(event) == WorkloadFile.STORE) {
                    chain.under(events.parent(event));
                }
                cache.stored(chain);
            }
        }
        cache.batchEnded();
    }

    @Override
    public long errors() {
        long errors = 0;
        for (Cache cache : caches) {
            errors += cache.unknownRemovals() + cache.unplaced();
        }
        return errors;
    }

    @Override
    public Reader reader() {
        Matches matches = new Matches();
        return new Reader() {
            @Override
            public int match(long[] names, int from, int blocks) {
                tree.match(names, from, blocks, matches);
                return matches.count();
            }

            @Override
            public int engine(int i) {
                return engineOf[matches.cache(i)];
            }

            @Override
            public int depth(int i) {
                return matches.depth(i);
            }
        };
    }
}
