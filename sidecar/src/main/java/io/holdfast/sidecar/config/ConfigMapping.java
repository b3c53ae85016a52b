package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.kvcached.ByteSize;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;

/** One mapping of a configuration file, read strictly: a key that nobody asks for is an error, and so is a wrong type. */
final class ConfigMapping {
    private final JsonNode node;

    ConfigMapping(JsonNode node, Set<String> keys) {
        if (!node.isObject()) {
            throw noMapping(node, keys);
        }
        this.node = node;
        node.fieldNames().forEachRemaining(key -> {
            if (!keys.contains(key)) {
                throw unknownKey(key, keys);
            }
        });
    }

    static ConfigException noMapping(JsonNode node, Set<String> keys) {
        return new ConfigException(
                "",
                "is " + kind(node) + "; write a mapping" + (keys.isEmpty() ? "" : " with the keys " + listed(keys)));
    }

    static ConfigException unknownKey(String key, Set<String> keys) {
        return new ConfigException(
                oneLine(key),
                EngineConfig.removedBackend(key)
                        .map(why -> "is a key of earlier versions, and " + why + "; leave it out")
                        .orElseGet(() -> "is an unknown key; "
                                + nearest(key, keys)
                                        .map(near -> "did you mean " + near + "?")
                                        .orElse("known here are " + listed(keys))));
    }

    /** An object as it is written. */
    Optional<ObjectNode> object(String key) {
        return value(key).map(value -> {
            if (!(value instanceof ObjectNode object)) {
                throw wrongType(key, value, "a mapping");
            }
            return object;
        });
    }

    Optional<String> text(String key) {
        return value(key).map(value -> {
            if (!value.isTextual()) {
                throw wrongType(key, value, "text" + (value.isValueNode() ? " (in quotes)" : ""));
            }
            return value.textValue();
        });
    }

    Optional<List<String>> texts(String key) {
        return value(key).map(value -> {
            if (!value.isArray()) {
                throw wrongType(key, value, "a list");
            }
            List<String> all = new ArrayList<>();
            for (JsonNode element : value) {
                if (!element.isTextual()) {
                    throw wrongType(key + "[" + all.size() + "]", element, "text (in quotes)");
                }
                all.add(element.textValue());
            }
            return all;
        });
    }

