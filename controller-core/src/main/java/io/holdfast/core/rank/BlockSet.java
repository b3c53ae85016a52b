package io.holdfast.core.rank;

import java.util.Arrays;

/** A set of small numbers that can be walked, each at its place. */
final class BlockSet {
    /** Place of a number that is no member. */
    static final int NONE = -1;

    private int[] members = new int[1 << 4];
    /** Place of a member, from 1; 0 is no member. */
    private int[] places = new int[1 << 4];

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
        return block < places.length ? places[block] - 1 : NONE;
    }

    /** Adds a block as the last member, or leaves it where it is; returns its place. */
    int add(int block) {
        if (block >= places.length) {
            places = Arrays.copyOf(places, BlockHistory.longer(places.length, block + 1));
        }
        if (places[block] == 0) {
            if (size == members.length) {
                members = Arrays.copyOf(members, 2 * size);
            }
            members[size++] = block;
            places[block] = size;
        }
        return places[block] - 1;
    }

    /** Removes a member, whose place the last member takes; returns that place, or {@link #NONE}. */
    int remove(int block) {
        int place = place(block);
        if (place != NONE) {
            int last = members[--size];
            members[place] = last;
            places[last] = place + 1;
            places[block] = 0;
        }
        return place;
    }

    /** Leaves the first so many members. */
    void cut(int count) {
        while (size > count) {
            places[members[--size]] = 0;
        }
    }

    void clear() {
        cut(0);
    }
}
