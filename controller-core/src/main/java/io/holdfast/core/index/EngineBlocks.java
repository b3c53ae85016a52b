package io.holdfast.core.index;

import java.util.Optional;
import java.util.function.LongConsumer;

/**
 * The blocks that one engine's cache holds, as its events tell, and what was learned about them.
 *
 * <p>One thread writes and reads it, but for {@link #match(long[], int, int, Matches)}. Times are nanoseconds since an
 * origin that the caller chose, never negative.
 */
public final class EngineBlocks implements TreeView, KvEventSink {
    /*
     * One truth
     * ---------
     * What is where, in which group and tier and how often, is kept by a Cache in a BlockTree that is named by the
     * engine's hashes, as a router's caches are; so decisions, requests and readers are told the same. What was learned
     * beside that lies over the tree's positions, in Learned. Here are only the rules of insertions.
     *
     * Which blocks may be pinned
     * --------------------------
     * pin_blocks of one engine locks the radix node that an insertion created, up to the insertion's last block, and
     * naming any other block of it can lead to a node that is gone; unpinning that kills the engine. Only a block that
     * ended an insertion always names either a living node or nothing, and the mark goes with the block. A chain of
     * stores in one batch is taken for one insertion; where two happen to touch, the first one's end stays unmarked:
     * careful.
     *
     * Where ways part
     * ---------------
     * What several requests share is the path down to where they part: an insertion that begins below a block which has
     * another way on below it already. The other way may be evicted by then, and is remembered by this: only the last
     * block of an insertion has none, so what begins below any other block parts there. A next turn, which begins where
     * the one before ended, parts nowhere. And where the path was lost as well, all of it is stored anew: what of it
     * had been there before shows as far as it went together.
     */
    private final TreeListener listener;
    private final BlockTree tree = new BlockTree(BlockTree.Naming.ENGINE_HASH);
    private final Cache cache;
    private final MemoryBudget memory;
    private final Learned learned;
    private final InsertionEnds ends = new InsertionEnds();
    private final Lateness lateness = new Lateness();
    private final StayingPaths staying = new StayingPaths(this::path, this::resident);

    private long nowNanos;
    private long stampMicros;
    private long heardNanos;
    private boolean chainOpen;
    private boolean chainHoldable;
    private long chainEnd;
    private int chainEndPosition;

    /** Creates the blocks of a cache, of which all is remembered that is worth it. */
    public EngineBlocks(CacheTraits traits, TreeListener listener) {
        this(traits, listener, MemoryBudget.unbounded());
    }

    /** Creates the blocks of a cache; {@code memory} bounds what is remembered beside what the cache has. */
    public EngineBlocks(CacheTraits traits, TreeListener listener, MemoryBudget memory) {
        this.listener = listener;
        this.memory = memory;
        cache = tree.addCache(traits);
        learned = new Learned(tree, traits, listener, memory);
        tree.under(learned);
    }

    /** The time that the next events happen at. */
    public void now(long nanos) {
        nowNanos = nanos;
        learned.now(nanos);
    }

    /** Returns the budget of all that is remembered of the engine. */
    public MemoryBudget memory() {
        return memory;
    }

    @Override
    public void batchStarted(long sequence, long madeMicros) {
        heardNanos = nowNanos;
        stampMicros = madeMicros;
        lateness.heard(nowNanos, madeMicros);
        cache.batchStarted(sequence, madeMicros);
        staying.batchStarted(madeMicros);
    }

