package io.holdfast.core.rank;

import java.util.Arrays;

/** A set of small numbers that can be walked. */
final class BlockSet {
    private int[] members = new int[1 << 10];
    /** Place of a member, from 1; 0 is no member. */
    private int[] places = new int[1 << 10];

    private int size;

    int size() {
        return size;
    }

    int at(int place) {
        return members[place];
    }

    boolean has(int block) {
        return block < places.length && places[block] != 0;
    }

    void add(int block) {
        if (block >= places.length) {
            places = Arrays.copyOf(places, Math.max(block + 1, 2 * places.length));
        }
        if (places[block] == 0) {
            if (size == members.length) {
                members = Arrays.copyOf(members, 2 * size);
            }
            members[size++] = block;
            places[block] = size;
        }
    }

    void clear() {
        for (int place = 0; place < size; place++) {
            places[members[place]] = 0;
        }
        size = 0;
    }

    void remove(int block) {
        if (has(block)) {
            int last = members[--size];
            members[places[block] - 1] = last;
            places[last] = places[block];
            places[block] = 0;
        }
    }
}
