package io.holdfast.loadtest.journal;

import java.io.IOException;

/** Records of the load test as lines of JSON and back, for files beside a journal that hold the same kinds of data. */
public final class JournalLines {
    private JournalLines() {}

    /** Returns one line, without its end. */
    public static String text(Object content) {
        return JournalJson.text(content);
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
