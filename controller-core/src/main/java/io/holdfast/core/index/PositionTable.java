package io.holdfast.core.index;

import java.util.Arrays;

/**
 * Leads from a block's name to its position, for one writer and any number of readers.
 *
 * <p>It keeps positions alone: the names are in the strips. Position 0 is no block.
 */
final class PositionTable {
    /*
     * Groups
     * ------
     * Seven slots are a group, and a group is described by one number: a byte for each slot, 0 when it is empty and
     * else a tag, eight bits of the mixed key; and in the highest byte how many keys had their home here and went
     * further because the group was full. A search compares all tags of a group at once and goes on to the next group
     * only if that count is not zero, so that most strangers are told apart, and most misses settled, by one number in
     * a small array.
     *
     * A key that goes is no more than a byte that becomes 0, and one less in the groups it had passed: its slot stays as
     * it is, nothing moves, there are no tombstones, and however long blocks come and go, the table stays as it would be if it had just been
     * filled. That nothing moves is also why readers need no lock and no sequence: an entry they may rely on stays
     * where it is.
     *
     * Growth
     * ------
     * A table grows by halves and thirds, to twice its size every other time, so that it is between half and three
     * quarters full; beyond that too many groups are, and stay, full. From 1536 groups on, 8 thousand keys, it is split
     * in two by another bit instead, so that no store pays for moving more than that.
     */
    /** Number of keys that are looked for at once. */
    static final int AHEAD = 16;

    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SLOTS = 7;
    private static final long LOWEST = 0x0001_0101_0101_0101L;
    private static final long LOWER = 0x007F_7F7F_7F7F_7F7FL;
    private static final long HIGHEST = 0x0080_8080_8080_8080L;
    private static final int PASSED = 56;
    private static final long ONE_PASSED = 1L << PASSED;
    private static final int SMALLEST = 1 << 2;
    private static final int UNSETTLED = -1;
    private static final int LARGEST = 3 << 9;

    private static final class Segment {
        final long[] groups;
        /** Positions by slot. */
        final int[] slots;

        final int depth;
        int room;

        Segment(int count, int depth) {
            groups = new long[count];
            slots = new int[count * SLOTS];
            this.depth = depth;
            room = count * SLOTS * 3 / 4;
        }

        int home(int bits) {
            return (int) (((bits & 0xFFFF_FFFFL) * groups.length) >>> 32);
        }

        /**
         * From a full group to the next: each key its own way, since a way that all share would fill up and stay full.
         * Steps are one more than a multiple of six and counts have no prime factors but two and three, so that every
         * group is met.
         */
        int next(int group, int bits) {
            int next = group + 1 + 6 * (bits & 63);
            while (next >= groups.length) {
                next -= groups.length;
            }
            return next;
        }
    }

    /** A power of two of segments, chosen by the top bits; never written once readers can see it. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Directory(Segment[] segments, int bits) {
        Segment segment(long mixed) {
            return segments[index(mixed)];
        }

        int index(long mixed) {
            return (int) (mixed >>> 1 >>> (63 - bits));
        }
    }

    private final Strips strips;
    private volatile Directory shared;
    private Directory directory;

    /* Of the keys that were looked for at once. */
    private int growths;
    private int allGrowths;
    private int allFrom;
    private boolean astray;
    private final int[] allGroups = new int[AHEAD];
    private final long[] allWords = new long[AHEAD];
    private final int[] allSlots = new int[AHEAD];
    private final int[] allPositions = new int[AHEAD];
    /** Written so that reads which only bring memory near are not taken for idle. */
    @SuppressWarnings("UnusedVariable")
    private int read;

    PositionTable(Strips strips) {
        this.strips = strips;
        directory = new Directory(new Segment[] {new Segment(SMALLEST, 0)}, 0);
        shared = directory;
    }

