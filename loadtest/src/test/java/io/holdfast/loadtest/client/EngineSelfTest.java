package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Reports of engines about themselves, as both families and strangers give them. */
final class EngineSelfTest {
    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64);

    @AfterEach
    void stop() {
        engine.close();
        vertx.close().await();
    }

    private <T> T asked(Function<EngineSelf, T> question) {
        try (EngineControl control =
                new EngineControl(engine.uri(), HttpSettings.defaults(), RunClock.system(), told -> {})) {
            return question.apply(control.self());
        }
    }

    @Test
    void sglang_isKnownByItsReport() {
        engine.serverInfo = """
            {"version":"0.5.23","page_size":16,"max_total_num_tokens":8192,"max_req_input_len":2042,
             "attention_backend":"triton","quantization":null,"enable_cache_report":true,"unasked":1}
            """;
        assertThat(asked(EngineSelf::facts))
                .isEqualTo(new EngineFacts(
                        Family.SGLANG,
                        OptionalInt.of(16),
                        OptionalLong.of(8_192),
                        OptionalLong.of(2_042),
                        Optional.of("0.5.23")));
        assertThat(asked(EngineSelf::flags))
                .hasSize(3)
                .containsEntry("attention_backend", "triton")
                .containsEntry("enable_cache_report", "true")
                .containsEntry("page_size", "16");
    }

    /** The page is that of a real server. */
    @Test
    void vllm_isKnownByItsMetricsAndItsModel() throws IOException {
        engine.serverInfo = "{\"vllm_config\":\"VllmConfig(max_num_seqs=8, dtype='bfloat16', cache_dtype='other')\"}";
        engine.metrics = StubEngine.status(200, recording("vllm_metrics.txt.gz"));
        engine.models = StubEngine.status(200, "{\"data\":[{\"id\":\"m\",\"max_model_len\":2048}]}");
        engine.answers = body -> StubEngine.status(200, "{\"version\":\"0.32.0\"}");
        assertThat(asked(EngineSelf::facts))
                .isEqualTo(new EngineFacts(
                        Family.VLLM,
                        OptionalInt.of(32),
                        OptionalLong.of(80 * 32),
                        OptionalLong.of(2_048),
                        Optional.of("0.32.0")));
        assertThat(asked(EngineSelf::flags))
                .containsEntry("block_size", "32")
                .containsEntry("gpu_memory_utilization", "0.92")
                .containsEntry("cache_dtype", "auto")
                .containsEntry("max_num_seqs", "8")
                .containsEntry("dtype", "bfloat16");
        assertThat(asked(EngineSelf::events)).as("a vLLM never tells").isEmpty();
    }

    /** Its {@code /metrics} takes from others what it gives, so nobody asks that, however the list of models fails. */
    @Test
    void tensorRt_isNeverAskedForMetricsAtTheUsualRoute() {
        engine.serverInfo = "{\"disaggregated_params\":null}";
        engine.models = StubEngine.status(401, "");
        engine.answers =
                body -> StubEngine.status(200, "trtllm_kv_cache_max_blocks 80\ntrtllm_kv_cache_tokens_per_block 32\n");
        try (EngineControl control =
                new EngineControl(engine.uri(), HttpSettings.defaults(), RunClock.system(), told -> {})) {
            assertThat(control.self().metrics())
                    .as("nobody knows yet what it is")
                    .isEmpty();
            engine.models = StubEngine.status(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"tensorrt_llm\"}]}");
            assertThat(control.self().facts().family()).isEqualTo(Family.TENSORRT_LLM);
            engine.models = StubEngine.status(503, "");
            assertThat(control.self().metrics()).as("remembered").startsWith("trtllm_");
        }
        assertThat(engine.paths).contains("GET /prometheus/metrics").doesNotContain("GET /metrics");
        assertThat(engine.paths).filteredOn("GET /v1/models"::equals).hasSize(2);
    }

    @Test
    void otherServerInItsPlace_isAskedAnewOfWhichFamilyItIs() {
        engine.serverInfo = "{}";
        engine.metrics = StubEngine.status(200, "vllm:x 1");
        engine.answers = body -> StubEngine.status(200, "trtllm_x 1");
        try (EngineControl control =
                new EngineControl(engine.uri(), HttpSettings.defaults(), RunClock.system(), told -> {})) {
            assertThat(control.self().metrics()).isEqualTo("vllm:x 1");
            engine.models = StubEngine.status(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"tensorrt_llm\"}]}");
            control.self().forget();
            assertThat(control.self().metrics()).isEqualTo("trtllm_x 1");
        }
    }

    @Test
    void stranger_isKnownByNothing() {
        engine.serverInfo = "<html>welcome</html>";
        assertThat(asked(EngineSelf::facts)).isEqualTo(EngineFacts.unknown());
        assertThat(asked(EngineSelf::flags)).isEmpty();
        assertThat(asked(EngineSelf::events)).isEmpty();
    }

    /** Newer releases list where they publish; older ones repeat what they were started with. */
    @Test
    void events_areWhereTheEngineReportsThem() {
        engine.serverInfo = """
            {"kv_events":{"publisher":"zmq","endpoint_host":"*","endpoint_port_base":5600,"topic":"kv","dp_size":2}}
            """;
        assertThat(asked(EngineSelf::events)).hasValueSatisfying(source -> {
            assertThat(source.endpoint()).isEqualTo("tcp://127.0.0.1:5600");
            assertThat(source.topic()).isEqualTo("kv");
            assertThat(source.ranks()).isEqualTo(2);
        });
        engine.serverInfo = """
            {"kv_events_config":"{\\"publisher\\":\\"zmq\\",\\"endpoint\\":\\"tcp://10.0.0.1:5700\\"}"}
            """;
        assertThat(asked(EngineSelf::events).orElseThrow().endpoint()).isEqualTo("tcp://10.0.0.1:5700");
        engine.serverInfo = "{\"kv_events\":{\"publisher\":\"null\"}}";
        assertThat(asked(EngineSelf::events)).isEmpty();
    }

    private static String recording(String name) throws IOException {
        Path recordings =
                Path.of("..", "engine-rules", "src", "testing", "resources", "io", "holdfast", "rules", "recordings");
        try (GZIPInputStream in = new GZIPInputStream(Files.newInputStream(recordings.resolve(name)))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
