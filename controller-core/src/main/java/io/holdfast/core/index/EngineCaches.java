package io.holdfast.core.index;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/** The caches of one engine, one for each data-parallel rank, as decisions see them together. */
public final class EngineCaches implements TreeView {
    /*
     * What is said of several
     * -----------------------
     * A pin names a hash, and reaches every cache that has it. So a block is there when one of them has it; it ended an
     * insertion when it did so in each that has it, since in another one the same call could lead to a dead node; and
     * it is ambiguous when it is so in any.
     *
     * What is pinned
     * --------------
     * A path is counted in the caches that had its last block when it was decided to pin it, and only there a removal
     * of it is a broken promise. Against bounds it counts as if it were in all of them: a pin that goes astray may land
     * in any, and the bound of the tightest is never passed that way.
     *
     * Of one cache everything is what that one says.
     */
    private static final long LATE_NANOS = 5_000_000_000L;
    private static final long LATE_IN_SEVERAL_NANOS = 30_000_000_000L;

    private final List<EngineBlocks> caches = new ArrayList<>();
    private final Map<Long, Pinned> pinned = new HashMap<>();
    private final List<Long> watched = new ArrayList<>();
    /** Number of pinned paths that each block is on; of several caches only. */
    private final LongToLongMap onPaths = new LongToLongMap();

    /** A path that is pinned, and in which caches. */
    private static final class Pinned {
        final long[] path;
        final List<Integer> ranks;

        Pinned(long[] path, List<Integer> ranks) {
            this.path = path;
            this.ranks = ranks;
        }
    }

    public EngineCaches(EngineBlocks first) {
        caches.add(first);
    }

    /** Adds the cache of the next rank; before anything is pinned. */
    public void add(EngineBlocks next) {
        caches.add(next);
        List<EngineBlocks> fresh = caches.size() == 2 ? caches : List.of(next);
        fresh.forEach(cache -> watched.forEach(cache::watchEnd));
    }

    /**
     * Has it remembered, in several caches, where the insertion ended that stores this block from now on; once for each
     * pin.
     */
    public void watchEnd(long block) {
        watched.add(block);
        if (several()) {
            caches.forEach(cache -> cache.watchEnd(block));
        }
    }

    /** Takes {@link #watchEnd} back. */
    public void unwatchEnd(long block) {
        watched.remove(block);
        if (several()) {
            caches.forEach(cache -> cache.unwatchEnd(block));
        }
    }

    /** {@link #watchEnd} where there is one cache, for as long as a pin of the block may arrive. */
    public void watchArrival(long block) {
        if (!several()) {
            first().watchEnd(block);
        }
    }

    /** Takes {@link #watchArrival} back. */
    public void unwatchArrival(long block) {
        if (!several()) {
            first().unwatchEnd(block);
        }
    }

    /**
     * Follows how much of the path down to this block stays in the first cache after a moment of the engine's clock.
     * Who pins without an unpin does so in engines with one cache only.
     */
    public StayingPath follow(long lastBlock, long sinceMicros) {
        return first().follow(lastBlock, sinceMicros);
    }

    /** Returns the time on the clock of its first cache, by the stamps of its batches; 0 before there was one. */
    public long engineMicros() {
        return first().engineMicros();
    }

    /** Returns true if an unpin of this block leads to what is alive in every cache, wherever it was pinned. */
    public boolean leadsToLife(long block) {
        return caches.stream().allMatch(cache -> cache.leadsToLife(block));
    }

    /** Returns true if events of every cache came since that time, and none of them late. */
    public boolean heardSince(long nanos) {
        return caches.stream().allMatch(cache -> cache.heardNanos() > nanos && !cache.late(LATE_IN_SEVERAL_NANOS));
    }

    /**
     * The first rank whose events came late a moment ago; empty when none did. In several caches it is a longer moment:
     * a call reaches them all, and which of them has a block is told by as many streams.
     */
    public OptionalInt late() {
        long within = several() ? LATE_IN_SEVERAL_NANOS : LATE_NANOS;
        return IntStream.range(0, caches.size())
                .filter(rank -> caches.get(rank).late(within))
                .findFirst();
    }

    public int count() {
        return caches.size();
    }

    public boolean several() {
        return caches.size() > 1;
    }

    /** The cache of one rank. */
    public EngineBlocks rank(int rank) {
        return caches.get(rank);
    }

    /** The most blocks that one of them has on the GPU. */
    public int size() {
        return caches.stream().mapToInt(EngineBlocks::size).max().orElse(0);
    }

    /** The ranks in whose caches the block is. */
    public List<Integer> ranksWith(long block) {
        return IntStream.range(0, caches.size())
                .filter(rank -> caches.get(rank).resident(block))
                .boxed()
                .toList();
    }

