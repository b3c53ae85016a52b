package io.holdfast.kvcached;

/** Result of a look at an engine's memory segment. */
public sealed interface SegmentReading {
    /**
     * The three numbers that an engine and its controllers share, in bytes over all layers.
     *
     * <p>Memory in use and mapped in advance can exceed the limit: a limit below what is in use is kept as a wish.
     *
     * @param limitBytes what the engine may map
     * @param usedBytes what its pages in use take
     * @param preallocatedBytes what is mapped in advance and not in use
     */
    record Segment(long limitBytes, long usedBytes, long preallocatedBytes) implements SegmentReading {
        /** Bytes that the engine really has, used or not. */
        public long mappedBytes() {
            return usedBytes + preallocatedBytes;
        }
    }

    /** No numbers, and why not. */
    record Unknown(String why) implements SegmentReading {}
}
