package io.holdfast.sidecar.look;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.FrameListener;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.store.WholeFile;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.InstantSource;
import java.util.Base64;
import java.util.Optional;

/**
 * A file that an engine's events and numbers are appended to, so that they can be looked at later; a JSON object in each
 * line, as docs/policy.md describes them.
 *
 * <p>A disk that fails ends the recording, never what is recorded.
 */
public final class FrameRecorder implements FrameListener, AutoCloseable {
    private static final int VERSION = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path file;
    private final BufferedWriter out;
    private final InstantSource wall;
    private Optional<String> trouble = Optional.empty();
    private long lines;

    private FrameRecorder(Path file, BufferedWriter out, InstantSource wall) {
        this.file = file;
        this.out = out;
        this.wall = wall;
    }

    /**
     * Opens the file at its end, and makes it where it is not there; only its owner may read it.
     *
     * @throws SidecarException with one sentence, when the file cannot be written
     */
    public static FrameRecorder open(Path file) {
        if (Files.isDirectory(file)) {
            throw new SidecarException("--record is " + file + ", a directory; name a file in it.");
        }
        try {
            // A recording has every prompt's token ids.
            if (Files.isRegularFile(file) || !Files.exists(file)) {
                WholeFile.makeForOwner(file);
            }
            return new FrameRecorder(
                    file,
                    Files.newBufferedWriter(file, StandardCharsets.UTF_8, StandardOpenOption.APPEND),
                    InstantSource.system());
        } catch (IOException e) {
            String why = switch (e) {
                case NoSuchFileException _ -> "its directory does not exist";
                case AccessDeniedException _ -> "this user may not write there";
                default -> String.valueOf(e.getMessage());
            };
            throw new SidecarException(
                    "--record is " + file + ", which cannot be written (" + why + "); name another file.", e);
        }
    }

    /** Another recording begins. */
    void begins(String url, String type, String version) {
        write(line().put("recording", VERSION)
                .put("engine", url)
                .put("type", type)
                .put("version", version));
    }

    @Override
    public void frame(int rank, long sequence, byte[] payload) {
        write(line().put("rank", rank)
                .put("sequence", sequence)
                .put("payload", Base64.getEncoder().encodeToString(payload)));
    }

    void readings(EngineReadings readings) {
        ObjectNode line = line();
        ObjectNode numbers = line.putObject("readings");
        number(numbers, "capacityTokens", readings.capacityTokens());
        number(numbers, "blockTokens", readings.blockTokens());
        number(numbers, "contextTokens", readings.contextTokens());
        number(numbers, "runningRequests", readings.runningRequests());
        number(numbers, "waitingRequests", readings.waitingRequests());
        number(numbers, "usedTokens", readings.usedTokens());
        number(numbers, "ttftSumSeconds", readings.ttftSumSeconds());
        number(numbers, "ttftCount", readings.ttftCount());
        number(numbers, "promptTokens", readings.promptTokens());
        number(numbers, "cachedTokens", readings.cachedTokens());
        write(line);
    }

    /** Puts a number, unless it is unknown. */
    private static void number(ObjectNode into, String name, Reading reading) {
        reading.number().ifPresent(value -> into.put(name, value));
    }

    private ObjectNode line() {
        return JsonNodeFactory.instance.objectNode().put("at", wall.instant().toString());
    }

    private synchronized void write(ObjectNode line) {
        if (trouble.isPresent()) {
            return;
        }
        try {
            out.write(JSON.writeValueAsString(line));
            out.write('\n');
            lines++;
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("A tree of texts and numbers is always JSON.", e);
        } catch (IOException e) {
            fails(e);
        }
    }

    private void fails(IOException e) {
        trouble = Optional.of("The recording in " + file + " ended after " + lines + " lines (" + e.getMessage()
                + "); make room and record again.");
    }

    /** Returns the number of lines written. */
    public synchronized long lines() {
        return lines;
    }

    /** Why nothing more is recorded; absent while it is. */
    public synchronized Optional<String> trouble() {
        return trouble;
    }

    @Override
    public synchronized void close() {
        try {
            out.close();
        } catch (IOException e) {
            if (trouble.isEmpty()) {
                fails(e);
            }
        }
    }
}
