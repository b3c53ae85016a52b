package io.holdfast.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

/** JSON that an engine sent, which may be anything. */
public final class EngineJson {
    private static final ObjectMapper JSON = new ObjectMapper();

    private EngineJson() {}

    /** Returns the text as JSON; a missing node where it is none. */
    public static JsonNode read(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            return JSON.missingNode();
        }
    }
}
