package io.holdfast.core;

import static io.holdfast.core.ControllerHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.RankLoad;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** An engine with two data-parallel ranks, whose caches one pin call reaches together. */
final class RanksTest {
    private final ControllerHarness harness = new ControllerHarness(
            ControllerHarness.SETTINGS, new ControllerHarness.Disk(), new ControllerHarness.Engine());
    private final long[] sequences = new long[2];

    RanksTest() {
        harness.engine.capabilities = new Capabilities(true, "test", 2);
        for (int rank = 0; rank < 2; rank++) {
            int one = rank;
            batch(rank, () -> harness.controller.events(one).cleared());
        }
        harness.now += 20 * SECOND;
        load(0, 0);
    }

    @Test
    void prefixStoredAtDifferentPoints_isPinnedOnBoth() {
        stored(0, 1, 2, 3, 10);
        stored(1, 1, 2, 3, 20, 21);
        HoldView hold = harness.hold(1, 2, 3);

        assertThat(harness.engine.pins).containsOnlyKeys(10L, 21L);
        assertThat(hold.state()).isEqualTo(HoldState.HELD);
        assertThat(harness.holdNow(hold.id())).satisfies(now -> {
            assertThat(now.reason()).isEqualTo("held on 2 of 2 data-parallel ranks (0, 1)");
            assertThat(now.heldBlocks()).isEqualTo(3);
            assertThat(now.beyondTokens()).isEqualTo(2 * 16);
        });
        assertThat(harness.controller.view().budget().pinnedTokens())
                .as("each block once, as if it were everywhere")
                .isEqualTo(6 * 16);

        harness.pass(Duration.ofSeconds(20));
        harness.controller.release(hold.id());
        harness.settle();
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.holdNow(hold.id()).state()).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void blockThatEndsInBoth_isPinnedOnceForBoth() {
        stored(0, 1, 2, 3);
        stored(1, 1, 2, 3);
        harness.hold(1, 2, 3);
        assertThat(harness.engine.pins).containsOnly(java.util.Map.entry(3L, 1));
        assertThat(harness.engine.caches).containsExactly(2);
    }

