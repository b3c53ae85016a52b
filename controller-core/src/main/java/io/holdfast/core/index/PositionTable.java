package io.holdfast.core.index;

import java.util.Arrays;

/**
 * Leads from a block's name to its position, for one writer and any number of readers; or from an engine's hash, for the
 * writer.
 *
 * <p>Where the key is the block's name, the strips have it, and the table keeps positions alone; otherwise it keeps the key
 * beside the position. Position 0 is no block.
 */
final class PositionTable {
    /*
     * Buckets
     * -------
     * Five slots are a bucket. A bucket begins with one number that describes it: five bits for each slot, 0 when it is empty
     * and else a tag, bits of the mixed key; and in the highest seven how many keys had their home here and went further
     * because the bucket was full. A search compares all tags at once and goes on to the next bucket only if that count is
     * not zero. With keys a bucket is 64 bytes, so that memory is mostly asked once for each key: what a large table costs
     * is its cache misses.
     *
     * A key that goes is no more than five bits that become 0, and one less in the buckets it had passed: nothing moves,
     * there are no tombstones, and however long blocks come and go, the table stays as it would be if it had just been
     * filled. That nothing moves is also why readers need no lock and no sequence: an entry they may rely on stays where it
     * is.
     *
     * Growth
     * ------
     * A table grows by halves and thirds, to twice its size every other time, so that it is between half and three quarters
     * full; beyond that too many buckets are, and stay, full. From 32768 buckets on, 120 thousand keys, it is split in two
     * by another bit instead, so that no store pays for moving more than that.
     */
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SLOTS = 5;
    private static final int TAG_BITS = 5;
    private static final int TAG = (1 << TAG_BITS) - 1;
    private static final int LOWEST = 0b00001_00001_00001_00001_00001;
    private static final int HIGHEST = LOWEST << TAG_BITS - 1;
    private static final int TAGS = (1 << SLOTS * TAG_BITS) - 1;
    private static final int PASSED = SLOTS * TAG_BITS;
    private static final int MOST_PASSED = -1 >>> PASSED;
    private static final int SMALLEST = 1 << 2;
    private static final int LARGEST = 1 << 15;

    /** Told of each entry. */
    interface Visitor {
        void visit(long key, int position);
    }

    private static final class Segment {
        /** By bucket: what describes it, then for each slot the position and, if keys are kept, the key's halves. */
        final int[] numbers;

        final int buckets;
        final int depth;
        int room;

        Segment(int buckets, int depth, int width) {
            numbers = new int[buckets * width];
            this.buckets = buckets;
            this.depth = depth;
            room = buckets * SLOTS * 3 / 4;
        }

        int home(int bits) {
            return (int) ((bits & 0xFFFF_FFFFL) * buckets >>> 32);
        }

        /**
         * From a full bucket to the next: each key its own way, since a way that all share would fill up and stay full. Steps
         * are one more than a multiple of six and numbers of buckets have no prime factors but two and three, so that every
         * bucket is met.
         */
        int next(int bucket, int bits) {
            int next = bucket + 1 + 6 * (bits & 63);
            while (next >= buckets) {
                next -= buckets;
            }
            return next;
        }
    }

    /** A power of two of segments, chosen by the top bits; never written once readers can see it. */
    private record Directory(Segment[] segments, int bits) {
        Segment segment(long mixed) {
            return segments[index(mixed)];
        }

        int index(long mixed) {
            return (int) (mixed >>> 1 >>> 63 - bits);
        }
    }

    private final Strips strips;
    private final boolean keyed;
    private final int stride;
    private final int width;
    private volatile Directory shared;
    private Directory directory;
    private int size;
    private int foundBucket;
    private int foundPlace;

    private PositionTable(Strips strips, boolean keyed) {
        this.strips = strips;
        this.keyed = keyed;
        stride = keyed ? 3 : 1;
        width = 1 + SLOTS * stride;
        directory = new Directory(new Segment[] {new Segment(SMALLEST, 0, width)}, 0);
        shared = directory;
    }

    /** A table of blocks by their names. */
    static PositionTable ofNames(Strips strips) {
        return new PositionTable(strips, false);
    }

    /** A table of blocks by other keys. */
    static PositionTable ofKeys(Strips strips) {
        return new PositionTable(strips, true);
    }

    int size() {
        return size;
    }

