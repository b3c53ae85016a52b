package io.holdfast.core.rank;

import java.util.Arrays;

/**
 * A set of small numbers that can be walked, each at its place. Its memory goes with its members and not with how large
 * they are: few of the blocks that are remembered are in a cache.
 */
final class BlockSet {
    /** Place of a number that is no member. */
    static final int NONE = -1;

    private static final int FEWEST = 1 << 4;
    private static final int PHI = 0x9E3779B9;

    private int[] members = new int[FEWEST];
    /** Open addressing with linear probing: places, from 1; 0 is empty. */
    private int[] slots = new int[2 * FEWEST];

    private int size;

    int size() {
        return size;
    }

    int at(int place) {
        return members[place];
    }

    boolean has(int block) {
        return place(block) != NONE;
    }

    /** Returns where a block is among the members, or {@link #NONE}. */
    int place(int block) {
        return slots[slot(block)] - 1;
    }

    /** Adds a block as the last member, or leaves it where it is; returns its place. */
    int add(int block) {
        int slot = slot(block);
        if (slots[slot] == 0) {
            if (size == members.length) {
                grow();
                slot = slot(block);
            }
            members[size++] = block;
            slots[slot] = size;
        }
        return slots[slot] - 1;
    }

    /** Removes a member, whose place the last member takes; returns that place, or {@link #NONE}. */
    int remove(int block) {
        int hole = slot(block);
        int place = slots[hole] - 1;
        if (place != NONE) {
            int last = members[--size];
            slots[slot(last)] = place + 1;
            members[place] = last;
            close(hole);
        }
        return place;
    }

    /** Leaves the first so many members. */
    void cut(int count) {
        while (size > count) {
            remove(members[size - 1]);
        }
    }

    void clear() {
        if (size < members.length >> 3 && members.length > FEWEST) {
            members = new int[members.length >> 1];
            slots = new int[slots.length >> 1];
        } else {
            Arrays.fill(slots, 0);
        }
        size = 0;
    }

    /** Returns the slot of a block, or the empty one where it would be. */
    private int slot(int block) {
        int mask = slots.length - 1;
        int slot = home(block);
        while (slots[slot] != 0 && members[slots[slot] - 1] != block) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    private int home(int block) {
        return (block * PHI) >>> (Integer.numberOfLeadingZeros(slots.length) + 1);
    }

    private void grow() {
        members = Arrays.copyOf(members, 2 * size);
        slots = new int[2 * members.length];
        for (int place = 0; place < size; place++) {
            slots[slot(members[place])] = place + 1;
        }
    }

    /** Empties a slot; an entry behind it moves there unless its home lies between the two. */
    private void close(int emptied) {
        int mask = slots.length - 1;
        int hole = emptied;
        for (int next = (hole + 1) & mask; slots[next] != 0; next = (next + 1) & mask) {
            int home = home(members[slots[next] - 1]);
            if (((next - home) & mask) >= ((next - hole) & mask)) {
                slots[hole] = slots[next];
                hole = next;
            }
        }
        slots[hole] = 0;
    }
}
