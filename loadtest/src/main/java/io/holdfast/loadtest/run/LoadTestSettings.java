package io.holdfast.loadtest.run;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Settings by which a load test is run and judged, whatever engine it runs against.
 *
 * @param design which orders of legs a round has
 * @param rounds at most; where nothing is held, AA pairs
 * @param looks after how many rounds the data is looked at, the last after all; none for once at the end
 * @param seed draws the order of the pairs
 * @param concurrency requests of a flood that are under way at a time
 * @param burnIn whether each server life begins with a leg that is not measured
 * @param rehearsal whether one server life runs before all others and is not counted
 * @param statistic what a leg is reduced to
 * @param criteria what counts as an effect
 * @param holdSlot how long the hold step takes in both arms
 * @param slotAdapts whether a slot that the rehearsal shows to be short becomes longer before the first pair
 * @param slotTolerance by how much a hold step may differ from its slot
 * @param repeatPairs how many pairs may be voided by their surroundings and run again
 * @param salt what every leg's texts begin with, where the cache cannot be emptied between legs
 * @param options further settings, by the names of the command's options, for a run that is resumed
 */
public record LoadTestSettings(
        Design design,
        int rounds,
        List<Integer> looks,
        long seed,
        int concurrency,
        boolean burnIn,
        boolean rehearsal,
        Statistic statistic,
        Criteria criteria,
        Duration holdSlot,
        boolean slotAdapts,
        Duration slotTolerance,
        int repeatPairs,
        Optional<Salt> salt,
        Map<String, String> options) {
    /** Option: the time without requests after the cache was emptied, if there is one. */
    private static final String PAUSE = "pause-after-flush-ms";

    /** Option: the time after which no further pair begins. */
    private static final String MOST_TIME = "max-duration-ms";

    private static final int MOST_ROUNDS = 1_000;
    private static final int MOST_LANES = 4_096;
    private static final int MOST_REPEATS = 1_000;

    public LoadTestSettings {
        between("rounds", rounds, 1, MOST_ROUNDS);
        between("concurrency", concurrency, 1, MOST_LANES);
        between("pairs that may run again", repeatPairs, 0, MOST_REPEATS);
        positive("hold slot", holdSlot);
        positive("slot tolerance", slotTolerance);
        options = Map.copyOf(options);
        looks = List.copyOf(looks);
        try {
            new CrossoverPlan(Collections.nCopies(rounds, design.round()), looks);
        } catch (IllegalArgumentException e) {
            throw new LoadTestException(String.valueOf(e.getMessage()), e);
        }
    }

    /** Returns the time without requests after the cache was emptied. */
    Duration pauseAfterFlush() {
        return Duration.ofMillis(Long.parseLong(options.getOrDefault(PAUSE, "0")));
    }

    /** Returns the time after which no further pair begins; absent where the plan runs to its end. */
    Optional<Duration> mostTime() {
        return Optional.ofNullable(options.get(MOST_TIME)).map(millis -> Duration.ofMillis(Long.parseLong(millis)));
    }

    /** The plan that these and their seed make. */
    public CrossoverPlan plan() {
        return CrossoverPlan.draw(design, rounds, new SplittableRandom(seed)).lookedAt(looks);
    }

    /** Legs of each life, with that which is not measured. */
    int legsPerLife() {
        return design.round().getFirst().legs() + (burnIn ? 1 : 0);
    }

    /** Returns the settings for a run that is resumed: everything as it was, and no text that was sent before. */
    public static LoadTestSettings of(Journal.Contents run) {
        RunHeader header = run.header();
        return new LoadTestSettings(
                header.plan().design(),
                header.plan().rounds().size(),
                header.plan().looks(),
                header.seed(),
                header.concurrency(),
                header.burnIn(),
                header.rehearsal(),
                header.statistic(),
                header.criteria(),
                Duration.ofMillis(header.slotMillis()),
                header.slotAdapts(),
                Duration.ofMillis(header.toleranceMillis()),
                header.repeatPairs(),
                Optional.ofNullable(header.client().get(RunHeader.SALT))
                        .map(text -> Salt.of(text, run.resumes() + run.repeats() + 1)),
                header.options());
    }

    /** Five rounds, concurrency 8, a burn-in leg in every life, probes judged by their median. */
    public static LoadTestSettings defaults() {
        return new Builder().build();
    }

    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Returns the requests of the leg at a position in a life. */
    List<LoadRequest> requests(Workload workload, int life, int position) {
        List<LoadRequest> requests = workload.requests(position);
        return salt.map(each -> each.on(requests, life, position)).orElse(requests);
    }

    /** Returns one request as that leg sends it. */
    LoadRequest request(LoadRequest request, int life, int position) {
        return salt.map(each -> each.on(request, life, position)).orElse(request);
    }

    /** Returns the settings for the legs after a pair that does not count: no text of them was sent before. */
    LoadTestSettings afterVoidedPair() {
        return salt.map(each -> toBuilder().salt(each.next()).build()).orElse(this);
    }

    private static void between(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new LoadTestException(
                    "The " + what + " must be between " + least + " and " + most + ", not " + value + ".");
        }
    }

    private static void positive(String what, Duration value) {
        if (value.toMillis() < 1) {
            throw new LoadTestException(
                    "The " + what + " must be at least one millisecond, not " + value.toMillis() + " ms.");
        }
    }

    /** Settings in the making. */
    public static final class Builder {
        private Design design = Design.CROSSOVER;
        private int rounds = 5;
        private List<Integer> looks = List.of();
        private long seed = 42;
        private int concurrency = 8;
        private boolean burnIn = true;
        private boolean rehearsal;
        private Statistic statistic = Statistic.PROBE_P50;
        private Criteria criteria = Criteria.standard();
        private Duration holdSlot = Duration.ofMillis(150);
        private boolean slotAdapts;
        private Duration slotTolerance = Duration.ofMillis(50);
        private int repeatPairs = 3;
        private Optional<Salt> salt = Optional.empty();
        private Map<String, String> options = Map.of();

        private Builder() {}

        private Builder(LoadTestSettings from) {
            design = from.design;
            rounds = from.rounds;
            looks = from.looks;
            seed = from.seed;
            concurrency = from.concurrency;
            burnIn = from.burnIn;
            rehearsal = from.rehearsal;
            statistic = from.statistic;
            criteria = from.criteria;
            holdSlot = from.holdSlot;
            slotAdapts = from.slotAdapts;
            slotTolerance = from.slotTolerance;
            repeatPairs = from.repeatPairs;
            salt = from.salt;
            options = from.options;
        }

        public Builder rounds(int value) {
            rounds = value;
            return this;
        }

        public Builder design(Design value) {
            design = value;
            return this;
        }

        /** Rounds up to the last of these looks, each after so many of them; none for one look at the end. */
        public Builder looks(List<Integer> value) {
            looks = List.copyOf(value);
            rounds = looks.isEmpty() ? rounds : looks.getLast();
            return this;
        }

        public Builder seed(long value) {
            seed = value;
            return this;
        }

        public Builder concurrency(int value) {
            concurrency = value;
            return this;
        }

        public Builder burnIn(boolean value) {
            burnIn = value;
            return this;
        }

        public Builder rehearsal(boolean value) {
            rehearsal = value;
            return this;
        }

        public Builder statistic(Statistic value) {
            statistic = value;
            return this;
        }

        public Builder criteria(Criteria value) {
            criteria = value;
            return this;
        }

        public Builder holdSlot(Duration value) {
            holdSlot = value;
            return this;
        }

        public Builder slotAdapts(boolean value) {
            slotAdapts = value;
            return this;
        }

        public Builder repeatPairs(int value) {
            repeatPairs = value;
            return this;
        }

        public Builder slotTolerance(Duration value) {
            slotTolerance = value;
            return this;
        }

        public Builder salt(Salt value) {
            salt = Optional.of(value);
            return this;
        }

        /** Replaces all options. */
        public Builder options(Map<String, String> value) {
            options = Map.copyOf(value);
            return this;
        }

        public Builder pauseAfterFlush(Duration value) {
            return option(PAUSE, Long.toString(value.toMillis()));
        }

        public Builder mostTime(Duration value) {
            return option(MOST_TIME, Long.toString(value.toMillis()));
        }

        private Builder option(String name, String value) {
            Map<String, String> with = new TreeMap<>(options);
            with.put(name, value);
            return options(with);
        }

        public LoadTestSettings build() {
            return new LoadTestSettings(
                    design,
                    rounds,
                    looks,
                    seed,
                    concurrency,
                    burnIn,
                    rehearsal,
                    statistic,
                    criteria,
                    holdSlot,
                    slotAdapts,
                    slotTolerance,
                    repeatPairs,
                    salt,
                    options);
        }
    }
}
