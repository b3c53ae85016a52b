package io.holdfast.rules.kvcached;

import io.holdfast.rules.engine.EngineDeath;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedSet;

/*
 * Blocks in pages that are mapped while one of their blocks is taken.
 *
 * Pages
 * -----
 * A page is free (not mapped), reserved (mapped, no block taken), in use, or reclaimed (not to be used under the
 * present limit). A block comes from the page that was last opened or freed into; when no page has room, from the
 * oldest page in reserve, then from the oldest free one. A page whose last block goes joins the reserve until that has
 * its maximum, the rest is unmapped. Each page taken fills the reserve up to its minimum again, from free pages;
 * nothing else does, so a reserve that was lost to a smaller limit comes back with the next page.
 *
 * Limits
 * ------
 * A limit not below the pages in use takes free pages away, from the tail. Only when these are too few, the reserve is
 * unmapped for it. A limit below the pages in use is refused: the pool shrinks instead, which means that blocks are
 * given out from pages in use only, until a free leaves no more blocks than the limit holds. With blocks scattered over
 * pages the limit is then still not in force, the next allocation asks for it again, and so to and fro. Neither the
 * reserve nor what refills it knows that the pool shrinks. A larger limit brings the reclaimed pages back, and goes on
 * with numbers that no block was ever meant to have when it is larger than the first one.
 */
final class PagePool {
    private static final class Page {
        private final int number;
        private final BitSet taken = new BitSet();

        private Page(int number) {
            this.number = number;
        }
    }

    /** More pages than that above the first limit, and a process has no memory left to number them. */
    private static final long BEYOND_MEMORY = 1_000_000;

    private final int blocksPerPage;
    private final int minReserved;
    private final int maxReserved;
    private final Deque<Integer> free = new ArrayDeque<>();
    private final Deque<Integer> reserved = new ArrayDeque<>();
    private final Deque<Integer> reclaimed = new ArrayDeque<>();
    private final Map<Integer, Page> inUse = new HashMap<>();
    private final SequencedSet<Page> withRoom = new LinkedHashSet<>();
    private final long mostPages;
    private int pages;
    private int blocks;
    private boolean shrinking;
    private long shrinkingTo;

    /** @param minReserved and {@code maxReserved} are 0 for a pool that maps nothing in advance */
    PagePool(int pages, int blocksPerPage, int minReserved, int maxReserved) {
        this.pages = pages;
        this.mostPages = pages + BEYOND_MEMORY;
        this.blocksPerPage = blocksPerPage;
        this.minReserved = minReserved;
        this.maxReserved = maxReserved;
        for (int page = 0; page < pages; page++) {
            free.add(page);
        }
        refill();
    }

    /** Number of blocks that an allocation can get. */
    int available() {
        long usable = shrinking ? inUse.size() : (long) inUse.size() + free.size() + reserved.size();
        return (int) Math.min(usable * blocksPerPage - blocks, Integer.MAX_VALUE);
    }

    /** Takes so many blocks, or none when there are fewer. */
    Optional<int[]> allocate(int wanted) {
        if (wanted > available()) {
            return Optional.empty();
        }
        int[] taken = new int[wanted];
        for (int i = 0; i < wanted; i++) {
            Page page = withRoom.isEmpty() ? open() : withRoom.getLast();
            int slot = page.taken.nextClearBit(0);
            page.taken.set(slot);
            taken[i] = page.number * blocksPerPage + slot;
            if (page.taken.cardinality() == blocksPerPage) {
                withRoom.remove(page);
            }
        }
        blocks += wanted;
        return Optional.of(taken);
    }

    void free(int[] given) {
        SequencedSet<Page> touched = new LinkedHashSet<>();
        for (int block : given) {
            Page page = Optional.ofNullable(inUse.get(block / blocksPerPage))
                    .filter(candidate -> candidate.taken.get(block % blocksPerPage))
                    .orElseThrow(() -> new IllegalStateException("Block " + block + " is free already."));
            page.taken.clear(block % blocksPerPage);
            touched.add(page);
        }
        blocks -= given.length;
        List<Integer> unmapped = new ArrayList<>();
        for (Page page : touched) {
            withRoom.remove(page);
            if (!page.taken.isEmpty()) {
                withRoom.add(page);
                continue;
            }
            inUse.remove(page.number);
            if (reserved.size() < maxReserved) {
                reserved.add(page.number);
            } else {
                unmapped.add(page.number);
            }
        }
        free.addAll(unmapped);
        if (shrinking && blocks <= shrinkingTo * blocksPerPage) {
            reach(shrinkingTo);
            shrinking = false;
        }
    }

    /** Requests another number of pages. */
    void limit(long wanted) {
        boolean reached = reach(wanted);
        shrinking = !reached;
        shrinkingTo = wanted;
    }

    /** Everything is free, nothing is mapped, and no limit waits. */
    void clear() {
        inUse.keySet().stream().sorted().forEach(free::add);
        free.addAll(reserved);
        inUse.clear();
        reserved.clear();
        withRoom.clear();
        blocks = 0;
        shrinking = false;
        refill();
    }

    int pagesInUse() {
        return inUse.size();
    }

    int pagesReserved() {
        return reserved.size();
    }

    int blocks() {
        return blocks;
    }

    private boolean reach(long wanted) {
        if (wanted < inUse.size()) {
            return false;
        }
        if (wanted > mostPages) {
            throw new EngineDeath("std::bad_alloc");
        }
        while (pages < wanted) {
            free.add(reclaimed.isEmpty() ? pages : reclaimed.remove());
            pages++;
        }
        long surplus = pages - wanted;
        if (free.size() < surplus) {
            free.addAll(reserved);
            reserved.clear();
        }
        for (; surplus > 0; surplus--) {
            reclaimed.add(free.removeLast());
            pages--;
        }
        return true;
    }

    private Page open() {
        Page page = new Page(reserved.isEmpty() ? free.remove() : reserved.remove());
        inUse.put(page.number, page);
        withRoom.add(page);
        refill();
        return page;
    }

    private void refill() {
        while (reserved.size() < minReserved && !free.isEmpty()) {
            reserved.add(free.remove());
        }
    }
}
