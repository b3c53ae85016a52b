package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import java.util.OptionalDouble;

/** Figures that vLLM's and SGLang's clients name alike. */
final class ClientSummary {
    private static final double[] PERCENTILES = {50, 90, 95, 99};

    private ClientSummary() {}

    /** Throughput, tokens and how the load was sent. */
    static void load(Told told, JsonNode document, String total) {
        told.put(Metric.DURATION, told.number(document, "duration"));
        told.put(Metric.REQUEST_THROUGHPUT, told.number(document, "request_throughput"));
        told.put(Metric.OUTPUT_THROUGHPUT, told.number(document, "output_throughput"));
        told.put(Metric.TOTAL_THROUGHPUT, told.number(document, total));
        OptionalDouble tokens = told.number(document, "total_output_tokens");
        OptionalDouble completed = told.number(document, "completed");
        if (tokens.isPresent() && completed.orElse(0) > 0) {
            told.put(Metric.COMPLETION_TOKENS, OptionalDouble.of(tokens.getAsDouble() / completed.getAsDouble()));
        }
        JsonNode rate = document.path("request_rate");
        if (rate.isNumber() && Double.isFinite(rate.asDouble())) {
            told.setting("rate", OptionalDouble.of(rate.asDouble()));
        }
        if (document.path("max_concurrency").isNumber()) {
            told.setting("concurrency", told.number(document, "max_concurrency"));
        }
        told.api(document.path("backend").asText(document.path("endpoint_type").asText("")));
    }

    /**
     * Takes the tool's times of this word as a quantity of ours. The tool's deviation is that of all values, not of a
     * sample.
     */
    static void times(Told told, JsonNode document, String word, Quantity quantity) {
        told.time(Metric.mean(quantity), told.number(document, "mean_" + word + "_ms"));
        told.time(Metric.percentile(quantity, 50), told.number(document, "median_" + word + "_ms"));
        for (double percent : PERCENTILES) {
            told.time(
                    Metric.percentile(quantity, percent),
                    told.number(document, "p" + (int) percent + "_" + word + "_ms"));
        }
    }
}
