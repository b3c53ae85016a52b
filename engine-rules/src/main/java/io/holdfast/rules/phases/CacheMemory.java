package io.holdfast.rules.phases;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/*
 * Who has which part of the cache, counted in blocks.
 *
 * capacity = free + taken by requests + kept for reuse (in the tree, or for agents).
 *
 * A request is admitted when what all requests may take in the end fits beside what they use of the tree. So a request that
 * was admitted always gets its next block, if whoever hands it out evicts what nobody uses; nothing has to be taken back from
 * a request, and nothing waits while the cache is full of old blocks. In slots, each request takes a whole context at once.
 *
 * Blocks of a prompt join the tree when the whole prompt is prefilled, those of the answer when the request ends: two
 * requests with one beginning that are prefilled at the same time both compute it, and one copy is freed.
 */
final class CacheMemory {
    private final PhaseSettings settings;
    private final Optional<PrefixTree> tree;
    private final Optional<AgentCaches> agents;

    private int blocks;
    private int committed;
    private int taken;
    private long evicted;

    CacheMemory(PhaseSettings settings) {
        this.settings = settings;
        this.blocks = settings.blocks();
        int block = settings.blockTokens();
        this.tree = settings.profile().sharesPrefixes() ? Optional.of(new PrefixTree(block)) : Optional.empty();
        this.agents = settings.profile() == Profile.RESTORE ? Optional.of(new AgentCaches(block)) : Optional.empty();
    }

    PhaseRequest request(Generation request) {
        return new PhaseRequest(request, tree.isPresent() ? names(request, request.prompt()) : new long[0]);
    }

    /** From now on so many blocks; what running requests may take is not taken from them. */
    void resize(int wanted) {
        blocks = wanted;
    }

    /** Finds what is cached of the prompt and takes blocks for the rest of it; false when the request would not fit. */
    boolean admit(PhaseRequest one) {
        int prompt = one.promptTokens();
        if (settings.profile().inSlots()) {
            return fits(one, settings.blocksFor(settings.contextTokens()))
                    && begin(one, 0, settings.blocksFor(settings.contextTokens()));
        }
        int whole = settings.blocksFor(prompt + one.request.left());
        if (tree.isPresent()) {
            PrefixTree blocksOf = tree.get();
            int found = blocksOf.match(one.names, (prompt - 1) / settings.blockTokens());
            PrefixTree.Node node = blocksOf.at(one.names, found);
            blocksOf.lock(node);
            if (!fits(one, whole - found)) {
                blocksOf.unlock(node);
                return false;
            }
            one.node = Optional.of(node);
            one.shared = found;
            return begin(one, found * settings.blockTokens(), settings.blocksFor(prompt) - found);
        }
        if (!fits(one, whole)) {
            return false;
        }
        AgentCaches.Found found = agents.map(caches -> caches.find(one.request)).orElse(AgentCaches.Found.NOTHING);
        one.restoring = found.onGpu() ? 0 : found.tokens();
        return begin(one, found.tokens(), settings.blocksFor(prompt));
    }

    /** Takes the block for the request's next token where it needs one; false when none is free. */
    boolean grow(PhaseRequest one, boolean mayEvict) {
        int missing = settings.blocksFor(one.request.length()) - one.shared - one.taken;
        if (missing > 0) {
            if (!mayEvict && free() < missing) {
                return false;
            }
            take(one, missing);
        }
        return true;
    }

    /** The whole prompt is there: others may use it. */
    void prefilled(PhaseRequest one) {
        tree.ifPresent(_ -> share(one, one.names, one.names.length, one.request.prompt()));
    }

    /** @param answered whether what it computed is worth keeping */
    void release(PhaseRequest one, boolean answered) {
        Generation request = one.request;
        // The last token was said and not computed.
        int computed = request.length() - 1;
        if (answered && tree.isPresent()) {
            int[] tokens = request.tokens();
            share(one, names(request, tokens), computed / settings.blockTokens(), tokens);
        }
        if (answered && agents.isPresent()) {
            agents.get().keep(request, Arrays.copyOf(request.tokens(), computed), one.taken);
        }
        taken -= one.taken;
        committed -= one.committed;
        one.taken = 0;
        one.committed = 0;
        one.node.ifPresent(node -> tree.ifPresent(blocksOf -> blocksOf.unlock(node)));
        one.node = Optional.empty();
    }

    List<CacheEvent> drainEvents() {
        return tree.map(PrefixTree::drainEvents).orElse(List.of());
    }

    Optional<PrefixTree> tree() {
        return tree;
    }

    int capacityTokens() {
        return capacity() * settings.blockTokens();
    }

    int freeTokens() {
        return Math.max(0, free()) * settings.blockTokens();
    }

    /** Kept, and used by nobody. */
    int cachedTokens() {
        return (kept() - locked()) * settings.blockTokens();
    }

    long evictedTokens() {
        return evicted * settings.blockTokens();
    }

    private boolean fits(PhaseRequest one, int wanted) {
        if (locked() + committed + wanted > blocks) {
            return false;
        }
        one.committed = wanted;
        committed += wanted;
        return true;
    }

    private boolean begin(PhaseRequest one, int found, int wanted) {
        one.computed = found;
        one.uncached = one.promptTokens() - found;
        take(one, wanted);
        return true;
    }

    private void take(PhaseRequest one, int wanted) {
        int missing = wanted - free();
        if (missing > 0) {
            evicted += tree.map(blocksOf -> blocksOf.evict(missing)).orElse(0)
                    + agents.map(caches -> caches.moveOut(missing)).orElse(0);
        }
        one.taken += wanted;
        taken += wanted;
        if (free() < 0) {
            throw new IllegalStateException("A request that was admitted found no block.");
        }
    }

    private void share(PhaseRequest one, long[] names, int count, int[] tokens) {
        PrefixTree blocksOf = tree.orElseThrow();
        int given = count - one.shared;
        blocksOf.insert(names, count, tokens);
        PrefixTree.Node last = blocksOf.at(names, count);
        blocksOf.lock(last);
        one.node.ifPresent(blocksOf::unlock);
        one.node = Optional.of(last);
        one.shared = count;
        one.taken -= given;
        taken -= given;
        one.committed -= given;
        committed -= given;
    }

    /** Never less than what was promised to running requests. */
    private int capacity() {
        return Math.max(blocks, locked() + committed);
    }

    private int free() {
        return capacity() - taken - kept();
    }

    private int kept() {
        return tree.map(PrefixTree::blocks).orElse(0)
                + agents.map(AgentCaches::hotBlocks).orElse(0);
    }

    private int locked() {
        return tree.map(PrefixTree::lockedBlocks).orElse(0);
    }

    private long[] names(Generation request, int[] tokens) {
        return SglangBlockNames.of(
                tokens, settings.blockTokens(), request.terms().salt());
    }
}
