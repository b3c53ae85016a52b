package io.holdfast.core.index;

import java.util.Arrays;

/**
 * An open-addressing table from a 64-bit hash to its position in an array of hashes that somebody else keeps.
 *
 * <p>Linear probing with backward-shift deletion, so there are no tombstones to sweep. A slot stores position + 1,
 * which leaves 0 for empty and every hash, 0 and negative ones too, an ordinary key. Hashes are mixed by one
 * multiplication: engines send good ones, but a test or a peer may send 1, 2, 3.
 */
public final class HashSlots {
    public static final int NONE = -1;
    private static final long PHI = 0x9E3779B97F4A7C15L;

    private int[] slots;
    private int shift;

    /** Has this many slots, a power of two; the owner calls {@link #grow} before they are three quarters full. */
    public HashSlots(int slotCount) {
        slots = new int[slotCount];
        shift = Long.numberOfLeadingZeros(slotCount) + 1;
    }

    public int length() {
        return slots.length;
    }

    public int find(long[] hashes, long hash) {
        int mask = slots.length - 1;
        for (int slot = home(hash); ; slot = (slot + 1) & mask) {
            int position = slots[slot] - 1;
            if (position < 0) {
                return NONE;
            }
            if (hashes[position] == hash) {
                return position;
            }
        }
    }

    /** The hash must not be in the table. */
    public void insert(long hash, int position) {
        int mask = slots.length - 1;
        int slot = home(hash);
        while (slots[slot] != 0) {
            slot = (slot + 1) & mask;
        }
        slots[slot] = position + 1;
    }

    /** The position must be in the table. */
    public void remove(long[] hashes, int position) {
        int mask = slots.length - 1;
        int hole = home(hashes[position]);
        while (slots[hole] != position + 1) {
            hole = (hole + 1) & mask;
        }
        for (int next = (hole + 1) & mask; slots[next] != 0; next = (next + 1) & mask) {
            int home = home(hashes[slots[next] - 1]);
            // An entry may move back into the hole unless its home lies between the hole and itself.
            if (((next - home) & mask) >= ((next - hole) & mask)) {
                slots[hole] = slots[next];
                hole = next;
            }
        }
        slots[hole] = 0;
    }

    public void clear() {
        Arrays.fill(slots, 0);
    }

    public void grow(long[] hashes) {
        int[] old = slots;
        slots = new int[old.length << 1];
        shift--;
        for (int entry : old) {
            if (entry != 0) {
                insert(hashes[entry - 1], entry - 1);
            }
        }
    }

    private int home(long hash) {
        return (int) ((hash * PHI) >>> shift);
    }
}
