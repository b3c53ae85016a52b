package io.holdfast.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.http.ListedModel;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** On a page with the names that TensorRT-LLM's source gives its metrics; no server printed it. */
final class TensorRtReadingsTest {
    private static final long NOW = 42;

    private final CannedEngine engine = new CannedEngine();

    TensorRtReadingsTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @Test
    void page_isRead_andNothingIsTakenFromOthers() {
        engine.answers(TensorRtReadings.PATH, 200, """
            # HELP trtllm_kv_cache_max_blocks Maximum number of KV cache blocks
            trtllm_kv_cache_max_blocks{engine_type="undefined",model_name="undefined"} 101256.0
            trtllm_kv_cache_used_blocks{engine_type="undefined",model_name="undefined"} 3.0
            trtllm_kv_cache_tokens_per_block{engine_type="undefined",model_name="undefined"} 32.0
            trtllm_num_requests_running{engine_type="undefined",model_name="undefined"} 1.0
            trtllm_num_requests_waiting{engine_type="undefined",model_name="undefined"} 2.0
            trtllm_prompt_tokens_total{engine_type="undefined",model_name="undefined"} 640.0
            trtllm_prompt_cached_tokens_total{engine_type="undefined",model_name="undefined"} 320.0
            trtllm_time_to_first_token_seconds_sum{engine_type="undefined",model_name="undefined"} 0.5
            trtllm_time_to_first_token_seconds_count{engine_type="undefined",model_name="undefined"} 4.0
            """);
        EngineReadings read = read();

        assertThat(read.capacityTokens())
                .isEqualTo(Reading.known(
                        3_240_192, "/prometheus/metrics trtllm_kv_cache_max_blocks x tokens_per_block", NOW));
        assertThat(read.blockTokens().number()).hasValue(32);
        assertThat(read.usedTokens().number()).hasValue(96);
        assertThat(read.runningRequests().number()).hasValue(1);
        assertThat(read.waitingRequests().number()).hasValue(2);
        assertThat(read.promptTokens().number()).hasValue(640);
        assertThat(read.cachedTokens().number()).hasValue(320);
        assertThat(read.ttftSumSeconds().number()).hasValue(0.5);
        assertThat(read.ttftCount().number()).hasValue(4);
        assertThat(read.contextTokens()).isEqualTo(Reading.unknown("TensorRT-LLM does not report it"));
        assertThat(engine.asked()).containsExactly("GET /prometheus/metrics");
    }

    @Test
    void engineWithoutThePage_isToldTheFlags() {
        assertThat(read().capacityTokens())
                .isEqualTo(Reading.unknown("The engine has no /prometheus/metrics: start it with return_perf_metrics:"
                        + " true and enable_iter_perf_stats: true in its --config."));
        assertThat(PrefixCaching.askTensorRt(engine.http(), engine.timer())
                        .toCompletableFuture()
                        .join())
                .isEqualTo(new Capabilities(
                        false,
                        "The engine answered /prometheus/metrics with HTTP 404, so that it is not known whether it"
                                + " caches prefixes: start it with return_perf_metrics: true and"
                                + " enable_iter_perf_stats: true in its --config."));
    }

    @Test
    void engineThatServedNothingYet_hasNoSizes_andReuseSwitchedOffIsSeen() {
        engine.answers(TensorRtReadings.PATH, 200, """
            trtllm_kv_cache_config_info{enable_block_reuse="False",engine_type="undefined"} 1.0
            """);
        assertThat(read().capacityTokens())
                .isEqualTo(Reading.unknown("/prometheus/metrics has no trtllm_kv_cache_max_blocks, as before the"
                        + " engine's first request or without enable_iter_perf_stats: true in its --config."));
        assertThat(PrefixCaching.askTensorRt(engine.http(), engine.timer())
                        .toCompletableFuture()
                        .join()
                        .canPin())
                .isFalse();
    }

    @Test
    void owner_tellsItFromOthers() {
        assertThat(TensorRtReadings.isOf(
                        ListedModel.first("{\"data\":[{\"id\":\"m\",\"owned_by\":\"tensorrt_llm\"}]}")))
                .isTrue();
        assertThat(TensorRtReadings.isOf(ListedModel.first("{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}")))
                .isFalse();
        assertThat(TensorRtReadings.isOf(ListedModel.first(""))).isFalse();
    }

    private EngineReadings read() {
        return new TensorRtReadings(engine.http())
                .read(NOW)
                .toCompletableFuture()
                .join();
    }
}
