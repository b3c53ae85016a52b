package io.holdfast.loadtest.journal;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Everything that a load test needs and a journal may keep: the command line makes it, the journal's header keeps it,
 * and a resumed run reads it back. Keys, contents of headers and commands are never part of it.
 *
 * @param design which orders of legs a round has
 * @param rounds at most; where nothing is held, AA pairs
 * @param looks after how many rounds the data is looked at, the last after all; none for once at the end
 * @param seed draws the order of the pairs
 * @param concurrency requests of a flood that are under way at a time
 * @param burnIn whether each server life begins with a leg that is not measured
 * @param rehearsal whether one server life runs before all others and is not counted
 * @param statistic what a leg is reduced to
 * @param alsoJudged further numbers that have to bear the verdict out
 * @param criteria what counts as an effect
 * @param holdSlot how long the hold step takes in both arms
 * @param slotAdapts whether a slot that the rehearsal shows to be short becomes longer before the first pair
 * @param slotTolerance by how much a hold step may differ from its slot
 * @param repeatPairs how many pairs may be voided by their surroundings and run again
 * @param pauseAfterFlush the time without requests after the cache was emptied
 * @param mostTime the time after which no further pair begins; absent where the plan runs to its end
 * @param salt what every leg's texts begin with, where the cache cannot be emptied between legs
 * @param freshLegs whether each leg has a server process of its own
 * @param profiler the profiler that the server runs under, whose legs are never judged
 * @param target what is asked and how it is loaded; absent where a program began the run
 */
