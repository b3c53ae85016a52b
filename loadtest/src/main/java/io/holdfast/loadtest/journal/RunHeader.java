package io.holdfast.loadtest.journal;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.workload.WorkloadFacts;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Decisions made before the first leg: enough to judge the legs again.
 *
 * @param format of the journal that it heads
 * @param startedAt date and time in UTC, for people
 * @param client how the engine was asked, and with which versions
 * @param freshLives whether pairs are separated by restarts, not by flushes only
 * @param claimsHold whether pinned legs claim to keep the prefix
 * @param repeatPairs how many pairs may be voided by their surroundings and run again
 * @param slotAdapts whether the slot becomes longer where the rehearsal shows that it has to
 * @param options further settings of the run, by the names of the command's options, so that they can be given
 *     again; and what it was measured on, under names of its own; nothing that is secret
 */
public record RunHeader(
        int format,
        String startedAt,
        Map<String, String> client,
        WorkloadFacts workload,
        CrossoverPlan plan,
        long seed,
        int concurrency,
        boolean burnIn,
        boolean rehearsal,
        Statistic statistic,
        Criteria criteria,
        long slotMillis,
        long toleranceMillis,
        String unit,
        boolean freshLives,
        String holder,
        boolean claimsHold,
        EngineFacts engine,
        int repeatPairs,
        boolean slotAdapts,
        Map<String, String> options) {
    public static final int FORMAT = 5;

    /** The oldest that is read; what its lines do not tell is unknown. */
    static final int OLDEST_FORMAT = 4;

    /** The slot against the slowest call of the rehearsal. */
    private static final int ROOM = 3;

    private static final long NANOS_OF_A_MILLI = 1_000_000;

    /** Client fact: the nonce of what each leg's texts begin with, if they are salted. */
    public static final String SALT = "salt";

    /** Client fact: the names of the headers that were sent, if any. */
    public static final String HEADERS = "headers";

    /** Client fact: answers end where the model ends them. */
    public static final String ENDS = "answersEnd";

    /** Option: the other numbers that a run is judged by, separated by commas. */
    public static final String ALSO_JUDGE = "also-judge";

    /** Option: the command that starts another server for pinned legs. */
    public static final String ARM_SERVER = "arm-server-command";

    /** Option: the span after which the server is started anew, if it is not a pair. */
    public static final String RESTART_PER = "restart-per";

    /** Value of {@link #RESTART_PER} where each leg has a process of its own. */
    public static final String LEG = "leg";

    /** Beginning of the option names that say what the run was measured on. */
    public static final String ENVIRONMENT = "environment.";

    /** Option: the profiler that the server ran under. */
    public static final String PROFILER = "server-wrapper";

    public RunHeader {
        client = Map.copyOf(client);
        options = Map.copyOf(options);
    }

    /** Creates the header of a run that nobody can resume by its journal alone. */
    public RunHeader(
            int format,
            String startedAt,
            Map<String, String> client,
            WorkloadFacts workload,
            CrossoverPlan plan,
            long seed,
            int concurrency,
            boolean burnIn,
            boolean rehearsal,
            Statistic statistic,
            Criteria criteria,
            long slotMillis,
            long toleranceMillis,
            String unit,
            boolean freshLives,
            String holder,
            boolean claimsHold,
            EngineFacts engine) {
        this(
                format,
                startedAt,
                client,
                workload,
                plan,
                seed,
                concurrency,
                burnIn,
                rehearsal,
                statistic,
                criteria,
                slotMillis,
                toleranceMillis,
                unit,
                freshLives,
                holder,
                claimsHold,
                engine,
                0,
                false,
                Map.of());
    }

    /**
     * Returns the header after the rehearsal, whose calls may need a longer slot; a reader of its legs gets the same.
     */
    public RunHeader afterRehearsal(List<LegRecord> rehearsal) {
        long slowest = rehearsal.stream().mapToLong(LegRecord::holdNanos).max().orElse(0);
        long needed = Math.ceilDiv(ROOM * slowest, NANOS_OF_A_MILLI);
        return slotAdapts && needed > slotMillis ? withSlotMillis(needed) : this;
    }

    /** Returns the header for the legs of several runs put together; {@code holds} if any of them held. */
    public RunHeader of(CrossoverPlan whole, boolean holds) {
        return with(whole, slotMillis, holds);
    }

    private RunHeader withSlotMillis(long millis) {
        return with(plan, millis, claimsHold);
    }

    private RunHeader with(CrossoverPlan whole, long millis, boolean holds) {
        return new RunHeader(
                format,
                startedAt,
                client,
                workload,
                whole,
                seed,
                concurrency,
                burnIn,
                rehearsal,
                statistic,
                criteria,
                millis,
                toleranceMillis,
                unit,
                freshLives,
                holder,
                holds,
                engine,
                repeatPairs,
                slotAdapts,
                options);
    }

    /** The order of the pair in a life; the rehearsal takes every path that the experiment will take. */
    public PairOrder orderOf(int life) {
        if (life > 0) {
            return plan.lives().get(life - 1);
        }
        return switch (plan.design()) {
            case CONTROLS -> PairOrder.AA;
            case BLOCKS -> PairOrder.BPPB;
            case CROSSOVER, NORMAL, REVERSED, FRESH_LEGS -> PairOrder.BP;
        };
    }

    /** Returns the number of measured legs of each life. */
    public int measuredLegsOfALife() {
        return orderOf(0).legs();
    }

    /** The legs of one life in their order. */
    public List<PlannedLeg> legsOf(int life) {
        return IntStream.rangeClosed(burnIn ? 0 : 1, measuredLegsOfALife())
                .mapToObj(position -> new PlannedLeg(life, orderOf(life), position))
                .toList();
    }

    /** The first life: that of the rehearsal, where there is one. */
    public int firstLife() {
        return rehearsal ? 0 : 1;
    }

    /** All legs in the order in which they run. */
    public List<PlannedLeg> legs() {
        return IntStream.rangeClosed(firstLife(), plan.lives().size())
                .mapToObj(this::legsOf)
                .flatMap(List::stream)
                .toList();
    }

    /** All numbers that the run is judged by, the first of them first. */
    public List<Statistic> judgedBy() {
        String others = options.getOrDefault(ALSO_JUDGE, "");
        return Stream.concat(
                        Stream.of(statistic),
                        Stream.of(others.split(",", -1))
                                .filter(name -> !name.isBlank())
                                .map(Statistic::valueOf))
                .distinct()
                .toList();
    }

    /** Returns true if each leg had a server process of its own. */
    public boolean freshLegs() {
        return options.containsKey(ARM_SERVER) || LEG.equals(options.get(RESTART_PER));
    }

    /** Returns what the run was measured on, by name: machine, GPUs, versions; empty where nobody looked. */
    public Map<String, String> environment() {
        Map<String, String> environment = new TreeMap<>();
        options.forEach((name, value) -> {
            if (name.startsWith(ENVIRONMENT)) {
                environment.put(name.substring(ENVIRONMENT.length()), value);
            }
        });
        return environment;
    }

    /** The profiler that the server ran under, whose legs are never judged; absent where there was none. */
    public Optional<String> profiler() {
        return Optional.ofNullable(options.get(PROFILER));
    }

    /** Returns true if a salt told texts apart, in place of emptying the cache. */
    public boolean isSalted() {
        return client.containsKey(SALT);
    }
}
