package io.holdfast.core.index;

import java.util.Arrays;
import java.util.function.IntConsumer;
import java.util.function.LongConsumer;

/** Facts learned about the blocks of one engine's cache: side arrays over the positions of its {@link BlockTree}. */
final class Learned implements Overlay {
    /*
     * Layout
     * ------
     * A block's numbers stand at its position, in pages that lie over those of the strips: the last touch 4 bytes,
     * touches
     * 2. What is a bit is kept for a strip at once: ended an insertion, ambiguous, pinned; so is the depth, of which
     * all blocks of a strip have the same but for their offsets. That is 6.9 bytes a block beside the tree's own 18 or
     * so. Positions never move, so nothing here does; a position that dies is wiped, because another block will have
     * it.
     *
     * Touches
     * -------
     * Engines announce stores, never hits; but a store under P proves that a request walked the whole path to P.
     * Touching it is a walk to the root, thousands of blocks for a long prompt, and a decoding vLLM announces every
     * block by itself. Touch times therefore have a grain of 2^26 ns (67 ms), and a walk ends at the first block that
     * was touched in the same grain: its ancestors were as well, since every touch goes up to the root or to such a
     * block, and hanging up an orphan raises the path above it to the orphan's own time. So no block is written more
     * than 15 times a second, however many stores come, and a parent is never older than its child.
     *
     * Ambiguous blocks
     * ----------------
     * A block announced again while it is on the GPU, in the group that decides, is one more block of the engine under
     * one hash: the same tokens under two salts or LoRAs, or computed twice side by side. Which one went when one is
     * removed, the hash does not tell, and a pin and its unpin could hit different ones: from the second copy on the
     * block is ambiguous, until none is left on the GPU. So is a block that was stored in a namespace, since its hash
     * may stand for the same tokens in another. A block that another group of layers stores as well has no second copy
     * by that.
     *
     * Pins
     * ----
     * A pinned path counts once on each of its blocks; a block is pinned while its count is above zero. That is exact
     * for shared prefixes. The first count is a bit, further ones stand in a table. What is pinned stays in the tree
     * though nobody holds it, and in the cache when events are lost: the engine was told to keep it.
     *
     * Watched blocks
     * --------------
     * The ends of shared prefixes are few, and a request that passes one has to be noticed cheaply: a bit for each
     * place, so that a path is looked at strip by strip. Their names are kept as well, since a watched block that is
     * lost may come back at another position; so each block that is stored anew is looked for in a table that fits the
     * nearest cache.
     *
     * Depth
     * -----
     * It is computed when asked and kept: when an orphan's way to the root becomes known, nothing is pushed down.
     */
    private static final int LEAST_GHOSTS = 1 << 17;
    private static final int TOUCH_SHIFT = 26;
    private static final int PAGE_BITS = 10;
    private static final int PER_PAGE = 1 << PAGE_BITS;
    private static final int PAGE_MASK = PER_PAGE - 1;
    private static final int AMBIGUOUS_SHIFT = 16;

    private static final class Page {
        final int[] touched = new int[PER_PAGE << Strips.OFFSET_BITS];
        final short[] touches = new short[PER_PAGE << Strips.OFFSET_BITS];
        /** A bit for each offset: ended an insertion; above 16 bits: ambiguous. */
        final int[] marks = new int[PER_PAGE];

        final char[] pinned = new char[PER_PAGE];
        final char[] watched = new char[PER_PAGE];
        /** Depth of the strip's first block; 0 is not known. */
        final int[] depth = new int[PER_PAGE];
    }

    private final BlockTree tree;
    private final boolean countsCopies;
    private final TreeListener listener;
    private final Ghosts ghosts;
    private final LongToLongMap morePins = new LongToLongMap();
    /** Number of evictions since it is watched, plus one, by watched block. */
    private final LongToLongMap watchedNames = new LongToLongMap();

    private final LastStore lastStore = new LastStore();
    private Page[] pages = {new Page()};
    private int now;
    private boolean namespaced;
    /** True while what is held comes from a snapshot, so that nobody has just stored it. */
    private boolean restoring;

