package io.holdfast.loadtest.sweep;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Plan of a sweep, as its file says: the levels in the order in which they run.
 *
 * @param options settings beside the levels, by the names of the command's options: with other ones the rest of a
 *     sweep would be another one
 */
public record SweepPlan(String startedAt, List<Level> levels, Map<String, String> options) {
    /** Its file in the folder of the sweep. */
    public static final String FILE = "sweep.json";

    private static final int FORMAT = 1;
    private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final int MOST_LEVELS = 100;

    public SweepPlan {
        levels = List.copyOf(levels);
        options = Map.copyOf(options);
        if (levels.size() < 2 || levels.size() > MOST_LEVELS) {
            throw new LoadTestException("A sweep has 2 to " + MOST_LEVELS + " levels, not " + levels.size() + ".");
        }
    }

    /**
     * One level.
     *
     * @param values by their parameters; levels with equal values are replicates
     * @param placebo whether it was declared to be one at which nothing is evicted
     */
    public record Level(String journal, Map<String, String> values, boolean placebo) {
        public Level {
            values = Map.copyOf(values);
        }

        /** Returns a name as {@code capacity 8192}, or with several parameters {@code batch 16, blocks 1024}. */
        public String name() {
            return new TreeMap<>(values)
                    .entrySet().stream()
                            .map(value -> value.getKey() + " " + value.getValue())
                            .collect(Collectors.joining(", "));
        }
    }

    /**
     * The levels of some parameters that change together.
     *
     * @param values of each parameter, as many as there are levels
     * @param placebo the level that is one, by the value of any of its parameters
     */
    public static List<Level> levels(Map<String, List<String>> values, Optional<String> placebo) {
        List<Integer> counts =
                values.values().stream().map(List::size).distinct().toList();
        if (counts.size() != 1) {
            throw new LoadTestException("The parameters of a sweep change together and have "
                    + values.entrySet().stream()
                            .map(each -> each.getValue().size() + " levels of " + each.getKey())
                            .collect(Collectors.joining(" and "))
                    + "; give each of them as many.");
        }
        List<Level> levels = new ArrayList<>();
        for (int i = 0; i < counts.getFirst(); i++) {
            Map<String, String> level = new LinkedHashMap<>();
            int at = i;
            values.forEach((name, of) -> level.put(name, of.get(at)));
            String label = level.entrySet().stream()
                    .map(value -> value.getKey() + "-" + value.getValue())
                    .collect(Collectors.joining("-"))
                    .replaceAll("[^A-Za-z0-9.-]", "_");
            levels.add(new Level(
                    "%02d-%s.jsonl".formatted(i + 1, label),
                    level,
                    placebo.filter(level::containsValue).isPresent()));
        }
        placebo.filter(named -> levels.stream().noneMatch(Level::placebo)).ifPresent(named -> {
            throw new LoadTestException("The placebo '" + named + "' is none of the levels; name one of them.");
        });
        return levels;
    }

    /** Writes it into a folder that has none yet. */
    public void write(Path folder) {
        ObjectNode root = JSON.createObjectNode().put("format", FORMAT).put("startedAt", startedAt);
        ArrayNode all = root.putArray("levels");
        for (Level level : levels) {
            ObjectNode one = all.addObject().put("journal", level.journal()).put("placebo", level.placebo());
            ObjectNode values = one.putObject("values");
            new TreeMap<>(level.values()).forEach(values::put);
        }
        ObjectNode asked = root.putObject("options");
        new TreeMap<>(options).forEach(asked::put);
        Path file = folder.resolve(FILE);
        try {
            Files.createDirectories(folder);
            if (Files.exists(file)) {
                throw new LoadTestException("There is a sweep in " + folder
                        + " already, and it is not overwritten; name another folder, or go on with it by --resume.");
            }
            Files.writeString(file, JSON.writeValueAsString(root) + "\n");
        } catch (IOException e) {
            throw new LoadTestException(
                    "The sweep's file " + file + " cannot be written: " + FileTrouble.why(e) + ".", e);
        }
    }

    /** Reads it back. */
    public static SweepPlan read(Path folder) {
        Path file = folder.resolve(FILE);
        try {
            JsonNode root = JSON.readTree(Files.readString(file));
            if (root.path("format").asInt() != FORMAT) {
                throw new LoadTestException("The sweep's file " + file + " has format "
                        + root.path("format").asText("none") + "; this version reads format " + FORMAT + ".");
            }
            List<Level> levels = new ArrayList<>();
            for (JsonNode level : root.path("levels")) {
                levels.add(new Level(
                        level.path("journal").asText(),
                        texts(level.path("values")),
                        level.path("placebo").asBoolean()));
            }
            return new SweepPlan(root.path("startedAt").asText(), levels, texts(root.path("options")));
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no sweep in " + folder + ", since it has no " + FILE + ".", e);
        } catch (JsonProcessingException e) {
            throw new LoadTestException("The sweep's file " + file + " cannot be read: it is no whole JSON.", e);
        } catch (IOException e) {
            throw new LoadTestException("The sweep's file " + file + " cannot be read: " + e + ".", e);
        }
    }

    private static Map<String, String> texts(JsonNode object) {
        Map<String, String> texts = new TreeMap<>();
        object.properties()
                .forEach(field -> texts.put(field.getKey(), field.getValue().asText()));
        return texts;
    }

    /** Says why the rest of a sweep would be another one, if so. */
    public void refuseOther(SweepPlan now) {
        if (!levels.equals(now.levels)) {
            throw new LoadTestException("The sweep was begun with the levels "
                    + levels.stream().map(Level::name).collect(Collectors.joining("; "))
                    + ", and now has others; write the same, or begin another in another folder.");
        }
        if (!options.equals(now.options)) {
            throw new LoadTestException("The sweep was begun with other options, " + new TreeMap<>(options) + " then, "
                    + new TreeMap<>(now.options) + " now; write the same, or begin another in another folder.");
        }
    }
}
