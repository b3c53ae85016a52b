package io.holdfast.core.index;

import io.holdfast.core.hold.HoldRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What {@link EngineBlocks} learn, over one cache of a {@link NaiveForest}: hash maps, full walks and no thought of speed.
 *
 * <p>Touches of blocks that died and came back without one are left open: between the one they were lost with and the last.
 */
final class NaiveBlocks {
    record ChainEnd(long block, int depth, boolean ended) {}

    final List<ChainEnd> chainEnds = new ArrayList<>();
    final List<Long> pinnedRemoved = new ArrayList<>();
    final NaiveForest forest = new NaiveForest(BlockTree.Naming.ENGINE_HASH);
    final NaiveForest.NaiveCache cache;
    private final Set<Long> ended = new HashSet<>();
    private final Set<Long> ambiguous = new HashSet<>();
    private final Map<Long, Integer> pins = new HashMap<>();
    private final Map<Long, Long> touch = new HashMap<>();
    private final Map<Long, Long> lastEver = new HashMap<>();
    private final Map<Long, Integer> lost = new HashMap<>();
    private final Map<Long, Long> ghostTouch = new HashMap<>();
    private Optional<Long> chainEnd = Optional.empty();
    private boolean chainHoldable;
    private long now;

    NaiveBlocks(CacheTraits traits) {
        cache = forest.addCache(traits);
    }

    void batchStarted(long nanos) {
        now = nanos;
        forest.batchStarted(cache);
    }

    void stored(StoredBlocks chain) {
        if (!cache.decides(chain)) {
            forest.stored(cache, chain);
            return;
        }
        boolean gpu = chain.tier() == Tier.GPU;
        if (gpu && (chain.rooted() || !chainEnd.equals(Optional.of(chain.parent())))) {
            endChain();
        }
        Set<Long> there = new HashSet<>();
        for (int i = 0; i < chain.count(); i++) {
            if (resident(chain.hash(i))) {
                there.add(chain.hash(i));
            }
        }
        forest.stored(cache, chain);
        if (gpu && !chain.rooted()) {
            touchPath(chain.parent(), now);
        }
        for (int i = 0; i < chain.count(); i++) {
            long hash = chain.hash(i);
            boolean twice = gpu && !there.add(hash);
            if (twice || chain.namespaced()) {
                ambiguous.add(hash);
                ended.remove(hash);
            }
            touchPath(hash, gpu ? now : touch.getOrDefault(hash, 0L));
            if (gpu) {
                chainHoldable = !twice && !chain.namespaced();
                chainEnd = Optional.of(hash);
            }
        }
    }

    /** Answers whether it was not there. */
    boolean removed(long hash, Tier tier, int group) {
        boolean wasResident = resident(hash);
        long before = cache.unknownRemovals();
        forest.removed(cache, hash, tier, group);
        if (wasResident && !resident(hash)) {
            ended.remove(hash);
            ambiguous.remove(hash);
            lost.merge(hash, 1, Integer::sum);
            ghostTouch.put(hash, touch.getOrDefault(hash, 0L));
            if (pinned(hash)) {
                pinnedRemoved.add(hash);
            }
        }
        forgetMarks();
        return cache.unknownRemovals() > before;
    }

    void batchEnded() {
        endChain();
        forest.batchEnded();
        touch.keySet().removeIf(hash -> !forest.lives(hash));
    }

    void cleared() {
        chainEnd = Optional.empty();
        pins.clear();
        forest.keep(Set.of());
        leavingGpu(() -> forest.cleared(cache));
    }

    void gap(Gap gap) {
        leavingGpu(() -> forest.gap(cache, gap));
        touch.keySet().removeIf(hash -> !forest.lives(hash));
    }

    void restarted(long seen) {
        pins.clear();
        forest.keep(Set.of());
        leavingGpu(() -> forest.restarted(cache, seen));
        touch.clear();
    }

    void pinPath(long block) {
        forest.path(block).forEach(hash -> pins.merge(hash, 1, Integer::sum));
        forest.keep(pins.keySet());
    }

    void unpinPath(long block) {
        forest.path(block).forEach(hash -> {
            if (pins.merge(hash, -1, Integer::sum) == 0) {
                pins.remove(hash);
            }
        });
        forest.keep(pins.keySet());
    }

    int size() {
        return (int) cache.tiers().values().stream()
                .filter(tiers -> (tiers & Tier.GPU.bit) != 0)
                .count();
    }

    int ghosts() {
        return lost.size();
    }

    int timesLost(long block) {
        return lost.getOrDefault(block, 0);
    }

    /** Whether this may be the last touch of the block. */
    boolean mayBeTouched(long block, long time) {
        long known = Math.max(touch.getOrDefault(block, 0L), ghostTouch.getOrDefault(block, 0L));
        return resident(block) ? time == known : time >= known && time <= lastEver.getOrDefault(block, 0L);
    }

    String touches(long block) {
        return touch.get(block) + " ghost " + ghostTouch.get(block) + " ever " + lastEver.get(block);
    }

    boolean resident(long block) {
        return cache.holds(block, Tier.GPU);
    }

    boolean ended(long block) {
        return ended.contains(block);
    }

    boolean ambiguous(long block) {
        return ambiguous.contains(block);
    }

    int match(HoldRequest path) {
        long[] blocks = new long[path.blocks()];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = path.block(i);
        }
        return forest.match(cache, blocks, 0, blocks.length)[NaiveForest.index(Tier.GPU)];
    }

    int insertionEnd(HoldRequest path, int matched) {
        for (int i = matched; i > 0; i--) {
            if (ended(path.block(i - 1))) {
                return i;
            }
        }
        return 0;
    }

    int pinnedBlocks() {
        return pins.size();
    }

    boolean pinned(long block) {
        return pins.containsKey(block);
    }

    int unpinnedBlocks(long block) {
        return (int) forest.path(block).stream().filter(hash -> !pinned(hash)).count();
    }

    int pinnedBlocksWithout(long[] blocks) {
        Map<Long, Integer> left = new HashMap<>(pins);
        for (long block : blocks) {
            forest.path(block).forEach(hash -> left.merge(hash, -1, Integer::sum));
        }
        return (int) left.values().stream().filter(count -> count > 0).count();
    }

    int pathsToUnpin(long[] blocks, int least, long most) {
        for (int count = least; count < blocks.length; count++) {
            if (pinnedBlocksWithout(Arrays.copyOf(blocks, count)) <= most) {
                return count;
            }
        }
        return blocks.length;
    }

    private void touchPath(long block, long time) {
        forest.path(block).forEach(hash -> {
            touch.merge(hash, time, Math::max);
            lastEver.merge(hash, time, Math::max);
        });
    }

    private void endChain() {
        chainEnd.ifPresent(block -> {
            boolean marked = resident(block) && chainHoldable && !ambiguous(block);
            if (marked) {
                ended.add(block);
            }
            chainEnds.add(new ChainEnd(block, forest.depth(block), marked));
        });
        chainEnd = Optional.empty();
    }

    private void leavingGpu(Runnable emptying) {
        Set<Long> before = new HashSet<>(cache.tiers().keySet());
        before.removeIf(hash -> !resident(hash));
        emptying.run();
        before.removeIf(this::resident);
        ended.removeAll(before);
        ambiguous.removeAll(before);
        forgetMarks();
    }

    private void forgetMarks() {
        ambiguous.removeIf(hash -> !cache.tiers().containsKey(hash));
    }
}
