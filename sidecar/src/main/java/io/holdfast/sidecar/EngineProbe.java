package io.holdfast.sidecar;

import io.holdfast.core.EngineReadings;
import io.holdfast.events.EventSource;
import io.holdfast.http.EngineHttp;
import io.holdfast.sglang.EventEndpoints;
import io.holdfast.sglang.SglangReadings;
import io.holdfast.vllm.VllmReadings;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;

/** What is asked of an engine again and again, whatever its family. */
interface EngineProbe {
    CompletionStage<EngineReadings> read();

    CompletionStage<Events> eventSource();

    /** Where an engine's events come from. */
    sealed interface Events {
        record At(EventSource source) implements Events {}

        /** One sentence why that is not known. */
        record Unknown(String why) implements Events {}
    }

    static EngineProbe of(EngineConfig config, EngineHttp http, LongSupplier clock) {
        return switch (config.type()) {
            case SGLANG -> {
                SglangReadings readings = new SglangReadings(http);
                yield of(
                        () -> readings.read(clock.getAsLong()),
                        () -> configured(config, () -> readings.events().thenApply(found -> chosen(config, found))));
            }
            case VLLM -> {
                VllmReadings readings = new VllmReadings(http);
                yield of(
                        () -> readings.read(clock.getAsLong()),
                        () -> configured(
                                config,
                                () -> CompletableFuture.completedFuture(new Events.Unknown(
                                        "A vLLM engine does not tell where it publishes: write its events endpoint"
                                                + " into the configuration (engines[].events)."))));
            }
        };
    }

    private static EngineProbe of(Asking<EngineReadings> readings, Asking<Events> source) {
        return new EngineProbe() {
            @Override
            public CompletionStage<EngineReadings> read() {
                return readings.ask();
            }

            @Override
            public CompletionStage<Events> eventSource() {
                return source.ask();
            }
        };
    }

    /** One question to the engine. */
    @FunctionalInterface
    interface Asking<T> {
        CompletionStage<T> ask();
    }

    private static CompletionStage<Events> configured(EngineConfig config, Asking<Events> otherwise) {
        return config.events()
                .<CompletionStage<Events>>map(endpoint -> CompletableFuture.completedFuture(
                        at(config, endpoint, Optional.empty(), config.topic().orElse(""))))
                .orElseGet(otherwise::ask);
    }

    private static Events chosen(EngineConfig config, EventEndpoints found) {
        return switch (found) {
            case EventEndpoints.Unknown unknown -> new Events.Unknown(unknown.why());
            case EventEndpoints.Known known
            when known.endpoints().size() != 1 ->
                new Events.Unknown("The engine has " + known.endpoints().size()
                        + " caches (data-parallel ranks), each with events of its own; only engines with one can be"
                        + " looked after.");
            case EventEndpoints.Known known ->
                at(
                        config,
                        known.endpoints().getFirst(),
                        known.replayEndpoint(),
                        config.topic().orElse(known.topic()));
        };
    }

    private static Events at(EngineConfig config, String endpoint, Optional<String> knownReplay, String topic) {
        try {
            return new Events.At(new EventSource(endpoint, config.replay().or(() -> knownReplay), topic, 1, false));
        } catch (IllegalArgumentException e) {
            return new Events.Unknown(String.valueOf(e.getMessage()));
        }
    }
}
