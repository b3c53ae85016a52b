package io.holdfast.core.pin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.Controller;
import io.holdfast.core.ControllerHarness;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.budget.StallWatch;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.core.reading.Samples;
import io.holdfast.core.requests.RequestRules;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Pins, driven through a controller: what is written, what is asked, and in which order. */
final class PinsTest {
    private final ControllerHarness harness = ControllerHarness.ready();

    @Test
    void pin_isWrittenBeforeItIsAsked() {
        harness.stored(1, 2);
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.takeLog()).containsExactly("write PINNING 2 for 1", "pin 2", "write PINNED 2 for 1");
    }

    @Test
    void unpin_isWrittenAfterTheEngineLetGo() {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.takeLog();
        var released = harness.controller.release(id).toCompletableFuture();
        harness.settle();
        assertThat(released.join().orElseThrow().state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void nothing_isDoneOnTheEventThread() {
        harness.stored(1, 2);
        var answer = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        assertThat(harness.log).isEmpty();
        assertThat(harness.acting).isNotEmpty();
        harness.settle();
        assertThat(answer.join().heldBlocks()).isEqualTo(2);
    }

    @Test
    void crash_betweenWriteAndCall_nextStartUnpinsBeforeAnythingElse() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.PINNING, 41, 2, 2);
        assertStartReleases(disk);
    }

    @Test
    void killed_withAPinInTheEngine_nextStartReleasesIt() {
        harness.stored(1, 2);
        harness.hold(1, 2);
        ControllerHarness.Engine engine = harness.engine;
        assertThat(engine.pins).containsEntry(2L, 1);

        ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, harness.disk, engine);
        next.idle();
        next.settle();
        assertThat(engine.pins).isEmpty();
        assertThat(next.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
    }

    @Test
    void start_unpinDeferred_countsItUntilItIsSeenToBeGone() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.PINNED, 5, 99, 2);
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, disk, engine);
        next.stored(98, 99);
        next.idle();
        next.settle();
        next.stored(1, 2);
        assertThat(next.hold(Duration.ofMinutes(5), 1, 2).state()).isEqualTo(HoldState.HELD);
        assertThat(next.takeLog())
                .containsExactly(
                        "unpin 99", "write UNSURE 99 for 5", "write PINNING 2 for 6", "pin 2", "write PINNED 2 for 6");
        next.pass(Duration.ofMillis(900));
        assertThat(next.controller.view().budget().pinnedTokens()).isEqualTo(4 * 16);
        assertThat(next.takeLog()).isEmpty();
        next.pass(Duration.ofSeconds(36));
        next.served(4 * 16);
        next.served(2 * 16);
        assertThat(next.takeLog()).as("it may be there, and the other one gone").isEmpty();
        next.served(16);
        assertThat(next.takeLog()).startsWith("write RELEASED 99 for 5");
        assertThat(next.controller.view().budget().pinnedTokens()).isEqualTo(2 * 16);
    }

    @Test
    void start_unsureUnpin_isNotAskedAgain() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.UNSURE, 5, 99, 2);
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.stored(98, 99);
        next.settle();
        next.pass(Duration.ofMinutes(10));
        next.served(480);
        assertThat(next.takeLog()).isEmpty();
        next.served(0);
        assertThat(next.takeLog()).containsExactly("write RELEASED 99 for 5");
    }

    /**
     * Also where others pin so much that the engine's count at rest says nothing. Events alone may have been numbered anew
     * by an engine that lives on.
     */
    @Test
    void start_unsureUnpinOfABlockThatIsNotThere_isOverOnceAnotherProcessAnswers() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.UNSURE, 5, 99, 2);
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.stored(1, 2);
        next.settle();
        next.served(480);
        assertThat(next.takeLog()).isEmpty();
        next.anotherProcess();
        next.served(480);
        assertThat(next.takeLog()).containsExactly("write RELEASED 99 for 5");
        next.stored(98, 99);
        assertThat(next.hold(Duration.ofMinutes(5), 98, 99).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void start_unsureUnpin_isNotOverWhileNobodyKnowsWhatIsThere() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.UNSURE, 5, 99, 2);
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.settle();
        next.served(480);
        next.anotherProcess();
        next.served(480);
        assertThat(next.takeLog()).isEmpty();
        next.stored(1, 2);
        next.settle();
        assertThat(next.takeLog()).containsExactly("write RELEASED 99 for 5");
    }

    @Test
    void unpin_deferred_isOverWhenEventsFromAfterItDoNotShowTheBlock() {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        harness.controller.release(id);
        harness.settle();
        harness.takeLog();
        harness.removed(2, 1);
        harness.served(480);
        assertThat(harness.takeLog()).as("it may have come back meanwhile").isEmpty();
        harness.stored(7, 8);
        harness.settle();
        assertThat(harness.takeLog()).containsExactly("write RELEASED 2 for 1");
    }

    @Test
    void unpin_deferredOfAPinThatMayBeElsewhere_isNotOverWhereItsBlockIsGone() {
        harness.engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.controller.release(id);
        harness.settle();
        assertThat(harness.takeLog()).endsWith("unpin 2", "write UNSURE 2 for 1");
        harness.removed(2, 1);
        harness.settle();
        for (int i = 0; i < 100; i++) {
            harness.served(480);
            harness.stored(7 + 2 * i, 8 + 2 * i);
        }
        assertThat(harness.takeLog()).isEmpty();
        assertThat(harness.controller.view().pins().unsure()).isEqualTo(1);
    }

    @Test
    void start_twoHoldsOnOneBlock_unpinItOnce() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.PINNED, 3, 2, 2);
        disk.append(Step.PINNED, 4, 2, 2);
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.engine.pins.put(2L, 1);
        next.settle();
        assertThat(next.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 3", "write RELEASED 2 for 4");
    }

    @Test
    void start_unpinRefused_countsTheBlocksAndGoesOn() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.PINNED, 3, 99, 10);
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.unpinAnswers.add(Outcome.Kind.REJECTED);
        ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, disk, engine);
        next.idle();
        next.settle();
        next.stored(1, 2);
        assertThat(next.hold(1, 2).state()).isEqualTo(HoldState.HELD);
        next.pass(Duration.ofSeconds(1));
        assertThat(next.controller.view().budget().pinnedTokens()).isEqualTo(12 * 16);
        assertThat(disk.outstanding()).extracting(LedgerLine.Entry::lastBlock).contains(99L);
    }

    @Test
    void holds_endingAtOneBlock_shareOnePin() {
        harness.stored(1, 2);
        HoldView first = harness.hold(1, 2);
        HoldView second = harness.hold(1, 2);
        assertThat(second.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.engine.pins).containsEntry(2L, 1);
        harness.takeLog();

        harness.controller.release(first.id());
        harness.settle();
        assertThat(harness.takeLog()).containsExactly("write RELEASED 2 for 1");
        assertThat(harness.engine.pins).containsEntry(2L, 1);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(32);

        harness.controller.release(second.id());
        harness.settle();
        assertThat(harness.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 2");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void holds_askedTogetherForOneBlock_callOnce() {
        harness.stored(1, 2);
        var first = harness.ask(1, 2);
        var second = harness.ask(1, 2);
        harness.settle();
        harness.pass(Duration.ofSeconds(1));
        assertThat(first.join().state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(second.join().id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.engine.pins).containsEntry(2L, 1);
    }

    @Test
    void hold_whoseBestBlockChangesWhileItsPinIsUnderWay_ownsOnePin() throws IOException {
        harness.stored(1, 2);
        harness.storedUnder(2, 3);
        harness.engine.late = true;
        var asked = harness.ask(1, 2, 3);
        harness.settle();
        assertThat(harness.engine.unanswered).hasSize(1);
        harness.removed(3);
        harness.storedUnder(2, 3, 4);
        harness.pass(Duration.ofMillis(200));
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        harness.pass(Duration.ofSeconds(1));
        assertThat(asked.join().state()).isEqualTo(HoldState.HELD);
        assertThat(harness.log).filteredOn(line -> line.startsWith("pin ")).containsExactly("pin 3");
        harness.controller.release(asked.join().id());
        harness.settle();
        assertThat(harness.engine.pins)
                .as("what came of block 4 is not told yet")
                .containsOnlyKeys(3L);
        harness.pass(Duration.ofSeconds(15));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void calls_moreThanEight_waitInOrderAndNoneIsTurnedAway() throws IOException {
        for (long root = 0; root < 80; root += 2) {
            harness.stored(root, root + 1);
        }
        harness.engine.late = true;
        List<CompletableFuture<HoldView>> asked = new ArrayList<>();
        for (long root = 0; root < 80; root += 2) {
            asked.add(harness.ask(root, root + 1));
        }
        answerAll();
        assertThat(asked).allSatisfy(hold -> assertThat(hold.join().state()).isEqualTo(HoldState.HELD));
        harness.takeLog();

        var released = harness.controller.releaseAll("enough").toCompletableFuture();
        answerAll();
        assertThat(released.join()).isEqualTo(new Released(40, 0));
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.disk.outstanding()).isEmpty();
        assertThat(harness.engine.mostUnderWay).isEqualTo(8);
        assertThat(harness.log)
                .filteredOn(line -> line.startsWith("unpin "))
                .containsExactlyElementsOf(LongStream.range(0, 40)
                        .mapToObj(i -> "unpin " + (2 * i + 1))
                        .toList());
    }

    @Test
    void unpin_ofABlockThatGotATwin_isNotAskedUntilBothAreGone() throws IOException {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.stored(1, 2);
        harness.takeLog();
        var released = harness.controller.release(id).toCompletableFuture();
        harness.settle();
        assertThat(released.join().orElseThrow()).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.EXPIRING);
            assertThat(hold.reason()).startsWith("a second block of the engine has the hash of this one by now");
        });
        harness.pass(Duration.ofMinutes(1));
        assertThat(harness.takeLog()).containsExactly("write KEPT 2 for 1");
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(32);
        assertThat(harness.disk.outstanding())
                .extracting(LedgerLine.Entry::lastBlock)
                .containsExactly(2L);

        harness.removed(2);
        harness.settle();
        assertThat(harness.takeLog()).isEmpty();
        harness.removed(2);
        harness.pass(Duration.ofMillis(100));
        assertThat(harness.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
        assertThat(harness.holdNow(id).state()).isEqualTo(HoldState.RELEASED);
    }

    private void answerAll() {
        harness.settle();
        while (!harness.engine.unanswered.isEmpty()) {
            harness.engine.unanswered.remove().run();
            harness.settle();
        }
    }

    @Test
    void executor_takesNoMore_everyCallIsAnsweredAllTheSame() throws IOException {
        boolean[] closed = {false};
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        Controller controller = new Controller(
                ControllerHarness.SETTINGS,
                new ControllerHarness.Engine(),
                disk,
                task -> {
                    if (closed[0]) {
                        throw new RejectedExecutionException("closed");
                    }
                    task.run();
                },
                new SplittableRandom(1));
        controller.poll(0);
        controller.events().batchStarted(0, 0);
        controller.events().stored(ControllerHarness.chain(1, 2));
        controller.events().stored(ControllerHarness.chain(3, 4));
        controller.events().batchEnded();
        controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0));
        controller.request(new HoldRequest(new long[] {1, 2}, Duration.ofSeconds(9)));
        pollTenTimes(controller);
        closed[0] = true;
        var asked = controller
                .request(new HoldRequest(new long[] {3, 4}, Duration.ofSeconds(9)))
                .toCompletableFuture();
        pollTenTimes(controller);
        assertThat(asked.join().reason()).contains("takes no more work");
        var released = controller.releaseAll("shutting down").toCompletableFuture();
        pollTenTimes(controller);
        assertThat(released.join()).isEqualTo(new Released(1, 1));
        assertThat(disk.outstanding()).extracting(LedgerLine.Entry::lastBlock).containsExactly(2L);
    }

    private static void pollTenTimes(Controller controller) {
        for (int i = 0; i < 10; i++) {
            controller.poll(i);
        }
    }

    @Test
    void pin_deferred_isTakenBackBeforeItIsTriedAgain() {
        harness.engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        harness.stored(1, 2);
        HoldView waiting = harness.hold(1, 2);
        assertThat(waiting.state()).isEqualTo(HoldState.REQUESTED);
        assertThat(waiting.reason()).startsWith("no clear answer to the pin");
        assertThat(harness.takeLog())
                .containsExactly("write PINNING 2 for 1", "pin 2", "unpin 2", "write RELEASED 2 for 1");
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.takeLog()).containsExactly("write PINNING 2 for 1", "pin 2", "write PINNED 2 for 1");
        assertThat(harness.engine.pins).containsEntry(2L, 1);
    }

    @Test
    void pin_deferredAndItsUndoingToo_isNotPinnedTwice() {
        harness.engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        harness.stored(1, 2);
        harness.hold(Duration.ofMinutes(5), 1, 2);
        for (int i = 0; i < 50; i++) {
            harness.pass(Duration.ofSeconds(2));
            assertThat(harness.engine.pins.getOrDefault(2L, 0)).isLessThanOrEqualTo(1);
        }
        harness.engine.pins.clear();
        harness.served(0);
        assertThat(harness.takeLog())
                .containsSubsequence("pin 2", "unpin 2", "write UNSURE 2 for 1", "write RELEASED 2 for 1", "pin 2")
                .filteredOn("pin 2"::equals)
                .hasSize(2);
    }

    @Test
    void unpin_deferredWhereOthersPin_isNotAskedAgain() throws IOException {
        harness.stored(1, 2);
        long id = harness.hold(Duration.ofMinutes(1), 1, 2).id();
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        harness.controller.release(id);
        harness.settle();
        harness.takeLog();
        for (int i = 0; i < 100; i++) {
            harness.served(480);
        }
        assertThat(harness.takeLog()).isEmpty();
        assertThat(harness.disk.outstanding())
                .extracting(LedgerLine.Entry::step)
                .containsExactly(Step.UNSURE);

        var asked = harness.controller.release(id).toCompletableFuture();
        harness.settle();
        assertThat(asked.join().orElseThrow().reason()).startsWith("no clear answer to the unpin");
        assertThat(harness.takeLog()).isEmpty();
    }

    @Test
    void unpin_refused_isAskedAgainAfterAMinute() {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.engine.unpinAnswers.add(Outcome.Kind.REJECTED);
        harness.controller.release(id);
        harness.settle();
        harness.takeLog();
        harness.pass(Duration.ofSeconds(59));
        assertThat(harness.takeLog()).isEmpty();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void pin_deferredWhereUnpinsTellNothing_isUnpinnedWhenItArrived() {
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.traits = BackendTraits.hard()
                .needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH)
                .withSilentRelease();
        engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        ControllerHarness silent =
                new ControllerHarness(ControllerHarness.SETTINGS, new ControllerHarness.Disk(), engine);
        silent.idle();
        silent.settle();
        silent.stored(1, 2);
        silent.hold(Duration.ofSeconds(30), 1, 2);
        silent.pass(Duration.ofSeconds(59));
        assertThat(silent.takeLog()).containsExactly("write PINNING 2 for 1", "pin 2");
        silent.pass(Duration.ofSeconds(1));
        assertThat(silent.takeLog()).containsExactly("unpin 2", "write RELEASED 2 for 1");
    }

    @Test
    void planned_whileTheDiskHangs_isNotTakenFromWhatOthersPin() {
        for (int i = 0; i < 2; i++) {
            harness.now += 5 * ControllerHarness.SECOND;
            harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 480, 0, 0, harness.now));
            harness.settle();
        }
        harness.stored(1, 2);
        harness.settle();
        var unused388 = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        assertThat(harness.acting).isNotEmpty();
        for (int i = 0; i < 2; i++) {
            harness.now += 20 * ControllerHarness.SECOND;
            harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 480, 0, 0, harness.now));
            harness.controller.poll(harness.now);
        }
        assertThat(harness.log).doesNotContain("pin 2");
        assertThat(harness.controller.view().budget().foreignTokens()).isEqualTo(480);
    }

    @Test
    void start_nothingIsPinnedBeforeWhatWasLeftIsAnswered() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.PINNED, 5, 99, 2);
        ControllerHarness.Engine engine = new ControllerHarness.Engine();
        engine.pins.put(99L, 1);
        engine.late = true;
        ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, disk, engine);
        next.idle();
        next.settle();
        next.stored(1, 2);
        var unused411 = next.ask(1, 2);
        next.settle();
        assertThat(next.holdNow(6).reason()).isEqualTo("pins of an earlier life are released first, 1 to go");
        assertThat(next.takeLog()).containsExactly("unpin 99");
        engine.late = false;
        engine.unanswered.remove().run();
        next.settle();
        assertThat(next.holdNow(6).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void releaseAll_unpinWithoutAClearAnswer_isNotAskedAgain() {
        harness.stored(1, 2);
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        harness.controller.release(harness.hold(1, 2).id());
        harness.settle();
        harness.takeLog();
        harness.now += 90 * ControllerHarness.SECOND;
        harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 480, 0, 0, harness.now));
        var released = harness.controller.releaseAll("enough").toCompletableFuture();
        harness.settle();
        assertThat(released.join()).isEqualTo(new Released(0, 1));
        assertThat(harness.takeLog())
                .as("another one could take a pin of somebody else")
                .isEmpty();
    }

    @Test
    void unpin_doesNotWaitForPinsThatAreUnderWay() {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.engine.late = true;
        for (long root = 10; root < 30; root += 2) {
            harness.stored(root, root + 1);
            var unused445 = harness.ask(root, root + 1);
        }
        harness.settle();
        assertThat(harness.engine.unanswered).hasSize(Turns.MOST_UNDER_WAY);
        harness.takeLog();
        harness.controller.release(id);
        harness.settle();
        assertThat(harness.takeLog()).contains("unpin 2");
    }

    @Test
    void pin_neverSent_isNeverUnpinned() throws IOException {
        harness.engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        harness.stored(1, 2);
        harness.engine.pins.put(2L, 1);
        assertThat(harness.hold(1, 2).reason()).startsWith("its pin was not sent");
        assertThat(harness.takeLog()).containsExactly("write PINNING 2 for 1", "pin 2", "write RELEASED 2 for 1");
        assertThat(harness.engine.pins).as("somebody else's pin").containsEntry(2L, 1);
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void pin_thatArrivesLate_isTakenBackThen() {
        harness.engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        harness.stored(1, 2);
        harness.engine.pins.clear();
        harness.engine.unpinAnswers.add(Outcome.Kind.MISSING);
        var asked = harness.ask(Duration.ofSeconds(30), 1, 2);
        harness.settle();
        assertThat(asked.join().reason()).startsWith("no clear answer to the pin");
        assertThat(harness.engine.pins).as("it arrived after its unpin").containsEntry(2L, 1);
        harness.pass(Duration.ofSeconds(50));
        assertThat(harness.engine.pins).containsEntry(2L, 1);
        harness.pass(Duration.ofSeconds(11));
        assertThat(harness.engine.pins).isEmpty();
    }

    /** What came back under its name lies in the middle of a longer prompt, whose end is gone: an unpin could end the engine. */
    @Test
    void pin_whoseBlockLeftWhileItsCallWasUnderWay_isKept() {
        harness.engine.late = true;
        harness.stored(1, 2);
        long id = leftWhileUnderWay();
        harness.stored(1, 2, 3);
        harness.storedUnder(2, 9);
        harness.removed(3);
        answered(id);
        assertThat(harness.takeLog()).doesNotContain("unpin 2");
        assertThat(harness.controller.view().pins().kept()).isEqualTo(1);
        assertThat(harness.controller.view().budget().pinnedTokens()).isEqualTo(2 * 16);

        harness.removed(9, 2, 1);
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.takeLog())
                .as("nothing is left that it could lead to")
                .contains("unpin 2");
        assertThat(harness.controller.view().pins().kept()).isZero();
    }

    @Test
    void pin_whoseBlockLeftWhileItsCallWasUnderWay_andEndsARequestAgain_isUnpinned() {
        harness.engine.late = true;
        harness.stored(1, 2);
        long id = leftWhileUnderWay();
        harness.stored(1, 2);
        answered(id);
        assertThat(harness.takeLog()).contains("unpin 2");
        assertThat(harness.engine.pins).isEmpty();
    }

    private long leftWhileUnderWay() {
        var unused = harness.ask(1, 2);
        harness.settle();
        assertThat(harness.engine.unanswered).hasSize(1);
        harness.removed(2, 1);
        harness.settle();
        return 1;
    }

    /** The call is answered with a pin, and nobody needs that. */
    private void answered(long id) {
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        assertThat(harness.engine.pins).containsOnlyKeys(2L);
        harness.controller.release(id);
        harness.pass(Duration.ofSeconds(20));
        harness.stored(50);
        harness.pass(Duration.ofSeconds(1));
    }

    /** By old news it would be pinned where a request ended then. */
    @Test
    void pin_whileEventsComeLate_waits() {
        harness.stampMicros = 1_000_000;
        harness.stored(1, 2);
        harness.pass(Duration.ofSeconds(2));
        harness.stampMicros += 1_400_000;
        harness.stored(5);
        var unused = harness.ask(1, 2);
        harness.settle();
        assertThat(harness.holdNow(1).reason()).contains("events came late a moment ago");
        harness.pass(Duration.ofSeconds(4));
        assertThat(harness.engine.pins).isEmpty();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(1).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void pin_whoseBlockLeftBeforeItsCall_isNotSent() throws IOException {
        ControllerHarness hindered = plannedPin();
        hindered.removed(2);
        assertNotSent(hindered);
        assertThat(hindered.holdNow(1).reason()).startsWith("its pin was not sent: its last block left the cache");
    }

    @Test
    void pin_whoseBlockGotATwinBeforeItsCall_isNotSent() throws IOException {
        ControllerHarness hindered = plannedPin();
        hindered.stored(1, 2);
        assertNotSent(hindered);
    }

    @Test
    void pin_thatNeedsNoEnd_whoseBlockGotATwinBeforeItsCall_isNotSent() throws IOException {
        harness.engine.traits = BackendTraits.hard().needing(Need.UNAMBIGUOUS_HASH);
        harness.stored(1, 2);
        var unused = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        harness.stored(1, 2);
        assertNotSent(harness);
        assertThat(harness.holdNow(1).reason())
                .startsWith("the hash of its last block may name two blocks of the engine");
    }

    @Test
    void pin_stallBeforeItsCall_isNotSent() throws IOException {
        ControllerHarness hindered = plannedPin();
        hindered.readings(0, 1);
        hindered.controller.poll(hindered.now);
        hindered.now += StallWatch.STANDSTILL_NANOS;
        hindered.readings(0, 1);
        hindered.controller.poll(hindered.now);
        assertNotSent(hindered);
    }

    @Test
    void pin_boundThatCameDownBeforeItsCall_isNotSent() throws IOException {
        ControllerHarness hindered = plannedPin();
        hindered.now += ControllerHarness.SECOND;
        hindered.controller.readings(Samples.readings(1_150, 16, 9_000, 0, 0, 0, 0, 0, hindered.now));
        hindered.controller.poll(hindered.now);
        assertThat(hindered.controller.view().budget().hardTokens()).isLessThan(2 * 16);
        assertNotSent(hindered);
    }

    /** A bench where the pin of block 2 is decided, and its intent is about to be written. */
    private static ControllerHarness plannedPin() {
        ControllerHarness planned = ControllerHarness.ready();
        planned.stored(1, 2);
        var unused522 = planned.ask(1, 2);
        planned.controller.poll(planned.now);
        assertThat(planned.acting).isNotEmpty();
        return planned;
    }

    private static void assertNotSent(ControllerHarness hindered) throws IOException {
        hindered.settle();
        assertThat(hindered.takeLog()).containsExactly("write PINNING 2 for 1", "write RELEASED 2 for 1");
        assertThat(hindered.disk.outstanding()).isEmpty();
    }

    @Test
    void stall_unpinsEverythingByOneCall() {
        harness.stored(1, 2);
        harness.stored(3, 4);
        harness.stored(5, 6);
        harness.hold(1, 2);
        harness.hold(3, 4);
        harness.hold(5, 6);
        harness.takeLog();
        harness.readings(0, 1);
        harness.settle();
        harness.now += StallWatch.STANDSTILL_NANOS;
        harness.readings(0, 1);
        harness.settle();
        assertThat(harness.takeLog())
                .filteredOn(line -> line.startsWith("unpin"))
                .containsExactly("unpin 2 4 6");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void stall_someOfOneCallMissing_putsAllInQuarantine() throws IOException {
        harness.stored(1, 2);
        harness.stored(3, 4);
        harness.hold(1, 2);
        harness.hold(3, 4);
        harness.engine.unpinAnswers.add(Outcome.Kind.CLIPPED);
        harness.readings(0, 1);
        harness.settle();
        harness.now += StallWatch.STANDSTILL_NANOS;
        harness.readings(0, 1);
        harness.settle();
        assertThat(harness.controller.view().pins().unsure()).isEqualTo(2);
        assertThat(harness.disk.outstanding())
                .extracting(LedgerLine.Entry::step)
                .containsExactly(Step.UNSURE, Step.UNSURE);
    }

    @Test
    void pin_waitingForItsTurn_isNotSentOnceEverythingIsLetGo() {
        for (long root = 0; root < 40; root += 2) {
            harness.stored(root, root + 1);
        }
        harness.engine.late = true;
        List<CompletableFuture<HoldView>> asked = new ArrayList<>();
        for (long root = 0; root < 40; root += 2) {
            asked.add(harness.ask(root, root + 1));
        }
        harness.settle();
        harness.takeLog();
        harness.controller.releaseAll("enough");
        answerAll();
        assertThat(harness.takeLog()).noneMatch(line -> line.startsWith("pin "));
        assertThat(asked).allSatisfy(hold -> assertThat(hold).isDone());
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void unpin_doesNotWaitForADiskThatHangs() {
        harness.stored(1, 2);
        harness.stored(3, 4);
        harness.hold(1, 2);
        harness.takeLog();
        var asked = harness.ask(3, 4);
        harness.controller.poll(harness.now);
        Runnable hanging = harness.acting.remove();
        harness.controller.releaseAll("enough");
        harness.settle();
        assertThat(harness.takeLog()).contains("unpin 2").doesNotContain("pin 4");
        assertThat(harness.engine.pins).isEmpty();
        hanging.run();
        harness.settle();
        assertThat(asked).isDone();
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void kept_byAnEarlierLife_isNotAskedBeforeTheViewWasCertainLongEnough() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        disk.append(Step.KEPT, 3, 2, 2);
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.engine.pins.put(2L, 1);
        next.idle();
        next.settle();
        next.stored(5, 6);
        next.controller.releaseAll("x");
        next.pass(Duration.ofSeconds(50));
        assertThat(next.takeLog()).doesNotContain("unpin 2");
        next.pass(Duration.ofSeconds(61));
        assertThat(next.takeLog()).contains("unpin 2", "write RELEASED 2 for 3");
    }

    /** The events of the earlier life showed it, and those of this one may show less. */
    @Test
    void kept_sinceAnUnpinCouldEndTheEngine_isKeptByTheNextLifeToo() {
        harness.engine.late = true;
        harness.stored(1, 2);
        long id = leftWhileUnderWay();
        harness.stored(1, 2, 3);
        harness.storedUnder(2, 9);
        harness.removed(3);
        answered(id);
        assertThat(harness.controller.view().pins().kept()).isEqualTo(1);

        ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, harness.disk, harness.engine);
        next.idle();
        next.settle();
        next.stored(1, 2, 3);
        next.storedUnder(2, 9);
        next.removed(3);
        next.pass(Duration.ofSeconds(50));
        next.pass(Duration.ofSeconds(61));
        assertThat(next.takeLog()).doesNotContain("unpin 2");
        assertThat(next.controller.view().pins().kept()).isEqualTo(1);

        next.removed(9, 2, 1);
        next.stored(1, 2);
        next.pass(Duration.ofSeconds(1));
        assertThat(next.takeLog()).as("its block ends a request again").contains("unpin 2");
    }

    @Test
    void ledger_ofAnotherEngine_isLeftAsItIs() throws IOException {
        EngineIdentity other = new EngineIdentity("http://other:1", "http://10.0.0.9:1", Optional.of("m"));
        harness.disk.append(new LedgerLine.Header(LedgerLine.Header.VERSION, other));
        harness.disk.append(Step.PINNED, 9, 77, 2);
        harness.disk.append(Step.UNSURE, 10, 78, 2);
        List<LedgerLine> before = harness.disk.read();
        harness.engine.pins.put(77L, 1);
        ControllerHarness.Engine engine = harness.engine;
        Controller controller = new Controller(
                ControllerHarness.SETTINGS,
                RequestRules.sglang(),
                Backends.only(engine),
                new Ledger(harness.disk),
                Runnable::run,
                new SplittableRandom(1));
        controller.poll(0);
        assertThat(engine.pins).as("before it is known which engine answers").containsEntry(77L, 1);
        controller.engineIs(new EngineIdentity("http://here:1", "http://127.0.0.1:1", Optional.of("m")));
        for (int i = 1; i < 100; i++) {
            // That this one has served and is at rest says nothing of the other.
            controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, i, i * ControllerHarness.SECOND));
            controller.poll(i * ControllerHarness.SECOND);
        }
        assertThat(engine.pins).containsEntry(77L, 1);
        assertThat(harness.disk.read()).isEqualTo(before);
        assertThat(controller.view().pins().trouble().orElseThrow()).contains("http://other:1 with model m");
    }

    @Test
    void header_ofTheEngine_isWrittenAboveTheFirstPin() throws IOException {
        ControllerHarness.Disk disk = new ControllerHarness.Disk();
        EngineIdentity unnamed = new EngineIdentity("http://here:1", "http://127.0.0.1:1", Optional.empty());
        pinFor(unnamed, disk, 1, 2);
        assertThat(disk.lines.getFirst()).isEqualTo(new LedgerLine.Header(LedgerLine.Header.VERSION, unnamed));
        assertThat(new Ledger(disk).engine()).contains(unnamed);

        EngineIdentity named = new EngineIdentity("http://here:1", "http://127.0.0.1:1", Optional.of("m"));
        pinFor(named, disk, 3, 4);
        assertThat(new Ledger(disk).engine()).as("its model is known by now").contains(named);
    }

    private static void pinFor(EngineIdentity identity, ControllerHarness.Disk disk, long... path) throws IOException {
        Controller controller = new Controller(
                ControllerHarness.SETTINGS,
                RequestRules.sglang(),
                Backends.only(new ControllerHarness.Engine()),
                new Ledger(disk),
                Runnable::run,
                new SplittableRandom(1));
        controller.engineIs(identity);
        controller.poll(0);
        controller.events().batchStarted(0, 0);
        controller.events().stored(ControllerHarness.chain(path));
        controller.events().batchEnded();
        controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0));
        var asked = controller.request(new HoldRequest(path, Duration.ofSeconds(9)));
        pollTenTimes(controller);
        assertThat(asked.toCompletableFuture().join().state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void pause_outlivesTheProcess_untilSomebodyResumes() throws IOException {
        harness.stored(1, 2);
        harness.hold(1, 2);
        harness.controller.releaseAll("at night");
        harness.settle();
        ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, harness.disk, harness.engine);
        next.idle();
        next.settle();
        next.stored(1, 2);
        var refused = next.ask(1, 2);
        next.settle();
        assertThat(refused.exceptionNow()).hasMessageContaining("paused: at night");
        next.controller.resumeHolding();
        next.settle();
        assertThat(next.hold(1, 2).state()).isEqualTo(HoldState.HELD);
        ControllerHarness third = new ControllerHarness(ControllerHarness.SETTINGS, harness.disk, harness.engine);
        assertThat(third.controller.view().paused()).isEmpty();
    }

    @Test
    void backend_thatIsHindered_isNotAskedUntilItIsNoMore() {
        harness.stored(1, 2);
        harness.engine.hindrance = Optional.of("another one is at it");
        assertThat(harness.hold(1, 2).reason()).isEqualTo("another one is at it");
        assertThat(harness.takeLog()).isEmpty();
        harness.engine.hindrance = Optional.empty();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.takeLog()).containsExactly("write PINNING 2 for 1", "pin 2", "write PINNED 2 for 1");
    }

    @Test
    void pin_rejected_refusesTheHold() throws IOException {
        harness.engine.pinAnswers.add(Outcome.Kind.REJECTED);
        harness.stored(1, 2);
        HoldView refused = harness.hold(1, 2);
        assertThat(refused.state()).isEqualTo(HoldState.RELEASED);
        assertThat(refused.reason()).isEqualTo("refused: pin REJECTED");
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void pin_missing_waitsAndTriesAgain() {
        harness.engine.pinAnswers.add(Outcome.Kind.MISSING);
        harness.stored(1, 2);
        assertThat(harness.hold(1, 2).state()).isEqualTo(HoldState.REQUESTED);
        harness.pass(Duration.ofMillis(500));
        assertThat(harness.log).filteredOn("pin 2"::equals).hasSize(1);
        harness.pass(Duration.ofMillis(600));
        assertThat(harness.holdNow(1).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void release_whileThePinIsUnderWay_unpinsWhatWasPinned() throws IOException {
        harness.stored(1, 2);
        var asked = harness.ask(1, 2);
        harness.controller.poll(harness.now);
        var released = harness.controller.release(1).toCompletableFuture();
        harness.controller.poll(harness.now);
        assertThat(released).isNotDone();
        harness.settle();
        assertThat(released.join().orElseThrow().state()).isEqualTo(HoldState.RELEASED);
        assertThat(asked.join().state()).isEqualTo(HoldState.RELEASED);
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.disk.outstanding()).isEmpty();
    }

    @Test
    void ledger_cannotBeWritten_noPinAndTheHoldSaysWhy() {
        harness.stored(1, 2);
        harness.disk.broken = true;
        HoldView refused = harness.hold(1, 2);
        assertThat(refused.state()).isEqualTo(HoldState.RELEASED);
        assertThat(refused.reason())
                .isEqualTo("refused: the ledger cannot be written, and without it a pin could outlive us: disk full");
        assertThat(harness.takeLog()).isEmpty();
        assertThat(harness.controller.view().budget().pinnedTokens()).isZero();
    }

    @Test
    void ledger_cannotBeWrittenForAWhile_isWrittenWhenItCan() throws IOException {
        harness.stored(1, 2);
        long id = harness.hold(1, 2).id();
        harness.takeLog();
        harness.disk.broken = true;
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        harness.controller.release(id);
        harness.settle();
        assertThat(harness.takeLog()).containsExactly("unpin 2");
        harness.pass(Duration.ofMinutes(1));
        harness.disk.broken = false;
        harness.pass(Duration.ofSeconds(6));
        assertThat(harness.takeLog()).containsExactly("write UNSURE 2 for 1");
        harness.pass(Duration.ofMinutes(1));
        assertThat(harness.takeLog()).as("once is enough").isEmpty();
    }

    @Test
    void ledger_cannotBeWrittenButTheEngineForgetsByItself_pins() {
        harness.engine.traits = BackendTraits.hard()
                .needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH)
                .endingByThemselves();
        ControllerHarness forgetful = new ControllerHarness(ControllerHarness.SETTINGS, harness.disk, harness.engine);
        forgetful.idle();
        forgetful.settle();
        forgetful.disk.broken = true;
        forgetful.stored(1, 2);
        assertThat(forgetful.hold(1, 2).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void ledger_cannotBeRead_noControllerIsMade() {
        LedgerStore unreadable = new LedgerStore() {
            @Override
            public List<LedgerLine> read() throws IOException {
                throw new IOException("no permission");
            }

            @Override
            public void append(LedgerLine line) {}

            @Override
            public void replaceWith(List<LedgerLine> lines) {}
        };
        assertThatThrownBy(() -> new Controller(
                        ControllerHarness.SETTINGS,
                        new DryRunBackend(),
                        unreadable,
                        Runnable::run,
                        new SplittableRandom(1)))
                .isInstanceOf(IOException.class)
                .hasMessage("no permission");
    }

    @Test
    void ids_continueAfterTheLargestEverWritten() {
        harness.stored(1, 2);
        harness.controller.release(harness.hold(1, 2).id());
        harness.settle();
        for (int life = 0; life < 3; life++) {
            ControllerHarness next = new ControllerHarness(ControllerHarness.SETTINGS, harness.disk, harness.engine);
            next.idle();
            next.settle();
            next.stored(1, 2);
            assertThat(next.hold(1, 2).id()).isEqualTo(life + 2L);
            next.controller.release(life + 2L);
            next.settle();
            assertThat(harness.disk.lines).hasSizeLessThan(10);
        }
    }

    @Test
    void backend_thatThrows_leavesNothingPinnedForGood() {
        Backend faulty = new Backend() {
            @Override
            public String name() {
                return "faulty";
            }

            @Override
            public BackendTraits traits() {
                return BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);
            }

            @Override
            public String handle(PinCommand command) {
                return "faulty";
            }

            @Override
            public CompletableFuture<Capabilities> probe() {
                return CompletableFuture.completedFuture(new Capabilities(true, "claims so"));
            }

            @Override
            public CompletableFuture<Outcome> pin(PinCommand command) {
                throw new IllegalStateException("bug");
            }

            @Override
            public CompletableFuture<Outcome> unpin(List<String> handles) {
                return CompletableFuture.failedFuture(new IllegalStateException("bug"));
            }
        };
        Holder holder = new Holder(faulty);
        assertThat(holder.hold().reason()).contains("no clear answer", "bug");
    }

    /** A controller that acts at once, for one hold. */
    private record Holder(Backend backend) {
        HoldView hold() {
            try {
                Controller controller = new Controller(
                        ControllerHarness.SETTINGS,
                        backend,
                        new ControllerHarness.Disk(),
                        Runnable::run,
                        new SplittableRandom(1));
                controller.poll(0);
                controller.events().batchStarted(0, 0);
                controller.events().stored(ControllerHarness.chain(1, 2));
                controller.events().batchEnded();
                controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0));
                var answer = controller.request(new HoldRequest(new long[] {1, 2}, Duration.ofSeconds(9)));
                for (int i = 0; i < 10; i++) {
                    controller.poll(i);
                }
                return answer.toCompletableFuture().join();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }

    private static void assertStartReleases(ControllerHarness.Disk disk) {
        ControllerHarness next =
                new ControllerHarness(ControllerHarness.SETTINGS, disk, new ControllerHarness.Engine());
        next.idle();
        next.stored(1, 2);
        HoldView held = next.hold(Duration.ofMinutes(5), 1, 2);
        assertThat(next.takeLog()).containsExactly("unpin 2");
        next.pass(Duration.ofSeconds(61));
        assertThat(next.takeLog())
                .as("a call that was under way when we died could still arrive")
                .containsSubsequence("unpin 2", "write RELEASED 2 for 41", "write PINNING 2 for 42", "pin 2");
        assertThat(next.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(next.engine.pins).containsEntry(2L, 1);
    }

    @Test
    void pin_thatMayArriveLate_andWhoseBlockLeft_isKept() {
        harness.engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        harness.stored(1, 2);
        harness.engine.unpinAnswers.add(Outcome.Kind.MISSING);
        var unused = harness.ask(Duration.ofSeconds(30), 1, 2);
        harness.settle();
        harness.removed(2, 1);
        harness.stored(1, 2, 3);
        harness.storedUnder(2, 9);
        harness.removed(3);
        harness.settle();
        harness.takeLog();
        harness.pass(Duration.ofSeconds(61));
        harness.stored(50);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.takeLog()).doesNotContain("unpin 2");
        assertThat(harness.controller.view().pins().kept()).isEqualTo(1);
    }

    @Test
    void pin_thatNeedsNoEnd_whoseBlockLeft_isUnpinnedAtOnce() {
        harness.engine.traits = BackendTraits.hard().needing(Need.UNAMBIGUOUS_HASH);
        harness.engine.late = true;
        harness.stored(1, 2);
        long id = leftWhileUnderWay();
        harness.stored(1, 2, 3);
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        harness.controller.release(id);
        harness.settle();
        assertThat(harness.takeLog()).contains("unpin 2");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void pin_whoseBlockCameBackInTheMiddleOfWhatIsThere_isUnpinned() {
        harness.engine.late = true;
        harness.stored(1, 2);
        long id = leftWhileUnderWay();
        harness.stored(1, 2, 3);
        answered(id);
        assertThat(harness.takeLog()).contains("unpin 2");
        assertThat(harness.engine.pins).isEmpty();
    }
}
