package io.holdfast.http;

import com.fasterxml.jackson.databind.JsonNode;

/** Outcome of one call to an engine. */
public sealed interface Reply {
    /** The engine answered, with whatever status. */
    record Answer(int status, String body) implements Reply {
        private static final int MOST_SAID = 200;

        /** Returns the body as JSON; a missing node where it is none. */
        public JsonNode json() {
            return EngineJson.read(body);
        }

        /** Returns the message in the body, in either of the forms that engines give errors; empty where there is none. */
        public String message() {
            JsonNode root = json();
            JsonNode message = root.path("message");
            return (message.isTextual() ? message : root.path("error").path("message")).asText("");
        }

        /** Returns the engine's own words as the end of a sentence: its message, or the beginning of the body. */
        public String said() {
            String text = message().isEmpty() ? body.strip() : message();
            String shortened = text.length() > MOST_SAID ? text.substring(0, MOST_SAID) + "…" : text;
            return shortened.endsWith(".") ? shortened : shortened + ".";
        }

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
