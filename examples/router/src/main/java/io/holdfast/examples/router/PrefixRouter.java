package io.holdfast.examples.router;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.Tier;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;

/**
 * Chooses the engine that holds most of a prompt, by what each engine says that it stores and removes. Load is not weighed.
 * Blocks go by their tokens, however engines hash, and are of one size. The events' thread adds; any thread may choose.
 */
public final class PrefixRouter {
    /** An engine, and its cache: the sink for its events. */
    public record Engine(URI url, Cache cache) {}

    private final BlockTree tree = new BlockTree(BlockTree.Naming.CONTENT_CHAIN);
    private final List<Engine> leastRecentFirst = new ArrayList<>();
    private final int blockTokens;

    public PrefixRouter(int blockTokens) {
        this.blockTokens = blockTokens;
    }

    public synchronized Engine add(URI url, CacheTraits traits) {
        Engine engine = new Engine(url, tree.addCache(traits));
        leastRecentFirst.add(engine);
        return engine;
    }

    /** The engine with the longest prefix of these tokens; among equals the least recently chosen. */
    public Engine choose(int[] tokens) {
        Matches held = match(tokens);
        synchronized (this) {
            Engine best = leastRecentFirst.getFirst();
            for (Engine each : leastRecentFirst) {
                best = cachedTokens(each, held) > cachedTokens(best, held) ? each : best;
            }
            leastRecentFirst.remove(best);
            leastRecentFirst.add(best);
            return best;
        }
    }

    /** How many of these tokens, from the first on, the engine has said that it holds on the GPU or in host memory. */
    public int cachedTokens(Engine engine, int[] tokens) {
        return cachedTokens(engine, match(tokens));
    }

    private int cachedTokens(Engine engine, Matches held) {
        return held.depthOf(engine.cache.id(), Tier.HOST) * blockTokens;
    }

    private Matches match(int[] tokens) {
        long[] names = new long[tokens.length / blockTokens];
        ContentNames.names(tokens, 0, tokens.length, blockTokens, ContentNames.NO_NAMESPACE, names);
        Matches held = new Matches();
        tree.match(names, 0, names.length, held);
        return held;
    }
}
