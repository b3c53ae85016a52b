package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;

/**
 * Several models that share a GPU, each at a server of its own and all asked at once.
 *
 * <p>In the benefit's load each model's rate climbs and the models begin one after the other, so that one has little to
 * do while another has much: memory that moves between them has something to move. In the capacity's load there is one
 * model, then two, and so on, until one of them fails or is too slow.
 */
public final class SeveralModels {
    /** Name of the preset whose loads climb. */
    public static final String BENEFIT = "latency-benefit";

    /** Name of the preset that asks more and more models. */
    public static final String CAPACITY = "multi-model";

    /** Share of a model's requests that have to keep the limits. */
    private static final double GOOD_ENOUGH = 0.95;

    /** The most that a request may take: a server that is far behind takes minutes. */
    public static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(20);

    private final Values values;
    private final BenchConfig config;

    /**
     * A server with the clock that it is measured by.
     *
     * @param cold keeps its legs from finding what others left in its cache
     */
    public record Seat(EngineUnderTest engine, RunClock clock, ColdLegs cold) {}

    /** Takes the models of a configuration. */
    public SeveralModels(Values values, BenchConfig config) {
        this.values = values;
        this.config = config;
    }

    /** Sends legs at once, and returns what became of each. */
    public interface Sender {
        List<LoadLeg> send(List<Suite.Leg> legs);
    }

    /** Name in files and plans. */
    public String name() {
        return values.definition().name();
    }

    /** Returns all legs that may be sent, for a plan. */
    public List<Suite.Leg> legs() {
        Map<String, Suite.Leg> legs = new LinkedHashMap<>();
        groups().forEach(group -> group.forEach(leg -> legs.put(leg.id(), leg)));
        return List.copyOf(legs.values());
    }

    private List<List<Suite.Leg>> groups() {
        return name().equals(BENEFIT) ? List.of(ramps(values.span("stagger"))) : steps();
    }

    /**
     * Sends the legs, those of a group at once, and returns what is to be told of them.
     *
     * @param slo limits of a request
     */
    public List<String> run(Optional<Slo> slo, Sender sender) {
        List<List<Suite.Leg>> groups = groups();
        if (name().equals(BENEFIT)) {
            List<LoadLeg> _ = sender.send(groups.getFirst());
            return List.of("Run it on the other servers as well, and set both files beside each other by 'holdfast"
                    + " loadtest compare'.");
        }
        int fit = 0;
        Optional<String> why = Optional.empty();
        for (List<Suite.Leg> step : groups) {
            why = tooMany(sender.send(step), slo);
            if (why.isPresent()) {
                break;
            }
            fit++;
        }
        return told(fit, groups.size(), why, values.given("split").map(Integer::valueOf));
    }

    /**
     * The legs in which the rate of each model climbs from the lowest of the file to the highest, each model later by
     * that.
     */
    List<Suite.Leg> ramps(Duration stagger) {
        double least = config.rates().stream().min(Double::compare).orElseThrow();
        double highest = config.rates().stream().max(Double::compare).orElseThrow();
        List<Suite.Leg> legs = new ArrayList<>();
        for (BenchConfig.Model model : config.models()) {
            Duration pause = stagger.multipliedBy(legs.size());
            legs.add(leg("", model, "ramp:" + least + ".." + highest, pause));
        }
        return legs;
    }

    /** The legs of one model, of two, and so on up to all of the file, at the lowest rate of the file. */
    List<List<Suite.Leg>> steps() {
        double rate = config.rates().stream().min(Double::compare).orElseThrow();
        List<List<Suite.Leg>> steps = new ArrayList<>();
        for (int number = 1; number <= config.models().size(); number++) {
            String step = "models" + number + "/";
            steps.add(config.models().subList(0, number).stream()
                    .map(model -> leg(step, model, "poisson:" + rate, Duration.ZERO))
                    .toList());
        }
        return steps;
    }

    private Suite.Leg leg(String step, BenchConfig.Model model, String arrivals, Duration pause) {
        Recipe recipe = values.loads(Map.of(
                        "leg",
                        step + model.name(),
                        "most",
                        Math.min(values.limit("requests"), config.requests()),
                        "input",
                        config.inputTokens(),
                        "output",
                        config.outputTokens(),
                        "arrivals",
                        arrivals,
                        "pause",
                        pause.toMillis()))
                .getFirst();
        return new Suite.Leg(
                step + model.name(),
                DrawnLoad.of(recipe.seededByName(values.seed())),
                Map.of("model", model.path(), "port", Integer.toString(model.port()), "arrivals", arrivals));
    }

    /**
     * Sends all of them at once, each to the server in the same place, and returns when all are over and in the folder.
     *
     * @param threads one for each leg
     */
    public static List<LoadLeg> together(List<Suite.Leg> legs, List<Seat> seats, Executor threads, LoadFolder folder) {
        List<CompletableFuture<LoadLeg>> running = new ArrayList<>();
        for (int i = 0; i < legs.size(); i++) {
            Suite.Leg leg = legs.get(i);
            Seat seat = seats.get(i);
            running.add(CompletableFuture.supplyAsync(
                    () -> seat.cold().run(seat.engine(), seat.clock(), "", leg), threads));
        }
        try {
            List<LoadLeg> over = running.stream().map(CompletableFuture::join).toList();
            over.forEach(folder::add);
            return over;
        } catch (CompletionException e) {
            throw e.getCause() instanceof LoadTestException cause ? cause : e;
        }
    }

    /** Why models that were asked at once are too many, in a sentence; absent where they fit. */
    static Optional<String> tooMany(List<LoadLeg> legs, Optional<Slo> slo) {
        for (LoadLeg leg : legs) {
            List<RequestRecord> requests = leg.measured();
            Map<String, Integer> failures = leg.failures();
            if (!failures.isEmpty()) {
                Map.Entry<String, Integer> first =
                        failures.entrySet().iterator().next();
                return Optional.of(String.format(
                        Locale.ROOT,
                        "%s failed %d of %d requests: %s.",
                        leg.id(),
                        first.getValue(),
                        requests.size(),
                        first.getKey()));
            }
            double good =
                    Measures.of(requests, List.of(), slo).of(Metric.GOOD_SHARE).orElse(1);
            if (good < GOOD_ENOUGH) {
                return Optional.of(String.format(
                        Locale.ROOT,
                        "%s kept the limits in %.1f %% of its requests, and %.0f %% are wanted.",
                        leg.id(),
                        100 * good,
                        100 * GOOD_ENOUGH));
            }
        }
        return Optional.empty();
    }

    /**
     * Returns the results of the steps and how many models fit, with the ratio to another number where there is one.
     */
    static List<String> told(int fit, int all, Optional<String> why, Optional<Integer> split) {
        List<String> lines = new ArrayList<>();
        why.ifPresent(lines::add);
        lines.add(fit + " of " + all + " models fit"
                + (why.isEmpty() ? "; there may be room for more than the file has." : "."));
        split.filter(other -> other > 0)
                .ifPresent(other -> lines.add(String.format(
                        Locale.ROOT, "Against %d with a fixed split that is %.1fx.", other, (double) fit / other)));
        return lines;
    }
}
