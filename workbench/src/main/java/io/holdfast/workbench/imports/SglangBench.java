package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** {@code sglang.bench_serving}: a line for each run, with and without {@code --output-details}. */
final class SglangBench implements ToolFormat {
    private static final String NAME = "sglang.bench_serving";

    @Override
    public boolean wrote(JsonNode first) {
        return first.has("mean_ttft_ms") && first.has("input_throughput") && first.has("dataset_name");
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        List<LoadResult> results = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        notes.add("Where the server tells no usage beside each chunk, tokens of answers are the requested ones.");
        notes.add("Tokens of prompts are counted by the client's tokenizer, so their mean is left out.");
        for (JsonNode document : documents) {
            Told told = new Told(file, NAME);
            ClientSummary.load(told, document, "total_throughput");
            told.setting("tag", document.path("tag").asText(""));
            told.put(Metric.CONCURRENCY, told.number(document, "concurrency"));
            OptionalDouble hits = told.number(document, "cache_report", "total_cached_tokens");
            OptionalDouble prompts = told.number(document, "cache_report", "total_prompt_tokens");
            if (hits.isPresent() && prompts.orElse(0) > 0) {
                told.put(Metric.CACHED_SHARE, OptionalDouble.of(hits.getAsDouble() / prompts.getAsDouble()));
            }
            int answered = document.path("completed").asInt();
            int planned = answered;
            ClientSummary.times(told, document, "e2e_latency", Quantity.STREAM);
            if (ChunkLists.areIn(document)) {
                ChunkLists lists = new ChunkLists(document, file);
                lists.putInto(told, Quantity.TTFT);
                lists.errors().forEach(error -> told.failed(error, 1));
                planned += lists.errors().size();
            } else {
                ClientSummary.times(told, document, "ttft", Quantity.TTFT);
                ClientSummary.times(told, document, "itl", Quantity.ICL);
                notes.add(
                        "Its end-to-end latency runs to the end of the stream and is called stream here; TPOT, which is"
                                + " made of it, and e2e are left out: --output-details would give both.");
                notes.add("Its ITL is between chunks, whatever they hold: it is called icl here.");
                notes.add("How many requests failed is only in files with --output-details.");
            }
            results.add(told.result(document.path("dataset_name").asText(NAME), results.size() + 1, planned));
        }
        JsonNode server = documents.getFirst().path("server_info");
        Map<String, String> environment = new LinkedHashMap<>();
        if (server.path("version").isTextual()) {
            environment.put("server", "SGLang " + server.path("version").asText());
        }
        return new Imported(
                NAME,
                new ResultFile(
                        NAME,
                        server.path("served_model_name")
                                .asText(server.path("model_path").asText("unknown")),
                        "unknown",
                        environment,
                        results),
                notes.stream().distinct().toList());
    }
}
