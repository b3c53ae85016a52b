package io.holdfast.workbench.replay;

import java.util.Arrays;
import java.util.function.IntConsumer;

/** A cache as an engine has it: what is pinned or in use stays, of the rest its eviction chooses. */
final class EngineMemory {
    /*
     * Where nothing can be evicted for a request, pins are given up one at a time, the least recently used first (its
     * children are older and were given up before); where that is not enough, the request is cut short.
     */
    private final int capacity;
    private final EngineCache cache;
    private final IntConsumer unpinned;
    private final int[] inUse;
    private int distinctInUse;
    private int own;
    private int[] pinned = new int[16];
    private final int[] pinPlaces;
    private int pins;
    private int givenUp;

    /**
     * @param blocks that there are, in the cache or not
     * @param unpinned hears of pins that had to be given up
     */
    EngineMemory(int blocks, EngineCache cache, IntConsumer unpinned) {
        this.capacity = cache.capacity();
        this.cache = cache;
        this.unpinned = unpinned;
        inUse = new int[blocks];
        pinPlaces = new int[blocks];
    }

    int size() {
        return cache.size();
    }

    boolean has(int block) {
        return cache.has(block);
    }

    int runningBlocks() {
        return distinctInUse + own;
    }

    int givenUp() {
        return givenUp;
    }

    int hits(int[] path, int length) {
        return cache.hits(path, length);
    }

    /** Uses a path that is there or is stored now; nothing is given up for it. */
    int use(int[] path, int length, long nanos) {
        return cache.use(path, length, nanos);
    }

    /** Stores a path, and gives up pins where there is no other room. */
    int store(int[] path, int length, long nanos) {
        int stored = cache.use(path, length, nanos);
        while ((stored < length || cache.size() > cache.capacity()) && giveUpOne()) {
            cache.resize(cache.capacity());
            stored = cache.use(path, length, nanos);
        }
        return stored;
    }

    /** So many blocks are taken by what is in nobody's path, or given back where that is negative. */
    void take(int blocks) {
        own += blocks;
        cache.resize(Math.max(0, capacity - own));
    }

    void hold(int[] path, int from, int to) {
        for (int depth = from; depth < to; depth++) {
            if (inUse[path[depth]]++ == 0) {
                distinctInUse++;
            }
            cache.keep(path[depth]);
        }
    }

    void letGo(int[] path, int length) {
        for (int depth = 0; depth < length; depth++) {
            if (--inUse[path[depth]] == 0) {
                distinctInUse--;
            }
            cache.release(path[depth]);
        }
    }

    void pin(int block) {
        if (pins == pinned.length) {
            pinned = Arrays.copyOf(pinned, 2 * pins);
        }
        pinned[pins++] = block;
        pinPlaces[block] = pins;
        cache.keep(block);
    }

    void unpin(int block) {
        int last = pinned[--pins];
        pinned[pinPlaces[block] - 1] = last;
        pinPlaces[last] = pinPlaces[block];
        pinPlaces[block] = 0;
        cache.release(block);
    }

    private boolean giveUpOne() {
        int oldest = -1;
        for (int place = 0; place < pins; place++) {
            int block = pinned[place];
            if (inUse[block] == 0 && (oldest < 0 || cache.isOlder(block, oldest))) {
                oldest = block;
            }
        }
        if (oldest < 0) {
            return false;
        }
        unpin(oldest);
        givenUp++;
        unpinned.accept(oldest);
        return true;
    }
}
