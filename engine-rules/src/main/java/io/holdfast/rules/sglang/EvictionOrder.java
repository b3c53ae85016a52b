package io.holdfast.rules.sglang;

import io.holdfast.rules.sglang.SglangSettings.Eviction;
import java.util.Comparator;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of one tier that may be evicted, the next one first.
 *
 * <p>Nodes without a session's reference go before those with one, fewer references before more; among equals the policy
 * decides, and among its equals the least recent use. The map is exact at all times: a node waits under the rank it had when
 * it was last placed, and whoever changes what its rank is made of places it again, which costs one removal and one insertion.
 * That happens to the leaf of a path alone, since nothing else on it can be evicted: taking the next node costs no more than
 * the logarithm of their number, with no look at the others.
 */
final class EvictionOrder {
    /** Never two alike: no two nodes were used last at the same count. */
    record Rank(int references, long grade, long lastUse) implements Comparable<Rank> {
        private static final Comparator<Rank> ORDER = Comparator.comparingInt(Rank::references)
                .thenComparingLong(Rank::grade)
                .thenComparingLong(Rank::lastUse);

        @Override
        public int compareTo(Rank other) {
            return ORDER.compare(this, other);
        }
    }

    /** Uses that make a node worth keeping under {@link Eviction#SLRU}. */
    private static final int PROTECTED_HITS = 2;

    private final Eviction policy;
    private final NavigableMap<Rank, RadixNode> nodes = new TreeMap<>();

    EvictionOrder(Eviction policy) {
        this.policy = policy;
    }

    /** Puts the node where it belongs by its present rank: into the given order, or into none. */
    static void place(RadixNode node, @Nullable EvictionOrder into) {
        EvictionOrder from = node.order;
        Rank old = node.rank;
        Rank rank = into == null ? null : into.rank(node);
        if (from == into && (rank == null || rank.equals(old))) {
            return;
        }
        if (from != null && old != null) {
            from.nodes.remove(old);
        }
        if (into != null && rank != null) {
            into.nodes.put(rank, node);
        }
        node.order = into;
        node.rank = rank;
    }

    Optional<RadixNode> next() {
        return nodes.isEmpty()
                ? Optional.empty()
                : Optional.of(nodes.firstEntry().getValue());
    }

    Iterable<RadixNode> nodes() {
        return nodes.values();
    }

    void clear() {
        for (RadixNode node : nodes.values()) {
            node.order = null;
            node.rank = null;
        }
        nodes.clear();
    }

    private Rank rank(RadixNode node) {
        long grade = switch (policy) {
            case LRU -> 0;
            case LFU -> node.hits;
            case SLRU -> node.hits >= PROTECTED_HITS ? 1 : 0;
            case PRIORITY -> node.priority;
        };
        return new Rank(node.references, grade, node.lastUse);
    }
}