    private int resident;
    private int mostResident;
    private int pinned;

    /* Of the last places that were held on the GPU. */
    private int lastStrip;
    private int lastTwice;
    /** The deepest block of the announcement that had been lost; 0 where no block had. */
    private int cameBack;

    Learned(BlockTree tree, CacheTraits traits, TreeListener listener, MemoryBudget memory) {
        ghosts = new Ghosts(LEAST_GHOSTS, memory);
        this.tree = tree;
        this.countsCopies = traits.countsCopies();
        this.listener = listener;
    }

    /** The time that the next events happen at. */
    void now(long nanos) {
        now = (int) (nanos >>> TOUCH_SHIFT);
    }

    /** An announcement comes. */
    LastStore storeBegins(StoredBlocks stores, boolean decides) {
        namespaced = stores.namespaced();
        cameBack = 0;
        lastStore.begin(decides);
        return lastStore;
    }

    /** Takes in that what is held from now on comes from a snapshot, or from the engine again. */
    void restoring(boolean now) {
        restoring = now;
        namespaced &= !now;
    }

    /** Returns the position of the deepest block of the last announcement that had been lost; 0 where no block had. */
    int cameBack() {
        return cameBack;
    }

    LastStore lastStore() {
        return lastStore;
    }

    /* What the tree tells. */

    @Override
    public void continued(int position, Tier tier) {
        if (tier == Tier.GPU) {
            touch(position);
        }
    }

    @Override
    public void held(int strip, Tier tier, int offsets, int twice, int elsewhere) {
        Page page = page(strip);
        int first = first(strip);
        for (int left = offsets & ~(twice | elsewhere); left != 0; left &= left - 1) {
            int offset = Integer.numberOfTrailingZeros(left);
            long name = tree.strips.name(strip << Strips.OFFSET_BITS | offset);
            if (page.touched[first + offset] == 0) {
                int ghost = ghosts.find(name);
                page.touches[first + offset] = ghost == HashSlots.NONE ? 0 : ghosts.touches(ghost);
                cameBack = ghost == HashSlots.NONE ? cameBack : strip << Strips.OFFSET_BITS | offset;
            }
            if (watchedNames.get(name) != 0) {
                page.watched[strip & PAGE_MASK] |= (char) (1 << offset);
            }
        }
        boolean onGpu = tier == Tier.GPU;
        int doubtful = (namespaced ? offsets : 0) | (onGpu && countsCopies ? twice : 0);
        if (doubtful != 0) {
            int at = strip & PAGE_MASK;
            page.marks[at] = (page.marks[at] | doubtful << AMBIGUOUS_SHIFT) & ~doubtful;
        }
        if (onGpu) {
            resident += Integer.bitCount(offsets & ~twice);
            mostResident = Math.max(mostResident, resident);
        }
        if (onGpu && !restoring) {
            lastStore.held(offsets, twice, elsewhere);
            lastStrip = strip;
            lastTwice = twice;
            touch(strip << Strips.OFFSET_BITS | 31 - Integer.numberOfLeadingZeros(offsets));
        }
    }

    @Override
    public void left(int strip, Tier tier, int offsets, int elsewhere, boolean evicted) {
        Page page = page(strip);
        if (tier != Tier.GPU) {
            page.marks[strip & PAGE_MASK] &= ~((offsets & ~elsewhere) << AMBIGUOUS_SHIFT);
            return;
        }
        page.marks[strip & PAGE_MASK] &= ~(offsets | offsets << AMBIGUOUS_SHIFT);
        resident -= Integer.bitCount(offsets);
        if (!evicted) {
            return;
        }
        int first = first(strip);
        for (int left = offsets; left != 0; left &= left - 1) {
            int offset = Integer.numberOfTrailingZeros(left);
            long hash = tree.strips.name(strip << Strips.OFFSET_BITS | offset);
            ghosts.remember(hash, page.touched[first + offset], page.touches[first + offset], mostResident);
            if ((page.watched[strip & PAGE_MASK] >>> offset & 1) != 0) {
                watchedNames.add(hash, 1);
            }
            if ((page.pinned[strip & PAGE_MASK] >>> offset & 1) != 0) {
                listener.pinnedBlockRemoved(hash);
            }
        }
    }