    OptionalInt wholeNumber(String key) {
        Optional<JsonNode> found = value(key);
        if (found.isEmpty()) {
            return OptionalInt.empty();
        }
        JsonNode value = found.get();
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw wrongType(key, value, "a whole number below 2147483648");
        }
        return OptionalInt.of(value.intValue());
    }

    /** A whole number, or a word for none: absent where neither is written, an empty number where the word is. */
    Optional<OptionalInt> wholeNumberOr(String key, String word) {
        Optional<JsonNode> found = value(key);
        if (found.isEmpty()) {
            return Optional.empty();
        }
        JsonNode value = found.get();
        if (value.isTextual() && value.textValue().equals(word)) {
            return Optional.of(OptionalInt.empty());
        }
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            throw wrongType(key, value, word + ", or a whole number below 2147483648");
        }
        return Optional.of(OptionalInt.of(value.intValue()));
    }

    OptionalDouble number(String key) {
        Optional<JsonNode> found = value(key);
        if (found.isEmpty()) {
            return OptionalDouble.empty();
        }
        if (!found.get().isNumber()) {
            throw wrongType(key, found.get(), "a number");
        }
        return OptionalDouble.of(found.get().doubleValue());
    }

    /** A number of bytes, or a size such as 8G. */
    OptionalLong bytes(String key) {
        Optional<JsonNode> found = value(key);
        if (found.isEmpty()) {
            return OptionalLong.empty();
        }
        JsonNode value = found.get();
        OptionalLong bytes = value.isIntegralNumber() && value.canConvertToLong()
                ? OptionalLong.of(value.longValue())
                : value.isTextual() ? ByteSize.parse(value.textValue()) : OptionalLong.empty();
        if (bytes.isEmpty() || bytes.getAsLong() < 0) {
            throw wrongType(key, value, "a number of bytes, or a size such as 8G, 512M or 1.5g");
        }
        return bytes;
    }

    /** A flag, or a word for neither: absent where none is written, an empty flag where the word is. */
    Optional<Optional<Boolean>> flagOr(String key, String word) {
        Optional<JsonNode> found = value(key);
        if (found.isEmpty()) {
            return Optional.empty();
        }
        JsonNode value = found.get();
        if (value.isTextual() && value.textValue().equals(word)) {
            return Optional.of(Optional.empty());
        }
        if (!value.isBoolean()) {
            throw wrongType(key, value, "true, false or " + word);
        }
        return Optional.of(Optional.of(value.booleanValue()));
    }

    boolean flag(String key, boolean otherwise) {
        return value(key)
                .map(value -> {
                    if (!value.isBoolean()) {
                        throw wrongType(key, value, "true or false");
                    }
                    return value.booleanValue();
                })
                .orElse(otherwise);
    }

    /** A constant by its name in lower case. */
    <E extends Enum<E>> Optional<E> choice(String key, Class<E> type) {
        return text(key).map(written -> {
            List<String> names = Arrays.stream(type.getEnumConstants())
                    .map(constant -> constant.name().toLowerCase(Locale.ROOT))
                    .toList();
            int index = names.indexOf(written);
            if (index < 0) {
                throw new ConfigException(key, "is " + shown(written) + "; " + mend(written, names));
            }
            return type.getEnumConstants()[index];
        });
    }

    /** What {@code read} makes of the mapping under a key; its faults are told with the key before them. */
    <T> Optional<T> mapping(String key, Set<String> keys, Function<ConfigMapping, T> read) {
        return value(key).map(value -> within(key, () -> read.apply(new ConfigMapping(value, keys))));
    }

    <T> Optional<List<T>> mappings(String key, Set<String> keys, Function<ConfigMapping, T> read) {
        return value(key).map(value -> {
            if (!value.isArray()) {
                throw wrongType(key, value, "a list");
            }
            List<T> all = new ArrayList<>();
            for (JsonNode element : value) {
                all.add(within(key + "[" + all.size() + "]", () -> read.apply(new ConfigMapping(element, keys))));
            }
            return all;
        });
    }

    /** A list of mappings as it is written. */
    Optional<ArrayNode> objects(String key) {
        return value(key).map(value -> {
            if (!(value instanceof ArrayNode list) || list.isEmpty()) {
                throw wrongType(key, value, "a list of mappings");
            }
            for (int i = 0; i < list.size(); i++) {
                if (!list.get(i).isObject()) {
                    throw wrongType(key + "[" + i + "]", list.get(i), "a mapping");
                }
            }
            return list;
        });
    }

    /** Token ids. */
    Optional<int[]> tokens(String key) {
        return value(key).map(value -> {
            if (!value.isArray() || value.isEmpty()) {
                throw wrongType(key, value, "a list of token ids");
            }
            int[] tokens = new int[value.size()];
            for (int i = 0; i < tokens.length; i++) {
                JsonNode token = value.get(i);
                if (!token.isIntegralNumber() || !token.canConvertToLong() || token.longValue() >>> 32 != 0) {
                    throw wrongType(key + "[" + i + "]", token, "a token id, 0 to 4294967295");
                }
                tokens[i] = (int) token.longValue();
            }
            return tokens;
        });
    }

    static <T> T required(String key, Optional<T> value, String mend) {
        return value.orElseThrow(() -> new ConfigException(key, "is missing; " + mend));
    }

    private Optional<JsonNode> value(String key) {
        JsonNode value = node.get(key);
        if (value == null) {
            return Optional.empty();
        }
        if (value.isNull()) {
            throw new ConfigException(key, "has no value; write one or leave the key out");
        }
        return Optional.of(value);
    }

    private static <T> T within(String place, Supplier<T> read) {
        try {
            return read.get();
        } catch (ConfigException e) {
            throw e.under(place);
        }
    }

    private static ConfigException wrongType(String key, JsonNode value, String wanted) {
        return new ConfigException(key, "is " + kind(value) + "; write " + wanted);
    }

    private static String kind(JsonNode value) {
        return switch (value.getNodeType()) {
            case OBJECT -> "a mapping";
            case ARRAY -> "a list";
            case NULL, MISSING -> "empty";
            case STRING -> value.textValue().isEmpty() ? "empty" : "the text " + shown(value.textValue());
            default -> "the value " + shown(value.asText());
        };
    }

    private static String listed(Collection<String> keys) {
        return String.join(", ", keys.stream().sorted().toList());
    }

    private static String oneLine(String key) {
        String shown = shown(key);
        return shown.equals("'" + key + "'") ? key : shown;
    }

    /** What to write in place of a word that is none of these. */
    static String mend(String written, Collection<String> known) {
        return nearest(written, known)
                .map(near -> "did you mean " + near + "?")
                .orElse("write " + String.join(" or ", known));
    }

    static Optional<String> nearest(String written, Collection<String> known) {
        return known.stream()
                .filter(key -> distance(written, key) <= Math.max(1, Math.min(3, key.length() / 3)))
                .min((a, b) -> Integer.compare(distance(written, a), distance(written, b)));
    }

    /** Edits, a swap of neighbours being one of them, letters compared without case. */
    private static int distance(String from, String to) {
        String a = from.toLowerCase(Locale.ROOT);
        String b = to.toLowerCase(Locale.ROOT);
        if (Math.abs(a.length() - b.length()) > 3) {
            return Integer.MAX_VALUE;
        }
        int[][] edits = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    edits[i][j] = i + j;
                    continue;
                }
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                edits[i][j] = Math.min(Math.min(edits[i - 1][j], edits[i][j - 1]) + 1, edits[i - 1][j - 1] + change);
                boolean swapped =
                        i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1);
                if (swapped) {
                    edits[i][j] = Math.min(edits[i][j], edits[i - 2][j - 2] + 1);
                }
            }
        }
        return edits[a.length()][b.length()];
    }
}
