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

/** Counts and times the outcomes of calls, and tells them to the log. */
final class CallMeter implements CallWatch {
    private final String engineId;
    private final MeterRegistry registry;
    private final PinLog log;

    CallMeter(String engineId, MeterRegistry registry, PinLog log) {
        this.engineId = engineId;
        this.registry = registry;
        this.log = log;
    }

    @Override
    public void expect(Backend backend) {
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
    public CompletionStage<Outcome> pin(Backend backend, PinCommand command) {
        Timer.Sample sample = Timer.start(registry);
        return timed(
                "pin", sample, backend.pin(command), (outcome, nanos) -> log.pin(backend, command, outcome, nanos));
    }

    @Override
    public CompletionStage<Outcome> renew(Backend backend, PinCommand command) {
        Timer.Sample sample = Timer.start(registry);
        return timed("renew", sample, backend.renew(command), (outcome, nanos) -> {});
    }

    @Override
    public CompletionStage<Outcome> unpin(Backend backend, List<String> handles) {
        Timer.Sample sample = Timer.start(registry);
        return timed(
                "unpin",
                sample,
                backend.unpin(handles),
                (outcome, nanos) -> handles.forEach(handle -> log.unpin(backend, handle, outcome, nanos)));
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
