package io.holdfast.emulator.api;

import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/**
 * When this server received one request and wrote each chunk of its answer, by a clock that other processes of this machine
 * read alike: what any client says of that request can be held against it.
 *
 * <p>One line of JSON for each streamed answer, when it is over: {@code received} is when the last byte of the request had
 * been read, {@code written} is just before each chunk went to the socket, and {@code tokens} is how many each brought; all
 * times are nanoseconds.
 */
final class AnswerStamps {
    private final Path file;
    private final String id;
    private final long received;
    private long[] written = new long[64];
    private int[] tokens = new int[64];
    private int chunks;

    AnswerStamps(Path file, String id, long received) {
        this.file = file;
        this.id = id;
        this.received = received;
    }

    void chunk(long now, int brought) {
        if (chunks == written.length) {
            written = Arrays.copyOf(written, 2 * chunks);
            tokens = Arrays.copyOf(tokens, 2 * chunks);
        }
        written[chunks] = now;
        tokens[chunks] = brought;
        chunks++;
    }

    /** Appends the line, beside the event loop. */
    void write(Vertx vertx) {
        JsonObject line = new JsonObject()
                .put("id", id)
                .put("received", received)
                .put(
                        "written",
                        new JsonArray(Arrays.stream(written, 0, chunks).boxed().toList()))
                .put(
                        "tokens",
                        new JsonArray(Arrays.stream(tokens, 0, chunks).boxed().toList()));
        vertx.executeBlocking(
                () -> Files.writeString(
                        file, line.encode() + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND),
                true);
    }
}
