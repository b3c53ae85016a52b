package io.holdfast.workbench.bed;

import io.holdfast.http.MetricsText;
import io.holdfast.loadtest.run.RunClock;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * Time for which a server was busy with each stage of one request, by its own count: its histograms of stages before
 * and after, on an engine that serves nobody else. A stage is not measured where its histogram is missing, or has
 * counted other than one request.
 */
public record ServerStages(Map<Stage, Double> millis) {
    /** Number of looks at whether a finished request has been counted, and the time between two. */
    private static final int MOST_LOOKS = 20;

    private static final long PAUSE_NANOS = 50_000_000;

    /** Stages of a request in a server, in this order. */
    public enum Stage {
        PROCESS("tokenize and receive", "sglang:per_stage_req_latency_seconds|request_process"),
        QUEUE("queue and schedule", "vllm:request_queue_time_seconds", "sglang:queue_time_seconds"),
        PREFILL("prefill", "vllm:request_prefill_time_seconds", "sglang:per_stage_req_latency_seconds|prefill_forward"),
        DECODE("decode", "vllm:request_decode_time_seconds"),
        DETOKENIZE("detokenize"),
        CACHE_INSERTION("cache insertion"),
        WHOLE("whole request", "vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds");

        private final String text;
        /** Their names, a space between. */
        private final String metrics;

        Stage(String text, String... metrics) {
            this.text = text;
            this.metrics = String.join(" ", metrics);
        }

        String text() {
            return text;
        }
    }

    public ServerStages {
        millis = Map.copyOf(millis);
    }

    static ServerStages none() {
        return new ServerStages(Map.of());
    }

    Optional<Double> of(Stage stage) {
        return Optional.ofNullable(millis.get(stage));
    }

    /** Returns what was counted between two pages of metrics. */
    static ServerStages between(String pageBefore, String pageAfter) {
        MetricsText before = MetricsText.parse(pageBefore);
        MetricsText after = MetricsText.parse(pageAfter);
        Map<Stage, Double> millis = new EnumMap<>(Stage.class);
        for (Stage stage : Stage.values()) {
            for (String metric : stage.metrics.split(" ", -1)) {
                if (!metric.isEmpty() && sum(after, metric, "_count") - sum(before, metric, "_count") == 1) {
                    millis.put(stage, 1e3 * (sum(after, metric, "_sum") - sum(before, metric, "_sum")));
                }
            }
        }
        return new ServerStages(millis);
    }

    /**
     * Returns what has been counted since a page of metrics; waits a moment if the server has not counted the request
     * yet.
     */
    static ServerStages since(String before, Supplier<String> metrics, RunClock clock) {
        ServerStages seen = none();
        for (int look = 0; look < MOST_LOOKS && seen.of(Stage.WHOLE).isEmpty(); look++) {
            if (look > 0) {
                clock.sleep(PAUSE_NANOS);
            }
            String now = metrics.get();
            if (now.isEmpty()) {
                return none();
            }
            seen = between(before, now);
        }
        return seen;
    }

    /** @param metric a name, and after a bar the stage that its label names */
    private static double sum(MetricsText page, String metric, String part) {
        String[] name = metric.split("\\|", 2);
        return (name.length > 1 ? page.sum(name[0] + part, "stage", name[1]) : page.sum(name[0] + part)).orElse(0);
    }
}
