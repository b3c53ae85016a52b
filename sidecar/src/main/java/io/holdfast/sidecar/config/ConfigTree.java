package io.holdfast.sidecar.config;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * All that was written of a configuration, wherever it was written, with where that was.
 *
 * <p>A path is the same in a file, in a flag and in a sentence: {@code engines.main.share}.
 */
final class ConfigTree {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private final ObjectNode root;
    private final String name;
    private final Map<String, ConfigOrigin> origins = new LinkedHashMap<>();
    private final Map<String, JsonNode> values = new LinkedHashMap<>();

    private ConfigTree(ObjectNode root, String name) {
        this.root = root;
        this.name = name;
    }

    static ConfigTree empty() {
        return new ConfigTree(NODES.objectNode(), "The configuration");
    }

    /** @throws ConfigException with the name and the place in the text, where it is no mapping in YAML */
    static ConfigTree of(String yaml, String name) {
        try {
            JsonNode tree = Yaml.parsed(yaml);
            OldForm.refuse(tree, name);
            if (!(tree instanceof ObjectNode root)) {
                throw Binder.noMapping(tree, Section.ROOT.names());
            }
            ConfigTree made = new ConfigTree(root, name);
            made.remember(yaml, tree, name, "");
            return made;
        } catch (ConfigException e) {
            throw e.in(name);
        }
    }

    /**
     * Adds the engines of another file, by their names.
     *
     * @throws ConfigException with the name of the file, where it has none, or one that is there already
     */
    void addEngines(String yaml, String file) {
        try {
            JsonNode found = Yaml.parsed(yaml);
            OldForm.refuse(found, file);
            if (!found.isObject()) {
                throw Binder.fault(found, "", "a mapping with each engine under its name");
            }
            ObjectNode engines = child(root, "engines", "engines", new ConfigOrigin(file, 1));
            for (Map.Entry<String, JsonNode> each : found.properties()) {
                if (engines.has(each.getKey())) {
                    throw new ConfigException(
                            "engines." + Binder.oneLine(each.getKey()),
                            "is written elsewhere, too; give each engine a name of its own");
                }
                engines.set(each.getKey(), each.getValue());
            }
            remember(yaml, found, file, "engines");
        } catch (ConfigException e) {
            throw e.in(file);
        }
    }

    private void remember(String yaml, JsonNode tree, String file, String prefix) {
        try (JsonParser parser = Yaml.parser(yaml)) {
            parser.nextToken();
            remember(parser, tree, file, prefix);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Remembers the line of the value at which the parser stands, and of all values in it. */
    private void remember(JsonParser parser, JsonNode value, String file, String path) throws IOException {
        put(path, value, new ConfigOrigin(file, parser.currentTokenLocation().getLineNr()));
        if (parser.currentToken() == JsonToken.START_OBJECT) {
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String key = parser.currentName();
                parser.nextToken();
                remember(parser, value.path(key), file, ConfigException.below(path, key));
            }
        } else if (parser.currentToken() == JsonToken.START_ARRAY) {
            for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
                remember(parser, value.path(i), file, path + "[" + i + "]");
            }
        }
    }

    private void put(String path, JsonNode value, ConfigOrigin origin) {
        origins.put(path, origin);
        values.put(path, value);
    }

    ObjectNode root() {
        return root;
    }

    /**
     * Sets the value of a path, such as {@code engines.main.share}; an engine without another key yet is a new one.
     *
     * @throws ConfigException with the origin, where there is no such key or the text is no such value
     */
    void set(String path, String text, ConfigOrigin origin) {
        try {
            set(Section.ROOT, root, "", path, text, origin);
        } catch (ConfigException e) {
            throw origin.of(e);
        }
    }

    private void set(Section section, ObjectNode at, String prefix, String rest, String text, ConfigOrigin origin) {
        String first = first(rest);
        ConfigKey key = section.find(first)
                .orElseThrow(() -> Binder.unknownKey(first, section.names()).under(prefix));
        String path = ConfigException.below(prefix, first);
        if (rest.equals(first)) {
            replace(at, first, path, value(key, path, text), origin);
            return;
        }
        Section inner = key.inner()
                .orElseThrow(
                        () -> new ConfigException(path, "has no keys below it; leave out what comes after its name"));
        ObjectNode mapping = child(at, first, path, origin);
        String below = rest.substring(first.length() + 1);
        if (!key.isByName()) {
            set(inner, mapping, path, below, text, origin);
            return;
        }
        String element = names(mapping)
                .filter(each -> below.equals(each) || below.startsWith(each + "."))
                .max(Comparator.comparingInt(String::length))
                .orElse(first(below));
        String here = path + "." + element;
        if (below.equals(element)) {
            replace(mapping, element, here, container(here, text), origin);
        } else {
            set(
                    inner,
                    child(mapping, element, here, origin),
                    here,
                    below.substring(element.length() + 1),
                    text,
                    origin);
        }
    }

    private static String first(String path) {
        return path.contains(".") ? path.substring(0, path.indexOf('.')) : path;
    }

    private static Stream<String> names(JsonNode mapping) {
        return mapping.properties().stream().map(Map.Entry::getKey);
    }

    private void replace(ObjectNode at, String key, String path, JsonNode value, ConfigOrigin origin) {
        origins.keySet().removeIf(each -> each.startsWith(path + ".") || each.startsWith(path + "["));
        at.set(key, value);
        put(path, value, origin);
    }

    private ObjectNode child(ObjectNode at, String key, String path, ConfigOrigin origin) {
        JsonNode found = at.path(key);
        if (found.isMissingNode()) {
            ObjectNode made = at.putObject(key);
            put(path, made, origin);
            return made;
        }
        if (found instanceof ObjectNode object) {
            return object;
        }
        throw new ConfigException(path, "is no mapping; write one, with its keys below it");
    }

