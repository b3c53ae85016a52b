package io.holdfast.core.index;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/**
 * One cache of one engine as its events tell: what it holds of the tree's blocks, and how certain that is.
 *
 * <p>For the tree's writer, all but {@link #id}, {@link #certain} and {@link #certainty}.
 *
 * <p>A block that is announced again while it is there is one more copy of it, and gone when as many were removed. A
 * model whose layers keep different blocks has several groups; the first that keeps every block of a prompt is the main
 * one and decides what is in the cache. Blocks of the others are counted separately.
 *
 * <p>An uncertain cache has what it says, and may have more.
 */
public abstract sealed class Cache implements KvEventSink permits CacheByHash, CacheByContent {
    private static final int NO_GROUP = -1;
    /** Number of blocks looked for at once, so that memory answers for all of them in the time of one. */
    static final int AHEAD = PositionTable.AHEAD;

    /** Chains of a snapshot that are held before readers see them. */
    private static final int PART = 1 << 12;

    private static final Tier[] TIERS = Tier.values();

    final BlockTree tree;
    private final int id;
    private final CacheTraits traits;

    /** Beyond the first one; by position and tier. */
    private final LongToLongMap copies = new LongToLongMap();

    /** Blocks of groups that do not decide; by hash, for each group and tier. */
    private final List<LongToLongMap> others = new ArrayList<>();

    private int mainGroup = NO_GROUP;
    private int tierBits;
    /** Tiers that were ever used, including those that were emptied since. */
    private int everUsed;

    private int blocks;
    private long unknownRemovals;

    /* Places of one strip whose change is still to be told. */
    private int openStrip = Strips.NO_STRIP;
    private Tier openTier = Tier.GPU;
    private int openOffsets;

    /* The last block stored, which the next store most likely goes on from; no position once it may have gone. */
    private long lastHash;
    private int lastPosition;

    private volatile Certainty certainty = Certainty.UNSEEN;

    Cache(BlockTree tree, int id, CacheTraits traits) {
        this.tree = tree;
        this.id = id;
        this.traits = traits;
    }

    /** Its number in the tree, by which {@link Matches} names it. */
    public final int id() {
        return id;
    }

    /** Distinct blocks that it holds in any tier. */
    public abstract int blocks();

    /** Blocks that it holds and whose way to a root is not known to the tree. */
    public abstract int unplaced();

    /** Removals of blocks that were not there. */
    public final long unknownRemovals() {
        return unknownRemovals;
    }

    /** Returns true if it holds the block, by its engine's hash. */
    public final boolean holds(long hash, Tier tier) {
        return held(hash, tier);
    }

    /** Returns true if it holds the block for this group. */
    public final boolean holds(long hash, Tier tier, int group) {
        return group == mainGroup ? held(hash, tier) : other(group, tier).get(hash) > 0;
    }

    /** Shows every block that it holds, in no particular order. */
    public abstract void forEachHash(HashVisitor visitor);

    /** Returns true if it holds nothing but what it reports. */
    public final boolean certain() {
        return certainty.certain();
    }

    /** Returns the reason why it is certain or not, in a sentence without its full stop. */
    public final String certainty() {
        return certainty.reason();
    }

    /** Returns true if its report of the GPU may be wrong because events were lost after they began to arrive. */
    public final boolean eventsLost() {
        return certainty.eventsLost();
    }

    @Override
    public final void batchStarted(long sequence, long stampMicros) {
        if (certainty.equals(Certainty.UNSEEN)) {
            certainty = Certainty.SURE;
        }
    }

    @Override
    public final void stored(StoredBlocks stores) {
        if (stores.count() == 0) {
            return;
        }
        if (mainGroup == NO_GROUP && !stores.windowed()) {
            mainGroup = stores.group();
        }
        Tier tier = stores.tier();
        if (!decides(stores)) {
            LongToLongMap group = other(stores.group(), tier);
            for (int i = 0; i < stores.count(); i++) {
                if (traits.countsCopies() || group.get(stores.hash(i)) == 0) {
                    group.add(stores.hash(i), 1);
                }
            }
            return;
        }
        if ((tierBits & tier.bit) == 0) {
            tierBits |= tier.bit;
            everUsed |= tier.bit;
            tree.uses(tier);
        }
        store(stores, tier);
        flushHeld();
    }

