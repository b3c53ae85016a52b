package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * The ways in which prefixes can be held on one engine, each asked whether it works there; the best one first.
 *
 * @param levers the backends of the engine's family that the sidecar chooses among, in that order
 */
public record Levers(List<Lever> levers) {
    private static final int ANSWER_SECONDS = 5;

    /**
     * One way.
     *
     * @param backend its name in the configuration
     * @param chosen whether {@code auto} may take it
     * @param takesMemory whether its pins take memory for good
     * @param why it works or not, one sentence
     */
    public record Lever(String backend, boolean works, boolean chosen, boolean takesMemory, String why) {}

    public Levers {
        levers = List.copyOf(levers);
    }

    public static Levers of(EngineContact contact) {
        EngineFamily.BackendParts parts = new EngineFamily.BackendParts(
                contact.config(),
                contact.http(),
                contact.http(),
                contact.connectorSecret(),
                contact.timer(),
                System::nanoTime,
                new SplittableRandom());
        List<CompletableFuture<Lever>> asked = EngineFamily.of(contact.config().type()).backends().entrySet().stream()
                .map(each -> probed(
                        each.getKey(), each.getValue().chosen(), each.getValue().of(parts)))
                .toList();
        return new Levers(asked.stream().map(CompletableFuture::join).toList());
    }

    private static CompletableFuture<Lever> probed(String name, boolean chosen, Backend backend) {
        return backend.probe()
                .toCompletableFuture()
                .completeOnTimeout(
                        new Capabilities(false, "The engine gave no answer within " + ANSWER_SECONDS + " s."),
                        ANSWER_SECONDS,
                        TimeUnit.SECONDS)
                .thenApply(found ->
                        new Lever(name, found.canPin(), chosen, backend.traits().takesMemory(), found.why()));
    }

    /** The same where pins that take memory for good are no way while the longest request needs the whole cache. */
    public Levers beside(EngineReadings readings, EngineType type) {
        long capacity = (long) readings.capacityTokens().number().orElse(0);
        long context = (long) readings.contextTokens().number().orElse(0);
        long block = (long) readings.blockTokens().number().orElse(0);
        if (capacity == 0 || context == 0 || capacity - context - BudgetRule.slack(capacity, block) > 0) {
            return this;
        }
        String why = String.format(
                Locale.ROOT,
                "The engine can pin, and there is no room for pins beside its longest request (%,d tokens, in a cache"
                        + " of %,d): start it with a smaller %s.",
                context,
                capacity,
                type.contextFlag());
        return new Levers(levers.stream()
                .map(lever -> lever.works() && lever.takesMemory()
                        ? new Lever(lever.backend(), false, lever.chosen(), true, why)
                        : lever)
                .toList());
    }

    public Optional<Lever> best() {
        return levers.stream().filter(lever -> lever.works() && lever.chosen()).findFirst();
    }

    /** What the sidecar would hold with: the best that works, and else nothing. */
    public String chosen() {
        return best().map(Lever::backend).orElse(DryRunBackend.NAME);
    }

    boolean has(String backend) {
        return levers.stream().anyMatch(lever -> lever.backend().equals(backend));
    }
}
