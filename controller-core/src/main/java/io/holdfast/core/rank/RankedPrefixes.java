package io.holdfast.core.rank;

import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.requests.VisibleRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.function.LongPredicate;
import java.util.stream.LongStream;

/**
 * Chooses which prefixes of an engine's cache to hold by their rank, told of the engine's requests as its events show
 * them.
 */
public final class RankedPrefixes {
    /*
     * Places, not blocks
     * ------------------
     * An engine has blocks of 16 tokens, a million of them where there is much memory, and a prompt has hundreds. What
     * is decided is where a path is worth keeping and where not any more, and for that not each block has to be known:
     * only every so many of a path, where a request ended, and where requests part. Such a place stands for the blocks
     * between it and the one above. So many blocks are skipped that the cache has some thousand places, however large
     * it is, and neither a choice nor a fit walks more than those and their ghosts. An engine evicts a path from its
     * end, so that a place is gone when its own block is.
     *
     * How many places fit the cache is not computed but seen: as many as are in it, from the first eviction on. Tokens
     * that may be held, and the room, are counted in places by what a place of the cache has on average.
     */
    private static final int MOST_PLACES = 8_192;

    private static final int GOES_ON = RankedPins.SAID.indexOf(PrefixRank.Said.GOES_ON);
    private static final int OVER = RankedPins.SAID.indexOf(PrefixRank.Said.OVER);
    /** Times in seconds for which the chance of a use is reported. */
    private static final long[] HORIZONS = {10, 60, 300, 1_800};

    private static final int NOT_FULL_YET = Integer.MAX_VALUE / 2;

    /** One that may still grow. */
    private static final class Open {
        private final long number;
        private int blocks;
        /** Its last block is a place since it is the end, and for no other reason. */
        private boolean endMoves;

        Open(long number, int blocks, boolean endMoves) {
            this.number = number;
            this.blocks = blocks;
            this.endMoves = endMoves;
        }
    }

    private record Earlier(LearnedRank learned, long endedNanos) {}

    private final RankSettings settings;
    private final HoldLimits limits;
    private final long[] horizons;
    private final EngineBlocks tree;
    private final IdentityHashMap<VisibleRequest, Open> open = new IdentityHashMap<>();
    private RankedPins pins;
    private int capacity;
    /** Every so many blocks of a path are a place; 0 before the capacity is known. */
    private int every;

    private boolean evicted;
    /** Knowledge of an earlier process, until the capacity is known. */
    private Optional<Earlier> earlier = Optional.empty();

    private long nowNanos;
    private long[] hashes = new long[256];
    private long[] partings = new long[16];
    private int partingCount;
    private List<RankedPrefix> chosen = List.of();

    /**
     * Creates the ranking for an engine that is called for each hold; {@code lease} is how long one lasts without a
     * use.
     */
    public RankedPrefixes(RankSettings settings, Duration lease, EngineBlocks tree) {
        this(settings, HoldLimits.ofCalls(lease), tree);
    }

    public RankedPrefixes(RankSettings settings, HoldLimits limits, EngineBlocks tree) {
        this.limits = limits;
        horizons = LongStream.concat(
                        LongStream.of(HORIZONS), LongStream.of(limits.lease().toSeconds()))
                .sorted()
                .distinct()
                .toArray();
        this.settings = settings;
        this.tree = tree;
        pins = fresh();
    }

    private RankedPins fresh() {
        return new RankedPins(settings, NOT_FULL_YET, tree.memory(), new RankedPins.Pins() {
            @Override
            public void pin(long hash) {
                // What is chosen is read when all is.
            }

            @Override
            public void unpin(long hash) {
                // As above.
            }
        });
    }

    public void now(long nanos) {
        nowNanos = nanos;
    }

    /** The blocks that the engine's cache has room for; nothing is learned before that is known. */
    public void capacity(int blocks) {
        capacity = blocks;
        int wanted = 1;
        while (blocks / wanted > MOST_PLACES) {
            wanted *= 2;
        }
        if (every == 0 || wanted > 2 * every || every > 2 * wanted) {
            every = wanted;
            begin();
            earlier.ifPresent(kept -> pins.restore(kept.learned, nowNanos - kept.endedNanos, nowNanos));
            earlier = Optional.empty();
        }
    }