    @Override
    public void hung(int position, int above) {
        int grain = page(position >>> Strips.OFFSET_BITS).touched[slot(position)];
        for (int last = above; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            int strip = last >>> Strips.OFFSET_BITS;
            int[] touched = page(strip).touched;
            for (int at = slot(last); at >= first(strip); at--) {
                if (touched[at] >= grain) {
                    return;
                }
                touched[at] = grain;
            }
        }
    }

    @Override
    public void died(int strip, int from, int to) {
        Page page = page(strip);
        int first = first(strip);
        Arrays.fill(page.touched, first + from, first + to, 0);
        Arrays.fill(page.touches, first + from, first + to, (short) 0);
        int living = (1 << from) - 1;
        page.marks[strip & PAGE_MASK] &= living | living << AMBIGUOUS_SHIFT;
        page.watched[strip & PAGE_MASK] &= (char) living;
        if (from == 0) {
            page.depth[strip & PAGE_MASK] = 0;
        }
    }

    @Override
    public int kept(int strip) {
        return pinned == 0 ? 0 : page(strip).pinned[strip & PAGE_MASK];
    }

    @Override
    public int ambiguousIn(int strip) {
        return page(strip).marks[strip & PAGE_MASK] >>> AMBIGUOUS_SHIFT;
    }

    @Override
    public void ambiguousAt(int position) {
        int[] marks = page(position >>> Strips.OFFSET_BITS).marks;
        int at = position >>> Strips.OFFSET_BITS & PAGE_MASK;
        marks[at] = (marks[at] | bit(position) << AMBIGUOUS_SHIFT) & ~bit(position);
    }

    /* What is told of an insertion that ended. */

    /**
     * Returns true if the last announcement's last block, at this position, may be pinned once it turns out to end an
     * insertion.
     */
    boolean holdable(int position) {
        boolean twice = position >>> Strips.OFFSET_BITS == lastStrip
                && (lastTwice >>> (position & Strips.OFFSETS - 1) & 1) != 0;
        return !twice && !namespaced;
    }

    void endsInsertion(int position) {
        page(position >>> Strips.OFFSET_BITS).marks[position >>> Strips.OFFSET_BITS & PAGE_MASK] |= bit(position);
    }

    /* What is asked; a position is that of a block. */

    boolean endedInsertion(int position) {
        return (marks(position) & bit(position)) != 0;
    }

    boolean ambiguous(int position) {
        return (marks(position) >>> AMBIGUOUS_SHIFT & bit(position)) != 0;
    }

    int resident() {
        return resident;
    }

    int ghosts() {
        return ghosts.size();
    }

    int timesLost(long hash) {
        int ghost = ghosts.find(hash);
        return ghost == HashSlots.NONE ? 0 : ghosts.timesLost(ghost);
    }

    /** Returns the last touch of a block that may be gone; position 0 when it has none. */
    long lastTouch(long hash, int position) {
        int ghost = ghosts.find(hash);
        int remembered = ghost == HashSlots.NONE ? 0 : ghosts.lastTouch(ghost);
        int known = position == 0 ? 0 : page(position >>> Strips.OFFSET_BITS).touched[slot(position)];
        return (long) Math.max(remembered, known) << TOUCH_SHIFT;
    }

    int touches(int position) {
        return page(position >>> Strips.OFFSET_BITS).touches[slot(position)];
    }

