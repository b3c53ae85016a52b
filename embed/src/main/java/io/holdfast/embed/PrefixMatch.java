package io.holdfast.embed;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.Tier;
import java.util.Optional;

/**
 * Cached part of a prompt at each engine: the answer to one {@link Fleet#match}, in a buffer that one thread keeps.
 *
 * <p>Neither asking nor reading allocates anything once the buffer has met a prompt as long and as many engines as
 * there are. It is as of one boundary of batches, and does not change afterwards; an engine that was removed since is
 * still in it.
 */
public final class PrefixMatch {
    private final Matches matches = new Matches();
    private long[] names = new long[256];
    private Roster roster = Roster.EMPTY;
    private int blocks;
    private int blockTokens = 1;

    /** Number of whole blocks in the prompt. */
    public int blocks() {
        return blocks;
    }

    /** Tokens of the prompt that the engine has, from the first on, on the GPU or in host memory. */
    public int tokens(Engine engine) {
        return tokens(engine, Tier.HOST);
    }

    /** Tokens in this tier or nearer ones; the most that one of several caches has. */
    public int tokens(Engine engine, Tier deepest) {
        int[] caches = roster.cachesOf(engine);
        int most = 0;
        for (int i = 0; i < caches.length; i++) {
            most = Math.max(most, matches.depthOf(caches[i], deepest));
        }
        return most * blockTokens;
    }

    /** Tokens in the cache of one data-parallel rank; 0 where there is no such rank. */
    public int tokens(Engine engine, int rank, Tier deepest) {
        int[] caches = roster.cachesOf(engine);
        return rank < caches.length ? matches.depthOf(caches[rank], deepest) * blockTokens : 0;
    }

    /** The engine with the most, of equals the one that was added first; absent where none has any. */
    public Optional<Engine> longest() {
        Optional<Engine> longest = Optional.empty();
        int most = 0;
        for (int i = 0; i < roster.size(); i++) {
            Engine each = roster.engine(i);
            int tokens = tokens(each);
            if (tokens > most) {
                most = tokens;
                longest = each.present();
            }
        }
        return longest;
    }

    /** Names the whole blocks of a prompt. */
    void name(int[] tokens, int from, int count, int tokensPerBlock, long namespace) {
        if (names.length < count / tokensPerBlock) {
            names = new long[Math.max(2 * names.length, count / tokensPerBlock)];
        }
        blocks = ContentNames.names(tokens, from, count, tokensPerBlock, namespace, names);
    }

    /** Has the answer about blocks that were named here. */
    void fill(Fleet fleet) {
        fill(fleet, names, 0, blocks);
    }

    void fill(Fleet fleet, long[] path, int from, int count) {
        blocks = count;
        blockTokens = fleet.blockTokens();
        Roster before;
        do {
            // A cache's id is given out again: what an id means must not change while it is looked for.
            before = fleet.roster();
            fleet.matched().match(path, from, count, matches);
        } while (before != fleet.roster());
        roster = before;
        for (int i = 0; i < before.size(); i++) {
            before.engine(i).matched();
        }
    }
}
