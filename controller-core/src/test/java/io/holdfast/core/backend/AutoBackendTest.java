package io.holdfast.core.backend;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.hold.HoldRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** What is chosen, and what a touch is. */
class AutoBackendTest {
    private static final HoldRequest PREFIX =
            new HoldRequest(new long[] {1, 2}, new int[] {5, 6, 7, 8}, Duration.ofHours(1));

    private final List<int[]> sent = new ArrayList<>();
    private Capabilities first = new Capabilities(false, "It has no sessions.");
    private Capabilities second = new Capabilities(true, "It caches.");
    private long cached = 4;
    private long nanos;

    private final KeepWarmBackend one = new KeepWarmBackend(this::send, () -> completed(first));
    private final KeepWarmBackend other = new KeepWarmBackend(this::send, () -> completed(second));
    private final AutoBackend auto = new AutoBackend(List.of(one, other), () -> nanos);

    @Test
    void beforeAnythingIsChosen_nothingCanBePinnedForReal() {
        assertThat(auto.name()).isEqualTo("auto");
        assertThat(auto.traits().needsLedger()).isFalse();
    }

    @Test
    void firstThatCan_isChosen_andSaysWhyNotTheOthers() {
        assertThat(probed())
                .isEqualTo(new Capabilities(true, "Chosen: keep_warm. It caches. Not keep_warm: It has no sessions."));
        assertThat(auto.itself()).isSameAs(other);
    }

    @Test
    void whatHindersTheLast_isSaidFirst_andEachReasonOnce() {
        first = new Capabilities(false, "It has 2 caches.");
        second = first;
        AutoBackend all = new AutoBackend(List.of(new Hard(false), one, other), () -> nanos);

        Capabilities found = all.probe().toCompletableFuture().join();

        assertThat(found)
                .isEqualTo(new Capabilities(
                        false,
                        "It has 2 caches. No way to hold works on this engine. Not pin_blocks: It has no pins. Not"
                                + " keep_warm, keep_warm: It has 2 caches."));
        assertThat(found.shortly()).isEqualTo("It has 2 caches.");
    }

    @Test
    void pinsThatReachSeveralCaches_areChosenWithAllOfThem() {
        AutoBackend pins = new AutoBackend(List.of(new Hard(), other), () -> nanos);

        assertThat(pins.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(true, "Chosen: pin_blocks. It has pins.", 2));
    }

    @Test
    void howMuchTheEngineLetsBeHeld_isThatOfTheChosen() {
        first = new Capabilities(false, "It has no sessions.").upTo(100);
        second = new Capabilities(true, "It has a connector.").upTo(4_096);
        assertThat(probed().mostTokens()).hasValue(4_096);
    }

    @Test
    void nextProbe_choosesAnew() {
        probed();
        first = new Capabilities(true, "It has sessions now.");
        assertThat(probed().why()).isEqualTo("Chosen: keep_warm. It has sessions now.");
        assertThat(auto.itself()).isSameAs(one);
        first = new Capabilities(false, "a");
        second = new Capabilities(false, "b");
        assertThat(probed().canPin()).isFalse();
        assertThat(auto.itself()).isInstanceOf(DryRunBackend.class);
    }

    @Test
    void oneThatLosesThreePins_isPassedOverForAnHour() {
        first = new Capabilities(true, "It has sessions.");
        probed();
        assertThat(auto.lost()).isFalse();
        nanos += 601_000_000_000L;
        assertThat(auto.lost()).isFalse();
        assertThat(auto.lost()).as("two within ten minutes").isFalse();
        assertThat(auto.lost()).isTrue();
        assertThat(probed().why())
                .isEqualTo("Chosen: keep_warm. It caches. Not keep_warm for an hour: it lost 3 pins within 10"
                        + " minutes.");
        assertThat(auto.itself()).isSameAs(other);
        for (int i = 0; i < 9; i++) {
            assertThat(auto.lost()).as("there is none behind it").isFalse();
        }
        second = new Capabilities(false, "It caches nothing any more.");
        assertThat(probed().why()).as("better than nothing").isEqualTo("Chosen: keep_warm. It has sessions.");
        assertThat(auto.itself()).isSameAs(one);
    }

    /** Pins that take memory for good, as far as choosing is concerned. */
    private static final class Hard implements Backend {
        private final boolean works;

        Hard() {
            this(true);
        }

        Hard(boolean works) {
            this.works = works;
        }

        @Override
        public String name() {
            return "pin_blocks";
        }

        @Override
        public BackendTraits traits() {
            return BackendTraits.hard();
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return completed(
                    works ? new Capabilities(true, "It has pins.", 2) : new Capabilities(false, "It has no pins."));
        }

        @Override
        public String handle(PinCommand command) {
            throw new AssertionError();
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            throw new AssertionError();
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            throw new AssertionError();
        }
    }

