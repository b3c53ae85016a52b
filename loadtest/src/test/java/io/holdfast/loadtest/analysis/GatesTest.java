package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;

final class GatesTest {
    private static final List<LegRecord> GOOD = Legs.run(10, 5);
    private static final long MILLI = 1_000_000;

    @Test
    void goodRun_passesAllGates() {
        assertThat(failures(GOOD)).isEmpty();
    }

    @Test
    void baselineLegThatSkippedItsSham_fails() {
        assertThat(afterChanging(
                        Arm.BASELINE,
                        leg -> Legs.withHold(leg, HoldReceipt.skipped("nobody asked"), leg.release(), MILLI)))
                .singleElement()
                .asString()
                .isEqualTo(
                        "In life 1 AA, leg 1 (baseline) the sham of the hold step was skipped, so the arms did not do"
                                + " the same: nobody asked.");
    }

    @Test
    void baselineLegThatSkippedItsShamRelease_fails() {
        assertThat(afterChanging(
                        Arm.BASELINE,
                        leg -> Legs.withHold(leg, leg.hold(), ReleaseReceipt.skipped("nobody asked"), MILLI)))
                .hasSize(1);
    }

    @Test
    void baselineLegThatHeld_fails() {
        assertThat(afterChanging(
                        Arm.BASELINE,
                        leg -> Legs.withHold(
                                leg, HoldReceipt.held("1", 4, 4, 64, "held"), ReleaseReceipt.released("done"), MILLI)))
                .hasSize(1);
    }

    @Test
    void pinnedLegThatWasNotHeld_failsInTheHoldersWords() {
        assertThat(afterChanging(
                        Arm.PINNED,
                        leg -> Legs.withHold(
                                leg, HoldReceipt.notHeld("1", 4, "the budget is used up"), leg.release(), MILLI)))
                .singleElement()
                .asString()
                .contains("life 2 BP, leg 2 (pinned)")
                .contains("0 of 4 blocks")
                .endsWith("the budget is used up.");
    }

    @Test
    void pinnedLegThatWasHeldInPart_fails() {
        assertThat(afterChanging(
                        Arm.PINNED,
                        leg -> Legs.withHold(leg, HoldReceipt.held("1", 4, 3, 48, "clipped"), leg.release(), MILLI)))
                .singleElement()
                .asString()
                .contains("3 of 4 blocks")
                .contains("clipped");
    }

    @Test
    void armThatClaimsNoHold_passesBySwitchingAlone() {
        Gates gates = new Gates(Legs.withoutHold(Legs.header()));
        LegRecord pinned = Legs.run(10, 5).stream()
                .filter(leg -> leg.arm() == Arm.PINNED)
                .findFirst()
                .orElseThrow();
        assertThat(gates.failedBy(
                        Legs.withHold(pinned, HoldReceipt.switched("done"), ReleaseReceipt.released("done"), MILLI)))
                .isEmpty();
        assertThat(gates.failedBy(pinned)).singleElement().asString().contains("nothing was switched on");
        assertThat(new Gates(Legs.header())
                        .failedBy(Legs.withHold(
                                pinned, HoldReceipt.switched("done"), ReleaseReceipt.released("done"), MILLI)))
                .as("an arm that claims to hold has to")
                .singleElement()
                .asString()
                .contains("was not held in full");
    }

    @Test
    void requestOfTheArmThatFailed_failsItsLeg() {
        for (Arm arm : Arm.values()) {
            assertThat(afterChanging(
                            arm,
                            leg -> Legs.withOwn(
                                    leg,
                                    List.of(
                                            Legs.request(0, Role.TOUCH, 0, 5, OptionalInt.of(0)),
                                            Legs.failed(
                                                    Legs.request(1, Role.TOUCH, 0, 5, OptionalInt.of(0)),
                                                    RequestStatus.TIMED_OUT,
                                                    "it took too long")))))
                    .singleElement()
                    .asString()
                    .contains("1 of the 2 requests that the arm sent itself failed, the first because TIMED_OUT: it");
        }
    }

    @Test
    void pinnedLegThatMadeASham_fails() {
        assertThat(afterChanging(Arm.PINNED, leg -> Legs.withHold(leg, HoldReceipt.sham("seen"), leg.release(), MILLI)))
                .hasSize(1);
    }

    @Test
    void holdThatWasLetGoDuringTheLeg_fails() {
        assertThat(afterChanging(
                        Arm.PINNED,
                        leg -> Legs.withHold(leg, leg.hold(), ReleaseReceipt.lost("its lease is over"), MILLI)))
                .singleElement()
                .asString()
                .contains("did not last")
                .contains("its lease is over");
    }

    @Test
    void pinThatTheEngineDidNotKeep_isWhatIsTestedAndNoFaultOfTheLeg() {
        assertThat(afterChanging(
                        Arm.PINNED,
                        leg -> Legs.withHold(leg, leg.hold(), ReleaseReceipt.broken("removed all the same"), MILLI)))
                .isEmpty();
    }

