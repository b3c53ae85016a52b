package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.budget.StallWatch;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.Tier;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class ControllerTest {
    private static final ControllerSettings AUTOMATIC = new ControllerSettings(
            "e",
            new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
            AutomaticHolds.ON,
            Duration.ofSeconds(60),
            ControllerSettings.LEAST_SAVING,
            Duration.ofMillis(100),
            ControllerSettings.OWN_REQUESTS_AN_HOUR,
            Optional.of(EffectSettings.DEFAULTS));

    private final ControllerHarness harness = ControllerHarness.ready();

    @Test
    void request_prefixNotStored_waitsAndIsPinnedWhenSeenStored() {
        HoldView waiting = harness.hold(1, 2);
        assertThat(waiting.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(waiting.reason()).startsWith("not in the cache as a whole");
        harness.stored(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(waiting.id())).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.HELD);
            assertThat(hold.heldBlocks()).isEqualTo(2);
            assertThat(hold.heldTokens()).isEqualTo(32);
        });
    }

    @Test
    void idle_isAControllerWithoutHoldsThatHoldsNothingByItself() {
        assertThat(harness.controller.idle()).isTrue();
        assertThat(ControllerHarness.ready(AUTOMATIC).controller.idle()).isFalse();
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        assertThat(harness.controller.idle()).as("a hold").isFalse();
        harness.controller.release(id);
        harness.settle();
        assertThat(harness.controller.idle()).isTrue();
    }

    @Test
    void idle_isNoControllerWhoseUnpinIsUnderWay() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(LedgerLine.Step.PINNED, 5, 2, 2);
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.engine.late = true;
        next.engine.pins.put(2L, 1);
        next.idle();
        next.settle();
        assertThat(next.controller.idle()).isFalse();
        next.engine.unanswered.remove().run();
        next.settle();
        assertThat(next.controller.idle()).isTrue();
    }

    @Test
    void request_clipped_saysSoAndWhatToDo() {
        harness.stored(1, 2);
        harness.storedUnder(2, 3, 4);
        harness.storedUnder(4, 5);
        harness.removed(5, 4);
        HoldView held = harness.hold(1, 2, 3);
        assertThat(held.heldBlocks()).isEqualTo(2);
        assertThat(held.wantedBlocks()).isEqualTo(3);
        assertThat(held.reason()).startsWith("requested; clipped: 2 of 3 blocks");
        assertThat(harness.engine.pins).containsOnlyKeys(2L);
    }

    @Test
    void probe_lateReadings_areNoReasonForAnother_andALongSilenceIs() {
        EngineReadings none = EngineReadings.unknown("The engine did not answer within 2 s.");
        assertThat(harness.engine.probes).isEqualTo(1);
        for (int i = 0; i < 20; i++) {
            harness.now += Duration.ofSeconds(2).toNanos();
            harness.controller.readings(none);
            harness.settle();
            harness.now += Duration.ofSeconds(2).toNanos();
            harness.idle();
            harness.settle();
        }
        assertThat(harness.engine.probes).as("of one incarnation").isEqualTo(1);

        for (int i = 0; i < 4; i++) {
            harness.controller.readings(none);
            harness.settle();
            harness.now += Duration.ofSeconds(2).toNanos();
        }
        harness.idle();
        harness.settle();
        assertThat(harness.engine.probes).as("another engine may answer by now").isEqualTo(2);
    }

    @Test
    void request_engineCannotPin_isRefusedWithItsWhy() {
        ControllerHarness stock = new ControllerHarness(
                ControllerHarness.SETTINGS, new ControllerHarness.Disk(), new ControllerHarness.Engine());
        stock.engine.capabilities = new Capabilities(false, "HTTP 404");
        stock.idle();
        stock.settle();
        stock.stored(1, 2);
        HoldView refused = stock.hold(1, 2);
        assertThat(refused.state()).isEqualTo(HoldState.RELEASED);
        assertThat(refused.reason()).isEqualTo("this engine cannot pin: HTTP 404");
        assertThat(stock.engine.probes).isEqualTo(1);
        stock.engine.capabilities = new Capabilities(true, "mended");
        stock.pass(Duration.ofMinutes(11));
        assertThat(stock.engine.probes).as("asked again without a reason").isEqualTo(1);
        stock.controller.readings(EngineReadings.unknown("it restarts"));
        stock.settle();
        stock.now += Duration.ofSeconds(6).toNanos();
        stock.pass(Duration.ofSeconds(1));
        assertThat(stock.hold(1, 2).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void lease_over_unpins() {
        harness.stored(1, 2);
        HoldView held = harness.hold(1, 2);
        assertThat(held.leaseLeft()).isEqualTo(Duration.ofSeconds(60));
        harness.pass(Duration.ofSeconds(59));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(held.id()).leaseLeft()).isEqualTo(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.holdNow(held.id()).reason()).isEqualTo("its lease of 60 s is over");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void lease_overBeforeItWasEverPinned_ends() {
        HoldView waiting = harness.hold(1, 2);
        harness.pass(Duration.ofSeconds(61));
        assertThat(harness.holdNow(waiting.id()).state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void release_unknownHold_isEmpty() {
        var answer = harness.controller.release(99).toCompletableFuture();
        harness.settle();
        assertThat(answer.join()).isEmpty();
    }

    @Test
    void release_unpinDeferred_saysSoAndGoesOn() {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        var answer = harness.controller.release(id).toCompletableFuture();
        harness.settle();
        assertThat(answer.join().orElseThrow()).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.EXPIRING);
            assertThat(hold.reason()).startsWith("no clear answer to the unpin");
        });
        assertThat(harness.controller.view().pins().unsure()).isEqualTo(1);
        harness.takeLog();
        harness.served(32);
        assertThat(harness.holdNow(id).state()).as("it may still be there").isEqualTo(HoldState.EXPIRING);
        harness.served(0);
        assertThat(harness.takeLog()).as("what is gone is not asked for").containsExactly("write RELEASED 2 for 1");
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void release_unpinRefused_saysThatItMayStayPinned() {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.engine.unpinAnswers.add(Outcome.Kind.REJECTED);
        var answer = harness.controller.release(id).toCompletableFuture();
        harness.settle();
        assertThat(answer.join().orElseThrow().reason()).startsWith("the engine refused the unpin");
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(32);
        assertThat(harness.holdNow(id)).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.EXPIRING);
            assertThat(hold.reason()).startsWith("the engine refused the unpin");
        });
        assertThat(harness.takeLog()).filteredOn("unpin 2"::equals).hasSize(1);

        var again = harness.controller.release(id).toCompletableFuture();
        harness.settle();
        assertThat(again.join().orElseThrow().state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void releaseAll_unpinRefused_isPendingAndTheNextOneAsksAgain() throws Exception {
        harness.stored(1, 2);
        harness.stored(3, 4);
        harness.hold(1, 2);
        harness.hold(3, 4);
        harness.engine.unpinAnswers.add(Outcome.Kind.REJECTED);
        var answer = harness.controller.releaseAll("x").toCompletableFuture();
        harness.settle();
        assertThat(answer.join()).isEqualTo(new Released(1, 1));
        assertThat(harness.holdNow(1).state()).isEqualTo(HoldState.EXPIRING);
        assertThat(harness.disk.outstanding())
                .extracting(LedgerLine.Entry::lastBlock)
                .containsExactly(2L);

        var again = harness.controller.releaseAll("x").toCompletableFuture();
        harness.settle();
        assertThat(again.join()).isEqualTo(new Released(1, 0));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void blockRemovedWhileItsPinIsUnderWay_isNotHeld() throws Exception {
        harness.stored(1, 2);
        harness.engine.late = true;
        var asked = harness.ask(1, 2);
        harness.settle();
        harness.removed(2);
        harness.pass(Duration.ofMillis(100));
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        assertThat(asked.join().state()).isNotEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(1)).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.LOST);
            assertThat(hold.reason()).startsWith("the engine removed a part of it while its pin was under way; ");
        });
        assertThat(harness.engine.pins)
                .as("where it was pinned is not told yet")
                .containsOnlyKeys(2L);
        harness.pass(Duration.ofSeconds(15));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void holds_moreThanMayLive_oneMoreIsRefusedWithASentence() {
        List<CompletableFuture<HoldView>> asked = new ArrayList<>();
        for (int i = 0; i < Holds.MOST_LIVING; i++) {
            asked.add(harness.ask(1, 2));
        }
        harness.settle();
        assertThat(asked).allSatisfy(hold -> assertThat(hold.join().state()).isEqualTo(HoldState.REQUESTED));
        var oneMore = harness.ask(1, 2);
        harness.settle();
        assertThatThrownBy(oneMore::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessage("Engine e has 1024 holds, which is the most: release one first.");
        harness.controller.release(1);
        harness.settle();
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.REQUESTED);
    }

    @Test
    void releaseAll_unpinsSuspendsAndResumes() {
        harness.stored(1, 2);
        harness.stored(3, 4);
        harness.hold(1, 2);
        harness.hold(3, 4);
        harness.hold(5, 6);
        var answer = harness.controller.releaseAll("shutting down").toCompletableFuture();
        harness.settle();
        assertThat(answer.join()).isEqualTo(new Released(3, 0));
        assertThat(harness.engine.pins).isEmpty();
        var refused = harness.ask(1, 2);
        harness.settle();
        assertThatThrownBy(refused::join).hasMessageContaining("paused: shutting down");
        var resumed = harness.controller.resumeHolding().toCompletableFuture();
        harness.settle();
        assertThat(resumed.join()).isTrue();
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void releaseAll_engineDoesNotAnswer_completesAndLeavesTheEntry() throws Exception {
        harness.stored(1, 2);
        harness.hold(1, 2);
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        var answer = harness.controller.releaseAll("shutting down").toCompletableFuture();
        harness.settle();
        assertThat(answer.join()).isEqualTo(new Released(0, 1));
        assertThat(harness.disk.outstanding())
                .extracting(LedgerLine.Entry::lastBlock)
                .containsExactly(2L);
    }

    @Test
    void releaseAll_nothingHeld_answersZero() {
        var answer = harness.controller.releaseAll("x").toCompletableFuture();
        harness.settle();
        assertThat(answer.join()).isEqualTo(new Released(0, 0));
    }

    @Test
    void mailbox_full_failsTheWishWithOneSentence() {
        List<CompletableFuture<HoldView>> asked = new ArrayList<>();
        for (int i = 0; i <= Mailbox.CAPACITY; i++) {
            asked.add(harness.ask(1, 2));
        }
        assertThat(asked.get(Mailbox.CAPACITY - 1)).isNotDone();
        assertThatThrownBy(() -> asked.get(Mailbox.CAPACITY).join())
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessage("The controller of engine e has 1024 requests waiting: ask again later.");
        harness.settle();
        assertThat(asked.get(0)).isDone();
    }

    @Test
    void mail_wakesTheOwner() {
        int[] woken = {0};
        harness.controller.onMail(() -> woken[0]++);
        harness.idle();
        assertThat(woken[0]).isEqualTo(1);
        harness.controller.release(1);
        assertThat(woken[0]).isEqualTo(2);
    }

    @Test
    void poll_nothingToDo_isZero() {
        harness.settle();
        assertThat(harness.controller.poll(harness.now)).isZero();
    }

    @Test
    void stalled_unpinsRequestedHolds_pinsAgainOnceItIsOver() {
        harness.stored(1, 2);
        HoldView held = harness.hold(1, 2);
        harness.readings(0, 3);
        harness.settle();
        assertThat(harness.engine.pins).isNotEmpty();
        harness.now += StallWatch.STANDSTILL_NANOS;
        harness.readings(0, 3);
        harness.settle();
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.holdNow(held.id())).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.REQUESTED);
            assertThat(hold.reason()).startsWith("requests wait while nothing runs");
        });
        harness.now += 100_000_000;
        harness.readings(2, 3);
        harness.settle();
        assertThat(harness.holdNow(held.id()).reason()).startsWith("requests waited while nothing ran, stall number 1");
        assertThat(harness.controller.view().stalls()).isEqualTo(1);
        assertThat(harness.controller.view().alarms())
                .extracting(Budget.Alarm::kind)
                .containsExactly(Budget.AlarmKind.STALL);
        harness.pass(Duration.ofSeconds(30));
        assertThat(harness.engine.pins).isEmpty();
        CompletableFuture<Boolean> resumed = harness.controller.resumeHolding().toCompletableFuture();
        harness.settle();
        assertThat(resumed).isCompleted();
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().stalls()).isEqualTo(1);
    }

    @Test
    void twentyStallsInARow_pinTheBlockOnceMore() {
        harness.stored(1, 2);
        assertThat(harness.hold(Duration.ofHours(1), 1, 2).state()).isEqualTo(HoldState.HELD);
        int pins = 0;
        for (int stall = 0; stall < 20; stall++) {
            harness.readings(0, 3);
            harness.settle();
            harness.now += StallWatch.STANDSTILL_NANOS;
            harness.readings(0, 3);
            harness.settle();
            assertThat(harness.engine.pins).isEmpty();
            harness.now += 100_000_000;
            harness.readings(1, 0);
            harness.settle();
        }
        for (String line : harness.takeLog()) {
            pins += line.startsWith("pin ") ? 1 : 0;
        }
        assertThat(pins).isEqualTo(1);
        assertThat(harness.controller.view().stalls()).isEqualTo(20);
        assertThat(harness.holdNow(1).reason()).contains("stall number 20");
    }

    @Test
    void pinsOfOthers_narrowTheGuardUntilTheCacheIsCleared() {
        harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 6_000, 0, 0, harness.now));
        harness.now += 5_000_000_000L;
        harness.settle();
        assertThat(harness.controller.view().budget().foreignTokens())
                .as("which may be a prompt that does not run yet")
                .isZero();
        harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 6_000, 0, 0, harness.now));
        harness.now += 100_000_000;
        harness.settle();
        Budget budget = harness.controller.view().budget();
        assertThat(budget.foreignTokens()).isEqualTo(6_000);
        assertThat(budget.hardTokens()).isEqualTo(10_000 - 1_100 - 132 - 6_000);
        assertThat(harness.controller.view().alarms())
                .extracting(Budget.Alarm::kind)
                .containsExactly(Budget.AlarmKind.FOREIGN_PINS);
        harness.cleared();
        harness.settle();
        assertThat(harness.controller.view().budget().foreignTokens())
                .as("before the engine was asked again")
                .isZero();
    }

    @Test
    void implausibleReadings_areUnknownAndPinNothing() {
        harness.controller.readings(Samples.readings(10_000, 0, 9_000, 0, 0, 0, 0, 0, harness.now));
        harness.now += 100_000_000;
        harness.settle();
        harness.stored(1, 2);
        assertThat(harness.controller.view().readings().blockTokens()).isInstanceOf(Reading.Unknown.class);
        assertThat(harness.controller.view().budget().hardTokens()).isZero();
    }

    @Test
    void largerPromptSeen_holdsThatNoLongerFitAreLetGo() {
        harness.stored(LongStream.range(1, 501).toArray());
        // 10000 - 8000 seen - 100 - 132 leaves 1768 tokens: 110 blocks.
        long[] small = LongStream.range(1_000, 1_110).toArray();
        harness.stored(small);
        HoldView held = harness.hold(small);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        harness.removed(LongStream.range(1, 501).toArray());
        harness.stored(LongStream.range(5_000, 5_501).toArray());
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.holdNow(held.id()).reason()).startsWith("released: the pins exceed the bound: ");
    }

    @Test
    void readingsStale_keepWhatIsHeldAndPinNothingNew() {
        harness.stored(1, 2);
        harness.stored(3, 4);
        HoldView held = harness.hold(1, 2);
        harness.now += 11 * ControllerHarness.SECOND;
        HoldView waiting = harness.hold(3, 4);
        assertThat(waiting.reason()).startsWith("nothing new is pinned: the reading capacityTokens is 11 s old");
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void blockTokens_notExported_comeFromTheEvents() {
        harness.controller.readings(Samples.with(
                Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, 0, harness.now),
                "blockTokens",
                Reading.unknown("not exported")));
        harness.stored(1, 2);
        assertThat(harness.hold(1, 2).heldTokens()).isEqualTo(32);
    }

    @Test
    void view_beforeAnyEvent_isUncertainAndSaysWhy() {
        assertThat(harness.controller.view().certain()).isFalse();
        assertThat(harness.controller.view().certainty()).startsWith("no event was seen yet");
        assertThat(harness.controller.view().incarnation()).isEqualTo(1);
    }

    @Test
    void view_firstBatchIsNumberZero_isCertain() {
        harness.stored(1);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.controller.view().certain()).isTrue();
        assertThat(harness.controller.view().blocks()).isEqualTo(1);
    }

    @Test
    void view_joinedLate_isUncertainUntilAClearAndHoldsWhatItSaw() {
        harness.controller.events().gap(new Gap(Gap.Cause.JOINED_LATE, 0, 17));
        harness.controller.events().batchStarted(17, 0);
        harness.controller.events().stored(ControllerHarness.chain(1, 2));
        harness.controller.events().batchEnded();
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().certain()).isFalse();
        assertThat(harness.controller.view().certainty()).startsWith("joined late: the first batch seen was number 17");
        harness.cleared();
        harness.settle();
        assertThat(harness.controller.view().certain()).isTrue();
    }

    @Test
    void joinedLate_chainUnderAnUnannouncedBlock_measuredPromptsAreNotTrustedForAnHour() {
        ControllerHarness own = ControllerHarness.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.measured(100)), "--context-length"),
                AutomaticHolds.OFF,
                Duration.ofSeconds(60),
                ControllerSettings.LEAST_SAVING,
                Duration.ofMillis(100),
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                Optional.of(EffectSettings.DEFAULTS)));
        for (long block = 1; block <= 200; block++) {
            own.stored(block);
        }
        own.pass(Duration.ofMillis(100));
        assertThat(own.controller.view().budget().hardTokens()).isEqualTo(10_000 - 32 - 100 - 132);
        own.storedUnder(5_000, 5_001);
        own.pass(Duration.ofMillis(100));
        assertThat(own.controller.view().budget().hardTokens()).isEqualTo(10_000 - 9_000 - 132);
    }

    @Test
    void restart_seenFromItsMiddle_isUncertainAndHoldsWhatItSaw() {
        harness.stored(1, 2);
        harness.controller.events().restarted(3);
        harness.controller.events().batchStarted(3, 0);
        harness.controller.events().stored(ControllerHarness.chain(8, 9));
        harness.controller.events().batchEnded();
        harness.settle();
        EngineView view = harness.controller.view();
        assertThat(view.certain()).isFalse();
        assertThat(view.certainty())
                .contains("another life")
                .contains("number 3")
                .contains("heals");
        assertThat(view.blocks()).isEqualTo(2);
        assertThat(harness.hold(8, 9).state()).isEqualTo(HoldState.HELD);
        harness.controller.events().restarted(0);
        harness.settle();
        assertThat(harness.controller.view().certain()).isTrue();
    }

    @Test
    void gap_saysWhatCausedIt() {
        harness.stored(1);
        assertThat(certaintyAfter(Gap.Cause.DROPPED, 5, 9)).startsWith("batches 5 to 8 were lost, dropped on the way");
        assertThat(certaintyAfter(Gap.Cause.DROPPED, 9, 9)).startsWith("batches from number 9 on may be lost");
        assertThat(certaintyAfter(Gap.Cause.DISCONNECTED, 5, 9))
                .startsWith("batches 5 to 8 were lost with the connection");
        assertThat(certaintyAfter(Gap.Cause.DISCONNECTED, 9, 9)).startsWith("the connection was lost before batch 9");
    }

    private String certaintyAfter(Gap.Cause cause, long expected, long seen) {
        harness.controller.events().gap(new Gap(cause, expected, seen));
        harness.pass(Duration.ofMillis(100));
        return harness.controller.view().certainty();
    }

    @Test
    void gap_keepsPinsAndPinsOnlyWhatWasStoredSince() throws Exception {
        harness.stored(1, 2);
        harness.stored(7, 8);
        long id = harness.hold(1, 2).id();
        harness.controller.events().gap(new Gap(Gap.Cause.DROPPED, 5, 9));
        harness.stored(3, 4);
        assertThat(harness.hold(7, 8).state()).isEqualTo(HoldState.REQUESTED);
        assertThat(harness.hold(3, 4).state()).isEqualTo(HoldState.HELD);
        EngineView view = harness.controller.view();
        assertThat(view.certain()).isFalse();
        assertThat(view.incarnation()).isEqualTo(2);
        assertThat(view.counters().gaps()).isEqualTo(1);
        assertThat(view.counters().lostBatches()).isEqualTo(4);
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.disk.outstanding()).hasSize(2);
        harness.controller.release(id);
        harness.settle();
        assertThat(harness.engine.pins).containsOnlyKeys(4L);
    }

    @Test
    void gap_healedByAClear_pinsAgain() {
        harness.stored(1);
        harness.controller.events().gap(new Gap(Gap.Cause.DROPPED, 5, 9));
        harness.cleared();
        harness.stored(3, 4);
        assertThat(harness.hold(3, 4).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().certain()).isTrue();
    }

    @Test
    void clear_holdsAreLostAndTheirPinsUnpinnedAllTheSame() throws Exception {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        HoldView waiting = harness.hold(8, 9);
        harness.takeLog();
        harness.engine.pins.clear();
        harness.cleared();
        harness.settle();
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.LOST);
        assertThat(harness.holdNow(waiting.id()).state()).isEqualTo(HoldState.REQUESTED);
        assertThat(harness.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
        assertThat(harness.disk.outstanding()).isEmpty();
        assertThat(harness.controller.view().incarnation()).isEqualTo(2);
        assertThat(harness.controller.view().counters().clears()).isEqualTo(1);
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void clear_whileAPinIsUnderWay_takesItBack() {
        harness.stored(1, 2);
        var asked = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        harness.cleared();
        harness.settle();
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(asked.join().state()).isEqualTo(HoldState.REQUESTED);
    }

    @Test
    void restart_thenItsClear_isOneNewLifeAndProbesAgain() {
        harness.stored(1, 2);
        harness.hold(1, 2);
        harness.controller.events().restarted(0);
        harness.cleared();
        harness.settle();
        EngineView view = harness.controller.view();
        assertThat(view.incarnation()).isEqualTo(2);
        assertThat(view.certain()).isTrue();
        assertThat(view.counters().restarts()).isEqualTo(1);
        assertThat(view.blocks()).isZero();
        assertThat(view.holds()).extracting(HoldView::state).containsExactly(HoldState.LOST);
        assertThat(harness.engine.probes).isEqualTo(2);
    }

    @Test
    void restart_nothingIsPinnedBeforeTheNewProcessWasProbed() {
        harness.controller.events().restarted(0);
        harness.cleared();
        harness.stored(1, 2);
        harness.engine.capabilities = new Capabilities(false, "an older version");
        var unused = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        assertThat(harness.holdNow(1).reason()).isEqualTo("the backend test was not probed yet");
        harness.settle();
        assertThat(harness.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.holdNow(1).reason()).isEqualTo("this engine cannot pin: an older version");
        assertThat(harness.takeLog()).isEmpty();
    }

    @Test
    void request_nothingKnownInTime_isWithdrawnAndTakenBack() throws Exception {
        harness.stored(1, 2);
        harness.engine.late = true;
        HoldRequest request = new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(5));
        var asked = harness.controller.request(request, Duration.ofSeconds(10)).toCompletableFuture();
        harness.settle();
        harness.pass(Duration.ofSeconds(9));
        assertThat(asked).isNotDone();
        harness.pass(Duration.ofSeconds(1));
        assertThat(asked.exceptionNow()).hasMessageContaining("so the hold is withdrawn");
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void answers_areCompletedAwayFromTheControllersThread() {
        var resumed = harness.controller.resumeHolding().toCompletableFuture();
        var unknown = harness.controller.release(99).toCompletableFuture();
        harness.controller.poll(harness.now);
        assertThat(resumed).isNotDone();
        assertThat(unknown).isNotDone();
        harness.settle();
        assertThat(resumed).isDone();
        assertThat(unknown).isDone();

        harness.controller.releaseAll("enough");
        harness.settle();
        var refused = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        assertThat(refused).isNotDone();
        harness.settle();
        assertThat(refused).isCompletedExceptionally();
    }

    @Test
    void pinnedBlockRemoved_holdIsLostAndUnpinnedToBeSure() throws Exception {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.engine.pins.clear();
        harness.removed(2);
        harness.settle();
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.LOST);
        assertThat(harness.holdNow(id).reason()).startsWith("the engine removed it although it was pinned; ");
        assertThat(harness.disk.outstanding()).isEmpty();
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void removals_ofUnknownBlocks_areCountedWhileCertain() {
        harness.stored(1, 2);
        harness.removed(2, 77);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.controller.view().counters().removedBlocks()).isEqualTo(2);
        assertThat(harness.controller.view().counters().removedUnknown()).isEqualTo(1);
        assertThat(harness.controller.view().ghosts()).isEqualTo(1);
    }

    @Test
    void automatic_sharedPrefixLostAndBack_isHeldForThreeOfItsGaps() {
        ControllerHarness own = ControllerHarness.ready(AUTOMATIC);
        shareAndLose(own);
        assertThat(own.controller.view().holds()).isEmpty();
        own.stored(1, 2, 34);
        own.pass(Duration.ofMillis(100));
        HoldView hold = own.holdNow(1);
        assertThat(hold.origin()).isEqualTo(HoldOrigin.AUTOMATIC);
        assertThat(hold.state()).isEqualTo(HoldState.HELD);
        assertThat(hold.heldTokens()).isEqualTo(32);
        assertThat(hold.beyondTokens()).isEqualTo(16);
        assertThat(hold.reason()).startsWith("shared by 4 requests and lost once");

        own.pass(Duration.ofSeconds(50));
        own.storedUnder(2, 35);
        own.pass(Duration.ofSeconds(50));
        assertThat(own.holdNow(1).state()).as("touched by another text").isEqualTo(HoldState.HELD);
        own.pass(Duration.ofSeconds(99));
        assertThat(own.holdNow(1).state())
                .as("used every 50 s, so for 150 s and not for the 60 s of automaticLease")
                .isEqualTo(HoldState.HELD);
        own.pass(Duration.ofSeconds(2));
        assertThat(own.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(own.holdNow(1).reason())
                .isEqualTo("not used for 150 s, as long as an automatic hold of this prefix lasts");
        assertThat(own.engine.pins).isEmpty();
    }

    @Test
    void automatic_byDefault_isOffWherePinsTakeMemory_andOnWhereTheEngineCanEvictThem() {
        ControllerHarness hard = byDefault(BackendTraits.hard().needing(Need.INSERTION_END));
        assertThat(hard.controller.view().automatic().on()).isFalse();
        assertThat(hard.controller.view().holds()).isEmpty();
        ControllerHarness soft = byDefault(BackendTraits.soft().needing(Need.INSERTION_END));
        assertThat(soft.controller.view().automatic().on()).isTrue();
        assertThat(soft.controller.view().holds()).singleElement().satisfies(hold -> {
            assertThat(hold.origin()).isEqualTo(HoldOrigin.AUTOMATIC);
            assertThat(hold.state()).isEqualTo(HoldState.HELD);
        });
    }

    private static ControllerHarness byDefault(BackendTraits traits) {
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.traits = traits;
        ControllerHarness own =
                new ControllerHarness(ControllerSettings.defaults("e"), new ControllerHarness.Disk(), engine);
        own.idle();
        own.settle();
        shareAndLose(own);
        own.stored(1, 2, 34);
        own.pass(Duration.ofMillis(100));
        return own;
    }

    @Test
    void automatic_pathThatHeldItIsRemoved_endsAsLost() {
        ControllerHarness own = ControllerHarness.ready(AUTOMATIC);
        shareAndLose(own);
        own.stored(1, 2, 34);
        own.pass(Duration.ofMillis(100));
        own.engine.pins.clear();
        own.removed(34);
        own.settle();
        assertThat(own.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(own.holdNow(1).reason()).startsWith("lost: the engine removed it although it was pinned");
    }

    @Test
    void clear_automaticHoldsEndAndSoDoThoseThatExpire() {
        ControllerHarness own = ControllerHarness.ready(AUTOMATIC);
        shareAndLose(own);
        own.stored(1, 2, 34);
        own.stored(5, 6);
        own.pass(Duration.ofMillis(100));
        long expiring = own.hold(5, 6).id();
        own.engine.late = true;
        own.controller.release(expiring);
        own.settle();
        assertThat(own.holdNow(expiring).state()).isEqualTo(HoldState.EXPIRING);
        own.cleared();
        own.settle();
        assertThat(own.holdNow(expiring).reason()).isEqualTo("released on request");
        assertThat(own.holdNow(1).reason()).isEqualTo("lost: the engine emptied its cache, and with it the pins");
        assertThat(own.controller.view().holds()).extracting(HoldView::state).containsOnly(HoldState.RELEASED);
    }

    @Test
    void automatic_heldLongAfterItWasPassed_staysForItsLease() {
        ControllerHarness own = ControllerHarness.ready(AUTOMATIC);
        shareAndLose(own);
        own.engine.hindrance = Optional.of("the engine is busy");
        own.stored(1, 2, 34);
        own.pass(Duration.ofSeconds(50));
        own.engine.hindrance = Optional.empty();
        own.pass(Duration.ofMillis(100));
        own.pass(Duration.ofSeconds(30));
        assertThat(own.holdNow(1).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void releaseOn_endsAnAutomaticHold_untilItsPrefixIsUsedAgain() {
        ControllerHarness own = ControllerHarness.ready(AUTOMATIC);
        shareAndLose(own);
        own.stored(1, 2, 34);
        own.pass(Duration.ofMillis(100));
        assertThat(own.holdNow(1).state()).isEqualTo(HoldState.HELD);

        CompletableFuture<GivenBack> given = own.controller
                .releaseOn(new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(1)), Set.of())
                .toCompletableFuture();
        own.settle();
        assertThat(given.join().evictableTokens()).isEqualTo(48);
        assertThat(own.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        own.pass(Duration.ofSeconds(20));
        assertThat(own.engine.pins).as("it is not held anew at once").isEmpty();

        own.storedUnder(2, 36);
        own.pass(Duration.ofSeconds(1));
        assertThat(own.engine.pins).isNotEmpty();
    }

    @Test
    void releaseOn_leavesWhatIsToBeKept_andTellsIt() {
        harness.stored(1, 2, 3);
        long kept = harness.hold(Duration.ofHours(1), 1, 2).id();
        long other = harness.hold(Duration.ofHours(1), 1, 2, 3).id();

        CompletableFuture<GivenBack> given = harness.controller
                .releaseOn(new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(1)), Set.of(kept))
                .toCompletableFuture();
        harness.settle();

        assertThat(given.join().ended()).extracting(HoldView::id).containsExactly(other);
        assertThat(given.join().wanted()).extracting(HoldView::id).containsExactly(kept);
        assertThat(harness.holdNow(kept).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void requesterWithoutAName_endsNobodysHolds() {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofHours(1), 1, 2).id();

        CompletableFuture<GivenBack> all = harness.controller.releaseOf("").toCompletableFuture();
        CompletableFuture<GivenBack> over = harness.controller
                .over(new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(1)), "")
                .toCompletableFuture();
        harness.settle();

        assertThat(List.of(all.join(), over.join())).allSatisfy(given -> {
            assertThat(given.ended()).isEmpty();
            assertThat(given.wanted()).isEmpty();
        });
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void holdBeyondWhatTheEngineLetsBeHeld_waits() {
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.traits = BackendTraits.soft();
        engine.capabilities = new Capabilities(true, "test").upTo(40);
        ControllerHarness own = new ControllerHarness(ControllerHarness.SETTINGS, new ControllerHarness.Disk(), engine);
        own.idle();
        own.settle();
        own.stored(1, 2, 3);
        assertThat(own.ask(1, 2, 3)).isNotDone();
        own.settle();
        assertThat(own.holdNow(1).reason())
                .startsWith("no room: 0 tokens are pinned, it needs 48 more, and the bound is 40:");
    }

    @Test
    void releaseFromACacheWithOtherTiers_isNotMeasured() {
        harness.stored(1, 2);
        harness.batch(() ->
                harness.controller.events().stored(ControllerHarness.chain(7).in(Tier.HOST)));
        releasedUnmeasured("the engine keeps blocks in other tiers as well, from where they come back");
    }

    @Test
    void releaseFromACacheThatIsKnownInPart_isNotMeasured() {
        harness.controller.events().gap(new Gap(Gap.Cause.JOINED_LATE, 0, 17));
        harness.stored(1, 2);
        releasedUnmeasured("what the engine's cache has is not known exactly: ");
    }

    private void releasedUnmeasured(String why) {
        harness.hold(Duration.ofHours(1), 1, 2);
        CompletableFuture<GivenBack> given = harness.controller
                .releaseOn(new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(1)), Set.of())
                .toCompletableFuture();
        harness.settle();
        assertThat(given.join().evictableTokens()).isEqualTo(32);
        assertThat(harness.controller.view().released()).satisfies(told -> {
            assertThat(told.unmeasured()).isEqualTo(1);
            assertThat(told.foundTokens().number()).isEmpty();
            assertThat(told.why()).startsWith(why);
        });
    }

    @Test
    void giveBack_ofAnAutomaticHold_isHeardAndNotHeldAnew_andCountsOnceTheEngineAnswered() {
        ControllerHarness own = ControllerHarness.ready(AUTOMATIC);
        List<HoldView> heard = new ArrayList<>();
        own.controller.onGivenBack(heard::add);
        shareAndLose(own);
        own.stored(1, 2, 34);
        own.pass(Duration.ofMillis(100));
        own.engine.late = true;

        CompletableFuture<GivenBack> given =
                own.controller.giveBack(1, "its session was released").toCompletableFuture();
        own.settle();
        assertThat(given).isNotDone();
        assertThat(heard).extracting(HoldView::id).containsExactly(1L);
        assertThat(heard).extracting(HoldView::state).containsExactly(HoldState.EXPIRING);
        own.pass(Duration.ofMillis(100));
        assertThat(own.controller.view().released().tokens()).isZero();

        own.engine.late = false;
        own.engine.unanswered.remove().run();
        own.settle();
        assertThat(given.join().evictableTokens()).isEqualTo(48);
        own.pass(Duration.ofSeconds(20));
        assertThat(own.engine.pins).as("it is not held anew at once").isEmpty();
        assertThat(own.controller.view().released().tokens()).isEqualTo(48);
        assertThat(own.controller.view().released().why()).isEmpty();

        own.cleared();
        own.pass(Duration.ofMillis(100));
        assertThat(own.controller.view().released().why()).isEqualTo("the engine emptied its cache");
    }

    @Test
    void lostHold_whosePinTheEngineDoesNotHave_isLostStill() {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofHours(1), 1, 2).id();
        harness.engine.pins.clear();
        harness.cleared();
        harness.settle();
        harness.engine.pinAnswers.add(Outcome.Kind.MISSING);
        harness.stored(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.LOST);
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void request_prefixThatOnlyBeganTexts_isHeldByTheShortestOfThem() {
        harness.stored(1, 2, 31, 41);
        harness.storedUnder(2, 32);
        HoldView held = harness.hold(1, 2);
        assertThat(held.heldBlocks()).isEqualTo(2);
        assertThat(held.beyondTokens()).isEqualTo(16);
        assertThat(harness.engine.pins).containsOnlyKeys(32L);
    }

    @Test
    void request_clippedAtFirst_isHeldWholeWhenATextGoesOnFromIt() {
        harness.stored(1, 2);
        harness.storedUnder(2, 3, 4);
        harness.removed(4);
        long id = harness.hold(1, 2, 3).id();
        assertThat(harness.holdNow(id).heldBlocks()).isEqualTo(2);
        harness.storedUnder(3, 41);
        harness.pass(Duration.ofMillis(100));
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).heldBlocks()).isEqualTo(3);
        assertThat(harness.engine.pins).containsOnlyKeys(41L);
    }

    @Test
    void prefixThatIsGone_isSentAloneAndHeldAndTeachesNothing() {
        harness.stored(8);
        harness.removed(8);
        long id = askWithTokens(1, 2);
        assertThat(harness.own)
                .singleElement()
                .satisfies(tokens -> assertThat(tokens).hasSize(32));
        harness.stored(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(id).beyondTokens()).isZero();
        assertThat(harness.controller.view().budget().terms())
                .as("its own prompt is none of the users', who sent one of one block")
                .anySatisfy(term -> assertThat(term.why()).contains("8 x 16, which nine of ten prompts need"));
    }

    @Test
    void prefixSentInVain_waitsAMinuteAndSaysWhy() {
        harness.stored(8);
        harness.ownAnswer = new Outcome(Outcome.Kind.REJECTED, "The engine refused with HTTP 400: no.");
        long id = askWithTokens(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).reason())
                .isEqualTo("sent by the sidecar without success: The engine refused with HTTP 400: no.");
        harness.pass(Duration.ofSeconds(59));
        assertThat(harness.own).hasSize(1);
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.own).hasSize(2);
    }

    @Test
    void ownRequests_areAtMostTwelveAnHour() {
        harness.stored(8);
        harness.ownAnswer = new Outcome(Outcome.Kind.NOT_SENT, "nothing listens");
        long id = askWithTokens(1, 2);
        for (int minute = 0; minute < 40; minute++) {
            harness.pass(Duration.ofSeconds(61));
        }
        assertThat(harness.own).hasSize(12);
        assertThat(harness.holdNow(id).reason())
                .endsWith("the sidecar has sent 12 requests of its own within an hour, which is the most");
        for (int minute = 0; minute < 21; minute++) {
            harness.pass(Duration.ofSeconds(61));
        }
        assertThat(harness.own).hasSizeGreaterThan(12);
    }

    @Test
    void prefixWhoseSendingMayHaveHurtTheEngine_isNeverSentAgain() {
        harness.stored(8);
        harness.ownAnswer = new Outcome(Outcome.Kind.DEFERRED, "/generate broke off without an answer.");
        long id = askWithTokens(1, 2);
        harness.pass(Duration.ofMillis(100));
        harness.pass(Duration.ofHours(2));
        assertThat(harness.own).hasSize(1);
        assertThat(harness.holdNow(id).reason())
                .isEqualTo("sent by the sidecar without success: /generate broke off without an answer.");
    }

    @Test
    void prefixAfterARestart_isNotSentBeforeTheModelCanBeKnown() {
        harness.stored(8);
        harness.controller.events().restarted(0);
        harness.stored(9);
        harness.pass(Duration.ofMillis(100));
        long id = askWithTokens(1, 2);
        harness.pass(Duration.ofSeconds(29));
        assertThat(harness.own).isEmpty();
        assertThat(harness.holdNow(id).reason()).contains("may serve another model");
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.own).hasSize(1);
    }

    @Test
    void prefixThatMayBeThereUnseen_isNotSent() {
        harness.controller.events().gap(new Gap(Gap.Cause.DROPPED, 3, 5));
        long id = askWithTokens(1, 2);
        assertThat(harness.own).isEmpty();
        assertThat(harness.holdNow(id).reason()).endsWith("since it may be in the cache unseen");
    }

    @Test
    void prefixSentAndNotSeen_isInVainFiveSecondsLater() {
        harness.stored(8);
        long id = askWithTokens(1, 2);
        HoldRequest other = new HoldRequest(new long[] {3, 4}, new int[32], Duration.ofHours(3));
        harness.controller.request(other);
        harness.pass(Duration.ofSeconds(4));
        assertThat(harness.own).as("one at a time").hasSize(1);
        assertThat(harness.holdNow(id).reason())
                .endsWith("another prefix is being stored by a request of the sidecar's own");
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.holdNow(id).reason())
                .startsWith("sent by the sidecar without success: the engine" + " answered, and its events");
        assertThat(harness.own).hasSize(2);
    }

    @Test
    void requestsOfUsers_whileOneOfOursIsUnderWay_teach() {
        harness.stored(8);
        askWithTokens(1, 2);
        for (long user = 100; user < 110; user++) {
            harness.stored(user, user + 1_000);
        }
        harness.pass(Duration.ofMillis(100));
        assertReserveOf(32);
    }

    @Test
    void prefixSentInVain_thatAUserStores_isHeldAtOnce() {
        harness.stored(8);
        harness.ownAnswer = new Outcome(Outcome.Kind.REJECTED, "The engine refused with HTTP 400: no.");
        long id = askWithTokens(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).reason()).startsWith("sent by the sidecar without success");
        harness.stored(1, 2, 31);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void prefix_isNotSentWhileNobodyKnowsWhetherRequestsWait_andSaysWhy() {
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.traits = BackendTraits.soft().needing(Need.INSERTION_END);
        ControllerHarness soft =
                new ControllerHarness(ControllerSettings.defaults("e"), new ControllerHarness.Disk(), engine);
        soft.idle();
        soft.settle();
        soft.stored(8);
        soft.controller.readings(Samples.readings(10_000, 16, 9_000, 2, 0, 0, 0, 0, soft.now)
                .but()
                .waitingRequests(Reading.unknown("/metrics is not served"))
                .build());
        soft.settle();
        long id = askWithTokens(soft, 1, 2);
        assertThat(soft.own).isEmpty();
        assertThat(soft.holdNow(id).reason()).endsWith("whether requests wait: /metrics is not served");
    }

    @Test
    void prefix_isNotSentWhileRequestsWait() {
        harness.stored(8);
        harness.readings(2, 3);
        harness.settle();
        long id = askWithTokens(1, 2);
        assertThat(harness.own).isEmpty();
        assertThat(harness.holdNow(id).reason()).endsWith("while requests wait");
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.own).hasSize(1);
    }

    @Test
    void prefixSent_thatAUsersTextStored_isHeldByThat() {
        harness.stored(8);
        long id = askWithTokens(1, 2);
        harness.stored(1, 2, 31);
        harness.pass(Duration.ofMillis(100));
        harness.pass(Duration.ofSeconds(6));
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.takeLog()).containsOnlyOnce("pin 31").doesNotContain("unpin 31");
    }

    @Test
    void reserve_isBesideWhatIsHeldOrAboutToBe() {
        harness.stored(1, 2, 31);
        for (long text = 32; text < 42; text++) {
            harness.storedUnder(2, text);
        }
        harness.removed(LongStream.rangeClosed(31, 41).toArray());
        harness.removed(2, 1);
        harness.hold(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertReserveOf(48);
        harness.engine.late = true;
        harness.stored(1, 2, 42);
        harness.pass(Duration.ofMillis(100));
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(1).state()).isEqualTo(HoldState.REQUESTED);
        assertReserveOf(16);
    }

    private void assertReserveOf(int tokens) {
        assertThat(harness.controller.view().budget().terms())
                .anySatisfy(
                        term -> assertThat(term.why()).contains("8 x " + tokens + ", which nine of ten prompts need"));
    }

    private long askWithTokens(long... blocks) {
        return askWithTokens(harness, blocks);
    }

    private static long askWithTokens(ControllerHarness harness, long... blocks) {
        HoldRequest request = new HoldRequest(blocks, new int[blocks.length * 16], Duration.ofHours(3));
        var asked = harness.controller.request(request).toCompletableFuture();
        harness.settle();
        return asked.join().id();
    }

    @Test
    void requestedHold_outlivesAFlushAndIsHeldAgain() throws Exception {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofHours(1), 1, 2).id();
        harness.engine.pins.clear();
        harness.cleared();
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.LOST);
        assertThat(harness.holdNow(id).reason())
                .startsWith("the engine emptied its cache, and with it the pins; not in the cache as a whole:");
        harness.stored(1, 2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(id).reason())
                .endsWith("pin ACCEPTED. It was lost before: the engine emptied its cache, and with it the pins");
        assertThat(harness.holdNow(id).timesLost()).isEqualTo(1);
        assertThat(harness.engine.pins).containsOnlyKeys(2L);
        harness.pass(Duration.ofHours(1));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void requestedHold_afterARestart_waitsForReadingsOfTheNewProcess() {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofHours(1), 1, 2).id();
        harness.engine.pins.clear();
        harness.controller.events().restarted(0);
        harness.stored(1, 2);
        harness.pass(Duration.ofMillis(1_900));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.LOST);
        harness.pass(Duration.ofMillis(200));
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void engineLetGoByItself_isSeenAtTheThirdLookAtRest() throws Exception {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofHours(1), 1, 2).id();
        rest(10, 32);
        harness.engine.pins.clear();
        for (int look = 1; look <= 3; look++) {
            assertThat(harness.holdNow(id).state()).as("before look %d", look).isEqualTo(HoldState.HELD);
            rest(10 + look, 0);
        }
        assertThat(harness.holdNow(id).timesLost()).isEqualTo(1);
        assertThat(harness.holdNow(id).reason())
                .contains("It was lost before: the engine, at rest, keeps 0 tokens where 32 were pinned, so it"
                        + " has released pins on its own");
        assertThat(harness.takeLog()).as("to be sure").contains("unpin 2");
    }

    @Test
    void engineThatKeepsWhatIsPinned_losesNothing() {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofHours(1), 1, 2).id();
        for (int look = 1; look <= 9; look++) {
            rest(10 + look, look % 3 == 0 ? 32 : 0);
        }
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.HELD);
    }

    /** A request was served, and nothing runs. */
    private void rest(int served, int usedTokens) {
        harness.now += ControllerHarness.SECOND;
        harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, usedTokens, 0, served, harness.now));
        harness.settle();
    }

    /** Three texts after one prefix, all of which the cache loses. */
    private static void shareAndLose(ControllerHarness harness) {
        harness.stored(1, 2, 31);
        harness.storedUnder(2, 32);
        harness.storedUnder(2, 33);
        harness.removed(33, 32, 31, 2, 1);
    }

    @Test
    void automatic_notAllowed_holdsNothing() {
        shareAndLose(harness);
        harness.stored(1, 2, 34);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.controller.view().holds()).isEmpty();
    }

    @Test
    void dryRun_goesTheWholeWayAndSaysSo() throws Exception {
        Controller dry = new Controller(
                ControllerHarness.SETTINGS,
                new DryRunBackend(),
                new ControllerHarness.Disk(),
                Runnable::run,
                new SplittableRandom(1));
        dry.poll(0);
        dry.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0));
        dry.events().batchStarted(0, 0);
        dry.events().stored(ControllerHarness.chain(1, 2));
        dry.events().batchEnded();
        var answer = dry.request(new HoldRequest(new long[] {1, 2}, Duration.ofSeconds(5)))
                .toCompletableFuture();
        dry.poll(1);
        dry.poll(2);
        assertThat(answer.join().state()).isEqualTo(HoldState.HELD);
        assertThat(answer.join().reason()).endsWith("dry run: would pin 2 blocks");
    }

    /** A controller with an automatic hold of 34, a requested one of 6, and one of 8 that may be let go to be measured. */
    private static ControllerHarness measuring() {
        ControllerHarness own = ControllerHarness.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
                AutomaticHolds.ON,
                Duration.ofHours(1),
                ControllerSettings.LEAST_SAVING,
                Duration.ofMillis(100),
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                Optional.of(EffectSettings.DEFAULTS.withWindow(Duration.ofSeconds(4)))));
        shareAndLose(own);
        own.stored(1, 2, 34);
        own.stored(5, 6);
        own.stored(7, 8);
        assertThat(own.ask(Duration.ofHours(1), 5, 6)).isNotNull();
        own.controller.request(new HoldRequest(new long[] {7, 8}, Duration.ofHours(1)).toBeMeasured());
        own.settle();
        assertThat(own.engine.pins).containsKeys(34L, 6L, 8L);
        return own;
    }

    /** Some seconds of traffic whose first tokens come so soon with holds, and in 0.2 s without. */
    private static void serve(ControllerHarness own, int seconds, double withHolds, Runnable each) {
        for (int second = 0; second < seconds; second++) {
            for (int request = 0; request < 30; request++) {
                own.controller.firstToken(FirstToken.of(own.engine.pins.containsKey(34L) ? withHolds : 0.2, 100));
            }
            own.pass(Duration.ofSeconds(1));
            each.run();
        }
    }

    @Test
    void offWindow_letsGoOfWhatMayBe_andTakesItBack() {
        ControllerHarness own = measuring();
        serve(
                own,
                7,
                0.2,
                () -> assertThat(own.engine.pins).as("steady at first").containsKeys(34L, 6L, 8L));
        int[] held = new int[1];
        serve(own, 40, 0.2, () -> {
            assertThat(own.engine.pins).as("never touched").containsKey(6L);
            assertThat(own.engine.pins.containsKey(34L)).as("both alike").isEqualTo(own.engine.pins.containsKey(8L));
            held[0] += own.engine.pins.containsKey(34L) ? 1 : 0;
        });
        assertThat(held[0])
                .as("half of the windows hold, and from their beginning")
                .isEqualTo(20);
    }

    @Test
    void holdsThatHelp_areProvenAndHeldNearlyAlways() {
        ControllerHarness own = measuring();
        serve(own, 60, 0.1, () -> {});
        TtftEffect effect = own.controller.view().ttft();
        assertThat(effect.state()).isEqualTo(TtftEffect.State.PROVEN);
        assertThat(effect.effectPercent().orElseThrow()).isCloseTo(-50, within(1.0));
        int[] off = new int[1];
        serve(own, 320, 0.1, () -> off[0] += own.engine.pins.containsKey(34L) ? 0 : 1);
        assertThat(own.controller.view().ttft().state()).isEqualTo(TtftEffect.State.PROVEN);
        assertThat(off[0]).as("of 80 windows of 4 s").isBetween(12, 20);
    }

    @Test
    void holdsThatHarm_areLetGoAndTriedAgainLater() {
        ControllerHarness own = measuring();
        serve(own, 60, 0.4, () -> {});
        TtftEffect effect = own.controller.view().ttft();
        assertThat(effect.state()).isEqualTo(TtftEffect.State.HARMFUL);
        assertThat(effect.nextTry()).isPresent();
        assertThat(own.engine.pins).containsOnlyKeys(6L);
        assertThat(own.controller.view().holds())
                .filteredOn(hold -> hold.state() == HoldState.REQUESTED)
                .isNotEmpty()
                .allSatisfy(hold -> assertThat(hold.reason()).startsWith("holds lengthen time to first token"));
        assertThat(own.controller.view().lastPlan().lines())
                .filteredOn(line -> line.action() == Plan.Action.WAIT)
                .extracting(Plan.Line::code)
                .containsOnly(Reason.HARMFUL);
        boolean[] again = new boolean[1];
        serve(own, 100, 0.4, () -> again[0] |= own.engine.pins.containsKey(34L));
        assertThat(again[0]).as("tried again").isTrue();
    }
}
