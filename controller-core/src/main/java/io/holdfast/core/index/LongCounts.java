package io.holdfast.core.index;

import java.util.function.LongPredicate;

/** Counts by key, for what is rare: copies beyond the first, blocks of other groups, blocks without a place. */
final class LongCounts {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SMALLEST = 16;

    /** Told of each key. */
    interface Visitor {
        void visit(long key, int count);
    }

    private long[] keys = new long[SMALLEST];
    private int[] counts = new int[SMALLEST];
    private int size;

    int size() {
        return size;
    }

    int get(long key) {
        return counts[slot(key)];
    }

    /** Adds to the key's count. */
    void add(long key, int more) {
        int slot = slot(key);
        if (counts[slot] == 0) {
            if (++size > keys.length - (keys.length >> 2)) {
                grow();
                slot = slot(key);
            }
            keys[slot] = key;
        }
        counts[slot] = (int) Math.min((long) counts[slot] + more, Integer.MAX_VALUE);
    }

    /** Takes one from the key's count; false when it had none. */
    boolean take(long key) {
        int slot = slot(key);
        if (counts[slot] == 0) {
            return false;
        }
        if (--counts[slot] == 0) {
            close(slot);
        }
        return true;
    }

    /** Forgets the key and returns what its count was. */
    int remove(long key) {
        int slot = slot(key);
        int count = counts[slot];
        if (count > 0) {
            counts[slot] = 0;
            close(slot);
        }
        return count;
    }

    void removeIf(LongPredicate condition) {
        long[] oldKeys = keys;
        int[] oldCounts = counts;
        clear();
        for (int slot = 0; slot < oldKeys.length; slot++) {
            if (oldCounts[slot] > 0 && !condition.test(oldKeys[slot])) {
                add(oldKeys[slot], oldCounts[slot]);
            }
        }
    }

    void clear() {
        keys = new long[SMALLEST];
        counts = new int[SMALLEST];
        size = 0;
    }

    void forEach(Visitor visitor) {
        for (int slot = 0; slot < keys.length; slot++) {
            if (counts[slot] > 0) {
                visitor.visit(keys[slot], counts[slot]);
            }
        }
    }

    private int slot(long key) {
        int mask = keys.length - 1;
        int slot = home(key);
        while (counts[slot] != 0 && keys[slot] != key) {
            slot = slot + 1 & mask;
        }
        return slot;
    }

    private void close(int emptied) {
        size--;
        int mask = keys.length - 1;
        int hole = emptied;
        for (int next = hole + 1 & mask; counts[next] != 0; next = next + 1 & mask) {
            int home = home(keys[next]);
            if ((next - home & mask) >= (next - hole & mask)) {
                keys[hole] = keys[next];
                counts[hole] = counts[next];
                hole = next;
            }
        }
        counts[hole] = 0;
    }

    private void grow() {
        long[] oldKeys = keys;
        int[] oldCounts = counts;
        keys = new long[oldKeys.length << 1];
        counts = new int[keys.length];
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldCounts[i] != 0) {
                int slot = slot(oldKeys[i]);
                keys[slot] = oldKeys[i];
                counts[slot] = oldCounts[i];
            }
        }
    }

    private int home(long key) {
        return (int) ((key * PHI) >>> (Long.numberOfLeadingZeros(keys.length) + 1));
    }
}
