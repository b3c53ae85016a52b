package io.holdfast.rules.vllm;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.SequencedSet;

/**
 * The cache as the scheduler sees it: requests get blocks for their tokens or do not, and events tell of it.
 *
 * <p>Blocks are named as soon as tokens are scheduled that fill them, before they are computed. So others find them in
 * the same pass, and an event tells of them when it ends.
 *
 * <p>Under kvcached the pool is another: blocks are memory that is taken when they hold something or are used, and
 * given back when not. Each time blocks are wanted the memory is asked how many there may be; what is cached goes for
 * it, the oldest first, and what is cached beyond the memory's cap goes when a request lets go. Its reset forgets what
 * running requests have, too.
 */
final class PagedCache {
    /** Blocks outside the GPU that are remembered, so that a server does not grow for ever. */
    private static final int MOST_OUTSIDE = 1 << 20;

    private final int blockTokens;
    private final boolean byteHashes;

    /** True if requests are heard that want their hits announced, and events name sessions. */
    private final boolean tellsMore;

    /** True if the pool is kvcached's. */
    private final boolean isElastic;

    /** True if blocks stay for later prompts; else they have no names, and nothing is told of them. */
    private final boolean keepsPrefixes;

    /** True if what is evicted can be brought back from outside the GPU. */
    private final boolean restores;

    /** Names of blocks that are outside the GPU, the oldest first. */
    private final SequencedSet<Long> outside = new LinkedHashSet<>();

    private final BlockNamer namer;
    private final byte[] root;
    private final BlockPool pool;
    private final ElasticPool memory;
    private List<CacheEvent> events = new ArrayList<>();

    PagedCache(VllmSettings settings) {
        this(settings, ElasticPool.OWN);
    }

    PagedCache(VllmSettings settings, ElasticPool memory) {
        this.memory = memory;
        isElastic = memory.isElastic();
        blockTokens = settings.blockTokens();
        byteHashes = settings.byteHashes();
        tellsMore = settings.release() == Release.V0_32;
        keepsPrefixes = settings.keepsPrefixes();
        restores = settings.is(Profile.RESTORE);
        namer = BlockNamer.of(settings);
        root = namer.root();
        pool = new BlockPool(settings.blocks(), isElastic || settings.release() != Release.V0_22, this::removed);
    }

    private void removed(BlockName name) {
        if (restores) {
            outside.add(name.hash());
            if (outside.size() > MOST_OUTSIDE) {
                outside.removeFirst();
            }
        }
        events.add(new CacheEvent.Removed(List.of(name), Tier.GPU));
    }

    VllmRequest request(Generation generation) {
        return new VllmRequest(generation, root);
    }

    /**
     * Finds how many leading blocks of a request the cache has; the request has none yet. They are in its table then,
     * and not its own before it is admitted. Tokens behind them that can be brought back are noted too. The last token is computed in any case, so the last block of an aligned
     * prompt does not count.
     */
    int find(VllmRequest request) {
        request.restored = 0;
        if (!keepsPrefixes) {
            return 0;
        }
        int most = (request.length() - 1) / blockTokens;
        nameUpTo(request, most);
        int hits = 0;
        while (hits < most) {
            int block = pool.find(request.names.get(hits));
            if (block == BlockPool.NONE) {
                break;
            }
            request.put(hits++, block);
        }
        while (hits + request.restored / blockTokens < most
                && outside.contains(
                        request.names.get(hits + request.restored / blockTokens).hash())) {
            request.restored += blockTokens;
        }
        if (hits > 0 && tellsMore && request.generation.terms().reportsHits()) {
            announce(request, 0, hits);
        }
        return hits;
    }

    /**
     * Gives a request what was found, and blocks for more tokens; false, and nothing done, unless all of it would fit.
     *
     * @param promised blocks that have to be left free beside it
     */
    boolean admit(VllmRequest request, int hits, int tokens, int promised) {
        int wanted = blocksFor(request.length()) - hits + promised;
        for (int i = 0; i < hits; i++) {
            wanted += pool.isUnused(request.table[i]) ? 1 : 0;
        }
        if (wanted > pool.free()) {
            return false;
        }
        for (int i = 0; i < hits; i++) {
            pool.touch(request.table[i]);
        }
        if (!isAllowed(blocksFor(request.length()) - hits)) {
            pool.release(request.table, hits);
            return false;
        }
        request.held = hits;
        request.registered = hits;
        request.computed = hits * blockTokens + request.restored;
        request.restoring = request.restored;
        grow(request, tokens);
        return true;
    }

