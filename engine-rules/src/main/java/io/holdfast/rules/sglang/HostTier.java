package io.holdfast.rules.sglang;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.Optional;
import java.util.function.Consumer;

/*
 * The host tier: a second pool of slots, in the machine's memory, into which every node is copied as it enters the tree.
 *
 * Writing through
 * ---------------
 * A node is written at its first hit, which is its insertion; one that found no room is tried again at each later hit. The
 * release writes a node's ancestors before it, so that what is on the host always begins at the root; the branches write the
 * node alone. A real copy takes its time, during which it locks the node, and is announced when it is complete; this one is
 * complete at once.
 *
 * Evicting
 * --------
 * A node that is on the host alone, without children and locks, may be evicted, in the order of the same policy as on the
 * GPU. It is then gone. Each tier has its own events.
 */
final class HostTier {
    private final int pageTokens;
    private final int capacityTokens;
    private final Variant variant;
    private final EventQueue events;
    private final Consumer<RadixNode> delete;
    private final EvictionOrder leaves;
    private int free;

    /** @param delete takes a node out of the tree that was on the host alone */
    HostTier(SglangSettings settings, EventQueue events, Consumer<RadixNode> delete) {
        this.pageTokens = settings.pageTokens();
        this.capacityTokens = settings.hostTokens();
        this.variant = settings.variant();
        this.events = events;
        this.delete = delete;
        this.leaves = new EvictionOrder(settings.eviction());
        this.free = capacityTokens;
    }

    /** Copies a node of the GPU; false when it is not here afterwards, for lack of room. */
    boolean backUp(RadixNode node) {
        if (node.onHost) {
            return true;
        }
        if (capacityTokens == 0) {
            return false;
        }
        if (variant == Variant.STOCK && !node.parent().isRoot() && !backUp(node.parent())) {
            return false;
        }
        int size = size(node);
        if (size > free) {
            evict(variant.evictsOnlyMissing() ? size - free : size);
            if (size > free) {
                return false;
            }
        }
        free -= size;
        node.onHost = true;
        events.stored(node, Tier.HOST, "");
        return true;
    }

    /** Evicts whole nodes until at least this many tokens are free again or nothing is left to evict. */
    void evict(int tokens) {
        int freed = 0;
        while (freed < tokens) {
            Optional<RadixNode> next = leaves.next();
            if (next.isEmpty()) {
                break;
            }
            RadixNode node = next.get();
            freed += size(node);
            free += size(node);
            node.onHost = false;
            delete.accept(node);
        }
    }

    /** The node has left the GPU and is here alone. */
    void alone(RadixNode node) {
        events.removed(node, Tier.GPU);
    }

    /**
     * The node is on the GPU again.
     *
     * @param session of the request that computed it again, empty for none
     */
    void returned(RadixNode node, String session) {
        events.stored(node, Tier.GPU, session);
    }

    /** Looks again whether a node that is not on the GPU can be evicted from here. */
    void review(RadixNode node) {
        boolean leaf = node.onHost && node.locks <= 0 && node.hostPins <= 0 && node.children.isEmpty();
        EvictionOrder.place(node, leaf ? leaves : null);
    }

    void clear() {
        leaves.clear();
        free = capacityTokens;
    }

    int capacityTokens() {
        return capacityTokens;
    }

    int freeTokens() {
        return free;
    }

    private int size(RadixNode node) {
        return node.blocks.length * pageTokens;
    }
}