    int depth(int position) {
        int strip = position >>> Strips.OFFSET_BITS;
        int missing = 0;
        int known = strip;
        int above = tree.strips.parent(known);
        while (depthOf(known) == 0 && above > Strips.ROOT) {
            missing += (above & Strips.OFFSETS - 1) + 1;
            known = above >>> Strips.OFFSET_BITS;
            above = tree.strips.parent(known);
        }
        if (depthOf(known) == 0) {
            if (above == Strips.ORPHAN) {
                return 0;
            }
            depthOf(known, 1);
        }
        int value = depthOf(known) + missing;
        for (int at = strip; at != known; at = above >>> Strips.OFFSET_BITS) {
            depthOf(at, value);
            above = tree.strips.parent(at);
            value -= (above & Strips.OFFSETS - 1) + 1;
        }
        return depthOf(strip) + (position & Strips.OFFSETS - 1);
    }

    /* Watched blocks. */

    /** Shows the block to {@link #watchedOn} for each path over it from now on; position 0 where it is not there. */
    void watch(long name, int position) {
        if (watchedNames.get(name) == 0) {
            watchedNames.add(name, 1);
        }
        if (position != 0) {
            page(position >>> Strips.OFFSET_BITS).watched[position >>> Strips.OFFSET_BITS & PAGE_MASK] |=
                    (char) bit(position);
        }
    }

    void unwatch(long name, int position) {
        watchedNames.remove(name);
        if (position != 0) {
            page(position >>> Strips.OFFSET_BITS).watched[position >>> Strips.OFFSET_BITS & PAGE_MASK] &=
                    (char) ~bit(position);
        }
    }

    /** Times that a watched block was evicted. */
    int evictions(long name) {
        return (int) Math.max(0, watchedNames.get(name) - 1);
    }

    /** Shows the watched blocks of a path, the deepest first. */
    void watchedOn(int lastPosition, LongConsumer visitor) {
        for (int last = lastPosition; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            int strip = last >>> Strips.OFFSET_BITS;
            int seen = upTo(last) & page(strip).watched[strip & PAGE_MASK];
            while (seen != 0) {
                int place = 31 - Integer.numberOfLeadingZeros(seen);
                seen &= ~(1 << place);
                visitor.accept(tree.strips.name(strip << Strips.OFFSET_BITS | place));
            }
        }
    }

    /** Shows the positions of all blocks at or below this one that ended an insertion. */
    void endsBelow(int position, IntConsumer visitor) {
        for (int strip = 1; strip < tree.strips.used(); strip++) {
            for (int left = page(strip).marks[strip & PAGE_MASK] & Strips.ALL_OFFSETS; left != 0; left &= left - 1) {
                int end = strip << Strips.OFFSET_BITS | Integer.numberOfTrailingZeros(left);
                if (passes(end, position)) {
                    visitor.accept(end);
                }
            }
        }
    }

    /** Returns true if the path down to {@code end} goes over this position. */
    private boolean passes(int end, int position) {
        int strip = position >>> Strips.OFFSET_BITS;
        for (int last = end; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            if (last >>> Strips.OFFSET_BITS == strip) {
                return (last & Strips.OFFSETS - 1) >= (position & Strips.OFFSETS - 1);
            }
        }
        return false;
    }

    /* Pins. */

    int pinned() {
        return pinned;
    }

    boolean pinned(int position) {
        return (page(position >>> Strips.OFFSET_BITS).pinned[position >>> Strips.OFFSET_BITS & PAGE_MASK]
                        & bit(position))
                != 0;
    }

    void pinPath(int lastPosition) {
        for (int last = lastPosition; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            int strip = last >>> Strips.OFFSET_BITS;
            char[] pins = page(strip).pinned;
            int path = upTo(last);
            int before = pins[strip & PAGE_MASK];
            pins[strip & PAGE_MASK] |= (char) path;
            pinned += Integer.bitCount(path & ~before);
            for (int again = path & before; again != 0; again &= again - 1) {
                morePins.add(strip << Strips.OFFSET_BITS | Integer.numberOfTrailingZeros(again), 1);
            }
        }
    }

