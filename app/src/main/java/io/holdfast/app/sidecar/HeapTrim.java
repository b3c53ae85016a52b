package io.holdfast.app.sidecar;

import java.util.function.LongSupplier;

/**
 * Collects the whole heap when it has grown by a quarter since the last time, so that the system gets back what is
 * garbage.
 *
 * <p>The serial collector clears its old generation when the heap is full, and not before: until then it grows by what
 * larger tables left behind and by the few kilobytes a minute that outlive their use, up to the most that it may have.
 */
final class HeapTrim {
    /** Growth that is not worth a collection, as large as the young generation. */
    private static final long SPARE_BYTES = 4L << 20;

    private static final int PART = 4;

    private final LongSupplier used;
    private final Runnable collector;
    private long live;

    /**
     * Creates a trim of a heap.
     *
     * @param used bytes of it that are in use, garbage included
     * @param collector collects all of it
     */
    HeapTrim(LongSupplier used, Runnable collector) {
        this.used = used;
        this.collector = collector;
    }

    /** Returns the trim of this process. */
    static HeapTrim ofThisProcess() {
        Runtime runtime = Runtime.getRuntime();
        return new HeapTrim(() -> runtime.totalMemory() - runtime.freeMemory(), runtime::gc);
    }

    /** Collects where the heap has grown. */
    void look() {
        if (used.getAsLong() > live + live / PART + SPARE_BYTES) {
            collector.run();
            live = used.getAsLong();
        }
    }
}
