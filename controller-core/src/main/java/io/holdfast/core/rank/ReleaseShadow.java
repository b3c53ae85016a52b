package io.holdfast.core.rank;

import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.HashSlots;
import io.holdfast.core.requests.VisibleRequest;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A model of the engine's cache in which what was given back is still held: what it does not find, a release saved. */
public final class ReleaseShadow {
    /*
     * The measure
     * -----------
     * With R blocks held longer the cache would have had R fewer places for all others. By the stack property of LRU a
     * smaller cache has exactly the blocks that were used last, so a hit is owed to the release if the block's place
     * in the order of last use, among those that nothing holds, is one of the last R. Rather than asking for places this
     * keeps the smaller cache itself: an LRU of the same blocks, as large as the engine's cache is at each moment, that
     * keeps what was given back. What a request found in the engine and would not find here, others found because of
     * the release; what it would find here and the engine lost meanwhile was given back too early. Of an engine that
     * evicts in LRU order both are exact, save for the order of blocks that were last used within 67 ms before the
     * model began, since touches are not remembered more exactly.
     *
     * For how long
     * ------------
     * Each path is kept here until its lease would have ended, the later one where it was released twice. The caches
     * differ for longer: until the engine has stored
     * as many blocks as it has, after which both have what was used last. Then the model ends, and costs nothing until
     * the next release, which begins it from a walk over the blocks of the cache.
     *
     * Limits
     * ------
     * It knows the requests that events or routers show. What other tiers bring back is a hit of another kind, and of
     * several caches nobody knows whose block it would have been; there nothing is measured. Nor is it of a cache so
     * large that a walk over it would keep the controller waiting, or where more was given back than the cache has: no
     * engine could have held that.
     */
    /** Most blocks of a cache that is modelled. */
    static final int MOST_BLOCKS = 1 << 18;
    /** Bytes for a block: its name, its number, its places in the cache and in the queue, and when its lease ends. */
    private static final int EACH = 80;

    private static final String OTHER_TIERS =
            "the engine keeps blocks in other tiers as well, from where they come back";
    private static final String NOTHING_YET = "nothing was given back yet";
    private static final String NO_MEMORY = "there is no memory left for a model of the cache";
    private static final int FEWEST = 1 << 6;
    private static final int NONE = HashSlots.NONE;

    private final EngineBlocks tree;
    private final boolean queues;
    private Optional<Model> model = Optional.empty();
    private boolean otherTiers;
    private boolean measured;
    private String whyNot = NOTHING_YET;
    private long foundTokens;
    private long lostTokens;

    /**
     * Creates the shadow of one cache, which is at rest.
     *
     * @param queues whether the engine puts what is not held any more behind all that may be evicted, as vLLM does;
     *     otherwise it is as old as its last use
     */
    public ReleaseShadow(EngineBlocks tree, boolean queues) {
        this.tree = tree;
        this.queues = queues;
    }

    /** Takes the time that the next events happen at. */
    public void now(long nanos) {
        model.ifPresent(running -> running.leasesEnd(nanos));
    }

    /**
     * Keeps the path down to this block until its lease would have ended.
     *
     * @return false where what others find because of it cannot be measured
     */
    public boolean gaveBack(long lastBlock, long untilNanos) {
        Optional<String> hindrance = hindrance();
        if (hindrance.isPresent()) {
            whyNot = hindrance.get();
            return false;
        }
        if (model.isEmpty()) {
            long bytes = (long) EACH * tree.size();
            if (!tree.memory().take(bytes)) {
                whyNot = NO_MEMORY;
                return false;
            }
            model = Optional.of(new Model(tree, queues, bytes));
        }
        model.get().keep(tree.path(lastBlock), untilNanos);
        endWhereBeyondBounds();
        if (model.isEmpty()) {
            return false;
        }
        measured = true;
        whyNot = whyNot.equals(NOTHING_YET) ? "" : whyNot;
        return true;
    }

    private void endWhereBeyondBounds() {
        model.flatMap(Model::beyondBounds).ifPresent(this::interrupted);
    }

    private Optional<String> hindrance() {
        if (otherTiers) {
            return Optional.of(OTHER_TIERS);
        }
        if (tree.size() > MOST_BLOCKS) {
            return Optional.of("the cache has more than " + MOST_BLOCKS + " blocks, of which no model is made");
        }
        return tree.certain()
                ? Optional.empty()
                : Optional.of("what the engine's cache has is not known exactly: " + tree.certainty());
    }

    /** Notes a release of which nobody can say what others found because of it. */
    public void unmeasured(String why) {
        whyNot = why;
    }

    /** Takes a request that showed its prompt; {@code counts} unless it is one of our own. */
    public void prompt(VisibleRequest request, int before, boolean counts) {
        int blocks = request.promptBlocks();
        use(request, blocks, before == 0 && counts ? Math.min(request.hits(), blocks) : NONE);
    }