    @Override
    public final void removed(long[] hashes, int from, int to, Tier tier, int group) {
        if (group == mainGroup) {
            for (int i = from; i < to; i++) {
                if (hashes[i] == lastHash) {
                    lastPosition = 0;
                }
            }
            for (int next = from; next < to; next += AHEAD) {
                remove(hashes, next, Math.min(to, next + AHEAD), tier);
            }
            flushReleased();
            return;
        }
        LongToLongMap counts = other(group, tier);
        for (int i = from; i < to; i++) {
            if (!counts.take(hashes[i])) {
                unknownRemovals++;
            }
        }
    }

    @Override
    public final void cleared() {
        forget(traits.clearEmptiesGpuOnly() ? Tier.GPU.bit : Tier.ALL, false);
        boolean all = (everUsed & ~Tier.GPU.bit) == 0 || !traits.clearEmptiesGpuOnly();
        certainty = all ? Certainty.SURE : certainty.gpuCleared();
    }

    @Override
    public final void batchEnded() {
        tree.publish();
    }

    @Override
    public final void gap(Gap gap) {
        certainty = Certainty.after(gap);
        if (gap.cause() != Gap.Cause.JOINED_LATE) {
            forget(Tier.ALL, true);
            tree.publish();
        }
    }

    @Override
    public final void restarted(long seen) {
        forget(Tier.ALL, false);
        tree.publish();
        certainty = Certainty.restarted(seen);
    }

    /**
     * Copies what it holds after a batch; empty while that is not certain. The writer's, between two batches: 1 M blocks
     * take some 50 ms, 100,000 take 5; twice that where they are named by content.
     */
    public final Optional<ViewSnapshot> snapshot(StreamPosition at) {
        return certain() ? Optional.of(ViewSnapshot.of(this, at)) : Optional.empty();
    }

    /**
     * Holds exactly what the snapshot says, and nothing else. The writer's, between two batches, for about half a second a
     * million blocks. Readers see it grow by parts, and it is certain when it is whole.
     *
     * <p>What it held already stays where it is and keeps what was learned of it; what the snapshot lacks was removed.
     *
     * @throws IllegalArgumentException where it is of a cache whose events mean something else
     */
    public final void become(ViewSnapshot view) {
        if (!view.fits(tree.naming(), traits)) {
            throw new IllegalArgumentException(
                    "The view is of a cache whose blocks are named or counted in another way.");
        }
        lastPosition = 0;
        certainty = Certainty.taking(view.position.sequence());
        leaveAllBut(view);
        flushReleased();
        if (view.parents.length >= PART) {
            tree.publish();
        }
        others.clear();
        mainGroup = view.mainGroup;
        tierBits = 0;
        for (int block = 0; block < view.blocks(); block++) {
            tierBits |= view.tiers(block);
        }
        everUsed |= tierBits | view.everUsed;
        for (Tier tier : TIERS) {
            if ((tierBits & tier.bit) != 0) {
                tree.uses(tier);
            }
        }
        int[] positions = place(view);
        copies.clear();
        for (int i = 0; i < view.counts.size; i++) {
            Tier tier = TIERS[view.counts.tier(i)];
            long key = view.counts.keys[i];
            int count = view.counts.counts[i];
            switch (view.counts.kind(i)) {
                case ViewSnapshot.COPIES -> {
                    if (positions[(int) key] != 0) {
                        copies.add(copyKey(positions[(int) key], tier), count - 1);
                    } else {
                        holdUnplaced(view.hashes[(int) key], tier, count - 1);
                    }
                }
                case ViewSnapshot.UNPLACED -> holdUnplaced(key, tier, count);
                default -> other(view.counts.group(i), tier).add(key, count);
            }
        }
        certainty = Certainty.taken(view.position.sequence());
        tree.publish();
    }

