package io.holdfast.rules.engine;

/** Listener that waits for an answer. Called on the engine's thread: must not block it. */
public interface TokenListener {
    /**
     * One more token.
     *
     * @param count of tokens of the answer so far
     */
    void token(int token, int count, int cachedTokens, boolean last);

    void failed(String message);

    /** The engine does not take the request as it is. */
    default void refused(String message) {
        failed(message);
    }
}