    @Override
    public void stored(StoredBlocks stores) {
        boolean decides = cache.decides(stores);
        boolean insertion = decides && stores.tier() == Tier.GPU && stores.count() > 0;
        boolean begins = insertion && (stores.rooted() || !chainOpen || stores.parent() != chainEnd);
        if (begins) {
            endChain();
        }
        boolean forked = begins && !stores.rooted() && forksAt(tree.find(stores.parent()));
        LastStore store = learned.storeBegins(stores, decides && stores.count() > 0);
        cache.stored(stores);
        if (insertion && !stores.namespaced()) {
            if (learned.cameBack() != 0) {
                noticeReturn(stores, tree.strips.name(learned.cameBack()));
            } else if (begins) {
                noticeParting(stores, store.leadingOnGpu(), forked);
            }
        }
        if (insertion) {
            if (ends.watching()) {
                ends.stored(stores);
            }
            if (staying.watching()) {
                staying.stored(stores);
            }
            chainOpen = true;
            chainEnd = stores.hash(stores.count() - 1);
            chainEndPosition = cache.last(chainEnd);
            chainHoldable = learned.holdable(chainEndPosition);
            store.endsAt(learned.depth(chainEndPosition));
        }
    }

    /** Notices that what came back went on another way before. */
    private void noticeReturn(StoredBlocks stores, long deepest) {
        int at = stores.count() - 1;
        while (at > 0 && stores.hash(at) != deepest) {
            at--;
        }
        if (at < stores.count() - 1 && depth(deepest) > 0) {
            listener.parted(deepest, stores.hash(at + 1));
        }
    }

    private boolean forksAt(int position) {
        return position > Strips.ROOT && tree.strips.forks(position);
    }

    private void noticeParting(StoredBlocks stores, int there, boolean forked) {
        if (there == stores.count() || (there == 0 && stores.rooted())) {
            return;
        }
        long above = there == 0 ? stores.parent() : stores.hash(there - 1);
        int position = tree.find(above);
        int child = tree.find(stores.hash(there));
        if (position == 0 || child == 0 || learned.depth(position) == 0) {
            return;
        }
        int next = position + 1;
        boolean nextInStrip = (next & Strips.OFFSETS - 1) != 0
                && (next & Strips.OFFSETS - 1) < tree.strips.length(position >>> Strips.OFFSET_BITS);
        boolean otherWay = nextInStrip || (there == 0 && forked);
        if (nextInStrip && child == next) {
            otherWay = tree.strips.forks(position);
        }
        if (otherWay || (!learned.endedInsertion(position) && !learned.ambiguous(position))) {
            listener.parted(above, stores.hash(there));
        }
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        cache.removed(hashes, from, to, tier, group);
        if (ends.watching() && tier == Tier.GPU) {
            for (int i = from; i < to; i++) {
                ends.removed(hashes[i]);
            }
        }
        if (staying.watching() && tier == Tier.GPU) {
            for (int i = from; i < to; i++) {
                staying.removed(hashes[i], stampMicros);
            }
        }
    }

    @Override
    public void batchEnded() {
        endChain();
        cache.batchEnded();
    }

    /** Forgets every pin, but no ghost: blocks that were cleared were not lost to pressure. */
    @Override
    public void cleared() {
        chainOpen = false;
        ends.forget();
        learned.forgetPins();
        cache.cleared();
        staying.cleared(stampMicros);
    }

    /** Forgets what is on no pinned path, unless we only joined late: what a loss leaves is not known to be there. */
    @Override
    public void gap(Gap missing) {
        ends.forget();
        cache.gap(missing);
        staying.gap();
    }

    /** Forgets what {@link #cleared} forgets. */
    @Override
    public void restarted(long seen) {
        ends.forget();
        learned.forgetPins();
        cache.restarted(seen);
        staying.restarted();
    }

    /** Returns in what the engine's events differ from others'. */
    public CacheTraits traits() {
        return cache.traits();
    }

    /** Copies what the cache holds after a batch; empty while that is not certain. See {@link Cache#snapshot}. */
    public Optional<ViewSnapshot> snapshot(StreamPosition at) {
        return cache.snapshot(at);
    }

    /**
     * Holds exactly what the snapshot says, between two batches; see {@link Cache#become}. Of what comes with it nothing
     * is known to end an insertion; a block on a pinned path that it lacks has left.
     */
    public void become(ViewSnapshot view) {
        ends.forget();
        learned.restoring(true);
        try {
            cache.become(view);
        } finally {
            learned.restoring(false);
        }
        staying.gap();
    }

