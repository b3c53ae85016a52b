package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.budget.StallWatch;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.Gap;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
            true,
            Duration.ofSeconds(60),
            Duration.ofMillis(100),
            Optional.empty());

    private final Bench bench = Bench.ready();

    @Test
    void request_prefixNotStored_waitsAndIsPinnedWhenSeenStored() {
        HoldView waiting = bench.hold(1, 2);
        assertThat(waiting.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(waiting.reason()).startsWith("not in the cache as a whole");
        bench.stored(1, 2);
        bench.pass(Duration.ofMillis(100));
        assertThat(bench.holdNow(waiting.id())).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.HELD);
            assertThat(hold.heldBlocks()).isEqualTo(2);
            assertThat(hold.heldTokens()).isEqualTo(32);
        });
    }

    @Test
    void request_clipped_saysSoAndWhatToDo() {
        bench.stored(1, 2);
        bench.storedUnder(2, 3, 4);
        HoldView held = bench.hold(1, 2, 3);
        assertThat(held.heldBlocks()).isEqualTo(2);
        assertThat(held.wantedBlocks()).isEqualTo(3);
        assertThat(held.reason()).startsWith("asked for; clipped: ").contains("send the prefix alone once");
        assertThat(bench.engine.pins).containsOnlyKeys(2L);
    }

    @Test
    void request_engineCannotPin_isRefusedWithItsWhy() {
        Bench stock = new Bench(Bench.SETTINGS, new Bench.Disk(), new Bench.Engine());
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
        stock.pass(Duration.ofSeconds(1));
        assertThat(stock.hold(1, 2).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void lease_over_unpins() {
        bench.stored(1, 2);
        HoldView held = bench.hold(1, 2);
        assertThat(held.leaseLeft()).isEqualTo(Duration.ofSeconds(60));
        bench.pass(Duration.ofSeconds(59));
        assertThat(bench.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(bench.holdNow(held.id()).leaseLeft()).isEqualTo(Duration.ofSeconds(1));
        bench.pass(Duration.ofSeconds(1));
        assertThat(bench.holdNow(held.id()).state()).isEqualTo(HoldState.RELEASED);
        assertThat(bench.holdNow(held.id()).reason()).isEqualTo("its lease of 60 s is over");
        assertThat(bench.engine.pins).isEmpty();
    }

    @Test
    void lease_overBeforeItWasEverPinned_ends() {
        HoldView waiting = bench.hold(1, 2);
        bench.pass(Duration.ofSeconds(61));
        assertThat(bench.holdNow(waiting.id()).state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void release_unknownHold_isEmpty() {
        var answer = bench.controller.release(99).toCompletableFuture();
        bench.settle();
        assertThat(answer.join()).isEmpty();
    }

    @Test
    void release_unpinDeferred_saysSoAndGoesOn() {
        bench.stored(1, 2);
        long id = bench.hold(1, 2).id();
        bench.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        var answer = bench.controller.release(id).toCompletableFuture();
        bench.settle();
        assertThat(answer.join().orElseThrow()).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.EXPIRING);
            assertThat(hold.reason()).startsWith("no clear answer to the unpin");
        });
        assertThat(bench.controller.view().pins().unsure()).isEqualTo(1);
        bench.takeLog();
        bench.served(32);
        assertThat(bench.holdNow(id).state()).as("it may still be there").isEqualTo(HoldState.EXPIRING);
        bench.served(0);
        assertThat(bench.takeLog()).as("what is gone is not asked for").containsExactly("write RELEASED 2 for 1");
        assertThat(bench.holdNow(id).state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void release_unpinRefused_saysThatItMayStayPinned() {
        bench.stored(1, 2);
        long id = bench.hold(1, 2).id();
        bench.engine.unpinAnswers.add(Outcome.Kind.REJECTED);
        var answer = bench.controller.release(id).toCompletableFuture();
        bench.settle();
        assertThat(answer.join().orElseThrow().reason()).startsWith("the engine refused the unpin");
        bench.pass(Duration.ofSeconds(1));
        assertThat(bench.controller.view().budget().pinnedTokens()).isEqualTo(32);
        assertThat(bench.holdNow(id)).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.EXPIRING);
            assertThat(hold.reason()).startsWith("the engine refused the unpin");
        });
        assertThat(bench.takeLog()).filteredOn("unpin 2"::equals).hasSize(1);

        var again = bench.controller.release(id).toCompletableFuture();
        bench.settle();
        assertThat(again.join().orElseThrow().state()).isEqualTo(HoldState.RELEASED);
        assertThat(bench.engine.pins).isEmpty();
    }

    @Test
    void releaseAll_unpinRefused_isPendingAndTheNextOneAsksAgain() throws Exception {
        bench.stored(1, 2);
        bench.stored(3, 4);
        bench.hold(1, 2);
        bench.hold(3, 4);
        bench.engine.unpinAnswers.add(Outcome.Kind.REJECTED);
        var answer = bench.controller.releaseAll("x").toCompletableFuture();
        bench.settle();
        assertThat(answer.join()).isEqualTo(new Released(1, 1));
        assertThat(bench.holdNow(1).state()).isEqualTo(HoldState.EXPIRING);
        assertThat(bench.disk.outstanding())
                .extracting(LedgerLine.Entry::lastBlock)
                .containsExactly(2L);

        var again = bench.controller.releaseAll("x").toCompletableFuture();
        bench.settle();
        assertThat(again.join()).isEqualTo(new Released(1, 0));
        assertThat(bench.engine.pins).isEmpty();
        assertThat(bench.disk.outstanding()).isEmpty();
    }

    @Test
    void blockRemovedWhileItsPinIsUnderWay_isNotHeld() throws Exception {
        bench.stored(1, 2);
        bench.engine.late = true;
        var asked = bench.ask(1, 2);
        bench.settle();
        bench.removed(2);
        bench.pass(Duration.ofMillis(100));
        bench.engine.late = false;
        bench.engine.unanswered.remove().run();
        bench.settle();
        assertThat(asked.join().state()).isNotEqualTo(HoldState.HELD);
        assertThat(bench.holdNow(1)).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.LOST);
            assertThat(hold.reason()).isEqualTo("the engine removed a part of it while its pin was under way");
        });
        assertThat(bench.engine.pins).isEmpty();
        assertThat(bench.disk.outstanding()).isEmpty();
    }

    @Test
    void holds_moreThanMayLive_oneMoreIsRefusedWithASentence() {
        List<CompletableFuture<HoldView>> asked = new ArrayList<>();
        for (int i = 0; i < Holds.MOST_LIVING; i++) {
            asked.add(bench.ask(1, 2));
        }
        bench.settle();
        assertThat(asked).allSatisfy(hold -> assertThat(hold.join().state()).isEqualTo(HoldState.REQUESTED));
        var oneMore = bench.ask(1, 2);
        bench.settle();
        assertThatThrownBy(oneMore::join)
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessage("Engine e has 1024 holds, which is the most: release one first.");
        bench.controller.release(1);
        bench.settle();
        assertThat(bench.hold(1, 2).state()).isEqualTo(HoldState.REQUESTED);
    }

    @Test
    void releaseAll_unpinsSuspendsAndResumes() {
        bench.stored(1, 2);
        bench.stored(3, 4);
        bench.hold(1, 2);
        bench.hold(3, 4);
        bench.hold(5, 6);
        var answer = bench.controller.releaseAll("shutting down").toCompletableFuture();
        bench.settle();
        assertThat(answer.join()).isEqualTo(new Released(3, 0));
        assertThat(bench.engine.pins).isEmpty();
        var refused = bench.ask(1, 2);
        bench.settle();
        assertThatThrownBy(refused::join).hasMessageContaining("paused: shutting down");
        var resumed = bench.controller.resumeHolding().toCompletableFuture();
        bench.settle();
        assertThat(resumed.join()).isTrue();
        assertThat(bench.hold(1, 2).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void releaseAll_engineDoesNotAnswer_completesAndLeavesTheEntry() throws Exception {
        bench.stored(1, 2);
        bench.hold(1, 2);
        bench.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        var answer = bench.controller.releaseAll("shutting down").toCompletableFuture();
        bench.settle();
        assertThat(answer.join()).isEqualTo(new Released(0, 1));
        assertThat(bench.disk.outstanding())
                .extracting(LedgerLine.Entry::lastBlock)
                .containsExactly(2L);
    }

    @Test
    void releaseAll_nothingHeld_answersZero() {
        var answer = bench.controller.releaseAll("x").toCompletableFuture();
        bench.settle();
        assertThat(answer.join()).isEqualTo(new Released(0, 0));
    }

    @Test
    void mailbox_full_failsTheWishWithOneSentence() {
        List<CompletableFuture<HoldView>> asked = new ArrayList<>();
        for (int i = 0; i <= Mailbox.CAPACITY; i++) {
            asked.add(bench.ask(1, 2));
        }
        assertThat(asked.get(Mailbox.CAPACITY - 1)).isNotDone();
        assertThatThrownBy(() -> asked.get(Mailbox.CAPACITY).join())
                .isInstanceOf(CompletionException.class)
                .cause()
                .isInstanceOf(RejectedExecutionException.class)
                .hasMessage("The controller of engine e has 1024 requests waiting: ask again later.");
        bench.settle();
        assertThat(asked.get(0)).isDone();
    }

    @Test
    void mail_wakesTheOwner() {
        int[] woken = {0};
        bench.controller.onMail(() -> woken[0]++);
        bench.idle();
        assertThat(woken[0]).isEqualTo(1);
        bench.controller.release(1);
        assertThat(woken[0]).isEqualTo(2);
    }

    @Test
    void poll_nothingToDo_isZero() {
        bench.settle();
        assertThat(bench.controller.poll(bench.now)).isZero();
    }

    @Test
    void stalled_unpinsRequestedHolds_pinsAgainOnceItIsOver() {
        bench.stored(1, 2);
        HoldView held = bench.hold(1, 2);
        bench.readings(0, 3);
        bench.settle();
        assertThat(bench.engine.pins).isNotEmpty();
        bench.now += StallWatch.STANDSTILL_NANOS;
        bench.readings(0, 3);
        bench.settle();
        assertThat(bench.engine.pins).isEmpty();
        assertThat(bench.holdNow(held.id())).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.REQUESTED);
            assertThat(hold.reason()).startsWith("requests wait while nothing runs");
        });
        bench.now += 100_000_000;
        bench.readings(2, 3);
        bench.settle();
        assertThat(bench.holdNow(held.id()).reason()).startsWith("requests waited while nothing ran, stall number 1");
        assertThat(bench.controller.view().stalls()).isEqualTo(1);
        assertThat(bench.controller.view().alarms())
                .extracting(Budget.Alarm::kind)
                .containsExactly(Budget.AlarmKind.STALL);
        bench.pass(Duration.ofSeconds(30));
        assertThat(bench.engine.pins).isEmpty();
        CompletableFuture<Boolean> resumed = bench.controller.resumeHolding().toCompletableFuture();
        bench.settle();
        assertThat(resumed).isCompleted();
        assertThat(bench.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(bench.controller.view().stalls()).isEqualTo(1);
    }

    @Test
    void twentyStallsInARow_pinTheBlockOnceMore() {
        bench.stored(1, 2);
        assertThat(bench.hold(Duration.ofHours(1), 1, 2).state()).isEqualTo(HoldState.HELD);
        int pins = 0;
        for (int stall = 0; stall < 20; stall++) {
            bench.readings(0, 3);
            bench.settle();
            bench.now += StallWatch.STANDSTILL_NANOS;
            bench.readings(0, 3);
            bench.settle();
            assertThat(bench.engine.pins).isEmpty();
            bench.now += 100_000_000;
            bench.readings(1, 0);
            bench.settle();
        }
        for (String line : bench.takeLog()) {
            pins += line.startsWith("pin ") ? 1 : 0;
        }
        assertThat(pins).isEqualTo(1);
        assertThat(bench.controller.view().stalls()).isEqualTo(20);
        assertThat(bench.holdNow(1).reason()).contains("stall number 20");
    }

    @Test
    void pinsOfOthers_narrowTheGuardUntilTheCacheIsCleared() {
        bench.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 6_000, 0, 0, bench.now));
        bench.now += 100_000_000;
        bench.settle();
        Budget budget = bench.controller.view().budget();
        assertThat(budget.foreignTokens()).isEqualTo(6_000);
        assertThat(budget.hardTokens()).isEqualTo(10_000 - 1_100 - 132 - 6_000);
        assertThat(bench.controller.view().alarms())
                .extracting(Budget.Alarm::kind)
                .containsExactly(Budget.AlarmKind.FOREIGN_PINS);
        bench.cleared();
        bench.settle();
        assertThat(bench.controller.view().budget().foreignTokens())
                .as("before the engine was asked again")
                .isZero();
    }

    @Test
    void implausibleReadings_areUnknownAndPinNothing() {
        bench.controller.readings(Samples.readings(10_000, 0, 9_000, 0, 0, 0, 0, 0, bench.now));
        bench.now += 100_000_000;
        bench.settle();
        bench.stored(1, 2);
        assertThat(bench.controller.view().readings().blockTokens()).isInstanceOf(Reading.Unknown.class);
        assertThat(bench.controller.view().budget().hardTokens()).isZero();
    }

    @Test
    void largerPromptSeen_holdsThatNoLongerFitAreLetGo() {
        bench.stored(LongStream.range(1, 501).toArray());
        // 10000 - 8000 seen - 100 - 132 leaves 1768 tokens: 110 blocks.
        long[] small = LongStream.range(1_000, 1_110).toArray();
        bench.stored(small);
        HoldView held = bench.hold(small);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        bench.removed(LongStream.range(1, 501).toArray());
        bench.stored(LongStream.range(5_000, 5_501).toArray());
        bench.pass(Duration.ofMillis(100));
        assertThat(bench.engine.pins).isEmpty();
        assertThat(bench.holdNow(held.id()).reason()).startsWith("no room: ");
    }

    @Test
    void readingsStale_keepWhatIsHeldAndPinNothingNew() {
        bench.stored(1, 2);
        bench.stored(3, 4);
        HoldView held = bench.hold(1, 2);
        bench.now += 11 * Bench.SECOND;
        HoldView waiting = bench.hold(3, 4);
        assertThat(waiting.reason()).startsWith("nothing new is pinned: the reading capacityTokens is 11 s old");
        assertThat(bench.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void blockTokens_notExported_comeFromTheEvents() {
        bench.controller.readings(Samples.with(
                Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, 0, bench.now),
                "blockTokens",
                Reading.unknown("not exported")));
        bench.stored(1, 2);
        assertThat(bench.hold(1, 2).heldTokens()).isEqualTo(32);
    }

    @Test
    void view_beforeAnyEvent_isUncertainAndSaysWhy() {
        assertThat(bench.controller.view().certain()).isFalse();
        assertThat(bench.controller.view().certainty()).startsWith("no event was seen yet");
        assertThat(bench.controller.view().incarnation()).isEqualTo(1);
    }

    @Test
    void view_firstBatchIsNumberZero_isCertain() {
        bench.stored(1);
        bench.settle();
        assertThat(bench.controller.view().certain()).isTrue();
        assertThat(bench.controller.view().blocks()).isEqualTo(1);
    }

    @Test
    void view_joinedLate_isUncertainUntilAClearAndHoldsWhatItSaw() {
        bench.controller.events().gap(new Gap(Gap.Cause.JOINED_LATE, 0, 17));
        bench.controller.events().batchStarted(17, 0);
        bench.controller.events().stored(Bench.chain(1, 2));
        bench.controller.events().batchEnded();
        assertThat(bench.hold(1, 2).state()).isEqualTo(HoldState.HELD);
        assertThat(bench.controller.view().certain()).isFalse();
        assertThat(bench.controller.view().certainty()).startsWith("joined late: the first batch seen was number 17");
        bench.cleared();
        bench.settle();
        assertThat(bench.controller.view().certain()).isTrue();
    }

    @Test
    void joinedLate_chainUnderAnUnannouncedBlock_measuredPromptsAreNotTrustedForAnHour() {
        Bench own = Bench.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.measured(100)), "--context-length"),
                false,
                Duration.ofSeconds(60),
                Duration.ofMillis(100),
                Optional.empty()));
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
        bench.stored(1, 2);
        bench.controller.events().restarted(3);
        bench.controller.events().batchStarted(3, 0);
        bench.controller.events().stored(Bench.chain(8, 9));
        bench.controller.events().batchEnded();
        bench.settle();
        EngineView view = bench.controller.view();
        assertThat(view.certain()).isFalse();
        assertThat(view.certainty())
                .contains("another life")
                .contains("number 3")
                .contains("heals");
        assertThat(view.blocks()).isEqualTo(2);
        assertThat(bench.hold(8, 9).state()).isEqualTo(HoldState.HELD);
        bench.controller.events().restarted(0);
        bench.settle();
        assertThat(bench.controller.view().certain()).isTrue();
    }

    @Test
    void gap_saysWhatCausedIt() {
        bench.stored(1);
        assertThat(certaintyAfter(Gap.Cause.DROPPED, 5, 9)).startsWith("batches 5 to 8 were lost, dropped on the way");
        assertThat(certaintyAfter(Gap.Cause.DROPPED, 9, 9)).startsWith("batches from number 9 on may be lost");
        assertThat(certaintyAfter(Gap.Cause.DISCONNECTED, 5, 9))
                .startsWith("batches 5 to 8 were lost with the connection");
        assertThat(certaintyAfter(Gap.Cause.DISCONNECTED, 9, 9)).startsWith("the connection was lost before batch 9");
    }

    private String certaintyAfter(Gap.Cause cause, long expected, long seen) {
        bench.controller.events().gap(new Gap(cause, expected, seen));
        bench.pass(Duration.ofMillis(100));
        return bench.controller.view().certainty();
    }

    @Test
    void gap_keepsPinsAndPinsOnlyWhatWasStoredSince() throws Exception {
        bench.stored(1, 2);
        bench.stored(7, 8);
        long id = bench.hold(1, 2).id();
        bench.controller.events().gap(new Gap(Gap.Cause.DROPPED, 5, 9));
        bench.stored(3, 4);
        assertThat(bench.hold(7, 8).state()).isEqualTo(HoldState.REQUESTED);
        assertThat(bench.hold(3, 4).state()).isEqualTo(HoldState.HELD);
        EngineView view = bench.controller.view();
        assertThat(view.certain()).isFalse();
        assertThat(view.incarnation()).isEqualTo(2);
        assertThat(view.counters().gaps()).isEqualTo(1);
        assertThat(view.counters().lostBatches()).isEqualTo(4);
        assertThat(bench.holdNow(id).state()).isEqualTo(HoldState.HELD);
        assertThat(bench.disk.outstanding()).hasSize(2);
        bench.controller.release(id);
        bench.settle();
        assertThat(bench.engine.pins).containsOnlyKeys(4L);
    }

    @Test
    void gap_healedByAClear_pinsAgain() {
        bench.stored(1);
        bench.controller.events().gap(new Gap(Gap.Cause.DROPPED, 5, 9));
        bench.cleared();
        bench.stored(3, 4);
        assertThat(bench.hold(3, 4).state()).isEqualTo(HoldState.HELD);
        assertThat(bench.controller.view().certain()).isTrue();
    }

    @Test
    void clear_holdsAreLostAndTheirPinsUnpinnedAllTheSame() throws Exception {
        bench.stored(1, 2);
        long id = bench.hold(1, 2).id();
        HoldView waiting = bench.hold(8, 9);
        bench.takeLog();
        bench.engine.pins.clear();
        bench.cleared();
        bench.settle();
        assertThat(bench.holdNow(id).state()).isEqualTo(HoldState.LOST);
        assertThat(bench.holdNow(waiting.id()).state()).isEqualTo(HoldState.REQUESTED);
        assertThat(bench.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
        assertThat(bench.disk.outstanding()).isEmpty();
        assertThat(bench.controller.view().incarnation()).isEqualTo(2);
        assertThat(bench.controller.view().counters().clears()).isEqualTo(1);
        assertThat(bench.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void clear_whileAPinIsUnderWay_takesItBack() {
        bench.stored(1, 2);
        var asked = bench.ask(1, 2);
        bench.controller.poll(bench.now);
        bench.cleared();
        bench.settle();
        bench.pass(Duration.ofSeconds(2));
        assertThat(bench.engine.pins).isEmpty();
        assertThat(asked.join().state()).isEqualTo(HoldState.REQUESTED);
    }

    @Test
    void restart_thenItsClear_isOneNewLifeAndProbesAgain() {
        bench.stored(1, 2);
        bench.hold(1, 2);
        bench.controller.events().restarted(0);
        bench.cleared();
        bench.settle();
        EngineView view = bench.controller.view();
        assertThat(view.incarnation()).isEqualTo(2);
        assertThat(view.certain()).isTrue();
        assertThat(view.counters().restarts()).isEqualTo(1);
        assertThat(view.blocks()).isZero();
        assertThat(view.holds()).extracting(HoldView::state).containsExactly(HoldState.LOST);
        assertThat(bench.engine.probes).isEqualTo(2);
    }

    @Test
    void restart_nothingIsPinnedBeforeTheNewProcessWasProbed() {
        bench.controller.events().restarted(0);
        bench.cleared();
        bench.stored(1, 2);
        bench.engine.capabilities = new Capabilities(false, "an older version");
        var unused = bench.ask(1, 2);
        bench.controller.poll(bench.now);
        assertThat(bench.holdNow(1).reason()).isEqualTo("the backend test was not probed yet");
        bench.settle();
        assertThat(bench.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(bench.holdNow(1).reason()).isEqualTo("this engine cannot pin: an older version");
        assertThat(bench.takeLog()).isEmpty();
    }

    @Test
    void request_nothingKnownInTime_isWithdrawnAndTakenBack() throws Exception {
        bench.stored(1, 2);
        bench.engine.late = true;
        HoldRequest request = new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(5));
        var asked = bench.controller.request(request, Duration.ofSeconds(10)).toCompletableFuture();
        bench.settle();
        bench.pass(Duration.ofSeconds(9));
        assertThat(asked).isNotDone();
        bench.pass(Duration.ofSeconds(1));
        assertThat(asked.exceptionNow()).hasMessageContaining("so the hold is withdrawn");
        bench.engine.late = false;
        bench.engine.unanswered.remove().run();
        bench.settle();
        assertThat(bench.engine.pins).isEmpty();
        assertThat(bench.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(bench.disk.outstanding()).isEmpty();
    }

    @Test
    void answers_areCompletedAwayFromTheControllersThread() {
        var resumed = bench.controller.resumeHolding().toCompletableFuture();
        var unknown = bench.controller.release(99).toCompletableFuture();
        bench.controller.poll(bench.now);
        assertThat(resumed).isNotDone();
        assertThat(unknown).isNotDone();
        bench.settle();
        assertThat(resumed).isDone();
        assertThat(unknown).isDone();

        bench.controller.releaseAll("enough");
        bench.settle();
        var refused = bench.ask(1, 2);
        bench.controller.poll(bench.now);
        assertThat(refused).isNotDone();
        bench.settle();
        assertThat(refused).isCompletedExceptionally();
    }

    @Test
    void pinnedBlockRemoved_holdIsLostAndUnpinnedToBeSure() throws Exception {
        bench.stored(1, 2);
        long id = bench.hold(1, 2).id();
        bench.engine.pins.clear();
        bench.removed(2);
        bench.settle();
        assertThat(bench.holdNow(id).state()).isEqualTo(HoldState.LOST);
        assertThat(bench.holdNow(id).reason()).isEqualTo("the engine removed it although it was pinned");
        assertThat(bench.disk.outstanding()).isEmpty();
        assertThat(bench.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void removals_ofUnknownBlocks_areCountedWhileCertain() {
        bench.stored(1, 2);
        bench.removed(2, 77);
        bench.settle();
        assertThat(bench.controller.view().counters().removedBlocks()).isEqualTo(2);
        assertThat(bench.controller.view().counters().removedUnknown()).isEqualTo(1);
        assertThat(bench.controller.view().ghosts()).isEqualTo(1);
    }

    @Test
    void automatic_lostPrefixComesBack_isHeldUntilUntouchedForItsLease() {
        Bench own = Bench.ready(AUTOMATIC);
        own.stored(1, 2);
        own.removed(2, 1);
        own.stored(1, 2);
        own.pass(Duration.ofMillis(100));
        HoldView hold = own.holdNow(1);
        assertThat(hold.origin()).isEqualTo(HoldOrigin.AUTOMATIC);
        assertThat(hold.state()).isEqualTo(HoldState.HELD);
        assertThat(hold.reason()).startsWith("lost once and stored again");

        own.pass(Duration.ofSeconds(50));
        own.storedUnder(2, 3);
        own.pass(Duration.ofSeconds(50));
        assertThat(own.holdNow(1).state()).as("touched by a longer prompt").isEqualTo(HoldState.HELD);
        own.pass(Duration.ofSeconds(11));
        assertThat(own.holdNow(1).state()).isEqualTo(HoldState.RELEASED);
        assertThat(own.holdNow(1).reason()).isEqualTo("not touched for 60 s");
        assertThat(own.engine.pins).isEmpty();
    }

    @Test
    void automatic_notAllowed_holdsNothing() {
        bench.stored(1, 2);
        bench.removed(2, 1);
        bench.stored(1, 2);
        bench.pass(Duration.ofMillis(100));
        assertThat(bench.controller.view().holds()).isEmpty();
    }

    @Test
    void dryRun_goesTheWholeWayAndSaysSo() throws Exception {
        Controller dry = new Controller(
                Bench.SETTINGS, new DryRunBackend(), new Bench.Disk(), Runnable::run, new SplittableRandom(1));
        dry.poll(0);
        dry.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0));
        dry.events().batchStarted(0, 0);
        dry.events().stored(Bench.chain(1, 2));
        dry.events().batchEnded();
        var answer = dry.request(new HoldRequest(new long[] {1, 2}, Duration.ofSeconds(5)))
                .toCompletableFuture();
        dry.poll(1);
        dry.poll(2);
        assertThat(answer.join().state()).isEqualTo(HoldState.HELD);
        assertThat(answer.join().reason()).endsWith("dry run: would pin 2 blocks");
    }

    @Test
    void switchback_offWindow_letsAutomaticHoldsGoAndTakesThemBack() {
        Bench own = Bench.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
                true,
                Duration.ofHours(1),
                Duration.ofMillis(100),
                Optional.of(Duration.ofSeconds(10))));
        own.stored(1, 2);
        own.removed(2, 1);
        own.stored(1, 2);
        own.stored(5, 6);
        var asked = own.ask(Duration.ofHours(1), 5, 6);
        own.settle();
        assertThat(asked.join().state()).isEqualTo(HoldState.HELD);
        boolean on = false;
        boolean off = false;
        for (int second = 0; second < 80; second++) {
            own.pass(Duration.ofSeconds(1));
            assertThat(own.engine.pins).as("requested holds are never touched").containsKey(6L);
            boolean measuringWithout = own.controller.view().lastPlan().lines().stream()
                    .anyMatch(line -> line.reason().startsWith("measuring: "));
            if (own.engine.pins.containsKey(2L)) {
                on = true;
            } else if (measuringWithout) {
                off = true;
            }
        }
        assertThat(on && off).isTrue();
        assertThat(own.controller.view().ttft().state()).isEqualTo(TtftEffect.State.UNPROVEN);
    }
}
