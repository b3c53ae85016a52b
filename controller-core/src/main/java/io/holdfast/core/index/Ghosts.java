package io.holdfast.core.index;

import java.util.Arrays;

/**
 * Blocks that left the GPU and are still remembered, so that their return is recognised.
 *
 * <p>A ring of records behind a table: a block that is lost is written at the head, over the oldest record. One that is
 * lost again moves to the head and leaves a dead record behind, which the head overwrites in its turn. The ring doubles
 * only when the head is about to wrap, so age order survives growth. It never has more records than 16 x the most
 * blocks ever resident, or than the least that it was made for where that is more, nor more than 2 Mi, nor more than
 * the budget has bytes for; a record is 16 bytes and the table adds 8: 24 bytes a ghost. Where somebody else needs them
 * the older half is forgotten.
 */
final class Ghosts implements MemoryBudget.LeastUseful {
    private static final int SMALLEST = 1 << 10;
    private static final int LARGEST = 1 << 21;
    private static final int PER_RESIDENT = 16;
    /** Bytes of a record and of what it takes in the table. */
    static final int EACH = 24;

    private final MemoryBudget memory;
    private HashSlots slots = new HashSlots(SMALLEST << 1);
    private long[] hashes = new long[SMALLEST];
    private int[] touched = new int[SMALLEST];
    private short[] timesLost = new short[SMALLEST];
    private short[] touches = new short[SMALLEST];
    private int head;
    private int size;
    private final int least;

    /**
     * {@code least} losses are remembered whatever the size of the cache: a small one turns over many times in a
     * minute.
     */
    Ghosts(int least, MemoryBudget memory) {
        this.least = least;
        this.memory = memory;
        memory.takeAnyhow((long) SMALLEST * EACH);
        memory.forgetsFirst(this);
    }

    /** Remembers a block that was just removed; {@code mostResident} bounds how many are remembered. */
    void remember(long hash, int lastTouch, short touchCount, int mostResident) {
        int known = slots.find(hashes, hash);
        int losses = 1;
        if (known != HashSlots.NONE) {
            losses = Math.min(timesLost[known] + 1, Short.MAX_VALUE);
            forget(known);
        }
        if (head == hashes.length) {
            wrap(mostResident);
        }
        if (timesLost[head] != 0) {
            forget(head);
        }
        hashes[head] = hash;
        touched[head] = lastTouch;
        timesLost[head] = (short) losses;
        touches[head] = touchCount;
        slots.insert(hash, head);
        head++;
        size++;
    }

    int size() {
        return size;
    }

    /** The record of a block, or {@link HashSlots#NONE}; valid until the next {@link #remember}. */
    int find(long hash) {
        return slots.find(hashes, hash);
    }

    int timesLost(int ghost) {
        return timesLost[ghost];
    }

    int lastTouch(int ghost) {
        return touched[ghost];
    }

    short touches(int ghost) {
        return touches[ghost];
    }

    private void forget(int ghost) {
        slots.remove(hashes, ghost);
        timesLost[ghost] = 0;
        size--;
    }

    private void wrap(int mostResident) {
        long bound = Math.min(LARGEST, Math.max(least, (long) PER_RESIDENT * mostResident));
        if ((long) hashes.length << 1 > bound || !memory.takeForGhosts((long) hashes.length * EACH)) {
            head = 0;
            return;
        }
        int length = hashes.length << 1;
        hashes = Arrays.copyOf(hashes, length);
        touched = Arrays.copyOf(touched, length);
        timesLost = Arrays.copyOf(timesLost, length);
        touches = Arrays.copyOf(touches, length);
        slots.grow(hashes);
    }

    @Override
    public long spare() {
        return (long) (hashes.length - SMALLEST) * EACH;
    }

    @Override
    public void forgetHalf() {
        int length = hashes.length >> 1;
        // The newest records end before the head, and where it wrapped go on at the ring's end.
        int first = head - length;
        long[] oldHashes = hashes;
        int[] oldTouched = touched;
        short[] oldTimesLost = timesLost;
        short[] oldTouches = touches;
        hashes = new long[length];
        touched = new int[length];
        timesLost = new short[length];
        touches = new short[length];
        slots = new HashSlots(length << 1);
        head = 0;
        size = 0;
        for (int at = first; at < first + length; at++) {
            int from = at & oldHashes.length - 1;
            if (oldTimesLost[from] != 0) {
                hashes[head] = oldHashes[from];
                touched[head] = oldTouched[from];
                timesLost[head] = oldTimesLost[from];
                touches[head] = oldTouches[from];
                slots.insert(hashes[head], head);
                head++;
                size++;
            }
        }
        memory.give((long) length * EACH);
    }
}
