package io.holdfast.vllm;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.ListedModel;
import io.holdfast.http.MetricsText;
import io.holdfast.http.Reply;
import java.util.OptionalDouble;
import java.util.concurrent.CompletionStage;

/**
 * Reads a TensorRT-LLM engine from its page for Prometheus, which it has where it runs with {@code return_perf_metrics}.
 *
 * <p>Its {@code /metrics} is never asked: that takes statistics out of a queue, and whoever else reads them misses those. The
 * sizes are there after its first request. Taken from its source and documents; no engine was run.
 */
public final class TensorRtReadings {
    /** Route of the page. */
    public static final String PATH = "/prometheus/metrics";

    /** Settings by which an engine has the page, and the sizes on it. */
    public static final String FLAGS = "return_perf_metrics: true and enable_iter_perf_stats: true in its --config";

    private static final String OWNER = "tensorrt_llm";
    private static final String BLOCKS = "trtllm_kv_cache_max_blocks";
    private static final String USED = "trtllm_kv_cache_used_blocks";
    private static final String BLOCK_TOKENS = "trtllm_kv_cache_tokens_per_block";

    private final EngineHttp http;

    public TensorRtReadings(EngineHttp http) {
        this.http = http;
    }

    /** Returns true if the list of models is a TensorRT-LLM's. */
    public static boolean isOf(ListedModel model) {
        return model.owner().filter(OWNER::equals).isPresent();
    }

    /** Returns true if the page is a TensorRT-LLM's. */
    public static boolean isOf(MetricsText metrics) {
        return metrics.has("trtllm_");
    }

    /** Reads what the engine reports now; whatever it does not report is unknown, with the reason. */
    public CompletionStage<EngineReadings> read(long nowNanos) {
        return http.get(PATH).thenApply(reply -> switch (reply) {
            case Reply.NoAnswer lost -> EngineReadings.unknown(lost.why());
            case Reply.Answer answer when answer.wantsKey() -> EngineReadings.unknown(answer.wantedKey(PATH));
            case Reply.Answer answer
            when answer.status() == 404 ->
                EngineReadings.unknown("The engine has no " + PATH + ": start it with " + FLAGS + ".");
            case Reply.Answer answer
            when answer.status() != 200 ->
                EngineReadings.unknown("The engine answered " + PATH + " with HTTP " + answer.status() + ".");
            case Reply.Answer answer -> of(MetricsText.parse(answer.body()), nowNanos);
        });
    }

    /** Returns the readings that a page of metrics has. */
    public static EngineReadings of(MetricsText metrics, long now) {
        OptionalDouble blockTokens = metrics.sum(BLOCK_TOKENS);
        return EngineReadings.unknownBut("TensorRT-LLM does not report it")
                .capacityTokens(blocks(metrics, BLOCKS, blockTokens, now))
                .blockTokens(reading(blockTokens, BLOCK_TOKENS, now))
                .runningRequests(sum(metrics, "trtllm_num_requests_running", now))
                .waitingRequests(sum(metrics, "trtllm_num_requests_waiting", now))
                .usedTokens(blocks(metrics, USED, blockTokens, now))
                .ttftSumSeconds(sum(metrics, "trtllm_time_to_first_token_seconds_sum", now))
                .ttftCount(sum(metrics, "trtllm_time_to_first_token_seconds_count", now))
                .promptTokens(sum(metrics, "trtllm_prompt_tokens_total", now))
                .cachedTokens(sum(metrics, "trtllm_prompt_cached_tokens_total", now))
                .build();
    }

    private static Reading blocks(MetricsText metrics, String name, OptionalDouble blockTokens, long now) {
        OptionalDouble blocks = metrics.sum(name);
        return blocks.isPresent() && blockTokens.isPresent()
                ? Reading.known(
                        blocks.getAsDouble() * blockTokens.getAsDouble(),
                        PATH + " " + name + " x tokens_per_block",
                        now)
                : reading(OptionalDouble.empty(), blocks.isPresent() ? BLOCK_TOKENS : name, now);
    }

    private static Reading sum(MetricsText metrics, String name, long now) {
        return reading(metrics.sum(name), name, now);
    }

    private static Reading reading(OptionalDouble value, String name, long now) {
        return value.isPresent()
                ? Reading.known(value.getAsDouble(), PATH + " " + name, now)
                : Reading.unknown(PATH + " has no " + name
                        + ", as before the engine's first request or without enable_iter_perf_stats: true in its"
                        + " --config.");
    }
}
