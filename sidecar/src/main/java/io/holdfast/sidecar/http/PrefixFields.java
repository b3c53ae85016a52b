package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.node.ArrayNode;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * The fields of a request's body that say which prefix it is about: tokens, the hashes of its blocks, a text, messages or an
 * example.
 *
 * <p>Read straight into primitive arrays, because a prompt may have hundreds of thousands of tokens, and strictly,
 * because a hold on anything but what was meant helps nobody.
 */
final class PrefixFields {
    static final String WAYS = "tokens, hashes, text, messages (with tools) or an example";

    /** Routers' name for block hashes that depend on a block's content alone. */
    private static final Set<String> CONTENT_NAMES = Set.of("contentHashes", "content_hashes", "local_hashes");

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    private static final int MOST_PARTS = 200_000;
    private static final ObjectReader TREES = new ObjectMapper(JSON).readerFor(JsonNode.class);

    private final int mostBlocks;
    private final Map<String, PrefixSource> sources = new LinkedHashMap<>();
    private Optional<ArrayNode> tools = Optional.empty();
    private OptionalInt prefix = OptionalInt.empty();

    /** @param mostBlocks more hashes than that are not even read */
    PrefixFields(int mostBlocks) {
        this.mostBlocks = mostBlocks;
    }

    /** Takes the value of one field of a body, at which the parser stands. */
    interface FieldReader {
        void read(String field, JsonParser json) throws IOException;
    }

    /** Shows each field of a body that is one JSON object; refuses with {@link ApiError} whatever else it is. */
    static void each(byte[] bytes, String example, FieldReader reader) {
        each(BodyLists.of(bytes), example, reader);
    }