    /** Returns the block's position by its place in the view; 0 for one that has none here. */
    private int[] place(ViewSnapshot view) {
        int[] positions = new int[view.blocks()];
        int block = 0;
        for (int chain = 0; chain < view.parents.length; chain++) {
            int parent = view.parents[chain];
            int above =
                    parent >= 0 ? positions[parent] : parent == ViewSnapshot.UNDER_ROOT ? Strips.ROOT : Strips.ORPHAN;
            boolean placed = parent < 0 || above != 0;
            if (chain % PART == PART - 1) {
                // Nothing of this is given up as dead: what only leads to others is looked at when they are there.
                flushHeld();
                tree.publish();
            }
            approach(view, block, view.lengths[chain]);
            for (int end = block + view.lengths[chain]; block < end; block++) {
                int position = placed ? place(view, block, above) : 0;
                positions[block] = position;
                placed = position != 0;
                above = position;
                int tiers = view.tiers(block);
                for (Tier tier : TIERS) {
                    if ((tiers & tier.bit) != 0 && !placed) {
                        holdUnplaced(view.hashes[block], tier, 1);
                    } else if ((tiers & tier.bit) != 0 && !present(position, tier)) {
                        hold(position, tier);
                    }
                }
                if (placed && (view.marks[block] & ViewSnapshot.AMBIGUOUS) != 0) {
                    flushHeld();
                    tree.overlay().ambiguousAt(position);
                }
            }
        }
        flushHeld();
        for (int i = 0; i < positions.length; i++) {
            if (view.tiers(i) == 0 && positions[i] != 0) {
                tree.trimCandidate(positions[i] >>> Strips.OFFSET_BITS);
            }
        }
        return positions;
    }

    /** Writes the tiers of a strip's blocks, and which of them are ambiguous. */
    final void mark(int strip, byte[] marks, int from, int length) {
        for (Tier tier : TIERS) {
            int held = (tierBits & tier.bit) == 0 ? 0 : offsets(strip, tier);
            for (int i = 0; held != 0 && i < length; i++) {
                marks[from + i] |= (byte) ((held >>> i & 1) << tier.rank);
            }
        }
        int ambiguous = tree.overlay().ambiguousIn(strip);
        for (int i = 0; ambiguous != 0 && i < length; i++) {
            marks[from + i] |= (byte) ((ambiguous >>> i & 1) * ViewSnapshot.AMBIGUOUS);
        }
    }

    /** Lists what is counted: copies, blocks without a place, and those of other groups. */
    final void count(ViewSnapshot.Counts counts, IntUnaryOperator index) {
        copies.forEach((key, more) -> counts.add(
                index.applyAsInt((int) (key >>> Holders.TIER_BITS)),
                ViewSnapshot.COPIES,
                0,
                (int) key & Holders.TIERS - 1,
                more + 1));
        for (int i = 0; i < others.size(); i++) {
            int at = i;
            others.get(i)
                    .forEach((hash, count) ->
                            counts.add(hash, ViewSnapshot.OTHER_GROUP, at / TIERS.length, at % TIERS.length, count));
        }
        countUnplaced(counts);
    }

    final CacheTraits traits() {
        return traits;
    }

    final int mainGroup() {
        return mainGroup;
    }

    final int everUsed() {
        return everUsed;
    }

    /** Lets go of everything, for good. */
    final void drop() {
        forget(Tier.ALL, false);
        tree.publish();
        certainty = Certainty.DROPPED;
    }

    /** Returns true if the chain is of the group that decides, or would make its group that one. */
    final boolean decides(StoredBlocks stores) {
        return mainGroup == NO_GROUP ? !stores.windowed() : stores.group() == mainGroup;
    }

    /** Finds or makes the chain's blocks, and says of each that it is {@link #hold held}. */
    abstract void store(StoredBlocks stores, Tier tier);

