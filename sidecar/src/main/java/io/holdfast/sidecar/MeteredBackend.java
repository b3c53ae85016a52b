package io.holdfast.sidecar;

import io.holdfast.core.Backend;
import io.holdfast.core.Capabilities;
import io.holdfast.core.Outcome;
import io.holdfast.core.PinCommand;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/**
 * Another backend, probed only while its engine answers, its outcomes counted and timed.
 *
 * <p>An engine that is not there yet has not refused anything: holds asked for meanwhile wait instead of being turned
 * away. Nor has one whose guards still turn calls away because it was not there a moment ago; so a backend that cannot pin
 * is asked a second time, after another answer of the engine, before that is believed.
 */
final class MeteredBackend implements Backend {
    private final Backend backend;
    private final String engineId;
    private final MeterRegistry registry;
    private final Supplier<? extends CompletionStage<?>> nextAnswer;
    private final LongConsumer stuck;
    private volatile boolean probed;

    /**
     * Wraps a backend.
     *
     * @param nextAnswer completes when the engine gives its next answer
     * @param stuck is told of blocks whose unpin the engine refuses
     */
    MeteredBackend(
            Backend backend,
            String engineId,
            MeterRegistry registry,
            Supplier<? extends CompletionStage<?>> nextAnswer,
            LongConsumer stuck) {
        this.backend = backend;
        this.engineId = engineId;
        this.registry = registry;
        this.nextAnswer = nextAnswer;
        this.stuck = stuck;
        // All of them from the start: a rate needs a zero to rise from.
        for (Outcome.Kind kind : Outcome.Kind.values()) {
            timer("pin", kind);
            timer("unpin", kind);
        }
    }

    @Override
    public String name() {
        return backend.name();
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        return probeOnce()
                .thenCompose(found -> found.canPin() ? CompletableFuture.completedFuture(found) : probeOnce())
                .thenApply(found -> {
                    probed = true;
                    return found;
                });
    }

    private CompletionStage<Capabilities> probeOnce() {
        return nextAnswer.get().thenCompose(answered -> backend.probe());
    }

    /** Whether it is known what the backend can do on this engine. */
    boolean probed() {
        return probed;
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return timed("pin", backend.pin(command));
    }

    @Override
    public CompletionStage<Outcome> unpin(PinCommand command) {
        return timed("unpin", backend.unpin(command)).thenApply(outcome -> {
            if (outcome.kind() == Outcome.Kind.REJECTED) {
                stuck.accept(command.lastBlock());
            }
            return outcome;
        });
    }

    private CompletionStage<Outcome> timed(String call, CompletionStage<Outcome> outcome) {
        Timer.Sample sample = Timer.start(registry);
        return outcome.thenApply(known -> {
            sample.stop(timer(call, known.kind()));
            return known;
        });
    }

    private Timer timer(String call, Outcome.Kind kind) {
        return Timer.builder("holdfast.outcomes")
                .description("Pins and unpins asked of the engine, by what it made of them")
                .tag("engine", engineId)
                .tag("call", call)
                .tag("kind", kind.name().toLowerCase(Locale.ROOT))
                .register(registry);
    }
}
