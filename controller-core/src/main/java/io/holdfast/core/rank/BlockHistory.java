package io.holdfast.core.rank;

import io.holdfast.core.index.HashSlots;
import io.holdfast.core.index.MemoryBudget;
import java.util.Arrays;

/** History of each block: where it hangs, when and how often it was used, and by what kind of request. */
final class BlockHistory {
    static final int NONE = HashSlots.NONE;

    private static final int FEWEST = 1 << 6;
    /** Bytes that a block takes: here, in the table, in the queue of ghosts and in seven sets. */
    private static final int EACH = 75;

    private final HashSlots numbers = new HashSlots(2 * FEWEST);
    long[] hashes = new long[FEWEST];
    int[] parents = new int[FEWEST];
    long[] usedNanos = new long[FEWEST];
    /** 0 where nothing is remembered. */
    int[] uses = new int[FEWEST];
    /** Its class among {@link ReuseCurves}. */
    byte[] classes = new byte[FEWEST];

    byte[] hints = new byte[FEWEST];
    /** Turn of the request that ended with this block; 0 where no request did. */
    byte[] endTurns = new byte[FEWEST];
    /** Decayed uses as of the last one; nothing where they are not counted. */
    double[] frequencies;

    private int fresh;
    private int[] free = new int[16];
    private int freed;

    private final MemoryBudget memory;

    BlockHistory(boolean countsFrequencies, MemoryBudget memory) {
        frequencies = new double[countsFrequencies ? FEWEST : 0];
        this.memory = memory;
        memory.takeAnyhow(bytes(FEWEST));
    }

    private long bytes(int blocks) {
        return (long) blocks * (countsFrequencies() ? EACH + Double.BYTES : EACH);
    }

    /** Gives its bytes back; nobody uses it any more. */
    void close() {
        memory.give(bytes(hashes.length));
    }

    /** Returns true if so many blocks more find room, or more bytes were taken for it. */
    boolean hasRoomFor(int blocks) {
        int needed = remembered() + blocks;
        if (needed <= hashes.length) {
            return true;
        }
        int length = longer(hashes.length, needed);
        if (!memory.take(bytes(length - hashes.length))) {
            return false;
        }
        grow(length);
        return true;
    }

    /** Returns how long an array becomes that has to have this length at least: by a quarter, as there are many. */
    static int longer(int length, int least) {
        return Math.max(least, length + (length >> 2));
    }

    boolean countsFrequencies() {
        return frequencies.length > 0;
    }

    int find(long hash) {
        return numbers.find(hashes, hash);
    }

    /** Numbers given out so far are below this. */
    int reach() {
        return fresh;
    }

    int remembered() {
        return fresh - freed;
    }

    /** A number for a block that is not remembered yet. */
    int add(long hash) {
        int block = freed > 0 ? free[--freed] : fresh++;
        if (block == hashes.length) {
            // It is in the cache, which is known whatever it takes.
            int length = hashes.length + (hashes.length >> 3);
            memory.takeAnyhow(bytes(length - hashes.length));
            grow(length);
        }
        hashes[block] = hash;
        parents[block] = NONE;
        uses[block] = 0;
        endTurns[block] = 0;
        if (countsFrequencies()) {
            frequencies[block] = 0;
        }
        if (2 * remembered() > numbers.length()) {
            numbers.grow(hashes);
        }
        numbers.insert(hash, block);
        return block;
    }

    /** Gives the history of a block to another one that has none. */
    void rename(int block, long hash) {
        numbers.remove(hashes, block);
        hashes[block] = hash;
        numbers.insert(hash, block);
    }

    void forget(int block) {
        numbers.remove(hashes, block);
        uses[block] = 0;
        if (freed == free.length) {
            free = Arrays.copyOf(free, 2 * freed);
        }
        free[freed++] = block;
    }

    private void grow(int length) {
        hashes = Arrays.copyOf(hashes, length);
        parents = Arrays.copyOf(parents, length);
        usedNanos = Arrays.copyOf(usedNanos, length);
        uses = Arrays.copyOf(uses, length);
        classes = Arrays.copyOf(classes, length);
        hints = Arrays.copyOf(hints, length);
        endTurns = Arrays.copyOf(endTurns, length);
        frequencies = Arrays.copyOf(frequencies, countsFrequencies() ? length : 0);
    }
}
