package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.Histogram;
import io.holdfast.emulator.sglang.SglangSettings;
import io.holdfast.emulator.sglang.SglangStats;
import java.util.List;

/** The engine's numbers in Prometheus' text form, by the engine's names and labels. A counter never counted is absent. */
final class SglangMetrics {
    static final String CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

    private static final String MODEL = "engine_type=\"unified\",";
    private static final String NAME = "model_name=\"" + Tokenizer.NAME + "\"";
    private static final String SCHEDULER = MODEL + NAME + ",moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"";

    private final StringBuilder text = new StringBuilder();

    private SglangMetrics() {}

    static String of(SglangStats stats, SglangSettings settings) {
        SglangMetrics page = new SglangMetrics();
        page.gauges(stats, settings);
        page.counters(stats);
        page.timeToFirstToken(stats);
        return page.text.toString();
    }

    private void gauges(SglangStats stats, SglangSettings settings) {
        int capacity = stats.capacityTokens();
        int pages = capacity / settings.pageTokens();
        double usage = stats.usedTokens() / (double) capacity;
        gauge("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", capacity);
        gauge("page_size", "KV cache page size in tokens.", settings.pageTokens());
        gauge("num_pages", "Number of KV cache pages.", pages);
        gauge("context_len", "Maximum context length.", settings.contextTokens());
        gauge("num_running_reqs", "The number of running requests.", stats.running());
        gauge("num_queue_reqs", "The number of requests in the waiting queue.", stats.waiting());
        gauge("num_used_tokens", "The number of used tokens.", stats.usedTokens());
        gauge("token_usage", "The token usage.", usage);
        gauge("kv_available_tokens", "Number of free token slots in the KV cache pool.", stats.freeTokens());
        gauge("kv_evictable_tokens", "Number of evictable token slots in the KV cache pool.", stats.evictableTokens());
        gauge("kv_used_tokens", "Number of actively used token slots in the KV cache pool.", stats.usedTokens());
        gauge("cache_hit_rate", "The prefix cache hit rate.", stats.cacheHitRate());
        gauge("new_token_ratio", "The new token ratio.", stats.newTokenRatio());
        gauge("num_retracted_reqs", "The number of retracted requests.", (double) stats.retracted());
    }

    private void counters(SglangStats stats) {
        head("prompt_tokens_total", "Number of prefill tokens processed.", "counter");
        perKind(
                "prompt_tokens_total",
                stats.whole().promptTokens(),
                stats.streamed().promptTokens());
        head("generation_tokens_total", "Number of generation tokens processed.", "counter");
        perKind(
                "generation_tokens_total",
                stats.whole().answerTokens(),
                stats.streamed().answerTokens());
        head("num_requests_total", "Number of requests processed.", "counter");
        perKind("num_requests_total", stats.whole().requests(), stats.streamed().requests());
        head("cached_tokens_total", "Number of cached prompt tokens by source (device/host/storage).", "counter");
        counted("cached_tokens_total", "cache_source=\"device\"," + MODEL + NAME, stats.cachedTokens());
        head("num_aborted_requests_total", "Number of requests aborted.", "counter");
        counted("num_aborted_requests_total", MODEL + NAME, stats.aborted());
        head("num_retracted_requests_total", "Number of retracted requests.", "counter");
        counted("num_retracted_requests_total", SCHEDULER, stats.retracted());
        head("evicted_tokens_total", "The number of device KV token slots freed by eviction.", "counter");
        counted(
                "evicted_tokens_total",
                "cache_type=\"RadixCache\",dp_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"",
                stats.evictedTokens());
    }

    private void timeToFirstToken(SglangStats stats) {
        head("time_to_first_token_seconds", "Histogram of time to first token in seconds.", "histogram");
        histogram(labels(false), stats.whole().ttft());
        histogram(labels(true), stats.streamed().ttft());
    }

    private void histogram(String labels, Histogram histogram) {
        if (histogram.count() == 0) {
            return;
        }
        String name = "time_to_first_token_seconds";
        sample(name + "_sum", labels, histogram.sumSeconds());
        List<Double> bounds = Histogram.BOUNDS;
        long below = 0;
        for (int i = 0; i <= bounds.size(); i++) {
            below += histogram.counts().get(i);
            String bound = i == bounds.size() ? "+Inf" : Double.toString(bounds.get(i));
            sample(name + "_bucket", labels.replace(NAME, "le=\"" + bound + "\"," + NAME), (double) below);
        }
        sample(name + "_count", labels, (double) below);
    }

    private void gauge(String name, String help, double value) {
        head(name, help, "gauge");
        sample(name, SCHEDULER, value);
    }

    private void perKind(String name, long whole, long streamed) {
        counted(name, labels(false), whole);
        counted(name, labels(true), streamed);
    }

    private void counted(String name, String labels, long value) {
        if (value > 0) {
            sample(name, labels, (double) value);
        }
    }

    private static String labels(boolean streamed) {
        return MODEL + "is_streaming=\"" + streamed + "\"," + NAME;
    }

    private void head(String name, String help, String type) {
        text.append("# HELP sglang:" + name + " " + help + "\n# TYPE sglang:" + name + " " + type + "\n");
    }

    private void sample(String name, String labels, double value) {
        text.append("sglang:")
                .append(name)
                .append('{')
                .append(labels)
                .append("} ")
                .append(value)
                .append('\n');
    }
}
