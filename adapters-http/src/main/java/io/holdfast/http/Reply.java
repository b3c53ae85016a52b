package io.holdfast.http;

/** What became of one call to an engine. */
public sealed interface Reply {
    /** The engine answered, with whatever status. */
    record Answer(int status, String body) implements Reply {}

    /**
     * No answer came.
     *
     * @param why one sentence naming the cause
     * @param maybeDone whether the engine may have carried the request out all the same
     */
    record NoAnswer(String why, boolean maybeDone) implements Reply {}
}
