package io.holdfast.loadtest.testing;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.loadtest.workload.WorkloadFacts;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/** Legs made up for tests of what is concluded from them. */
public final class Legs {
    public static final int PREFIX = 64;
    public static final int ROUNDS = 4;
    public static final String WORKLOAD = "w";

    private Legs() {}

    public static RunHeader header() {
        return judgedBy(Statistic.PROBE_P50);
    }

    /** The same, judged by another number. */
    public static RunHeader judgedBy(Statistic statistic) {
        return header(statistic, "closed");
    }

    /** The same with requests of floods that come in this way. */
    public static RunHeader arriving(String arrivals) {
        return header(Statistic.PROBE_P50, arrivals);
    }

    private static RunHeader header(Statistic statistic, String arrivals) {
        return new RunHeader(
                RunHeader.FORMAT,
                "2026-11-21T00:00:00Z",
                Map.of("java", "25", "model", "a model"),
                new WorkloadFacts(WORKLOAD, "a flood", 1, PREFIX, 404, arrivals),
                new CrossoverPlan(Collections.nCopies(ROUNDS, List.of(PairOrder.AA, PairOrder.BP, PairOrder.PB))),
                LoadTestPlan.defaults().toBuilder()
                        .rounds(ROUNDS)
                        .concurrency(2)
                        .statistic(statistic)
                        .repeatPairs(0)
                        .build(),
                "a unit",
                true,
                "a holder",
                true,
                new EngineFacts(
                        Family.SGLANG, OptionalInt.of(4), OptionalLong.of(300), OptionalLong.empty(), Optional.empty()),
                Map.of());
    }

    /** The same for an arm that claims to hold nothing. */
    public static RunHeader withoutHold(RunHeader header) {
        return header.of(header.plan(), false);
    }

    /** The same in which so many pairs may be voided by their surroundings and run again. */
    public static RunHeader repeating(RunHeader header, int pairs) {
        return header.with(header.test().toBuilder().repeatPairs(pairs).build());
    }

    public static LegRecord withOwn(LegRecord leg, List<RequestRecord> own) {
        return new LegRecord(
                leg.life(),
                leg.order(),
                leg.position(),
                leg.arm(),
                leg.workloadId(),
                leg.bodies(),
                leg.flush(),
                leg.hold(),
                leg.holdNanos(),
                leg.release(),
                leg.steps(),
                leg.requests(),
                own,
                leg.problem());
    }

    /** All legs of a run in which pinned probes find the prefix and take {@code pinnedMillis}. */
    public static List<LegRecord> run(double baselineMillis, double pinnedMillis) {
        List<LegRecord> legs = new ArrayList<>();
        List<PairOrder> lives = header().plan().lives();
        for (int life = 1; life <= lives.size(); life++) {
            for (int position = 0; position < Workload.LEGS_OF_A_LIFE; position++) {
                boolean pinned = Arm.of(lives.get(life - 1), position) == Arm.PINNED;
                // A little noise that differs from life to life, so that intervals have a width.
                double millis =
                        (pinned ? pinnedMillis : baselineMillis) * (1 + 0.001 * ((life * 7 + position * 3) % 5));
                legs.add(leg(life, lives.get(life - 1), position, millis, OptionalInt.of(pinned ? PREFIX : 0)));
            }
        }
        return legs;
    }

    public static LegRecord leg(int life, PairOrder order, int position, double probeMillis, OptionalInt cached) {
        Arm arm = Arm.of(order, position);
        List<RequestRecord> requests = new ArrayList<>();
        List<Step> steps = new ArrayList<>();
        steps.add(new Step(Step.Kind.FLUSH, 0, 0, 1_000_000));
        steps.add(new Step(Step.Kind.CONNECT, 0, 1_000_000, 2_000_000));
        steps.add(new Step(Step.Kind.PRIME, 0, 2_000_000, 3_000_000));
        steps.add(new Step(Step.Kind.HOLD, 0, 3_000_000, 153_100_000));
        requests.add(request(0, Role.PRIME, 0, 1, OptionalInt.of(0)));
        for (int cycle = 1; cycle <= 2; cycle++) {
            steps.add(new Step(Step.Kind.FLOOD, cycle, 0, 1));
            steps.add(new Step(Step.Kind.PROBE, cycle, 1, 2));
            for (int i = 0; i < 4; i++) {
                requests.add(request(requests.size(), Role.FLOOD, cycle, 5, OptionalInt.of(0)));
            }
            requests.add(request(requests.size(), Role.PROBE, cycle, probeMillis, cached));
        }
        steps.add(new Step(Step.Kind.RELEASE, 0, 2, 3));
        return new LegRecord(
                life,
                order,
                position,
                arm,
                WORKLOAD,
                "bodies of leg " + position,
                new FlushReceipt("i" + life, 1, Optional.empty()),
                arm == Arm.PINNED ? HoldReceipt.held("7", 4, 4, PREFIX, "held") : HoldReceipt.sham("seen"),
                5_000_000,
                arm == Arm.PINNED ? ReleaseReceipt.released("done") : ReleaseReceipt.sham("seen"),
                steps,
                requests,
                List.of(),
                Optional.empty());
    }

