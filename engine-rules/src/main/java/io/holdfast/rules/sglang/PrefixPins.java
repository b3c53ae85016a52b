package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * The pins of the release candidate that pinned prefixes for a time: as long as one lasts, its node stays in the host tier.
 *
 * <p>A pin holds the whole nodes along its tokens, the last one too where they end within it, as far as the budget goes, a
 * share of the host tier. Every hit prolongs it by its whole time. Nobody watches the clock: a pin that is over takes budget
 * until an eviction comes upon its node.
 */
final class PrefixPins {
    private static final double NANOS = 1e9;

    private final boolean offered;
    private final boolean tiered;
    private final int pageTokens;
    private final int budgetTokens;
    private final HoldFaults holdFaults;
    private final EngineClock clock;
    private int pinnedTokens;

    PrefixPins(SglangSettings settings, HoldFaults holdFaults, EngineClock clock) {
        this.offered = settings.variant() == Variant.PIN_PREFIX;
        this.tiered = settings.hostRatio() > 0;
        this.pageTokens = settings.pageTokens();
        this.budgetTokens = (int) (settings.hostTokens() * settings.maxPinnedRatio());
        this.holdFaults = holdFaults;
        this.clock = clock;
    }

    /** @param hit counts one on a node that is pinned newly */
    PinAnswer pin(RadixNode root, TokenChain chain, double ttlSeconds, Consumer<RadixNode> hit) {
        if (!offered || !tiered) {
            return PinAnswer.refused("PIN requires --enable-hierarchical-cache");
        }
        if (budgetTokens <= 0) {
            return PinAnswer.refused("Pinning is disabled (SGLANG_HICACHE_MAX_PINNED_RATIO is 0)");
        }
        boolean holds = holdFaults.keepsPin();
        long ttl = Math.round(ttlSeconds * NANOS);
        long until = now() + ttl;
        String exhausted = "";
        int nodes = 0;
        int at = 0;
        RadixNode node = root;
        while (at < chain.blocks()) {
            RadixNode child = node.children.get(chain.name(at));
            if (child == null) {
                break;
            }
            if (child.pinnedUntil == 0 && holds) {
                if (pinnedTokens + size(child) > budgetTokens) {
                    exhausted = "Pin budget exhausted (" + pinnedTokens + "/" + budgetTokens + " tokens pinned)";
                    break;
                }
                pinnedTokens += size(child);
                hit.accept(child);
            }
            if (holds) {
                child.pinnedUntil = Math.max(child.pinnedUntil, until);
                child.pinNanos = Math.max(child.pinNanos, ttl);
            }
            nodes++;
            int shared = child.shared(chain, at, chain.blocks());
            if (shared < child.blocks.length) {
                break;
            }
            at += shared;
            node = child;
        }
        return answer(nodes, ttlSeconds, exhausted);
    }

    /** Prolongs the node's pin, if it has one that is not over. */
    void hit(RadixNode node) {
        if (isPinned(node)) {
            node.pinnedUntil = now() + node.pinNanos;
        }
    }

    /** Whether a pin keeps the node; forgets one that is over. */
    boolean holds(RadixNode node) {
        if (isPinned(node)) {
            return true;
        }
        drop(node);
        return false;
    }

    /** Forgets the node's pin. */
    void drop(RadixNode node) {
        if (node.pinnedUntil != 0) {
            pinnedTokens -= size(node);
            node.pinnedUntil = 0;
            node.pinNanos = 0;
        }
    }

    void clear() {
        pinnedTokens = 0;
    }

    private boolean isPinned(RadixNode node) {
        return node.pinnedUntil != 0 && now() <= node.pinnedUntil;
    }

    /** Never 0, which is no time at all. */
    private long now() {
        return Math.max(1, clock.nanos());
    }

    private static PinAnswer answer(int nodes, double ttlSeconds, String exhausted) {
        if (nodes == 0) {
            return PinAnswer.refused(exhausted.isEmpty() ? "No matching prefix found in cache to pin" : exhausted);
        }
        String ttl = ttlSeconds == Math.rint(ttlSeconds)
                ? String.format(Locale.ROOT, "%.0f", ttlSeconds)
                : Double.toString(ttlSeconds);
        String partly = exhausted.isEmpty() ? "" : "; prefix partially pinned; " + exhausted;
        return new PinAnswer(true, nodes, "Pinned " + nodes + " nodes (ttl=" + ttl + "s)" + partly);
    }

    private int size(RadixNode node) {
        return node.blocks.length * pageTokens;
    }
}
