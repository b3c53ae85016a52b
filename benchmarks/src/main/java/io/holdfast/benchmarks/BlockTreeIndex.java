package io.holdfast.benchmarks;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.Arrays;

/**
 * A {@link BlockTree} of one cache under {@link Churn}, at its final size.
 *
 * <p>Named by content chain, a block's name is not its engine's hash, as in a fleet: the way from one to the other is
 * part of the work.
 */
final class BlockTreeIndex implements ChurnSink {
    /** Odd, so that no two hashes have the same name. */
    private static final long NAMING = 0xD6E8FEB86659FD93L;

    private final boolean named;
    private final BlockTree tree;
    private final Cache cache;
    private final Churn churn;
    private final Matches matches = new Matches();
    private long[] names = new long[Churn.OWN];

    /** The churn must be new. */
    BlockTreeIndex(Naming naming, Churn churn) {
        named = naming == Naming.CONTENT_CHAIN;
        tree = new BlockTree(naming);
        cache = tree.addCache(CacheTraits.vllm());
        this.churn = churn;
        churn.fill(this);
        turn(churn.period());
    }

    /** Applies this many batches. */
    void turn(int batches) {
        for (int i = 0; i < batches; i++) {
            churn.next(this);
        }
    }

    /** Returns so many resident prefixes, spread over all places; they stay until the next {@link #turn}. */
    long[][] paths(int count, int blocks) {
        long[][] paths = new long[count][];
        Arrays.setAll(paths, i -> named(churn.path((int) ((long) i * churn.places() / count), blocks)));
        return paths;
    }

    int match(long[] path) {
        tree.match(path, 0, path.length, matches);
        return matches.depthOf(cache.id(), Tier.GPU);
    }

    int size() {
        return cache.blocks();
    }

    /** Removals of unknown blocks, and stores under unknown ones: 0 as long as events and tree agree. */
    long errors() {
        return cache.unknownRemovals() + cache.unplaced();
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        cache.batchStarted(sequence, stampMicros);
    }

    @Override
    public void stored(StoredBlocks chain) {
        if (named) {
            if (chain.count() > names.length) {
                names = new long[2 * chain.count()];
            }
            for (int i = 0; i < chain.count(); i++) {
                names[i] = chain.hash(i) * NAMING;
            }
            chain.names(names, 0);
        }
        cache.stored(chain);
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        cache.removed(hashes, from, to, tier, group);
    }

    @Override
    public void batchEnded() {
        cache.batchEnded();
    }

    private long[] named(long[] hashes) {
        return named ? Arrays.stream(hashes).map(hash -> hash * NAMING).toArray() : hashes;
    }
}
