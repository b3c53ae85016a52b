package io.holdfast.core.pin;

import io.holdfast.core.hold.Hold;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.StayingPath;
import io.holdfast.core.pin.Pin.State;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;

/** Pins by their handles, the holds that need them, and what they count in the tree. */
final class PinTable {
    /*
     * What the tree counts
     * --------------------
     * A pin's path is counted in the tree from the decision to pin until it is known to be gone. Pins whose path is not
     * known (of an earlier life, or overtaken by a clear) count with the number of blocks in their entry.
     */
    private final EngineCaches tree;
    private final Map<Pin.Key, Pin> pins = new LinkedHashMap<>();
    /** Pins that each hold needs: one, or on an engine with several caches one for those that lack the others. */
    private final Map<Long, Set<Pin>> needed = new LinkedHashMap<>();

    private OptionalLong unreleasable = OptionalLong.empty();

    /** Time of the controller's round. */
    long nowNanos;

    PinTable(EngineCaches tree) {
        this.tree = tree;
    }

    boolean severalCaches() {
        return tree.several();
    }

    Optional<Pin> find(Pin.Key key) {
        return Optional.ofNullable(pins.get(key));
    }

    /** Returns the pins as they are now, so that they may change meanwhile. */
    List<Pin> all() {
        return List.copyOf(pins.values());
    }

    /** Adds a pin of an earlier life, whose path is not known. */
    void addUncounted(Pin pin) {
        pins.put(pin.key, pin);
        tree.watchEnd(pin.block);
    }

    void add(Pin pin) {
        addUncounted(pin);
        pin.counted = true;
        tree.pinPath(pin.block);
    }

    void remove(Pin pin) {
        pins.remove(pin.key);
        pin.left.ifPresent(StayingPath::forget);
        unreleasableChanged();
        tree.unwatchEnd(pin.block);
        if (pin.counted) {
            tree.unpinPath(pin.block);
            pin.counted = false;
        }
    }

    /** Has the path down to this block count for the pin, and nothing else. */
    void count(Pin pin, long block, int blocks) {
        boolean was = pin.counted;
        pin.counted = tree.depth(block) == blocks;
        if (pin.counted) {
            tree.pinPath(block);
        }
        if (was) {
            tree.unpinPath(pin.block);
        }
        endAt(pin, block, blocks);
        unreleasableChanged();
    }

    void endAt(Pin pin, long block, int blocks) {
        tree.unwatchEnd(pin.block);
        tree.watchEnd(block);
        pin.block = block;
        pin.blocks = blocks;
    }

    /** Counts no path of this cache any more, since it was emptied. */
    void cacheEmptied(int rank) {
        pins.values().forEach(pin -> pin.counted = false);
        unreleasableChanged();
        tree.forgetPins(rank);
    }

    void need(Pin pin, Hold hold) {
        pin.holds.put(hold.id(), hold.origin());
        needed.computeIfAbsent(hold.id(), id -> new LinkedHashSet<>()).add(pin);
    }

    void needNoMore(long holdId, Pin pin) {
        Set<Pin> left = needed.get(holdId);
        if (left != null && left.remove(pin) && left.isEmpty()) {
            needed.remove(holdId);
        }
    }

    /** Has the holds of a pin leave it. */
    void nobodyNeeds(Pin pin) {
        pin.holds.keySet().forEach(holdId -> needNoMore(holdId, pin));
        pin.leavers.putAll(pin.holds);
        pin.holds.clear();
    }

    /** Returns the pins that a hold needs. */
    Set<Pin> neededBy(long holdId) {
        return needed.getOrDefault(holdId, Set.of());
    }

    /** Takes out the pins that a hold needed until now. */
    Optional<Set<Pin>> takeNeeded(long holdId) {
        return Optional.ofNullable(needed.remove(holdId));
    }

    /** Returns true if nothing of a hold is pinned, or may be. */
    boolean hasLeft(long holdId) {
        return !needed.containsKey(holdId) && pins.values().stream().noneMatch(pin -> pin.leavers.containsKey(holdId));
    }

    Set<Long> leavers() {
        Set<Long> leavers = new HashSet<>();
        pins.values().forEach(pin -> leavers.addAll(pin.leavers.keySet()));
        return leavers;
    }

    Set<Long> blocks(Predicate<Pin> which) {
        Set<Long> blocks = new HashSet<>();
        for (Pin pin : pins.values()) {
            if (which.test(pin)) {
                blocks.add(pin.block);
            }
        }
        return blocks;
    }

    int count(Predicate<Pin> which) {
        return (int) pins.values().stream().filter(which).count();
    }

    /** Returns the last blocks of the paths that are pinned for each hold. */
    Map<Long, Set<Long>> ends() {
        Map<Long, Set<Long>> ends = new LinkedHashMap<>();
        needed.forEach((holdId, its) -> its.stream()
                .filter(pin -> pin.state == State.PINNED)
                .forEach(pin -> ends.computeIfAbsent(holdId, id -> new LinkedHashSet<>())
                        .add(pin.block)));
        return ends;
    }

    long pinnedBlocks() {
        return tree.pinnedBlocks() + uncounted() + beside();
    }

    long pinnedBlocks(int rank) {
        return onPaths(rank) + beside();
    }

    private long onPaths(int rank) {
        return tree.rank(rank).pinnedBlocks() + uncounted();
    }

    /** Returns the number of blocks that pins may take beside their paths. */
    private long beside() {
        return pins.values().stream()
                .mapToLong(pin -> pin.backend.traits().blocksBeside())
                .sum();
    }

    private long uncounted() {
        return pins.values().stream()
                .filter(pin -> !pin.counted)
                .mapToLong(pin -> pin.blocks)
                .sum();
    }

    long surelyPinnedBlocks(int rank) {
        boolean all = pins.values().stream().allMatch(pin -> pin.state == State.PINNED);
        return all
                ? onPaths(rank)
                : pins.values().stream()
                        .filter(pin -> pin.state == State.PINNED && onRank(pin, rank))
                        .mapToLong(pin -> pin.blocks)
                        .max()
                        .orElse(0);
    }

    boolean onRank(Pin pin, int rank) {
        return !tree.several() || tree.pinnedOn(pin.block).contains(rank);
    }

    void unreleasableChanged() {
        unreleasable = OptionalLong.empty();
    }

    /** Returns the number of blocks that are protected for nobody and cannot be taken back. */
    long unreleasableBlocks() {
        if (unreleasable.isEmpty()) {
            Set<Long> blocks = new HashSet<>();
            long uncounted = 0;
            for (Pin pin : pins.values()) {
                if (!pin.kind.releasable() && pin.state == State.KEPT) {
                    uncounted += pin.counted ? 0 : pin.blocks;
                    for (long block : pin.counted ? tree.path(pin.block) : new long[0]) {
                        blocks.add(block);
                    }
                }
            }
            for (Pin pin : blocks.isEmpty() ? List.<Pin>of() : all()) {
                if (!pin.kind.releasable() && pin.state != State.KEPT) {
                    for (long block : tree.path(pin.block)) {
                        blocks.remove(block);
                    }
                }
            }
            unreleasable = OptionalLong.of(uncounted + blocks.size());
        }
        return unreleasable.getAsLong();
    }
}
