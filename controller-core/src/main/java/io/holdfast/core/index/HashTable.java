package io.holdfast.core.index;

import java.util.Arrays;

/**
 * Leads from one engine's hash of a block to the block's position in a tree that has other names; the writer's own.
 *
 * <p>Open addressing with linear probing and backward-shift deletion, three numbers an entry: the position, of which 0
 * is none, and the hash's halves. What a large table costs is its cache misses, and this one has one for each hash: a
 * lookup begins at the hash's home and ends, nearly always, in the same cache line. {@link #approach} asks memory for
 * many homes at once.
 *
 * <p>A table grows by halves and thirds, to twice its size every other time, and is at most three quarters full. From
 * 98,304 slots on it is split in two instead, so that no store pays for moving more than that.
 */
final class HashTable {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SMALLEST = 1 << 3;
    private static final int LARGEST = 3 << 15;
    private static final int EACH = 3;

    /** Told of each entry. */
    interface Visitor {
        void visit(long hash, int position);
    }

    private static final class Segment {
        final int[] entries;
        final int slots;
        final int depth;
        int room;

        Segment(int slots, int depth) {
            entries = new int[slots * EACH];
            this.slots = slots;
            this.depth = depth;
            room = slots - (slots >> 2) - (slots >> 5);
        }

        int home(long mixed) {
            return home(mixed, slots);
        }

        /** Returns the home slot, from bits below those that choose a segment. */
        static int home(long mixed, int slots) {
            return (int) ((((mixed >>> 20) & 0xFFFF_FFFFL) * slots) >>> 32);
        }

        void put(int slot, long hash, int position) {
            entries[slot * EACH] = position;
            entries[slot * EACH + 1] = (int) hash;
            entries[slot * EACH + 2] = (int) (hash >>> 32);
        }

        long hash(int slot) {
            return (entries[slot * EACH + 1] & 0xFFFF_FFFFL) | ((long) entries[slot * EACH + 2] << 32);
        }
    }

    private Segment[] directory = {new Segment(SMALLEST, 0)};
    private int bits;
    private int size;
    private int foundSlot;
    /** Written so that reads which only bring memory near are not taken for idle. */
    @SuppressWarnings("UnusedVariable")
    private int read;

    int size() {
        return size;
    }

    /** Brings near where these hashes are or would be. */
    void approach(long[] hashes, int from, int to) {
        int sum = 0;
        if (directory.length == 1) {
            int[] entries = directory[0].entries;
            int slots = directory[0].slots;
            for (int i = from; i < to; i++) {
                sum += entries[Segment.home(hashes[i] * PHI, slots) * EACH];
            }
        } else {
            for (int i = from; i < to; i++) {
                long mixed = hashes[i] * PHI;
                Segment segment = segment(mixed);
                sum += segment.entries[segment.home(mixed) * EACH];
            }
        }
        read = sum;
    }

    /** The position of the hash's block, 0 when there is none. */
    int find(long hash) {
        long mixed = hash * PHI;
        Segment segment = segment(mixed);
        int[] entries = segment.entries;
        int low = (int) hash;
        int high = (int) (hash >>> 32);
        int slot = segment.home(mixed);
        while (true) {
            int at = slot * EACH;
            int position = entries[at];
            if (position == 0 || (entries[at + 1] == low && entries[at + 2] == high)) {
                foundSlot = slot;
                return position;
            }
            if (++slot == segment.slots) {
                slot = 0;
            }
        }
    }

    /** Inserts the hash that {@link #find} has just not found. */
    void insert(long hash, int position) {
        Segment segment = segment(hash * PHI);
        segment.put(foundSlot, hash, position);
        size++;
        if (--segment.room == 0) {
            grow(hash * PHI, segment);
        }
    }

    /** Removes the hash, which {@link #find} has just found. */
    void removeFound(long hash) {
        Segment segment = segment(hash * PHI);
        int[] entries = segment.entries;
        int slots = segment.slots;
        int hole = foundSlot;
        int next = hole;
        while (true) {
            if (++next == slots) {
                next = 0;
            }
            int position = entries[next * EACH];
            if (position == 0) {
                break;
            }
            long other = segment.hash(next);
            int fromHome = next - segment.home(other * PHI);
            int fromHole = next - hole;
            // An entry may move back into the hole unless its home lies between the hole and itself.
            if ((fromHome < 0 ? fromHome + slots : fromHome) >= (fromHole < 0 ? fromHole + slots : fromHole)) {
                segment.put(hole, other, position);
                hole = next;
            }
        }
        entries[hole * EACH] = 0;
        segment.room++;
        size--;
    }

    void forEach(Visitor visitor) {
        for (int i = 0; i < directory.length; i++) {
            Segment segment = directory[i];
            boolean first = i == 0 || directory[i - 1] != segment;
            for (int slot = 0; first && slot < segment.slots; slot++) {
                if (segment.entries[slot * EACH] != 0) {
                    visitor.visit(segment.hash(slot), segment.entries[slot * EACH]);
                }
            }
        }
    }

    private void grow(long mixed, Segment old) {
        int slots = old.slots;
        boolean split = slots == LARGEST;
        // A power of two grows by half, and that by a third; its own two halves are as large as four thirds.
        int more = split ? slots / 3 * 2 : Integer.bitCount(slots) == 1 ? slots + (slots >> 1) : slots + slots / 3;
        Segment low = new Segment(more, split ? old.depth + 1 : old.depth);
        Segment high = split ? new Segment(more, old.depth + 1) : low;
        for (int slot = 0; slot < slots; slot++) {
            if (old.entries[slot * EACH] != 0) {
                long hash = old.hash(slot);
                boolean upper = split && ((hash * PHI) << old.depth) < 0;
                move(upper ? high : low, hash, old.entries[slot * EACH]);
            }
        }
        if (split && old.depth == bits) {
            Segment[] once = directory;
            directory = new Segment[once.length << 1];
            Arrays.setAll(directory, i -> once[i >>> 1]);
            bits++;
        }
        int span = directory.length >>> old.depth;
        int first = index(mixed) & -span;
        int middle = first + ((span + 1) >>> 1);
        Arrays.fill(directory, first, middle, low);
        Arrays.fill(directory, middle, first + span, high);
    }

    private static void move(Segment to, long hash, int position) {
        int slot = to.home(hash * PHI);
        while (to.entries[slot * EACH] != 0) {
            if (++slot == to.slots) {
                slot = 0;
            }
        }
        to.put(slot, hash, position);
        to.room--;
    }

    private Segment segment(long mixed) {
        return directory[index(mixed)];
    }

    private int index(long mixed) {
        return (int) (mixed >>> 1 >>> (63 - bits));
    }
}
