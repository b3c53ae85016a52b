package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.EventSource;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.PromptRenderer;
import io.holdfast.sglang.EventEndpoints;
import io.holdfast.sglang.GenerateSender;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sglang.PrefixCaching;
import io.holdfast.sglang.PriorityTouchBackend;
import io.holdfast.sglang.SessionHoldBackend;
import io.holdfast.sglang.SglangReadings;
import io.holdfast.sglang.SglangRenderer;
import io.holdfast.sglang.SglangSessions;
import io.holdfast.sglang.StreamingSessionBackend;
import io.holdfast.sidecar.config.EngineConfig;
import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** SGLang: tells where it publishes, names blocks by their tokens, and pins on some branches. */
final class SglangFamily implements EngineFamily {
    @Override
    public Seen seen() {
        return new Seen(new EngineVersion(0, 5, 15), new EngineVersion(0, 5, 23));
    }

    @Override
    public RequestRules requestRules() {
        return RequestRules.sglang();
    }

    @Override
    public SequencedMap<String, BackendKind> backends() {
        SequencedMap<String, BackendKind> backends = new LinkedHashMap<>();
        backends.put(
                SessionHoldBackend.NAME,
                new BackendKind(
                        SessionHoldBackend.TRAITS,
                        parts -> new SessionHoldBackend(parts.http(), parts.timer(), parts.random())));
        backends.put(
                PinBlocksBackend.NAME,
                new BackendKind(
                        PinBlocksBackend.TRAITS,
                        parts -> new PinBlocksBackend(parts.http(), parts.admin(), parts.timer())));
        backends.put(
                PriorityTouchBackend.NAME,
                new BackendKind(
                        PriorityTouchBackend.TRAITS,
                        parts -> new PriorityTouchBackend(
                                parts.http(), parts.timer(), parts.config().clientPriorityMax())));
        backends.put(
                StreamingSessionBackend.NAME,
                new BackendKind(
                        StreamingSessionBackend.TRAITS,
                        parts -> new StreamingSessionBackend(parts.http(), parts.timer(), parts.random()),
                        true));
        backends.put(
                KeepWarmBackend.NAME,
                new BackendKind(
                        KeepWarmBackend.TRAITS,
                        parts -> new KeepWarmBackend(
                                new GenerateSender(parts.http()),
                                () -> PrefixCaching.ask(parts.http(), parts.timer()))));
        return backends;
    }

    @Override
    public PromptRenderer renderer(EngineHttp http) {
        return new SglangRenderer(http);
    }

    @Override
    public Optional<PrefixSender> sender(EngineHttp http) {
        return Optional.of(new GenerateSender(http));
    }

    @Override
    public Optional<Function<String, CompletionStage<Outcome>>> sessionCloser(BackendParts parts) {
        return Optional.of(new SglangSessions(parts.http())::close);
    }

    @Override
    public BlockNaming naming(EngineConfig engine) {
        return BlockNaming.sglang();
    }

    @Override
    public Questions questions(EngineHttp http) {
        SglangReadings engine = new SglangReadings(http);
        return new Questions() {
            @Override
            public CompletionStage<EngineReadings> readings(long nowNanos) {
                return engine.read(nowNanos);
            }

            @Override
            public CompletionStage<Events> events() {
                return engine.events().thenApply(SglangFamily::source);
            }

            @Override
            public CompletionStage<Integer> caches() {
                return engine.caches();
            }
        };
    }

    private static Events source(EventEndpoints found) {
        return switch (found) {
            case EventEndpoints.Unknown unknown -> new Events.Unknown(unknown.why());
            case EventEndpoints.Known known -> {
                try {
                    yield new Events.At(new EventSource(
                            known.endpoints().getFirst(),
                            known.replayEndpoint(),
                            known.topic(),
                            known.endpoints().size(),
                            false));
                } catch (IllegalArgumentException e) {
                    yield new Events.Unknown(String.valueOf(e.getMessage()));
                }
            }
        };
    }
}