    @Test
    void blockInTheMiddleElsewhere_isNotPinned() {
        stored(0, 1, 2, 3);
        stored(1, 1, 2, 3, 4);
        HoldView hold = harness.hold(1, 2, 3);
        assertThat(harness.engine.pins).containsOnlyKeys(4L);
        assertThat(harness.holdNow(hold.id()).reason())
                .contains("held on 1 of 2 data-parallel ranks (1); rank 0 has it, and no request");

        storedUnder(0, 3, 30);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).containsOnlyKeys(4L, 30L);
    }

    /** A hash that was announced twice may name two blocks, and its unpin the wrong one. */
    @Test
    void endWhoseHashMayNameTwoBlocks_isNotPinned() {
        stored(0, 1, 2, 3, 10);
        storedUnder(0, 3, 10);
        stored(1, 1, 2, 3, 20);
        HoldView hold = harness.hold(1, 2, 3);
        assertThat(harness.engine.pins).containsOnlyKeys(20L);
        assertThat(harness.holdNow(hold.id()).reason())
                .contains("held on 1 of 2 data-parallel ranks (1); rank 0 has it, and no request");

        storedUnder(0, 3, 30);
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).containsOnlyKeys(20L, 30L);
    }

    @Test
    void heldBlock_thatComesToAnotherRankWhereItMayBeTwo_isNotPinnedAnew() {
        stored(0, 1, 2, 3);
        HoldView hold = harness.hold(1, 2, 3);
        harness.pass(Duration.ofSeconds(20));
        stored(1, 1, 2, 3);
        storedUnder(1, 2, 3);
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.caches).containsExactly(1);
        assertThat(harness.engine.pins).containsOnlyKeys(3L);
        assertThat(harness.holdNow(hold.id()).reason())
                .contains("held on 1 of 2 data-parallel ranks (0); rank 1 has it, and no request");
    }

    @Test
    void blockThatComesToAnotherRank_isPinnedAnewInBoth() {
        stored(0, 1, 2, 3);
        HoldView hold = harness.hold(1, 2, 3);
        assertThat(harness.holdNow(hold.id()).reason())
                .contains("held on 1 of 2 data-parallel ranks (0); rank 1 does not have it");
        harness.pass(Duration.ofSeconds(20));
        stored(1, 1, 2, 3);
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).containsOnly(java.util.Map.entry(3L, 1));
        assertThat(harness.engine.caches).containsExactly(1, 2);
        assertThat(harness.holdNow(hold.id()).reason()).isEqualTo("held on 2 of 2 data-parallel ranks (0, 1)");
    }

    @Test
    void rankThatIsNotCertain_keepsAllFromBeingPinned() {
        stored(0, 1, 2, 3);
        batch(1, () -> harness.controller.events(1).gap(new Gap(Gap.Cause.DROPPED, 1, 4)));
        HoldView hold = harness.hold(1, 2, 3);
        assertThat(hold.reason()).contains("a pin reaches every data-parallel rank", "of data-parallel rank 1: ");
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.controller.view().certain()).isFalse();

        batch(1, () -> harness.controller.events(1).cleared());
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.engine.pins).containsOnlyKeys(3L);
    }

    @Test
    void rankThatIsNotFollowed_keepsAllFromBeingPinned() {
        harness.engine.capabilities = new Capabilities(true, "test", 3);
        ControllerHarness blind =
                new ControllerHarness(ControllerHarness.SETTINGS, new ControllerHarness.Disk(), harness.engine);
        blind.idle();
        blind.settle();
        blind.stored(1, 2, 3);
        assertThat(blind.hold(1, 2, 3).reason()).contains("the caches of all 3 data-parallel ranks, and only 1");
        assertThat(blind.engine.pins).isEmpty();
    }

    @Test
    void pinInMoreCachesThanKnown_isTakenBackOnceTheyAreSeen() {
        stored(0, 1, 2, 3);
        harness.engine.clippedIn = 2;
        harness.engine.pinAnswers.add(Outcome.Kind.CLIPPED);
        HoldView hold = harness.hold(1, 2, 3);
        assertThat(hold.reason()).contains("pinned otherwise than asked");
        harness.pass(Duration.ofSeconds(20));
        assertThat(harness.engine.pins).as("who has it is not known yet").containsOnlyKeys(3L);

        stored(1, 1, 2, 3, 4);
        harness.pass(Duration.ofSeconds(1));
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.takeLog()).contains("unpin 3");
        assertThat(harness.engine.pins).as("and pinned elsewhere").containsOnlyKeys(4L);
    }

    @Test
    void pinThatLeadsToWhatIsGone_isKeptUntilTheBlockIsGoneToo() {
        stored(0, 1, 2, 3);
        harness.engine.clippedIn = 2;
        harness.engine.pinAnswers.add(Outcome.Kind.CLIPPED);
        harness.hold(1, 2, 3);
        stored(1, 1, 2, 3, 4);
        storedUnder(1, 2, 7);
        removed(1, 4);
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.log).doesNotContain("unpin 3");
        assertThat(harness.controller.view().pins().kept()).isEqualTo(1);
        assertThat(harness.controller.view().budget().pinnedTokens()).isGreaterThanOrEqualTo(3 * 16);

        for (int i = 0; i < 40; i++) {
            harness.pass(Duration.ofSeconds(1));
        }
        assertThat(harness.controller.view().pins().kept())
                .as("nothing is taken at rest")
                .isZero();
        assertThat(harness.log).doesNotContain("unpin 3");
    }

    /** The answer counts as many as were asked for, and it was another cache that counted. */
    @Test
    void pinWhoseCacheLetGoWhileItsCallWasUnderWay_isKeptWhereItMayLeadToWhatIsGone() {
        stored(0, 1, 2, 3);
        harness.engine.late = true;
        var asked = harness.ask(1, 2, 3);
        harness.settle();
        removed(0, 3);
        stored(1, 1, 2, 3, 4);
        storedUnder(1, 2, 7);
        removed(1, 4);
        harness.settle();
        harness.engine.late = false;
        harness.engine.unanswered.remove().run();
        harness.settle();
        assertThat(harness.engine.pins).containsOnlyKeys(3L);
        harness.controller.release(asked.join().id());
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(1));
        assertThat(harness.log).doesNotContain("unpin 3");
        assertThat(harness.controller.view().pins().kept()).isEqualTo(1);
    }

    @Test
    void removalOnOneRank_losesTheHold() {
        stored(0, 1, 2, 3);
        stored(1, 1, 2, 3);
        HoldView hold = harness.hold(1, 2, 3);
        harness.pass(Duration.ofSeconds(20));
        removed(1, 3);
        harness.settle();
        assertThat(harness.holdNow(hold.id()).timesLost()).isEqualTo(1);
        harness.pass(Duration.ofSeconds(20));
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.holdNow(hold.id()).reason()).startsWith("held on 1 of 2 data-parallel ranks (0)");
        assertThat(harness.engine.pins).containsOnly(java.util.Map.entry(3L, 1));
    }

    @Test
    void clearOfOneRank_endsEveryPin() {
        stored(0, 1, 2, 3, 10);
        stored(1, 1, 2, 3, 20);
        HoldView hold = harness.hold(1, 2, 3);
        harness.pass(Duration.ofSeconds(20));
        batch(1, () -> harness.controller.events(1).cleared());
        harness.takeLog();
        harness.settle();
        assertThat(harness.takeLog()).contains("unpin 10", "unpin 20");
        harness.pass(Duration.ofSeconds(2));
        assertThat(harness.holdNow(hold.id()).reason()).startsWith("held on 1 of 2 data-parallel ranks (0)");
        assertThat(harness.engine.pins).containsOnlyKeys(10L);
    }

    @Test
    void rankThatStalls_endsEveryPin_whateverTheOtherRuns() {
        stored(0, 1, 2, 3);
        harness.hold(1, 2, 3);
        for (int i = 0; i < 20; i++) {
            harness.now += SECOND;
            harness.controller.readings(readings(new int[] {4, 0}, new int[] {0, 2}, 64));
            harness.settle();
        }
        assertThat(harness.engine.pins).isEmpty();
        assertThat(harness.controller.view().stalls()).isEqualTo(1);
    }

    /** Each cache counts what it found, so the answer to a call for several pins would tell nothing of each. */
    @Test
    void rankThatStalls_endsEachPinByACallOfItsOwn() {
        stored(0, 1, 2, 3);
        stored(0, 4, 5);
        harness.hold(1, 2, 3);
        harness.hold(4, 5);
        harness.pass(Duration.ofSeconds(20));
        harness.takeLog();
        for (int i = 0; i < 20; i++) {
            harness.now += SECOND;
            harness.controller.readings(readings(new int[] {4, 0}, new int[] {0, 2}, 64));
            harness.settle();
        }
        assertThat(harness.takeLog())
                .filteredOn(line -> line.startsWith("unpin"))
                .containsExactlyInAnyOrder("unpin 3", "unpin 5");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void loadOfOneRankUnknown_keepsAllFromBeingPinned() {
        stored(0, 1, 2, 3);
        harness.controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, 0, 0, 0, harness.now));
        assertThat(harness.hold(1, 2, 3).reason())
                .contains("the engine does not report it for each data-parallel" + " rank");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void boundOfTheFullestRank_isTheEngines() {
        stored(0, 1, 2, 3);
        harness.controller.readings(readings(new int[] {1, 1}, new int[] {0, 0}, 0, 9_900));
        assertThat(harness.hold(1, 2, 3).reason()).contains("in use beside our pins 9900");
        assertThat(harness.engine.pins).isEmpty();
    }

    private void stored(int rank, long... blocks) {
        batch(rank, () -> harness.controller.events(rank).stored(ControllerHarness.chain(blocks)));
    }

    private void storedUnder(int rank, long parent, long... blocks) {
        StoredBlocks chain = ControllerHarness.chain(blocks).under(parent);
        batch(rank, () -> harness.controller.events(rank).stored(chain));
    }

    private void removed(int rank, long... blocks) {
        batch(rank, () -> harness.controller.events(rank).removed(blocks, 0, blocks.length, Tier.GPU, 0));
    }

    private void batch(int rank, Runnable events) {
        harness.controller.events(rank).batchStarted(sequences[rank]++, 0);
        events.run();
        harness.controller.events(rank).batchEnded();
    }

    private void load(int running, int waiting) {
        harness.controller.readings(readings(new int[] {running, running}, new int[] {waiting, waiting}, 0));
        harness.settle();
    }

    private EngineReadings readings(int[] running, int[] waiting, int... used) {
        EngineReadings all = Samples.readings(
                10_000,
                16,
                9_000,
                running[0] + running[1],
                waiting[0] + waiting[1],
                used[0] + used[used.length - 1],
                0,
                0,
                harness.now);
        return all.but()
                .ranks(List.of(
                        new RankLoad(at(running[0]), at(waiting[0]), at(used[0])),
                        new RankLoad(at(running[1]), at(waiting[1]), at(used[used.length - 1]))))
                .build();
    }

    private Reading at(double value) {
        return Reading.known(value, "test", harness.now);
    }
}
