package io.holdfast.kvcached;

import io.holdfast.kvcached.SegmentReading.Segment;

/** Outcome of a {@link Move}. */
public sealed interface WriteResult {
    /**
     * The limit stands, as three later looks showed.
     *
     * @param locked what the segment said while it was locked, before the write
     * @param after what it said at the last look
     * @param lastWrittenNanos when it was written last, as the file system counts, at the last look
     * @param rewrites how often an old limit came back and was written over
     */
    record Applied(Segment locked, Segment after, long lastWrittenNanos, int rewrites) implements WriteResult {}

    /** Nothing was written, since others had the lock at every try. */
    record Busy(String why) implements WriteResult {}

    /** Somebody else's limit stands, and is left alone. */
    record Foreign(long found) implements WriteResult {}

    /** Nothing was written. */
    record Refused(String why) implements WriteResult {}

    /** It was written, and could not be seen to stay; the next look tells which limit stands. */
    record Unproven(String why) implements WriteResult {}
}
