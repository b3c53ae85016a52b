package io.holdfast.core.index;

import java.util.Arrays;

/**
 * Caches that hold the blocks of a strip.
 *
 * <p>A holder is one tier of one cache. What it holds of a strip is an entry: the holder above sixteen bits, one for
 * each offset. A strip that one holder holds blocks of, which is nearly every one, keeps the entry in itself; of more
 * it keeps a list, sorted by holder and without empty entries, so that the tiers of one cache stand side by side. Lists
 * have room for a power of two, and come from pages that never move.
 *
 * <p>A prompt that all requests share is held whole by most caches, so the first {@value #BY_BIT} caches that hold all
 * sixteen blocks of a strip on the GPU have a bit in it as well, and a reader goes on with all of them at once.
 */
final class Holders {
    static final int TIER_BITS = 2;
    static final int TIERS = 1 << TIER_BITS;
    static final int MOST = 1 << 16;
    /** Caches that have a bit of their own in a strip. */
    static final int BY_BIT = Long.SIZE;

    private static final int PRESENCE_BITS = 16;
    private static final int PRESENCE = 0xFFFF;
    private static final int PAGE_BITS = 16;
    private static final int PAGE = 1 << PAGE_BITS;

    private final Strips strips;
    private final int[] free = new int[PAGE_BITS + 1];
    private volatile int[][] shared = {};
    private int[][] pages = shared;
    private int used = PAGE;

    Holders(Strips strips) {
        this.strips = strips;
        Arrays.fill(free, -1);
    }

    static int holder(int cache, Tier tier) {
        return cache << TIER_BITS | tier.rank;
    }

    static int holderOf(int entry) {
        return entry >>> PRESENCE_BITS;
    }

    static int presenceOf(int entry) {
        return entry & PRESENCE;
    }

    /* For readers: the lists' pages as they are now. */

    int[][] pages() {
        return shared;
    }

    /** Returns true if a list can be there; what a reader saw too late may be any number. */
    static boolean within(int[][] pages, int list, int count) {
        return list >>> PAGE_BITS < pages.length && (list & PAGE - 1) + count <= PAGE;
    }

    static int entry(int[][] pages, int list, int index) {
        return pages[list >>> PAGE_BITS][(list & PAGE - 1) + index];
    }

    /* For the writer. */

    /** The offsets of the strip that the holder holds. */
    int presence(int strip, int holder) {
        Strips.Page page = strips.page(strip);
        int count = Strips.holderCount(page, strip);
        int holders = Strips.holders(page, strip);
        if (count <= 1) {
            return count == 1 && holderOf(holders) == holder ? presenceOf(holders) : 0;
        }
        int index = index(holders, count, holder);
        int entry = index < count ? entry(pages, holders, index) : 0;
        return holderOf(entry) == holder ? presenceOf(entry) : 0;
    }

    /** The offsets of the strip that any holder holds. */
    int occupied(int strip) {
        Strips.Page page = strips.page(strip);
        int count = Strips.holderCount(page, strip);
        int holders = Strips.holders(page, strip);
        if (count <= 1) {
            return count == 0 ? 0 : presenceOf(holders);
        }
        int all = 0;
        for (int i = 0; i < count; i++) {
            all |= entry(pages, holders, i);
        }
        return presenceOf(all);
    }

    /** Lets the holder hold these offsets, and returns those of them that it held before. */
    int add(int strip, int holder, int offsets) {
        strips.touch(strip);
        Strips.Page page = strips.page(strip);
        int count = Strips.holderCount(page, strip);
        int holders = Strips.holders(page, strip);
        int fresh = holder << PRESENCE_BITS | offsets;
        if (count == 0) {
            turnFull(strip, 0, fresh);
            strips.holders(strip, fresh, 1, 0);
            return 0;
        }
        if (count == 1) {
            if (holderOf(holders) == holder) {
                turnFull(strip, holders, holders | offsets);
                strips.holders(strip, holders | offsets, 1, 0);
                return holders & offsets;
            }
            turnFull(strip, 0, fresh);
            int list = allocate(1);
            boolean first = holder < holderOf(holders);
            set(list, 0, first ? fresh : holders);
            set(list, 1, first ? holders : fresh);
            strips.holders(strip, list, 2, 1);
            return 0;
        }
        int index = index(holders, count, holder);
        int entry = index < count ? entry(pages, holders, index) : 0;
        if (index < count && holderOf(entry) == holder) {
            turnFull(strip, entry, entry | offsets);
            set(holders, index, entry | offsets);
            return entry & offsets;
        }
        turnFull(strip, 0, fresh);
        int list = holders;
        int sizeClass = Strips.holderClass(page, strip);
        if (count == 1 << sizeClass) {
            list = allocate(sizeClass + 1);
            copy(holders, 0, list, 0, count);
            release(holders, sizeClass);
            sizeClass++;
        }
        copy(list, index, list, index + 1, count - index);
        set(list, index, fresh);
        strips.holders(strip, list, count + 1, sizeClass);
        return 0;
    }