    void unpinPath(int lastPosition) {
        for (int last = lastPosition; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            int strip = last >>> Strips.OFFSET_BITS;
            char[] pins = page(strip).pinned;
            int over = 0;
            for (int left = upTo(last) & pins[strip & PAGE_MASK]; left != 0; left &= left - 1) {
                int offset = Integer.numberOfTrailingZeros(left);
                if (!morePins.take(strip << Strips.OFFSET_BITS | offset)) {
                    over |= 1 << offset;
                }
            }
            if (over != 0) {
                pins[strip & PAGE_MASK] &= (char) ~over;
                pinned -= Integer.bitCount(over);
                tree.trimCandidate(strip);
            }
        }
    }

    void forgetPins() {
        for (int strip = 1; pinned > 0 && strip < tree.strips.used(); strip++) {
            char[] pins = page(strip).pinned;
            int here = pins[strip & PAGE_MASK];
            if (here != 0) {
                pins[strip & PAGE_MASK] = 0;
                pinned -= Integer.bitCount(here);
                tree.trimCandidate(strip);
            }
        }
        morePins.clear();
    }

    /** Returns the number of blocks at the end of this path that are not pinned. */
    int unpinned(int lastPosition) {
        int count = 0;
        for (int last = lastPosition; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            int strip = last >>> Strips.OFFSET_BITS;
            int pins = upTo(last) & page(strip).pinned[strip & PAGE_MASK];
            if (pins != 0) {
                return count + (last & Strips.OFFSETS - 1) - (31 - Integer.numberOfLeadingZeros(pins));
            }
            count += (last & Strips.OFFSETS - 1) + 1;
        }
        return count;
    }

    /**
     * Returns the number of blocks that stop being pinned once this path is gone as well as those already counted;
     * counts this path, too.
     */
    int freedWith(int lastPosition, LongToLongMap gone) {
        int freed = 0;
        for (int last = lastPosition; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            for (int offset = last & Strips.OFFSETS - 1; offset >= 0; offset--) {
                int position = (last & -Strips.OFFSETS) | offset;
                gone.add(position, 1);
                if (gone.get(position) == 1 + morePins.get(position)) {
                    freed++;
                }
            }
        }
        return freed;
    }

    /** A use that no event showed, at that time. */
    void touched(int lastPosition, long nanos) {
        touch(lastPosition, (int) (nanos >>> TOUCH_SHIFT));
    }

    private void touch(int lastPosition) {
        touch(lastPosition, now);
    }

    private void touch(int lastPosition, int time) {
        for (int last = lastPosition; last > Strips.ROOT; last = tree.strips.parent(last >>> Strips.OFFSET_BITS)) {
            int strip = last >>> Strips.OFFSET_BITS;
            Page page = page(strip);
            int first = first(strip);
            for (int at = slot(last); at >= first; at--) {
                if (page.touched[at] >= time) {
                    return;
                }
                page.touched[at] = time;
                if (page.touches[at] < Short.MAX_VALUE) {
                    page.touches[at]++;
                }
            }
        }
    }

    private int marks(int position) {
        return page(position >>> Strips.OFFSET_BITS).marks[position >>> Strips.OFFSET_BITS & PAGE_MASK];
    }

    private int depthOf(int strip) {
        return page(strip).depth[strip & PAGE_MASK];
    }

    private void depthOf(int strip, int value) {
        page(strip).depth[strip & PAGE_MASK] = value;
    }

    private Page page(int strip) {
        int page = strip >>> PAGE_BITS;
        if (page >= pages.length) {
            int before = pages.length;
            pages = Arrays.copyOf(pages, page + 1);
            for (int i = before; i <= page; i++) {
                pages[i] = new Page();
            }
        }
        return pages[page];
    }

    private static int first(int strip) {
        return (strip & PAGE_MASK) << Strips.OFFSET_BITS;
    }

    private static int slot(int position) {
        return position & (PER_PAGE << Strips.OFFSET_BITS) - 1;
    }

    private static int bit(int position) {
        return 1 << (position & Strips.OFFSETS - 1);
    }

    /** This offset of the strip and those before it. */
    private static int upTo(int position) {
        return (2 << (position & Strips.OFFSETS - 1)) - 1;
    }
}
