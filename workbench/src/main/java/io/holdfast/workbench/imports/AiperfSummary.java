package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;

/** aiperf's {@code profile_export_aiperf.json}. */
final class AiperfSummary implements ToolFormat {
    private static final double[] PERCENTILES = {50, 90, 95, 99};
    /** Between the tokens that the server counted and those of the client's tokenizer, as a share. */
    private static final double SAME_TOKENS = 0.005;

    @Override
    public boolean wrote(JsonNode first) {
        return first.has("aiperf_version")
                || first.path("records").has("request_throughput")
                || first.path("request_throughput").has("unit");
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        JsonNode document = documents.getFirst();
        String name = ("aiperf " + document.path("aiperf_version").asText("")).strip();
        // Older ones have the figures one level deeper.
        JsonNode figures = document.has("records") ? document.path("records") : document;
        Told told = new Told(file, name);
        List<String> notes = new ArrayList<>();
        told.put(Metric.REQUEST_THROUGHPUT, told.number(figures, "request_throughput", "avg"));
        told.put(Metric.GOODPUT, told.number(figures, "goodput", "avg"));
        OptionalDouble seconds = told.number(figures, "benchmark_duration", "avg");
        told.put(Metric.DURATION, seconds);
        tokens(told, figures, seconds);
        times(told, figures, "time_to_first_token", Quantity.TTFT);
        times(told, figures, "time_to_first_output_token", Quantity.TTFO);
        times(told, figures, "request_latency", Quantity.E2E);
        times(told, figures, "inter_chunk_latency", Quantity.ICL);
        OptionalDouble counted = told.number(figures, "usage_completion_tokens", "avg");
        OptionalDouble divided = told.number(figures, "output_sequence_length", "avg");
        if (counted.isPresent()
                && divided.isPresent()
                && Math.abs(divided.getAsDouble() / counted.getAsDouble() - 1) <= SAME_TOKENS) {
            times(told, figures, "inter_token_latency", Quantity.TPOT);
        } else {
            notes.add("Its ITL, our TPOT, is left out: it is divided by the tokens of the client's tokenizer ("
                    + text(divided) + " an answer), and the server counted " + text(counted)
                    + "; profile_export.jsonl of the same run lets it be computed.");
        }
        notes.add("Deviations are left out: they are those of all values, not of a sample.");
        told.setting("concurrency", told.number(phase(document), "concurrency"));
        told.setting("rate", told.number(phase(document), "rate"));
        told.api(document.path("input_config").path("endpoint").path("type").asText(""));
        int failed = (int) told.number(figures, "error_request_count", "avg").orElse(0);
        told.failed("failed", failed);
        int answered = (int) told.number(figures, "request_count", "avg").orElse(0);
        LoadResult result = told.result("aiperf", 1, answered + failed);
        return new Imported(
                "aiperf",
                new ResultFile(
                        "aiperf",
                        document.path("input_config")
                                .path("models")
                                .path("items")
                                .path(0)
                                .path("name")
                                .asText("unknown"),
                        document.path("start_time").asText("unknown"),
                        Map.of(),
                        List.of(result)),
                notes);
    }

    private static String text(OptionalDouble value) {
        return value.isPresent() ? String.format(Locale.ROOT, "%.1f", value.getAsDouble()) : "nothing";
    }

    private static JsonNode phase(JsonNode document) {
        JsonNode phases = document.path("input_config").path("phases");
        return phases.path(Math.max(0, phases.size() - 1));
    }

    /** Tokens as the server counts them; aiperf's own throughput is of its tokenizer's. */
    private static void tokens(Told told, JsonNode figures, OptionalDouble seconds) {
        OptionalDouble prompts = told.number(figures, "total_usage_prompt_tokens", "avg");
        OptionalDouble answers = told.number(figures, "total_usage_completion_tokens", "avg");
        OptionalDouble hits = told.number(figures, "total_usage_prompt_cache_read_tokens", "avg");
        told.put(Metric.PROMPT_TOKENS, told.number(figures, "usage_prompt_tokens", "avg"));
        told.put(Metric.COMPLETION_TOKENS, told.number(figures, "usage_completion_tokens", "avg"));
        if (seconds.orElse(0) > 0 && answers.isPresent()) {
            told.put(Metric.OUTPUT_THROUGHPUT, OptionalDouble.of(answers.getAsDouble() / seconds.getAsDouble()));
            if (prompts.isPresent()) {
                told.put(
                        Metric.TOTAL_THROUGHPUT,
                        OptionalDouble.of((answers.getAsDouble() + prompts.getAsDouble()) / seconds.getAsDouble()));
            }
        }
        if (hits.isPresent() && prompts.orElse(0) > 0) {
            told.put(Metric.CACHED_SHARE, OptionalDouble.of(hits.getAsDouble() / prompts.getAsDouble()));
        }
    }

    private static void times(Told told, JsonNode figures, String name, Quantity quantity) {
        if (figures.path(name).isObject()
                && !figures.path(name).path("unit").asText("ms").equals("ms")) {
            return;
        }
        told.time(Metric.mean(quantity), told.number(figures, name, "avg"));
        for (double percent : PERCENTILES) {
            told.time(Metric.percentile(quantity, percent), told.number(figures, name, "p" + (int) percent));
        }
        told.time(Metric.min(quantity), told.number(figures, name, "min"));
        told.time(Metric.max(quantity), told.number(figures, name, "max"));
    }
}
