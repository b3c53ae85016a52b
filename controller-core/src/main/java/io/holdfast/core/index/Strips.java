package io.holdfast.core.index;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The blocks of a {@link BlockTree}, in strips of sixteen that follow one another.
 *
 * <p>A position is a strip and a place in it: {@code strip << 4 | offset}. Positions are stable while the block lives.
 * Strip 0 is the root: it has no blocks, and position 0 is what the first block of every prompt follows. Memory comes
 * in pages that never move, so that growing costs one page and readers never look at a stale copy.
 *
 * <p>One thread writes. What readers may look at, and how they find out that they were too late, is told in {@link
 * BlockTree}.
 */
final class Strips {
    static final int OFFSETS = 16;
    static final int OFFSET_BITS = 4;
    static final int ALL_OFFSETS = (1 << OFFSETS) - 1;
    static final int ROOT = 0;
    /** The parent of a block that was announced under a block that nobody has announced. */
    static final int ORPHAN = -1;

    static final int NO_STRIP = -1;

    /** The strip has one block more; no position. */
    static final int EXTENDED = -2;

    private static final int PAGE_BITS = 10;
    private static final int PER_PAGE = 1 << PAGE_BITS;
    private static final int PAGE_MASK = PER_PAGE - 1;

    /* Eight numbers a strip. */
    private static final int FIELD_BITS = 3;
    private static final int VERSION = 0;
    private static final int PARENT = 1;
    private static final int NEXT = 2;
    private static final int HOLDERS = 3;
    /**
     * Length in the low five bits, above eight bits of nothing a bit for each offset that children were attached to.
     */
    private static final int SHAPE = 4;
    /** Number of holders, and above 24 bits the size class of their list. */
    private static final int HOLDER_COUNT = 5;

    private static final int CHILDREN = 6;

    private static final int LENGTH_MASK = 31;
    private static final int FORK_SHIFT = 8;

