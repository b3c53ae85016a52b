package io.holdfast.core.requests;

/** Who wants to know of the requests that an engine's events show. */
public interface RequestListener {
    /**
     * A request showed its prompt up to here: called when its first store is seen, and again for each further chunk.
     *
     * @param before the blocks of the prompt that were told of before; 0 at the first call
     */
    void prompt(VisibleRequest request, int before);

    /** A request stored more of what it generated. */
    default void answered(VisibleRequest request) {}

    /** Nothing more will be counted to the request; it does not change any more. */
    void completed(VisibleRequest request);
}