    /** The ranks in whose caches the path down to this block is counted as pinned. */
    public List<Integer> pinnedOn(long lastBlock) {
        Pinned known = pinned.get(lastBlock);
        return known == null ? List.of() : known.ranks;
    }

    /** Counts a pinned path in each cache that has its last block; every block up to the root must be known there. */
    public void pinPath(long lastBlock) {
        if (!several()) {
            first().pinPath(lastBlock);
            pinned.put(lastBlock, new Pinned(new long[0], List.of(0)));
            return;
        }
        List<Integer> ranks = ranksWith(lastBlock);
        if (ranks.isEmpty() || pinned.containsKey(lastBlock)) {
            throw new IllegalArgumentException("Block " + lastBlock + " cannot be pinned: it is "
                    + (ranks.isEmpty() ? "in no cache." : "pinned already."));
        }
        Pinned path = new Pinned(path(lastBlock), ranks);
        ranks.forEach(rank -> caches.get(rank).pinPath(lastBlock));
        for (long block : path.path) {
            onPaths.add(block, 1);
        }
        pinned.put(lastBlock, path);
    }

    /** Takes back one {@link #pinPath}. */
    public void unpinPath(long lastBlock) {
        Pinned path = pinned.remove(lastBlock);
        if (path == null || !several()) {
            first().unpinPath(lastBlock);
            return;
        }
        path.ranks.forEach(rank -> caches.get(rank).unpinPath(lastBlock));
        for (long block : path.path) {
            onPaths.take(block);
        }
    }

    /** Forgets every pinned path, since the cache of this rank is about to be cleared, which forgets its own. */
    public void forgetPins(int cleared) {
        for (Map.Entry<Long, Pinned> path : pinned.entrySet()) {
            path.getValue().ranks.stream()
                    .filter(rank -> rank != cleared)
                    .forEach(rank -> caches.get(rank).unpinPath(path.getKey()));
        }
        pinned.clear();
        onPaths.clear();
    }

    @Override
    public int match(Prefix path) {
        return caches.stream().mapToInt(cache -> cache.match(path)).max().orElse(0);
    }

    @Override
    public int insertionEnd(Prefix path, int matched) {
        int blocks = matched;
        while (blocks > 0 && !endedInsertion(path.block(blocks - 1))) {
            blocks--;
        }
        return blocks;
    }

    @Override
    public boolean endedInsertion(long block) {
        if (!several()) {
            return first().endedInsertion(block);
        }
        boolean ended = false;
        for (EngineBlocks cache : caches) {
            boolean here = cache.endedInsertion(block) && cache.depth(block) > 0;
            if (!here && cache.resident(block)) {
                return false;
            }
            ended |= here;
        }
        return ended;
    }

    @Override
    public boolean resident(long block) {
        return caches.stream().anyMatch(cache -> cache.resident(block));
    }

    @Override
    public boolean ambiguous(long block) {
        return caches.stream().anyMatch(cache -> cache.ambiguous(block));
    }

    @Override
    public int depth(long block) {
        return caches.stream().mapToInt(cache -> cache.depth(block)).max().orElse(0);
    }

    @Override
    public long lastTouch(long block) {
        return caches.stream().mapToLong(cache -> cache.lastTouch(block)).max().orElse(0);
    }

    @Override
    public int timesLost(long block) {
        return caches.stream().mapToInt(cache -> cache.timesLost(block)).sum();
    }

    @Override
    public long[] path(long block) {
        return caches.stream()
                .filter(cache -> cache.depth(block) > 0)
                .findFirst()
                .orElse(first())
                .path(block);
    }

    /** Blocks on pinned paths, each as if it were in every cache. */
    @Override
    public int pinnedBlocks() {
        return several() ? onPaths.size() : first().pinnedBlocks();
    }

    @Override
    public boolean pinned(long block) {
        return several() ? onPaths.get(block) > 0 : first().pinned(block);
    }

    @Override
    public int unpinnedBlocks(long lastBlock) {
        if (!several()) {
            return first().unpinnedBlocks(lastBlock);
        }
        int count = 0;
        for (long block : path(lastBlock)) {
            count += onPaths.get(block) == 0 ? 1 : 0;
        }
        return count;
    }

    @Override
    public int pathsToUnpin(long[] lastBlocks, int least, long most) {
        if (!several()) {
            return first().pathsToUnpin(lastBlocks, least, most);
        }
        LongToLongMap gone = new LongToLongMap();
        int left = onPaths.size();
        int count = 0;
        while (count < lastBlocks.length && (count < least || left > most)) {
            Pinned path = pinned.get(lastBlocks[count++]);
            for (long block : path == null ? new long[0] : path.path) {
                gone.add(block, 1);
                left -= gone.get(block) == onPaths.get(block) ? 1 : 0;
            }
        }
        return count;
    }

    private EngineBlocks first() {
        return caches.getFirst();
    }
}
