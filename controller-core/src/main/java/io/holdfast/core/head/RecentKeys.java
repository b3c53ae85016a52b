package io.holdfast.core.head;

/** A number for each of the keys that were put last, in a fixed amount of memory: a full bucket forgets its oldest. */
final class RecentKeys {
    /** No key has this number. */
    static final int NONE = 0;

    private static final int WAYS = 8;

    private final long[] keys;
    private final int[] numbers;
    /** The place of each bucket that is given away next. */
    private final byte[] hands;

    /** @param room for so many keys, a power of two */
    RecentKeys(int room) {
        keys = new long[room];
        numbers = new int[room];
        hands = new byte[room / WAYS];
    }

    /** Gives a key this number; answers what it had, or {@link #NONE}. */
    int put(long key, int number) {
        int bucket = (int) key & (hands.length - 1);
        int from = bucket * WAYS;
        for (int place = from; place < from + WAYS; place++) {
            if (keys[place] == key && numbers[place] != NONE) {
                int before = numbers[place];
                numbers[place] = number;
                return before;
            }
        }
        int place = from + hands[bucket];
        hands[bucket] = (byte) ((hands[bucket] + 1) % WAYS);
        keys[place] = key;
        numbers[place] = number;
        return NONE;
    }

    /** Returns the number of a key, or {@link #NONE}. */
    int get(long key) {
        int from = ((int) key & (hands.length - 1)) * WAYS;
        for (int place = from; place < from + WAYS; place++) {
            if (keys[place] == key) {
                return numbers[place];
            }
        }
        return NONE;
    }
}
