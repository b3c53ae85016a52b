package io.holdfast.sidecar.engine;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.events.EventSource;
import io.holdfast.http.EngineHttp;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.engine.EngineFamily.Events;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;

/** What is asked of an engine again and again, with what its configuration says instead. */
public final class EngineProbe {
    private final EngineConfig config;
    private final EngineFamily.Questions engine;
    private final LongSupplier clock;

    public EngineProbe(EngineConfig config, EngineHttp http, LongSupplier clock) {
        this.config = config;
        this.engine = EngineFamily.of(config.type()).questions(http);
        this.clock = clock;
    }

    public CompletionStage<EngineReadings> read() {
        return engine.readings(clock.getAsLong());
    }

    /** How many caches it has; 1 where it does not tell. */
    CompletionStage<Integer> caches() {
        return engine.caches();
    }

    /** Where the caches of the engine publish: as configured, else as it says itself. */
    public CompletionStage<Events> eventSource() {
        return config.events().isPresent()
                ? engine.caches().thenApply(caches -> configured(config.events().get(), caches))
                : engine.events().thenApply(this::asSaid);
    }

    private Events configured(String endpoint, int caches) {
        return source(new EventSource(endpoint, config.replay(), config.topic().orElse(""), 1, false), caches);
    }

    private Events asSaid(Events found) {
        return switch (found) {
            case Events.Unknown unknown -> unknown;
            case Events.At at ->
                source(
                        new EventSource(
                                at.source().endpoint(),
                                config.replay().or(at.source()::replayEndpoint),
                                config.topic().orElse(at.source().topic()),
                                1,
                                false),
                        at.source().ranks());
        };
    }

    private static Events source(EventSource first, int caches) {
        try {
            return new Events.At(first.withRanks(caches));
        } catch (IllegalArgumentException e) {
            return new Events.Unknown(String.valueOf(e.getMessage()));
        }
    }
}
