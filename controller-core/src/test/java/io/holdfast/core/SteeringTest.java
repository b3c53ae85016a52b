package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.Tier;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** An operator steers: the pause that keeps, the dry run, and what both leave to safety. */
final class SteeringTest {
    private final ControllerHarness harness = ControllerHarness.ready();

    @Test
    void keeping_holdsNothingNew_andLetsNothingGo() {
        harness.stored(1, 2);
        harness.stored(3, 4);
        long held = harness.hold(Duration.ofHours(1), 1, 2).id();
        assertThat(answer(harness.controller.keepHolding("others measure"))).isTrue();
        assertThat(harness.controller.view().keepsHeld()).isTrue();
        assertThat(harness.controller.view().paused()).hasValue("paused, and keeps what is held: others measure");
        assertThatThrownBy(() -> harness.hold(3, 4))
                .isInstanceOf(CompletionException.class)
                .hasMessageContaining("keeps what is held");
        harness.pass(Duration.ofMinutes(30));
        assertThat(harness.holdNow(held).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.engine.pins).containsOnlyKeys(2L);
        harness.pass(Duration.ofMinutes(31));
        assertThat(harness.holdNow(held).reason()).isEqualTo("its lease of 3600 s is over");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void keeping_aReleasedHold_goes_andResumeHoldsAgain() {
        harness.stored(1, 2);
        long held = harness.hold(1, 2).id();
        answer(harness.controller.keepHolding("others measure"));
        answer(harness.controller.release(held));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(answer(harness.controller.resumeHolding())).isTrue();
        assertThat(harness.controller.view().keepsHeld()).isFalse();
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.HELD);
    }

    /** What somebody reads who is answered before the round goes on. */
    @Test
    void answer_isGivenWhenTheViewHasWhatItTells() {
        harness.stored(1, 2);
        harness.actor = Runnable::run;
        Lease refreshed = Lease.refreshed(Duration.ofHours(1));
        long held = seen(harness.controller.request(new HoldRequest(new long[] {1, 2}, refreshed)))
                .holds()
                .getFirst()
                .id();
        assertThat(leaseLeft(harness.controller.extend(held, Optional.empty(), Duration.ofMinutes(5))))
                .isEqualTo(Duration.ofMinutes(5));
        assertThat(leaseLeft(
                        harness.controller.hint(Hint.GOES_ON, new HoldRequest(new long[] {1, 2, 3}, refreshed), "")))
                .isEqualTo(Duration.ofHours(1));
        assertThat(seen(harness.controller.keepHolding("others measure")).keepsHeld())
                .isTrue();
        assertThat(seen(harness.controller.resumeHolding()).paused()).isEmpty();
        assertThat(seen(harness.controller.dryRun(true)).dryRun()).isTrue();
        assertThat(seen(harness.controller.dryRun(false)).dryRun()).isFalse();
        assertThat(seen(harness.controller.release(held)).holds())
                .singleElement()
                .extracting(HoldView::state)
                .isEqualTo(HoldState.RELEASED);
    }

    private Duration leaseLeft(CompletionStage<?> answer) {
        return seen(answer).holds().getFirst().leaseLeft();
    }

    private EngineView seen(CompletionStage<?> answer) {
        CompletionStage<EngineView> view = answer.thenApply(any -> harness.controller.view());
        return answer(view);
    }

