package io.holdfast.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** On what real 0.32.0 and 0.22.1 servers answered: 24 blocks of 32 tokens. */
final class VllmReadingsTest {
    private static final long NOW = 42;
    private static final String MODELS = "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"max_model_len\":512}]}";

    private final CannedEngine engine = new CannedEngine().answers("/v1/models", 200, MODELS);
    private final VllmReadings readings = new VllmReadings(engine.http());

    VllmReadingsTest() throws IOException {}

    @AfterEach
    void close() {
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({"metrics_0.32.txt, 0.18166470527648926", "metrics_0.22.txt, 0.2349395751953125"})
    void realServer_isRead(String sample, double ttft) throws IOException {
        engine.answers("/metrics", 200, CannedEngine.resource(sample));
        EngineReadings read = read();
        assertThat(read.capacityTokens())
                .isEqualTo(
                        Reading.known(736, "/metrics vllm:cache_config_info (num_gpu_blocks - 1) x block_size", NOW));
        assertThat(read.blockTokens()).isEqualTo(Reading.known(32, "/metrics vllm:cache_config_info block_size", NOW));
        assertThat(read.largestAcceptedTokens()).isEqualTo(Reading.known(511, "/v1/models max_model_len - 1", NOW));
        assertThat(read.contextTokens()).isEqualTo(Reading.known(512, "/v1/models max_model_len", NOW));
        assertThat(read.runningRequests()).isEqualTo(Reading.known(0, "/metrics vllm:num_requests_running", NOW));
        assertThat(read.waitingRequests()).isEqualTo(Reading.known(0, "/metrics vllm:num_requests_waiting", NOW));
        assertThat(read.usedTokens()).isEqualTo(Reading.known(0, "/metrics vllm:kv_cache_usage_perc x capacity", NOW));
        assertThat(read.ttftSumSeconds())
                .isEqualTo(Reading.known(ttft, "/metrics vllm:time_to_first_token_seconds_sum", NOW));
        assertThat(read.ttftCount())
                .isEqualTo(Reading.known(12, "/metrics vllm:time_to_first_token_seconds_count", NOW));
        assertThat(read.promptTokens()).isEqualTo(Reading.known(2144, "/metrics vllm:prompt_tokens_total", NOW));
        assertThat(read.cachedTokens()).isEqualTo(Reading.known(480, "/metrics vllm:prefix_cache_hits_total", NOW));
    }

    @Test
    void cachesOfOneServer_areSummed_eachUseByItsOwnSize() {
        engine.answers("/metrics", 200, """
            vllm:cache_config_info{block_size="16",num_gpu_blocks="101",engine="0"} 1
            vllm:cache_config_info{block_size="16",num_gpu_blocks="201",engine="1"} 1
            vllm:kv_cache_usage_perc{engine="0"} 0.5
            vllm:kv_cache_usage_perc{engine="1"} 0.25
            vllm:num_requests_running{engine="0"} 2
            vllm:num_requests_running{engine="1"} 3
            """);
        EngineReadings read = read();
        assertThat(read.capacityTokens().number()).hasValue(4800);
        assertThat(read.usedTokens().number()).hasValue(1600);
        assertThat(read.runningRequests().number()).hasValue(5);
        assertThat(read.ttftCount())
                .isEqualTo(Reading.unknown("/metrics has no vllm:time_to_first_token_seconds_count: is it vLLM, started"
                        + " without --disable-log-stats?"));
        assertThat(read.cachedTokens())
                .isEqualTo(Reading.unknown("/metrics has no vllm:prefix_cache_hits_total: it is there when the engine"
                        + " runs with prefix caching (--enable-prefix-caching)."));
    }

    @Test
    void olderNames_areRead() {
        engine.answers("/metrics", 200, """
            vllm:cache_config_info{block_size="16",num_gpu_blocks="11"} 1
            vllm:gpu_cache_usage_perc{model_name="m"} 0.5
            vllm:gpu_prefix_cache_hits_total{model_name="m"} 9
            """);
        EngineReadings read = read();
        assertThat(read.cachedTokens().number()).hasValue(9);
        // Without an engine label on the sizes there is one cache.
        assertThat(read.usedTokens().number()).hasValue(80);
    }

    @Test
    void sizeNotToldYet_isUnknown() {
        engine.answers("/metrics", 200, """
            vllm:cache_config_info{block_size="16",num_gpu_blocks="None",engine="0"} 1
            vllm:kv_cache_usage_perc{engine="0"} 0.5
            """);
        EngineReadings read = read();
        assertThat(read.capacityTokens())
                .isEqualTo(Reading.unknown(
                        "The engine has not reported num_gpu_blocks and block_size in vllm:cache_config_info yet."));
        assertThat(read.usedTokens())
                .isEqualTo(Reading.unknown("The used share of the cache is known, its size is not:"
                        + " vllm:cache_config_info does not tell it."));
        assertThat(read.blockTokens().number()).hasValue(16);
    }

    @Test
    void pageOfAnotherProgram_isUnknownThroughout() {
        engine.answers("/metrics", 200, "up 1\n").answers("/v1/models", 404, "");
        EngineReadings read = read();
        assertThat(read.capacityTokens())
                .isEqualTo(
                        Reading.unknown("/metrics has no vllm:cache_config_info, which shows the size of the cache."));
        assertThat(read.blockTokens())
                .isEqualTo(Reading.unknown("/metrics has no block_size in vllm:cache_config_info."));
        assertThat(read.usedTokens()).isEqualTo(Reading.unknown("/metrics has no vllm:kv_cache_usage_perc."));
        assertThat(read.largestAcceptedTokens())
                .isEqualTo(Reading.unknown("The engine's /v1/models has no max_model_len."));
    }

    @Test
    void noMetrics_isUnknown_withTheFlag() {
        assertThat(read())
                .isEqualTo(EngineReadings.unknown("The engine answered /metrics with HTTP 404: is it vLLM, started"
                        + " without --disable-log-stats?"));
    }

    @Test
    void missingKey_isNamed() {
        engine.answers("/metrics", 200, "up 1\n").answers("/v1/models", 401, "");
        assertThat(read().largestAcceptedTokens())
                .isEqualTo(Reading.unknown("The engine needs a key, and a valid one was not sent (HTTP 401 at"
                        + " /v1/models): engines.ID.apiKeyEnv names the environment variable that has it."));
    }

    @Test
    void longestPrompt_isKeptForFiveSeconds_withTheTimeItWasAskedAt() throws IOException {
        engine.answers("/metrics", 200, CannedEngine.resource("metrics_0.32.txt"));
        read();
        long later = NOW + TimeUnit.SECONDS.toNanos(5) - 1;
        EngineReadings kept = read(later);
        assertThat(engine.asked()).filteredOn("GET /v1/models"::equals).hasSize(1);
        assertThat(kept.largestAcceptedTokens()).isEqualTo(Reading.known(511, "/v1/models max_model_len - 1", NOW));
        assertThat(kept.runningRequests()).isEqualTo(Reading.known(0, "/metrics vllm:num_requests_running", later));
        EngineReadings fresh = read(later + 1);
        assertThat(engine.asked()).filteredOn("GET /v1/models"::equals).hasSize(2);
        assertThat(fresh.largestAcceptedTokens())
                .isEqualTo(Reading.known(511, "/v1/models max_model_len - 1", later + 1));
    }

    @Test
    void longestPrompt_isForgottenWhenTheEngineFails() throws IOException {
        engine.answers("/metrics", 200, CannedEngine.resource("metrics_0.32.txt"));
        read();
        engine.dies();
        read();
        assertThat(read().largestAcceptedTokens())
                .isEqualTo(Reading.unknown("Nothing listens at " + engine.http().base() + ": is the engine running?"));
    }

    private EngineReadings read() {
        return read(NOW);
    }

    private EngineReadings read(long now) {
        return readings.read(now).toCompletableFuture().join();
    }
}