    /** Returns the blocks that running requests may need beyond theirs, and one that is to join them for its answer. */
    int promised(List<VllmRequest> running, VllmRequest joining) {
        return running.stream()
                        .mapToInt(one -> blocksFor(one.longest()) - one.held)
                        .sum()
                + blocksFor(joining.longest())
                - blocksFor(joining.length());
    }

    /** Gives a request blocks for more tokens; false, and nothing done, where there are not enough. */
    boolean extend(VllmRequest request, int tokens) {
        int wanted = blocksFor(request.computed + tokens) - request.held;
        if (wanted > pool.free() || !isAllowed(wanted)) {
            return false;
        }
        grow(request, tokens);
        return true;
    }

    /** Returns true if more tokens need no block, or nothing has to be evicted for it. */
    boolean extendsWithoutEviction(VllmRequest request, int tokens) {
        return blocksFor(request.computed + tokens) == request.held
                || (pool.hasEmpty() && memory.allowedBlocks() > blocks());
    }

    /** Takes all blocks from a request; a request for them that comes soon finds what they hold. */
    void release(VllmRequest request) {
        pool.release(request.table, request.held);
        request.held = 0;
        request.registered = 0;
        request.computed = 0;
        if (isElastic) {
            pool.forgetOldest(Math.max(0, pool.kept() - memory.cachedBlocks()));
            memory.used(blocks());
        }
    }

    /** Forgets everything; refused while a request has blocks, but not by kvcached's pool. */
    boolean clear() {
        if (isElastic) {
            pool.forgetAll();
            memory.used(blocks());
        } else if (!pool.clear()) {
            return false;
        }
        outside.clear();
        events.add(new CacheEvent.Cleared());
        return true;
    }

    /** All events since the last call. */
    List<CacheEvent> drainEvents() {
        if (events.isEmpty()) {
            return List.of();
        }
        List<CacheEvent> batch = List.copyOf(events);
        events = new ArrayList<>();
        return batch;
    }

    BlockPool pool() {
        return pool;
    }

    /** Returns true if the memory has so many blocks more, for which cached blocks are evicted where they must. */
    private boolean isAllowed(int wanted) {
        if (!isElastic || wanted <= 0) {
            return true;
        }
        int missing = blocks() + wanted - memory.allowedBlocks();
        while (missing > 0 && pool.kept() > 0) {
            // What goes may leave a limit in force that was above it, and so allow less than before.
            pool.forgetOldest(Math.min(missing, pool.kept()));
            memory.used(blocks());
            missing = blocks() + wanted - memory.allowedBlocks();
        }
        return missing <= 0;
    }

    /** Blocks of memory that the cache takes: a block that is free and holds nothing takes none. */
    private int blocks() {
        return pool.inUse() + pool.kept();
    }

    private void grow(VllmRequest request, int tokens) {
        request.computed += tokens;
        int blocks = blocksFor(request.computed);
        while (request.held < blocks) {
            request.put(request.held++, pool.take());
        }
        memory.used(blocks());
        int full = request.computed / blockTokens;
        if (full == request.registered || !keepsPrefixes) {
            return;
        }
        nameUpTo(request, full);
        for (int i = request.registered; i < full; i++) {
            pool.name(request.table[i], request.names.get(i));
        }
        announce(request, request.registered, full);
        request.registered = full;
    }

    private void announce(VllmRequest request, int from, int to) {
        boolean first = from == 0;
        RequestOptions terms = request.generation.terms();
        events.add(new CacheEvent.Stored(
                first ? Optional.empty() : Optional.of(request.names.get(from - 1)),
                request.names.subList(from, to),
                request.generation.tokens(from * blockTokens, to * blockTokens),
                blockTokens,
                Tier.GPU,
                first ? terms.salt() : "",
                tellsMore ? terms.session() : ""));
    }

    private void nameUpTo(VllmRequest request, int blocks) {
        Generation generation = request.generation;
        for (int i = request.names.size(); i < blocks; i++) {
            int from = i * blockTokens;
            int to = from + blockTokens;
            String salt = i == 0 ? generation.terms().salt() : "";
            request.digest = to <= generation.prompt().length
                    ? namer.next(request.digest, generation.prompt(), from, blockTokens, salt)
                    : namer.next(request.digest, generation.tokens(from, to).toArray(), 0, blockTokens, salt);
            request.names.add(
                    byteHashes
                            ? new BlockName.Digest(request.digest)
                            : new BlockName.Numbered(namer.name(request.digest)));
        }
    }

    private int blocksFor(int tokens) {
        return (tokens + blockTokens - 1) / blockTokens;
    }
}