    @Test
    void keeping_aClippedHold_isNotHeldAnew() {
        harness.stored(1, 2);
        harness.storedUnder(2, 3, 4);
        harness.storedUnder(4, 5);
        harness.removed(5, 4);
        HoldView clipped = harness.hold(Duration.ofHours(1), 1, 2, 3);
        assertThat(clipped.heldBlocks()).isEqualTo(2);
        answer(harness.controller.keepHolding("others measure"));
        harness.takeLog();
        harness.storedUnder(3, 6);
        harness.pass(Duration.ofSeconds(5));
        assertThat(harness.takeLog()).isEmpty();
        answer(harness.controller.resumeHolding());
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).as("all of it").containsOnlyKeys(6L);
    }

    @Test
    void keeping_automaticHolds_stayThoughTheyWouldGo() {
        ControllerHarness automatic = automatic();
        automatic.stored(1, 2, 10);
        automatic.storedUnder(2, 20);
        automatic.removed(20, 10, 2, 1);
        automatic.stored(1, 2, 30);
        automatic.storedUnder(2, 40);
        automatic.pass(Duration.ofMillis(200));
        assertThat(automatic.engine.pins).isNotEmpty();
        automatic.controller.keepHolding("others measure");
        automatic.settle();
        // So little room that an automatic hold has none of it, and the hard guard has.
        automatic.now += ControllerHarness.SECOND;
        automatic.controller.readings(Samples.readings(10_000, 16, 9_000, 3, 0, 9_900, 0, 0, automatic.now));
        automatic.settle();
        assertThat(automatic.engine.pins).isNotEmpty();
        assertThat(automatic.controller.view().lastPlan().lines())
                .filteredOn(line -> line.holdId() != 0)
                .extracting(Plan.Line::action)
                .containsOnly(Plan.Action.KEEP);
        automatic.controller.resumeHolding();
        automatic.settle();
        assertThat(automatic.engine.pins).as("when it may go").isEmpty();
    }

    @Test
    void keeping_whileRequestsWait_letsGoAllTheSame() {
        harness.stored(1, 2);
        harness.hold(Duration.ofHours(1), 1, 2);
        answer(harness.controller.keepHolding("others measure"));
        for (int i = 0; i < 5; i++) {
            harness.now += ControllerHarness.SECOND;
            harness.readings(0, 3);
            harness.settle();
        }
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void keeping_afterThePauseThatReleased_changesNothing() {
        harness.stored(1, 2);
        harness.hold(1, 2);
        answer(harness.controller.releaseAll("asked for"));
        assertThat(answer(harness.controller.keepHolding("others measure"))).isFalse();
        assertThat(harness.controller.view().keepsHeld()).isFalse();
        assertThat(harness.controller.view().paused()).hasValue("paused: asked for");
    }

    @Test
    void dryRun_letsGoOfWhatIsPinned_decides_andAsksNothing() {
        harness.stored(1, 2);
        long held = harness.hold(Duration.ofHours(1), 1, 2).id();
        assertThat(answer(harness.controller.dryRun(true))).isTrue();
        assertThat(answer(harness.controller.dryRun(true))).isFalse();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).isEmpty();
        harness.takeLog();
        harness.stored(3, 4);
        HoldView asked = harness.hold(Duration.ofHours(1), 3, 4);
        assertThat(asked.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(asked.reason())
                .isEqualTo("decided, and not asked of the engine: dry run; else: the whole prefix is in the cache");
        harness.pass(Duration.ofSeconds(5));
        assertThat(harness.takeLog()).isEmpty();
        assertThat(harness.controller.view().lastPlan().lines())
                .extracting(Plan.Line::action)
                .containsExactly(Plan.Action.PIN, Plan.Action.PIN);
        assertThat(answer(harness.controller.dryRun(false))).isTrue();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.engine.pins).containsOnlyKeys(2L, 4L);
    }

    @Test
    void dryRun_ofAutomaticHolds_makesNone() {
        ControllerHarness automatic = automatic();
        automatic.controller.dryRun(true);
        automatic.stored(1, 2, 10);
        automatic.storedUnder(2, 20);
        automatic.removed(20, 10, 2, 1);
        automatic.stored(1, 2, 30);
        automatic.storedUnder(2, 40);
        automatic.pass(Duration.ofSeconds(1));
        assertThat(automatic.controller.view().holds()).isEmpty();
        assertThat(automatic.controller.view().lastPlan().lines())
                .singleElement()
                .satisfies(line -> assertThat(line.action()).isEqualTo(Plan.Action.PIN));
        assertThat(automatic.engine.log).isEmpty();
    }

    @Test
    void dryRun_aPinUnderWay_isTakenBack() {
        harness.stored(1, 2);
        harness.engine.late = true;
        var asked = harness.ask(Duration.ofHours(1), 1, 2);
        harness.settle();
        assertThat(harness.engine.unanswered).hasSize(1);
        answer(harness.controller.dryRun(true));
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(asked).isCompleted();
    }

    @Test
    void match_fromAnyThread_saysWhatEachRankHas() {
        Matches matches = new Matches();
        harness.controller.events(1);
        harness.stored(1, 2, 3);
        assertThat(harness.controller.match(0, new long[] {1, 2, 9}, 0, 3, matches))
                .isTrue();
        assertThat(matches.count()).isEqualTo(1);
        assertThat(matches.depth(0, Tier.GPU)).isEqualTo(2);
        assertThat(harness.controller.match(1, new long[] {1, 2, 9}, 0, 3, matches))
                .isTrue();
        assertThat(matches.count()).isZero();
        assertThat(harness.controller.match(2, new long[] {1}, 0, 1, matches)).isFalse();
    }

    private static ControllerHarness automatic() {
        return ControllerHarness.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
                AutomaticHolds.ON,
                Duration.ofSeconds(60),
                ControllerSettings.LEAST_SAVING,
                Duration.ofMillis(100),
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                Optional.empty()));
    }

    private <T> T answer(CompletionStage<T> asked) {
        harness.settle();
        return asked.toCompletableFuture().join();
    }
}
