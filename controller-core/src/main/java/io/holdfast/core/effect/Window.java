package io.holdfast.core.effect;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;

/**
 * Measurements of one window: from the first reading that counts to the last, or by the reports that came meanwhile.
 */
final class Window {
    /*
     * The engine's counters only grow, so a window's mean is the difference of two readings. A counter that fell
     * belongs to another life of the engine, and one that was missing may have fallen unseen; both spoil the window,
     * and nothing is filled in. What a router reports is each single request, so it needs no differences; where
     * there is enough of it, it is used in place of the counters, and it knows classes.
     */
    static final int MOST_CLASSES = 8;
    private static final int FEWEST_USERS = 3;

    private Optional<Counters> first = Optional.empty();
    private Optional<Counters> last = Optional.empty();
    private final Sums reported = new Sums();
    private final Map<String, Sums> byClass = new TreeMap<>();
    private final Level running = new Level();
    private final Use use = new Use();
    private Optional<String> spoilt = Optional.empty();
    private Optional<String> untold = Optional.empty();

    /** Counters of the engine at one moment; what it does not tell is absent. */
    private record Counters(
            double seconds,
            double count,
            OptionalDouble promptTokens,
            OptionalDouble cachedTokens,
            OptionalDouble itlSeconds,
            OptionalDouble itlCount) {
        /** Reads the counters; absent without the two that matter. */
        static Optional<Counters> of(EngineReadings readings) {
            OptionalDouble sum = readings.ttftSumSeconds().number();
            OptionalDouble count = readings.ttftCount().number();
            return sum.isEmpty() || count.isEmpty()
                    ? Optional.empty()
                    : Optional.of(new Counters(
                            sum.getAsDouble(),
                            count.getAsDouble(),
                            readings.promptTokens().number(),
                            readings.cachedTokens().number(),
                            readings.itlSumSeconds().number(),
                            readings.itlCount().number()));
        }
    }

    /** Requests that were reported. */
    private static final class Sums {
        private double seconds;
        private double promptTokens;
        private double cachedTokens;
        private int count;
        private int toldCached;

        private void add(FirstToken report) {
            seconds += report.seconds();
            promptTokens += report.promptTokens();
            cachedTokens += report.cachedTokens().orElse(0);
            toldCached += report.cachedTokens().isPresent() ? 1 : 0;
            count++;
        }

        private Measured measured() {
            return new Measured(
                    count,
                    seconds / count,
                    OptionalDouble.of(promptTokens / count),
                    toldCached == count ? OptionalDouble.of(cachedTokens / count) : OptionalDouble.empty());
        }
    }

    /** Use that requests make of held prefixes, by the events. */
    private static final class Use {
        private double requests;
        private double promptTokens;
        private double foundTokens;
        private double seen;
    }

    /** The mean of a reading that goes up and down. */
    private static final class Level {
        private double sum;
        private int count;

        private void add(Reading reading) {
            reading.number().ifPresent(value -> {
                sum += value;
                count++;
            });
        }

