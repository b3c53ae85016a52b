package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.function.Function;

/** guidellm's JSON: a result for each of its benchmarks, from the requests that it lists. */
final class Guidellm implements ToolFormat {
    @Override
    public boolean wrote(JsonNode first) {
        return first.path("benchmarks").isArray()
                && first.path("benchmarks").path(0).path("metrics").has("time_to_first_token_ms");
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        JsonNode document = documents.getFirst();
        String name = ("guidellm "
                        + document.path("metadata").path("guidellm_version").asText(""))
                .strip();
        List<LoadResult> results = new ArrayList<>();
        List<String> notes = new ArrayList<>();
        notes.add(
                "Its TPOT is left out: it is the whole time of a request over its tokens, with the wait for the first;"
                        + " its ITL is the mean after the first token, our TPOT.");
        notes.add("Its request latency runs to the end of the stream and is called stream here; e2e is to the last"
                + " token.");
        for (JsonNode benchmark : document.path("benchmarks")) {
            results.add(result(benchmark, results.size() + 1, name, file, notes));
        }
        return new Imported(
                name,
                new ResultFile(
                        "guidellm",
                        document.path("benchmarks")
                                .path(0)
                                .path("config")
                                .path("backend")
                                .path("model")
                                .asText("unknown"),
                        "unknown",
                        Map.of(),
                        results),
                notes.stream().distinct().toList());
    }

    private static LoadResult result(JsonNode benchmark, int number, String name, Path file, List<String> notes) {
        Told told = new Told(file, name);
        JsonNode good = benchmark.path("requests").path("successful");
        int answered = benchmark
                .path("metrics")
                .path("request_totals")
                .path("successful")
                .asInt(good.size());
        int errored =
                benchmark.path("metrics").path("request_totals").path("errored").asInt(0);
        int cut = benchmark
                .path("metrics")
                .path("request_totals")
                .path("incomplete")
                .asInt(0);
        if (good.size() < answered) {
            throw new LoadTestException("The file " + file + " of " + name + " lists " + good.size() + " of " + answered
                    + " requests; run it without sampling, so that figures by one definition can be computed.");
        }
        if (cut > 0) {
            notes.add("Requests that were under way when a benchmark ended are in no figure.");
        }
        JsonNode failed = benchmark.path("requests").path("errored");
        failed.forEach(each -> told.failed(each.path("info").path("error").asText("failed"), 1));
        told.failed("failed", errored - failed.size());
        List<Answer> answers = new ArrayList<>();
        good.forEach(each -> answers.add(Answer.of(each, told)));
        values(told, Quantity.TTFT, answers, Answer::toFirst);
        values(told, Quantity.TTFO, answers, Answer::firstOutput);
        values(told, Quantity.TPOT, answers, Answer::perToken);
        values(told, Quantity.E2E, answers, Answer::toLast);
        values(told, Quantity.STREAM, answers, Answer::stream);
        load(told, answers);
        JsonNode strategy = benchmark.path("config").path("strategy");
        told.setting("rate", told.number(strategy, "rate"));
        told.setting("concurrency", told.number(strategy, "streams"));
        if (strategy.path("type_").asText().equals("synchronous")) {
            told.setting("concurrency", OptionalDouble.of(1));
        }
        told.api(benchmark.path("config").path("backend").path("request_format").asText(""));
        return told.result(strategy.path("type_").asText("guidellm"), number, answered + errored);
    }

    private static void values(
            Told told, Quantity quantity, List<Answer> answers, Function<Answer, OptionalDouble> value) {
        told.values(
                quantity,
                answers.stream()
                        .flatMapToDouble(answer -> value.apply(answer).stream())
                        .filter(millis -> millis > 0)
                        .toArray());
    }

    /** Throughput from the first sent to the last token; means of tokens where the server told them. */
    private static void load(Told told, List<Answer> answers) {
        double begun = answers.stream().mapToDouble(Answer::sent).min().orElse(0);
        double ended = answers.stream()
                .flatMapToDouble(answer -> answer.last().stream())
                .max()
                .orElse(begun);
        double tokens = answers.stream().mapToDouble(Answer::tokens).sum();
        double prompts = answers.stream().mapToDouble(Answer::prompt).sum();
        if (ended > begun) {
            told.put(Metric.DURATION, OptionalDouble.of(ended - begun));
            told.put(Metric.REQUEST_THROUGHPUT, OptionalDouble.of(answers.size() / (ended - begun)));
            told.put(Metric.OUTPUT_THROUGHPUT, OptionalDouble.of(tokens / (ended - begun)));
            told.put(Metric.TOTAL_THROUGHPUT, OptionalDouble.of((tokens + prompts) / (ended - begun)));
            told.put(Metric.COMPLETION_TOKENS, OptionalDouble.of(tokens / answers.size()));
            told.put(Metric.PROMPT_TOKENS, OptionalDouble.of(prompts / answers.size()));
        }
        if (prompts > 0 && answers.stream().allMatch(answer -> answer.hit().isPresent())) {
            double hits = answers.stream()
                    .mapToDouble(answer -> answer.hit().getAsDouble())
                    .sum();
            told.put(Metric.CACHED_SHARE, OptionalDouble.of(hits / prompts));
        }
    }

    /**
     * One that was answered; moments in seconds, {@code firstOutput} and {@code stream} in milliseconds from when it
     * was sent.
     */
    private record Answer(
            double sent,
            OptionalDouble first,
            OptionalDouble firstOutput,
            OptionalDouble last,
            OptionalDouble stream,
            double tokens,
            double prompt,
            OptionalDouble hit) {
        static Answer of(JsonNode request, Told told) {
            JsonNode timings = request.path("info").path("timings");
            OptionalDouble stream = told.number(request, "request_latency");
            return new Answer(
                    told.number(timings, "request_start").orElse(0),
                    told.number(timings, "first_token_iteration"),
                    told.number(request, "time_to_first_output_token_ms"),
                    told.number(timings, "last_token_iteration"),
                    stream.isPresent() ? OptionalDouble.of(1e3 * stream.getAsDouble()) : stream,
                    told.number(request, "output_tokens").orElse(0),
                    told.number(request, "prompt_tokens").orElse(0),
                    told.number(request, "cached_tokens"));
        }

        OptionalDouble toFirst() {
            return first.isPresent() ? OptionalDouble.of(1e3 * (first.getAsDouble() - sent)) : first;
        }

        OptionalDouble toLast() {
            return last.isPresent() ? OptionalDouble.of(1e3 * (last.getAsDouble() - sent)) : last;
        }

        OptionalDouble perToken() {
            return first.isPresent() && last.isPresent() && tokens > 1
                    ? OptionalDouble.of(1e3 * (last.getAsDouble() - first.getAsDouble()) / (tokens - 1))
                    : OptionalDouble.empty();
        }
    }
}
