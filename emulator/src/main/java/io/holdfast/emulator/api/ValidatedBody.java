package io.holdfast.emulator.api;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A JSON object of a request's body. Reading a field checks its type; null is the same as absent, and a field that no
 * route reads is never looked at. A type error names the field as the engines do, but is the only one that is reported.
 */
public final class ValidatedBody {
    /** A prompt may be as long as the largest body. */
    private static final ObjectReader JSON = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxStringLength(Integer.MAX_VALUE)
                            .build())
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build()
            .readerFor(JsonNode.class);

    private static final List<Object> ROOT = List.of("body");

    /** Empty object, in place of one that a body left out. */
    public static final ValidatedBody EMPTY = new ValidatedBody(JsonNodeFactory.instance.objectNode(), ROOT);

    private final JsonNode fields;
    private final List<Object> location;

    private ValidatedBody(JsonNode fields, List<Object> location) {
        this.fields = fields;
        this.location = location;
    }

    /**
     * Reads a body.
     *
     * @throws ValidationError when there is none, or it is not a JSON object
     */
    public static ValidatedBody parse(byte[] body) {
        if (body.length == 0) {
            throw ValidationError.missing(ROOT);
        }
        try {
            JsonNode root = JSON.readValue(body);
            if (root == null || !root.isObject()) {
                throw new ValidationError(
                        "model_attributes_type",
                        ROOT,
                        "Input should be a valid dictionary or object to extract fields from");
            }
            return new ValidatedBody(root, ROOT);
        } catch (JsonProcessingException e) {
            long at = e.getLocation() == null ? 0 : Math.max(0, e.getLocation().getByteOffset());
            throw new ValidationError("json_invalid", ValidationError.below(ROOT, at), "JSON decode error");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The names of its fields. */
    public Set<String> names() {
        Set<String> names = new HashSet<>();
        fields.fieldNames().forEachRemaining(names::add);
        return names;
    }

    /** Returns true if the field is there, even with null. */
    public boolean names(String name) {
        return fields.has(name);
    }

    public boolean has(String name) {
        return fields.hasNonNull(name);
    }

    /**
     * Insists on a field.
     *
     * @throws ValidationError when it is missing or null
     */
    public void require(String name) {
        if (!has(name)) {
            throw ValidationError.missing(ValidationError.below(location, name));
        }
    }

    /**
     * Insists on a field that is a list.
     *
     * @throws ValidationError when it is missing, null or something else
     */
    public void requireList(String name) {
        require(name);
        check(isList(name), "list_type", "a valid list", fields.get(name), name);
    }

    public boolean flag(String name) {
        return get(name)
                .map(value -> check(value.isBoolean(), "bool_type", "a valid boolean", value, name)
                        .booleanValue())
                .orElse(false);
    }

    /** Returns true if the flag is given and false. */
    public boolean denies(String name) {
        return has(name) && !flag(name);
    }

    /** Numbers beyond 64 bits are the largest there are. */
    public OptionalLong whole(String name) {
        return get(name)
                .map(value ->
                        OptionalLong.of(saturated(check(isWhole(value), "int_type", "a valid integer", value, name))))
                .orElse(OptionalLong.empty());
    }

    /** Returns the number as an int, the nearest where it is beyond. */
    public OptionalInt small(String name) {
        OptionalLong value = whole(name);
        return value.isPresent()
                ? OptionalInt.of(Math.clamp(value.getAsLong(), Integer.MIN_VALUE, Integer.MAX_VALUE))
                : OptionalInt.empty();
    }

    public Optional<Double> number(String name) {
        return get(name)
                .map(value -> check(value.isNumber(), "float_type", "a valid number", value, name)
                        .doubleValue());
    }

    public Optional<String> text(String name) {
        return get(name)
                .map(value -> check(value.isTextual(), "string_type", "a valid string", value, name)
                        .textValue());
    }

    /** A text, or the texts of a list. */
    public List<String> texts(String name) {
        List<String> texts = new ArrayList<>();
        for (JsonNode item : items(name)) {
            texts.add(check(item.isTextual(), "string_type", "a valid string", item, name)
                    .textValue());
        }
        return texts;
    }

    /** Returns true if the field is a list of texts or of lists: several prompts, or a list of one. */
    public boolean isBatch(String name) {
        JsonNode value = fields.path(name);
        return value.isArray()
                && (value.isEmpty() || value.get(0).isTextual() || value.get(0).isArray());
    }

    /** The field's prompts: each a text, or a list of whole numbers. */
    public List<JsonNode> prompts(String name) {
        List<JsonNode> prompts = new ArrayList<>();
        get(name)
                .filter(value -> !isBatch(name))
                .ifPresentOrElse(prompts::add, () -> fields.path(name).forEach(prompts::add));
        for (JsonNode prompt : prompts) {
            check(prompt.isTextual() || prompt.isArray(), "string_type", "a valid string", prompt, name);
            for (JsonNode token : prompt) {
                check(isWhole(token), "int_type", "a valid integer", token, name);
            }
        }
        return prompts;
    }

    /** A list as compact JSON; empty where it is missing or has nothing in it. */
    public String listText(String name) {
        if (!has(name)) {
            return "";
        }
        requireList(name);
        return fields.get(name).isEmpty() ? "" : fields.get(name).toString();
    }

    /** The whole numbers of a list. */
    public long[] numbers(String name) {
        Optional<JsonNode> list = get(name);
        list.ifPresent(_ -> requireList(name));
        long[] numbers = new long[list.map(JsonNode::size).orElse(0)];
        for (int i = 0; i < numbers.length; i++) {
            JsonNode item = fields.get(name).get(i);
            numbers[i] = saturated(check(isWhole(item), "int_type", "a valid integer", item, name));
        }
        return numbers;
    }

    /** The tokens of a list, without what is none. */
    public Set<Integer> tokenSet(String name) {
        return Arrays.stream(numbers(name))
                .filter(token -> token == (int) token)
                .mapToObj(token -> (int) token)
                .collect(Collectors.toSet());
    }

    public Optional<ValidatedBody> object(String name) {
        return get(name)
                .map(value -> new ValidatedBody(
                        check(value.isObject(), "dict_type", "a valid dictionary", value, name),
                        ValidationError.below(location, name)));
    }

    /** The objects of a list. */
    public List<ValidatedBody> objects(String name) {
        Optional<JsonNode> list = get(name);
        list.ifPresent(_ -> requireList(name));
        List<ValidatedBody> objects = new ArrayList<>();
        for (JsonNode item : fields.path(name)) {
            List<Object> place = ValidationError.below(ValidationError.below(location, name), objects.size());
            check(item.isObject(), "dict_type", "a valid dictionary", item, name);
            objects.add(new ValidatedBody(item, place));
        }
        return objects;
    }

    /** Returns true if the field is a list. */
    public boolean isList(String name) {
        return fields.path(name).isArray();
    }

    /** The answer's tokens that a client forces, to compare two engines. */
    public List<Integer> forcedTokens() {
        List<Integer> forced = new ArrayList<>();
        for (long token : numbers("_force_output_ids")) {
            forced.add(Math.clamp(token, 0, Integer.MAX_VALUE));
        }
        return forced;
    }

    /** Tokens of a prompt; what is no 32-bit number comes out as -1. */
    public static int[] tokens(JsonNode prompt) {
        int[] tokens = new int[prompt.size()];
        for (int i = 0; i < tokens.length; i++) {
            JsonNode token = prompt.get(i);
            tokens[i] = token.canConvertToInt() ? token.intValue() : -1;
        }
        return tokens;
    }

    private Optional<JsonNode> get(String name) {
        return has(name) ? Optional.of(fields.get(name)) : Optional.empty();
    }

    private Iterable<JsonNode> items(String name) {
        JsonNode value = fields.path(name);
        return value.isArray() ? value : get(name).stream().toList();
    }

    private static boolean isWhole(JsonNode value) {
        return value.isNumber() && value.canConvertToExactIntegral();
    }

    private static long saturated(JsonNode whole) {
        return whole.canConvertToLong()
                ? whole.longValue()
                : whole.bigIntegerValue().signum() > 0 ? Long.MAX_VALUE : Long.MIN_VALUE;
    }

    private JsonNode check(boolean right, String type, String wanted, JsonNode value, String name) {
        if (!right) {
            throw new ValidationError(type, ValidationError.below(location, name), "Input should be " + wanted);
        }
        return value;
    }
}
