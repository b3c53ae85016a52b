package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Flag;
import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Shortfall;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.ToDoubleFunction;
import org.junit.jupiter.api.Test;

final class AnalysisTest {
    @Test
    void pinnedProbesThatFindTheirPrefixAndAreFaster_areReal() {
        Result result = analyze(Legs.run(10, 5));
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.estimate().effectPercent().orElseThrow()).isCloseTo(-50, within(1.0));
        assertThat(result.estimate().naivePercent().orElseThrow()).isCloseTo(-50, within(1.0));
        assertThat(result.warnings()).isEmpty();
    }

    @Test
    void answersThatPinnedLegsGiveOtherwise_areAWarning() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> Legs.withRequests(leg, request -> request.withOutput(leg.arm() + " " + request.number())))
                .toList();
        Result result = analyze(legs);
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(result.warnings()).singleElement().asString().startsWith("88 of 88 answers in pinned legs are none");
    }

    @Test
    void arms_areSummarisedFromMeasuredProbesOnly() {
        Result result = analyze(Legs.run(10, 5));
        assertThat(result.baseline().legs()).isEqualTo(16);
        assertThat(result.baseline().probes()).isEqualTo(32);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.baseline().ttftMillis().orElseThrow()).isCloseTo(10, within(0.1));
        assertThat(result.pinned().legs()).isEqualTo(8);
        assertThat(result.pinned().cachedTokens()).hasValue(Legs.PREFIX);
        assertThat(result.pinned().ttftMillis().orElseThrow()).isCloseTo(5, within(0.1));
    }

    @Test
    void baselineThatKeptItsPrefix_isNoExposure() {
        List<LegRecord> legs = Legs.run(10, 10).stream()
                .map(leg -> withCached(leg, OptionalInt.of(Legs.PREFIX)))
                .toList();
        assertThat(analyze(legs).verdict().finding()).isEqualTo(Finding.NO_EXPOSURE);
    }

    @Test
    void absentCachedTokens_areUnknownAndNeverZero() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> withCached(leg, OptionalInt.empty()))
                .toList();
        Result result = analyze(legs);
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.UNKNOWN);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.UNKNOWN);
        assertThat(result.verdict().shortfall()).hasValue(Shortfall.UNMEASURED);
        assertThat(result.baseline().cachedTokens()).isEmpty();
        assertThat(result.pinned().cachedTokens()).isEmpty();
    }

    @Test
    void oneProbeWithoutCachedTokens_makesItsLegUnknown() {
        LegRecord leg = Legs.leg(1, PairOrder.AA, 1, 10, OptionalInt.of(0));
        LegRecord gap = Legs.withRequests(
                leg,
                request -> request.role() == Role.PROBE && request.cycle() == 2
                        ? Legs.request(request.number(), Role.PROBE, 2, 10, OptionalInt.empty())
                        : request);
        assertThat(Analysis.hitShare(leg, Legs.PREFIX)).hasValue(0);
        assertThat(Analysis.hitShare(gap, Legs.PREFIX)).isEmpty();
        assertThat(analyze(Legs.change(
                                Legs.run(10, 5), Arm.BASELINE, changed -> withCached(changed, OptionalInt.empty())))
                        .cacheProof()
                        .exposed())
                .isEqualTo(Answer.UNKNOWN);
    }

    @Test
    void hitsBeyondThePrefix_countAsThePrefix() {
        assertThat(Analysis.hitShare(Legs.leg(1, PairOrder.BP, 2, 5, OptionalInt.of(80)), Legs.PREFIX))
                .hasValue(1);
        assertThat(Analysis.hitShare(Legs.leg(1, PairOrder.BP, 2, 5, OptionalInt.of(16)), Legs.PREFIX))
                .hasValue(0.25);
    }

    @Test
    void touchesThatFoundThePrefixGone_areCounted() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> Legs.withOwn(
                        leg,
                        List.of(
                                Legs.request(0, Role.TOUCH, 0, 5, OptionalInt.of(0)),
                                Legs.request(1, Role.TOUCH, 0, 5, OptionalInt.of(leg.position() == 1 ? 0 : 60)))))
                .toList();
        Result result = analyze(legs);
        assertThat(result.warnings())
                .singleElement()
                .asString()
                .startsWith("4 of 8 touches in pinned legs found that the prefix was gone");
        assertThat(result.own().get(Arm.PINNED))
                .as("72 tokens each, of which some were cached")
                .isEqualTo(new OwnRequests(8, 16, OptionalLong.of(16 * 72 - 4 * 60)));
    }

    @Test
    void headline_countsProcessesUnlessThereIsNothingToRestOn() {
        assertThat(analyze(Legs.run(10, 5)).headline()).isEqualTo("REAL, in 12 server processes");
        assertThat(analyze(List.of()).headline()).isEqualTo("INCONCLUSIVE(design)");
    }

    @Test
    void failedGate_isInvalidWithItsReason() {
        Result result = analyze(Legs.change(
                Legs.run(10, 5),
                Arm.PINNED,
                leg -> Legs.withHold(leg, HoldReceipt.notHeld("", 0, "no budget"), leg.release(), 1)));
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains("no budget");
    }

    @Test
    void gainWithoutAMechanism_isNotReal() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> withCached(leg, OptionalInt.of(0)))
                .toList();
        assertThat(analyze(legs).verdict().shortfall()).hasValue(Shortfall.UNEXPLAINED);
    }

    @Test
    void runThatWasCutOff_isInconclusiveAndSaysHowFarItGot() {
        Result result = analyze(Legs.run(10, 5).subList(0, 8));
        assertThat(result.verdict().shortfall()).hasValue(Shortfall.DESIGN);
        assertThat(result.warnings()).containsExactly("The run has 2 of 12 planned pairs.");
    }

    @Test
    void runThatWasStoppedBeforeItsPlanEnded_givesEstimatesAndNoFinding() {
        List<LegRecord> all = Legs.run(10, 5);
        Result result = analyze(all.subList(0, all.size() - 1));
        assertThat(result.verdict().finding()).isEqualTo(Finding.INCONCLUSIVE);
        assertThat(result.verdict().shortfall()).hasValue(Shortfall.DESIGN);
        assertThat(result.verdict().reason()).contains("11 of 12 planned pairs; the plan was fixed beforehand");
        assertThat(result.estimate().effectPercent().orElseThrow()).isCloseTo(-50, within(1.0));
    }

    @Test
    void failedGateOfARunThatEndedThere_isInvalidAndNotShort() {
        List<LegRecord> legs = Legs.change(
                Legs.run(10, 5).subList(0, 6),
                Arm.PINNED,
                leg -> Legs.withHold(leg, HoldReceipt.notHeld("", 0, "no budget"), leg.release(), 1));
        assertThat(analyze(legs).verdict().finding()).isEqualTo(Finding.INVALID);
    }

    @Test
    void armWhoseTokensTheEngineDidNotCount_isWarnedAbout() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> leg.arm() == Arm.PINNED ? Legs.withRequests(leg, AnalysisTest::uncounted) : leg)
                .toList();
        assertThat(analyze(legs).warnings())
                .containsExactly("The engine did not tell how many tokens it generated in pinned legs, so whether both"
                        + " arms generated as many is unknown.");
    }

    private static RequestRecord uncounted(RequestRecord from) {
        return Legs.failed(from, RequestStatus.OK, "");
    }

    @Test
    void baselineThatSlowsDownFromLifeToLife_isFlaggedAsDrift() {
        List<LegRecord> drifting = Legs.run(10, 5).stream()
                .map(leg -> Legs.withRequests(
                        leg,
                        request -> Legs.request(
                                request.number(),
                                request.role(),
                                request.cycle(),
                                request.ttftMillis().orElseThrow() * (1 + 0.02 * leg.life()),
                                request.cachedTokens())))
                .toList();
        assertThat(analyze(drifting).verdict().warnings()).contains(Flag.DRIFT.warning());
        assertThat(analyze(Legs.run(10, 5)).verdict().warnings()).doesNotContain(Flag.DRIFT.warning());
    }

    @Test
    void pinnedLegsThatLostTheirPrefix_areCountedAndNamed() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> leg.arm() == Arm.PINNED && leg.life() < 7 ? withCached(leg, OptionalInt.of(40)) : leg)
                .toList();
        Result result = analyze(legs);
        assertThat(result.lostHolds()).isEqualTo(new Experiment.LostHolds(4, 8));
        assertThat(result.warnings())
                .containsExactly("4 of 8 pinned legs did not keep their prefix, first life 2 BP, leg 2 (pinned) (its"
                        + " probes found 63 % of it); the verdict is on holds as this engine keeps them.");
    }

    @Test
    void pinnedLegsInWhichNothingWasHeld_sayWhy() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> leg.arm() == Arm.PINNED
                        ? Legs.withHold(
                                withCached(leg, OptionalInt.of(0)),
                                leg.hold(),
                                ReleaseReceipt.nothingHeld("no room for it"),
                                leg.holdNanos())
                        : leg)
                .toList();
        Result result = analyze(legs);
        assertThat(result.lostHolds().why()).contains("nothing was held: no room for it");
        assertThat(result.warnings())
                .anySatisfy(warning -> assertThat(warning)
                        .contains("(its probes found 0 % of it; nothing was held: no room for it);"));
    }

    @Test
    void gainOfTheFirstWaveAlone_isFlagged() {
        List<LegRecord> legs = Legs.run(10, 10).stream()
                .map(leg -> probes(leg, probe -> leg.arm() == Arm.PINNED && probe.cycle() == 1 ? 5.0 : millis(probe)))
                .toList();
        Result result = analyze(legs);
        assertThat(result.verdict().flags()).contains(Flag.FIRST_WAVE_ONLY);
        assertThat(result.waves().orElseThrow().first().effectPercent().orElseThrow())
                .isLessThan(-40);
        assertThat(result.waves().orElseThrow().steady().effectPercent().orElseThrow())
                .isBetween(-1.0, 1.0);
        assertThat(analyze(Legs.run(10, 5)).verdict().flags()).isEmpty();
    }

    /** With two probes a leg has no median apart from its mean, so the floods take part. */
    @Test
    void meanAndMedianThatDisagree_areFlagged() {
        List<LegRecord> legs = Legs.run(10, 10).stream()
                .map(leg -> leg.arm() == Arm.PINNED
                        ? Legs.withRequests(
                                leg,
                                request -> Legs.request(
                                        request.number(),
                                        request.role(),
                                        request.cycle(),
                                        request.role() == Role.PROBE ? 40 + leg.life() * 0.01 : 4 + leg.life() * 0.001,
                                        request.cachedTokens()))
                        : leg)
                .toList();
        RunHeader whole = Legs.judgedBy(Statistic.WHOLE_MEAN);
        assertThat(Analysis.of(new Journal.Contents(whole, legs, List.of()))
                        .verdict()
                        .flags())
                .contains(Flag.MIXED);
    }

    @Test
    void floodsThatQueue_areFlaggedWhereTheyAreJudged() {
        List<LegRecord> legs = Legs.run(10, 5);
        RunHeader whole = Legs.judgedBy(Statistic.WHOLE_MEAN);
        assertThat(Analysis.of(new Journal.Contents(whole, legs, List.of()))
                        .verdict()
                        .flags())
                .as("5 ms where the prime, which is as long, took 1 ms")
                .contains(Flag.SATURATED);
        assertThat(analyze(legs).verdict().flags()).doesNotContain(Flag.SATURATED);
    }

    private static double millis(RequestRecord request) {
        return request.ttftMillis().orElseThrow();
    }

    private static LegRecord probes(LegRecord leg, ToDoubleFunction<RequestRecord> millis) {
        return Legs.withRequests(
                leg,
                request -> request.role() == Role.PROBE
                        ? Legs.request(
                                request.number(),
                                Role.PROBE,
                                request.cycle(),
                                millis.applyAsDouble(request),
                                request.cachedTokens())
                        : request);
    }

    @Test
    void noLegs_areInconclusive() {
        assertThat(analyze(List.of()).verdict().shortfall()).hasValue(Shortfall.DESIGN);
    }

    @Test
    void rehearsalAndBurnIn_neverCount() {
        List<LegRecord> legs = new ArrayList<>();
        for (int position = 0; position < 3; position++) {
            legs.add(Legs.leg(0, PairOrder.BP, position, 999, OptionalInt.empty()));
        }
        for (LegRecord leg : Legs.run(10, 5)) {
            legs.add(leg.position() == 0 ? withCached(leg, OptionalInt.empty()) : leg);
        }
        Result clean = analyze(Legs.run(10, 5));
        Result result = analyze(legs);
        assertThat(result.verdict()).isEqualTo(clean.verdict());
        assertThat(result.baseline()).isEqualTo(clean.baseline());
        assertThat(result.pinned()).isEqualTo(clean.pinned());
    }

    @Test
    void statistics_takeProbesOrTheWholeLeg() {
        List<RequestRecord> requests = List.of(
                Legs.request(0, Role.PRIME, 0, 1000, OptionalInt.empty()),
                Legs.request(1, Role.FLOOD, 1, 4, OptionalInt.empty()),
                Legs.request(2, Role.PROBE, 1, 10, OptionalInt.empty()),
                Legs.request(3, Role.PROBE, 2, 16, OptionalInt.empty()),
                Legs.failed(
                        Legs.request(4, Role.PROBE, 3, 900, OptionalInt.empty()),
                        RequestStatus.BROKEN_STREAM,
                        "broke"));
        assertThat(Statistic.PROBE_P50.of(requests).orElseThrow()).isCloseTo(13, within(1e-9));
        assertThat(Statistic.WHOLE_MEAN.of(requests).orElseThrow()).isCloseTo(10, within(1e-9));
        assertThat(Statistic.PROBE_P50.of(List.of())).isEmpty();
        assertThat(Statistic.WHOLE_MEAN.of(requests.subList(0, 1))).isEmpty();
    }

    private static LegRecord withCached(LegRecord leg, OptionalInt cached) {
        return Legs.withRequests(
                leg,
                request -> request.role() == Role.PROBE
                        ? Legs.request(
                                request.number(),
                                Role.PROBE,
                                request.cycle(),
                                request.ttftMillis().orElseThrow(),
                                cached)
                        : request);
    }

    private static Result analyze(List<LegRecord> legs) {
        return Analysis.of(new Journal.Contents(Legs.header(), legs, List.of()));
    }
}
