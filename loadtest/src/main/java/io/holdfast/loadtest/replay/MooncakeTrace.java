package io.holdfast.loadtest.replay;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import io.holdfast.loadtest.LoadTestException;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * Reads Mooncake's traces: a JSON object a line, with {@code timestamp} in milliseconds, {@code input_length},
 * {@code output_length}, and {@code hash_ids}, one for each 512 tokens. Packed by gzip or not.
 */
public final class MooncakeTrace {
    private static final int BLOCK_TOKENS = 512;
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long MOST_MILLIS = Long.MAX_VALUE / NANOS_PER_MILLI / 2;

    private final Path file;
    private final JsonFactory json = new JsonFactory();
    private final Trace.Builder builder;
    /** A block is named by its own id and its parent's block, so that equal ids below different parents are two. */
    private final Map<Long, Integer> numbers = new HashMap<>();

    private final Map<Long, Integer> ids = new HashMap<>();
    private long lastMillis = Long.MIN_VALUE;
    private int line;

    private MooncakeTrace(Path file) {
        this.file = file;
        this.builder = new Trace.Builder(String.valueOf(file.getFileName()), BLOCK_TOKENS);
    }

    /** The whole trace; what is wrong with the file is told by line. */
    public static Trace read(Path file) {
        return new MooncakeTrace(file).read();
    }

    private Trace read() {
        try (InputStream raw = new BufferedInputStream(Files.newInputStream(file), 1 << 16);
                BufferedReader lines = new BufferedReader(new InputStreamReader(
                        unpacked(raw),
                        StandardCharsets.UTF_8
                                .newDecoder()
                                .onMalformedInput(CodingErrorAction.REPORT)
                                .onUnmappableCharacter(CodingErrorAction.REPORT)))) {
            for (String text = lines.readLine(); text != null; text = lines.readLine()) {
                line++;
                if (!text.isBlank()) {
                    request(text);
                }
            }
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no trace " + file + ".");
        } catch (CharacterCodingException e) {
            throw wrong("is no text", e);
        } catch (EOFException | ZipException e) {
            throw new LoadTestException(
                    "The packed trace " + file + " is broken after line " + line + "; fetch it again.", e);
        } catch (IOException e) {
            throw new LoadTestException("The trace " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
        if (builder.requests() == 0) {
            throw new LoadTestException("The trace " + file + " has no requests.");
        }
        return builder.build();
    }

    private static InputStream unpacked(InputStream raw) throws IOException {
        raw.mark(2);
        boolean packed = raw.read() == 0x1f && raw.read() == 0x8b;
        raw.reset();
        return packed ? new GZIPInputStream(raw, 1 << 16) : raw;
    }

    private void request(String text) {
        long millis = -1;
        long input = -1;
        long output = -1;
        long[] path = {};
        int length = -1;
        try (JsonParser parser = json.createParser(text)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw wrong("is no JSON object");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String name = parser.currentName();
                JsonToken value = parser.nextToken();
                switch (name) {
                    case "timestamp" -> millis = number(parser, value, name, MOST_MILLIS);
                    case "input_length" -> input = number(parser, value, name, Integer.MAX_VALUE);
                    case "output_length" -> output = number(parser, value, name, Integer.MAX_VALUE);
                    case "hash_ids" -> {
                        if (value != JsonToken.START_ARRAY) {
                            throw wrong("has no list of numbers in 'hash_ids'");
                        }
                        length = 0;
                        path = new long[16];
                        while (parser.nextToken() != JsonToken.END_ARRAY) {
                            if (length == path.length) {
                                path = Arrays.copyOf(path, 2 * length);
                            }
                            path[length++] = number(parser, parser.currentToken(), name, Long.MAX_VALUE);
                        }
                    }
                    default -> parser.skipChildren();
                }
            }
        } catch (JsonProcessingException e) {
            throw wrong("is no whole JSON object", e);
        } catch (IOException e) {
            throw wrong("cannot be read", e);
        }
        if (millis < 0 || input < 0 || output < 0 || length < 0) {
            throw wrong("lacks one of 'timestamp', 'input_length', 'output_length' and 'hash_ids'");
        }
        if (length == 0) {
            throw wrong("has no block in 'hash_ids'");
        }
        if (millis < lastMillis) {
            throw wrong("is of " + millis + " ms, after one of " + lastMillis + " ms");
        }
        lastMillis = millis;
        builder.begin(millis * NANOS_PER_MILLI, (int) input, (int) output);
        int parent = -1;
        for (int depth = 0; depth < length; depth++) {
            parent = block(parent, path[depth]);
            builder.block(parent);
        }
    }

    private int block(int parent, long id) {
        int own = ids.computeIfAbsent(id, any -> ids.size());
        return numbers.computeIfAbsent((parent + 1L) << 32 | own, any -> numbers.size());
    }

    private long number(JsonParser parser, JsonToken token, String name, long most) throws IOException {
        if (token == JsonToken.VALUE_NUMBER_INT) {
            try {
                long value = parser.getLongValue();
                if (value >= 0 && value <= most) {
                    return value;
                }
            } catch (InputCoercionException e) {
                throw wrong("has a number in '" + name + "' that is too large", e);
            }
        }
        throw wrong("has no number from 0 on in '" + name + "'");
    }

    private LoadTestException wrong(String what) {
        return new LoadTestException("Line " + Math.max(1, line) + " of the trace " + file + " " + what + ".");
    }

    private LoadTestException wrong(String what, Exception cause) {
        return new LoadTestException("Line " + Math.max(1, line) + " of the trace " + file + " " + what + ".", cause);
    }
}
