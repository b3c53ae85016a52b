package io.holdfast.http;

/** Outcome of one call to an engine. */
public sealed interface Reply {
    /** The engine answered, with whatever status. */
    record Answer(int status, String body) implements Reply {
        /** Returns whether the engine asks for a key that the request did not have. */
        public boolean wantsKey() {
            return status == 401 || status == 403;
        }

        /**
         * Returns one sentence on the key that is missing and on how to give it, for an answer of this path that wants
         * one.
         */
        public String wantedKey(String path) {
            return "The engine needs a key, and a valid one was not sent (HTTP " + status + " at " + path
                    + "): engines.ID.apiKeyEnv names the environment variable that has it.";
        }
    }

    /**
     * No answer came.
     *
     * @param why one sentence naming the cause
     * @param maybeDone whether the engine may have carried the request out all the same
     */
    record NoAnswer(String why, boolean maybeDone) implements Reply {}
}
