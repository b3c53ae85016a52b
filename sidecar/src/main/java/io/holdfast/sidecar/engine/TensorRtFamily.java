package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.events.BlockNaming;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.PromptRenderer;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.vllm.CompletionSender;
import io.holdfast.vllm.PrefixCaching;
import io.holdfast.vllm.TensorRtReadings;
import io.holdfast.vllm.TensorRtRenderer;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * TensorRT-LLM: publishes in vLLM's frames where it is told to, and has nothing to pin by. Known by its source and documents
 * alone; none was run.
 *
 * <p>Its routes that take what others wait for are never called: {@code POST /kv_cache_events} and {@code GET /metrics}.
 */
final class TensorRtFamily implements EngineFamily {
    @Override
    public Seen seen() {
        return new Seen(new EngineVersion(1, 3, 0), new EngineVersion(1, 4, 0));
    }

    /** Blocks are taken to be stored when they are full, as by vLLM. */
    @Override
    public RequestRules requestRules() {
        return RequestRules.vllm();
    }

    @Override
    public SequencedMap<String, BackendKind> backends() {
        SequencedMap<String, BackendKind> backends = new LinkedHashMap<>();
        backends.put(
                KeepWarmBackend.NAME,
                new BackendKind(
                        KeepWarmBackend.TRAITS,
                        parts -> new KeepWarmBackend(
                                new CompletionSender(parts.http()),
                                () -> PrefixCaching.askTensorRt(parts.http(), parts.timer()))));
        return backends;
    }

    @Override
    public PromptRenderer renderer(EngineHttp http) {
        return new TensorRtRenderer();
    }

    @Override
    public Optional<PrefixSender> sender(EngineHttp http) {
        return Optional.of(new CompletionSender(http));
    }

    @Override
    public BlockNaming naming(EngineConfig engine) {
        return BlockNaming.tensorRt();
    }

    @Override
    public Questions questions(EngineHttp http) {
        TensorRtReadings engine = new TensorRtReadings(http);
        return new Questions() {
            @Override
            public CompletionStage<EngineReadings> readings(long nowNanos) {
                return engine.read(nowNanos);
            }

            @Override
            public CompletionStage<Events> events() {
                return CompletableFuture.completedFuture(new Events.Unknown(
                        "A TensorRT-LLM engine does not report where it publishes: write its events endpoint into the"
                                + " configuration (engines.ID.events)."));
            }

            // Ranks of attention data parallelism are reported nowhere.
            @Override
            public CompletionStage<Integer> caches() {
                return CompletableFuture.completedFuture(1);
            }
        };
    }
}
