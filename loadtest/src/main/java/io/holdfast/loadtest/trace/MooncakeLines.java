package io.holdfast.loadtest.trace;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Reads Mooncake's traces. */
final class MooncakeLines extends BuiltLines {
    static final int BLOCK_TOKENS = 512;
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final long MOST_MILLIS = Long.MAX_VALUE / NANOS_PER_MILLI / 2;

    private final JsonFactory json = new JsonFactory();
    /** A block is named by its own id and its parent's block, so that equal ids below different parents are two. */
    private final Map<Long, Integer> numbers = new HashMap<>();

    private final Map<Long, Integer> ids = new HashMap<>();
    private long lastMillis = Long.MIN_VALUE;

    MooncakeLines(String name) {
        super(new Trace.Builder(name, BLOCK_TOKENS));
    }

    @Override
    public void line(String text) {
        long millis = -1;
        long input = -1;
        long output = -1;
        long[] path = {};
        int length = -1;
        try (JsonParser parser = json.createParser(text)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw new BadLineException("is no JSON object");
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
                            throw new BadLineException("has no list of numbers in 'hash_ids'");
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
            throw new BadLineException("is no whole JSON object", e);
        } catch (IOException e) {
            throw new BadLineException("cannot be read", e);
        }
        if (millis < 0 || input < 0 || output < 0 || length < 0) {
            throw new BadLineException("lacks one of 'timestamp', 'input_length', 'output_length' and 'hash_ids'");
        }
        if (length == 0) {
            throw new BadLineException("has no block in 'hash_ids'");
        }
        if (millis < lastMillis) {
            throw new BadLineException("is of " + millis + " ms, after one of " + lastMillis + " ms");
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
                throw new BadLineException("has a number in '" + name + "' that is too large", e);
            }
        }
        throw new BadLineException("has no number from 0 on in '" + name + "'");
    }
}
