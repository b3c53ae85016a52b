package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.Histogram;
import io.holdfast.emulator.vllm.VllmSettings;
import io.holdfast.emulator.vllm.VllmSettings.Release;
import io.holdfast.emulator.vllm.VllmStats;
import java.util.ArrayList;
import java.util.List;

/** vLLM's numbers under its names and labels. */
final class VllmMetrics {
    static final String CONTENT_TYPE = "text/plain; version=1.0.0; charset=utf-8";
    private static final String OLD_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

    private final String rest;
    private final VllmSettings settings;
    private final String model;
    private final AnswerTally answers;

    VllmMetrics(VllmSettings settings, ApiSettings server, AnswerTally answers) {
        this.rest = Resources.text("vllm_metrics.txt")
                .replace("@INFO@", "vllm:cache_config_info{" + new VllmInfo(settings, server).cacheConfig() + "}");
        this.settings = settings;
        this.model = server.model();
        this.answers = answers;
    }

    /** The numbers that the engine puts tokens of a request in: 1, 2, 5, 10 and so on up to the longest. */
    static List<Double> tokenBounds(int longest) {
        List<Double> bounds = new ArrayList<>();
        for (long ten = 1; ten <= longest; ten *= 10) {
            for (int step : new int[] {1, 2, 5}) {
                if (step * ten <= longest) {
                    bounds.add((double) step * ten);
                }
            }
        }
        return bounds;
    }

    String contentType() {
        return settings.release() == Release.V0_32 ? CONTENT_TYPE : OLD_CONTENT_TYPE;
    }

    String page(VllmStats stats) {
        MetricsPage page = MetricsPage.over(rest, model);
        page.set("vllm:num_requests_running", stats.running())
                .set("vllm:num_requests_waiting", stats.waiting())
                .set("vllm:num_requests_waiting_by_reason", "reason=\"capacity\"", stats.waiting())
                .set("vllm:kv_cache_usage_perc", stats.usage())
                .set("vllm:prefix_cache_queries_total", stats.prefixQueries())
                .set("vllm:prefix_cache_hits_total", stats.prefixHits())
                .set("vllm:num_preemptions_total", stats.preemptions())
                .set("vllm:prompt_tokens_total", stats.promptTokens())
                .set(
                        "vllm:prompt_tokens_by_source_total",
                        "local_compute",
                        Math.max(0, stats.promptTokens() - stats.cachedTokens()))
                .set("vllm:prompt_tokens_by_source_total", "local_cache_hit", stats.cachedTokens())
                .set("vllm:prompt_tokens_cached_total", stats.cachedTokens())
                .set("vllm:prompt_tokens_cached_by_source_total", "source=\"device\"", stats.cachedTokens())
                .set("vllm:generation_tokens_total", stats.generatedTokens())
                .set("vllm:request_success_total", "\"length\"", answers.ended(Choice.End.Length.class))
                .set("vllm:request_success_total", "\"stop\"", answers.ended(Choice.End.Stopped.class))
                .set("vllm:request_success_total", "\"abort\"", stats.aborted());
        histogram(page, "request_prompt_tokens", answers.prompts());
        histogram(page, "request_generation_tokens", answers.answers());
        histogram(page, "request_prefill_kv_computed_tokens", answers.uncached());
        histogram(page, "time_to_first_token_seconds", firstToken(stats));
        histogram(page, "inter_token_latency_seconds", stats.times().betweenTokens());
        histogram(page, "request_time_per_output_token_seconds", stats.times().perToken());
        histogram(page, "e2e_request_latency_seconds", stats.times().wholeRequest());
        histogram(page, "request_queue_time_seconds", stats.times().queue());
        histogram(page, "request_inference_time_seconds", stats.times().inference());
        histogram(page, "request_prefill_time_seconds", stats.times().prefill());
        histogram(page, "request_decode_time_seconds", stats.times().decode());
        return page.text();
    }

    private static Histogram firstToken(VllmStats stats) {
        return stats.answered().ttft();
    }

    private void histogram(MetricsPage page, String name, Histogram histogram) {
        page.plainHistogram("vllm:" + name, "engine=\"0\"", "model_name=" + MetricsPage.quoted(model), histogram);
    }
}
