package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/** Records of the load test as lines of JSON and back, for files beside a journal that hold the same kinds of data. */
public final class JournalLines {
    private JournalLines() {}

    /** Returns one line, without its end. */
    public static String text(Object content) {
        return JournalJson.text(content);
    }

    /** Returns the same as a tree. */
    public static JsonNode tree(Object content) {
        return JournalJson.tree(content);
    }

    /** Returns the fields of a record that has any, by their names with a dot between, as texts. */
    public static Map<String, String> texts(Object content) {
        Map<String, String> texts = new TreeMap<>();
        JournalJson.tree(content).forEachEntry((name, value) -> texts(name, value, texts));
        return texts;
    }

    private static void texts(String name, JsonNode value, Map<String, String> texts) {
        if (value.isObject()) {
            value.forEachEntry((part, its) -> texts(name + "." + part, its, texts));
        } else if (!value.isNull()) {
            texts.put(name, value.isTextual() ? value.asText() : value.toString());
        }
    }

    /**
     * Reads one line back.
     *
     * @throws IOException when the line does not say what the type needs, in words for people
     */
    public static <T> T read(String line, Class<T> type) throws IOException {
        return JournalJson.read(line, type);
    }
}