    /** Reads where the key would be, so that it is near when it is asked for. */
    int approach(long key) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        return segment.numbers[segment.home(bits(mixed)) * width];
    }

    /** The writer's look: the position of the key's block, 0 when there is none. */
    int find(long key) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        int[] numbers = segment.numbers;
        int bits = bits(mixed);
        int tag = tag(bits);
        for (int bucket = segment.home(bits); ; bucket = segment.next(bucket, bits)) {
            int base = bucket * width;
            int word = numbers[base];
            for (int hits = matches(word, tag); hits != 0; hits &= hits - 1) {
                int place = place(hits);
                int at = base + 1 + place * stride;
                int position = numbers[at];
                if (position != 0 && key == (keyed ? keyAt(numbers, at) : strips.name(position))) {
                    foundBucket = bucket;
                    foundPlace = place;
                    return position;
                }
            }
            if (word >>> PASSED == 0) {
                return 0;
            }
        }
    }

    /** Inserts a key that is not in the table. */
    void insert(long key, int position) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        put(segment, key, bits(mixed), position);
        size++;
        if (segment.room == 0) {
            grow(mixed, segment);
        }
    }

    /** Removes the key, which {@link #find} has just found. */
    void removeFound(long key) {
        long mixed = key * PHI;
        Segment segment = directory.segment(mixed);
        int[] numbers = segment.numbers;
        int bits = bits(mixed);
        for (int bucket = segment.home(bits); bucket != foundBucket; bucket = segment.next(bucket, bits)) {
            // A count that is full has lost count: it stays.
            if (numbers[bucket * width] >>> PASSED != MOST_PASSED) {
                numbers[bucket * width] -= 1 << PASSED;
            }
        }
        int base = foundBucket * width;
        numbers[base] &= ~(TAG << foundPlace * TAG_BITS);
        numbers[base + 1 + foundPlace * stride] = 0;
        segment.room++;
        size--;
    }

    /** A reader's look, in the pages that it sees: a position that had the name just now, or 0 when none had. */
    int findShared(long name, Strips.Page[] pages) {
        long mixed = name * PHI;
        Segment segment = shared.segment(mixed);
        int[] numbers = segment.numbers;
        int bits = bits(mixed);
        int tag = tag(bits);
        int bucket = segment.home(bits);
        for (int left = segment.buckets; left > 0; left--) {
            int base = bucket * width;
            int word = numbers[base];
            for (int hits = matches(word, tag); hits != 0; hits &= hits - 1) {
                int position = numbers[base + 1 + place(hits) * stride];
                int strip = position >>> Strips.PLACE_BITS;
                if (position != 0
                        && Strips.within(pages, strip)
                        && Strips.page(pages, strip).names[Strips.names(strip) + (position & Strips.PLACES - 1)] == name) {
                    return position;
                }
            }
            if (word >>> PASSED == 0) {
                return 0;
            }
            bucket = segment.next(bucket, bits);
        }
        return 0;
    }

    /** Shows every entry of a table that keeps its keys. */
    void forEach(Visitor visitor) {
        Segment[] segments = directory.segments();
        for (int i = 0; i < segments.length; i++) {
            if (i == 0 || segments[i - 1] != segments[i]) {
                int[] numbers = segments[i].numbers;
                for (int slot = 0; slot < segments[i].buckets * SLOTS; slot++) {
                    int at = at(slot);
                    if (numbers[at] != 0) {
                        visitor.visit(keyAt(numbers, at), numbers[at]);
                    }
                }
            }
        }
    }

    private void put(Segment segment, long key, int bits, int position) {
        int[] numbers = segment.numbers;
        int bucket = segment.home(bits);
        int free = matches(numbers[bucket * width], 0);
        while (free == 0) {
            if (numbers[bucket * width] >>> PASSED != MOST_PASSED) {
                numbers[bucket * width] += 1 << PASSED;
            }
            bucket = segment.next(bucket, bits);
            free = matches(numbers[bucket * width], 0);
        }
        int place = place(free);
        int at = bucket * width + 1 + place * stride;
        numbers[at] = position;
        if (keyed) {
            numbers[at + 1] = (int) key;
            numbers[at + 2] = (int) (key >>> 32);
        }
        numbers[bucket * width] |= tag(bits) << place * TAG_BITS;
        segment.room--;
    }

    private void grow(long mixed, Segment old) {
        int buckets = old.buckets;
        boolean split = buckets == LARGEST;
        // A power of two grows by half, and that by a third; two halves of it are as large as four thirds.
        int more = split ? buckets * 3 / 4 : Integer.bitCount(buckets) == 1 ? buckets + (buckets >> 1) : buckets + buckets / 3;
        Segment low = new Segment(more, split ? old.depth + 1 : old.depth, width);
        Segment high = split ? new Segment(more, old.depth + 1, width) : low;
        for (int slot = 0; slot < buckets * SLOTS; slot++) {
            int at = at(slot);
            int position = old.numbers[at];
            if (position != 0) {
                long key = keyed ? keyAt(old.numbers, at) : strips.name(position);
                boolean upper = split && key * PHI << old.depth < 0;
                put(upper ? high : low, key, bits(key * PHI), position);
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
        int middle = first + (span + 1 >>> 1);
        Arrays.fill(segments, first, middle, low);
        Arrays.fill(segments, middle, first + span, high);
        directory = next;
        shared = next;
    }

    private int at(int slot) {
        return slot / SLOTS * width + 1 + slot % SLOTS * stride;
    }

    private static long keyAt(int[] numbers, int at) {
        return numbers[at + 1] & 0xFFFFFFFFL | (long) numbers[at + 2] << 32;
    }

    /** The slots that have this tag, by the top bit of theirs; of several, those above the first may be wrong. */
    private static int matches(int word, int tag) {
        int differences = (word ^ tag * LOWEST) & TAGS;
        return differences - LOWEST & ~differences & HIGHEST;
    }

    private static int place(int hits) {
        return Integer.numberOfTrailingZeros(hits) * 13 >>> 6;
    }

    private static int tag(int bits) {
        return ((bits & TAG) * TAG >>> TAG_BITS) + 1;
    }

    /** Bits below those that choose a segment: the upper ones choose a bucket, the lowest are the tag. */
    private static int bits(long mixed) {
        return (int) (mixed >>> 20);
    }
}
