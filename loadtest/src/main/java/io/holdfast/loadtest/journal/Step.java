package io.holdfast.loadtest.journal;

/**
 * One step of a leg, in nanoseconds since the leg began.
 *
 * @param cycle from 1; 0 outside of the cycles
 */
public record Step(Kind kind, int cycle, long began, long ended) {
    /** The steps of a leg in their order, which is the same in both arms. */
    public enum Kind {
        /** The cache is emptied, and the holder has seen it. */
        FLUSH,
        /** Nothing is sent, so that what the flush set off is over. */
        PAUSE,
        /** The connections of the load are opened. */
        CONNECT,
        /** The prefix alone is sent. */
        PRIME,
        /** Traffic to learn from, texts and floods alike. */
        LEARN,
        /** A slot of fixed length in which the pinned arm holds and the baseline makes a sham. */
        HOLD,
        /** Unrelated prompts press on the cache. */
        FLOOD,
        /** The prefix is requested again. */
        PROBE,
        /** The hold ends, or a sham of that. */
        RELEASE
    }
}
