package io.holdfast.app.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.OptionalDouble;

/** JSON documents as commands print them. */
public final class JsonText {
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

    private JsonText() {}

    /** Returns a new, empty document. */
    public static ObjectNode object() {
        return JSON.createObjectNode();
    }

    /** Returns the document's text, indented. */
    public static String of(ObjectNode root) {
        try {
            return JSON.writeValueAsString(root);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Puts a number that may be unknown, which JSON calls null. */
    public static void number(ObjectNode node, String key, OptionalDouble value) {
        value.ifPresentOrElse(known -> node.put(key, known), () -> node.putNull(key));
    }
}
