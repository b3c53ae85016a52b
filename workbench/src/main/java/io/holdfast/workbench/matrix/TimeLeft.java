package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Estimate of the time that the missing legs will take, by those that are there: a leg takes as long as other passes of
 * it, and where there are none, as long as its tokens take at the rate of all. There is no estimate before a leg is
 * over.
 */
public final class TimeLeft {
    /** Tokens of a prompt are read together, those of an answer come one after the other. */
    private static final double WEIGHT_OF_AN_ANSWER = 30;

    private static final double SECONDS_OF_AN_HOUR = 3_600;

    private final Map<String, Double> weights = new LinkedHashMap<>();
    private final Map<String, double[]> ownSeconds = new HashMap<>();
    private double seconds;
    private double weight;
    private double cooled;
    private int cools;

    /**
     * Begins with the legs of a plan; {@link #add} reports those that are over.
     *
     * @param legs all that are planned
     */
    public TimeLeft(List<Suite.Leg> legs) {
        legs.forEach(leg -> weights.put(
                leg.id(),
                leg.load().requests().stream().mapToDouble(TimeLeft::weight).sum()));
    }

    private static double weight(LoadRequest request) {
        return request.length() + WEIGHT_OF_AN_ANSWER * request.maxTokens();
    }

    /** A leg is over. */
    public void add(LoadLeg leg) {
        double took = leg.parts().isEmpty() ? 0 : leg.parts().getLast().ended() / 1e9;
        if (leg.problem().isEmpty()) {
            add(leg.id(), took, CoolDown.secondsOf(leg));
        }
    }

    void add(String id, double took, OptionalDouble cooledFor) {
        seconds += took;
        weight += weights.getOrDefault(id, 0.0);
        double[] own = ownSeconds.computeIfAbsent(configuration(id), any -> new double[2]);
        own[0] += took;
        own[1]++;
        cooledFor.ifPresent(of -> {
            cooled += of;
            cools++;
        });
    }

    private static String configuration(String id) {
        return id.substring(0, Math.max(0, id.lastIndexOf('/')));
    }

    /** Returns the time that the requests of these legs will take; absent before a leg is over. */
    public Optional<Duration> requests(List<String> missing) {
        return weight == 0
                ? Optional.empty()
                : Optional.of(nanos(missing.stream().mapToDouble(this::seconds).sum()));
    }

    /** Returns the time waited before them. */
    public Duration coolDowns(List<String> missing) {
        return nanos(cools == 0 ? 0 : missing.size() * cooled / cools);
    }

    private double seconds(String id) {
        double[] own = ownSeconds.get(configuration(id));
        return own == null ? weights.getOrDefault(id, 0.0) * seconds / weight : own[0] / own[1];
    }

    private static Duration nanos(double value) {
        return Duration.ofNanos(Math.round(1e9 * value));
    }

    /** Both; absent before a leg is over. */
    public Optional<Duration> all(List<String> missing) {
        return requests(missing).map(coolDowns(missing)::plus);
    }

    /** Both, for people. */
    public String text(List<String> missing) {
        Duration waits = coolDowns(missing);
        return requests(missing)
                .map(sent -> {
                    double sum = Math.max(1e-9, (double) sent.plus(waits).toMillis());
                    return "About " + span(sent.plus(waits)) + " are left for " + missing.size()
                            + (missing.size() == 1 ? " leg" : " legs")
                            + (waits.isZero()
                                    ? ""
                                    : String.format(
                                            Locale.ROOT,
                                            ": %s of requests and %s of cool-downs (%.0f %%)",
                                            span(sent),
                                            span(waits),
                                            100 * waits.toMillis() / sum))
                            + ".";
                })
                .orElse("How long " + missing.size() + " legs take is known when the first of them is over.");
    }

    private static String span(Duration time) {
        double seconds = time.toMillis() / 1e3;
        if (seconds < 100) {
            return String.format(Locale.ROOT, "%.0f s", seconds);
        }
        return seconds < SECONDS_OF_AN_HOUR
                ? String.format(Locale.ROOT, "%.0f min", seconds / 60)
                : String.format(Locale.ROOT, "%.1f h", seconds / SECONDS_OF_AN_HOUR);
    }
}
