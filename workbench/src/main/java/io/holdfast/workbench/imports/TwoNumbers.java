package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Output of a user's own script: an object with metrics by our names at its top level, such as {@code ttft_p50}. */
final class TwoNumbers implements ToolFormat {
    private static final String NAME = "a script";

    @Override
    public boolean wrote(JsonNode first) {
        return first.isObject()
                && first.properties().stream()
                        .anyMatch(entry -> entry.getValue().isValueNode()
                                && Metric.named(entry.getKey()).isPresent());
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        JsonNode document = documents.getFirst();
        Told told = new Told(file, document.path("source").asText(NAME));
        document.properties()
                .forEach(entry -> Metric.named(entry.getKey())
                        .ifPresent(metric -> told.put(metric, told.number(document, entry.getKey()))));
        document.path("settings")
                .properties()
                .forEach(entry -> told.setting(entry.getKey(), entry.getValue().asText()));
        LoadResult result = told.result(
                document.path("workload").asText("load"),
                1,
                document.path("requests").asInt(0));
        Optional<String> id = document.hasNonNull("workloadId")
                ? Optional.of(document.path("workloadId").asText())
                : Optional.empty();
        LoadResult named = new LoadResult(
                result.id(),
                result.workload(),
                id,
                result.source(),
                result.settings(),
                result.requests(),
                result.failures(),
                result.measures());
        return new Imported(
                NAME,
                new ResultFile(NAME, document.path("model").asText("unknown"), "unknown", Map.of(), List.of(named)),
                List.of("Times are taken for milliseconds, as the file does not tell its units."));
    }
}