    /** Takes these offsets from the holder, and returns those of them that it held. */
    int take(int strip, int holder, int offsets) {
        Strips.Page page = strips.page(strip);
        int count = Strips.holderCount(page, strip);
        int holders = Strips.holders(page, strip);
        if (count <= 1) {
            if (count == 0 || holderOf(holders) != holder || (holders & offsets) == 0) {
                return 0;
            }
            strips.touch(strip);
            int left = holders & ~offsets;
            turnFull(strip, holders, left);
            strips.holders(strip, left, presenceOf(left) == 0 ? 0 : 1, 0);
            return holders & offsets;
        }
        int index = index(holders, count, holder);
        int entry = index < count ? entry(pages, holders, index) : 0;
        if (index == count || holderOf(entry) != holder || (entry & offsets) == 0) {
            return 0;
        }
        strips.touch(strip);
        int left = entry & ~offsets;
        turnFull(strip, entry, left);
        if (presenceOf(left) != 0) {
            set(holders, index, left);
            return entry & offsets;
        }
        int sizeClass = Strips.holderClass(page, strip);
        if (count == 2) {
            int other = entry(pages, holders, 1 - index);
            release(holders, sizeClass);
            strips.holders(strip, other, 1, 0);
        } else {
            copy(holders, index + 1, holders, index, count - index - 1);
            strips.holders(strip, holders, count - 1, sizeClass);
        }
        return entry & offsets;
    }

    /** Keeps the strip's bits right when an entry becomes another of the same holder; 0 is none. */
    private void turnFull(int strip, int before, int after) {
        boolean was = presenceOf(before) == PRESENCE;
        boolean is = presenceOf(after) == PRESENCE;
        int cache = holderOf(was ? before : after) >>> TIER_BITS;
        boolean onGpu = (holderOf(was ? before : after) & TIERS - 1) == Tier.GPU.rank;
        if (was != is && onGpu && cache < BY_BIT) {
            strips.turnFull(strip, cache);
        }
    }

    /** Returns the index of the holder in a list, or the one at which it would be inserted. */
    private int index(int list, int count, int holder) {
        int[] page = pages[list >>> PAGE_BITS];
        int from = list & PAGE - 1;
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (holderOf(page[from + middle]) < holder) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    private void set(int list, int index, int entry) {
        pages[list >>> PAGE_BITS][(list & PAGE - 1) + index] = entry;
    }

    private void copy(int from, int fromIndex, int to, int toIndex, int count) {
        System.arraycopy(
                pages[from >>> PAGE_BITS],
                (from & PAGE - 1) + fromIndex,
                pages[to >>> PAGE_BITS],
                (to & PAGE - 1) + toIndex,
                count);
    }

    private int allocate(int sizeClass) {
        int list = free[sizeClass];
        if (list != -1) {
            free[sizeClass] = entry(pages, list, 0);
            return list;
        }
        if (used + (1 << sizeClass) > PAGE) {
            int[][] more = Arrays.copyOf(pages, pages.length + 1);
            more[pages.length] = new int[PAGE];
            pages = more;
            shared = more;
            used = 0;
        }
        list = (pages.length - 1) << PAGE_BITS | used;
        used += 1 << sizeClass;
        return list;
    }

    private void release(int list, int sizeClass) {
        set(list, 0, free[sizeClass]);
        free[sizeClass] = list;
    }
}
