package io.holdfast.core;

import static io.holdfast.core.ControllerHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.Gap;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What routers tell of requests, beside what events show of them. */
final class TouchesTest {
    private static final Duration HALF_A_MINUTE = Duration.ofSeconds(30);
    private final ControllerHarness harness = ControllerHarness.ready();

    @Test
    void touch_prolongsWhatUsesProlong_atOnce_andNothingElse() {
        harness.stored(1, 2);
        harness.storedUnder(2, 3, 4);
        long refreshed = hold(new HoldRequest(path(1, 2), Lease.refreshed(Duration.ofSeconds(60))));
        long absolute = hold(new HoldRequest(path(1, 2), Duration.ofSeconds(60)));
        long longer = hold(new HoldRequest(path(1, 2, 3, 4), Lease.refreshed(Duration.ofSeconds(60))));
        harness.pass(Duration.ofSeconds(40));
        touch(1, 2, 3);
        assertThat(left(refreshed)).isEqualTo(60);
        assertThat(left(absolute)).isEqualTo(20);
        assertThat(left(longer)).as("of which not all was used").isEqualTo(20);
    }

    @Test
    void touch_ofWhatIsHeldAutomatically_prolongsIt() {
        ControllerHarness automatic = ControllerHarness.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
                AutomaticHolds.ON,
                Duration.ofSeconds(60),
                ControllerSettings.LEAST_SAVING,
                Duration.ofMillis(100),
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                Optional.empty()));
        automatic.stored(1, 2, 10);
        automatic.storedUnder(2, 20);
        automatic.removed(20, 10, 2, 1);
        automatic.stored(1, 2, 30);
        automatic.storedUnder(2, 40);
        automatic.pass(Duration.ofMillis(200));
        assertThat(automatic.controller.view().holds())
                .singleElement()
                .satisfies(hold -> assertThat(hold.state()).isEqualTo(HoldState.HELD));
        for (int i = 0; i < 4; i++) {
            automatic.pass(Duration.ofSeconds(45));
            automatic.controller.touched(new HoldRequest(path(1, 2, 30), Duration.ofMinutes(1)));
            automatic.settle();
        }
        assertThat(automatic.controller.view().holds())
                .singleElement()
                .satisfies(hold -> assertThat(hold.state()).isEqualTo(HoldState.HELD));
        // Three of its gaps of 45 s, and what it was taught of the last touch half a minute later.
        automatic.pass(Duration.ofSeconds(165));
        automatic.pass(Duration.ofSeconds(1));
        assertThat(automatic.controller.view().holds())
                .singleElement()
                .satisfies(hold -> assertThat(hold.state()).isEqualTo(HoldState.RELEASED));
    }

    @Test
    void touch_thatNoEventShows_teachesOnceItsWhileIsOver() {
        harness.stored(1, 2, 10);
        harness.storedUnder(2, 20);
        harness.pass(Duration.ofMinutes(2));
        long before = harness.controller.view().sharing().found();
        touch(1, 2, 10);
        harness.pass(HALF_A_MINUTE.minusNanos(1));
        assertThat(touches().taught()).isZero();
        harness.pass(Duration.ofNanos(1));
        assertThat(touches()).isEqualTo(new EngineView.Touches(1, 0, 1, 0));
        assertThat(harness.controller.view().sharing().found()).isEqualTo(before + 1);
        assertThat(requestsOverShared()).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void touch_ofARequestThatEventsShow_countsOnce(boolean routerFirst) {
        harness.stored(1, 2, 10);
        harness.storedUnder(2, 20);
        harness.pass(Duration.ofMinutes(2));
        if (routerFirst) {
            touch(1, 2, 10);
        }
        harness.storedUnder(10, 11, 12);
        if (!routerFirst) {
            harness.pass(Duration.ofSeconds(5));
            touch(1, 2, 10);
        }
        harness.pass(HALF_A_MINUTE);
        assertThat(touches()).isEqualTo(new EngineView.Touches(1, 1, 0, 0));
        assertThat(requestsOverShared()).isEqualTo(3);
    }

    @Test
    void touches_eachVisibleRequestTakesOneWithIt() {
        harness.stored(1, 2, 10);
        harness.storedUnder(2, 20);
        harness.pass(Duration.ofMinutes(2));
        for (int i = 0; i < 5; i++) {
            touch(1, 2);
        }
        harness.storedUnder(2, 30);
        harness.storedUnder(2, 40);
        harness.pass(HALF_A_MINUTE);
        assertThat(touches()).isEqualTo(new EngineView.Touches(5, 2, 3, 0));
        assertThat(requestsOverShared()).isEqualTo(2 + 2 + 3);
        harness.pass(Duration.ofMinutes(2));
        touch(1, 2);
        harness.pass(HALF_A_MINUTE);
        assertThat(touches().taught())
                .as("what was shown long ago takes nothing")
                .isEqualTo(4);
    }

    @Test
    void touch_ofWhatIsNotThere_teachesNothing_andTakesItsOwnRequest() {
        harness.stored(1, 2, 10);
        harness.storedUnder(2, 20);
        harness.removed(20, 10);
        harness.pass(Duration.ofMinutes(2));
        touch(1, 2, 10);
        harness.pass(HALF_A_MINUTE);
        assertThat(touches()).as("its request never came").isEqualTo(new EngineView.Touches(1, 0, 0, 0));
        touch(1, 2, 10);
        harness.storedUnder(2, 10);
        touch(1, 2, 10);
        harness.pass(HALF_A_MINUTE);
        assertThat(touches()).isEqualTo(new EngineView.Touches(3, 1, 1, 0));
    }

    @Test
    void touch_thatWaitsWhenEventsAreLost_orTheCacheEnds_teachesNothing() {
        harness.stored(1, 2, 10);
        harness.pass(Duration.ofMinutes(2));
        touch(1, 2, 10);
        harness.controller.events().gap(new Gap(Gap.Cause.DROPPED, 1, 2));
        harness.stored(1, 2, 10);
        harness.pass(HALF_A_MINUTE);
        harness.pass(Duration.ofMinutes(2));
        touch(1, 2, 10);
        harness.cleared();
        harness.stored(1, 2, 10);
        harness.pass(HALF_A_MINUTE);
        assertThat(touches().taught()).isZero();
    }

    @Test
    void touchedRequests_areNotInvisible() {
        harness.stored(1, 2, 10);
        harness.pass(Duration.ofMinutes(2));
        served(1);
        for (int i = 0; i < 4; i++) {
            touch(1, 2, 10);
        }
        served(5);
        assertThat(share()).isEqualTo(0.8);
        harness.now += HALF_A_MINUTE.toNanos();
        served(5);
        assertThat(share()).isEqualTo(0.0);
    }

    @Test
    void touches_moreThanWait_areRefused_andHoldsAreNot() {
        harness.stored(1, 2);
        HoldRequest path = new HoldRequest(path(1, 2), Duration.ofMinutes(1));
        int taken = 0;
        while (harness.controller.touched(path)) {
            taken++;
        }
        assertThat(taken).isEqualTo(Mailbox.TOUCHES);
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.HELD);
        assertThat(touches()).satisfies(told -> {
            assertThat(told.told()).isEqualTo(Mailbox.TOUCHES);
            assertThat(told.notTaken()).isEqualTo(1);
        });
        assertThat(harness.controller.touched(path)).isTrue();
    }

    @Test
    void touch_atAnEngineWithSeveralRanks_onlyProlongs() {
        harness.controller.events(1);
        harness.stored(1, 2);
        harness.pass(Duration.ofMinutes(2));
        touch(1, 2);
        harness.pass(HALF_A_MINUTE);
        assertThat(touches()).isEqualTo(new EngineView.Touches(1, 0, 0, 0));
    }

    @Test
    void touch_thatTaught_isTheLastUseOfItsBlocks() {
        harness.pass(Duration.ofSeconds(1));
        harness.stampMicros = harness.now / 1_000;
        harness.stored(1, 2);
        harness.pass(Duration.ofMinutes(2));
        touch(1, 2);
        harness.pass(HALF_A_MINUTE);
        var traffic = harness.controller.traffic().toCompletableFuture();
        harness.settle();
        assertThat(traffic.join().reuse().count()).isEqualTo(1);
        assertThat(traffic.join().reuse().median().orElseThrow().toSeconds()).isBetween(119L, 120L);
        harness.pass(Duration.ofSeconds(10));
        harness.stampMicros = harness.now / 1_000;
        harness.storedUnder(2, 3);
        harness.pass(Duration.ofSeconds(1));
        var later = harness.controller.traffic().toCompletableFuture();
        harness.settle();
        assertThat(later.join().reuse()).satisfies(gaps -> {
            assertThat(gaps.count()).isEqualTo(2);
            assertThat(gaps.tenth().orElseThrow().toSeconds()).isBetween(39L, 40L);
        });
    }

    private static long[] path(long... blocks) {
        return blocks;
    }

    private long hold(HoldRequest request) {
        var answer = harness.controller.request(request).toCompletableFuture();
        harness.settle();
        return answer.join().id();
    }

    private long left(long hold) {
        return harness.holdNow(hold).leaseLeft().toSeconds();
    }

    private void touch(long... path) {
        assertThat(harness.controller.touched(new HoldRequest(path, Duration.ofMinutes(1))))
                .isTrue();
        harness.settle();
    }

    private EngineView.Touches touches() {
        return harness.controller.view().touches();
    }

    private long requestsOverShared() {
        var answer = harness.controller.prefixes().toCompletableFuture();
        harness.settle();
        return answer.join().stream()
                .filter(prefix -> prefix.prefix().lastBlock() == 2)
                .findFirst()
                .orElseThrow()
                .prefix()
                .requests();
    }

    private void served(int requests) {
        harness.now += SECOND / 10;
        harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, requests, harness.now));
        harness.settle();
    }

    private double share() {
        return harness.controller.view().invisibleShare().number().orElseThrow();
    }
}
