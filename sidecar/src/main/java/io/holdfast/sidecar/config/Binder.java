package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.kvcached.ByteSize;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;

/** Reads mappings into the records that declare their keys: an unknown key is a fault, and so is a wrong type. */
final class Binder {
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private Binder() {}

    /**
     * Returns the record of a mapping, with defaults for what is not written.
     *
     * @param name under which the mapping stands, where its record has one
     * @throws ConfigException with the path of the key below the mapping
     */
    static <R extends Record> R read(Class<R> type, String name, ObjectNode written) {
        Section section = Section.of(type);
        return type.cast(record(section, complete(section, written), "", name));
    }

    /** Returns all keys in their order, with defaults, and after them what is written beside. */
    static ObjectNode complete(Section section, ObjectNode written) {
        ObjectNode all = JsonNodeFactory.instance.objectNode();
        for (ConfigKey key : section.keys()) {
            JsonNode value = written.path(key.name());
            if (value.isMissingNode() && !key.standard().isEmpty()) {
                value = Yaml.parsed(key.standard(written));
            }
            if (!value.isMissingNode()) {
                all.set(key.name(), complete(key, value));
            }
        }
        written.properties().stream()
                .filter(each -> !all.has(each.getKey()))
                .forEach(each -> all.set(each.getKey(), each.getValue()));
        return all;
    }

    private static JsonNode complete(ConfigKey key, JsonNode value) {
        if (key.inner().isEmpty() || !(value instanceof ObjectNode mapping)) {
            return value;
        }
        Section inner = key.inner().get();
        if (!key.isByName()) {
            return complete(inner, mapping);
        }
        ObjectNode all = JsonNodeFactory.instance.objectNode();
        mapping.properties()
                .forEach(each -> all.set(
                        each.getKey(),
                        each.getValue() instanceof ObjectNode element ? complete(inner, element) : each.getValue()));
        return all;
    }

