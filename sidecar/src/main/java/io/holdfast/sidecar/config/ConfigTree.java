package io.holdfast.sidecar.config;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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
    private final Map<String, Written> written = new LinkedHashMap<>();

    /** Value with the place where it was written. */
    record Written(JsonNode value, ConfigOrigin origin) {}

    /** Spelling of the names of keys outside of a file. */
    enum Spelling {
        /** Path as it is in the file, for flags. */
        PATH("", ".", "holdfast sidecar --print-keys lists all"),
        /** Path in capitals, for variables. */
        VARIABLE("HOLDFAST_", "_", "unset it, or name it with a key that names a secret, such as listen.actTokenEnv");

        final String prefix;
        final String separator;
        private final String advice;

        Spelling(String prefix, String separator, String advice) {
            this.prefix = prefix;
            this.separator = separator;
            this.advice = advice;
        }

        /** Returns one name of a path in this spelling: {@code tickMillis} is {@code TICK_MILLIS} as a variable. */
        String of(String name) {
            return this == PATH
                    ? name
                    : name.replaceAll("([a-z0-9])([A-Z])", "$1_$2")
                            .replaceAll("[^A-Za-z0-9]", "_")
                            .toUpperCase(Locale.ROOT);
        }
    }

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
        written.put(
                path,
                new Written(
                        value,
                        new ConfigOrigin(file, parser.currentTokenLocation().getLineNr())));
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

    ObjectNode root() {
        return root;
    }

    /**
     * Sets the value of a key; an engine, a device or a hold without another key yet is a new one.
     *
     * @throws ConfigException with the origin, where there is no such key, or several, or the text is no such value
     */
    void set(Spelling spelling, String name, String text, ConfigOrigin origin) {
        Map<List<String>, ConfigKey> found = find(spelling, name);
        if (found.size() > 1) {
            throw new ConfigException(
                    "",
                    origin.shown() + " can mean "
                            + String.join(
                                    " and ",
                                    found.keySet().stream()
                                            .map(steps -> String.join(".", steps))
                                            .toList())
                            + "; write one of them with --set, or in the file");
        }
        if (found.isEmpty()) {
            throw unknown(spelling, name, origin.shown());
        }
        Map.Entry<List<String>, ConfigKey> only = found.entrySet().iterator().next();
        List<String> steps = only.getKey();
        try {
            ObjectNode at = root;
            for (int i = 1; i < steps.size(); i++) {
                at = child(at, steps.get(i - 1), String.join(".", steps.subList(0, i)), origin);
            }
            String path = String.join(".", steps);
            JsonNode value = value(only.getValue(), path, text);
            written.keySet().removeIf(each -> each.startsWith(path + ".") || each.startsWith(path + "["));
            at.set(steps.getLast(), value);
            written.put(path, new Written(value, origin));
        } catch (ConfigException e) {
            throw origin.of(e);
        }
    }

    private ObjectNode child(ObjectNode at, String key, String path, ConfigOrigin origin) {
        JsonNode found = at.path(key);
        if (found.isMissingNode()) {
            ObjectNode made = at.putObject(key);
            written.put(path, new Written(made, origin));
            return made;
        }
        if (found instanceof ObjectNode object) {
            return object;
        }
        throw new ConfigException(path, "is no mapping; write one, with its keys below it");
    }

    /** Returns the refusal of a name that is no key, with the key that was meant. */
    ConfigException unknown(Spelling spelling, String name, String shown) {
        List<String> known = names(spelling, Section.ROOT, root, "").toList();
        return new ConfigException(
                "",
                shown + " is no key of the configuration; "
                        + Nearest.to(name, known)
                                .map(near -> "did you mean " + spelling.prefix + near + "?")
                                .orElse(spelling.advice));
    }

    private static JsonNode value(ConfigKey key, String path, String text) {
        if (key.isListOfWords()) {
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
        if (!key.isList()
                && (key.type().isEnum()
                        || List.of(String.class, Path.class, URI.class).contains(key.type()))) {
            return NODES.textNode(text);
        }
        try {
            return Yaml.parsed(text);
        } catch (ConfigException e) {
            throw e.under(path);
        }
    }

    /** Returns the keys that a name can mean, by the steps that lead to each. */
    Map<List<String>, ConfigKey> find(Spelling spelling, String name) {
        return find(spelling, Section.ROOT, root, name);
    }

    private static Map<List<String>, ConfigKey> find(Spelling spelling, Section section, JsonNode at, String rest) {
        Map<List<String>, ConfigKey> found = new LinkedHashMap<>();
        for (ConfigKey key : section.keys()) {
            String spelled = spelling.of(key.name());
            if (rest.equals(spelled)) {
                found.put(List.of(key.name()), key);
            } else if (rest.startsWith(spelled + spelling.separator)
                    && key.inner().isPresent()) {
                String below = rest.substring(spelled.length() + 1);
                Section inner = key.inner().get();
                JsonNode value = at.path(key.name());
                addBelow(
                        key.name(),
                        key.isByName() ? byName(spelling, key, value, below) : find(spelling, inner, value, below),
                        found);
            }
        }
        return found;
    }

    private static Map<List<String>, ConfigKey> byName(
            Spelling spelling, ConfigKey key, JsonNode mapping, String rest) {
        Section inner = key.inner().orElseThrow();
        Map<List<String>, ConfigKey> found = new LinkedHashMap<>();
        names(mapping).forEach(each -> {
            String spelled = spelling.of(each);
            if (rest.startsWith(spelled + spelling.separator)) {
                addBelow(each, find(spelling, inner, mapping.path(each), rest.substring(spelled.length() + 1)), found);
            }
        });
        // A new one: its name is as short as what follows lets it be.
        for (int i = rest.indexOf(spelling.separator);
                found.isEmpty() && i > 0;
                i = rest.indexOf(spelling.separator, i + 1)) {
            String made = spelling == Spelling.VARIABLE
                    ? rest.substring(0, i).toLowerCase(Locale.ROOT)
                    : rest.substring(0, i);
            addBelow(made, find(spelling, inner, NODES.objectNode(), rest.substring(i + 1)), found);
        }
        if (spelling == Spelling.PATH && (mapping.has(rest) || !rest.contains(spelling.separator))) {
            found.put(List.of(rest), key);
        }
        return found;
    }

    private static void addBelow(String step, Map<List<String>, ConfigKey> below, Map<List<String>, ConfigKey> found) {
        below.forEach((steps, key) ->
                found.put(Stream.concat(Stream.of(step), steps.stream()).toList(), key));
    }

    private static Stream<String> names(JsonNode mapping) {
        return mapping.properties().stream().map(Map.Entry::getKey);
    }

    /** Returns the name of every key that can be set beside this tree. */
    private static Stream<String> names(Spelling spelling, Section section, JsonNode at, String prefix) {
        return section.keys().stream().flatMap(key -> {
            String name = prefix + spelling.of(key.name());
            JsonNode below = at.path(key.name());
            return Stream.concat(
                    Stream.of(name),
                    key.inner().stream()
                            .flatMap(inner -> key.isByName()
                                    ? names(below)
                                            .flatMap(each -> names(
                                                    spelling,
                                                    inner,
                                                    below.path(each),
                                                    name + spelling.separator + spelling.of(each) + spelling.separator))
                                    : names(spelling, inner, below, name + spelling.separator)));
        });
    }

    /** Returns the same fault with where its cause was written. */
    ConfigException located(ConfigException fault) {
        for (String at = fault.place(); !at.isEmpty(); at = parent(at)) {
            Written found = written.get(at);
            if (found != null) {
                return found.origin().of(fault);
            }
        }
        return fault.in(name);
    }

    private static String parent(String path) {
        return path.substring(0, Math.max(0, Math.max(path.lastIndexOf('.'), path.lastIndexOf('['))));
    }

    /** Returns each value that somebody wrote, by its path. */
    Map<String, Written> written() {
        Map<String, Written> all = new LinkedHashMap<>(written);
        all.values().removeIf(each -> !each.value().isValueNode());
        return all;
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
