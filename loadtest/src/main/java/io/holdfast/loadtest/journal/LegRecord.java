package io.holdfast.loadtest.journal;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.UnaryOperator;

/**
 * All that is known about one leg.
 *
 * @param life the server life, from 1; 0 is the rehearsal
 * @param position 0 is the burn-in leg, 1 the first and 2 the second of the pair
 * @param bodies SHA-256 over the bodies of all requests, in the order of the list and without the salt of the leg
 * @param holdNanos how much of its slot the hold or the sham took
 * @param own what the arm's switch sent for itself, which is no load
 * @param problem why the leg ended early, if it did
 * @param client how the client fared; absent where nobody watched it
 * @param serverLog what the server wrote meanwhile; absent where nobody knows
 * @param shares what each engine counted meanwhile, of those that count
 */
public record LegRecord(
        int life,
        PairOrder order,
        int position,
        Arm arm,
        String workloadId,
        String bodies,
        FlushReceipt flush,
        HoldReceipt hold,
        long holdNanos,
        ReleaseReceipt release,
        List<Step> steps,
        List<RequestRecord> requests,
        List<RequestRecord> own,
        Optional<String> problem,
        Optional<ClientHealth> client,
        Optional<ServerLog> serverLog,
        List<EngineShare> shares) {
    /** Beginning of a problem where the leg was not that of the run's server. */
    public static final String ANOTHER_SERVER = "another server answered than the one that the run began with";

    /** Beginning of a problem where the server was not one process throughout a pair, or throughout a run. */
    public static final String RESTARTED = "the server was restarted";

    /** Beginning of a problem where warm-up, hold and load do not share one prefix. */
    public static final String PROMPT_MISMATCH = "prompt_mismatch:";

    public LegRecord {
        shares = List.copyOf(shares);
        steps = List.copyOf(steps);
        requests = List.copyOf(requests);
        own = List.copyOf(own);
    }

    /** Creates the record of a leg whose client nobody watched. */
    public LegRecord(
            int life,
            PairOrder order,
            int position,
            Arm arm,
            String workloadId,
            String bodies,
            FlushReceipt flush,
            HoldReceipt hold,
            long holdNanos,
            ReleaseReceipt release,
            List<Step> steps,
            List<RequestRecord> requests,
            List<RequestRecord> own,
            Optional<String> problem) {
        this(
                life,
                order,
                position,
                arm,
                workloadId,
                bodies,
                flush,
                hold,
                holdNanos,
                release,
                steps,
                requests,
                own,
                problem,
                Optional.empty(),
                Optional.empty(),
                List.of());
    }

    public LegRecord withClient(Optional<ClientHealth> value) {
        return with(life, UnaryOperator.identity(), problem, value, serverLog, shares);
    }

    public LegRecord withServerLog(Optional<ServerLog> value) {
        return with(life, UnaryOperator.identity(), problem, client, value, shares);
    }

    public LegRecord withShares(List<EngineShare> value) {
        return with(life, UnaryOperator.identity(), problem, client, serverLog, value);
    }

    /** Returns the leg with a problem, the reason why it does not count. */
    public LegRecord withProblem(String why) {
        return with(life, UnaryOperator.identity(), Optional.of(why), client, serverLog, shares);
    }

    /** Returns the leg as one of another life, for several runs that are put together. */
    public LegRecord inLife(int number) {
        return with(number, UnaryOperator.identity(), problem, client, serverLog, shares);
    }

    /** Returns the leg with all its requests changed, including those that the arm sent for itself. */
    public LegRecord withRequests(UnaryOperator<RequestRecord> change) {
        return with(life, change, problem, client, serverLog, shares);
    }

    private LegRecord with(
            int number,
            UnaryOperator<RequestRecord> change,
            Optional<String> ended,
            Optional<ClientHealth> fared,
            Optional<ServerLog> log,
            List<EngineShare> counted) {
        return new LegRecord(
                number,
                order,
                position,
                arm,
                workloadId,
                bodies,
                flush,
                hold,
                holdNanos,
                release,
                steps,
                requests.stream().map(change).toList(),
                own.stream().map(change).toList(),
                ended,
                fared,
                log,
                counted);
    }

    /** Returns true if the leg counts: it belongs to a pair that is measured, and is no burn-in. */
    public boolean isMeasured() {
        return life > 0 && position > 0;
    }

    public List<RequestRecord> probes() {
        return requests.stream().filter(request -> request.role() == Role.PROBE).toList();
    }

    /** Median time to first token of the probes. */
    public OptionalDouble probeMillis() {
        return Statistic.PROBE_P50.of(requests);
    }

    /** Returns the leg's place in the experiment, as in {@code life 3 BP, leg 2 (pinned)}. */
    public String label() {
        return new PlannedLeg(life, order, position).label();
    }
}
