package io.holdfast.workbench.replay;

import io.holdfast.loadtest.trace.Trace;
import java.util.Arrays;

/** A cache that knows all that comes: it evicts the block that is used again last, or never. */
final class Optimum {
    private static final int NEVER = Integer.MAX_VALUE;

    private final Trace trace;
    private final int capacity;
    /** Request that uses each block next, as of the block's last use. */
    private final int[] nextUses;

    private final int[] depths;
    private final boolean[] cached;
    private int size;
    /** The farthest next use first, and the deepest of those; entries that no longer hold are passed over. */
    private long[] heap = new long[1 << 12];

    private int[] heapBlocks = new int[1 << 12];
    private int entries;

    private Optimum(Trace trace, int capacity) {
        this.trace = trace;
        this.capacity = capacity;
        nextUses = new int[trace.uniqueBlocks()];
        depths = new int[trace.uniqueBlocks()];
        cached = new boolean[trace.uniqueBlocks()];
    }

    static long hits(Trace trace, int capacity) {
        return new Optimum(trace, capacity).run();
    }

    private long run() {
        int[][] next = next();
        long hits = 0;
        for (int request = 0; request < trace.requests(); request++) {
            int length = trace.length(request);
            int found = 0;
            while (found < length && cached[trace.block(request, found)]) {
                found++;
            }
            hits += found;
            // The blocks that are found are the ones used soonest, so none of them is evicted for the rest.
            int stored = Math.min(length, capacity);
            while (size + stored - found > capacity) {
                evict();
            }
            for (int depth = 0; depth < stored; depth++) {
                use(trace.block(request, depth), depth, next[request][depth]);
            }
        }
        return hits;
    }

    private int[][] next() {
        int[] soonest = new int[trace.uniqueBlocks()];
        Arrays.fill(soonest, NEVER);
        int[][] next = new int[trace.requests()][];
        for (int request = trace.requests() - 1; request >= 0; request--) {
            next[request] = new int[trace.length(request)];
            for (int depth = 0; depth < next[request].length; depth++) {
                int block = trace.block(request, depth);
                next[request][depth] = soonest[block];
                soonest[block] = request;
            }
        }
        return next;
    }

    private void use(int block, int depth, int next) {
        if (!cached[block]) {
            cached[block] = true;
            size++;
        }
        nextUses[block] = next;
        depths[block] = depth;
        push(key(block), block);
    }

    private void evict() {
        while (true) {
            long key = heap[0];
            int block = heapBlocks[0];
            pop();
            if (cached[block] && key == key(block)) {
                cached[block] = false;
                size--;
                return;
            }
        }
    }

    private long key(int block) {
        return (long) nextUses[block] << 32 | depths[block];
    }

    private void push(long key, int block) {
        if (entries == heap.length) {
            heap = Arrays.copyOf(heap, 2 * entries);
            heapBlocks = Arrays.copyOf(heapBlocks, 2 * entries);
        }
        int place = entries++;
        while (place > 0 && heap[(place - 1) / 2] < key) {
            heap[place] = heap[(place - 1) / 2];
            heapBlocks[place] = heapBlocks[(place - 1) / 2];
            place = (place - 1) / 2;
        }
        heap[place] = key;
        heapBlocks[place] = block;
    }

    private void pop() {
        long key = heap[--entries];
        int block = heapBlocks[entries];
        int place = 0;
        for (int child = 1; child < entries; child = 2 * place + 1) {
            if (child + 1 < entries && heap[child + 1] > heap[child]) {
                child++;
            }
            if (heap[child] <= key) {
                break;
            }
            heap[place] = heap[child];
            heapBlocks[place] = heapBlocks[child];
            place = child;
        }
        heap[place] = key;
        heapBlocks[place] = block;
    }
}
