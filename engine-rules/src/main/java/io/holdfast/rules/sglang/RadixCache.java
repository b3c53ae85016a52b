package io.holdfast.rules.sglang;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/*
 * The engine's prefix cache and its pool of token slots.
 *
 * The tree
 * --------
 * Blocks (pages of tokens) are named by the chain hash of everything up to them, so a name stands for a whole prefix
 * and the tree compares names where the engine compares tokens. A node is a run of blocks. Matching cuts a node in two
 * where a prompt leaves it: the upper half is new, the lower half stays the object it was. Eviction takes whole nodes,
 * leaves first, so the cuts decide what goes together. Every visit stamps a node with the next number of one counter,
 * from the root downwards: the deepest node of a path is its newest. An insertion raises the priority of its whole path
 * and counts a hit on every node that ends beyond what the same request has been counted for. Prompts with different
 * extra keys or salts have trees of their own; since an extra key is no part of names, two trees can hold the same
 * names.
 *
 * Sizes
 * -----
 * free + evictable + protected + held by requests = capacity, in tokens. A node with a lock is protected; a lock on a
 * node locks the path up to its root. Nodes on the GPU without lock and without children there are the leaves that may
 * be evicted, in an EvictionOrder. Every change of a node ends with review(), which puts the node where it belongs now.
 *
 * Under kvcached what is evicted may give no room (see TokenSlots), so more goes until it does or nothing is left.
 *
 * Tiers
 * -----
 * With a host tier a node is on the GPU, on the host, or on both; on a path the nodes on the GPU come first. Evicting a
 * node that is on the host too leaves it there, evicting another deletes it. What is on the host alone is matched like
 * the rest: loadBack() brings it back, all or nothing, and an insertion that meets it takes the request's own copy
 * instead.
 *
 * Who else protects
 * -----------------
 * SessionHolds moves nodes within the order of eviction, PinIndex locks paths or keeps nodes on the host. They know
 * nodes, not the tree; the tree tells them of new and of deleted nodes.
 */
final class RadixCache {
    /**
     * Ends of a prompt's blocks in the tree.
     *
     * @param onGpu tokens that are on the GPU, from the first on
     * @param gpuNode where these end
     * @param onHost tokens after them that are on the host alone
     * @param node where those end
     */
    record Match(int onGpu, RadixNode gpuNode, int onHost, RadixNode node) {
        int tokens() {
            return onGpu + onHost;
        }
    }

    /** @param present tokens that were on the GPU before, from the first on */
    record Insertion(int present, RadixNode node) {}

    /** The engine does not load back less than this. */
    private static final int LEAST_LOADED_TOKENS = 10;

    private final Variant variant;
    private final int pageTokens;
    private final HoldFaults holdFaults;
    private final TokenSlots slots;

    /**
     * The branch that pins on the GPU counts none without a host tier: least frequently used is least recently used
     * there.
     */
    private final boolean countsHits;

    private final Faults faults;
    private final EventQueue events;
    private final EvictionOrder leaves;
    private final HostTier host;
    private final SessionHolds sessions;
    private final PinIndex pins;
    private final Map<Namespace, RadixNode> roots = new HashMap<>();
    private long uses;

    private int evictable;
    private int locked;
    private long evictedTokens;

    RadixCache(SglangSettings settings, Faults faults) {
        this(settings, faults, ElasticPool.OWN);
    }

    RadixCache(SglangSettings settings, Faults faults, ElasticPool memory) {
        slots = new TokenSlots(settings, memory);
        variant = settings.variant();
        pageTokens = settings.pageTokens();
        countsHits = variant != Variant.PIN_GPU || settings.hostRatio() > 0;
        this.faults = faults;
        events = new EventQueue(pageTokens);
        leaves = new EvictionOrder(settings.eviction());
        holdFaults = new HoldFaults(faults);
        sessions = new SessionHolds(holdFaults, this::review);
        host = new HostTier(settings, events, node -> delete(node, Tier.HOST));
        pins = PinIndex.of(settings, holdFaults, this::lock, this::unlock, this::review);
        clear();
    }

    /**
     * Finds the longest cached part of the first {@code count} blocks; touches it and cuts a node that it ends within.
     */
    Match match(TokenChain chain, int count) {
        RadixNode node = root(chain.space());
        RadixNode gpuNode = node;
        int at = 0;
        int gpuBlocks = 0;
        while (at < count) {
            RadixNode child = node.children.get(chain.name(at));
            if (child == null) {
                break;
            }
            int shared = child.shared(chain, at, count);
            at += shared;
            node = upTo(child, shared);
            use(node);
            review(node);
            if (node.onGpu()) {
                gpuNode = node;
                gpuBlocks = at;
            }
        }
        return new Match(gpuBlocks * pageTokens, gpuNode, (at - gpuBlocks) * pageTokens, node);
    }