    @Test
    void pinsThatTakeMemory_areChosenWhereTheLargestHasRoom() {
        Hard hard = new Hard();
        AutoBackend both = new AutoBackend(List.of(hard, other), () -> nanos);
        assertThat(chosen(both)).as("while the room is not known").isSameAs(hard);
        assertThat(both.room(new Room(OptionalLong.of(1_024), 1_024, "why"))).isFalse();
        assertThat(both.room(new Room(OptionalLong.of(1_024), 1_040, "capacity 4096 - largest request 3072 = 1024")))
                .as("what is asked for now does not fit")
                .isTrue();
        assertThat(both.probe().toCompletableFuture().join().why())
                .isEqualTo(
                        "Chosen: keep_warm. It caches. Not pin_blocks: the guard leaves 1024 tokens for pins, and the"
                                + " largest prefix to hold has 1040 (capacity 4096 - largest request 3072 = 1024).");
        both.probed();
        assertThat(both.itself()).isSameAs(other);
        assertThat(both.room(new Room(OptionalLong.of(1_024), 16, "why")))
                .as("room that comes back changes nothing by itself")
                .isFalse();
        assertThat(both.itself()).isSameAs(other);
        assertThat(chosen(both)).as("with the next probe").isSameAs(hard);
    }

    @Test
    void guardThatLeavesNothing_isADryRun_untilThereIsRoom() {
        Hard hard = new Hard();
        AutoBackend both = new AutoBackend(List.of(hard, other), () -> nanos);
        Room none = new Room(OptionalLong.of(0), 0, "no room: context 4,096 of 4,096");
        assertThat(both.room(none)).as("nothing is chosen yet").isFalse();
        assertThat(both.probe().toCompletableFuture().join().why())
                .endsWith("Not pin_blocks: the guard leaves 0 tokens for pins (no room: context 4,096 of 4,096).");
        second = new Capabilities(false, "It caches nothing.");
        assertThat(both.probe().toCompletableFuture().join())
                .isEqualTo(
                        Capabilities.notNow("No way to hold works on this engine now, so this is a dry run until there"
                            + " is room for pins. Not pin_blocks: the guard leaves 0 tokens for pins (no room: context"
                            + " 4,096 of 4,096). Not keep_warm: It caches nothing."));
        both.probed();
        assertThat(both.itself()).isInstanceOf(DryRunBackend.class);
        assertThat(both.room(none)).isFalse();
        assertThat(both.room(new Room(OptionalLong.of(1_024), 1_040, "why"))).isFalse();
        assertThat(both.room(new Room(OptionalLong.of(1_024), 16, "why")))
                .as("there is room now")
                .isTrue();
        assertThat(both.room(new Room(OptionalLong.of(1_024), 16, "why")))
                .as("asked once")
                .isFalse();
        assertThat(chosen(both)).isSameAs(hard);
    }

    @Test
    void pinsThatHoldAlready_stayChosen_whenOneMoreHasNoRoom() {
        Hard hard = new Hard();
        AutoBackend alone = new AutoBackend(List.of(hard), () -> nanos);
        assertThat(chosen(alone)).isSameAs(hard);
        assertThat(alone.room(new Room(OptionalLong.of(1_024), 2_000, "why", 512)))
                .isTrue();
        assertThat(alone.probe().toCompletableFuture().join())
                .isEqualTo(new Capabilities(
                        true,
                        "Kept: pin_blocks, for what it holds already. Not pin_blocks: the guard leaves 1024 tokens for"
                                + " pins, and the largest prefix to hold has 2000 (why).",
                        2));
        alone.probed();
        assertThat(alone.itself()).isSameAs(hard);
        assertThat(alone.room(new Room(OptionalLong.of(1_024), 2_000, "why", 512)))
                .as("asked once")
                .isFalse();
    }

    private static Backend chosen(AutoBackend auto) {
        assertThat(auto.probe().toCompletableFuture().join().canPin()).isTrue();
        auto.probed();
        return auto.itself();
    }

    @Test
    void touch_hasOneTokenBeyondWholeBlocks() {
        assertThat(pinned(2).kind()).isEqualTo(Kind.ACCEPTED);
        assertThat(sent.getLast()).containsExactly(5, 6, 7, 8, 8);
        cached = 2;
        assertThat(pinned(1).kind()).isEqualTo(Kind.ACCEPTED);
        assertThat(sent.getLast()).containsExactly(5, 6, 6);
    }

    @Test
    void touchThatFindsLessThanItsPrefix_cameTooLate() {
        cached = 3;
        assertThat(pinned(2))
                .isEqualTo(new Outcome(
                        Kind.ACCEPTED,
                        "A request of the sidecar's own came too late: of 4 tokens the engine found 3 in its cache, and"
                                + " computed the rest again.",
                        OptionalLong.of(3)));
    }

    @Test
    void prefixWithoutTokens_isRefused() {
        HoldRequest names = new HoldRequest(new long[] {1, 2}, Duration.ofHours(1));
        Outcome outcome =
                other.pin(new PinCommand(1, 1, names, 2)).toCompletableFuture().join();
        assertThat(outcome.kind()).isEqualTo(Kind.REJECTED);
        assertThat(sent).isEmpty();
    }

    private Outcome pinned(int blocks) {
        return other.pin(new PinCommand(1, 1, PREFIX, blocks))
                .toCompletableFuture()
                .join();
    }

    private Capabilities probed() {
        Backend before = auto.itself();
        Capabilities found = auto.probe().toCompletableFuture().join();
        assertThat(auto.itself())
                .as("nothing changes before the answer is taken")
                .isSameAs(before);
        auto.probed();
        return found;
    }

    private CompletionStage<Outcome> send(int[] tokens) {
        sent.add(tokens);
        return completed(new Outcome(Kind.ACCEPTED, "answered", OptionalLong.of(cached)));
    }

    private static <T> CompletionStage<T> completed(T value) {
        return CompletableFuture.completedFuture(value);
    }
}