    /** Remembers, from its next store on, where the insertion ended that stored this block. */
    void watchEnd(long block) {
        ends.watch(block);
    }

    /** Takes {@link #watchEnd} back. */
    void unwatchEnd(long block) {
        ends.unwatch(block);
    }

    /** Returns true if an unpin of this block, if it is pinned here, leads to what is alive, as far as is known. */
    boolean leadsToLife(long block) {
        return !resident(block) || endedInsertion(block) || ends.isThere(block);
    }

    /** Follows how much of the path down to this block stays there after a moment of the engine's clock. */
    StayingPath follow(long lastBlock, long sinceMicros) {
        return staying.follow(lastBlock, sinceMicros);
    }

    /** Returns the time on the engine's clock, allowing for a last batch that came late; 0 before there was one. */
    long engineMicros() {
        return stampMicros == 0 ? 0 : Math.max(stampMicros, lateness.publisherMicros(nowNanos));
    }

    /** Returns when the last batch came. */
    long heardNanos() {
        return heardNanos;
    }

    /** Returns true if events came late within so many nanoseconds, so that others may be on their way. */
    boolean late(long within) {
        return lateness.late(nowNanos, within);
    }

    /** Removals of blocks that were not there. */
    public long unknownRemovals() {
        return cache.unknownRemovals();
    }

    /** Returns what the last announcement of stores found. */
    public LastStore lastStore() {
        return learned.lastStore();
    }

    /** Returns true if the cache has nothing but what it reports. */
    public boolean certain() {
        return cache.certain();
    }

    /** Returns the reason why that is certain or not, in a sentence without its full stop. */
    public String certainty() {
        return cache.certainty();
    }

    /** Returns true if the report of the GPU may be wrong because events were lost after they began to arrive. */
    public boolean eventsLost() {
        return cache.eventsLost();
    }

    /** Blocks on the GPU. */
    public int size() {
        return learned.resident();
    }

    /** Blocks that left the GPU and are still remembered. */
    public int ghosts() {
        return learned.ghosts();
    }

    /** Finds how much of a path is in the cache, for any thread; see {@link BlockTree#match}. */
    public void match(long[] path, int from, int count, Matches into) {
        tree.match(path, from, count, into);
    }

    @Override
    public int match(Prefix path) {
        int above = Strips.ROOT;
        for (int i = 0; i < path.blocks(); i++) {
            above = tree.child(above, path.block(i));
            if (above == 0 || !cache.present(above, Tier.GPU)) {
                return i;
            }
        }
        return path.blocks();
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
        int position = tree.find(block);
        return position != 0 && learned.endedInsertion(position);
    }

    @Override
    public boolean resident(long block) {
        int position = tree.find(block);
        return position != 0 && cache.present(position, Tier.GPU);
    }

    @Override
    public boolean ambiguous(long block) {
        int position = tree.find(block);
        return position != 0 && learned.ambiguous(position);
    }

    @Override
    public int depth(long block) {
        int position = tree.find(block);
        return position == 0 ? 0 : learned.depth(position);
    }

    @Override
    public long lastTouch(long block) {
        return learned.lastTouch(block, tree.find(block));
    }

    @Override
    public int timesLost(long block) {
        return learned.timesLost(block);
    }

    @Override
    public long[] path(long block) {
        long[] path = new long[depth(block)];
        int position = path.length == 0 ? 0 : tree.find(block);
        for (int i = path.length - 1; i >= 0; i--) {
            path[i] = tree.strips.name(position);
            position = tree.strips.before(position);
        }
        return path;
    }

