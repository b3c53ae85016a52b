package io.holdfast.core.index;

import java.util.Arrays;

/**
 * Which caches hold which blocks of a strip.
 *
 * <p>A lane is one tier of one cache. What it holds of a strip is an entry: the lane above sixteen bits, one for each place.
 * A strip that one lane holds blocks of, which is nearly every one, keeps the entry in itself; of more it keeps a list,
 * sorted by lane and without empty entries, so that the tiers of one cache stand side by side. Lists have room for a power
 * of two, and come from pages that never move.
 */
final class Lanes {
    static final int TIER_BITS = 2;
    static final int TIERS = 1 << TIER_BITS;
    static final int MOST = 1 << 16;

    private static final int PRESENCE_BITS = 16;
    private static final int PRESENCE = 0xFFFF;
    private static final int PAGE_BITS = 16;
    private static final int PAGE = 1 << PAGE_BITS;

    private final Strips strips;
    private final int[] free = new int[PAGE_BITS + 1];
    private volatile int[][] shared = {};
    private int[][] pages = shared;
    private int used = PAGE;

    Lanes(Strips strips) {
        this.strips = strips;
        Arrays.fill(free, -1);
    }

    static int lane(int cache, Tier tier) {
        return cache << TIER_BITS | tier.rank;
    }

    static int laneOf(int entry) {
        return entry >>> PRESENCE_BITS;
    }

    static int presenceOf(int entry) {
        return entry & PRESENCE;
    }

    /* For readers: the lists' pages as they are now. */

    int[][] pages() {
        return shared;
    }

    /** Whether a list can be there; what a reader saw too late may say anything. */
    static boolean within(int[][] pages, int list, int count) {
        return list >>> PAGE_BITS < pages.length && (list & PAGE - 1) + count <= PAGE;
    }

    static int entry(int[][] pages, int list, int index) {
        return pages[list >>> PAGE_BITS][(list & PAGE - 1) + index];
    }

    /* For the writer. */

    /** The places of the strip that the lane holds. */
    int presence(int strip, int lane) {
        Strips.Page page = strips.page(strip);
        int count = Strips.laneCount(page, strip);
        int lanes = Strips.lanes(page, strip);
        if (count <= 1) {
            return count == 1 && laneOf(lanes) == lane ? presenceOf(lanes) : 0;
        }
        int index = index(lanes, count, lane);
        int entry = index < count ? entry(pages, lanes, index) : 0;
        return laneOf(entry) == lane ? presenceOf(entry) : 0;
    }

    /** The places of the strip that any lane holds. */
    int occupied(int strip) {
        Strips.Page page = strips.page(strip);
        int count = Strips.laneCount(page, strip);
        int lanes = Strips.lanes(page, strip);
        if (count <= 1) {
            return count == 0 ? 0 : presenceOf(lanes);
        }
        int all = 0;
        for (int i = 0; i < count; i++) {
            all |= entry(pages, lanes, i);
        }
        return presenceOf(all);
    }

    /** Lets the lane hold these places, and returns those of them that it held before. */
    int add(int strip, int lane, int places) {
        strips.touch(strip);
        Strips.Page page = strips.page(strip);
        int count = Strips.laneCount(page, strip);
        int lanes = Strips.lanes(page, strip);
        int fresh = lane << PRESENCE_BITS | places;
        if (count == 0) {
            strips.lanes(strip, fresh, 1, 0);
            return 0;
        }
        if (count == 1) {
            if (laneOf(lanes) == lane) {
                strips.lanes(strip, lanes | places, 1, 0);
                return lanes & places;
            }
            int list = allocate(1);
            boolean first = lane < laneOf(lanes);
            set(list, 0, first ? fresh : lanes);
            set(list, 1, first ? lanes : fresh);
            strips.lanes(strip, list, 2, 1);
            return 0;
        }
        int index = index(lanes, count, lane);
        int entry = index < count ? entry(pages, lanes, index) : 0;
        if (index < count && laneOf(entry) == lane) {
            set(lanes, index, entry | places);
            return entry & places;
        }
        int list = lanes;
        int sizeClass = Strips.laneClass(page, strip);
        if (count == 1 << sizeClass) {
            list = allocate(sizeClass + 1);
            copy(lanes, 0, list, 0, count);
            release(lanes, sizeClass);
            sizeClass++;
        }
        copy(list, index, list, index + 1, count - index);
        set(list, index, fresh);
        strips.lanes(strip, list, count + 1, sizeClass);
        return 0;
    }

    /** Takes these places from the lane, and returns those of them that it held. */
    int take(int strip, int lane, int places) {
        Strips.Page page = strips.page(strip);
        int count = Strips.laneCount(page, strip);
        int lanes = Strips.lanes(page, strip);
        if (count <= 1) {
            if (count == 0 || laneOf(lanes) != lane || (lanes & places) == 0) {
                return 0;
            }
            strips.touch(strip);
            int left = lanes & ~places;
            strips.lanes(strip, left, presenceOf(left) == 0 ? 0 : 1, 0);
            return lanes & places;
        }
        int index = index(lanes, count, lane);
        int entry = index < count ? entry(pages, lanes, index) : 0;
        if (index == count || laneOf(entry) != lane || (entry & places) == 0) {
            return 0;
        }
        strips.touch(strip);
        int left = entry & ~places;
        if (presenceOf(left) != 0) {
            set(lanes, index, left);
            return entry & places;
        }
        int sizeClass = Strips.laneClass(page, strip);
        if (count == 2) {
            int other = entry(pages, lanes, 1 - index);
            release(lanes, sizeClass);
            strips.lanes(strip, other, 1, 0);
        } else {
            copy(lanes, index + 1, lanes, index, count - index - 1);
            strips.lanes(strip, lanes, count - 1, sizeClass);
        }
        return entry & places;
    }

    /** Where the lane is in a list, or would have to be. */
    private int index(int list, int count, int lane) {
        int[] page = pages[list >>> PAGE_BITS];
        int from = list & PAGE - 1;
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (laneOf(page[from + middle]) < lane) {
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
