package io.holdfast.core.index;

import java.util.function.LongPredicate;

/**
 * Numbers other than 0 by 64-bit keys; 0 stands for "not there".
 *
 * <p>Open addressing with linear probing. A removal closes the gap behind it, so no tombstones are left. Keys are mixed
 * by one multiplication: engines send good hashes, but a test or a peer may send 1, 2, 3.
 */
public final class LongToLongMap {
    private static final long PHI = 0x9E3779B97F4A7C15L;
    private static final int SMALLEST = 16;

    /** Takes in each key. */
    interface Visitor {
        void visit(long key, long value);
    }

    private long[] keys = {};
    private long[] values = {};
    private int shift;
    private int size;

    /** Creates an empty map. */
    public LongToLongMap() {
        clear();
    }

    /** Returns the number of keys. */
    public int size() {
        return size;
    }

    /** Returns the key's number, 0 where it has none. */
    public long get(long key) {
        return values[slot(key)];
    }

    /** Sets the key's number, which is not 0. */
    public void put(long key, long value) {
        if (value == 0) {
            throw new IllegalArgumentException("0 stands for a key that is not there.");
        }
        int slot = slot(key);
        boolean added = values[slot] == 0;
        keys[slot] = key;
        values[slot] = value;
        if (added && ++size > keys.length - (keys.length >> 2)) {
            grow();
        }
    }

    /** Adds to the key's count. */
    void add(long key, int more) {
        put(key, get(key) + more);
    }

    /** Takes one from the key's count; false when it had none. */
    boolean take(long key) {
        int slot = slot(key);
        if (values[slot] == 0) {
            return false;
        }
        if (--values[slot] == 0) {
            close(slot);
        }
        return true;
    }

    /** Forgets the key and returns its number, 0 where it had none. */
    public long remove(long key) {
        int slot = slot(key);
        long value = values[slot];
        if (value != 0) {
            close(slot);
        }
        return value;
    }

    void removeIf(LongPredicate condition) {
        long[] oldKeys = keys;
        long[] oldValues = values;
        clear();
        for (int slot = 0; slot < oldKeys.length; slot++) {
            if (oldValues[slot] != 0 && !condition.test(oldKeys[slot])) {
                put(oldKeys[slot], oldValues[slot]);
            }
        }
    }

    /** Forgets every key. */
    public void clear() {
        allocate(SMALLEST);
    }

    void forEach(Visitor visitor) {
        for (int slot = 0; slot < keys.length; slot++) {
            if (values[slot] != 0) {
                visitor.visit(keys[slot], values[slot]);
            }
        }
    }

    /** Returns the slot of the key, or the empty one where it would be put. */
    private int slot(long key) {
        int mask = keys.length - 1;
        int slot = home(key);
        while (values[slot] != 0 && keys[slot] != key) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private void close(int emptied) {
        size--;
        int mask = keys.length - 1;
        int hole = emptied;
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

    private int home(long key) {
        return (int) ((key * PHI) >>> shift);
    }

    private void grow() {
        long[] oldKeys = keys;
        long[] oldValues = values;
        allocate(keys.length << 1);
        for (int slot = 0; slot < oldKeys.length; slot++) {
            if (oldValues[slot] != 0) {
                put(oldKeys[slot], oldValues[slot]);
            }
        }
    }

    private void allocate(int length) {
        keys = new long[length];
        values = new long[length];
        shift = Long.numberOfLeadingZeros(length) + 1;
        size = 0;
    }
}
