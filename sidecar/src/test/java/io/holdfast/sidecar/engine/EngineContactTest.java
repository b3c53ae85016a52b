package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Finds of which family an engine is, whatever of its routes fails. */
class EngineContactTest {
    private static final String TENSORRT_INFO = "{\"disaggregated_params\":null}";

    private record Said(int status, String body) {}

    private final HttpServer server;
    private final Map<String, Said> says = new ConcurrentHashMap<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();

    EngineContactTest() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    }

    @BeforeEach
    void start() {
        server.createContext("/", this::answer);
        server.start();
        says.put("/version", new Said(200, "{\"version\":\"1.4.0\"}"));
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        asked.add(path);
        Said said = says.getOrDefault(path, new Said(404, "none"));
        byte[] body = said.body().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(said.status(), body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private EngineTarget target() {
        return EngineTarget.of(
                URI.create("http://127.0.0.1:" + server.getAddress().getPort()));
    }

    private EngineType type(EngineTarget target) {
        try (EngineContact contact = EngineContact.open(target)) {
            return contact.type();
        }
    }

    /** What its {@code /metrics} gives is gone for whoever else reads it. */
    @ParameterizedTest
    @ValueSource(ints = {401, 500, 503})
    void tensorRtWhoseListOfModelsFails_isNotAskedForItsMetrics(int status) {
        says.put("/server_info", new Said(200, TENSORRT_INFO));
        says.put("/v1/models", new Said(status, "refused"));

        assertThatThrownBy(() -> EngineContact.open(target()))
                .isInstanceOf(SidecarException.class)
                .hasMessageContaining(status == 401 ? "asks for a key (HTTP 401)" : "or say what it is with --type.");
        assertThat(asked).contains("/version").doesNotContain("/metrics");
    }

    @Test
    void tensorRtThatIsNamed_isAskedAtItsOwnRoute() {
        EngineTarget target = target();
        says.put("/server_info", new Said(200, TENSORRT_INFO));
        says.put("/v1/models", new Said(503, ""));
        says.put("/prometheus/metrics", new Said(200, "trtllm_x 1"));

        assertThat(type(new EngineTarget(
                        target.url(),
                        Optional.of("tensorrt_llm"),
                        target.events(),
                        target.replay(),
                        target.topic(),
                        target.kvcachedSegment(),
                        target.apiKeyEnv(),
                        target.connectorSecretEnv())))
                .isEqualTo(EngineType.TENSORRT_LLM);
        assertThat(asked).contains("/prometheus/metrics").doesNotContain("/metrics");
    }

    /** With a key, which nobody gave, and none of the flags that make it tell more. */
    @Test
    void vllmWithAKey_isRecognisedByWhatItHasNot() {
        says.put("/v1/models", new Said(401, "{\"error\":\"Unauthorized\"}"));
        says.put("/metrics", new Said(200, "vllm:num_requests_running 0"));

        assertThat(type(target())).isEqualTo(EngineType.VLLM);
        assertThat(asked).contains("/metrics");
    }

    @Test
    void sglangWithAKey_isRecognisedByItsMetrics() {
        says.keySet().forEach(path -> says.put(path, new Said(401, "")));
        says.put("/server_info", new Said(401, ""));
        says.put("/v1/models", new Said(401, ""));
        says.put("/metrics", new Said(200, "sglang:num_running_reqs 0"));

        assertThat(type(target())).isEqualTo(EngineType.SGLANG);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"vllm_config\":\"x\"}", "{\"page_size\":16}"})
    void engineThatDescribesItself_needsNoListOfModels(String info) {
        says.put("/server_info", new Said(200, info));
        says.put("/v1/models", new Said(500, ""));

        assertThat(type(target())).isEqualTo(info.contains("vllm") ? EngineType.VLLM : EngineType.SGLANG);
        assertThat(asked).contains("/metrics");
    }
}
