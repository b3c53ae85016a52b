package io.holdfast.core.index;

/**
 * Leads from one engine's hash of a block to the block's position in a tree that has other names; the writer's own.
 *
 * <p>Three numbers an entry, so that a lookup mostly stays in one cache line: the hash's halves and the position, of which 0
 * is none. 256 segments grow one by one, so that no store pays for moving the whole table.
 */
final class HashTable {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SEGMENTS = 256;
    private static final int SMALLEST = 4;
    private static final int EACH = 3;
    private static final int[] EMPTY = new int[SMALLEST * EACH];

    /** Told of each entry. */
    interface Visitor {
        void visit(long hash, int position);
    }

    private final int[][] segments = new int[SEGMENTS][];
    private final int[] counts = new int[SEGMENTS];
    private int size;
    private int foundIndex;
    private int foundAt;

    HashTable() {
        java.util.Arrays.fill(segments, EMPTY);
    }

    int size() {
        return size;
    }

    /** The position of the hash's block, 0 when there is none. */
    int find(long hash) {
        long mixed = hash * PHI;
        int index = (int) (mixed >>> 56);
        int[] entries = segments[index];
        int low = (int) hash;
        int high = (int) (hash >>> 32);
        int slots = entries.length / EACH;
        int at = home(mixed, slots) * EACH;
        foundIndex = index;
        while (true) {
            int position = entries[at + 2];
            if (position == 0 || (entries[at] == low && entries[at + 1] == high)) {
                foundAt = at;
                return position;
            }
            at += EACH;
            if (at == entries.length) {
                at = 0;
            }
        }
    }

    /** Inserts the hash that {@link #find} has just not found. */
    void insert(long hash, int position) {
        int[] entries = segments[foundIndex];
        int slots = entries.length / EACH;
        if (++counts[foundIndex] > slots - (slots >> 2) + (slots >> 4) || entries == EMPTY) {
            entries = grow(foundIndex, entries);
            foundAt = freeFrom(entries, hash);
        }
        entries[foundAt] = (int) hash;
        entries[foundAt + 1] = (int) (hash >>> 32);
        entries[foundAt + 2] = position;
        size++;
    }

    /** Removes the entry that {@link #find} has just found. */
    void removeFound() {
        int[] entries = segments[foundIndex];
        int slots = entries.length / EACH;
        int hole = foundAt / EACH;
        int next = hole;
        while (true) {
            next = next + 1 & slots - 1;
            int at = next * EACH;
            if (entries[at + 2] == 0) {
                break;
            }
            int home = home(hashAt(entries, at) * PHI, slots);
            // An entry may move back into the hole unless its home lies between the hole and itself.
            if ((next - home & slots - 1) >= (next - hole & slots - 1)) {
                System.arraycopy(entries, at, entries, hole * EACH, EACH);
                hole = next;
            }
        }
        entries[hole * EACH + 2] = 0;
        counts[foundIndex]--;
        size--;
    }

    void forEach(Visitor visitor) {
        for (int[] entries : segments) {
            for (int at = 0; at < entries.length; at += EACH) {
                if (entries[at + 2] != 0) {
                    visitor.visit(hashAt(entries, at), entries[at + 2]);
                }
            }
        }
    }

    private int[] grow(int index, int[] old) {
        int[] more = new int[old == EMPTY ? EMPTY.length : old.length << 1];
        for (int at = 0; at < old.length; at += EACH) {
            if (old[at + 2] != 0) {
                int to = freeFrom(more, hashAt(old, at));
                System.arraycopy(old, at, more, to, EACH);
            }
        }
        segments[index] = more;
        return more;
    }

    private static int freeFrom(int[] entries, long hash) {
        int at = home(hash * PHI, entries.length / EACH) * EACH;
        while (entries[at + 2] != 0) {
            at += EACH;
            if (at == entries.length) {
                at = 0;
            }
        }
        return at;
    }

    private static int home(long mixed, int slots) {
        return (int) (mixed >>> 24) >>> Integer.numberOfLeadingZeros(slots) + 1;
    }

    private static long hashAt(int[] entries, int at) {
        return entries[at] & 0xFFFFFFFFL | (long) entries[at + 1] << 32;
    }
}