    private void begin() {
        pins.close();
        pins = fresh();
        open.clear();
        evicted = false;
        chosen = List.of();
    }

    /** Returns what outlives this process; absent while nothing was learned. */
    public Optional<LearnedRank> learned() {
        return every == 0 ? earlier.map(Earlier::learned) : Optional.of(pins.learned(Math.max(1, capacity), nowNanos));
    }

    /** Takes up what an earlier process learned at a cache of this size, which ended so long ago. */
    public void restore(LearnedRank learned, long awayNanos) {
        if (every == 0) {
            earlier = Optional.of(new Earlier(learned, nowNanos - awayNanos));
        } else {
            pins.restore(learned, awayNanos, nowNanos);
        }
    }

    /** Returns what other engines may be told; absent before the capacity is known. */
    public Optional<Reuse> reuse() {
        return every == 0 ? Optional.empty() : Optional.of(pins.reuse(nowNanos));
    }

    /** Takes what engines like this one counted, unless it was given something before; answers whether it did. */
    public boolean take(ReuseCounts others) {
        boolean takes = every > 0 && pins.isNewcomer();
        if (takes) {
            pins.give(others, nowNanos);
        }
        return takes;
    }

    /** Another engine is followed from now on. */
    public void forget() {
        earlier = Optional.empty();
        begin();
    }

    /** A request showed its prompt, the first {@code before} blocks of it earlier. */
    public void prompt(VisibleRequest request, int before) {
        told(request, request.promptBlocks(), before == 0, false);
    }

    /** A request stored what it generated. */
    public void answered(VisibleRequest request) {
        told(request, request.blocks(), false, true);
    }

    /** Nothing more comes of the request. */
    public void completed(VisibleRequest request) {
        open.remove(request);
    }

    /** A request that stored nothing used the path down to this block, all of which is in the cache. */
    public void used(long lastBlock, int blockTokens) {
        long[] path = every == 0 ? new long[0] : tree.path(lastBlock);
        if (path.length == 0) {
            return;
        }
        seePartings(lastBlock);
        int count = places(path, 0, path.length);
        pins.request(hashes, count, count, count, path.length * blockTokens, 0, nowNanos);
    }

    private void told(VisibleRequest request, int blocks, boolean begins, boolean generated) {
        Open known = open.get(request);
        if (every == 0 || begins == (known != null) || (known != null && known.blocks >= blocks)) {
            return;
        }
        long[] path = tree.path(request.lastBlock());
        if (path.length < blocks || blocks == 0) {
            return;
        }
        seePartings(request.lastBlock());
        int before = known == null ? 0 : known.blocks;
        if (known != null && known.endMoves) {
            // An answer is told of block by block: each would be a place.
            int next = Math.min(blocks, (before / every + 1) * every);
            before = pins.moved(path[before - 1], path[next - 1]) ? next : before;
        }
        int from = places(path, before, before);
        int count = places(path, before, blocks);
        int tokens = blocks * request.blockTokens();
        boolean endMoves = blocks % every != 0 && !(partingCount > 0 && partings[0] == path[blocks - 1]);
        if (known == null) {
            open.put(
                    request,
                    new Open(pins.request(hashes, count, count, count, tokens, 0, nowNanos), blocks, endMoves));
        } else {
            pins.grew(known.number, hashes, from, count, tokens, generated, nowNanos);
            known.blocks = blocks;
            known.endMoves = endMoves;
        }
    }

    private void seePartings(long lastBlock) {
        partingCount = 0;
        if (every > 1) {
            tree.watchedOn(lastBlock, block -> {
                if (partingCount == partings.length) {
                    partings = Arrays.copyOf(partings, 2 * partingCount);
                }
                partings[partingCount++] = block;
            });
        }
    }

    /**
     * Notes the places among the first blocks of a path, new ones after those told before, and answers how many there
     * are.
     */
    private int places(long[] path, int before, int blocks) {
        int count = 0;
        // The deepest was seen first.
        int parting = partingCount - 1;
        for (int depth = 1; depth <= blocks; depth++) {
            long block = path[depth - 1];
            boolean parts = parting >= 0 && partings[parting] == block;
            if (parts) {
                parting--;
            }
            boolean place = depth > before && (parts || depth % every == 0 || depth == blocks);
            if (place || pins.knows(block)) {
                if (count == hashes.length) {
                    hashes = Arrays.copyOf(hashes, 2 * count);
                }
                hashes[count++] = block;
            }
        }
        return count;
    }

