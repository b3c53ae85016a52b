package io.holdfast.core.rank;

import java.util.Arrays;

/** Ghosts in the order in which they were removed, so that the oldest is forgotten first. */
final class GhostQueue {
    private static final int NONE = BlockHistory.NONE;

    private int[] queue = new int[1 << 10];
    private long[] numbers = new long[1 << 10];
    private long head;
    private long tail;
    /** Number in the queue by block, from 1; 0 for one that is no ghost. */
    private long[] numberOf = new long[1 << 10];

    private long lastNumber;
    private int count;

    void add(int block) {
        if (block >= numberOf.length) {
            numberOf = Arrays.copyOf(numberOf, Math.max(block + 1, 2 * numberOf.length));
        }
        if (numberOf[block] == 0) {
            count++;
        }
        numberOf[block] = ++lastNumber;
        if (tail - head == queue.length) {
            grow();
        }
        int place = (int) (tail++ & (queue.length - 1));
        queue[place] = block;
        numbers[place] = lastNumber;
    }

    /** It is in the cache again. */
    void returned(int block) {
        if (block < numberOf.length && numberOf[block] != 0) {
            numberOf[block] = 0;
            count--;
        }
    }

    /** The one that was removed first, which is no ghost any more; none while there are no more than so many. */
    int oldestAbove(long most) {
        while (count > most) {
            int place = (int) (head++ & (queue.length - 1));
            int block = queue[place];
            if (numberOf[block] == numbers[place]) {
                returned(block);
                return block;
            }
        }
        return NONE;
    }

    private void grow() {
        int length = 2 * queue.length;
        int[] blocks = new int[length];
        long[] kept = new long[length];
        int left = 0;
        for (long at = head; at < tail; at++) {
            int place = (int) (at & (queue.length - 1));
            if (numberOf[queue[place]] == numbers[place]) {
                blocks[left] = queue[place];
                kept[left++] = numbers[place];
            }
        }
        queue = blocks;
        numbers = kept;
        head = 0;
        tail = left;
    }
}
