package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/** aiperf's {@code profile_export.jsonl}: a line for each request. */
final class AiperfRecords implements ToolFormat {
    private static final String NAME = "aiperf";

    @Override
    public boolean wrote(JsonNode first) {
        return first.path("metadata").has("request_start_ns")
                && first.path("metadata").has("benchmark_phase");
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        Told told = new Told(file, NAME);
        List<JsonNode> measured = documents.stream()
                .filter(each ->
                        each.path("metadata").path("benchmark_phase").asText().equals("profiling"))
                .toList();
        List<Answer> answers = new ArrayList<>();
        for (JsonNode each : measured) {
            if (each.hasNonNull("error")) {
                told.failed(
                        each.path("error")
                                .path("message")
                                .asText(each.path("error").asText("failed")),
                        1);
            } else {
                answers.add(Answer.of(each, told));
            }
        }
        List<String> notes = new ArrayList<>();
        notes.add(
                "The file does not tell aiperf's version nor how the load was sent; profile_export_aiperf.json does.");
        times(told, Quantity.TTFT, answers.stream().map(Answer::first));
        times(told, Quantity.TTFO, answers.stream().map(Answer::firstOutput));
        times(told, Quantity.E2E, answers.stream().map(Answer::last));
        times(told, Quantity.TPOT, answers.stream().map(Answer::perToken));
        double[] gaps = answers.stream()
                .flatMapToDouble(answer -> answer.gaps.stream().mapToDouble(Double::doubleValue))
                .toArray();
        told.values(Quantity.ICL, gaps);
        if (answers.stream().allMatch(answer -> answer.tokens.orElse(0) - 1 == answer.gaps.size())) {
            told.values(Quantity.ITL, gaps);
        }
        load(told, answers);
        LoadResult result = told.result(NAME, 1, measured.size());
        return new Imported(NAME, new ResultFile(NAME, "unknown", "unknown", Map.of(), List.of(result)), notes);
    }

    private static void times(Told told, Quantity quantity, Stream<OptionalDouble> values) {
        told.values(
                quantity,
                values.flatMapToDouble(OptionalDouble::stream)
                        .filter(millis -> millis > 0)
                        .toArray());
    }

    /** Throughput from the first sent to the last token, and tokens as the server counts them. */
    private static void load(Told told, List<Answer> answers) {
        OptionalDouble begun =
                answers.stream().mapToDouble(answer -> answer.begun).min();
        OptionalDouble ended = answers.stream()
                .filter(answer -> answer.last.isPresent())
                .mapToDouble(answer -> answer.begun + answer.last.getAsDouble() / 1e3)
                .max();
        OptionalDouble tokens = sum(answers.stream().map(Answer::tokens).toList());
        OptionalDouble prompts = sum(answers.stream().map(Answer::prompt).toList());
        OptionalDouble hits = sum(answers.stream().map(Answer::hit).toList());
        if (begun.isPresent() && ended.isPresent() && ended.getAsDouble() > begun.getAsDouble()) {
            double seconds = ended.getAsDouble() - begun.getAsDouble();
            told.put(Metric.DURATION, OptionalDouble.of(seconds));
            told.put(Metric.REQUEST_THROUGHPUT, OptionalDouble.of(answers.size() / seconds));
            tokens.ifPresent(sum -> told.put(Metric.OUTPUT_THROUGHPUT, OptionalDouble.of(sum / seconds)));
            if (tokens.isPresent() && prompts.isPresent()) {
                told.put(
                        Metric.TOTAL_THROUGHPUT,
                        OptionalDouble.of((tokens.getAsDouble() + prompts.getAsDouble()) / seconds));
            }
        }
        tokens.ifPresent(sum -> told.put(Metric.COMPLETION_TOKENS, OptionalDouble.of(sum / answers.size())));
        prompts.ifPresent(sum -> told.put(Metric.PROMPT_TOKENS, OptionalDouble.of(sum / answers.size())));
        if (hits.isPresent() && prompts.orElse(0) > 0) {
            told.put(Metric.CACHED_SHARE, OptionalDouble.of(hits.getAsDouble() / prompts.getAsDouble()));
        }
    }

    /** Absent where one of them does not tell. */
    private static OptionalDouble sum(List<OptionalDouble> all) {
        return all.isEmpty() || all.stream().anyMatch(OptionalDouble::isEmpty)
                ? OptionalDouble.empty()
                : OptionalDouble.of(
                        all.stream().mapToDouble(OptionalDouble::getAsDouble).sum());
    }

    /** One that was answered; times in milliseconds, and when it began in seconds. */
    private record Answer(
            double begun,
            OptionalDouble first,
            OptionalDouble firstOutput,
            OptionalDouble last,
            List<Double> gaps,
            OptionalDouble tokens,
            OptionalDouble prompt,
            OptionalDouble hit) {
        static Answer of(JsonNode line, Told told) {
            JsonNode metrics = line.path("metrics");
            List<Double> gaps = new ArrayList<>();
            metrics.path("inter_chunk_latency").path("value").forEach(gap -> gaps.add(gap.asDouble()));
            return new Answer(
                    line.path("metadata").path("request_start_ns").asDouble() / 1e9,
                    told.number(metrics, "time_to_first_token", "value"),
                    told.number(metrics, "time_to_first_output_token", "value"),
                    told.number(metrics, "request_latency", "value"),
                    List.copyOf(gaps),
                    told.number(metrics, "usage_completion_tokens", "value"),
                    told.number(metrics, "usage_prompt_tokens", "value"),
                    told.number(metrics, "usage_prompt_cache_read_tokens", "value"));
        }

        /** Returns the time for a token after the first, over the tokens that the server counted. */
        OptionalDouble perToken() {
            return first.isPresent() && last.isPresent() && tokens.orElse(0) > 1
                    ? OptionalDouble.of((last.getAsDouble() - first.getAsDouble()) / (tokens.getAsDouble() - 1))
                    : OptionalDouble.empty();
        }
    }
}