    /** Shows each field of a body of which the lists were taken, or none. */
    static void each(BodyLists lists, String example, FieldReader reader) {
        try (JsonParser json = lists.parser(JSON)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw badRequest("The body must be a JSON object such as " + example + ".");
            }
            fields(json, reader);
            if (json.nextToken() != null) {
                throw badRequest("Something follows the JSON object; send one object only.");
            }
        } catch (JsonProcessingException e) {
            var at = e.getLocation();
            String problem = e.getOriginalMessage()
                    .lines()
                    .findFirst()
                    .map(line -> line.replaceFirst(": enable `.*", ""))
                    .orElse("it ends too early");
            throw badRequest("The body is not valid JSON"
                    + (at == null ? "" : " at " + lists.place(at)) + " ("
                    + shown(problem) + ").");
        } catch (IOException e) {
            throw badRequest("The body cannot be read (" + e.getClass().getSimpleName() + ").");
        }
    }

    /** Shows each field of the object at whose beginning the parser stands. */
    private static void fields(JsonParser json, FieldReader reader) throws IOException {
        for (String field = json.nextFieldName(); field != null; field = json.nextFieldName()) {
            json.nextToken();
            reader.read(field, json);
        }
    }

    /** Begins an element of a list of objects, and answers who takes its fields. */
    interface ElementReader {
        FieldReader next(int index) throws IOException;
    }

    /** Shows each object of the list at which the parser stands, of at most so many. */
    static void list(JsonParser json, String field, int most, ElementReader elements) throws IOException {
        startArray(json, field);
        int count = 0;
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            if (count == most) {
                throw badRequest(field + " has more than " + most + " elements; send them in several calls.");
            }
            if (token != JsonToken.START_OBJECT) {
                throw badRequest(field + "[" + count + "] is not an object.");
            }
            fields(json, elements.next(count));
            count++;
        }
        if (count == 0) {
            throw badRequest(field + " is empty; send what there is to tell.");
        }
    }

    /** Takes a field of a prefix; returns false for any other. */
    boolean take(String field, JsonParser json) throws IOException {
        switch (field) {
            // The second name is that of routers' queries.
            case "tokens", "token_ids" -> sources.put(field, new PrefixSource.Tokens(tokens(json, field)));
            case "hashes" -> sources.put(field, new PrefixSource.Hashes(hashes(json, field, mostBlocks)));
            case "text" -> sources.put(field, new PrefixSource.Text(text(json)));
            case "messages" -> sources.put(field, new PrefixSource.Messages(objects(json, field), Optional.empty()));
            case "example" -> sources.put(field, new PrefixSource.Example(number(json, field, Long.MAX_VALUE), 1));
            case "prefix" -> prefix = OptionalInt.of((int) number(json, field, Integer.MAX_VALUE));
            case "tools" -> tools = Optional.of(objects(json, field));
            default -> {
                refuseContentNames(field);
                return false;
            }
        }
        return true;
    }

    /** Taken for engine's hashes they would match nothing, and nobody would know why. */
    static void refuseContentNames(String field) {
        if (CONTENT_NAMES.contains(field)) {
            throw badRequest(field + " name blocks by their content alone, and here each engine's blocks have the names"
                    + " that it gave them; send tokens, or the hashes that its events announce.");
        }
    }

    /** The prefix that all of them say. */
    PrefixSource source() {
        return withPrefix(withTools(only(sources), tools), prefix);
    }

    private static PrefixSource only(Map<String, PrefixSource> sources) {
        if (sources.size() != 1) {
            throw badRequest(
                    sources.isEmpty()
                            ? "The body has none of " + WAYS + "; send one of them."
                            : "The body has " + String.join(" and ", sources.keySet()) + "; send one of them.");
        }
        return sources.values().iterator().next();
    }

    private static PrefixSource withTools(PrefixSource source, Optional<ArrayNode> tools) {
        if (tools.isEmpty()) {
            return source;
        }
        if (source instanceof PrefixSource.Messages conversation) {
            return new PrefixSource.Messages(conversation.messages(), tools);
        }
        throw badRequest("tools are a part of a conversation; send messages with them, or leave them out.");
    }

    private static PrefixSource withPrefix(PrefixSource source, OptionalInt prefix) {
        if (prefix.isEmpty()) {
            return source;
        }
        if (source instanceof PrefixSource.Example example) {
            return new PrefixSource.Example(example.example(), prefix.getAsInt());
        }
        throw badRequest("prefix is the number of one that an example saw; send example with it, or leave it out.");
    }

    /** Numbers are given as the API tells them, which is as text where they are ids. */
    private static long number(JsonParser json, String field, long most) throws IOException {
        JsonToken token = json.currentToken();
        boolean plain = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_STRING;
        String digits = plain ? json.getText() : "";
        if (!digits.matches("[0-9]{1,18}") || Long.parseLong(digits) > most) {
            throw badRequest(field + " is not a number; write it as the answer of the example has it.");
        }
        return Long.parseLong(digits);
    }

    static String text(JsonParser json) throws IOException {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw badRequest("text is not a string; messages are what a conversation is sent as.");
        }
        String text = json.getText();
        if (text.isEmpty()) {
            throw badRequest("text is empty; a hold needs at least one full block.");
        }
        return text;
    }

    private static ArrayNode objects(JsonParser json, String field) throws IOException {
        startArray(json, field);
        JsonNode read = TREES.readTree(new Counted(json, field));
        if (!(read instanceof ArrayNode list) || list.isEmpty()) {
            throw badRequest(field + " is empty; leave it out, or send what the chat route is sent.");
        }
        for (int i = 0; i < list.size(); i++) {
            if (!list.get(i).isObject()) {
                throw badRequest(
                        field + "[" + i + "] is not an object; send " + field + " as the chat route is sent them.");
            }
        }
        return list;
    }

    /** Counts the parts of a tree while it grows, since it can take fifty times the room of its body. */
    private static final class Counted extends JsonParserDelegate {
        private final String field;
        private int parts;

        Counted(JsonParser json, String field) {
            super(json);
            this.field = field;
        }

        @Override
        public JsonToken nextToken() throws IOException {
            if (++parts > MOST_PARTS) {
                throw badRequest(field + " have more than " + MOST_PARTS
                        + " values and names together; send fewer, or the tokens that they become.");
            }
            return super.nextToken();
        }
    }

    /** Token ids, at which the parser stands. */
    static int[] tokens(JsonParser json, String field) throws IOException {
        startArray(json, field);
        Optional<int[]> read = BodyLists.tokens(json, field);
        if (read.isPresent()) {
            json.skipChildren();
            requireRoom(field, read.get().length - 1);
            return read.get();
        }
        int[] tokens = new int[1024];
        int count = 0;
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            requireRoom(field, count);
            if (token != JsonToken.VALUE_NUMBER_INT) {
                throw badRequest(field + "[" + count + "] is not a whole number; tokens are the engine's token ids.");
            }
            boolean fits = json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
                    && json.getLongValue() >= 0
                    && json.getLongValue() < 1L << 32;
            if (!fits) {
                throw badRequest(field + "[" + count + "] is " + shown(json.getText())
                        + "; a token id is between 0 and 4294967295.");
            }
            if (count == tokens.length) {
                tokens = Arrays.copyOf(tokens, count << 1);
            }
            tokens[count++] = (int) json.getLongValue();
        }
        requireSome(field, count);
        return Arrays.copyOf(tokens, count);
    }

    /** Hashes of blocks, at which the parser stands. */
    static long[] hashes(JsonParser json, String field, int mostBlocks) throws IOException {
        startArray(json, field);
        Optional<long[]> read = BodyLists.hashes(json, field);
        if (read.isPresent()) {
            json.skipChildren();
            requireFits(field, read.get().length - 1, mostBlocks);
            return read.get();
        }
        long[] hashes = new long[64];
        int count = 0;
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            requireFits(field, count, mostBlocks);
            if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_STRING) {
                throw badRequest(field + "[" + count + "] is neither a whole number nor a string of decimal digits.");
            }
            if (count == hashes.length) {
                hashes = Arrays.copyOf(hashes, count << 1);
            }
            hashes[count] = name(json.getText(), field, count);
            count++;
        }
        requireSome(field, count);
        return Arrays.copyOf(hashes, count);
    }

    /** Engines write the same 64 bits signed or unsigned. */
    private static long name(String digits, String field, int index) {
        boolean plain = !digits.startsWith("+") && digits.chars().allMatch(c -> c < 128);
        try {
            if (plain) {
                return digits.startsWith("-") ? Long.parseLong(digits) : Long.parseUnsignedLong(digits);
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        throw badRequest(field + "[" + index + "] is " + shown(digits)
                + "; a hash is a decimal number of 64 bits, signed or unsigned.");
    }

    private static void startArray(JsonParser json, String field) {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw badRequest(field + " is not an array.");
        }
    }

    private static void requireRoom(String field, int count) {
        if (count >= PrefixSource.MOST_TOKENS) {
            throw badRequest(
                    field + " has more than " + PrefixSource.MOST_TOKENS + " elements; no prefix is that long.");
        }
    }

    private static void requireFits(String field, int count, int mostBlocks) {
        if (count >= mostBlocks) {
            throw new ApiError(
                    409, field + " has more than " + mostBlocks + " elements, which can never fit this engine.");
        }
    }

    private static void requireSome(String field, int count) {
        if (count == 0) {
            throw badRequest(field + " is empty; a hold needs at least one full block.");
        }
    }
}
