package io.holdfast.loadtest;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.DoublePredicate;
import java.util.stream.Stream;

/**
 * A place in a YAML file that people write, with its path. A key that is not known or stands twice and a value of
 * another kind are each refused in a sentence that names the place; nothing is repaired.
 */
public final class StrictYaml {
    private static final YAMLMapper YAML = YAMLMapper.builder(YAMLFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .build();

    private final String source;
    private final String path;
    private final JsonNode node;

    private StrictYaml(String source, String path, JsonNode node) {
        this.source = source;
        this.path = path;
        this.node = node;
    }

    /**
     * The text of a file.
     *
     * @param otherwise what to do where there is none, as {@code name one that describes loads}
     */
    public static String textOf(Path file, String otherwise) {
        try {
            return Files.readString(file);
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no file " + file + "; " + otherwise + ".", e);
        } catch (IOException e) {
            throw new LoadTestException("The file " + file + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    /**
     * The first document of a text.
     *
     * @param source what the text is called where something is wrong with it
     */
    public static StrictYaml document(String source, String text) {
        return documents(source, text).stream()
                .findFirst()
                .orElseGet(() -> new StrictYaml(source, "", MissingNode.getInstance()));
    }

    /** Reads a text with several documents. */
    public static List<StrictYaml> documents(String source, String text) {
        List<StrictYaml> documents = new ArrayList<>();
        try (var read = YAML.readerFor(JsonNode.class).<JsonNode>readValues(text)) {
            while (read.hasNextValue()) {
                documents.add(new StrictYaml(source, "", read.nextValue()));
            }
        } catch (JsonProcessingException e) {
            JsonLocation at = e.getLocation();
            throw new LoadTestException(
                    source + " is no YAML" + (at == null ? "" : " in line " + at.getLineNr()) + ": "
                            + e.getOriginalMessage().lines().findFirst().orElse("it cannot be read") + ".",
                    e);
        } catch (IOException e) {
            throw new LoadTestException(source + " cannot be read: " + e.getMessage() + ".", e);
        }
        return documents;
    }

    /** Checks that this place has keys, and only these. */
    public StrictYaml only(String... known) {
        if (!node.isObject()) {
            throw wrong("has keys with values");
        }
        List<String> sorted = Stream.of(known).sorted().toList();
        node.fieldNames().forEachRemaining(name -> {
            if (!sorted.contains(name)) {
                throw new LoadTestException(
                        source + " has the unknown key '" + below(name) + "'; known here are " + sorted + ".");
            }
        });
        return this;
    }

    /** Returns the value of a key, which may be absent. */
    public StrictYaml at(String key) {
        return new StrictYaml(source, below(key), node.path(key));
    }

    private String below(String key) {
        return path.isEmpty() ? key : path + "." + key;
    }

    /** Returns this place if it is there. */
    public Optional<StrictYaml> there() {
        return node.isMissingNode() ? Optional.empty() : Optional.of(this);
    }

    public boolean isList() {
        return node.isArray();
    }

    /**
     * Returns the items of a list in their order; empty where the list is absent.
     *
     * @param what it is to be, as {@code is a list of models}
     */
    public List<StrictYaml> list(String what) {
        if (!node.isArray() && !node.isMissingNode()) {
            throw wrong(what);
        }
        List<StrictYaml> list = new ArrayList<>();
        for (JsonNode each : node) {
            list.add(new StrictYaml(source, path + "[" + list.size() + "]", each));
        }
        return list;
    }

    /** Returns the items of a list that must be there and must not be empty. */
    public List<StrictYaml> filled(String what) {
        List<StrictYaml> list = list(what);
        if (list.isEmpty()) {
            throw wrong(what);
        }
        return list;
    }

    /** Returns the values under names that people choose, in their order. */
    public Map<String, StrictYaml> named() {
        if (!node.isObject() && !node.isMissingNode()) {
            throw wrong("has names with something below each, as 'one: {...}' in lines of their own");
        }
        Map<String, StrictYaml> named = new LinkedHashMap<>();
        node.fieldNames().forEachRemaining(name -> named.put(name, at(name)));
        return named;
    }

    public String text() {
        if (!node.isTextual() || node.asText().isBlank()) {
            throw wrong("is a text");
        }
        return node.asText();
    }

    /** A single value as it is written. */
    public String scalar() {
        if (!node.isValueNode() || node.isNull()) {
            throw wrong("is a text or a number");
        }
        return node.asText();
    }

    public boolean flag() {
        if (!node.isBoolean()) {
            throw wrong("is true or false");
        }
        return node.asBoolean();
    }

    public int whole(int least, int most) {
        if (!node.isInt() || node.asInt() < least || node.asInt() > most) {
            throw wrong(
                    most == Integer.MAX_VALUE
                            ? "is a whole number of at least " + least
                            : "is a whole number from " + least + " to " + most);
        }
        return node.asInt();
    }

    /** Any whole number, as what draws texts. */
    public long seed() {
        if (!node.canConvertToLong() || !node.isIntegralNumber()) {
            throw wrong("is a whole number");
        }
        return node.asLong();
    }

    /**
     * A number that fits.
     *
     * @param what it is to be, as {@code is a number above 0}
     */
    public double number(DoublePredicate fits, String what) {
        if (!node.isNumber() || !fits.test(node.asDouble())) {
            throw wrong(what);
        }
        return node.asDouble();
    }

    /** The sentence that refuses what is here. */
    public LoadTestException wrong(String what) {
        return new LoadTestException(
                "In " + source + " '" + (path.isEmpty() ? "the document" : path) + "' " + what + ".");
    }
}