    /** Takes a request that stored what it generated. */
    public void answered(VisibleRequest request) {
        use(request, request.blocks(), NONE);
    }

    private void use(VisibleRequest request, int blocks, int hits) {
        if (model.isEmpty() || blocks == 0) {
            return;
        }
        long[] path = tree.path(request.lastBlock());
        if (path.length >= blocks) {
            use(path, blocks, hits, request.blockTokens());
        }
    }

    /** Takes a request that no event shows, which found the whole path down to this block. */
    public void used(long lastBlock, int blockTokens) {
        if (model.isPresent()) {
            long[] path = tree.path(lastBlock);
            use(path, path.length, path.length, blockTokens);
        }
    }

    private void use(long[] path, int blocks, int hits, int blockTokens) {
        int would = model.orElseThrow().use(path, blocks);
        if (hits != NONE) {
            foundTokens += (long) Math.max(0, hits - would) * blockTokens;
            lostTokens += (long) Math.max(0, would - hits) * blockTokens;
        }
        endWhereBeyondBounds();
    }

    /** Counts blocks that were stored on the GPU. */
    public void stored(int blocks) {
        if (model.isPresent() && model.get().isOver(blocks)) {
            end();
        }
    }

    /** Looks at a path on which one more pin counts, or one fewer. */
    public void pinsChanged(long[] path) {
        model.ifPresent(running -> running.pinsChanged(path));
    }

    /** Ends the measure, since a block was stored in another tier. */
    public void otherTier() {
        otherTiers = true;
        interrupted(OTHER_TIERS);
    }

    /** Ends the measure: the cache was emptied, or what it has is not known any more. */
    public void interrupted(String why) {
        if (model.isPresent()) {
            whyNot = why;
            end();
        }
    }

    private void end() {
        model.ifPresent(running -> tree.memory().give(running.bytes));
        model = Optional.empty();
    }

    /** Returns true while a model of the cache runs. */
    boolean running() {
        return model.isPresent();
    }

    /** Returns true once what others found was measured after a release. */
    public boolean measured() {
        return measured;
    }

    /**
     * Returns the reason why the last release that was not measured was not, or why its measure ended early; empty where
     * all were measured.
     */
    public String whyNot() {
        return whyNot;
    }

    /** Returns the tokens that requests found and would not have found. */
    public long foundTokens() {
        return foundTokens;
    }

    /** Returns the tokens that requests computed and would have found. */
    public long lostTokens() {
        return lostTokens;
    }

    /** The cache as it would be. */
    private static final class Model {
        private final EngineBlocks tree;
        private final boolean queues;
        private final LruCache cache;
        private final HashSlots numbers = new HashSlots(2 * FEWEST);
        private long[] names = new long[FEWEST];
        private boolean[] pinned = new boolean[FEWEST];
        private int[] free = new int[FEWEST];
        private int fresh;
        private int freed;
        private int[] path = new int[FEWEST];
        private final Deque<Integer> evicted = new ArrayDeque<>();
        /** Ends of the paths that are kept, each with the time until which it is, the one released first first. */
        private final Map<Integer, Long> kept = new LinkedHashMap<>();
        /** Blocks above those that are kept, by number, or {@link #NONE}, and how many of the paths each is on. */
        private int[] above = new int[FEWEST];

        private int[] paths = new int[FEWEST];

        private int keptBlocks;
        private long nextEndNanos = Long.MAX_VALUE;
        private long bytes;
        private long moment;
        private long storedSince;

        Model(EngineBlocks tree, boolean queues, long bytes) {
            this.tree = tree;
            this.queues = queues;
            this.bytes = bytes;
            cache = new LruCache(Math.max(1, tree.size()), evicted::add);
            fill();
        }

        private record Seen(long block, long touch, int depth) {}

        private void fill() {
            Seen[] all = new Seen[tree.size()];
            int[] count = {0};
            tree.onGpu((block, touch) -> {
                if (count[0] < all.length) {
                    all[count[0]++] = new Seen(block, touch, tree.depth(block));
                }
            });
            // As they go: the longest unused first, and of one moment the deepest.
            Arrays.sort(
                    all,
                    0,
                    count[0],
                    Comparator.comparingLong(Seen::touch)
                            .thenComparing(Comparator.comparingInt(Seen::depth).reversed()));
            int[] one = new int[1];
            for (int i = 0; i < count[0]; i++) {
                one[0] = number(all[i].block());
                cache.use(one, 1, ++moment);
                pinChanged(all[i].block(), one[0]);
            }
        }