public record LoadTestPlan(
        Design design,
        int rounds,
        List<Integer> looks,
        long seed,
        int concurrency,
        boolean burnIn,
        boolean rehearsal,
        Statistic statistic,
        List<Statistic> alsoJudged,
        Criteria criteria,
        Duration holdSlot,
        boolean slotAdapts,
        Duration slotTolerance,
        int repeatPairs,
        Duration pauseAfterFlush,
        Optional<Duration> mostTime,
        Optional<Salt> salt,
        boolean freshLegs,
        Optional<String> profiler,
        Optional<Target> target) {
    private static final int MOST_ROUNDS = 1_000;
    private static final int MOST_LANES = 4_096;
    private static final int MOST_REPEATS = 1_000;

    public LoadTestPlan {
        between("rounds", rounds, 1, MOST_ROUNDS);
        between("concurrency", concurrency, 1, MOST_LANES);
        between("pairs that may run again", repeatPairs, 0, MOST_REPEATS);
        positive("hold slot", holdSlot);
        positive("slot tolerance", slotTolerance);
        looks = List.copyOf(looks);
        alsoJudged = List.copyOf(alsoJudged);
        try {
            new CrossoverPlan(Collections.nCopies(rounds, design.round()), looks);
        } catch (IllegalArgumentException e) {
            throw new LoadTestException(String.valueOf(e.getMessage()), e);
        }
    }

    /**
     * The server that is asked, and the load that it gets.
     *
     * @param server the address that the load goes to
     * @param engines those behind it, where it is a router's
     * @param shape the sizes of the load
     * @param arrivals when the requests of a flood come, by {@link WorkloadFacts#arrivals}
     * @param arm what pinned legs do
     * @param flushPath the route that empties the cache, where one was named
     * @param ca the file of the certificates that are trusted, where one was named
     */
    public record Target(
            URI server,
            List<URI> engines,
            FloodShape shape,
            String arrivals,
            ArmPlan arm,
            Optional<String> flushPath,
            Optional<Path> ca) {
        public Target {
            engines = List.copyOf(engines);
        }

        /** Returns the same at another address. */
        public Target at(URI address) {
            return new Target(address, engines, shape, arrivals, arm, flushPath, ca);
        }
    }

    /** Returns what is asked; refuses a run of which a journal says too little to ask the same again. */
    public Target targetAgain() {
        return target.orElseThrow(
                () -> new LoadTestException("The journal's run was not begun by 'loadtest run' or 'loadtest aa', so it"
                        + " says too little to be resumed; begin a new run."));
    }

    /** Draws the requests of the run; a recorded trace of arrivals is read now. */
    public Workload workload() {
        Target its = targetAgain();
        return IdlePrefixFlood.workload(
                seed,
                its.shape(),
                Arrivals.of(its.arrivals()),
                1 + design.round().getFirst().legs());
    }

    /** Draws the order of the pairs. */
    public CrossoverPlan draw() {
        return CrossoverPlan.draw(design, rounds, new SplittableRandom(seed)).lookedAt(looks);
    }

    /** Returns all numbers that the run is judged by, the first of them first. */
    public List<Statistic> judgedBy() {
        return Stream.concat(Stream.of(statistic), alsoJudged.stream())
                .distinct()
                .toList();
    }

    /** Number of legs of each life, with that which is not measured. */
    public int legsPerLife() {
        return design.round().getFirst().legs() + (burnIn ? 1 : 0);
    }

    /** Returns the plan for a run that goes on: everything as it was, and no text that was sent before. */
    public static LoadTestPlan of(Journal.Contents run) {
        LoadTestPlan test = run.header().test();
        return test.salt
                .map(salt -> test.with(new Salt(salt.nonce(), run.resumes() + run.repeats() + 1)))
                .orElse(test);
    }

    /** Five rounds, concurrency 8, a burn-in leg in every life, probes judged by their median. */
    public static LoadTestPlan defaults() {
        return new Builder().build();
    }

    public Builder toBuilder() {
        return new Builder(this);
    }

    /** Returns the requests of the leg at a position in a life. */
    public List<LoadRequest> requests(Workload workload, int life, int position) {
        List<LoadRequest> requests = workload.requests(position);
        return salt.map(each -> each.on(requests, life, position)).orElse(requests);
    }

    /** Returns one request as that leg sends it. */
    public LoadRequest request(LoadRequest request, int life, int position) {
        return salt.map(each -> each.on(request, life, position)).orElse(request);
    }

    /** Returns the plan for the legs after a pair that does not count: no text of them was sent before. */
    public LoadTestPlan afterVoidedPair() {
        return salt.map(each -> with(each.next())).orElse(this);
    }

    private LoadTestPlan with(Salt value) {
        return toBuilder().salt(value).build();
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

    /** A plan in the making. */
    public static final class Builder {
        private Design design = Design.CROSSOVER;
        private int rounds = 5;
        private List<Integer> looks = List.of();
        private long seed = 42;
        private int concurrency = 8;
        private boolean burnIn = true;
        private boolean rehearsal;
        private Statistic statistic = Statistic.PROBE_P50;
        private List<Statistic> alsoJudged = List.of();
        private Criteria criteria = Criteria.standard();
        private Duration holdSlot = Duration.ofMillis(150);
        private boolean slotAdapts;
        private Duration slotTolerance = Duration.ofMillis(50);
        private int repeatPairs = 3;
        private Duration pauseAfterFlush = Duration.ZERO;
        private Optional<Duration> mostTime = Optional.empty();
        private Optional<Salt> salt = Optional.empty();
        private boolean freshLegs;
        private Optional<String> profiler = Optional.empty();
        private Optional<Target> target = Optional.empty();

        private Builder() {}

        private Builder(LoadTestPlan from) {
            design = from.design;
            rounds = from.rounds;
            looks = from.looks;
            seed = from.seed;
            concurrency = from.concurrency;
            burnIn = from.burnIn;
            rehearsal = from.rehearsal;
            statistic = from.statistic;
            alsoJudged = from.alsoJudged;
            criteria = from.criteria;
            holdSlot = from.holdSlot;
            slotAdapts = from.slotAdapts;
            slotTolerance = from.slotTolerance;
            repeatPairs = from.repeatPairs;
            pauseAfterFlush = from.pauseAfterFlush;
            mostTime = from.mostTime;
            salt = from.salt;
            freshLegs = from.freshLegs;
            profiler = from.profiler;
            target = from.target;
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

        public Builder alsoJudged(List<Statistic> value) {
            alsoJudged = List.copyOf(value);
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

        public Builder pauseAfterFlush(Duration value) {
            pauseAfterFlush = value;
            return this;
        }

        public Builder mostTime(Duration value) {
            mostTime = Optional.of(value);
            return this;
        }

        public Builder salt(Salt value) {
            salt = Optional.of(value);
            return this;
        }

        public Builder freshLegs(boolean value) {
            freshLegs = value;
            return this;
        }

        public Builder profiler(Optional<String> value) {
            profiler = value;
            return this;
        }

        public Builder target(Target value) {
            target = Optional.of(value);
            return this;
        }

        public LoadTestPlan build() {
            return new LoadTestPlan(
                    design,
                    rounds,
                    looks,
                    seed,
                    concurrency,
                    burnIn,
                    rehearsal,
                    statistic,
                    alsoJudged,
                    criteria,
                    holdSlot,
                    slotAdapts,
                    slotTolerance,
                    repeatPairs,
                    pauseAfterFlush,
                    mostTime,
                    salt,
                    freshLegs,
                    profiler,
                    target);
        }
    }
}