    @Test
    void bodyLongerThanTheSlot_failsInEitherArm() {
        for (Arm arm : Arm.values()) {
            assertThat(afterChanging(arm, leg -> Legs.withHold(leg, leg.hold(), leg.release(), 151 * MILLI)))
                    .singleElement()
                    .asString()
                    .contains("151 ms, longer than its slot of 150 ms");
        }
    }

    @Test
    void holdStepOfAnotherLengthThanItsSlot_failsItsLegByItself() {
        Gates gates = new Gates(Legs.header());
        LegRecord leg = GOOD.get(1);
        for (long millis : List.of(99L, 201L)) {
            assertThat(gates.failedBy(Legs.withSteps(leg, holdOf(leg, millis), leg.problem())))
                    .singleElement()
                    .asString()
                    .startsWith("In life 1 AA, leg 1 (baseline) the hold step took " + millis + ".0 ms")
                    .contains("a settle difference of " + (millis < 150 ? "-" : "+") + "51.0 ms; at most 50 ms");
        }
        for (long millis : List.of(100L, 200L)) {
            assertThat(gates.failedBy(Legs.withSteps(leg, holdOf(leg, millis), leg.problem())))
                    .isEmpty();
        }
    }

    @Test
    void otherSteps_fail() {
        assertThat(afterChanging(
                        Arm.PINNED, leg -> Legs.withSteps(leg, leg.steps().subList(0, 6), leg.problem())))
                .contains("The legs did not take the same steps.");
    }

    @Test
    void legThatEndedEarly_failsWithItsProblem() {
        assertThat(afterChanging(
                        Arm.BASELINE,
                        leg -> Legs.withSteps(leg, List.of(), Optional.of("the engine did not flush its cache (400)"))))
                .containsExactly("In life 1 AA, leg 1 (baseline) the engine did not flush its cache (400).");
    }

    @Test
    void moreThanOnePercentOfErrors_fail() {
        assertThat(afterChanging(
                        Arm.BASELINE,
                        leg -> Legs.withRequests(
                                leg,
                                request -> request.number() == 2
                                        ? Legs.failed(request, RequestStatus.HTTP_ERROR, "the engine answered 500")
                                        : request)))
                .singleElement()
                .asString()
                .contains("1 of 11 requests failed")
                .contains("the engine answered 500");
    }

    @Test
    void oneEmptyRequest_fails() {
        assertThat(afterChanging(
                        Arm.PINNED,
                        leg -> Legs.withRequests(
                                leg,
                                request -> request.number() == 2
                                        ? Legs.failed(request, RequestStatus.EMPTY, "nothing")
                                        : request)))
                .singleElement()
                .asString()
                .contains("1 of 11 requests came back without any output");
    }

    @Test
    void otherWorkload_fails() {
        assertThat(afterChanging(Arm.PINNED, leg -> Legs.withBodies(leg, "another", leg.bodies())))
                .singleElement()
                .asString()
                .contains("another workload");
    }

    @Test
    void otherBodiesAtTheSamePosition_fail() {
        assertThat(afterChanging(Arm.PINNED, leg -> Legs.withBodies(leg, leg.workloadId(), "one byte differs")))
                .containsExactly("The arms did not send the same requests as leg 2 of a pair.");
    }

    @Test
    void otherNumberOfTokensInOneArm_fails() {
        List<LegRecord> legs = GOOD.stream()
                .map(leg -> leg.arm() == Arm.PINNED ? Legs.withRequests(leg, GatesTest::shorter) : leg)
                .toList();
        assertThat(failures(legs)).singleElement().asString().contains("different numbers of tokens");
    }

    @Test
    void legsOutOfPlan_fail() {
        List<LegRecord> legs = new ArrayList<>(GOOD);
        legs.add(Legs.leg(1, PairOrder.PB, 1, 5, OptionalInt.of(64)));
        assertThat(failures(legs)).contains("The legs did not run in the order of the plan.");
    }

    private static RequestRecord shorter(RequestRecord request) {
        RequestRecord from = request;
        return new RequestRecord(
                from.number(),
                from.role(),
                from.cycle(),
                from.status(),
                from.scheduled(),
                from.sent(),
                from.firstByte(),
                from.firstToken(),
                from.lastToken(),
                from.done(),
                from.promptTokens(),
                OptionalInt.of(15),
                from.cachedTokens(),
                "");
    }

    private static List<Step> holdOf(LegRecord leg, long millis) {
        return leg.steps().stream()
                .map(step -> step.kind() == Step.Kind.HOLD
                        ? new Step(step.kind(), 0, step.began(), step.began() + millis * MILLI)
                        : step)
                .toList();
    }

    private static List<String> afterChanging(Arm arm, UnaryOperator<LegRecord> change) {
        return failures(Legs.change(GOOD, arm, change));
    }

    private static List<String> failures(List<LegRecord> legs) {
        Gates gates = new Gates(Legs.header());
        List<LegRecord> measured = legs.stream().filter(LegRecord::isMeasured).toList();
        List<String> failures = new ArrayList<>();
        measured.forEach(leg -> failures.addAll(gates.failedBy(leg)));
        failures.addAll(gates.failedAmong(measured));
        return failures;
    }
}
