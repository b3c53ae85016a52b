package io.holdfast.core.rank;

import java.util.Arrays;
import java.util.function.IntConsumer;

/**
 * A prefix cache of unit blocks that evicts the least recently used block which nothing keeps. Blocks are small numbers
 * that the caller assigns.
 */
public final class LruCache {
    /*
     * The order of eviction
     * ---------------------
     * A request uses all blocks of its path at once, and of those the deepest goes first: engines free a prompt from
     * its end. So the order is that of the last use, then of depth, and a block always comes before what lies above it;
     * an eviction in this order needs no look at the tree. Moment and depth are one number for each block, its
     * stamp. Of blocks with one stamp the one with the larger number goes first, which mostly is the one that was
     * remembered later: so what is evicted does not depend on how the heap happens to lie.
     *
     * Entries
     * -------
     * Each use, and each release of a block, makes an entry with the stamp of that moment. Nearly all come
     * in the order of their stamps, so they stand in a queue, where adding and taking cost the same however many there
     * are. One that comes out of order (released long after its last use, or used at the moment of another path) goes
     * into a heap beside it, and the older of both fronts is the next. Entries are never searched for: one that is not
     * its block's stamp any more, or whose block is kept or gone, is passed over when it comes to the front, and when
     * such entries are most of those that there are, they are dropped.
     */
    private static final int FEWEST = 1 << 4;
    private static final int NONE = BlockSet.NONE;
    /** Deeper blocks of one moment are not told apart. */
    private static final int DEPTH_BITS = 22;

    private static final int DEEPEST = (1 << DEPTH_BITS) - 1;

    private final IntConsumer evicted;
    private int capacity;

    // These arrays are by a block's place among those of the cache.
    private final BlockSet blocks = new BlockSet();
    private long[] stamps = new long[FEWEST];
    private short[] keepers = new short[FEWEST];
    /** The newest stamp of an entry of a block; 0 where it has none. */
    private long[] queued = new long[FEWEST];

    private long lastNanos = Long.MIN_VALUE;
    /** Moments are counted, so that a stamp has room for depths. */
    private long moment;

    private final Entries queue = new Entries();
    /** Start of the queue. */
    private int front;

    private final Entries heap = new Entries();

    /** Stamps and their blocks, side by side. */
    private static final class Entries {
        private long[] stamps = new long[FEWEST];
        private int[] blocks = new int[FEWEST];
        private int end;

        void set(int place, long at, int block) {
            stamps[place] = at;
            blocks[place] = block;
        }

        boolean isFull() {
            return end == blocks.length;
        }

        void grow() {
            stamps = Arrays.copyOf(stamps, 2 * stamps.length);
            blocks = Arrays.copyOf(blocks, 2 * blocks.length);
        }

        boolean goesBefore(int place, long at, int block) {
            return LruCache.goesBefore(stamps[place], blocks[place], at, block);
        }
    }

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