    /**
     * Looks for some keys, {@link #AHEAD} at most, all at once; {@link #found} then tells each result.
     *
     * <p>A table that outgrew the processor's caches answers a look in the time of a hundred others. In three short
     * loops, each of which only asks memory for what the next one needs, that time passes once for all keys.
     */
    void findAll(long[] keys, int from, int count) {
        Segment[] segments = directory.segments();
        int sum = 0;
        for (int i = 0; i < count; i++) {
            long mixed = keys[from + i] * PHI;
            Segment segment = segments.length == 1 ? segments[0] : directory.segment(mixed);
            int group = segment.home(bits(mixed));
            allGroups[i] = group;
            sum += (int) segment.groups[group];
        }
        for (int i = 0; i < count; i++) {
            long mixed = keys[from + i] * PHI;
            Segment segment = segments.length == 1 ? segments[0] : directory.segment(mixed);
            int group = allGroups[i];
            long word = segment.groups[group];
            long hits = matches(word, tag(bits(mixed)));
            // Whoever is not there is about to be put where there is room.
            long likely = hits == 0 ? matches(word, 0) : hits;
            int slot = slot(group, likely | 1L << (PASSED - 1));
            allWords[i] = word;
            allSlots[i] = hits == 0 ? -1 : slot;
            sum += segment.slots[slot];
        }
        for (int i = 0; i < count; i++) {
            int slot = allSlots[i];
            int position = 0;
            if (slot >= 0) {
                long key = keys[from + i];
                Segment segment = segments.length == 1 ? segments[0] : directory.segment(key * PHI);
                position = segment.slots[slot];
                if (position == 0 || key != strips.name(position)) {
                    position = UNSETTLED;
                }
            } else if (allWords[i] >>> PASSED != 0) {
                position = UNSETTLED;
            }
            allPositions[i] = position;
        }
        read = sum;
        allGrowths = growths;
    }

    /** Returns what {@link #findAll} found for one of its keys, brought up to what was inserted or removed since. */
    int found(int index, long key) {
        int position = allPositions[index];
        boolean settled = position != UNSETTLED
                && growths == allGrowths
                && directory.segment(key * PHI).groups[allGroups[index]] == allWords[index];
        return settled ? position : find(key);
    }

    /**
     * Returns the position of one of several keys that are looked for in turn, 0 when there is none.
     *
     * <p>An engine gives up the blocks of a prompt one after the other, so each key is first compared with the
     * neighbours of the block found before it. After two keys that were none of these, the rest are looked for at once.
     *
     * @param near the position found before, or any other
     * @param from the index of the first of the keys, of which there are {@code count}, {@link #AHEAD} at most
     * @param index the index of the key among them
     */
    int findBeside(int near, long[] keys, int from, int index, int count) {
        long key = keys[from + index];
        int position = strips.beside(near, key);
        if (index == 0) {
            allFrom = AHEAD;
        }
        if (position != 0) {
            astray = false;
            return position;
        }
        if (index < allFrom && astray && index + 1 < count) {
            findAll(keys, from + index, count - index);
            allFrom = index;
        }
        astray = true;
        return index >= allFrom ? found(index - allFrom, key) : find(key);
    }

