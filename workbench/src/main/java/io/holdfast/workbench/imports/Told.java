package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/** Results of one load of another tool, as they are read: what the file does not report stays absent. */
final class Told {
    private final Path file;
    private final String source;
    private final Map<Metric, Double> values = new LinkedHashMap<>();
    private final Map<String, String> settings = new LinkedHashMap<>();
    private final Map<String, Integer> failures = new LinkedHashMap<>();
    private final List<String> silent = new ArrayList<>();

    Told(Path file, String source) {
        this.file = file;
        this.source = source;
    }

    /** A finite number at that place; absent where the place is missing, null or NaN. */
    OptionalDouble number(JsonNode node, String... path) {
        JsonNode at = node;
        for (String name : path) {
            at = at.path(name);
        }
        if (at.isNumber() && Double.isFinite(at.doubleValue())) {
            return OptionalDouble.of(at.doubleValue());
        }
        if (at.isNull() || at.isNumber()) {
            silent.add(String.join(".", path) + " is " + at.asText());
            return OptionalDouble.empty();
        }
        if (!at.isMissingNode()) {
            throw new LoadTestException("The file " + file + " of " + source + " has for " + String.join(".", path)
                    + " no number but '" + shortened(at.asText(at.toString()))
                    + "'; take it as the tool wrote it.");
        }
        return OptionalDouble.empty();
    }

    private static String shortened(String text) {
        return text.length() > 40 ? text.substring(0, 40) + "…" : text;
    }

    void put(Metric metric, OptionalDouble value) {
        value.ifPresent(known -> values.put(metric, known));
    }

    /** A time: one of nothing was not measured, whatever the file says. */
    void time(Metric metric, OptionalDouble millis) {
        millis.stream().filter(value -> value > 0).forEach(value -> values.put(metric, value));
    }

    /** From single values in milliseconds. */
    void values(Quantity quantity, double[] millis) {
        values.putAll(Measures.of(quantity, millis));
    }

    void setting(String name, OptionalDouble value) {
        value.ifPresent(number -> settings.put(
                name, number == Math.rint(number) ? Long.toString(Math.round(number)) : Double.toString(number)));
    }

    void setting(String name, String value) {
        if (!value.isBlank()) {
            settings.put(name, value);
        }
    }

    /** Takes the API by which the server was asked, in the usual words, whatever the tool calls it. */
    void api(String told) {
        if (told.contains("chat")) {
            settings.put("api", "chat");
        } else if (told.equals("sglang") || told.startsWith("sglang-native")) {
            settings.put("api", "generate");
        } else if (!told.isBlank()) {
            settings.put("api", "completions");
        }
    }

    void failed(String how, int count) {
        if (count > 0) {
            failures.merge(how, count, Integer::sum);
        }
    }

    /** The whole of it; refused where no figure is there. */
    LoadResult result(String workload, int number, int requests) {
        if (values.isEmpty()) {
            throw new LoadTestException("The file " + file + " of " + source + " has no figure"
                    + (silent.isEmpty()
                            ? ""
                            : ": " + silent.stream().limit(4).collect(Collectors.joining(", "))
                                    + (silent.size() > 4 ? " and so on" : ""))
                    + "; find out why the tool wrote none, and run it again.");
        }
        int failed = failures.values().stream().mapToInt(Integer::intValue).sum();
        if (requests > 0 || failed > 0) {
            // Of requests that a file does not count nobody knows whether any failed.
            values.putIfAbsent(Metric.ERRORS, (double) failed);
        }
        return new LoadResult(
                workload + "/run" + number,
                workload,
                Optional.empty(),
                source,
                settings,
                requests,
                failures,
                new Measures(values));
    }
}