        private OptionalDouble mean() {
            return count == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / count);
        }
    }

    /**
     * Means over requests.
     *
     * @param cachedTokens absent where nobody told
     */
    record Measured(int requests, double seconds, OptionalDouble promptTokens, OptionalDouble cachedTokens) {
        /** The part of the prompts' tokens that was not cached. */
        OptionalDouble computed() {
            return promptTokens.orElse(0) > 0 && cachedTokens.isPresent()
                    ? OptionalDouble.of(1 - Math.min(1, cachedTokens.getAsDouble() / promptTokens.getAsDouble()))
                    : OptionalDouble.empty();
        }
    }

    void reading(EngineReadings readings) {
        Optional<Counters> counters = Counters.of(readings);
        if (counters.isEmpty()) {
            untold = Optional.of("the engine did not report its times to first token");
            return;
        }
        if (last.filter(before -> counters.get().count < before.count).isPresent()) {
            spoilt("the engine began to count anew");
        }
        if (first.isEmpty()) {
            first = counters;
        }
        last = counters;
        running.add(readings.runningRequests());
    }

    void report(FirstToken report) {
        reported.add(report);
        report.requestClass()
                .filter(name -> byClass.containsKey(name) || byClass.size() < MOST_CLASSES)
                .ifPresent(
                        name -> byClass.computeIfAbsent(name, key -> new Sums()).add(report));
    }

    void used(PrefixUse seen) {
        use.seen += seen.requests();
        use.requests += seen.users();
        use.promptTokens += seen.promptTokens();
        use.foundTokens += seen.foundTokens();
    }

    /** It measures neither arm. */
    void spoilt(String why) {
        spoilt = Optional.of(why);
    }

    /** Returns what spoilt it, if anything did. */
    Optional<String> spoilt() {
        return spoilt;
    }

    /** Returns what is missing of the counters, which nobody needs where there are reports. */
    Optional<String> untold() {
        return untold;
    }

    OptionalDouble load() {
        return running.mean();
    }

    /** Mean time between tokens; absent where the engine does not tell. */
    Optional<Double> itlSeconds() {
        if (first.isEmpty() || last.isEmpty()) {
            return Optional.empty();
        }
        double count = last.get().itlCount.orElse(0) - first.get().itlCount.orElse(0);
        double seconds =
                last.get().itlSeconds.orElse(0) - first.get().itlSeconds.orElse(0);
        return count >= 1 && seconds > 0 ? Optional.of(seconds / count) : Optional.empty();
    }

    /** Returns how many requests there were, as far as anybody tells. */
    double served() {
        double counted = first.isPresent() && last.isPresent() ? last.get().count - first.get().count : 0;
        return Math.max(Math.max(counted, use.seen), reported.count);
    }

    /** Returns how many requests were reported. */
    int reported() {
        return reported.count;
    }

    /** Returns how many of them used a held prefix. */
    double users() {
        return use.requests;
    }

    /** Mean prompt of those. */
    double usersPromptTokens() {
        return use.promptTokens / Math.max(1, use.requests);
    }

    /** The part of their prompts that was not found within held prefixes; absent where they are too few. */
    OptionalDouble computedByUsers() {
        return spoilt.isPresent() || use.requests < FEWEST_USERS || !(use.promptTokens > 0)
                ? OptionalDouble.empty()
                : OptionalDouble.of(1 - Math.clamp(use.foundTokens / use.promptTokens, 0, 1));
    }

    /** The part of all prompts that was not found in the cache, by the engine's counters or else by the reports. */
    OptionalDouble computedByAll() {
        if (spoilt.isPresent()) {
            return OptionalDouble.empty();
        }
        if (untold.isEmpty() && first.isPresent() && last.isPresent()) {
            Counters from = first.get();
            Counters to = last.get();
            double count = Math.max(1, to.count - from.count);
            OptionalDouble counted = new Measured(
                            (int) count,
                            0,
                            mean(from.promptTokens, to.promptTokens, count),
                            mean(from.cachedTokens, to.cachedTokens, count))
                    .computed();
            if (counted.isPresent()) {
                return counted;
            }
        }
        return reported.count > 0 ? reported.measured().computed() : OptionalDouble.empty();
    }

    /** Returns what was reported of each class that has at least so many requests. */
    Map<String, Measured> classes(int fewest) {
        Map<String, Measured> measured = new TreeMap<>();
        byClass.forEach((name, sums) -> {
            if (sums.count >= fewest) {
                measured.put(name, sums.measured());
            }
        });
        return measured;
    }

    /**
     * Measures by the reports where there are at least so many, and otherwise by the counters; absent where neither has
     * as many.
     */
    Optional<Measured> measured(int fewest) {
        if (spoilt.isPresent()) {
            return Optional.empty();
        }
        if (reported.count >= fewest) {
            return Optional.of(reported.measured());
        }
        if (untold.isPresent() || first.isEmpty() || last.isEmpty()) {
            return Optional.empty();
        }
        Counters from = first.get();
        Counters to = last.get();
        double count = to.count - from.count;
        double seconds = to.seconds - from.seconds;
        if (count < Math.max(1, fewest) || !(seconds > 0)) {
            return Optional.empty();
        }
        return Optional.of(new Measured(
                (int) count,
                seconds / count,
                mean(from.promptTokens, to.promptTokens, count),
                mean(from.cachedTokens, to.cachedTokens, count)));
    }

    private static OptionalDouble mean(OptionalDouble from, OptionalDouble to, double count) {
        return from.isPresent() && to.isPresent() && to.getAsDouble() >= from.getAsDouble()
                ? OptionalDouble.of((to.getAsDouble() - from.getAsDouble()) / count)
                : OptionalDouble.empty();
    }
}
