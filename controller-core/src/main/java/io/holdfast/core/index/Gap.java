package io.holdfast.core.index;

/**
 * A gap in an event stream: batches {@code expected .. seen - 1}, which could not be had again.
 *
 * @param expected the first batch that is missing
 * @param seen the batch that came in its place; equal to {@code expected} when none is known to be missing, but the
 *     connection was lost in between, so that {@code seen} may belong to another life of the publisher
 */
public record Gap(Cause cause, long expected, long seen) {
    /** Reason why batches are missing. */
    public enum Cause {
        /** The publisher was there before us, and what it said then is no longer to be had. */
        JOINED_LATE,
        /** The connection held: somebody on the way dropped batches because a queue was full. */
        DROPPED,
        /** The connection was lost in between. */
        DISCONNECTED
    }

    public Gap {
        if (expected < 0 || seen < expected) {
            throw new IllegalArgumentException("Batches from " + expected + " up to before " + seen + " are no gap.");
        }
    }

    /** Returns the number of batches that are missing for certain. */
    public long batches() {
        return seen - expected;
    }
}
