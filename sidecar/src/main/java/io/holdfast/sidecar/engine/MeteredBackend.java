package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import java.util.function.ObjLongConsumer;

/** Another backend, its outcomes counted, timed and told to the log. */
final class MeteredBackend extends ForwardingBackend {
    private final String engineId;
    private final MeterRegistry registry;
    private final PinLog log;

    MeteredBackend(Backend backend, String engineId, MeterRegistry registry, PinLog log) {
        super(backend);
        this.engineId = engineId;
        this.registry = registry;
        this.log = log;
        // All of them from the start: a rate needs a zero to rise from.
        for (Outcome.Kind kind : Outcome.Kind.values()) {
            timer("pin", kind);
            timer("unpin", kind);
            if (backend.traits().endsInTime()) {
                timer("renew", kind);
            }
        }
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        Timer.Sample sample = Timer.start(registry);
        return timed("pin", sample, super.pin(command), (outcome, nanos) -> log.pin(this, command, outcome, nanos));
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        Timer.Sample sample = Timer.start(registry);
        return timed("renew", sample, super.renew(command), (outcome, nanos) -> {});
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        Timer.Sample sample = Timer.start(registry);
        return timed(
                "unpin",
                sample,
                super.unpin(handles),
                (outcome, nanos) -> handles.forEach(handle -> log.unpin(this, handle, outcome, nanos)));
    }

    private CompletionStage<Outcome> timed(
            String call, Timer.Sample sample, CompletionStage<Outcome> outcome, ObjLongConsumer<Outcome> then) {
        return outcome.thenApply(known -> {
            then.accept(known, sample.stop(timer(call, known.kind())));
            return known;
        });
    }

    private Timer timer(String call, Outcome.Kind kind) {
        return Timer.builder("holdfast.backend.calls")
                .description("Calls to pin, renew and unpin by outcome")
                .tag("engine", engineId)
                .tag("call", call)
                .tag("kind", kind.name().toLowerCase(Locale.ROOT))
                .register(registry);
    }
}
