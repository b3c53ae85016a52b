package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
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
    public Consumer<Outcome> pin(Backend backend, PinCommand command) {
        return timed("pin", (outcome, nanos) -> log.pin(backend, command, outcome, nanos));
    }

    @Override
    public Consumer<Outcome> renew() {
        return timed("renew", (outcome, nanos) -> {});
    }

    @Override
    public Consumer<Outcome> unpin(Backend backend, List<String> handles) {
        return timed(
                "unpin", (outcome, nanos) -> handles.forEach(handle -> log.unpin(backend, handle, outcome, nanos)));
    }

    private Consumer<Outcome> timed(String call, ObjLongConsumer<Outcome> then) {
        Timer.Sample sample = Timer.start(registry);
        return outcome -> then.accept(outcome, sample.stop(timer(call, outcome.kind())));
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