    /**
     * Puts the first {@code count} blocks into the tree; what is missing becomes one new leaf. Accounts the new blocks
     * as the tree's: the caller no longer holds them.
     *
     * @param counted blocks for which this request has been counted as a hit
     */
    Insertion insert(TokenChain chain, int count, long priority, int counted) {
        RadixNode node = root(chain.space());
        int at = 0;
        int present = 0;
        while (at < count) {
            RadixNode child = node.children.get(chain.name(at));
            if (child == null) {
                break;
            }
            int shared = child.shared(chain, at, count);
            at += shared;
            node = upTo(child, shared);
            use(node);
            node.priority = Math.max(node.priority, priority);
            if (node.onGpu()) {
                present = at;
            } else {
                recomputed(node, chain.session());
            }
            if (at > counted) {
                hit(node);
            }
            review(node);
        }
        if (at < count) {
            node = grow(node, chain, at, count);
            node.priority = priority;
            hit(node);
            review(node);
        }
        return new Insertion(present * pageTokens, node);
    }

    /** Evicts whole nodes until at least this many tokens are freed or nothing is left to evict; returns the freed. */
    int evict(int tokens) {
        int freed = 0;
        while (freed < tokens) {
            Optional<RadixNode> next = leaves.next();
            if (next.isEmpty()) {
                break;
            }
            freed += evictLeaf(next.get());
        }
        return freed;
    }

    /** Evicts as much as the engine does when it wants so many tokens; false when there are not so many free then. */
    boolean makeRoom(int tokens) {
        if (tokens > 0) {
            slots.ask();
        }
        if (tokens > slots.free()) {
            evict(variant.evictsOnlyMissing() ? tokens - slots.free() : tokens);
            slots.ask();
        }
        while (slots.isElastic() && tokens > slots.free() && evict(tokens - slots.free()) > 0) {
            slots.ask();
        }
        return tokens <= slots.free();
    }

    /** Returns true if so many tokens can be had; without kvcached the caller has to count that. */
    boolean grants(int tokens) {
        return !slots.isElastic() || makeRoom(tokens);
    }

    /** A request has ended: what is cached beyond the cap of kvcached's memory goes. */
    void settle() {
        if (slots.isElastic()) {
            evict((int) Math.max(0, evictable - slots.cachedTokens()));
            slots.tell();
        }
    }

    /**
     * Brings what the match has on the host alone back onto the GPU, if there is room.
     *
     * @param match whose part on the GPU is locked; the lock is on the returned match's instead
     * @return what of the match is on the GPU now, and nothing else
     */
    Match loadBack(Match match) {
        lock(match.node());
        if (match.onHost() >= LEAST_LOADED_TOKENS && makeRoom(match.onHost())) {
            slots.take(match.onHost());
            Deque<RadixNode> hostOnly = new ArrayDeque<>();
            for (RadixNode at = match.node(); !at.onGpu(); at = at.parent()) {
                hostOnly.push(at);
            }
            for (RadixNode node : hostOnly) {
                node.gpu(true);
                locked += size(node);
                review(node);
                host.returned(node, "");
            }
            unlock(match.gpuNode());
            return new Match(match.tokens(), match.node(), 0, match.node());
        }
        unlock(match.node());
        return new Match(match.onGpu(), match.gpuNode(), 0, match.gpuNode());
    }

    void lock(RadixNode node) {
        for (RadixNode at = node; !at.isRoot(); at = at.parent()) {
            if (at.locks == 0 && at.onGpu()) {
                evictable -= size(at);
                locked += size(at);
            }
            at.locks++;
            review(at);
        }
    }

    void unlock(RadixNode node) {
        for (RadixNode at = node; !at.isRoot(); at = at.parent()) {
            if (at.locks == 1 && at.onGpu()) {
                evictable += size(at);
                locked -= size(at);
            }
            at.locks--;
            review(at);
        }
    }

    /**
     * Lets the pool hold this much, in whole pages, and no more than it was made with; or as little as what is locked
     * or held allows now.
     */
    void limit(int tokens) {
        makeRoom(slots.limit(tokens));
        slots.resize();
    }

    /** Tokens are wanted: there may be more or less of them than when some were wanted last. */
    void ask() {
        slots.ask();
    }

    /** Takes slots from the pool, whole pages; the caller made room before. */
    void take(int tokens) {
        slots.take(tokens);
    }

    void giveBack(int tokens) {
        slots.giveBack(tokens);
    }