    private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);

    /** A page's blocks and what is known about its strips. */
    static final class Page {
        final long[] names = new long[PER_PAGE << OFFSET_BITS];
        final int[] fields = new int[PER_PAGE << FIELD_BITS];
        /** Bits by strip, one for each of the first caches that hold all sixteen blocks on the GPU. */
        final long[] full = new long[PER_PAGE];
    }

    private volatile Page[] shared = {new Page()};
    private Page[] pages = shared;
    private int used = 1;
    private int free = NO_STRIP;
    private int[] dirty = new int[64];
    private int dirtyCount;

    Strips() {
        pages[0].fields[SHAPE] = 1 << FORK_SHIFT;
    }

    /* For readers and the writer: the pages as they are now, and what stands in them. */

    Page[] pages() {
        return shared;
    }

    static boolean within(Page[] pages, int strip) {
        return strip >>> PAGE_BITS < pages.length;
    }

    static Page page(Page[] pages, int strip) {
        return pages[strip >>> PAGE_BITS];
    }

    /** Returns the place of the strip's first name in its page. */
    static int names(int strip) {
        return (strip & PAGE_MASK) << OFFSET_BITS;
    }

    static int versionAcquire(Page page, int strip) {
        return (int) INTS.getAcquire(page.fields, fields(strip) + VERSION);
    }

    static int parent(Page page, int strip) {
        return page.fields[fields(strip) + PARENT];
    }

    static int next(Page page, int strip) {
        return page.fields[fields(strip) + NEXT];
    }

    static int length(Page page, int strip) {
        return page.fields[fields(strip) + SHAPE] & LENGTH_MASK;
    }

    static boolean forks(Page page, int strip, int offset) {
        return (page.fields[fields(strip) + SHAPE] >>> (FORK_SHIFT + offset) & 1) != 0;
    }

    static int holders(Page page, int strip) {
        return page.fields[fields(strip) + HOLDERS];
    }

    static int holderCount(Page page, int strip) {
        return page.fields[fields(strip) + HOLDER_COUNT] & 0xFFFFFF;
    }

    static int holderClass(Page page, int strip) {
        return page.fields[fields(strip) + HOLDER_COUNT] >>> 24;
    }

    static long full(Page page, int strip) {
        return page.full[strip & PAGE_MASK];
    }

    private static int fields(int strip) {
        return (strip & PAGE_MASK) << FIELD_BITS;
    }

    /* For the writer. */

    Page page(int strip) {
        return pages[strip >>> PAGE_BITS];
    }

    long name(int position) {
        int strip = position >>> OFFSET_BITS;
        return page(strip).names[names(strip) + (position & OFFSETS - 1)];
    }

    /** The position before or behind this one in its strip if the block there has this name, else 0. */
    int beside(int position, long name) {
        int strip = position >>> OFFSET_BITS;
        Page page = page(strip);
        int length = length(page, strip);
        int offset = position & OFFSETS - 1;
        int at = names(strip) + offset;
        if (offset > 0 && offset <= length && page.names[at - 1] == name) {
            return position - 1;
        }
        return offset + 1 < length && page.names[at + 1] == name ? position + 1 : 0;
    }

    int parent(int strip) {
        return parent(page(strip), strip);
    }

    int length(int strip) {
        return length(page(strip), strip);
    }

    /** The block that this one follows; {@link #ROOT} or {@link #ORPHAN} where that is none. */
    int before(int position) {
        return (position & OFFSETS - 1) > 0 ? position - 1 : parent(position >>> OFFSET_BITS);
    }

    /** Returns the number of strips that have ever been in use at once. */
    int used() {
        return used;
    }

    /**
     * Goes one block further within the strip: the next position if the block there has this name, {@link #EXTENDED} if
     * there was none, no child either, and now there is, or 0 if this is not so simple.
     */
    int follow(int position, long name) {
        int strip = position >>> OFFSET_BITS;
        Page page = page(strip);
        int shape = page.fields[fields(strip) + SHAPE];
        int length = shape & LENGTH_MASK;
        int offset = (position & (OFFSETS - 1)) + 1;
        int at = names(strip) + offset;
        if (offset < length) {
            return page.names[at] == name ? position + 1 : 0;
        }
        if (offset == OFFSETS || position == ROOT || ((shape >>> (FORK_SHIFT + offset - 1)) & 1) != 0) {
            return 0;
        }
        touch(strip);
        page.names[at] = name;
        page.fields[fields(strip) + SHAPE] = shape + 1;
        return EXTENDED;
    }

    /** Returns true if the block at this position is the last of a strip that has room for another. */
    boolean canExtend(int position) {
        int offset = (position & OFFSETS - 1) + 1;
        int strip = position >>> OFFSET_BITS;
        return position > ROOT && offset < OFFSETS && length(page(strip), strip) == offset;
    }

    /** Returns true if children may hang under this position. */
    boolean forks(int position) {
        int strip = position >>> OFFSET_BITS;
        return forks(page(strip), strip, position & OFFSETS - 1);
    }

    /** Adds a block behind the last one of its strip and returns its position. */
    int extend(int position, long name) {
        int strip = position >>> OFFSET_BITS;
        touch(strip);
        Page page = page(strip);
        int offset = (position & OFFSETS - 1) + 1;
        page.names[names(strip) + offset] = name;
        page.fields[fields(strip) + SHAPE]++;
        return position + 1;
    }

    /** A strip of one block under this position, or of an orphan; the block's position. */
    int create(int above, long name) {
        int strip = free;
        if (strip != NO_STRIP) {
            free = next(page(strip), strip);
        } else {
            strip = used++;
            if (strip >>> PAGE_BITS == pages.length) {
                Page[] more = Arrays.copyOf(pages, pages.length + 1);
                more[pages.length] = new Page();
                pages = more;
                shared = more;
            }
        }
        touch(strip);
        Page page = page(strip);
        page.names[names(strip)] = name;
        int fields = fields(strip);
        page.fields[fields + NEXT] = NO_STRIP;
        page.fields[fields + HOLDERS] = 0;
        page.fields[fields + SHAPE] = 1;
        page.fields[fields + HOLDER_COUNT] = 0;
        page.fields[fields + CHILDREN] = 0;
        attach(strip, above);
        return strip << OFFSET_BITS;
    }

    /** Hangs a strip under a block; a touched one, since readers go by its parent. */
    void attach(int strip, int above) {
        Page page = page(strip);
        page.fields[fields(strip) + PARENT] = above;
        if (above != ORPHAN) {
            int upper = above >>> OFFSET_BITS;
            Page upperPage = page(upper);
            int fields = fields(upper);
            upperPage.fields[fields + CHILDREN]++;
            upperPage.fields[fields + SHAPE] |= 1 << (FORK_SHIFT + (above & OFFSETS - 1));
            upperPage.fields[fields + NEXT] = strip;
        }
    }

    /** Drops the last block; the strip is touched. */
    void shorten(int strip) {
        page(strip).fields[fields(strip) + SHAPE]--;
    }

    /** Gives back an empty, touched strip; the strip above has one child fewer. */
    void release(int strip) {
        Page page = page(strip);
        int above = parent(page, strip);
        if (above != ORPHAN) {
            int upper = above >>> OFFSET_BITS;
            Page upperPage = page(upper);
            int fields = fields(upper);
            int left = --upperPage.fields[fields + CHILDREN];
            if (left == 0 && upper != ROOT) {
                upperPage.fields[fields + SHAPE] &= LENGTH_MASK;
            }
            if (upperPage.fields[fields + NEXT] == strip) {
                upperPage.fields[fields + NEXT] = NO_STRIP;
            }
        }
        page.fields[fields(strip) + PARENT] = ORPHAN;
        page.fields[fields(strip) + NEXT] = free;
        free = strip;
    }

    /** The last offset that children may hang under; -1 when there is none. */
    int lastFork(int strip) {
        return 31 - Integer.numberOfLeadingZeros(page(strip).fields[fields(strip) + SHAPE] >>> FORK_SHIFT);
    }

    void holders(int strip, int holders, int count, int sizeClass) {
        int[] fields = page(strip).fields;
        fields[fields(strip) + HOLDERS] = holders;
        fields[fields(strip) + HOLDER_COUNT] = count | sizeClass << 24;
    }

    /** Adds or takes the bit of a cache that holds all blocks, or does no more. */
    void turnFull(int strip, int cache) {
        page(strip).full[strip & PAGE_MASK] ^= 1L << cache;
    }

    /** Says that this strip changes in this batch: readers wait for {@link #publish} from now on. */
    void touch(int strip) {
        int[] fields = page(strip).fields;
        int at = fields(strip) + VERSION;
        int version = fields[at];
        if ((version & 1) == 0) {
            INTS.setOpaque(fields, at, version + 1);
            VarHandle.storeStoreFence();
            if (dirtyCount == dirty.length) {
                dirty = Arrays.copyOf(dirty, dirtyCount << 1);
            }
            dirty[dirtyCount++] = strip;
        }
    }

    /** Shows all that changed since the last call. */
    void publish() {
        VarHandle.releaseFence();
        for (int i = 0; i < dirtyCount; i++) {
            int strip = dirty[i];
            int[] fields = page(strip).fields;
            int at = fields(strip) + VERSION;
            INTS.setOpaque(fields, at, fields[at] + 1);
        }
        dirtyCount = 0;
        if (dirty.length > 1 << 12) {
            dirty = new int[64];
        }
    }
}