    /**
     * Takes in a hint whether the conversation with this prefix goes on. How much that tells is measured: a hint that
     * is right by chance changes nothing.
     */
    public void hint(Prefix prefix, boolean goesOn) {
        for (int depth = 0; depth < prefix.blocks(); depth++) {
            pins.hint(prefix.block(depth), goesOn ? GOES_ON : OVER);
        }
    }

    /** Blocks left the GPU. */
    public void removed(long[] blocks, int from, int to) {
        if (every > 0) {
            for (int at = from; at < to; at++) {
                // Of two copies one may be left.
                evicted |= pins.knows(blocks[at]) && !tree.resident(blocks[at]) && pins.removed(blocks[at], nowNanos);
            }
        }
    }

    /** Sets how many long prompts must fit beside holds from now on; none where the engine evicts holds for them. */
    public void freePrompts(int count) {
        pins.freePrompts(count);
    }

    /** The engine's cache was emptied, or what it has is not known any more. */
    public void emptied() {
        open.clear();
        chosen = List.of();
        pins.cleared(nowNanos);
    }

    /**
     * Chooses anew where it is time to.
     *
     * @param mayHold blocks that may be held by rank
     * @param room blocks of the cache that running requests leave
     * @param first the last blocks of prefixes that are held before all others
     * @return whether it was time to
     */
    public boolean tick(long mayHold, long room, long[] first) {
        return tick(mayHold, room, first, block -> true);
    }

    /**
     * Chooses where a hold ends only at a block for which {@code mayEnd} holds, and with the last of them on its path.
     */
    public boolean tick(long mayHold, long room, long[] first, LongPredicate mayEnd) {
        if (every == 0) {
            return false;
        }
        double placesPerBlock = tree.size() == 0 ? 1 : (double) places() / tree.size();
        pins.cache(evicted ? Math.max(1, places()) : NOT_FULL_YET);
        pins.running((int) ((capacity - Math.min(room, capacity)) * placesPerBlock), nowNanos);
        boolean ticked = pins.tick(nowNanos, (int) (mayHold * placesPerBlock), first);
        if (ticked) {
            chosen = choose(mayEnd);
        }
        return ticked;
    }

    /** Returns what is to be held, the best first; nothing while that is not licensed. */
    public List<RankedPrefix> chosen() {
        return chosen;
    }

    /** Returns what was learned of the deepest place of this path that a request went over; absent where none did. */
    public Optional<PrefixRank> rank(Prefix path) {
        for (int depth = path.blocks(); depth > 0; depth--) {
            Optional<PrefixRank> rank = pins.rank(path.block(depth - 1), depth, horizons, nowNanos);
            if (rank.isPresent()) {
                return rank;
            }
        }
        return Optional.empty();
    }

    /** Returns true if a use within the lease of a hold is too unlikely for one. */
    public boolean tooUnlikely(PrefixRank rank) {
        return chanceOfUse(rank) < limits.leastChance();
    }

    /** Returns the chance of a use within the lease of a hold. */
    public double chanceOfUse(PrefixRank rank) {
        return rank.chanceWithin(limits.lease().toSeconds());
    }

    /** Returns what speaks for holds by rank, and against. */
    public Evidence evidence() {
        return pins.evidence();
    }

    /** Returns the number of places of the cache that are known. */
    int places() {
        return pins.resident();
    }

    /** Returns the number of requests that may still grow. */
    int following() {
        return open.size();
    }

    private List<RankedPrefix> choose(LongPredicate mayEnd) {
        List<RankedPrefix> prefixes = new ArrayList<>();
        double within = limits.lease().toSeconds();
        pins.ends(within, limits.leastChance(), mayEnd, (block, above, chance, uses, turn, idleSeconds) -> {
            int depth = tree.depth(block);
            if (depth > 0 && tree.resident(block) && prefixes.size() < limits.most()) {
                int adds = above == block ? depth : depth - tree.depth(above);
                prefixes.add(new RankedPrefix(block, depth, adds, chance, uses, turn, idleSeconds, limits.lease()));
            }
        });
        return List.copyOf(prefixes);
    }
}
