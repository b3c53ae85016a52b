package io.holdfast.loadtest.measure;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The results of a suite of loads in one JSON file. Each has its measures by their names at its own top level; what was
 * not measured is not there.
 *
 * @param suite what was run
 * @param model that the server served
 * @param startedAt date and time in UTC
 * @param environment what is known of the machine and the server, by name; {@code unknown} where it could not be found
 *     out
 */
public record ResultFile(
        String suite, String model, String startedAt, Map<String, String> environment, List<LoadResult> results) {
    static final int FORMAT = 1;

    private static final DateTimeFormatter STAMP =
            DateTimeFormatter.ofPattern("yyyyMMdd_HHmmss").withZone(ZoneOffset.UTC);

    private static final int MOST_OF_A_NAME = 1_000;

    private static final ObjectMapper JSON = new ObjectMapper();

    public ResultFile {
        environment = Collections.unmodifiableMap(new LinkedHashMap<>(environment));
        results = List.copyOf(results);
    }

    /** {@code <suite>_<model>_<yyyymmdd_hhmmss>} with this ending, or with a number before it where that is taken. */
    public static Path freeName(Path folder, String suite, String model, Instant begun, String ending) {
        String plain = plain(suite) + "_" + plain(model) + "_" + STAMP.format(begun);
        for (int again = 1; again <= MOST_OF_A_NAME; again++) {
            Path file = folder.resolve(plain + (again == 1 ? "" : "-" + again) + ending);
            if (!Files.exists(file)) {
                return file;
            }
        }
        throw new LoadTestException("The folder " + folder + " has " + MOST_OF_A_NAME + " files named " + plain + ".");
    }

    private static String plain(String name) {
        String plain = name.substring(name.lastIndexOf('/') + 1)
                .toLowerCase(Locale.ROOT)
                .replaceAll("[^a-z0-9.]+", "-");
        return plain.isEmpty() ? "unknown" : plain;
    }

    /** Writes it to a file that is not there yet. */
    public void write(Path file) {
        try {
            Files.writeString(
                    file, text(), StandardCharsets.UTF_8, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        } catch (FileAlreadyExistsException e) {
            throw new LoadTestException("The file " + file + " is there already; name another one, or move it away.");
        } catch (IOException e) {
            throw new LoadTestException("The results cannot be written to " + file + ": " + FileTrouble.why(e) + ".");
        }
    }

    /** Returns the text of the file. */
    public String text() {
        ObjectNode root = JSON.createObjectNode()
                .put("format", FORMAT)
                .put("suite", suite)
                .put("model", model)
                .put("startedAt", startedAt);
        ObjectNode facts = root.putObject("environment");
        environment.forEach(facts::put);
        var all = root.putArray("results");
        results.forEach(result -> put(result, all.addObject()));
        return root.toPrettyString() + "\n";
    }

    private static void put(LoadResult result, ObjectNode into) {
        into.put("id", result.id()).put("workload", result.workload());
        result.workloadId().ifPresent(id -> into.put("workloadId", id));
        into.put("source", result.source());
        ObjectNode settings = into.putObject("settings");
        result.settings().forEach(settings::put);
        into.put("requests", result.requests());
        ObjectNode failures = into.putObject("failures");
        result.failures().forEach(failures::put);
        if (!result.notes().isEmpty()) {
            var notes = into.putArray("notes");
            result.notes().forEach(notes::add);
        }
        result.measures().values().forEach((metric, value) -> into.put(metric.name(), value));
        ObjectNode sources = into.putObject("sources");
        result.measures().values().keySet().forEach(metric -> sources.put(metric.name(), result.method(metric)));
    }

    /** Reads a file; the exception says in a sentence what is wrong with it. */
    public static ResultFile read(Path file) {
        JsonNode root;
        try {
            root = JSON.readTree(file.toFile());
        } catch (JsonProcessingException e) {
            throw refusal(file, "it is not JSON (line " + e.getLocation().getLineNr() + ")");
        } catch (IOException e) {
            throw refusal(file, "it cannot be read: " + e.getMessage());
        }
        if (!root.path("results").isArray()) {
            throw refusal(file, "it has no 'results'");
        }
        if (root.path("format").asInt() != FORMAT) {
            throw refusal(
                    file,
                    "its format is " + root.path("format").asText("missing") + ", and this version reads " + FORMAT);
        }
        List<LoadResult> results = new ArrayList<>();
        for (JsonNode each : root.path("results")) {
            results.add(result(each, file));
        }
        return new ResultFile(
                text(root, "suite", file),
                text(root, "model", file),
                text(root, "startedAt", file),
                texts(root.path("environment")),
                results);
    }

    private static LoadResult result(JsonNode node, Path file) {
        Map<String, Integer> failures = new LinkedHashMap<>();
        node.path("failures")
                .properties()
                .forEach(entry -> failures.put(entry.getKey(), entry.getValue().asInt()));
        Map<Metric, Double> values = new LinkedHashMap<>();
        node.properties()
                .forEach(entry -> Metric.named(entry.getKey()).ifPresent(metric -> {
                    if (!entry.getValue().isNumber()) {
                        throw refusal(file, "its " + metric.name() + " is no number");
                    }
                    values.put(metric, entry.getValue().asDouble());
                }));
        if (values.isEmpty()) {
            throw refusal(file, "the result '" + node.path("id").asText() + "' has no measure");
        }
        return new LoadResult(
                text(node, "id", file),
                text(node, "workload", file),
                node.hasNonNull("workloadId")
                        ? Optional.of(node.path("workloadId").asText())
                        : Optional.empty(),
                text(node, "source", file),
                texts(node.path("settings")),
                node.path("requests").asInt(),
                failures,
                new Measures(values),
                node.path("notes").valueStream().map(JsonNode::asText).toList());
    }

    private static Map<String, String> texts(JsonNode node) {
        Map<String, String> texts = new LinkedHashMap<>();
        node.properties()
                .forEach(entry -> texts.put(entry.getKey(), entry.getValue().asText()));
        return texts;
    }

    private static String text(JsonNode node, String name, Path file) {
        if (!node.path(name).isTextual()) {
            throw refusal(file, "it has no '" + name + "'");
        }
        return node.path(name).asText();
    }

    private static LoadTestException refusal(Path file, String why) {
        return new LoadTestException("The file " + file + " has no results of the load test: " + why
                + "; name a file that a preset or 'loadtest leg' wrote.");
    }
}
