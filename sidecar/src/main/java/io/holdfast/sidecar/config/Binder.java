package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.plan.AutomaticHolds;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
            throw fault(node, path, wanted(key));
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
        boolean mayBeEmpty = key.isListOfWords();
        if (!node.isArray() || (node.isEmpty() && !mayBeEmpty)) {
            throw fault(node, path, mayBeEmpty ? "a list" : "a list that is not empty");
        }
        List<Object> all = new ArrayList<>();
        node.forEach(each -> all.add(one(key, each, path + "[" + all.size() + "]")));
        return all;
    }

    private static Object one(ConfigKey key, JsonNode node, String path) {
        if (key.inner().isPresent()) {
            return record(key.inner().get(), node, path, "");
        }
        if (key.type().isEnum()) {
            return constant(key, node, path);
        }
        boolean word = node.isTextual() && key.word().equals(Optional.of(node.textValue()));
        Object value = word
                ? Integer.valueOf(0)
                : Form.of(key.type()).read().apply(node).orElseThrow(() -> fault(node, path, wanted(key)));
        if (value instanceof Number number && !word && !key.allows(number.doubleValue())) {
            throw new ConfigException(
                    path,
                    "is '" + number + "'; write " + (key.range().startsWith("above") ? "a number " : "") + key.range()
                            + (key.standard().isEmpty() ? "" : ", such as " + key.standard()));
        }
        if (value instanceof String name
                && key.isSecretsVariable()
                && !VARIABLE.matcher(name).matches()) {
            // What is written there may be the secret itself, which no sentence may show.
            throw new ConfigException(
                    path, "is not the name of an environment variable; write the name of one, not the secret itself");
        }
        return key.type() == Duration.class ? Duration.of((Integer) value, key.time()) : value;
    }

    private static Object constant(ConfigKey key, JsonNode node, String path) {
        boolean flag = node.isBoolean() && key.type() == AutomaticHolds.class;
        if (!node.isTextual() && !flag) {
            throw fault(node, path, wanted(key));
        }
        int index = key.words().indexOf(node.asText());
        if (index < 0) {
            throw new ConfigException(
                    path, "is " + shown(node.asText()) + "; " + Nearest.mend(node.asText(), key.words()));
        }
        return key.type().getEnumConstants()[index];
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

    static ConfigException fault(JsonNode node, String path, String wanted) {
        return new ConfigException(path, "is " + kind(node) + "; write " + wanted);
    }

    /** Returns the form of a value in words. */
    private static String wanted(ConfigKey key) {
        if (key.inner().isPresent()) {
            return key.isByName() ? "a mapping with a name before each mapping" : "a mapping";
        }
        return key.type().isEnum()
                ? String.join(" or ", key.words())
                : key.word().map(word -> word + ", or ").orElse("")
                        + Form.of(key.type()).wanted();
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
