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
import io.holdfast.core.hold.Released;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Holds by a backend whose pins end by themselves a minute after their last renewal, and not before. */
final class PinsThatEndInTimeTest {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Duration TIME = Duration.ofSeconds(60);
    private static final Duration RENEWED = Duration.ofSeconds(20);
    private static final String CANNOT =
            "cannot be released before its time runs out, 60 s after its last renewal: the engine has no call"
                    + " that takes a pin back, so its 48 tokens count until then";

    private final Engine engine = new Engine();
    private final Disk disk = new Disk();
    private final ControllerHarness harness = started();

    private ControllerHarness started() {
        engine.traits = BackendTraits.soft().needing(Need.TOKENS).endingAfter(TIME, RENEWED);
        // 0.01 of 10000 tokens: six blocks of 16.
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
    void hold_isRenewedWhileItStands_andTheLedgerIsNotWritten() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.takeLog()).containsExactly("pin 3");
        later(Duration.ofSeconds(100));
        assertThat(harness.takeLog()).hasSize(5).containsOnly("renew 3");
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(disk.lines).isEmpty();
        assertThat(harness.controller.view().own().sent())
                .as("each sends the prefix")
                .isEqualTo(6);
    }

    @Test
    void releasedHold_saysThatItCannotBe_andCountsUntilItsTimeHasRunOut() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        later(Duration.ofSeconds(30));
        harness.takeLog();
        HoldView released = release(held);
        assertThat(released.state()).isEqualTo(HoldState.EXPIRING);
        assertThat(released.reason()).isEqualTo(CANNOT);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(harness.controller.view().pins().unreleasableBlocks()).isEqualTo(3);
        assertThat(harness.controller.view().pins().runningOut()).isEqualTo(1);
        later(Duration.ofSeconds(48));
        assertThat(harness.holdNow(held.id()).state()).as("renewed 10 s before").isEqualTo(HoldState.EXPIRING);
        later(Duration.ofSeconds(4));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.holdNow(held.id()).reason()).isEqualTo("its time has run out");
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        assertThat(harness.log).as("nothing is asked of the engine any more").isEmpty();
    }

    @Test
    void useOfWhatWasReleased_prolongsNothing() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        release(held);
        later(Duration.ofSeconds(40));
        harness.storedUnder(3, 4);
        later(Duration.ofSeconds(22));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void renewalUnderWay_countsHoweverLongItIs_andAsLongAgainOnceItWasCarriedOut() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.late = true;
        later(Duration.ofSeconds(21));
        engine.late = false;
        release(held);
        later(Duration.ofSeconds(100));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.EXPIRING);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        engine.unanswered.remove().run();
        later(Duration.ofSeconds(58));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.EXPIRING);
        later(Duration.ofSeconds(3));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    /** Its time is counted from the call. */
    @Test
    void yesThatComesTooLate_isNoRenewal() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.late = true;
        later(Duration.ofSeconds(21));
        engine.late = false;
        later(Duration.ofSeconds(61));
        engine.unanswered.remove().run();
        engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        later(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
    }

    @Test
    void blocksBesideItsPath_countWhileItMayLast() {
        engine.traits = engine.traits.withBlocksBeside(2);
        harness.stored(1, 2, 3);
        harness.stored(11);
        HoldView held = hold(1, 2, 3);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(80);
        assertThat(ask(11)).isNotDone();
        harness.settle();
        assertThat(harness.controller.view().holds().getLast().reason())
                .startsWith("no room: 80 tokens are pinned, it needs 48 more, and the bound is 100:");
        release(held);
        later(Duration.ofSeconds(62));
        assertThat(harness.controller.view().holds().getLast().state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(hold(11).state()).as("it joins the pin").isEqualTo(HoldState.HELD);
    }

    /** The engine counts them among what cannot be evicted, and has fewer of them right after a pin. */
    @Test
    void blocksBesideItsPath_areNobodyElses_andMayBeMissing() {
        engine.traits = BackendTraits.hard()
                .needing(Need.TOKENS)
                .endingAfter(TIME, RENEWED)
                .withBlocksBeside(2);
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        for (int i = 0; i < 5; i++) {
            harness.served(80);
        }
        assertThat(harness.controller.view().budget().foreignTokens()).isZero();
        for (int i = 0; i < 4; i++) {
            harness.served(48);
        }
        assertThat(harness.holdNow(held.id()).timesLost()).isZero();
        for (int i = 0; i < 5; i++) {
            harness.served(96);
        }
        assertThat(harness.controller.view().budget().foreignTokens())
                .as("a block more than ours")
                .isEqualTo(16);
    }

    @Test
    void prefixThatIsPinnedStill_isTakenUpAgain_andCountsOnce() {
        harness.stored(1, 2, 3);
        HoldView first = hold(1, 2, 3);
        release(first);
        HoldView again = hold(1, 2, 3);
        assertThat(again.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(first.id()).reason()).isEqualTo("released, and another hold has its prefix");
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(harness.controller.view().pins().runningOut()).isZero();
        later(Duration.ofSeconds(70));
        assertThat(harness.holdNow(again.id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void sumOfWhatMayBePinned_staysWithinTheShare_alsoOfRequestedHolds() {
        harness.stored(1, 2, 3);
        harness.stored(11, 12, 13, 14);
        release(hold(1, 2, 3));
        CompletableFuture<HoldView> second = ask(11, 12, 13, 14);
        harness.settle();
        assertThat(second.join().reason())
                .isEqualTo("no room: 48 tokens are pinned, it needs 64 more, and the bound is 100: share 0.01 of the"
                        + " capacity 10000 = 100; what was held before cannot be released, so it counts until its time"
                        + " has run out");
        later(Duration.ofSeconds(62));
        assertThat(harness.holdNow(second.join().id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void clippedPin_waitsUntilItHasRunOut_beforeItIsTriedAgain() {
        harness.stored(1, 2, 3);
        engine.pinAnswers.add(Outcome.Kind.CLIPPED);
        HoldView waits = hold(1, 2, 3);
        assertThat(waits.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(waits.reason())
                .isEqualTo("pinned otherwise than asked, and tried again when that has run out: pin CLIPPED");
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        harness.takeLog();
        later(Duration.ofSeconds(57));
        assertThat(harness.takeLog()).isEmpty();
        later(Duration.ofSeconds(4));
        assertThat(harness.takeLog()).containsExactly("pin 3");
        assertThat(harness.holdNow(waits.id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void pinRefusedForNow_countsNothing_andIsTriedEverMoreRarely() {
        harness.stored(1, 2, 3);
        engine.forNow = true;
        for (int i = 0; i < 8; i++) {
            engine.pinAnswers.add(Outcome.Kind.REJECTED);
        }
        HoldView waits = hold(1, 2, 3);
        assertThat(waits.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(waits.reason()).isEqualTo("refused for now, and tried again: pin REJECTED");
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        assertThat(harness.controller.view().pins().runningOut()).isZero();
        harness.takeLog();
        later(Duration.ofSeconds(75));
        assertThat(harness.takeLog()).as("10, 20 and 40 s later").hasSize(3);
        later(Duration.ofMinutes(10));
        assertThat(harness.takeLog()).as("80, 160 and 300 s later").hasSize(3);
        later(Duration.ofMinutes(10));
        assertThat(harness.holdNow(waits.id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void renewalRefusedForNow_isTriedUntilTheTimeOfTheLastYes() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.forNow = true;
        for (int i = 0; i < 3; i++) {
            engine.renewAnswers.add(Outcome.Kind.REJECTED);
        }
        later(Duration.ofSeconds(50));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(held.id()).timesLost()).isZero();
        for (int i = 0; i < 20; i++) {
            engine.renewAnswers.add(Outcome.Kind.REJECTED);
        }
        engine.pinAnswers.add(Outcome.Kind.REJECTED);
        later(Duration.ofSeconds(65));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
    }

    @Test
    void renewalThatIsClippedOrRefused_isALoss_withTheEnginesReason() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.renewAnswers.add(Outcome.Kind.CLIPPED);
        engine.pinAnswers.add(Outcome.Kind.CLIPPED);
        later(Duration.ofSeconds(22));
        HoldView lost = harness.holdNow(held.id());
        assertThat(lost.state()).isEqualTo(HoldState.LOST);
        assertThat(lost.reason()).contains("renew CLIPPED");
        assertThat(lost.timesLost()).isEqualTo(1);
        later(Duration.ofSeconds(62));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        engine.renewAnswers.add(Outcome.Kind.MISSING);
        later(Duration.ofSeconds(22));
        assertThat(harness.holdNow(held.id()).reason()).contains("renew MISSING");
    }

    /** Its time begins when it is asked for: a process that stood still, and hears of it late, has less of it left. */
    @Test
    void pinAnsweredLate_isRenewedAtOnce_andOneAnsweredAfterItsTimeIsLost() {
        harness.stored(1, 2, 3);
        engine.late = true;
        ask(1, 2, 3);
        harness.settle();
        later(Duration.ofSeconds(40));
        assertThat(harness.takeLog()).containsExactly("pin 3");
        engine.late = false;
        engine.unanswered.remove().run();
        later(Duration.ofSeconds(2));
        assertThat(harness.takeLog()).containsExactly("renew 3");
        engine.late = true;
        later(Duration.ofSeconds(90));
        assertThat(harness.takeLog()).containsExactly("renew 3");
        engine.late = false;
        engine.unanswered.remove().run();
        later(Duration.ofSeconds(2));
        assertThat(harness.controller.view().holds().getLast().timesLost()).isEqualTo(1);
        assertThat(harness.takeLog()).contains("pin 3");
    }

    @Test
    void whatARenewalFoundMissing_wasSentAnew_andCountsForItsWholeTime() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.renewAnswers.add(Outcome.Kind.MISSING);
        for (int i = 0; i < 100; i++) {
            engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        }
        later(Duration.ofSeconds(22));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
        later(Duration.ofSeconds(50));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        release(held);
        later(Duration.ofSeconds(20));
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void renewalWithoutAClearAnswer_countsForItsWholeTimeFromItsLatestArrival() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.renewAnswers.add(Outcome.Kind.DEFERRED);
        for (int i = 0; i < 200; i++) {
            engine.renewAnswers.add(Outcome.Kind.NOT_SENT);
            engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        }
        later(Duration.ofSeconds(62));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
        release(held);
        later(Duration.ofSeconds(70));
        assertThat(harness.controller.view().budget().pinnedTokens())
                .as("sent after 20 s, it may have arrived after 80")
                .isEqualTo(48);
        later(Duration.ofSeconds(12));
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void engineThatDoesNotAnswer_hasHeldItUntilTheTimeOfTheLastYes() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        for (int i = 0; i < 100; i++) {
            engine.renewAnswers.add(Outcome.Kind.NOT_SENT);
        }
        engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        later(Duration.ofSeconds(58));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        later(Duration.ofSeconds(3));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
        assertThat(harness.holdNow(held.id()).reason())
                .endsWith("it could not be renewed in time, and ends automatically 60 s after its last renewal:"
                        + " renew NOT_SENT");
    }

    /** What runs out is on its way out, so no more is given up for it. */
    @Test
    void boundThatFalls_costsNoMoreHoldsThanAreTooMany() {
        engine.traits = BackendTraits.hard().needing(Need.TOKENS).endingAfter(TIME, RENEWED);
        harness.stored(1, 2);
        harness.stored(11, 12);
        harness.stored(21, 22);
        hold(1, 2);
        hold(11, 12);
        hold(21, 22);
        assertThat(held()).isEqualTo(3);
        // 10,000 tokens less the largest request of 1,100, 132 of slack and 8,700 of others leave 68: two prefixes.
        for (int i = 0; i < 30; i++) {
            harness.now += 1_000_000_000L;
            harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 8_700 + 96, 0, 100 + i, harness.now));
            harness.settle();
        }
        assertThat(harness.controller.view().budget().hardTokens()).isEqualTo(68);
        assertThat(held()).isEqualTo(2);
    }

    private long held() {
        return harness.controller.view().holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .count();
    }

    @Test
    void releaseAll_answersAtOnce_withWhatStillRuns() {
        harness.stored(1, 2, 3);
        hold(1, 2, 3);
        CompletableFuture<Released> all =
                harness.controller.releaseAll("the test says so").toCompletableFuture();
        harness.settle();
        assertThat(all.join()).isEqualTo(new Released(0, 1));
        harness.takeLog();
        later(Duration.ofSeconds(62));
        assertThat(harness.controller.view().pins().runningOut()).isZero();
        assertThat(harness.takeLog()).isEmpty();
    }

    @Test
    void pause_isWrittenAlsoWithoutPinsInTheLedger() {
        CompletableFuture<Released> all =
                harness.controller.releaseAll("the test says so").toCompletableFuture();
        harness.settle();
        assertThat(all).isCompleted();
        assertThat(disk.lines).hasSize(1);
    }

    private CompletableFuture<HoldView> ask(long... path) {
        return harness.controller
                .request(new HoldRequest(path, tokens(path.length), HOUR))
                .toCompletableFuture();
    }

    private HoldView hold(long... path) {
        CompletableFuture<HoldView> answer = ask(path);
        harness.settle();
        return answer.getNow(harness.controller.view().holds().getLast());
    }

    private HoldView release(HoldView hold) {
        CompletableFuture<Optional<HoldView>> answer =
                harness.controller.release(hold.id()).toCompletableFuture();
        harness.settle();
        return answer.getNow(Optional.empty()).orElseThrow();
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
