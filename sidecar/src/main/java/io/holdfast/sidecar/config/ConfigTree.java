package io.holdfast.sidecar.config;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.holdfast.sidecar.config.ConfigKey.Form;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What was written of a configuration, wherever it was written, with where that was.
 *
 * <p>A path here is that of the tree, {@code engines[0].share}; whoever sets a value says {@code engines.main.share}, since
 * nobody counts what a file lists.
 */
final class ConfigTree {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final Pattern STEP = Pattern.compile("(?=\\[)|\\.");

    private final ObjectNode root;
    private final String name;
    private final Map<String, ConfigOrigin> origins = new LinkedHashMap<>();

    private ConfigTree(ObjectNode root, String name) {
        this.root = root;
        this.name = name;
    }

    static ConfigTree empty() {
        return new ConfigTree(NODES.objectNode(), "The configuration");
    }

    /** @throws ConfigException with the place in the text, where it is no mapping in YAML */
    static ConfigTree of(String yaml, String name) {
        JsonNode tree = parsed(yaml);
        if (!(tree instanceof ObjectNode root)) {
            throw ConfigMapping.noMapping(tree, ConfigKeys.names(ConfigKeys.ROOT));
        }
        ConfigTree made = new ConfigTree(root, name);
        made.remember(yaml, name, "");
        return made;
    }

    static JsonNode parsed(String yaml) {
        try {
            JsonNode tree = mapper().readTree(yaml);
            boolean empty = tree.isMissingNode()
                    || tree.isNull()
                    || (tree.isTextual() && tree.textValue().isEmpty());
            if (empty) {
                throw new ConfigException("", "is empty; start from the example configuration");
            }
            return tree;
        } catch (JsonProcessingException e) {
            var at = e.getLocation();
            String problem = e.getOriginalMessage().lines().findFirst().orElse("it ends too early");
            throw new ConfigException(
                    "",
                    "is not valid YAML"
                            + (at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr())
                            + " (" + ConfigException.shown(problem) + "); mend the text there");
        }
    }

    private static YAMLMapper mapper() {
        return YAMLMapper.builder(YAMLFactory.builder()
                        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                        .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
                        .enable(YAMLGenerator.Feature.MINIMIZE_QUOTES)
                        .enable(YAMLGenerator.Feature.ALWAYS_QUOTE_NUMBERS_AS_STRINGS)
                        .disable(YAMLGenerator.Feature.SPLIT_LINES)
                        .build())
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .build();
    }

