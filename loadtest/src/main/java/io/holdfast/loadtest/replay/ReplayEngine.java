package io.holdfast.loadtest.replay;

import java.util.Arrays;
import java.util.PriorityQueue;
import java.util.function.IntConsumer;

/** A cache as an engine has it: what is pinned or in use stays, of the rest its eviction chooses. */
final class ReplayEngine {
    /*
     * Requests that run
     * -----------------
     * With `held` a request holds its path, and as many blocks of its own as its answer fills, for as long as it would take:
     * a fixed part, its missing tokens at a rate, its answer at a rate. Where nothing can be evicted for a request, pins are
     * given up one at a time, the least recently used first (its children are older and were given up before); where that
     * is not enough, the request is cut short.
     */
    private static final double FIXED_SECONDS = 0.2;
    private static final double PREFILL_TOKENS_PER_SECOND = 20_000;
    private static final double SECONDS_PER_OUTPUT_TOKEN = 0.03;
    private static final double NANOS = 1e9;

    /** One that runs until its end. */
    private static final class Running {
        private final long endNanos;
        private final int[] path;
        private final int own;

        Running(long endNanos, int[] path, int own) {
            this.endNanos = endNanos;
            this.path = path;
            this.own = own;
        }
    }

    private final int capacity;
    private final boolean held;
    private final int blockTokens;
    private final EngineCache cache;
    private final IntConsumer unpinned;
    private final PriorityQueue<Running> running = new PriorityQueue<>((a, b) -> Long.compare(a.endNanos, b.endNanos));
    private final int[] inUse;
    private int distinctInUse;
    private int own;
    private int[] pinned = new int[16];
    private final int[] pinPlaces;
    private int pins;
    private int givenUp;

    /**
     * @param held whether running requests hold their blocks
     * @param unpinned hears of pins that had to be given up
     */
    ReplayEngine(Trace trace, EngineCache cache, boolean held, IntConsumer unpinned) {
        this.capacity = cache.capacity();
        this.held = held;
        this.blockTokens = trace.blockTokens();
        this.cache = cache;
        this.unpinned = unpinned;
        inUse = new int[trace.uniqueBlocks()];
        pinPlaces = new int[trace.uniqueBlocks()];
    }

    int size() {
        return cache.size();
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

    /** Ends what is over by now. */
    void advance(long nanos) {
        for (Running first = running.peek(); first != null && first.endNanos <= nanos; first = running.peek()) {
            running.remove();
            own -= first.own;
            for (int block : first.path) {
                letGo(block);
            }
            cache.resize(Math.max(0, capacity - own));
        }
    }

    /**
     * Runs a request.
     *
     * @return how much of its path is in the cache now
     */
    int run(int[] path, int length, int hits, int inputTokens, int outputTokens, long nanos) {
        if (!held) {
            return cache.use(path, length, nanos);
        }
        for (int depth = 0; depth < hits; depth++) {
            hold(path[depth]);
        }
        int answer = (outputTokens + blockTokens - 1) / blockTokens;
        own += answer;
        cache.resize(Math.max(0, capacity - own));
        int stored = cache.use(path, length, nanos);
        while ((stored < length || cache.size() > cache.capacity()) && giveUpOne()) {
            cache.resize(cache.capacity());
            stored = cache.use(path, length, nanos);
        }
        for (int depth = hits; depth < stored; depth++) {
            hold(path[depth]);
        }
        double missing = Math.max(0, inputTokens - (double) hits * blockTokens);
        double seconds = FIXED_SECONDS + missing / PREFILL_TOKENS_PER_SECOND + SECONDS_PER_OUTPUT_TOKEN * outputTokens;
        running.add(new Running(nanos + (long) (seconds * NANOS), Arrays.copyOf(path, stored), answer));
        return stored;
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

    private void hold(int block) {
        if (inUse[block]++ == 0) {
            distinctInUse++;
        }
        cache.keep(block);
    }

    private void letGo(int block) {
        if (--inUse[block] == 0) {
            distinctInUse--;
        }
        cache.release(block);
    }
}
