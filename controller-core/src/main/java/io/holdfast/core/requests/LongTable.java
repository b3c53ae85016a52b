package io.holdfast.core.requests;

/** An open-addressing table from a 64-bit hash to a number other than 0, which stands for "not there". */
final class LongTable {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SMALLEST_LOG2 = 8;

    private long[] keys = {};
    private long[] values = {};
    private int shift;
    private int size;

    LongTable() {
        clear();
    }

    int size() {
        return size;
    }

    long get(long key) {
        return values[slot(key)];
    }

    void put(long key, long value) {
        if (value == 0) {
            throw new IllegalArgumentException("0 stands for a hash that is not there.");
        }
        int slot = slot(key);
        boolean added = values[slot] == 0;
        keys[slot] = key;
        values[slot] = value;
        if (added && ++size > keys.length - (keys.length >> 2)) {
            grow();
        }
    }

    /** Takes the hash out and closes the gap, so that no tombstone is left. */
    void remove(long key) {
        int hole = slot(key);
        if (values[hole] == 0) {
            return;
        }
        size--;
        int mask = keys.length - 1;
        for (int next = (hole + 1) & mask; values[next] != 0; next = (next + 1) & mask) {
            // An entry may move back into the hole unless its home lies between the hole and itself.
            if (((next - home(keys[next])) & mask) >= ((next - hole) & mask)) {
                keys[hole] = keys[next];
                values[hole] = values[next];
                hole = next;
            }
        }
        values[hole] = 0;
    }

    void clear() {
        allocate(SMALLEST_LOG2);
    }

    /** Returns the slot of the hash, or the empty one where it would be put. */
    private int slot(long key) {
        int mask = keys.length - 1;
        int slot = home(key);
        while (values[slot] != 0 && keys[slot] != key) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private int home(long key) {
        return (int) ((key * PHI) >>> shift);
    }

    private void grow() {
        long[] oldKeys = keys;
        long[] oldValues = values;
        allocate(Integer.numberOfTrailingZeros(keys.length) + 1);
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldValues[i] != 0) {
                put(oldKeys[i], oldValues[i]);
            }
        }
    }

    private void allocate(int log2) {
        keys = new long[1 << log2];
        values = new long[1 << log2];
        shift = Long.SIZE - log2;
        size = 0;
    }
}