        /** Uses a path; returns how much of it was there. */
        int use(long[] blocks, int count) {
            if (path.length < count) {
                path = new int[count];
            }
            for (int depth = 0; depth < count; depth++) {
                path[depth] = number(blocks[depth]);
            }
            int hits = cache.hits(path, count);
            // An engine keeps what a request finds before it makes room for the rest.
            cache.use(path, hits, ++moment);
            cache.resize(Math.max(1, tree.size()));
            cache.use(path, count, ++moment);
            for (int depth = hits; depth < count; depth++) {
                if (!cache.has(path[depth])) {
                    forget(path[depth]);
                } else {
                    pinChanged(blocks[depth], path[depth]);
                }
            }
            forgetEvicted();
            return hits;
        }

        /** Keeps as much of a path as is there. */
        void keep(long[] blocks, long untilNanos) {
            int end = NONE;
            for (long block : blocks) {
                int number = numbers.find(names, block);
                if (number == NONE || !cache.has(number) || (paths[number] > 0 && above[number] != end)) {
                    break;
                }
                above[number] = end;
                end = number;
            }
            storedSince = 0;
            if (end == NONE) {
                return;
            }
            if (!kept.containsKey(end)) {
                for (int number = end; number != NONE; number = above[number]) {
                    if (paths[number]++ == 0) {
                        cache.keep(number);
                        keptBlocks++;
                    }
                }
            }
            kept.merge(end, untilNanos, Math::max);
            nextEndNanos = Math.min(nextEndNanos, untilNanos);
        }

        void leasesEnd(long nowNanos) {
            if (nowNanos < nextEndNanos) {
                return;
            }
            List<Integer> over = kept.entrySet().stream()
                    .filter(each -> each.getValue() <= nowNanos)
                    .sorted(Map.Entry.comparingByValue())
                    .map(Map.Entry::getKey)
                    .toList();
            over.forEach(this::leaseEnds);
            nextEndNanos =
                    kept.values().stream().mapToLong(Long::longValue).min().orElse(Long.MAX_VALUE);
            forgetEvicted();
        }

        private void leaseEnds(int end) {
            kept.remove(end);
            if (queues) {
                int depth = 0;
                for (int number = end; number != NONE; number = above[number]) {
                    depth++;
                }
                int[] used = new int[depth];
                for (int number = end; number != NONE; number = above[number]) {
                    used[--depth] = number;
                }
                cache.use(used, used.length, ++moment);
            }
            for (int number = end; number != NONE; number = above[number]) {
                if (--paths[number] == 0) {
                    cache.release(number);
                    keptBlocks--;
                }
            }
        }

        /** Returns the reason why the model cannot go on; takes the memory that it needs by now. */
        Optional<String> beyondBounds() {
            if (keptBlocks > cache.capacity()) {
                return Optional.of("more was given back than the cache has by now, so nothing could have held it");
            }
            long more = (long) EACH * (fresh - freed + kept.size()) - bytes;
            if (more > 0 && !tree.memory().take(more)) {
                return Optional.of(NO_MEMORY);
            }
            bytes += Math.max(0, more);
            return Optional.empty();
        }

        void pinsChanged(long[] blocks) {
            for (long block : blocks) {
                int number = numbers.find(names, block);
                if (number != NONE && cache.has(number)) {
                    pinChanged(block, number);
                }
            }
        }

        private void pinChanged(long block, int number) {
            boolean now = tree.pinned(block);
            if (now && !pinned[number]) {
                cache.keep(number);
            } else if (!now && pinned[number]) {
                cache.release(number);
            }
            pinned[number] = now;
        }

        /** Returns true once nothing is kept, and so many blocks were stored since that both caches are alike. */
        boolean isOver(int stored) {
            storedSince += kept.isEmpty() ? stored : 0;
            return kept.isEmpty() && storedSince > tree.size();
        }

        private int number(long block) {
            int known = numbers.find(names, block);
            if (known != NONE) {
                return known;
            }
            int number = freed > 0 ? free[--freed] : fresh++;
            if (number == names.length) {
                int length = 2 * number;
                names = Arrays.copyOf(names, length);
                pinned = Arrays.copyOf(pinned, length);
                above = Arrays.copyOf(above, length);
                paths = Arrays.copyOf(paths, length);
            }
            names[number] = block;
            pinned[number] = false;
            if (2 * (fresh - freed) > numbers.length()) {
                numbers.grow(names);
            }
            numbers.insert(block, number);
            return number;
        }

        private void forget(int number) {
            numbers.remove(names, number);
            if (freed == free.length) {
                free = Arrays.copyOf(free, 2 * freed);
            }
            free[freed++] = number;
        }

        /** Forgets what was evicted, unless it came back: a path may evict for its beginning what its end stores again. */
        private void forgetEvicted() {
            for (int number : evicted) {
                if (!cache.has(number) && numbers.find(names, names[number]) == number) {
                    forget(number);
                }
            }
            evicted.clear();
        }
    }
}