    private static JsonNode value(ConfigKey key, String path, String text) {
        if (key.type() == String.class && key.isList()) {
            ArrayNode list = NODES.arrayNode();
            Arrays.stream(text.split(","))
                    .map(String::strip)
                    .filter(each -> !each.isEmpty())
                    .forEach(list::add);
            return list;
        }
        if (text.isBlank()) {
            throw new ConfigException(path, "is empty; write a value, or leave it out");
        }
        if (key.isList() || key.type().isRecord() || JsonNode.class.isAssignableFrom(key.type())) {
            return container(path, text);
        }
        if (key.type() == boolean.class && (text.equals("true") || text.equals("false"))) {
            return NODES.booleanNode(text.equals("true"));
        }
        boolean number = key.type().isPrimitive() || key.type() == Duration.class;
        return number && text.matches("-?[0-9]{1,18}")
                ? NODES.numberNode(Long.parseLong(text))
                : number && text.matches("-?[0-9]{1,18}\\.[0-9]{1,18}")
                        ? NODES.numberNode(Double.parseDouble(text))
                        : NODES.textNode(text);
    }

    private static JsonNode container(String path, String text) {
        JsonNode parsed;
        try {
            parsed = Yaml.parsed(text);
        } catch (ConfigException e) {
            throw e.under(path);
        }
        if (!parsed.isContainerNode()) {
            throw new ConfigException(
                    path,
                    "is " + ConfigException.shown(text) + "; write YAML such as {…} or […], or set a key below it");
        }
        return parsed;
    }

    /** Returns the paths that a variable can mean, without the prefix that all of ours have; several are a fault. */
    Set<String> paths(String variable) {
        return paths(Section.ROOT, root, variable);
    }

    private static Set<String> paths(Section section, JsonNode at, String rest) {
        Set<String> found = new LinkedHashSet<>();
        for (ConfigKey key : section.keys()) {
            String variable = key.variable();
            if (rest.equals(variable)) {
                found.add(key.name());
            } else if (rest.startsWith(variable + "_") && key.inner().isPresent()) {
                String below = rest.substring(variable.length() + 1);
                Section inner = key.inner().get();
                JsonNode value = at.path(key.name());
                (key.isByName() ? byName(inner, value, below) : paths(inner, value, below))
                        .forEach(each -> found.add(key.name() + "." + each));
            }
        }
        return found;
    }

    private static Set<String> byName(Section inner, JsonNode mapping, String rest) {
        Set<String> found = new LinkedHashSet<>();
        names(mapping)
                .filter(each -> rest.startsWith(ConfigKey.variable(each) + "_"))
                .forEach(each -> paths(inner, mapping.path(each), rest.substring(each.length() + 1))
                        .forEach(path -> found.add(each + "." + path)));
        // A new one: its name is as short as what follows lets it be.
        for (int i = rest.indexOf('_'); found.isEmpty() && i > 0; i = rest.indexOf('_', i + 1)) {
            String made = rest.substring(0, i).toLowerCase(Locale.ROOT);
            paths(inner, NODES.objectNode(), rest.substring(i + 1)).forEach(path -> found.add(made + "." + path));
        }
        return found;
    }

    /** Returns the name of every variable that would be read beside this tree, without the prefix of all of them. */
    Stream<String> variables() {
        return variables(Section.ROOT, root, "");
    }

    private static Stream<String> variables(Section section, JsonNode at, String prefix) {
        return section.keys().stream().flatMap(key -> {
            String variable = prefix + key.variable();
            JsonNode below = at.path(key.name());
            return Stream.concat(
                    Stream.of(variable),
                    key.inner().stream()
                            .flatMap(inner -> key.isByName()
                                    ? names(below)
                                            .flatMap(each -> variables(
                                                    inner,
                                                    below.path(each),
                                                    variable + "_" + ConfigKey.variable(each) + "_"))
                                    : variables(inner, below, variable + "_")));
        });
    }

    /** Returns the same fault with where its cause was written. */
    ConfigException located(ConfigException fault) {
        for (String at = fault.place(); !at.isEmpty(); at = parent(at)) {
            ConfigOrigin origin = origins.get(at);
            if (origin != null) {
                return origin.of(fault);
            }
        }
        return fault.in(name);
    }

    private static String parent(String path) {
        return path.substring(0, Math.max(0, Math.max(path.lastIndexOf('.'), path.lastIndexOf('['))));
    }

    /** Returns where each value that somebody wrote was written, by its path. */
    Map<String, ConfigOrigin> written() {
        Map<String, ConfigOrigin> all = new LinkedHashMap<>(origins);
        all.keySet().removeIf(path -> !value(path).isValueNode());
        return all;
    }

    /** Returns the value that was written at a path; a missing node where there is none. */
    JsonNode value(String path) {
        return values.getOrDefault(path, NODES.missingNode());
    }

    /** Returns everything that holds, defaults as well, in the order of the keys. */
    ObjectNode complete(StateHome home) {
        ObjectNode all = Binder.complete(Section.ROOT, root);
        if (!root.has("stateDirectory")) {
            try {
                all.put("stateDirectory", home.directory().toString());
            } catch (ConfigException e) {
                throw located(e);
            }
        }
        return all;
    }

    /**
     * Returns the configuration of a complete tree.
     *
     * @throws ConfigException with where its cause was written
     */
    SidecarConfig read(ObjectNode complete, StateHome home) {
        try {
            SidecarConfig config = (SidecarConfig) Binder.record(Section.ROOT, complete, "", "");
            return root.has("stateDirectory") ? config : config.withOtherStates(home.others());
        } catch (ConfigException e) {
            throw located(e);
        }
    }
}