    /** Finds these blocks, at most {@link #AHEAD}, and {@link #letGo lets go} of them. */
    abstract void remove(long[] hashes, int from, int to, Tier tier);

    abstract boolean held(long hash, Tier tier);

    /** Lets go of every block of the main group in these tiers, strip by strip; copies are dealt with here. */
    abstract void forgetPlaced(int bits, boolean sparing);

    /** Shows the engine's hash and the position of every block that it holds and that has a place. */
    abstract void forEachPlaced(HashTable.Visitor visitor);

    /** {@link #letGo Lets go} at least of what the snapshot does not have. */
    abstract void leaveAllBut(ViewSnapshot view);

    /** Asks memory for so many blocks of the snapshot, which are about to be placed. */
    abstract void approach(ViewSnapshot view, int block, int length);

    /** Finds or makes the snapshot's block under this position; 0 where it can have no place. */
    abstract int place(ViewSnapshot view, int block, int above);

    /** Lists the blocks that have no place. */
    abstract void countUnplaced(ViewSnapshot.Counts counts);

    /** Holds so many more copies of a block that has no place. */
    abstract void holdUnplaced(long hash, Tier tier, int count);

    /** Forgets all that it holds, in every tier. */
    final void forgetAll() {
        forget(Tier.ALL, false);
    }

    /** Returns the number of distinct blocks of the tree that it holds. */
    final int placed() {
        return blocks;
    }

    final boolean countsCopies() {
        return traits.countsCopies();
    }

    final boolean present(int position, Tier tier) {
        return (offsets(position >>> Strips.OFFSET_BITS, tier) & bit(position)) != 0;
    }

    /** Returns true if blocks can be in this tier only. */
    final boolean only(Tier tier) {
        return tierBits == tier.bit;
    }

    final int presentIn(int position) {
        int bits = 0;
        for (Tier tier : TIERS) {
            if ((tierBits & tier.bit) != 0 && present(position, tier)) {
                bits |= tier.bit;
            }
        }
        return bits;
    }

    /** Returns true if the block is held in any tier, or is about to be marked as held. */
    final boolean taken(int position) {
        boolean open = position >>> Strips.OFFSET_BITS == openStrip && (openOffsets & bit(position)) != 0;
        return open || presentIn(position) != 0;
    }

    /** The position of the last block stored if this is it; 0 says nothing. */
    final int last(long hash) {
        return hash == lastHash ? lastPosition : 0;
    }

    /** A store ended with this block; position 0 when it has none. */
    final void storedUpTo(long hash, int position) {
        lastHash = hash;
        lastPosition = position;
    }

    final void hold(int position, Tier tier) {
        open(position, tier, true);
    }

    final void letGo(int position, Tier tier) {
        open(position, tier, false);
    }

    final void unknownRemoval() {
        unknownRemovals++;
    }

    final boolean takeCopy(int position, Tier tier) {
        return copies.size() > 0 && copies.take(copyKey(position, tier));
    }

    /** Holds this many copies at once. */
    final void holdNow(int position, Tier tier, int count) {
        hold(position, tier);
        flushHeld();
        if (count > 1) {
            copies.add(copyKey(position, tier), count - 1);
        }
    }

    /** Lets go of a strip's offsets in these tiers, all or sparing those that the overlay keeps. */
    final void forgetStrip(int strip, int bits, boolean sparing) {
        int before = blocksIn(strip);
        int offsets = sparing ? Strips.ALL_OFFSETS & ~tree.overlay().kept(strip) : Strips.ALL_OFFSETS;
        for (Tier tier : TIERS) {
            if ((bits & tierBits & tier.bit) != 0) {
                int gone = tree.holders.take(strip, Holders.holder(id, tier), offsets);
                if (gone != 0) {
                    tree.overlay().left(strip, tier, gone, elsewhere(strip, tier), false);
                    tree.trimCandidate(strip);
                }
            }
        }
        blocks -= before - blocksIn(strip);
    }