    /** The writer's look: the position of the key's block, 0 when there is none. */
    int find(long key) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        int bits = bits(mixed);
        long tag = tag(bits);
        int group = segment.home(bits);
        // Hashes chosen to collide could fill the counts of all groups for good; then a miss has looked at each.
        for (int left = segment.groups.length; left > 0; left--) {
            long word = segment.groups[group];
            for (long hits = matches(word, tag); hits != 0; hits &= hits - 1) {
                int position = segment.slots[slot(group, hits)];
                if (position != 0 && key == strips.name(position)) {
                    return position;
                }
            }
            if (word >>> PASSED == 0) {
                return 0;
            }
            group = segment.next(group, bits);
        }
        return 0;
    }

    /** Inserts a key that is not in the table. */
    void insert(long key, int position) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        put(segment, bits(mixed), position);
        if (segment.room == 0) {
            grow(mixed, segment);
        }
    }

    /**
     * Removes a key that is in the table, with its position.
     *
     * <p>Only its tag goes: what a slot without a tag has means nothing. Where the home has one such tag and no key went
     * further, as nearly always, that slot is the key's, and nothing but the group is read.
     */
    void remove(long key, int position) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        long[] groups = segment.groups;
        int bits = bits(mixed);
        long tag = tag(bits);
        int group = segment.home(bits);
        while (true) {
            long word = groups[group];
            long hits = matches(word, tag);
            boolean certain = word >>> PASSED == 0 && (hits & hits - 1) == 0;
            for (; hits != 0; hits &= hits - 1) {
                if (certain || segment.slots[slot(group, hits)] == position) {
                    groups[group] = word & ~(0xFFL << (Long.numberOfTrailingZeros(hits) & ~7));
                    segment.room++;
                    return;
                }
            }
            // A count that is full has lost count: it stays.
            if (word >>> PASSED != 0xFF) {
                groups[group] = word - ONE_PASSED;
            }
            group = segment.next(group, bits);
        }
    }

    /** A reader's look, in the pages that it sees: a position that had the name just now, or 0 when none had. */
    int findShared(long name, Strips.Page[] pages) {
        long mixed = name * PHI;
        Segment segment = shared.segment(mixed);
        int bits = bits(mixed);
        long tag = tag(bits);
        int group = segment.home(bits);
        for (int left = segment.groups.length; left > 0; left--) {
            long word = segment.groups[group];
            for (long hits = matches(word, tag); hits != 0; hits &= hits - 1) {
                int position = segment.slots[slot(group, hits)];
                int strip = position >>> Strips.OFFSET_BITS;
                if (position != 0
                        && Strips.within(pages, strip)
                        && Strips.page(pages, strip).names[Strips.names(strip) + (position & Strips.OFFSETS - 1)]
                                == name) {
                    return position;
                }
            }
            if (word >>> PASSED == 0) {
                return 0;
            }
            group = segment.next(group, bits);
        }
        return 0;
    }

    private static void put(Segment segment, int bits, int position) {
        long[] groups = segment.groups;
        int group = segment.home(bits);
        long free = matches(groups[group], 0);
        while (free == 0) {
            if (groups[group] >>> PASSED != 0xFF) {
                groups[group] += ONE_PASSED;
            }
            group = segment.next(group, bits);
            free = matches(groups[group], 0);
        }
        segment.slots[slot(group, free)] = position;
        groups[group] |= tag(bits) << (Long.numberOfTrailingZeros(free) & ~7);
        segment.room--;
    }

    private void grow(long mixed, Segment old) {
        growths++;
        int count = old.groups.length;
        boolean split = count == LARGEST;
        // A power of two grows by half, and that by a third; two halves are four thirds of it together.
        int more = split ? 2 * (count / 3) : Integer.bitCount(count) == 1 ? count + (count >> 1) : count + count / 3;
        Segment low = new Segment(more, split ? old.depth + 1 : old.depth);
        Segment high = split ? new Segment(more, old.depth + 1) : low;
        for (int group = 0; group < count; group++) {
            for (long taken = ~matches(old.groups[group], 0) & HIGHEST; taken != 0; taken &= taken - 1) {
                int position = old.slots[slot(group, taken)];
                long moved = strips.name(position) * PHI;
                put(split && (moved << old.depth) < 0 ? high : low, bits(moved), position);
            }
        }
        int bits = directory.bits();
        Segment[] segments = directory.segments().clone();
        if (split && old.depth == bits) {
            Segment[] once = segments;
            segments = new Segment[once.length << 1];
            Arrays.setAll(segments, i -> once[i >>> 1]);
            bits++;
        }
        Directory next = new Directory(segments, bits);
        int span = segments.length >>> old.depth;
        int first = next.index(mixed) & -span;
        int middle = first + ((span + 1) >>> 1);
        Arrays.fill(segments, first, middle, low);
        Arrays.fill(segments, middle, first + span, high);
        directory = next;
        shared = next;
    }

    /** The slots that have this tag, by the top bit of their bytes. */
    private static long matches(long group, long tag) {
        long differences = group ^ tag * LOWEST;
        return ~((differences & LOWER) + LOWER | differences) & HIGHEST;
    }

    /** The slot of a group that the lowest of these bits stands for. */
    private static int slot(int group, long matches) {
        return group * SLOTS + (Long.numberOfTrailingZeros(matches) >>> 3);
    }

    private static long tag(int bits) {
        return (((bits & 0xFF) * 255) >>> 8) + 1L;
    }

    /** Bits below those that choose a segment: the upper ones choose a group, the lowest are the tag. */
    private static int bits(long mixed) {
        return (int) (mixed >>> 20);
    }
}
