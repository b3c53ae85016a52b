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
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.plan.AutomaticHolds;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Holds by a backend that has no unpin. */
final class WithoutUnpinTest {
    private static final Duration HOUR = Duration.ofHours(1);
    private static final String UNTIL =
            "the engine has no call that takes them back, so they count until it evicts them, clears its cache or"
                    + " restarts";
    /** On the engine's clock. */
    private static final long NOON = 1_700_000_000_000_000L;

    private final Engine engine = new Engine();
    private final Disk disk = new Disk();
    private ControllerHarness harness = started();

    private ControllerHarness started() {
        engine.traits = BackendTraits.soft().needing(Need.TOKENS).withoutUnpin();
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
        fresh.stampMicros = NOON;
        fresh.controller.hasToken(1_000_000);
        fresh.idle();
        fresh.settle();
        return fresh;
    }

    @Test
    void releasedHold_saysThatItCannotBe_andNothingIsAskedOfTheEngine() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        HoldView released = release(held);
        assertThat(released.state()).isEqualTo(HoldState.EXPIRING);
        assertThat(released.reason()).isEqualTo("cannot be released, 48 tokens: " + UNTIL);
        assertThat(harness.log).noneMatch(line -> line.startsWith("unpin"));
        assertThat(harness.controller.view().pins().unreleasableBlocks()).isEqualTo(3);
        assertThat(harness.controller.view().pins().kept()).isZero();
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
    }

    @Test
    void whatTheEngineEvicts_countsNoMore_untilItIsOver() throws IOException {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        release(held);
        later(Duration.ofSeconds(20));
        harness.removed(3);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).reason()).isEqualTo("cannot be released, 32 tokens: " + UNTIL);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(32);
        assertThat(disk.outstanding())
                .singleElement()
                .satisfies(entry -> assertThat(entry.blocks()).isEqualTo(2));
        harness.storedUnder(2, 3);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens())
                .as("it came back without protection")
                .isEqualTo(32);
        later(Duration.ofSeconds(20));
        harness.removed(3);
        harness.removed(1, 2);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.holdNow(held.id()).reason())
                .isEqualTo("nothing of it is protected any more: the engine has evicted it, cleared its cache or"
                        + " restarted");
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        assertThat(disk.outstanding()).isEmpty();
    }

    @Test
    void sumOfAllThatWasEverHeld_staysWithinTheShare() {
        harness.stored(1, 2, 3, 4);
        harness.stored(11, 12, 13, 14);
        release(hold(1, 2, 3, 4));
        CompletableFuture<HoldView> second = ask(11, 12, 13, 14);
        harness.settle();
        assertThat(second.join().reason())
                .isEqualTo("no room: 64 tokens are pinned, it needs 64 more, and the bound is 100: share 0.01 of the"
                        + " capacity 10000 = 100; what was held before cannot be released, so it counts until"
                        + " the engine has evicted it");
        later(Duration.ofSeconds(20));
        harness.removed(2, 3, 4);
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(second.join().id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(80);
    }

    @Test
    void prefixThatIsProtectedStill_isHeldAgainAndCountsOnce() throws IOException {
        harness.stored(1, 2, 3, 4);
        HoldView first = hold(1, 2, 3, 4);
        release(first);
        HoldView again = hold(1, 2, 3, 4);
        assertThat(again.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(first.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.holdNow(first.id()).reason()).isEqualTo("released, and another hold has its prefix");
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(64);
        assertThat(harness.controller.view().pins().unreleasableBlocks()).isZero();
        assertThat(disk.outstanding())
                .singleElement()
                .satisfies(entry -> assertThat(entry.holdId()).isEqualTo(again.id()));
    }

    @Test
    void heldAgainInVain_staysProtectedAsFarAsItWas() {
        harness.stored(1, 2, 3, 4);
        HoldView first = hold(1, 2, 3, 4);
        release(first);
        later(Duration.ofSeconds(20));
        harness.removed(4);
        harness.pass(Duration.ofSeconds(1));
        harness.storedUnder(3, 4);
        engine.pinAnswers.add(Outcome.Kind.REJECTED);
        assertThat(hold(1, 2, 3, 4).reason()).isEqualTo("refused: pin REJECTED");
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(harness.holdNow(first.id()).reason()).startsWith("cannot be released, 48 tokens: ");
    }

    @Test
    void callWithoutClearAnswer_countsAndIsNotHeld_untilItIsMadeAgain() throws IOException {
        harness.stored(1, 2, 3);
        engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        HoldView asked = hold(1, 2, 3);
        assertThat(asked.state()).isEqualTo(HoldState.REQUESTED);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(disk.outstanding()).hasSize(1);
        harness.pass(Duration.ofSeconds(11));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(asked.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(disk.outstanding()).hasSize(1);
    }

    @Test
    void cacheThatIsCleared_endsItAll() throws IOException {
        harness.stored(1, 2, 3);
        harness.stored(11, 12);
        HoldView held = hold(1, 2, 3);
        HoldView released = release(hold(11, 12));
        later(Duration.ofSeconds(30));
        harness.cleared();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.LOST);
        assertThat(harness.holdNow(released.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        assertThat(disk.outstanding()).isEmpty();
    }

    /** What was made before the pin may be heard after it, and says nothing of it. */
    @Test
    void clearFromBeforeThePin_thatIsHeardLate_endsNothing() throws IOException {
        harness.stored(1, 2, 3);
        harness.pass(Duration.ofSeconds(20));
        release(hold(1, 2, 3));
        harness.stampMicros = NOON + 10_000_000;
        harness.cleared();
        harness.stampMicros = NOON + 20_000_000;
        harness.stored(1, 2, 3);
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(disk.outstanding()).hasSize(1);
    }

    @Test
    void evictedWhileHeld_isLostAndHeldAgain_andThePartCounts() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        later(Duration.ofSeconds(30));
        harness.removed(3);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.LOST);
        assertThat(harness.holdNow(held.id()).reason()).startsWith("the engine evicted it all the same");
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(32);
        harness.storedUnder(2, 3);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
    }

    @Test
    void releasingAll_saysHowManyArePending_andPausesAllTheSame() {
        harness.stored(1, 2, 3);
        hold(1, 2, 3);
        CompletableFuture<Released> all =
                harness.controller.releaseAll("a test").toCompletableFuture();
        harness.settle();
        assertThat(all.join()).isEqualTo(new Released(0, 1));
        assertThat(harness.controller.view().paused()).isPresent();
    }

    @Test
    void nextStart_countsWhatIsStillThere_andForgetsTheRest() throws IOException {
        harness.stored(1, 2, 3, 4);
        harness.stored(11, 12);
        release(hold(1, 2, 3, 4));
        release(hold(11, 12));

        harness = started();
        assertThat(harness.controller.view().budget().pinnedTokens())
                .as("all of it, before the events tell")
                .isEqualTo(96);
        assertThat(engine.log).noneMatch(line -> line.startsWith("unpin"));
        // The engine's past comes again, and what happened since.
        harness.stored(1, 2, 3, 4);
        harness.stored(11, 12);
        harness.stampMicros = NOON + 100_000_000;
        harness.removed(3, 4);
        harness.storedUnder(2, 3, 4);
        harness.removed(11, 12);
        harness.stored(11, 12);
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens())
                .as("the two that stayed")
                .isEqualTo(32);
        assertThat(harness.controller.view().pins().unreleasableBlocks()).isEqualTo(2);
        assertThat(disk.outstanding()).hasSize(1);
        harness.stampMicros += 1_000_000;
        harness.removed(3, 4);
        harness.removed(1, 2);
        harness.pass(Duration.ofSeconds(1));
        assertThat(disk.outstanding()).isEmpty();
    }

    @Test
    void nextStart_atAnEngineThatRestarted_forgetsEverything() throws IOException {
        harness.stored(1, 2, 3, 4);
        release(hold(1, 2, 3, 4));
        harness = started();
        harness.stampMicros = NOON + 100_000_000;
        harness.cleared();
        harness.stored(1, 2, 3, 4);
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
        assertThat(disk.outstanding()).isEmpty();
    }

    @Test
    void nextStart_ofAPinThatWasOnItsWay_countsIt() throws IOException {
        disk.append(new LedgerLine.Entry(LedgerLine.Step.PINNING, 5, HoldOrigin.REQUESTED, "test", "3", 3, 3, ""));
        harness = started();
        harness.stored(1, 2, 3);
        harness.pass(Duration.ofSeconds(61));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(hold(1, 2, 3).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(48);
        assertThat(disk.outstanding()).hasSize(1);
    }

    private HoldView hold(long... path) {
        CompletableFuture<HoldView> answer = ask(path);
        harness.settle();
        return answer.join();
    }

    private CompletableFuture<HoldView> ask(long... path) {
        return harness.controller
                .request(new HoldRequest(path, new int[path.length * 16], HOUR))
                .toCompletableFuture();
    }

    private HoldView release(HoldView hold) {
        CompletableFuture<Optional<HoldView>> answer =
                harness.controller.release(hold.id()).toCompletableFuture();
        harness.settle();
        return answer.join().orElseThrow();
    }

    /** Time passes for us and for the engine. */
    private void later(Duration time) {
        harness.stampMicros += time.toNanos() / 1_000;
        harness.pass(time);
    }
}
