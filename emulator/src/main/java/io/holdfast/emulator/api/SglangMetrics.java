package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.Histogram;
import io.holdfast.emulator.sglang.SglangSettings;
import io.holdfast.emulator.sglang.SglangStats;
import io.holdfast.emulator.sglang.SglangWork;
import java.util.List;

/** SGLang's numbers under its names and labels. A counter that never counted is absent, as there. */
final class SglangMetrics {
    static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

    private static final String ENGINE = "engine_type=\"unified\"";
    private static final String CACHE = "cache_type=\"UnifiedRadixCache\",dp_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"";
    private static final List<String> OF_HOST_TIER = List.of(
            "hicache_host_used_tokens",
            "hicache_host_total_tokens",
            "hicache_dropped_tokens_total",
            "hicache_backup_tokens_total",
            "hicache_backup_bytes_total",
            "load_back_tokens_total",
            "load_back_bytes_total");

    private final String rest;
    private final SglangSettings settings;
    private final String model;
    private final AnswerTally answers;
    private final HttpTally http;

    SglangMetrics(SglangSettings settings, String model, AnswerTally answers, HttpTally http) {
        this.rest = Resources.text("sglang_metrics.txt");
        this.settings = settings;
        this.model = model;
        this.answers = answers;
        this.http = http;
    }

    String page(SglangStats stats) {
        MetricsPage page = MetricsPage.over(rest, model);
        sizes(page, stats);
        load(page, stats);
        answers(page, stats);
        http(page);
        if (stats.aborted() == 0) {
            page.without("sglang:num_aborted_requests_total");
        }
        if (settings.hostRatio() == 0) {
            OF_HOST_TIER.forEach(name -> page.without("sglang:" + name));
        } else {
            page.set("sglang:hicache_host_total_tokens", stats.hostTokens())
                    .set("sglang:hicache_host_used_tokens", stats.hostUsedTokens())
                    .set("sglang:load_back_tokens_total", stats.work().foundOnHost());
        }
        return page.text();
    }

    private void sizes(MetricsPage page, SglangStats stats) {
        page.set("sglang:max_total_num_tokens", stats.capacityTokens())
                .set("sglang:page_size", settings.pageTokens())
                .set("sglang:num_pages", stats.capacityTokens() / settings.pageTokens())
                .set("sglang:context_len", settings.contextTokens());
    }

    private static void load(MetricsPage page, SglangStats stats) {
        double usage = stats.usedTokens() / (double) stats.capacityTokens();
        page.set("sglang:num_running_reqs", stats.running())
                .set("sglang:num_queue_reqs", stats.waiting())
                .set("sglang:num_used_tokens", stats.usedTokens())
                .set("sglang:token_usage", usage)
                .set("sglang:full_token_usage", usage)
                .set("sglang:kv_available_tokens", stats.freeTokens())
                .set("sglang:kv_evictable_tokens", stats.evictableTokens())
                .set("sglang:kv_used_tokens", stats.usedTokens())
                .set("sglang:cache_hit_rate", stats.cacheHitRate())
                .set("sglang:new_token_ratio", stats.newTokenRatio())
                .set("sglang:gen_throughput", stats.work().genThroughput())
                .set("sglang:num_retracted_reqs", stats.work().recentlyRetracted());
    }

    private void answers(MetricsPage page, SglangStats stats) {
        AnswerTally.Kind whole = answers.of(false);
        AnswerTally.Kind streamed = answers.of(true);
        perKind(page, whole, false);
        perKind(page, streamed, true);
        String named = "model_name=" + MetricsPage.quoted(model);
        counted(
                page,
                "cached_tokens_total",
                "cache_source=\"device\"," + ENGINE + "," + named,
                whole.cachedOnDevice() + streamed.cachedOnDevice());
        counted(
                page,
                "cached_tokens_total",
                "cache_source=\"host\"," + ENGINE + "," + named,
                whole.cachedOnHost() + streamed.cachedOnHost());
        counted(page, "evicted_tokens_total", CACHE, stats.evictedTokens());
        counted(page, "num_aborted_requests_total", ENGINE + "," + named, stats.aborted());
        long cached = whole.cachedOnDevice() + streamed.cachedOnDevice();
        long prompts = whole.promptTokens() + streamed.promptTokens();
        long onHost = whole.cachedOnHost() + streamed.cachedOnHost();
        SglangWork work = stats.work();
        page.set("sglang:prefill_effective_tokens_total", "mode=\"input\"", prompts - cached - onHost)
                .set("sglang:prefill_effective_tokens_total", "mode=\"device_hit\"", cached)
                .set("sglang:prefill_effective_tokens_total", "mode=\"host_hit\"", onHost)
                .set("sglang:realtime_tokens_total", "mode=\"prefill_compute\"", work.computedTokens())
                .set("sglang:realtime_tokens_total", "mode=\"prefill_cache\"", work.foundTokens())
                .set("sglang:realtime_tokens_total", "mode=\"decode\"", work.decodedTokens());
        histogram(page, "prompt_tokens_histogram", ENGINE, answers.prompts());
        histogram(page, "uncached_prompt_tokens_histogram", ENGINE, answers.uncached());
        histogram(page, "generation_tokens_histogram", ENGINE, answers.answers());
    }

    private void perKind(MetricsPage page, AnswerTally.Kind kind, boolean streamed) {
        String labels = ENGINE + ",is_streaming=\"" + streamed + "\"";
        String named = labels + ",model_name=" + MetricsPage.quoted(model);
        counted(page, "prompt_tokens_total", named, kind.promptTokens());
        counted(page, "generation_tokens_total", named, kind.answerTokens());
        counted(page, "num_requests_total", named, kind.requests());
        histogram(page, "time_to_first_token_seconds", labels, kind.firstToken());
        histogram(page, "e2e_request_latency_seconds", labels, kind.whole());
        histogram(page, "request_time_per_output_token_seconds", labels, kind.perToken());
        if (streamed) {
            histogram(page, "inter_token_latency_seconds", ENGINE, kind.between());
        }
    }

    private void histogram(MetricsPage page, String name, String before, Histogram histogram) {
        if (histogram.count() > 0) {
            page.histogram("sglang:" + name, before, "model_name=" + MetricsPage.quoted(model), histogram);
        }
    }

    private static void counted(MetricsPage page, String name, String labels, long value) {
        if (value > 0) {
            page.put("sglang:" + name, labels, value);
        }
    }

    private void http(MetricsPage page) {
        for (HttpTally.Line line : http.lines()) {
            String labels = "endpoint=\"" + line.path() + "\",method=\"" + line.method() + "\"";
            page.put("sglang:http_requests_total", labels, line.requests())
                    .put("sglang:http_requests_active", labels, line.open());
            line.responses()
                    .forEach((status, count) ->
                            page.put("sglang:http_responses_total", labels + ",status_code=\"" + status + "\"", count));
        }
    }
}
