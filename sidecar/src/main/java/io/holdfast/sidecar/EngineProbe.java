package io.holdfast.sidecar;

import io.holdfast.core.EngineReadings;
import io.holdfast.http.EngineHttp;
import io.holdfast.sglang.EventEndpoints;
import io.holdfast.sglang.SglangReadings;
import io.holdfast.vllm.VllmReadings;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;

/** What is asked of an engine again and again, whatever its family. */
interface EngineProbe {
    CompletionStage<EngineReadings> read();

    CompletionStage<EventSource> eventSource();

    /** Where an engine's events come from. */
    sealed interface EventSource {
        record At(String endpoint, String topic) implements EventSource {}

        /** One sentence why that is not known. */
        record Unknown(String why) implements EventSource {}
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
                                () -> CompletableFuture.completedFuture(new EventSource.Unknown(
                                        "A vLLM engine does not tell where it publishes: write its events endpoint"
                                                + " into the configuration (engines[].events)."))));
            }
        };
    }

    private static EngineProbe of(Asking<EngineReadings> readings, Asking<EventSource> source) {
        return new EngineProbe() {
            @Override
            public CompletionStage<EngineReadings> read() {
                return readings.ask();
            }

            @Override
            public CompletionStage<EventSource> eventSource() {
                return source.ask();
            }
        };
    }

    /** One question to the engine. */
    @FunctionalInterface
    interface Asking<T> {
        CompletionStage<T> ask();
    }

    private static CompletionStage<EventSource> configured(EngineConfig config, Asking<EventSource> otherwise) {
        return config.events()
                .<CompletionStage<EventSource>>map(endpoint -> CompletableFuture.completedFuture(
                        new EventSource.At(endpoint, config.topic().orElse(""))))
                .orElseGet(otherwise::ask);
    }

    private static EventSource chosen(EngineConfig config, EventEndpoints found) {
        return switch (found) {
            case EventEndpoints.Unknown unknown -> new EventSource.Unknown(unknown.why());
            case EventEndpoints.Known known
            when known.endpoints().size() != 1 ->
                new EventSource.Unknown("The engine has " + known.endpoints().size()
                        + " caches (data-parallel ranks), each with events of its own; only engines with one can be"
                        + " looked after.");
            case EventEndpoints.Known known ->
                new EventSource.At(known.endpoints().getFirst(), config.topic().orElse(known.topic()));
        };
    }
}