    /** Counts a pinned path; every block up to the root must be known. */
    public void pinPath(long lastBlock) {
        if (depth(lastBlock) == 0) {
            throw new IllegalArgumentException(
                    "Block " + lastBlock + " cannot be pinned: its way to the root is not known.");
        }
        learned.pinPath(tree.find(lastBlock));
        listener.pinsChanged(path(lastBlock));
    }

    /** Takes back one {@link #pinPath}. */
    public void unpinPath(long lastBlock) {
        if (!pinned(lastBlock)) {
            throw new IllegalArgumentException("Block " + lastBlock + " is not pinned.");
        }
        long[] path = path(lastBlock);
        learned.unpinPath(tree.find(lastBlock));
        listener.pinsChanged(path);
    }

    @Override
    public int pinnedBlocks() {
        return learned.pinned();
    }

    @Override
    public boolean pinned(long block) {
        int position = tree.find(block);
        return position != 0 && learned.pinned(position);
    }

    @Override
    public int unpinnedBlocks(long lastBlock) {
        return learned.unpinned(tree.find(lastBlock));
    }

    @Override
    public int pathsToUnpin(long[] lastBlocks, int least, long most) {
        LongToLongMap gone = new LongToLongMap();
        int left = learned.pinned();
        int count = 0;
        while (count < lastBlocks.length && (count < least || left > most)) {
            left -= learned.freedWith(tree.find(lastBlocks[count++]), gone);
        }
        return count;
    }

    /** Takes one block of the cache and when it was touched last. */
    @FunctionalInterface
    public interface BlockVisitor {
        void accept(long block, long lastTouchNanos);
    }

    /** Shows all blocks on the GPU. It looks at the whole tree: not for every event. */
    public void onGpu(BlockVisitor visitor) {
        for (int strip = 1; strip < tree.strips.used(); strip++) {
            for (int offset = 0; offset < tree.strips.length(strip); offset++) {
                int position = strip << Strips.OFFSET_BITS | offset;
                if (cache.present(position, Tier.GPU)) {
                    long block = tree.strips.name(position);
                    visitor.accept(block, learned.lastTouch(block, position));
                }
            }
        }
    }

    /** Shows this block to {@link #watchedOn} from now on, also when it is lost and comes back. */
    public void watch(long block) {
        learned.watch(block, tree.find(block));
    }

    /** Takes {@link #watch} back. */
    public void unwatch(long block) {
        learned.unwatch(block, tree.find(block));
    }

    /** Times that a {@linkplain #watch watched} block was evicted since it is watched. */
    public int evictions(long block) {
        return learned.evictions(block);
    }

    /** Shows the watched blocks on the path down to this block, the deepest first. */
    public void watchedOn(long lastBlock, LongConsumer visitor) {
        int position = tree.find(lastBlock);
        if (position != 0) {
            learned.watchedOn(position, visitor);
        }
    }

    /**
     * Shows all blocks at or below this one that ended an insertion. It looks at the whole tree: not for every event.
     */
    public void endsBelow(long block, LongConsumer visitor) {
        int position = tree.find(block);
        if (position != 0) {
            learned.endsBelow(position, end -> visitor.accept(tree.strips.name(end)));
        }
    }

    /** A request that no event showed used the path down to this block at that time, on the clock of {@link #now}. */
    public void touched(long lastBlock, long nanos) {
        int position = tree.find(lastBlock);
        if (position != 0) {
            learned.touched(position, nanos);
        }
    }

    /** Returns the number of times that the block was touched, as far as it is known. */
    int touches(long block) {
        int position = tree.find(block);
        return position == 0 ? 0 : learned.touches(position);
    }

    private void endChain() {
        if (!chainOpen) {
            return;
        }
        chainOpen = false;
        ends.ended(chainEnd);
        boolean ended =
                chainHoldable && cache.present(chainEndPosition, Tier.GPU) && !learned.ambiguous(chainEndPosition);
        if (ended) {
            learned.endsInsertion(chainEndPosition);
        }
        listener.insertionEnded(chainEnd, learned.depth(chainEndPosition), ended);
    }
}