    /** Returns the record of a complete mapping at a path. */
    static Record record(Section section, JsonNode node, String path, String name) {
        if (!node.isObject()) {
            throw noMapping(node, section.names()).under(path);
        }
        Set<String> known = section.names();
        node.fieldNames().forEachRemaining(key -> {
            if (!known.contains(key)) {
                throw unknownKey(key, known).under(path);
            }
        });
        List<Class<?>> types = new ArrayList<>();
        List<Object> values = new ArrayList<>();
        for (RecordComponent component : section.type().getRecordComponents()) {
            types.add(component.getType());
            values.add(section.of(component)
                    .map(key -> value(key, node, path))
                    .orElseGet(() -> unwritten(component.getType(), name)));
        }
        try {
            return (Record) section.type()
                    .getDeclaredConstructor(types.toArray(Class[]::new))
                    .newInstance(values.toArray());
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof ConfigException fault) {
                throw fault.under(path);
            }
            throw new IllegalStateException(e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns what a component starts with that is no key: the name, no elements, or false. */
    private static Object unwritten(Class<?> type, String name) {
        return type == String.class ? name : type == List.class ? List.of() : (Object) false;
    }

    private static Object value(ConfigKey key, JsonNode mapping, String path) {
        String here = ConfigException.below(path, key.name());
        JsonNode node = mapping.path(key.name());
        if (node.isMissingNode()) {
            return key.none()
                    .orElseThrow(
                            () -> new ConfigException(here, "is missing; write " + wanted(key) + ": " + key.meaning()));
        }
        if (node.isNull()) {
            throw new ConfigException(here, "has no value; write one or leave the key out");
        }
        return key.wrapped(
                key.isByName() ? byName(key, node, here) : key.isList() ? list(key, node, here) : one(key, node, here));
    }

    private static List<Record> byName(ConfigKey key, JsonNode node, String path) {
        Section section = key.inner().orElseThrow();
        if (!node.isObject()) {
            throw wrongType(key, node, path);
        }
        List<Record> all = new ArrayList<>();
        for (Map.Entry<String, JsonNode> each : node.properties()) {
            String here = ConfigException.below(path, oneLine(each.getKey()));
            try {
                all.add(record(section, each.getValue(), here, each.getKey()));
            } catch (ConfigException e) {
                throw e.place().equals(here + ".id") ? e.at(here) : e;
            }
        }
        return all;
    }

    private static List<Object> list(ConfigKey key, JsonNode node, String path) {
        boolean tokens = key.type() == Integer.class;
        if (!node.isArray() || (tokens && node.isEmpty())) {
            throw fault(node, path, tokens ? "a list of token ids" : "a list");
        }
        List<Object> all = new ArrayList<>();
        node.forEach(each -> all.add(one(key, each, path + "[" + all.size() + "]")));
        return all;
    }

    private static Object one(ConfigKey key, JsonNode node, String path) {
        Class<?> type = key.type();
        if (type.isRecord()) {
            return record(key.inner().orElseThrow(), node, path, "");
        }
        if (type == ObjectNode.class && node.isObject()) {
            return node;
        }
        if (type == ArrayNode.class && node.isArray() && !node.isEmpty()) {
            for (int i = 0; i < node.size(); i++) {
                if (!node.get(i).isObject()) {
                    throw fault(node.get(i), path + "[" + i + "]", "a mapping");
                }
            }
            return node;
        }
        if (type == boolean.class && node.isBoolean()) {
            return node.booleanValue();
        }
        if (type == long.class) {
            OptionalLong bytes = node.isIntegralNumber() && node.canConvertToLong()
                    ? OptionalLong.of(node.longValue())
                    : node.isTextual() ? ByteSize.parse(node.textValue()) : OptionalLong.empty();
            return bytes.stream()
                    .filter(each -> each >= 0)
                    .boxed()
                    .findFirst()
                    .orElseThrow(() -> wrongType(key, node, path));
        }
        if (type == Integer.class
                && node.isIntegralNumber()
                && node.canConvertToLong()
                && node.longValue() >>> 32 == 0) {
            return (int) node.longValue();
        }
        if (type == int.class || type == double.class || type == Duration.class) {
            return number(key, node, path);
        }
        if (type.isEnum() && (node.isTextual() || (node.isBoolean() && type == AutomaticHolds.class))) {
            return constant(key, node.asText(), path);
        }
        if (node.isTextual() && List.of(String.class, Path.class, URI.class).contains(type)) {
            return text(key, node.textValue(), path);
        }
        throw wrongType(key, node, path);
    }

    private static Object number(ConfigKey key, JsonNode node, String path) {
        boolean word = node.isTextual() && key.word().equals(Optional.of(node.textValue()));
        if (!word
                && (key.type() == double.class
                        ? !node.isNumber()
                        : !node.isIntegralNumber() || !node.canConvertToInt())) {
            throw wrongType(key, node, path);
        }
        if (!word && !key.allows(node.doubleValue())) {
            String range = key.range();
            throw new ConfigException(
                    path,
                    "is '" + (key.type() == double.class ? String.valueOf(node.doubleValue()) : node.asText())
                            + "'; write "
                            + (range.startsWith("above") ? "a number " : "") + range
                            + (key.standard().isEmpty() ? "" : ", such as " + key.standard()));
        }
        return key.type() == double.class
                ? (Object) node.doubleValue()
                : key.type() == int.class
                        ? (Object) node.intValue()
                        : key.inMillis() ? Duration.ofMillis(node.intValue()) : Duration.ofSeconds(node.intValue());
    }

    private static Object constant(ConfigKey key, String written, String path) {
        int index = key.words().indexOf(written);
        if (index < 0) {
            throw new ConfigException(path, "is " + shown(written) + "; " + Nearest.mend(written, key.words()));
        }
        return key.type().getEnumConstants()[index];
    }

    private static Object text(ConfigKey key, String written, String path) {
        if (key.isSecretsVariable() && !VARIABLE.matcher(written).matches()) {
            // What is written there may be the secret itself, which no sentence may show.
            throw new ConfigException(
                    path, "is not the name of an environment variable; write the name of one, not the secret itself");
        }
        try {
            return key.type() == Path.class
                    ? Path.of(written)
                    : key.type() == URI.class ? new URI(written) : (Object) written;
        } catch (InvalidPathException e) {
            throw new ConfigException(path, "is " + shown(written) + "; name a file of this machine");
        } catch (URISyntaxException e) {
            throw new ConfigException(path, "is " + shown(written) + "; " + EngineConfig.ADDRESS);
        }
    }

    static ConfigException noMapping(JsonNode node, Collection<String> keys) {
        return new ConfigException("", "is " + kind(node) + "; write a mapping with the keys " + listed(keys));
    }

    static ConfigException unknownKey(String key, Collection<String> keys) {
        return new ConfigException(
                oneLine(key),
                EngineConfig.removedBackend(key)
                        .map(why -> "is a key of earlier versions, and " + why + "; leave it out")
                        .orElseGet(() -> "is an unknown key; "
                                + Nearest.to(key, keys)
                                        .map(near -> "did you mean " + near + "?")
                                        .orElse("known here are " + listed(keys))));
    }

    private static ConfigException wrongType(ConfigKey key, JsonNode node, String path) {
        return fault(
                node, path, wanted(key) + (node.isValueNode() && wanted(key).equals("text") ? " (in quotes)" : ""));
    }

    static ConfigException fault(JsonNode node, String path, String wanted) {
        return new ConfigException(path, "is " + kind(node) + "; write " + wanted);
    }

    /** Returns the form of a value in words. */
    private static String wanted(ConfigKey key) {
        Class<?> type = key.type();
        if (key.isByName()) {
            return "a mapping with a name before each mapping";
        }
        String number = "a whole number below 2147483648";
        return type.isEnum()
                ? String.join(" or ", key.words())
                : Map.of(
                                boolean.class, "true or false",
                                int.class,
                                        key.word()
                                                .map(word -> word + ", or " + number)
                                                .orElse(number),
                                Duration.class,
                                        key.word()
                                                .map(word -> word + ", or " + number)
                                                .orElse(number),
                                double.class, "a number",
                                long.class, "a number of bytes, or a size such as 8G, 512M or 1.5g",
                                Integer.class, "a token id, 0 to 4294967295",
                                ArrayNode.class, "a list of mappings",
                                ObjectNode.class, "a mapping",
                                URI.class, "the address of an HTTP server")
                        .getOrDefault(type, type.isRecord() ? "a mapping" : "text");
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

    /** Returns a key that may be anything as it can stand in a sentence. */
    static String oneLine(String key) {
        String shown = shown(key);
        return shown.equals("'" + key + "'") ? key : shown;
    }
}