    /** Faults that decide whether what is promised now will be kept. */
    HoldFaults holdFaults() {
        return holdFaults;
    }

    SessionHolds sessions() {
        return sessions;
    }

    PinIndex pins() {
        return pins;
    }

    /** Empties both tiers, forgets pins and sessions, frees the pools. */
    void clear() {
        roots.clear();
        leaves.clear();
        host.clear();
        sessions.clear();
        pins.clear();
        slots.clear();
        evictable = 0;
        locked = 0;
        events.cleared();
    }

    /** Evicts from both tiers all that may be evicted, and forgets nothing. */
    void evictAll() {
        evict(evictable);
        host.evict(Integer.MAX_VALUE);
    }

    List<CacheEvent> drainEvents() {
        return events.drain();
    }

    int freeTokens() {
        return slots.free();
    }

    int evictableTokens() {
        return evictable;
    }

    int protectedTokens() {
        return locked;
    }

    int capacityTokens() {
        return slots.capacity();
    }

    long evictedTokens() {
        return evictedTokens;
    }

    HostTier host() {
        return host;
    }

    /** Leaves that the next evictions choose from, in their order. */
    Iterable<RadixNode> leaves() {
        return leaves.nodes();
    }

    /** A block in the tree with its parent, 0 under a root, and its node. */
    record Resident(long block, long parent, RadixNode node) {}

    /** Every block in the tree, in no order. */
    List<Resident> residents() {
        List<Resident> all = new ArrayList<>();
        roots.values().forEach(root -> collect(root, 0, all));
        return all;
    }

    private static void collect(RadixNode node, long above, List<Resident> into) {
        long parent = above;
        for (long block : node.blocks) {
            into.add(new Resident(block, parent, node));
            parent = block;
        }
        for (RadixNode child : node.children.values()) {
            collect(child, parent, into);
        }
    }

    private RadixNode root(Namespace space) {
        return roots.computeIfAbsent(space, RadixNode::root);
    }

    /** The node whose blocks are the first ones of this one: itself, or its new upper half. */
    private RadixNode upTo(RadixNode node, int blocks) {
        if (blocks == node.blocks.length) {
            return node;
        }
        use(node);
        RadixNode upper = node.cut(blocks);
        review(node);
        return upper;
    }

    private RadixNode grow(RadixNode parent, TokenChain chain, int from, int to) {
        RadixNode leaf = parent.grow(chain.names(from, to), chain.tokens(from, to));
        use(leaf);
        evictable += size(leaf);
        review(parent);
        pins.stored(leaf);
        events.stored(leaf, Tier.GPU, chain.session());
        return leaf;
    }

    /** A node that is on the host alone takes the blocks that a request computed again. */
    private void recomputed(RadixNode node, String session) {
        node.gpu(true);
        if (node.locks > 0) {
            locked += size(node);
        } else {
            evictable += size(node);
        }
        review(node.parent());
        host.returned(node, session);
    }

    private void hit(RadixNode node) {
        if (countsHits) {
            node.hits++;
        }
        host.backUp(node);
    }

    private int evictLeaf(RadixNode node) {
        boolean forgiving = faults.has(CacheFault.PinForgiving.class);
        if (forgiving && node.isDeleted()) {
            EvictionOrder.place(node, null);
            return 0;
        }
        if (!node.onHost && node.hostPins > 0 && !host.backUp(node) && !forgiving) {
            throw new EngineDeath("AssertionError");
        }
        int size = size(node);
        slots.giveBack(size);
        if (node.onHost) {
            node.gpu(false);
            review(node);
            review(node.parent());
            host.alone(node);
        } else {
            delete(node, Tier.GPU);
        }
        evictable -= size;
        evictedTokens += size;
        return size;
    }

    private void delete(RadixNode node, Tier last) {
        node.detach();
        EvictionOrder.place(node, null);
        RadixNode parent = node.parent();
        if (!parent.isRoot() && !parent.isDeleted()) {
            review(parent);
        } else if (parent.children.isEmpty()) {
            roots.remove(parent.space, parent);
        }
        pins.deleted(node);
        sessions.deleted(node);
        events.removed(node, last);
    }

    private void use(RadixNode node) {
        node.lastUse = ++uses;
    }

    /** Puts the node where it waits for its eviction, if it can be evicted as it is now. */
    private void review(RadixNode node) {
        if (node.isRoot()) {
            return;
        }
        if (node.onGpu()) {
            EvictionOrder.place(node, node.locks <= 0 && node.gpuChildren == 0 ? leaves : null);
        } else {
            host.review(node);
        }
    }

    private int size(RadixNode node) {
        return node.blocks.length * pageTokens;
    }
}
