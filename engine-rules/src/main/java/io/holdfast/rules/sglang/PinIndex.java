package io.holdfast.rules.sglang;

import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/*
 * The pins of the branches that pin blocks by name, with their traps.
 *
 * The index
 * ---------
 * It leads from a block to the node object whose insertion stored it, and is filled as events are: the last one who
 * stores a name has it, whatever the namespace, and a node that is deleted takes the names of its blocks along, whoever
 * they lead to. Since a cut leaves the lower half its object, a block above a cut still leads to the lower half:
 * pinning it holds more than was asked, and after the lower half was evicted it leads to a deleted node. Only the last
 * block of an insertion never leads astray. None of this is mended here: controllers have to be safe beside the engine
 * as it is.
 *
 * Two kinds
 * ---------
 * The first pin of a block takes hold of its node, more pins only count, the last unpin releases it. On the GPU branch
 * a hold is a lock on the node's path. Through a deleted node it makes the sizes wrong by that node; letting go makes
 * that node a leaf again, and evicting it ends the engine. On the host branch a hold is a count on the node alone,
 * which keeps it in the host tier; a cut copies the count to the upper half, which no unpin reaches any more. On both
 * an unpin of a block that the index does not know forgets all its pins and is not counted. The host branch has no
 * index without a host tier, the GPU branch none with one.
 */
final class PinIndex {
    private static final class Pin {
        int count = 1;
        final boolean holds;

        Pin(boolean holds) {
            this.holds = holds;
        }
    }

    private final boolean indexes;
    private final boolean onHost;
    private final HoldFaults holdFaults;
    private final Consumer<RadixNode> take;
    private final Consumer<RadixNode> letGo;
    private final Map<Long, RadixNode> index = new HashMap<>();
    private final Map<Long, Pin> pins = new LinkedHashMap<>();

    private PinIndex(
            boolean indexes,
            boolean onHost,
            HoldFaults holdFaults,
            Consumer<RadixNode> take,
            Consumer<RadixNode> letGo) {
        this.indexes = indexes;
        this.onHost = onHost;
        this.holdFaults = holdFaults;
        this.take = take;
        this.letGo = letGo;
    }

    static PinIndex of(
            SglangSettings settings,
            HoldFaults holdFaults,
            Consumer<RadixNode> lock,
            Consumer<RadixNode> unlock,
            Consumer<RadixNode> review) {
        boolean tiered = settings.hostRatio() > 0;
        if (settings.variant() == Variant.PIN_HOST) {
            return new PinIndex(
                    tiered,
                    true,
                    holdFaults,
                    node -> {
                        node.hostPins++;
                        review.accept(node);
                    },
                    node -> {
                        node.hostPins--;
                        review.accept(node);
                    });
        }
        return new PinIndex(settings.variant() == Variant.PIN_GPU && !tiered, false, holdFaults, lock, unlock);
    }

    void stored(RadixNode node) {
        if (indexes) {
            for (long block : node.blocks) {
                index.put(block, node);
            }
        }
    }

    void deleted(RadixNode node) {
        if (indexes) {
            for (long block : node.blocks) {
                index.remove(block);
            }
        }
    }

    PinAnswer pin(long[] blocks) {
        if (onHost && !indexes) {
            return PinAnswer.refused("PIN requires --enable-hierarchical-cache");
        }
        int known = 0;
        for (long block : blocks) {
            RadixNode node = index.get(block);
            if (node == null) {
                continue;
            }
            Pin pin = pins.get(block);
            if (pin == null) {
                boolean holds = holdFaults.keepsPin();
                pins.put(block, new Pin(holds));
                if (holds) {
                    take.accept(node);
                }
            } else {
                pin.count++;
            }
            known++;
        }
        return new PinAnswer(true, known, "Pinned " + known + "/" + blocks.length + " blocks");
    }

    PinAnswer unpin(long[] blocks) {
        if (onHost && !indexes) {
            return PinAnswer.refused("PIN requires --enable-hierarchical-cache");
        }
        int released = 0;
        for (long block : blocks) {
            Pin pin = pins.get(block);
            if (pin == null) {
                continue;
            }
            RadixNode node = index.get(block);
            if (pin.count > 1 && node != null) {
                pin.count--;
                released++;
                continue;
            }
            pins.remove(block);
            if (node != null) {
                if (pin.holds) {
                    letGo.accept(node);
                }
                released++;
            }
        }
        return new PinAnswer(true, released, "Unpinned " + released + "/" + blocks.length + " blocks");
    }

    /** Takes one pin from every pinned block; returns how many were still known. */
    int unpinAll() {
        return unpin(pins.keySet().stream().mapToLong(Long::longValue).toArray())
                .count();
    }

    boolean isEmpty() {
        return pins.isEmpty();
    }

    /** Number of pins of each block. */
    Map<Long, Integer> counts() {
        Map<Long, Integer> counts = new HashMap<>();
        pins.forEach((block, pin) -> counts.put(block, pin.count));
        return counts;
    }

    /** Returns true if a pin of this block keeps anything; one that a fault swallowed is counted and keeps nothing. */
    boolean holds(long block) {
        Pin pin = pins.get(block);
        return pin != null && pin.holds;
    }

    /** Node to which each known block leads. */
    Map<Long, RadixNode> index() {
        return Map.copyOf(index);
    }

    void clear() {
        index.clear();
        pins.clear();
    }
}
