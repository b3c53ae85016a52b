package io.holdfast.core.cost;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.evidence.LinearFit;
import java.util.Arrays;
import java.util.Optional;

/**
 * Measures {@link PrefillCost}: which requests the engine's sum of times to first token grew by, and how long they
 * were.
 */
public final class CostSampler {
    /*
     * What is compared
     * ----------------
     * The engine counts its requests and sums up their times to first token; its events show how many tokens each
     * visible request had to compute. Neither names the other's requests. But where both grew by the same few requests
     * between two moments at which nothing was on its way, these are the same requests, and the growth of the sum is
     * their time. Several of them make one measurement, their mean, which weighs as much as they are: means of points
     * on a straight line lie on it as well.
     *
     * Such moments
     * ------------
     * A reading is one when no batch of events came shortly before it was requested nor shortly after, no request
     * waits, since waiting is not computing, and nothing runs. An engine that publishes a prompt right after its
     * prefill, at the first token, may run others meanwhile; of one that publishes when it begins, a running request
     * may be counted later than it is seen.
     *
     * A request that is seen and not counted yet is waited for. One that is counted and was never seen is invisible:
     * all of it was cached, or it is one of our own, which teaches nothing; then the comparison begins anew.
     */

    /** Fewer tell nothing. */
    public static final int LEAST_SAMPLES = 20;

    /** Time after which what is on its way between engine and us has arrived. */
    private static final long SETTLE_NANOS = 100_000_000;

    private static final int MOST_TOGETHER = 1000;
    static final int MOST_SAMPLES = 512;
    /** Largest chance at which a slope counts that it arose where the length of a prompt makes no difference. */
    private static final double SIGNIFICANT = 0.05;

    /** Counts of engine and events at one moment. */
    private record Moment(long atNanos, boolean idle, long counted, double sumSeconds, long seen, long tokens) {}

    private final boolean publishesAfterPrefill;
    private final double[] tokens = new double[MOST_SAMPLES];
    private final double[] seconds = new double[MOST_SAMPLES];
    private final double[] weights = new double[MOST_SAMPLES];
    private int samples;

    private long seen;
    private long seenTokens;
    private boolean anyBatch;
    private long batchNanos;
    private Optional<Moment> unsettled = Optional.empty();
    private Optional<Moment> base = Optional.empty();
    /** The line through the samples, until there is another one; every plan asks for it. */
    private Optional<PrefillCost> cost = Optional.empty();

    /**
     * @param publishesAfterPrefill whether the engine publishes a prompt's blocks when it has computed them, not before
     */
    public CostSampler(boolean publishesAfterPrefill) {
        this.publishesAfterPrefill = publishesAfterPrefill;
    }

    /** A batch of events came. */
    public void batch(long nowNanos) {
        anyBatch = true;
        batchNanos = nowNanos;
        unsettled = unsettled.filter(moment -> nowNanos >= moment.atNanos + SETTLE_NANOS);
    }

    /**
     * A request of others showed that it computes so many tokens.
     *
     * @param first whether it was not told of before; else these are more of its tokens
     */
    public void computes(long newTokens, boolean first) {
        seen += first ? 1 : 0;
        seenTokens += newTokens;
    }

    /** Begins anew: events were lost, or another process answers. */
    public void interrupted() {
        unsettled = Optional.empty();
        base = Optional.empty();
    }

    /**
     * Takes the engine's numbers.
     *
     * @param originNanos how much later the readings' times are than ours
     */
    public void reading(EngineReadings readings, long originNanos) {
        if (!(readings.ttftCount() instanceof Reading.Known counted)
                || !(readings.ttftSumSeconds() instanceof Reading.Known sum)) {
            return;
        }
        long at = counted.atNanos() - originNanos;
        unsettled.filter(moment -> at >= moment.atNanos + SETTLE_NANOS).ifPresent(this::compare);
        boolean idle = readings.runningRequests().number().orElse(1) == 0;
        boolean waits = readings.waitingRequests().number().orElse(1) > 0;
        boolean quiet = !anyBatch || at >= batchNanos + SETTLE_NANOS;
        unsettled = quiet && !waits && (idle || publishesAfterPrefill)
                ? Optional.of(new Moment(at, idle, Math.round(counted.value()), sum.value(), seen, seenTokens))
                : Optional.empty();
    }

    private void compare(Moment now) {
        if (base.isEmpty()) {
            base = Optional.of(now);
            return;
        }
        Moment before = base.get();
        long requests = now.counted - before.counted;
        long visible = now.seen - before.seen;
        if (requests == visible && visible > 0 && visible <= MOST_TOGETHER) {
            sample(
                    (double) (now.tokens - before.tokens) / visible,
                    (now.sumSeconds - before.sumSeconds) / visible,
                    visible);
        }
        boolean onItsWay = visible > requests && requests >= 0 && !now.idle;
        if (!onItsWay) {
            base = Optional.of(now);
        }
    }

    private void sample(double computed, double took, long weight) {
        if (took > 0) {
            add(computed, took, (double) weight);
        }
    }

    private void add(double computed, double took, double weight) {
        int at = samples++ % MOST_SAMPLES;
        tokens[at] = computed;
        seconds[at] = took;
        weights[at] = weight;
        cost = Optional.empty();
    }

    /** Returns what outlives this process: the last samples, the oldest first. */
    public LearnedCost learned() {
        int count = Math.min(samples, MOST_SAMPLES);
        int from = samples - count;
        double[] computed = new double[count];
        double[] took = new double[count];
        double[] weight = new double[count];
        for (int i = 0; i < count; i++) {
            int at = (from + i) % MOST_SAMPLES;
            computed[i] = tokens[at];
            took[i] = seconds[at];
            weight[i] = weights[at];
        }
        return new LearnedCost(computed, took, weight);
    }

    /** Takes up what an earlier process learned, as if it had been measured before all that was measured here. */
    public void restore(LearnedCost earlier) {
        LearnedCost own = learned();
        samples = 0;
        addAll(earlier);
        addAll(own);
    }

    private void addAll(LearnedCost learned) {
        for (int i = 0; i < learned.tokens().length; i++) {
            add(learned.tokens()[i], learned.seconds()[i], learned.weights()[i]);
        }
    }

    /** Another engine is followed from now on. */
    public void forget() {
        samples = 0;
        cost = Optional.empty();
        interrupted();
    }

    /** Returns what was measured so far. */
    public PrefillCost cost() {
        PrefillCost known = cost.orElseGet(this::fit);
        cost = Optional.of(known);
        return known;
    }

    private PrefillCost fit() {
        int count = Math.min(samples, MOST_SAMPLES);
        if (count < LEAST_SAMPLES) {
            return new PrefillCost.Unknown(
                    count, count + " of " + LEAST_SAMPLES + " measurements, taken at moments of rest");
        }
        return LinearFit.of(Arrays.copyOf(tokens, count), Arrays.copyOf(seconds, count), Arrays.copyOf(weights, count))
                .filter(line -> line.slope() > 0 && (line.slopeSe() == 0 || line.pTwoSided() < SIGNIFICANT))
                .<PrefillCost>map(line ->
                        new PrefillCost.Known(Math.max(0, line.intercept()), line.slope(), line.slopeSe(), count))
                .orElseGet(() ->
                        new PrefillCost.Unknown(count, "in " + count + " measurements longer prompts took no longer"));
    }
}
