package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.AnswerTally;
import io.holdfast.emulator.api.HttpTally;
import io.holdfast.emulator.api.MetricsPage;
import io.holdfast.emulator.api.Resources;
import io.holdfast.rules.engine.Histogram;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangStats;
import io.holdfast.rules.sglang.SglangWork;
import java.util.List;

/** SGLang's numbers under its names and labels. A counter that never counted is absent, as there. */
final class SglangMetrics {
    static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

    private static final String ENGINE = "engine_type=\"unified\"";
    private static final String SCHEDULER = ENGINE + ",model_name=%s,moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"";
    private static final List<String> OF_HOST_TIER = List.of(
            "hicache_host_used_tokens",
            "hicache_host_total_tokens",
            "hicache_dropped_tokens_total",
            "hicache_backup_tokens_total",
            "hicache_backup_bytes_total",
            "load_back_tokens_total",
            "load_back_bytes_total");

    private static final List<String> RARE = List.of(
            "num_aborted_requests_total",
            "num_retracted_requests_total",
            "num_retracted_input_tokens_total",
            "num_retracted_output_tokens_total");
    private static final String MODE = "mode=\"%s\"";

    private final String rest;
    private final SglangSettings settings;
    private final String model;
    private final AnswerTally answers;
    private final HttpTally http;

    SglangMetrics(SglangSettings settings, String model, AnswerTally answers, HttpTally http) {
        this.rest = Resources.text(SglangMetrics.class, "sglang_metrics.txt");
        this.settings = settings;
        this.model = model;
        this.answers = answers;
        this.http = http;
    }

    /** @param ranks the numbers of each data-parallel rank */
    String page(List<SglangStats> ranks) {
        MetricsPage page = MetricsPage.over(rest, model);
        if (ranks.size() > 1) {
            page.forRanks(ranks.size(), "{engine_type=\"unified\"", SglangMetrics::ofRank)
                    .forRanks(ranks.size(), "cache_type=", SglangMetrics::ofRank);
        }
        for (int rank = 0; rank < ranks.size(); rank++) {
            SglangStats stats = ranks.get(rank);
            String own = ranks.size() > 1 ? dpRank(rank) : "";
            sizes(page, stats, own);
            load(page, stats, own);
            work(page, stats, rank, own);
        }
        if (settings.hostRatio() == 0) {
            OF_HOST_TIER.forEach(name -> page.without("sglang:" + name));
        }
        answers(page);
        long aborted = ranks.stream().mapToLong(SglangStats::aborted).sum();
        counted(page, "num_aborted_requests_total", ENGINE + ",model_name=" + MetricsPage.quoted(model), aborted);
        RARE.forEach(name -> page.withoutIfEmpty("sglang:" + name));
        http(page);
        return page.text();
    }

    private static String dpRank(int rank) {
        return "dp_rank=\"" + rank + "\"";
    }

    private static String ofRank(String sample, int rank) {
        return sample.contains("dp_rank=")
                ? sample.replace(dpRank(0), dpRank(rank))
                : sample.replace("{engine_type", "{" + dpRank(rank) + ",engine_type");
    }

    private void sizes(MetricsPage page, SglangStats stats, String own) {
        page.set("sglang:max_total_num_tokens", stats.capacityTokens(), own)
                .set("sglang:page_size", settings.pageTokens(), own)
                .set("sglang:num_pages", stats.capacityTokens() / settings.pageTokens(), own)
                .set("sglang:context_len", settings.contextTokens(), own)
                .set("sglang:hicache_host_used_tokens", stats.hostUsedTokens(), own)
                .set("sglang:hicache_host_total_tokens", stats.hostTokens(), own);
    }

    private static void load(MetricsPage page, SglangStats stats, String own) {
        double usage = stats.usedTokens() / (double) stats.capacityTokens();
        page.set("sglang:num_running_reqs", stats.running(), own)
                .set("sglang:num_queue_reqs", stats.waiting(), own)
                .set("sglang:num_used_tokens", stats.usedTokens(), own)
                .set("sglang:token_usage", usage, own)
                .set("sglang:full_token_usage", usage, own)
                .set("sglang:kv_available_tokens", stats.freeTokens(), own)
                .set("sglang:kv_evictable_tokens", stats.evictableTokens(), own)
                .set("sglang:kv_used_tokens", stats.usedTokens(), own)
                .set("sglang:cache_hit_rate", stats.cacheHitRate(), own)
                .set("sglang:new_token_ratio", stats.newTokenRatio(), own)
                .set("sglang:gen_throughput", stats.work().genThroughput(), own)
                .set("sglang:num_retracted_reqs", stats.work().recentlyRetracted(), own);
    }

    private void work(MetricsPage page, SglangStats stats, int rank, String own) {
        SglangWork work = stats.work();
        long onDevice = work.foundTokens() - work.foundOnHost();
        page.set("sglang:prefill_effective_tokens_total", work.computedTokens(), MODE.formatted("input"), own)
                .set("sglang:prefill_effective_tokens_total", onDevice, MODE.formatted("device_hit"), own)
                .set("sglang:prefill_effective_tokens_total", work.foundOnHost(), MODE.formatted("host_hit"), own)
                .set("sglang:realtime_tokens_total", work.computedTokens(), MODE.formatted("prefill_compute"), own)
                .set("sglang:realtime_tokens_total", work.foundTokens(), MODE.formatted("prefill_cache"), own)
                .set("sglang:realtime_tokens_total", work.decodedTokens(), MODE.formatted("decode"), own)
                .set("sglang:load_back_tokens_total", work.foundOnHost(), dpRank(rank));
        counted(
                page,
                "evicted_tokens_total",
                "cache_type=\"UnifiedRadixCache\",dp_rank=\"" + rank + "\",pp_rank=\"0\",tp_rank=\"0\"",
                stats.evictedTokens());
        String labels = (own.isEmpty() ? "" : own + ",") + SCHEDULER.formatted(MetricsPage.quoted(model));
        counted(page, "num_retracted_requests_total", labels, work.retracted());
        counted(page, "num_retracted_input_tokens_total", labels, work.retractedPromptTokens());
        counted(page, "num_retracted_output_tokens_total", labels, work.retractedAnswerTokens());
    }

    private void answers(MetricsPage page) {
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
