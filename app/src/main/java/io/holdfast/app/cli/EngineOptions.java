package io.holdfast.app.cli;

import io.holdfast.sidecar.engine.EngineTarget;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which engine to look at: what {@code doctor} and {@code observe} share. */
public final class EngineOptions {
    @Option(
            names = "--engine",
            paramLabel = "URL",
            required = true,
            description = "HTTP address of the engine, such as http://127.0.0.1:30000.")
    private String url = "";

    @Option(names = "--type", paramLabel = "NAME", description = "sglang, vllm or tensorrt_llm (default: detected).")
    private @Nullable String type;

    @Option(
            names = "--events",
            paramLabel = "tcp://HOST:PORT",
            description =
                    "Endpoint of its KV events (default: for SGLang the one that it reports, for vLLM port" + " 5557).")
    private @Nullable String events;

    @Option(
            names = "--replay",
            paramLabel = "tcp://HOST:PORT",
            description = "Endpoint of its replay of past events (default: for SGLang the one that it reports,"
                    + " for vLLM none).")
    private @Nullable String replay;

    @Option(
            names = "--topic",
            paramLabel = "TEXT",
            description = "Topic of its events (default: for SGLang the one that it reports, for vLLM any).")
    private @Nullable String topic;

    @Option(
            names = "--api-key-env",
            paramLabel = "VARIABLE",
            description = "Environment variable with the engine's key (default: no key is sent).")
    private @Nullable String apiKeyEnv;

    @Option(
            names = "--connector-secret-env",
            paramLabel = "VARIABLE",
            description = "Environment variable with the secret of a vLLM's connector (default: it is not asked).")
    private @Nullable String connectorSecretEnv;

    public EngineOptions() {}

    public String url() {
        return url;
    }

    /** What is sent with each request to the engine; nothing where it needs no key. */
    public Map<String, String> headers(Map<String, String> environment) {
        return Optional.ofNullable(apiKeyEnv)
                .map(name ->
                        Optional.ofNullable(environment.get(name)).orElse("").strip())
                .filter(key -> !key.isEmpty())
                .map(key -> Map.of("Authorization", "Bearer " + key))
                .orElse(Map.of());
    }

    public EngineTarget target(Optional<String> kvcachedSegment) {
        return new EngineTarget(
                url,
                Optional.ofNullable(type),
                Optional.ofNullable(events),
                Optional.ofNullable(replay),
                Optional.ofNullable(topic),
                kvcachedSegment,
                Optional.ofNullable(apiKeyEnv),
                Optional.ofNullable(connectorSecretEnv));
    }
}