    static String yaml(JsonNode tree) {
        try {
            return mapper().writeValueAsString(tree);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void remember(String yaml, String file, String prefix) {
        try (JsonParser parser = mapper().createParser(yaml)) {
            parser.nextToken();
            remember(parser, file, prefix);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Of the value at which the parser stands. */
    private void remember(JsonParser parser, String file, String path) throws IOException {
        origins.put(
                path,
                new ConfigOrigin.InFile(file, parser.currentTokenLocation().getLineNr()));
        if (parser.currentToken() == JsonToken.START_OBJECT) {
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                String key = parser.currentName();
                parser.nextToken();
                remember(parser, file, path.isEmpty() ? key : path + "." + key);
            }
        } else if (parser.currentToken() == JsonToken.START_ARRAY) {
            for (int i = 0; parser.nextToken() != JsonToken.END_ARRAY; i++) {
                remember(parser, file, path + "[" + i + "]");
            }
        }
    }

    ObjectNode root() {
        return root;
    }

    /** Adds the engines of another file: one mapping, or a list of them. */
    void addEngines(String yaml, String file) {
        JsonNode found = parsed(yaml);
        ArrayNode engines = list(root, "engines", "engines");
        if (found.isObject()) {
            remember(yaml, file, "engines[" + engines.size() + "]");
            engines.add(found);
            return;
        }
        if (!found.isArray()) {
            throw ConfigMapping.noMapping(found, ConfigKeys.names(ConfigKeys.ENGINE))
                    .in(file);
        }
        Map<String, ConfigOrigin> before = new LinkedHashMap<>(origins);
        remember(yaml, file, "~");
        Map<String, ConfigOrigin> fresh = new LinkedHashMap<>(origins);
        origins.clear();
        origins.putAll(before);
        int first = engines.size();
        fresh.forEach((path, origin) -> {
            if (path.startsWith("~[")) {
                int end = path.indexOf(']');
                origins.put(
                        "engines[" + (first + Integer.parseInt(path.substring(2, end))) + path.substring(end), origin);
            }
        });
        found.forEach(engines::add);
    }

    /**
     * Sets what {@code path} names, such as {@code engines.main.share}; an engine that nobody named yet is a new one.
     *
     * @throws ConfigException with the origin, where there is no such key or the text is no such value
     */
    void set(String path, String text, ConfigOrigin origin) {
        try {
            set(ConfigKeys.ROOT, root, "", path, text, origin);
        } catch (ConfigException e) {
            throw e.in(origin.shown());
        }
    }

    private void set(
            List<ConfigKey> section, ObjectNode at, String prefix, String rest, String text, ConfigOrigin origin) {
        String first = rest.contains(".") ? rest.substring(0, rest.indexOf('.')) : rest;
        ConfigKey key = ConfigKeys.find(section, first)
                .orElseThrow(() -> ConfigMapping.unknownKey(first, ConfigKeys.names(section))
                        .underAny(named(prefix)));
        String path = prefix.isEmpty() ? first : prefix + "." + first;
        if (rest.equals(first)) {
            forget(path);
            at.set(first, value(key, named(path), text));
            origins.put(path, origin);
            return;
        }
        String below = rest.substring(first.length() + 1);
        if (key.form() == Form.MAPPING) {
            if (!at.has(first)) {
                at.putObject(first);
                origins.put(path, origin);
            }
            set(key.inner(), object(at.get(first), path), path, below, text, origin);
        } else if (key.form() == Form.LIST) {
            ArrayNode list = list(at, first, path);
            String nameKey = ConfigKeys.nameKey(key);
            String id = named(list, nameKey)
                    .filter(each -> below.startsWith(each + "."))
                    .max(Comparator.comparingInt(String::length))
                    .orElseGet(() -> below.contains(".") ? below.substring(0, below.indexOf('.')) : below);
            if (id.equals(below) || below.equals(id + "." + nameKey)) {
                throw new ConfigException(
                        named(path) + "." + id,
                        "is a mapping; set a key of it, such as " + named(path) + "." + id + "."
                                + key.inner().getLast().name());
            }
            int index = indexOf(list, nameKey, id);
            if (index < 0) {
                index = list.size();
                list.addObject().put(nameKey, id);
                origins.put(path + "[" + index + "]", origin);
            }
            String element = path + "[" + index + "]";
            set(key.inner(), object(list.get(index), element), element, below.substring(id.length() + 1), text, origin);
        } else {
            throw new ConfigException(named(path), "has no keys below it; leave out what comes after its name");
        }
    }

    private void forget(String path) {
        origins.keySet().removeIf(each -> each.startsWith(path + ".") || each.startsWith(path + "["));
    }

    private static ObjectNode object(JsonNode node, String path) {
        if (node instanceof ObjectNode object) {
            return object;
        }
        throw ConfigMapping.noMapping(node, Set.of()).under(path);
    }

    private static ArrayNode list(ObjectNode at, String key, String path) {
        JsonNode found = at.get(key);
        if (found == null) {
            return at.putArray(key);
        }
        if (found instanceof ArrayNode list) {
            return list;
        }
        throw new ConfigException(path, "is no list; write one");
    }

    private static Stream<String> named(ArrayNode list, String nameKey) {
        List<String> names = new ArrayList<>();
        list.forEach(each -> names.add(each.path(nameKey).asText()));
        return names.stream().filter(each -> !each.isEmpty());
    }

    private static int indexOf(ArrayNode list, String nameKey, String id) {
        for (int i = 0; i < list.size(); i++) {
            if (list.get(i).path(nameKey).asText().equals(id)) {
                return i;
            }
        }
        return -1;
    }

    private static JsonNode value(ConfigKey key, String path, String text) {
        String shown = ConfigException.shown(text);
        if (text.isBlank() && key.form() != Form.TEXTS) {
            throw new ConfigException(path, "is empty; write a value, or leave it out");
        }
        return switch (key.form()) {
            case TEXT -> NODES.textNode(text);
            case TEXTS -> {
                ArrayNode list = NODES.arrayNode();
                Arrays.stream(text.split(","))
                        .map(String::strip)
                        .filter(each -> !each.isEmpty())
                        .forEach(list::add);
                yield list;
            }
            case WHOLE -> {
                if (!text.matches("-?[0-9]{1,18}")) {
                    throw new ConfigException(path, "is " + shown + "; write a whole number");
                }
                yield NODES.numberNode(Long.parseLong(text));
            }
            case NUMBER -> {
                if (!text.matches("-?[0-9]{1,18}(\\.[0-9]{1,18})?")) {
                    throw new ConfigException(path, "is " + shown + "; write a number such as 0.5");
                }
                yield NODES.numberNode(Double.parseDouble(text));
            }
            case FLAG -> {
                if (!text.equals("true") && !text.equals("false")) {
                    throw new ConfigException(path, "is " + shown + "; write true or false");
                }
                yield NODES.booleanNode(text.equals("true"));
            }
            case FLAG_OR_WORD ->
                text.equals("true") || text.equals("false")
                        ? NODES.booleanNode(text.equals("true"))
                        : NODES.textNode(text);
            case BYTES, WHOLE_OR_WORD ->
                text.matches("-?[0-9]{1,18}") ? NODES.numberNode(Long.parseLong(text)) : NODES.textNode(text);
            case MAPPING, LIST, YAML -> {
                JsonNode parsed;
                try {
                    parsed = parsed(text);
                } catch (ConfigException e) {
                    throw e.under(path);
                }
                if (!parsed.isContainerNode()) {
                    throw new ConfigException(path, "is " + shown + "; write YAML such as {…} or […]");
                }
                yield parsed;
            }
        };
    }

    /** The paths that a variable can mean, without the prefix that all of ours have; more than one is a fault. */
    Set<String> paths(String variable) {
        return paths(ConfigKeys.ROOT, root, variable);
    }

    private static Set<String> paths(List<ConfigKey> section, JsonNode at, String rest) {
        Set<String> found = new LinkedHashSet<>();
        for (ConfigKey key : section) {
            String variable = key.variable();
            if (rest.equals(variable)) {
                found.add(key.name());
            } else if (rest.startsWith(variable + "_")) {
                String below = rest.substring(variable.length() + 1);
                if (key.form() == Form.MAPPING) {
                    paths(key.inner(), at.path(key.name()), below).forEach(each -> found.add(key.name() + "." + each));
                } else if (key.form() == Form.LIST) {
                    inList(key, at.path(key.name()), below).forEach(each -> found.add(key.name() + "." + each));
                }
            }
        }
        return found;
    }

    private static Set<String> inList(ConfigKey key, JsonNode list, String rest) {
        Set<String> found = new LinkedHashSet<>();
        String nameKey = ConfigKeys.nameKey(key);
        list.forEach(element -> {
            String id = element.path(nameKey).asText();
            if (rest.startsWith(ConfigKey.variable(id) + "_")) {
                paths(key.inner(), element, rest.substring(id.length() + 1)).stream()
                        .filter(each -> !each.equals(nameKey))
                        .forEach(each -> found.add(id + "." + each));
            }
        });
        // A new one: its name is as short as what follows lets it be.
        for (int i = rest.indexOf('_'); found.isEmpty() && i > 0; i = rest.indexOf('_', i + 1)) {
            String id = rest.substring(0, i).toLowerCase(Locale.ROOT);
            paths(key.inner(), NODES.objectNode(), rest.substring(i + 1)).stream()
                    .filter(each -> !each.equals(nameKey))
                    .forEach(each -> found.add(id + "." + each));
        }
        return found;
    }

    /** The same fault with where its cause was written. */
    ConfigException located(ConfigException fault) {
        String at = fault.place();
        Optional<ConfigOrigin> origin = Optional.empty();
        for (String each = at; origin.isEmpty() && !each.isEmpty(); each = parent(each)) {
            origin = Optional.ofNullable(origins.get(each));
        }
        return origin.map(known -> switch (known) {
                    case ConfigOrigin.InFile file when file.name().equals(name) -> fault.in(name, file.line());
                    case ConfigOrigin.InFile file -> fault.at(named(at)).in(file.name(), file.line());
                    case ConfigOrigin.Variable variable -> fault.at(named(at)).in(variable.shown());
                    case ConfigOrigin.Flag flag -> fault.at(named(at)).in(flag.shown());
                })
                .orElseGet(() -> fault.in(name));
    }

    private static String parent(String path) {
        int cut = Math.max(path.lastIndexOf('.'), path.lastIndexOf('['));
        return cut < 0 ? "" : path.substring(0, cut);
    }

    /** The path with names in place of numbers. */
    private String named(String path) {
        StringBuilder shown = new StringBuilder();
        JsonNode at = root;
        for (String step : STEP.split(path, -1)) {
            if (step.startsWith("[")) {
                at = at.path(Integer.parseInt(step.substring(1, step.length() - 1)));
                String id = at.path("id").asText(at.path("name").asText(""));
                shown.append(id.isEmpty() ? step : "." + id);
            } else {
                at = at.path(step);
                shown.append(shown.isEmpty() ? "" : ".").append(step);
            }
        }
        return shown.toString();
    }

    /** Where each value that somebody wrote was written, by its path with names; a mapping stands for its keys. */
    Map<String, ConfigOrigin> written() {
        Map<String, ConfigOrigin> all = new LinkedHashMap<>();
        origins.forEach((path, origin) -> {
            if (!path.isEmpty() && at(path).isValueNode()) {
                all.put(named(path), origin);
            }
        });
        return all;
    }

    /** The value of a path with names, as it is shown in one line; empty where there is none. */
    String value(String namedPath) {
        return origins.keySet().stream()
                .filter(path -> !path.isEmpty() && named(path).equals(namedPath))
                .findFirst()
                .map(path -> at(path).asText())
                .orElse("");
    }

    private JsonNode at(String path) {
        JsonNode at = root;
        for (String step : STEP.split(path, -1)) {
            at = step.startsWith("[") ? at.path(Integer.parseInt(step.substring(1, step.length() - 1))) : at.path(step);
        }
        return at;
    }

    /** Everything that holds, defaults as well, in the order of the keys. */
    ObjectNode complete() {
        return complete(ConfigKeys.ROOT, root);
    }

    private static ObjectNode complete(List<ConfigKey> section, JsonNode written) {
        ObjectNode all = NODES.objectNode();
        for (ConfigKey key : section) {
            JsonNode value = written.path(key.name());
            boolean nested = !key.inner().isEmpty();
            if (nested
                    && key.form() == Form.MAPPING
                    && (value.isObject() || key.name().equals("listen"))) {
                all.set(key.name(), complete(key.inner(), value));
            } else if (nested && value.isArray()) {
                ArrayNode list = all.putArray(key.name());
                value.forEach(element -> list.add(complete(key.inner(), element)));
            } else if (!value.isMissingNode()) {
                all.set(key.name(), value);
            } else if (key.name().equals("readingsMillis")) {
                all.put(
                        key.name(),
                        EngineConfig.readings(written.path("backend").asText()).toMillis());
            } else if (!key.standard().isEmpty()) {
                all.set(key.name(), parsed(key.standard()));
            }
        }
        return all;
    }
}
