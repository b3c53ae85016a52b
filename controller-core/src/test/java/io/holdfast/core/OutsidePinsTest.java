package io.holdfast.core;

import static io.holdfast.core.ControllerHarness.SETTINGS;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.ControllerHarness.Disk;
import io.holdfast.core.ControllerHarness.Engine;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Released;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.LedgerLine.Header;
import io.holdfast.core.pin.LedgerLine.Step;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Holds by a backend that keeps a copy outside of the engine, and looks first whether a pin is there that it unpins. */
final class OutsidePinsTest {
    private static final Duration HOUR = Duration.ofHours(1);

    private final Engine engine = new Engine();
    private final Disk disk = new Disk();
    private ControllerHarness harness = started();

    private ControllerHarness started() {
        return started(BackendTraits.soft()
                .needing(Need.TOKENS)
                .byCall()
                .lookingFirst()
                .outsideTheEngine()
                .askedAfterEvery(Duration.ofSeconds(30)));
    }

    private ControllerHarness started(BackendTraits traits) {
        engine.traits = traits;
        ControllerHarness fresh = new ControllerHarness(SETTINGS, disk, engine);
        fresh.controller.hasToken(1_000_000);
        fresh.idle();
        fresh.settle();
        return fresh;
    }

    @Test
    void whatTheEngineEvictsOrClears_isHeldStill() {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().budget().pinnedTokens())
                .as("it takes nothing of the engine's cache")
                .isZero();
        harness.removed(3);
        harness.pass(Duration.ofSeconds(1));
        harness.cleared();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.holdNow(held.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.takeLog()).containsExactly("write PINNING 3 for 1", "pin 3", "write PINNED 3 for 1");
        release(held);
        assertThat(harness.takeLog()).containsExactly("unpin 3", "write RELEASED 3 for 1");
        assertThat(engine.pins).isEmpty();
    }

    @Test
    void twoHoldsOfOnePrefix_areOnePinAndOneUnpin() throws IOException {
        harness.stored(1, 2, 3);
        HoldView one = hold(1, 2, 3);
        harness.removed(3);
        harness.storedUnder(2, 3);
        HoldView other = hold(1, 2, 3);
        assertThat(engine.pins).containsEntry(3L, 1);
        release(one);
        assertThat(engine.pins).containsEntry(3L, 1);
        release(other);
        assertThat(engine.pins).isEmpty();
        assertThat(disk.outstanding()).isEmpty();
    }

    @Test
    void pinThatIsNotThereAnyMore_isLost_andNotUnpinned() throws IOException {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        harness.takeLog();
        engine.renewAnswers.add(Outcome.Kind.MISSING);
        engine.pinAnswers.add(Outcome.Kind.NOT_SENT);
        harness.pass(Duration.ofSeconds(31));
        harness.pass(Duration.ofMillis(200));
        assertThat(harness.holdNow(held.id()).timesLost()).isEqualTo(1);
        assertThat(harness.holdNow(held.id()).reason()).contains("renew MISSING");
        assertThat(harness.takeLog()).noneMatch(line -> line.startsWith("unpin"));
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.holdNow(held.id()).state()).as("pinned again").isEqualTo(HoldState.HELD);
        assertThat(disk.outstanding()).hasSize(1);
    }

    @Test
    void unclearAnswerToThePin_isUnpinnedOnce_whereItIsThere() {
        harness.stored(1, 2, 3);
        engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        HoldView waits = hold(1, 2, 3);
        assertThat(waits.reason())
                .isEqualTo("no clear answer to the pin, so it is taken back before it is tried again: pin DEFERRED");
        assertThat(harness.takeLog()).containsOnlyOnce("unpin 3");
        assertThat(engine.pins).isEmpty();
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.holdNow(waits.id()).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void unclearPinThatIsNotThereYet_isLookedForWhenItCanArriveNoMore() {
        harness.stored(1, 2, 3);
        engine.pinAnswers.add(Outcome.Kind.DEFERRED);
        engine.unpinAnswers.add(Outcome.Kind.MISSING);
        HoldView waits = hold(1, 2, 3);
        CompletableFuture<Optional<HoldView>> released =
                harness.controller.release(waits.id()).toCompletableFuture();
        harness.settle();
        harness.takeLog();
        harness.pass(Duration.ofSeconds(58));
        assertThat(harness.takeLog()).doesNotContain("unpin 3");
        harness.pass(Duration.ofSeconds(3));
        assertThat(harness.takeLog()).containsOnlyOnce("unpin 3");
        assertThat(engine.pins).isEmpty();
        assertThat(released.join().orElseThrow().state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void unclearAnswerToTheUnpin_isAskedAgain_whenItCanArriveNoMore() throws IOException {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        HoldView released = release(held);
        assertThat(released.state()).isEqualTo(HoldState.EXPIRING);
        assertThat(released.reason())
                .isEqualTo("no clear answer to the unpin, which may still be carried out; in a minute it is looked"
                        + " whether the pin is there, and unpinned if it is: unpin DEFERRED");
        assertThat(harness.controller.view().pins().unsure()).isEqualTo(1);
        assertThat(disk.outstanding())
                .singleElement()
                .satisfies(entry -> assertThat(entry.step()).isEqualTo(Step.UNSURE));
        harness.served(0);
        harness.pass(Duration.ofSeconds(50));
        release(held);
        CompletableFuture<Released> all = harness.controller.releaseAll("test").toCompletableFuture();
        harness.settle();
        assertThat(all.join().pending()).isEqualTo(1);
        assertThat(harness.log).as("nobody's impatience makes it safe before").containsOnlyOnce("unpin 3");
        harness.pass(Duration.ofSeconds(11));
        assertThat(harness.log.stream().filter("unpin 3"::equals)).hasSize(2);
        assertThat(engine.pins).isEmpty();
        assertThat(disk.outstanding()).isEmpty();
    }

    /** Where an unpin does not look first it is not repeated, and only a person can tell whether it was carried out. */
    @Test
    void unclearUnpin_isNotClosedByAnEngineAtRest() throws IOException {
        harness = started(BackendTraits.soft().needing(Need.TOKENS).byCall().outsideTheEngine());
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        release(held);
        harness.served(0);
        harness.served(0);
        assertThat(harness.controller.view().pins().unsure()).isEqualTo(1);
        assertThat(disk.outstanding())
                .singleElement()
                .satisfies(entry -> assertThat(entry.step()).isEqualTo(Step.UNSURE));
    }

    @Test
    void unclearUnpinThatWasDone_isFoundOut_andThePrefixIsHeldAgain() throws IOException {
        harness.stored(1, 2, 3);
        HoldView held = hold(1, 2, 3);
        engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        release(held);
        engine.pins.clear();
        HoldView again = hold(1, 2, 3);
        assertThat(again.state()).isEqualTo(HoldState.REQUESTED);
        harness.pass(Duration.ofSeconds(63));
        assertThat(harness.holdNow(again.id()).state()).isEqualTo(HoldState.HELD);
        assertThat(engine.pins).containsEntry(3L, 1);
        assertThat(disk.outstanding()).hasSize(1);
    }

    @Test
    void nextLife_looksForAnUnpinWithoutAnswer_whenItCanArriveNoMore() throws IOException {
        disk.append(Step.UNSURE, 1, 3, 3);
        engine.pins.put(3L, 1);
        harness = started();
        harness.stored(4, 5);
        assertThat(hold(4, 5).state()).as("nothing else waits for it").isEqualTo(HoldState.HELD);
        harness.pass(Duration.ofSeconds(50));
        assertThat(harness.takeLog()).doesNotContain("unpin 3");
        harness.pass(Duration.ofSeconds(11));
        assertThat(harness.takeLog()).containsOnlyOnce("unpin 3");
        assertThat(engine.pins).containsOnlyKeys(5L);
    }

    @Test
    void earlierPinsThatNobodyAnswersFor_areNotInTheWay() throws IOException {
        disk.append(Step.PINNED, 1, 3, 3);
        engine.pins.put(3L, 1);
        for (int i = 0; i < 3; i++) {
            engine.unpinAnswers.add(Outcome.Kind.NOT_SENT);
        }
        harness = started();
        harness.stored(4, 5);
        assertThat(hold(4, 5).state()).isEqualTo(HoldState.HELD);
        assertThat(harness.controller.view().pins().leftovers()).isEqualTo(1);
        for (int i = 0; i < 3; i++) {
            harness.pass(Duration.ofSeconds(30));
        }
        assertThat(engine.pins).containsOnlyKeys(5L);
    }

    @Test
    void ledgerOfAnotherModel_isReleasedAllTheSame() throws IOException {
        disk.append(new Header(Header.VERSION, identity("one")));
        disk.append(Step.PINNED, 1, 3, 3);
        engine.pins.put(3L, 1);
        harness = started();
        harness.controller.engineIs(identity("another"));
        harness.settle();
        assertThat(harness.takeLog()).contains("unpin 3");
        assertThat(engine.pins).isEmpty();
        assertThat(disk.outstanding()).isEmpty();
    }

    private static EngineIdentity identity(String model) {
        return new EngineIdentity("http://one:1", "http://10.0.0.1:1", Optional.of(model));
    }

    @Test
    void nextLife_unpinsWhatTheLedgerLists_once() throws IOException {
        harness.stored(1, 2, 3);
        hold(1, 2, 3);
        harness = started();
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.takeLog()).containsOnlyOnce("unpin 3");
        assertThat(engine.pins).isEmpty();
        assertThat(disk.outstanding()).isEmpty();
    }

    @Test
    void nextLife_looksForAPinThatMayArrive_asLongAsItMay() throws IOException {
        disk.append(Step.PINNING, 1, 3, 3);
        harness = started();
        harness.pass(Duration.ofSeconds(50));
        assertThat(harness.takeLog()).containsOnlyOnce("unpin 3");
        assertThat(disk.outstanding()).hasSize(1);
        engine.pins.put(3L, 1);
        harness.pass(Duration.ofSeconds(11));
        assertThat(harness.takeLog()).containsOnlyOnce("unpin 3");
        assertThat(engine.pins).isEmpty();
        assertThat(disk.outstanding()).isEmpty();
    }

    private HoldView hold(long... path) {
        int[] tokens = new int[path.length * 16];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = i + 1;
        }
        CompletableFuture<HoldView> answer =
                harness.controller.request(new HoldRequest(path, tokens, HOUR)).toCompletableFuture();
        harness.settle();
        return answer.getNow(harness.controller.view().holds().getLast());
    }

    private HoldView release(HoldView hold) {
        CompletableFuture<Optional<HoldView>> answer =
                harness.controller.release(hold.id()).toCompletableFuture();
        harness.settle();
        return answer.getNow(Optional.empty()).orElseThrow();
    }
}
