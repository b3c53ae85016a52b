package io.holdfast.core.rank;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * A prefix cache of unit blocks that evicts the least recently used block which nothing keeps. Blocks are small numbers,
 * given out by whoever asks.
 */
public final class LruCache {
    /*
     * The order of eviction
     * ---------------------
     * A request uses all blocks of its path at once, and of those the deepest goes first: engines free a prompt from its
     * end. So the order is that of the last use, then of depth, and a block always comes before what lies above it; whoever
     * evicts in this order needs no look at the tree. Moment and depth are one number for each block, its stamp. Of blocks
     * with one stamp the one with the larger number goes first, which mostly is the one that was remembered later: so what
     * is evicted does not depend on how the heap happens to lie.
     *
     * The heap
     * --------
     * Each use, and each time that a block is let go of, puts an entry with the stamp of that moment into a heap. Entries are
     * never searched for: one that is not its block's stamp any more, or whose block is kept or gone, is passed over when it
     * comes to the top, and when such entries are most of the heap it is built anew.
     */
    private static final int FEWEST = 1 << 10;
    private static final int NONE = -1;
    /** Deeper blocks of one moment are not told apart. */
    private static final int DEPTH_BITS = 22;

    private static final int DEEPEST = (1 << DEPTH_BITS) - 1;

    private final IntConsumer evicted;
    private int capacity;

    private final BlockSet blocks = new BlockSet();
    private long[] stamps = new long[FEWEST];
    private short[] keepers = new short[FEWEST];
    /** The newest stamp by which a block is in the heap; 0 where it is not. */
    private long[] queued = new long[FEWEST];

    private long lastNanos = Long.MIN_VALUE;
    /** Moments are counted, so that a stamp has room for depths. */
    private long moment;

    private long[] heapStamps = new long[FEWEST];
    private int[] heapBlocks = new int[FEWEST];
    private int entries;

    /**
     * @param capacity in blocks
     * @param evicted hears of each block that is evicted, at once
     */
    public LruCache(int capacity, IntConsumer evicted) {
        this.capacity = capacity;
        this.evicted = evicted;
    }

    public int size() {
        return blocks.size();
    }

    BlockSet blocks() {
        return blocks;
    }

    /** What waits in the heap, passed over or not. */
    int entries() {
        return entries;
    }

    public int capacity() {
        return capacity;
    }

    public boolean has(int block) {
        return blocks.has(block);
    }

    /** Makes the cache smaller or larger; what nothing keeps is evicted until the rest fits. */
    public void resize(int newCapacity) {
        capacity = newCapacity;
        makeRoom(0);
    }

    /** Forgets all blocks, which are not evicted by that; nothing keeps one. */
    void clear() {
        blocks.clear();
        dropPassedOver();
    }

    /** How many blocks of a path, from its root on, are in the cache. */
    public int hits(int[] path, int length) {
        int hits = 0;
        while (hits < length && has(path[hits])) {
            hits++;
        }
        return hits;
    }

    /**
     * Uses a path and stores what of it is missing, as far as there is room beside what is kept.
     *
     * @param nanos not before the last use
     * @return how much of the path is in the cache now
     */
    public int use(int[] path, int length, long nanos) {
        if (nanos > lastNanos) {
            lastNanos = nanos;
            moment++;
        }
        int hits = hits(path, length);
        // What is used now cannot make room for the rest of it.
        for (int depth = 0; depth < hits; depth++) {
            keepers[path[depth]]++;
        }
        int stored = hits + makeRoom(length - hits);
        for (int depth = 0; depth < stored; depth++) {
            int block = path[depth];
            if (depth < hits) {
                keepers[block]--;
            } else {
                reach(block);
                blocks.add(block);
            }
            stamps[block] = moment << DEPTH_BITS | DEEPEST - Math.min(depth, DEEPEST);
            if (keepers[block] == 0) {
                push(stamps[block], block);
            }
        }
        return stored;
    }

    /** Whether one block of the cache comes before another when room is needed. */
    public boolean isOlder(int block, int other) {
        return goesBefore(stamps[block], block, stamps[other], other);
    }

    /** Keeps a block that is in the cache, once more. */
    public void keep(int block) {
        keepers[block]++;
    }

    /** Takes one {@link #keep} back; the block is as old as its last use made it. */
    public void release(int block) {
        if (--keepers[block] == 0) {
            push(stamps[block], block);
        }
    }

    /** Evicts until so many more blocks fit; how many of them do. */
    private int makeRoom(int wanted) {
        while (blocks.size() + wanted > capacity) {
            int block = popOldest();
            if (block == NONE) {
                return Math.max(0, Math.min(wanted, capacity - blocks.size()));
            }
            blocks.remove(block);
            evicted.accept(block);
        }
        return wanted;
    }

    private int popOldest() {
        while (entries > 0) {
            long at = heapStamps[0];
            int block = heapBlocks[0];
            entries--;
            siftDown(heapStamps[entries], heapBlocks[entries]);
            leftHeap(block, at);
            if (stands(block, at)) {
                return block;
            }
        }
        return NONE;
    }

    private boolean stands(int block, long at) {
        return stamps[block] == at && keepers[block] == 0 && blocks.has(block);
    }

    private void leftHeap(int block, long at) {
        if (queued[block] == at) {
            queued[block] = 0;
        }
    }

    private void push(long at, int block) {
        if (queued[block] == at) {
            return;
        }
        queued[block] = at;
        if (entries == heapBlocks.length) {
            dropPassedOver();
            if (2 * entries > heapBlocks.length) {
                heapStamps = Arrays.copyOf(heapStamps, 2 * heapStamps.length);
                heapBlocks = Arrays.copyOf(heapBlocks, 2 * heapBlocks.length);
            }
        }
        siftUp(entries++, at, block);
    }

    private void dropPassedOver() {
        int before = entries;
        entries = 0;
        for (int place = 0; place < before; place++) {
            if (stands(heapBlocks[place], heapStamps[place])) {
                siftUp(entries++, heapStamps[place], heapBlocks[place]);
            } else {
                leftHeap(heapBlocks[place], heapStamps[place]);
            }
        }
    }

    private void siftUp(int from, long at, int block) {
        int place = from;
        while (place > 0 && goesBefore(at, block, (place - 1) / 2)) {
            heapStamps[place] = heapStamps[(place - 1) / 2];
            heapBlocks[place] = heapBlocks[(place - 1) / 2];
            place = (place - 1) / 2;
        }
        heapStamps[place] = at;
        heapBlocks[place] = block;
    }

    private void siftDown(long at, int block) {
        int place = 0;
        for (int child = 1; child < entries; child = 2 * place + 1) {
            if (child + 1 < entries && goesBefore(heapStamps[child + 1], heapBlocks[child + 1], child)) {
                child++;
            }
            if (goesBefore(at, block, child)) {
                break;
            }
            heapStamps[place] = heapStamps[child];
            heapBlocks[place] = heapBlocks[child];
            place = child;
        }
        heapStamps[place] = at;
        heapBlocks[place] = block;
    }

    private boolean goesBefore(long at, int block, int place) {
        return goesBefore(at, block, heapStamps[place], heapBlocks[place]);
    }

    private static boolean goesBefore(long at, int block, long otherAt, int other) {
        return at < otherAt || (at == otherAt && block > other);
    }

    private void reach(int block) {
        if (block >= stamps.length) {
            int length = Math.max(block + 1, 2 * stamps.length);
            stamps = Arrays.copyOf(stamps, length);
            keepers = Arrays.copyOf(keepers, length);
            queued = Arrays.copyOf(queued, length);
        }
    }
}
