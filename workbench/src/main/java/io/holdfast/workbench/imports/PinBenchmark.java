package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The files of a pin benchmark: both arms of one pair, of repetitions, or of each level of a sweep. */
final class PinBenchmark implements ToolFormat {
    private static final String NAME = "pin benchmark";
    private static final List<String> ARMS = List.of("baseline", "pinned", "run_a", "run_b");

    @Override
    public boolean wrote(JsonNode first) {
        return isPair(first)
                || isPair(first.path("repetitions").path(0))
                || (first.path("results").isObject()
                        && first.path("results").valueStream().anyMatch(PinBenchmark::isPair));
    }

    private static boolean isPair(JsonNode node) {
        return ARMS.stream()
                        .filter(arm ->
                                node.path(arm).has("ttft_avg") || node.path(arm).has("ttft_mean"))
                        .count()
                == 2;
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        List<LoadResult> results = new ArrayList<>();
        for (JsonNode document : documents) {
            if (document.path("results").isObject()) {
                document.path("results")
                        .properties()
                        .forEach(level ->
                                pairs(file, level.getValue(), level(level.getKey(), level.getValue()), results));
            } else {
                pairs(file, document, level("", document), results);
            }
        }
        if (results.isEmpty()) {
            throw new LoadTestException("The file " + file
                    + " of a pin benchmark has no pair with figures; take it as the benchmark wrote it.");
        }
        return new Imported(
                NAME,
                new ResultFile(
                        NAME,
                        documents.getFirst().path("model").asText("unknown"),
                        documents.getFirst().path("started_at").asText("unknown"),
                        Map.of(),
                        results),
                List.of("Its legs are told apart by the setting 'arm'; in which order they ran is no figure here, so a"
                        + " change of arms holds what being second gives as well."));
    }

    /** Takes the level from the file's own words, or from the name of a level of its sweep. */
    private static Map<String, String> level(String name, JsonNode node) {
        Map<String, String> level = new LinkedHashMap<>();
        if (node.path("concurrency").isNumber()) {
            level.put("concurrency", node.path("concurrency").asText());
        }
        if (!name.isEmpty() && !level.containsValue(name)) {
            level.put(name.contains(".") ? "memory fraction" : "concurrency", name);
        }
        return level;
    }

    private static void pairs(Path file, JsonNode node, Map<String, String> level, List<LoadResult> results) {
        List<JsonNode> pairs = new ArrayList<>();
        node.path("repetitions").forEach(pairs::add);
        if (pairs.isEmpty() && isPair(node)) {
            pairs.add(node);
        }
        for (JsonNode pair : pairs) {
            for (String arm : ARMS) {
                if (pair.path(arm).isObject()) {
                    Told told = new Told(file, NAME);
                    level.forEach(told::setting);
                    told.setting("arm", arm);
                    pair.path(arm)
                            .properties()
                            .forEach(figure -> Metric.named(figure.getKey().replaceFirst("_avg$", "_mean"))
                                    .ifPresent(metric -> told.put(metric, told.number(pair, arm, figure.getKey()))));
                    results.add(told.result(
                            node.path("workload").asText(NAME),
                            results.size() + 1,
                            pair.path(arm).path("count").asInt()));
                }
            }
        }
    }
}
