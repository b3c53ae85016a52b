package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.AnswerTally;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.MetricsPage;
import io.holdfast.emulator.api.Resources;
import io.holdfast.rules.engine.Histogram;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import io.holdfast.rules.vllm.VllmStats;
import io.holdfast.rules.vllm.VllmTimes;
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
        this.rest = Resources.text(VllmMetrics.class, "vllm_metrics.txt")
                        .replace(
                                "@INFO@",
                                "vllm:cache_config_info{" + new VllmInfo(settings, server).cacheConfig() + "}")
                + (settings.nixlLease().isPresent() ? Resources.text(VllmMetrics.class, "nixl_metrics.txt") : "");
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

    /** @param ranks the numbers of each data-parallel rank */
    String page(List<VllmStats> ranks) {
        MetricsPage page = MetricsPage.over(rest, model)
                .forRanks(ranks.size(), engine(0), (sample, rank) -> sample.replace(engine(0), engine(rank)));
        for (int rank = 0; rank < ranks.size(); rank++) {
            numbers(page, ranks.get(rank), engine(rank));
            times(page, ranks.get(rank), engine(rank));
            if (settings.nixlLease().isPresent()) {
                page.set("vllm:nixl_num_kv_expired_reqs_total", ranks.get(rank).expiredLeases(), engine(rank));
            }
        }
        String first = engine(0);
        page.set("vllm:request_success_total", answers.ended(Choice.End.Length.class), "\"length\"", first)
                .set("vllm:request_success_total", answers.ended(Choice.End.Stopped.class), "\"stop\"", first);
        histogram(page, "request_prompt_tokens", answers.prompts(), first);
        histogram(page, "request_generation_tokens", answers.answers(), first);
        histogram(page, "request_prefill_kv_computed_tokens", answers.uncached(), first);
        return page.text();
    }

    private static String engine(int rank) {
        return "engine=\"" + rank + "\"";
    }

    private static void numbers(MetricsPage page, VllmStats stats, String own) {
        long computed = Math.max(0, stats.promptTokens() - stats.cachedTokens());
        page.set("vllm:num_requests_running", stats.running(), own)
                .set("vllm:num_requests_waiting", stats.waiting(), own)
                .set("vllm:num_requests_waiting_by_reason", stats.waiting(), "reason=\"capacity\"", own)
                .set("vllm:kv_cache_usage_perc", stats.usage(), own)
                .set("vllm:prefix_cache_queries_total", stats.prefixQueries(), own)
                .set("vllm:prefix_cache_hits_total", stats.prefixHits(), own)
                .set("vllm:num_preemptions_total", stats.preemptions(), own)
                .set("vllm:prompt_tokens_total", stats.promptTokens(), own)
                .set("vllm:prompt_tokens_by_source_total", computed, "local_compute", own)
                .set("vllm:prompt_tokens_by_source_total", stats.cachedTokens(), "local_cache_hit", own)
                .set("vllm:prompt_tokens_cached_total", stats.cachedTokens(), own)
                .set("vllm:prompt_tokens_cached_by_source_total", stats.cachedTokens(), "source=\"device\"", own)
                .set("vllm:generation_tokens_total", stats.generatedTokens(), own)
                .set("vllm:request_success_total", stats.aborted(), "\"abort\"", own)
                .set("vllm:request_success_total", stats.failed(), "\"error\"", own);
    }

    private void times(MetricsPage page, VllmStats stats, String own) {
        VllmTimes times = stats.times();
        histogram(page, "time_to_first_token_seconds", stats.answered().ttft(), own);
        histogram(page, "inter_token_latency_seconds", times.betweenTokens(), own);
        histogram(page, "request_time_per_output_token_seconds", times.perToken(), own);
        histogram(page, "e2e_request_latency_seconds", times.wholeRequest(), own);
        histogram(page, "request_queue_time_seconds", times.queue(), own);
        histogram(page, "request_inference_time_seconds", times.inference(), own);
        histogram(page, "request_prefill_time_seconds", times.prefill(), own);
        histogram(page, "request_decode_time_seconds", times.decode(), own);
    }

    private void histogram(MetricsPage page, String name, Histogram histogram, String own) {
        page.plainHistogram("vllm:" + name, own, "model_name=" + MetricsPage.quoted(model), histogram);
    }
}