    private void open(int position, Tier tier, boolean held) {
        int strip = position >>> Strips.OFFSET_BITS;
        int bit = bit(position);
        if (strip != openStrip || (openOffsets & bit) != 0 || tier != openTier) {
            if (held) {
                flushHeld();
            } else {
                flushReleased();
            }
            openStrip = strip;
            openTier = tier;
        }
        openOffsets |= bit;
    }

    private void flushHeld() {
        if (openStrip == Strips.NO_STRIP) {
            return;
        }
        int strip = openStrip;
        Tier tier = openTier;
        int elsewhere = elsewhere(strip, tier);
        int twice = tree.holders.add(strip, Holders.holder(id, tier), openOffsets);
        blocks += Integer.bitCount(openOffsets & ~twice & ~elsewhere);
        tree.overlay().held(strip, tier, openOffsets, twice, elsewhere);
        if (twice != 0 && traits.countsCopies()) {
            for (int left = twice; left != 0; left &= left - 1) {
                int position = strip << Strips.OFFSET_BITS | Integer.numberOfTrailingZeros(left);
                copies.add(copyKey(position, tier), 1);
            }
        }
        openStrip = Strips.NO_STRIP;
        openOffsets = 0;
    }

    private void flushReleased() {
        if (openStrip == Strips.NO_STRIP) {
            return;
        }
        int strip = openStrip;
        Tier tier = openTier;
        int gone = tree.holders.take(strip, Holders.holder(id, tier), openOffsets);
        unknownRemovals += Integer.bitCount(openOffsets & ~gone);
        if (gone != 0) {
            int elsewhere = elsewhere(strip, tier);
            blocks -= Integer.bitCount(gone & ~elsewhere);
            tree.overlay().left(strip, tier, gone, elsewhere, true);
            tree.trimCandidate(strip);
        }
        openStrip = Strips.NO_STRIP;
        openOffsets = 0;
    }

    private int offsets(int strip, Tier tier) {
        return tree.holders.presence(strip, Holders.holder(id, tier));
    }

    /** The offsets of a strip that are held in other tiers. */
    private int elsewhere(int strip, Tier tier) {
        if (only(tier)) {
            return 0;
        }
        int offsets = 0;
        for (Tier other : TIERS) {
            if (other != tier && (tierBits & other.bit) != 0) {
                offsets |= offsets(strip, other);
            }
        }
        return offsets;
    }

    private int blocksIn(int strip) {
        int offsets = 0;
        for (Tier tier : TIERS) {
            if ((tierBits & tier.bit) != 0) {
                offsets |= offsets(strip, tier);
            }
        }
        return Integer.bitCount(offsets);
    }

    private void forget(int bits, boolean sparing) {
        lastPosition = 0;
        forgetPlaced(bits, sparing);
        copies.removeIf(key -> (TIERS[(int) key & Holders.TIERS - 1].bit & bits) != 0
                && !(sparing && keeps((int) (key >>> Holders.TIER_BITS))));
        for (int i = 0; i < others.size(); i++) {
            if ((TIERS[i % TIERS.length].bit & bits) != 0) {
                others.get(i).clear();
            }
        }
        if (!sparing || blocks == 0) {
            tierBits &= ~bits;
        }
    }

    private boolean keeps(int position) {
        return (tree.overlay().kept(position >>> Strips.OFFSET_BITS) & bit(position)) != 0;
    }

    private LongToLongMap other(int group, Tier tier) {
        if (group < 0 || group > StoredBlocks.LAST_GROUP) {
            throw new IllegalArgumentException(
                    "A KV cache group is numbered from 0 to " + StoredBlocks.LAST_GROUP + ", not " + group + ".");
        }
        int index = group * TIERS.length + tier.rank;
        while (others.size() <= index) {
            others.add(new LongToLongMap());
        }
        return others.get(index);
    }

    private static int bit(int position) {
        return 1 << (position & Strips.OFFSETS - 1);
    }

    private static long copyKey(int position, Tier tier) {
        return (long) position << Holders.TIER_BITS | tier.rank;
    }
}