    public static RequestRecord request(int number, Role role, int cycle, double ttftMillis, OptionalInt cached) {
        long token = 1_000 + (long) (ttftMillis * 1e6);
        return new RequestRecord(
                number,
                role,
                cycle,
                RequestStatus.OK,
                500,
                1_000,
                OptionalLong.of(token),
                OptionalLong.of(token),
                OptionalLong.of(token + 10),
                token + 20,
                OptionalInt.of(72),
                OptionalInt.of(16),
                cached,
                "");
    }

    /** A request of that turn and first token, in nanoseconds since its leg began, whose output ends with it. */
    public static RequestRecord timed(int number, Role role, int cycle, long turn, long token, OptionalInt cached) {
        return new RequestRecord(
                number,
                role,
                cycle,
                RequestStatus.OK,
                turn,
                turn,
                OptionalLong.of(token),
                OptionalLong.of(token),
                OptionalLong.of(token + 1_000),
                token + 2_000,
                OptionalInt.of(72),
                OptionalInt.of(16),
                cached,
                "");
    }

    public static RequestRecord failed(RequestRecord from, RequestStatus status, String problem) {
        return new RequestRecord(
                from.number(),
                from.role(),
                from.cycle(),
                status,
                from.scheduled(),
                from.sent(),
                from.firstByte(),
                from.firstToken(),
                from.lastToken(),
                from.done(),
                from.promptTokens(),
                OptionalInt.empty(),
                from.cachedTokens(),
                problem);
    }

    public static LegRecord withRequests(LegRecord leg, UnaryOperator<RequestRecord> change) {
        return withRequests(leg, leg.requests().stream().map(change).toList());
    }

    /** The same leg with these requests in place of its own. */
    public static LegRecord withRequests(LegRecord leg, List<RequestRecord> requests) {
        return new LegRecord(
                leg.life(),
                leg.order(),
                leg.position(),
                leg.arm(),
                leg.workloadId(),
                leg.bodies(),
                leg.flush(),
                leg.hold(),
                leg.holdNanos(),
                leg.release(),
                leg.steps(),
                requests,
                leg.own(),
                leg.problem());
    }

    public static LegRecord withHold(LegRecord leg, HoldReceipt hold, ReleaseReceipt release, long holdNanos) {
        return new LegRecord(
                leg.life(),
                leg.order(),
                leg.position(),
                leg.arm(),
                leg.workloadId(),
                leg.bodies(),
                leg.flush(),
                hold,
                holdNanos,
                release,
                leg.steps(),
                leg.requests(),
                leg.own(),
                leg.problem());
    }

    public static LegRecord withBodies(LegRecord leg, String workloadId, String bodies) {
        return new LegRecord(
                leg.life(),
                leg.order(),
                leg.position(),
                leg.arm(),
                workloadId,
                bodies,
                leg.flush(),
                leg.hold(),
                leg.holdNanos(),
                leg.release(),
                leg.steps(),
                leg.requests(),
                leg.own(),
                leg.problem());
    }

    public static LegRecord withSteps(LegRecord leg, List<Step> steps, Optional<String> problem) {
        return new LegRecord(
                leg.life(),
                leg.order(),
                leg.position(),
                leg.arm(),
                leg.workloadId(),
                leg.bodies(),
                leg.flush(),
                leg.hold(),
                leg.holdNanos(),
                leg.release(),
                steps,
                leg.requests(),
                leg.own(),
                problem);
    }

    /** The run with one of its legs changed. */
    public static List<LegRecord> change(List<LegRecord> legs, Arm arm, UnaryOperator<LegRecord> change) {
        List<LegRecord> changed = new ArrayList<>(legs);
        for (int i = 0; i < changed.size(); i++) {
            LegRecord leg = changed.get(i);
            if (leg.isMeasured() && leg.arm() == arm) {
                changed.set(i, change.apply(leg));
                return changed;
            }
        }
        throw new IllegalArgumentException("There is no leg of arm " + arm);
    }
}
