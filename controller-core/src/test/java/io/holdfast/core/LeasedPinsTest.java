package io.holdfast.core;

import static io.holdfast.core.ControllerHarness.SETTINGS;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.ControllerHarness.Disk;
import io.holdfast.core.ControllerHarness.Engine;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.AutomaticHolds;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Holds by a backend whose pins are taken back by a call, and end a minute after their last renewal without one. */
final class LeasedPinsTest {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration TIME = Duration.ofSeconds(60);
    private static final Duration RENEWED = Duration.ofSeconds(20);

    private final Engine engine = new Engine();
    private final Disk disk = new Disk();
    private final ControllerHarness harness = started();

    private ControllerHarness started() {
        engine.traits = BackendTraits.soft().needing(Need.TOKENS).leasedFor(TIME, RENEWED);
        ControllerSettings settings = new ControllerSettings(
                "e",
                new BudgetSettings(0.01, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
                AutomaticHolds.OFF,
                Duration.ofSeconds(60),
                SETTINGS.leastSaving(),
                Duration.ofMillis(100),
                SETTINGS.ownRequestsAnHour(),
                Optional.of(EffectSettings.DEFAULTS));
        ControllerHarness fresh = new ControllerHarness(settings, disk, engine);
        fresh.controller.hasToken(1_000_000);
        fresh.idle();
        fresh.settle();
        return fresh;
    }

    @Test
    void hold_isRenewedWhileItStands_byRequestsOfOurOwn_andTheLedgerIsNotWritten() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.takeLog()).containsExactly("pin 3");
        later(Duration.ofSeconds(100));
        assertThat(harness.takeLog()).hasSize(5).containsOnly("renew 3");
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(disk.lines).isEmpty();
        assertThat(harness.controller.view().own().sent())
                .as("the pin and its renewals send the prefix")
                .isEqualTo(6);
    }

    @Test
    void releasedHold_isTakenBackAtOnce_andRenewedNoMore() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        harness.takeLog();
        assertThat(release(held).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.takeLog()).containsExactly("unpin 3");
        assertThat(engine.pins).isEmpty();
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        later(Duration.ofSeconds(60));
        assertThat(harness.takeLog()).isEmpty();
    }

    /** A renewal that is carried out after the unpin would hold for nobody. */
    @Test
    void releasedWhileItsRenewalIsUnderWay_isTakenBackAgainOnceThatWasAnswered() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.late = true;
        later(Duration.ofSeconds(21));
        engine.late = false;
        harness.takeLog();

        assertThat(release(held).state()).isEqualTo(HoldState.EXPIRING);
        later(Duration.ofSeconds(200));
        assertThat(harness.takeLog()).containsExactly("unpin 3");
        assertThat(harness.holdNow(held.id()).reason()).isEqualTo("its renewal has no answer yet");
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);

        engine.unanswered.remove().run();
        later(Duration.ofSeconds(1));
        assertThat(harness.takeLog()).containsExactly("unpin 3");
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void unpinWithoutAClearAnswer_isSentAgain_andCountsUntilTheTimeHasRunOut() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        harness.takeLog();
        neverAnswers();
        assertThat(release(held).state()).isEqualTo(HoldState.EXPIRING);
        later(Duration.ofSeconds(50));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.EXPIRING);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(harness.takeLog()).as("each time later").hasSizeBetween(4, 8).containsOnly("unpin 3");
        later(Duration.ofSeconds(15));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        harness.takeLog();
        later(Duration.ofSeconds(60));
        assertThat(harness.takeLog())
                .as("nothing is asked for what has run out")
                .isEmpty();
    }

    @Test
    void pinWithoutAClearAnswer_isTakenBackWhenItCanNoLongerArrive() {
        harness.stored(1, 2, 3);
        engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        HoldView waits = hold(1, 2, 3);
        assertThat(waits.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(waits.reason()).contains("taken back before it is tried again");
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        later(Duration.ofSeconds(130));
        assertThat(harness.holdNow(waits.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(engine.pins).containsExactly(Map.entry(3L, 1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
    }

    @Test
    void renewalThatFoundItGone_isALoss_andWhatIsLeftIsTakenBack() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        harness.takeLog();
        engine.renewAnswers.add(Outcome.Kind.MISSING);
        later(Duration.ofSeconds(22));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
        assertThat(harness.takeLog()).startsWith("renew 3", "unpin 3");
        later(Duration.ofSeconds(30));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(engine.pins).containsExactly(Map.entry(3L, 1));
    }

    @Test
    void engineThatDoesNotAnswer_hasHeldItUntilTheTimeOfTheLastYes() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        for (int i = 0; i < 100; i++) {
            engine.renewAnswers.add(Outcome.Kind.DEFERRED);
        }
        engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        later(Duration.ofSeconds(58));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        later(Duration.ofSeconds(3));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
    }

    private void neverAnswers() {
        for (int i = 0; i < 100; i++) {
            engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        }
    }

    private HoldView hold(long... path) {
        CompletableFuture<HoldView> answer = harness.controller
                .request(new HoldRequest(path, tokens(path.length), HOUR))
                .toCompletableFuture();
        harness.settle();
        return answer.getNow(harness.controller.view().holds().getLast());
    }

    private HoldView release(HoldView hold) {
        CompletableFuture<Optional<HoldView>> answer =
                harness.controller.release(hold.id()).toCompletableFuture();
        harness.settle();
        return answer.getNow(Optional.of(harness.holdNow(hold.id()))).orElseThrow();
    }

    private void later(Duration time) {
        for (long second = 0; second < time.toSeconds(); second++) {
            harness.pass(Duration.ofSeconds(1));
        }
    }

    private static int[] tokens(int blocks) {
        int[] tokens = new int[blocks * 16];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = i + 1;
        }
        return tokens;
    }
}
