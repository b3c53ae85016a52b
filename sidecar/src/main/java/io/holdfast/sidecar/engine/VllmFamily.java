package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.PromptRenderer;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.vllm.CompletionSender;
import io.holdfast.vllm.ConnectorBackend;
import io.holdfast.vllm.ConnectorSecret;
import io.holdfast.vllm.NixlLeaseBackend;
import io.holdfast.vllm.PrefixCaching;
import io.holdfast.vllm.VllmReadings;
import io.holdfast.vllm.VllmRenderer;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * vLLM: does not tell where it publishes nor how it names blocks. A stock one has no pins, so what is used is kept; with
 * Holdfast's connector it holds, and with NIXL it leases.
 */
final class VllmFamily implements EngineFamily {
    @Override
    public Seen seen() {
        return new Seen(new EngineVersion(0, 22, 1), new EngineVersion(0, 32, 0));
    }

    @Override
    public RequestRules requestRules() {
        return RequestRules.vllm();
    }

    @Override
    public SequencedMap<String, BackendKind> backends() {
        SequencedMap<String, BackendKind> backends = new LinkedHashMap<>();
        backends.put(
                ConnectorBackend.NAME,
                new BackendKind(
                        ConnectorBackend.TRAITS,
                        parts -> new ConnectorBackend(
                                parts.http(),
                                parts.connectorSecret().map(secret -> secret.passedTo(ConnectorSecret::of)),
                                InstantSource.system(),
                                parts.random())));
        backends.put(
                NixlLeaseBackend.NAME,
                new BackendKind(
                        NixlLeaseBackend.traits(EngineConfig.NIXL_LEASE),
                        parts -> new NixlLeaseBackend(
                                parts.http(), parts.timer(), parts.config().nixlLease()),
                        true,
                        parts -> NixlLeaseBackend.look(parts.http(), parts.timer())));
        backends.put(
                KeepWarmBackend.NAME,
                new BackendKind(
                        KeepWarmBackend.TRAITS,
                        parts -> new KeepWarmBackend(
                                new CompletionSender(parts.http()),
                                () -> PrefixCaching.ask(parts.http(), parts.timer()))));
        return backends;
    }

    @Override
    public PromptRenderer renderer(EngineHttp http) {
        return new VllmRenderer(http);
    }

    @Override
    public Optional<PrefixSender> sender(EngineHttp http) {
        return Optional.of(new CompletionSender(http));
    }

    @Override
    public BlockNaming naming(EngineConfig engine) {
        return engine.publishes()
                ? BlockNaming.vllm(engine.id(), engine.hashAlgorithm(), engine.hashSeed())
                // Whoever hears no names may give any.
                : BlockNaming.vllm(
                        engine.id(),
                        engine.hashAlgorithm().or(() -> Optional.of(Algorithm.SHA256_CBOR)),
                        engine.hashSeed().or(() -> Optional.of("0")));
    }

    @Override
    public Questions questions(EngineHttp http) {
        VllmReadings engine = new VllmReadings(http);
        return new Questions() {
            @Override
            public CompletionStage<EngineReadings> readings(long nowNanos) {
                return engine.read(nowNanos);
            }

            @Override
            public CompletionStage<Events> events() {
                return CompletableFuture.completedFuture(new Events.Unknown(
                        "A vLLM engine does not report where it publishes: write its events endpoint into the"
                                + " configuration (engines.ID.events)."));
            }

            @Override
            public CompletionStage<Integer> caches() {
                return engine.caches();
            }
        };
    }
}