    /** Returns the number of entries, including those to be passed over. */
    int entries() {
        return queue.end - front + heap.end;
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

    /** Returns how many blocks of a path, from its root on, are in the cache. */
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
            keepers[blocks.place(path[depth])]++;
        }
        int stored = hits + makeRoom(length - hits);
        // From the end on, which is the order in which they go.
        for (int depth = stored - 1; depth >= 0; depth--) {
            int place = depth < hits ? blocks.place(path[depth]) : add(path[depth]);
            if (depth < hits) {
                keepers[place]--;
            }
            stamps[place] = moment << DEPTH_BITS | DEEPEST - Math.min(depth, DEEPEST);
            if (keepers[place] == 0) {
                push(place);
            }
        }
        return stored;
    }

    /** Returns true if one block of the cache comes before another when room is needed. */
    public boolean isOlder(int block, int other) {
        return goesBefore(stamps[blocks.place(block)], block, stamps[blocks.place(other)], other);
    }

    /** Keeps a block that is in the cache, once more. */
    public void keep(int block) {
        keepers[blocks.place(block)]++;
    }

    /**
     * Takes one {@link #keep} back; the block is as old as its last use made it. One that nothing keeps, since it came in
     * later, stays as it is.
     */
    public void release(int block) {
        int place = blocks.place(block);
        if (keepers[place] > 0 && --keepers[place] == 0) {
            push(place);
        }
    }

    /** Evicts until so many more blocks fit; how many of them do. */
    private int makeRoom(int wanted) {
        while (blocks.size() + wanted > capacity) {
            int block = popOldest();
            if (block == NONE) {
                return Math.max(0, Math.min(wanted, capacity - blocks.size()));
            }
            remove(block);
            evicted.accept(block);
        }
        return wanted;
    }

    private int popOldest() {
        while (entries() > 0) {
            boolean fromHeap = heap.end > 0
                    && (front == queue.end || heap.goesBefore(0, queue.stamps[front], queue.blocks[front]));
            long at = fromHeap ? heap.stamps[0] : queue.stamps[front];
            int block = fromHeap ? heap.blocks[0] : queue.blocks[front];
            if (fromHeap) {
                heap.end--;
                siftDown(heap.stamps[heap.end], heap.blocks[heap.end]);
            } else {
                front++;
            }
            int place = blocks.place(block);
            if (place != NONE) {
                if (queued[place] == at) {
                    queued[place] = 0;
                }
                if (stamps[place] == at && keepers[place] == 0) {
                    return block;
                }
            }
        }
        return NONE;
    }

    private boolean stands(int block, long at) {
        int place = blocks.place(block);
        return place != NONE && stamps[place] == at && keepers[place] == 0;
    }

    /** An entry is no more. */
    private void forget(int block, long at) {
        int place = blocks.place(block);
        if (place != NONE && queued[place] == at) {
            queued[place] = 0;
        }
    }

    private void push(int place) {
        long at = stamps[place];
        int block = blocks.at(place);
        if (queued[place] == at) {
            return;
        }
        queued[place] = at;
        if (front == queue.end || queue.goesBefore(queue.end - 1, at, block)) {
            if (queue.isFull()) {
                tidyQueue();
            }
            queue.set(queue.end++, at, block);
        } else {
            if (heap.isFull()) {
                tidyHeap();
            }
            siftUp(heap.end++, at, block);
        }
    }

    private void dropPassedOver() {
        tidyQueue();
        tidyHeap();
    }

    /** Drops what would be passed over, and makes room where that is not most of it. */
    private void tidyQueue() {
        int kept = 0;
        for (int place = front; place < queue.end; place++) {
            long at = queue.stamps[place];
            int block = queue.blocks[place];
            if (stands(block, at)) {
                queue.set(kept++, at, block);
            } else {
                forget(block, at);
            }
        }
        front = 0;
        queue.end = kept;
        if (2 * kept > queue.blocks.length) {
            queue.grow();
        }
    }

    private void tidyHeap() {
        int before = heap.end;
        heap.end = 0;
        for (int place = 0; place < before; place++) {
            if (stands(heap.blocks[place], heap.stamps[place])) {
                siftUp(heap.end++, heap.stamps[place], heap.blocks[place]);
            } else {
                forget(heap.blocks[place], heap.stamps[place]);
            }
        }
        if (2 * heap.end > heap.blocks.length) {
            heap.grow();
        }
    }

    private void siftUp(int from, long at, int block) {
        int place = from;
        while (place > 0 && !heap.goesBefore((place - 1) / 2, at, block)) {
            heap.set(place, heap.stamps[(place - 1) / 2], heap.blocks[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        heap.set(place, at, block);
    }

    private void siftDown(long at, int block) {
        int place = 0;
        for (int child = 1; child < heap.end; child = 2 * place + 1) {
            if (child + 1 < heap.end && heap.goesBefore(child + 1, heap.stamps[child], heap.blocks[child])) {
                child++;
            }
            if (!heap.goesBefore(child, at, block)) {
                break;
            }
            heap.set(place, heap.stamps[child], heap.blocks[child]);
            place = child;
        }
        heap.set(place, at, block);
    }

    private static boolean goesBefore(long at, int block, long otherAt, int other) {
        return at < otherAt || (at == otherAt && block > other);
    }

    /** Adds a block; returns its place. */
    private int add(int block) {
        int size = blocks.size();
        if (size == stamps.length) {
            int length = BlockHistory.longer(size, size + 1);
            stamps = Arrays.copyOf(stamps, length);
            keepers = Arrays.copyOf(keepers, length);
            queued = Arrays.copyOf(queued, length);
        }
        int place = blocks.add(block);
        if (place == size) {
            keepers[place] = 0;
            queued[place] = 0;
        }
        return place;
    }

    private void remove(int block) {
        int place = blocks.remove(block);
        int last = blocks.size();
        stamps[place] = stamps[last];
        keepers[place] = keepers[last];
        queued[place] = queued[last];
    }
}
