package io.holdfast.loadtest.journal;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.workload.WorkloadFacts;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Decisions made before the first leg: enough to judge the legs again, and to go on with the run.
 *
 * @param format of the journal that it heads
 * @param startedAt date and time in UTC, for people
 * @param client how the engine was asked, and with which versions
 * @param plan the order of the legs, drawn before the first
 * @param test by which the run was begun
 * @param freshLives whether pairs are separated by restarts, not by flushes only
 * @param claimsHold whether pinned legs claim to keep the prefix
 * @param environment what the run was measured on, by name: machine, GPUs, versions; empty where nobody looked
 */
public record RunHeader(
        int format,
        String startedAt,
        Map<String, String> client,
        WorkloadFacts workload,
        CrossoverPlan plan,
        LoadTestPlan test,
        String unit,
        boolean freshLives,
        String holder,
        boolean claimsHold,
        EngineFacts engine,
        Map<String, String> environment) {
    public static final int FORMAT = 6;

    /** The oldest that is read; what its lines do not tell is unknown. */
    static final int OLDEST_FORMAT = 4;

    /** The slot against the slowest call of the rehearsal. */
    private static final int ROOM = 3;

    private static final long NANOS_OF_A_MILLI = 1_000_000;

    /** Client fact: the names of the headers that were sent, if any. */
    public static final String HEADERS = "headers";

    /** Client fact: answers end where the model ends them. */
    public static final String ENDS = "answersEnd";

    public RunHeader {
        client = Map.copyOf(client);
        environment = Collections.unmodifiableMap(new TreeMap<>(environment));
    }

    /**
     * Returns the header after the rehearsal, whose calls may need a longer slot; a reader of its legs gets the same.
     */
    public RunHeader afterRehearsal(List<LegRecord> rehearsal) {
        long slowest = rehearsal.stream().mapToLong(LegRecord::holdNanos).max().orElse(0);
        long needed = Math.ceilDiv(ROOM * slowest, NANOS_OF_A_MILLI);
        return test.slotAdapts() && needed > slotMillis()
                ? with(test.toBuilder().holdSlot(Duration.ofMillis(needed)).build())
                : this;
    }

    /** Returns the header for the legs of several runs put together; {@code holds} if any of them held. */
    public RunHeader of(CrossoverPlan whole, boolean holds) {
        return with(whole, test, holds);
    }

    /** Returns the header of a run that was begun by another plan. */
    public RunHeader with(LoadTestPlan value) {
        return with(plan, value, claimsHold);
    }

    private RunHeader with(CrossoverPlan whole, LoadTestPlan its, boolean holds) {
        return new RunHeader(
                format, startedAt, client, workload, whole, its, unit, freshLives, holder, holds, engine, environment);
    }

    public long seed() {
        return test.seed();
    }

    public int concurrency() {
        return test.concurrency();
    }

    public boolean burnIn() {
        return test.burnIn();
    }

    public boolean rehearsal() {
        return test.rehearsal();
    }

    public Statistic statistic() {
        return test.statistic();
    }

    public Criteria criteria() {
        return test.criteria();
    }

    /** Returns all numbers that the run is judged by, the first of them first. */
    public List<Statistic> judgedBy() {
        return test.judgedBy();
    }

    public long slotMillis() {
        return test.holdSlot().toMillis();
    }

    public long toleranceMillis() {
        return test.slotTolerance().toMillis();
    }

    public int repeatPairs() {
        return test.repeatPairs();
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
        return IntStream.rangeClosed(burnIn() ? 0 : 1, measuredLegsOfALife())
                .mapToObj(position -> new PlannedLeg(life, orderOf(life), position))
                .toList();
    }

    /** The first life: that of the rehearsal, where there is one. */
    public int firstLife() {
        return rehearsal() ? 0 : 1;
    }

    /** All legs in the order in which they run. */
    public List<PlannedLeg> legs() {
        return IntStream.rangeClosed(firstLife(), plan.lives().size())
                .mapToObj(this::legsOf)
                .flatMap(List::stream)
                .toList();
    }

    /** Returns true if a salt told texts apart, in place of emptying the cache. */
    public boolean isSalted() {
        return test.salt().isPresent();
    }
}
