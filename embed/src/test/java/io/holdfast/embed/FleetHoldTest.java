package io.holdfast.embed;

import static io.holdfast.embed.ToldEngine.BLOCK;
import static io.holdfast.embed.ToldEngine.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.ControllerSettings;
import io.holdfast.core.PrefixExplanation;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.Tier;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.SglangBlockNames;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holding: the ledger is a file, the engine is told of by the test. */
class FleetHoldTest {
    private static final int[] PROMPT = tokens(100, 8);
    private static final Lease LEASE = Lease.refreshed(Duration.ofMinutes(10));
    private static final long SECOND = 1_000_000_000L;

    @TempDir
    Path state;

    private final AtomicLong nanos = new AtomicLong(SECOND);
    private final Fleet fleet = new Fleet(BLOCK, nanos::get);
    private final List<FileLedgerStore> stores = new ArrayList<>();
    private final ToldEngine pins = ToldEngine.silent();
    private Engine engine;
    private ToldEngine told;

    @BeforeEach
    void begin() throws IOException {
        engine = fleet.add(EngineOptions.sglang("one").withHolding(holding("one")));
        told = new ToldEngine(engine.events());
        // What it does not know yet would have a hold wait.
        work();
    }

    @AfterEach
    void end() throws IOException {
        fleet.close();
        for (FileLedgerStore store : stores) {
            store.close();
        }
    }

    private Holding holding(String id) throws IOException {
        FileLedgerStore store = FileLedgerStore.open(state, id);
        stores.add(store);
        return Holding.of(pins, store, Runnable::run).withRandom(new Random(1));
    }

    /** Works until some seconds have passed, with fresh readings. */
    private void work() {
        for (int i = 0; i < 40; i++) {
            nanos.addAndGet(SECOND / 10);
            fleet.engines().forEach(each -> each.readings(ToldEngine.readings(1_000, nanos.get())));
            fleet.doWork();
        }
    }

    private static String last(int... tokens) {
        long[] names = SglangBlockNames.of(tokens, BLOCK);
        return Long.toString(names[names.length - 1]);
    }

    private <T> T answered(CompletionStage<T> stage) throws Exception {
        work();
        assertThat(stage.toCompletableFuture()).isDone();
        return stage.toCompletableFuture().get();
    }

    @Test
    void hold_ofWhatIsThere_isPinnedWrittenDownAndReleased() throws Exception {
        told.stores(PROMPT);

        HoldView held = answered(engine.hold(PROMPT, LEASE));

        assertThat(held.state()).isEqualTo(HoldState.HELD);
        assertThat(pins.pinned).containsExactly(last(PROMPT));
        assertThat(engine.view().orElseThrow().holds()).extracting(HoldView::id).containsExactly(held.id());
        assertThat(outstanding("one")).isEqualTo(1);

        Optional<HoldView> released = answered(engine.release(held.id()));

        assertThat(released.orElseThrow().state()).isEqualTo(HoldState.RELEASED);
        assertThat(pins.pinned).isEmpty();
        assertThat(outstanding("one")).isZero();
        assertThat(answered(engine.release(77))).isEmpty();
    }

    private int outstanding(String id) throws IOException {
        return new Ledger(FileLedgerStore.toRead(state, id, LedgerFiles.SYSTEM))
                .outstanding()
                .size();
    }

    @Test
    void oneStream_feedsIndexAndDecisions_alike() throws Exception {
        Random random = new Random(11);
        int[][] prompts = new int[12][];
        for (int i = 0; i < prompts.length; i++) {
            int[] tokens = tokens(1_000, 3 + random.nextInt(6));
            int differs = BLOCK * random.nextInt(tokens.length / BLOCK);
            for (int t = differs; t < tokens.length; t++) {
                tokens[t] += 10_000 * (i + 1);
            }
            prompts[i] = tokens;
        }
        int cached = 0;
        for (int round = 0; round < 120; round++) {
            int[] prompt = prompts[random.nextInt(prompts.length)];
            int there = fleet.match(prompt).tokens(engine, Tier.GPU) / BLOCK;
            int whole = prompt.length / BLOCK;
            switch (random.nextInt(8)) {
                case 0 -> told.clears();
                case 1, 2 -> {
                    if (there > 0) {
                        told.removes(Tier.GPU, random.nextInt(there), Arrays.copyOf(prompt, there * BLOCK));
                    }
                }
                default -> {
                    if (there < whole) {
                        told.stores(Tier.GPU, there, prompt);
                    }
                }
            }
            nanos.addAndGet(SECOND);
            fleet.doWork();
            for (int[] each : prompts) {
                CompletionStage<PrefixExplanation> explained = engine.explain(each);
                fleet.doWork();
                int blocks = explained.toCompletableFuture().get().cachedBlocks();
                assertThat(fleet.match(each).tokens(engine, Tier.GPU)).isEqualTo(blocks * BLOCK);
                cached += blocks;
            }
        }
        assertThat(cached).as("something was cached").isGreaterThan(1_000);
    }

    @Test
    void lostPrefix_isHeldOnceItIsStoredAgain() throws Exception {
        assertThat(answered(engine.hold(PROMPT, LEASE)).state()).isEqualTo(HoldState.REQUESTED);
        assertThat(pins.pinned).isEmpty();

        told.stores(PROMPT);
        work();

        assertThat(pins.pinned).containsExactly(last(PROMPT));
        PrefixExplanation why = answered(engine.explain(PROMPT));
        assertThat(List.of(why.cachedBlocks(), why.heldBlocks())).containsExactly(8, 8);
    }

    @Test
    void partOfABlock_isNoPartOfAHold() throws Exception {
        told.stores(PROMPT);
        int[] longer = Arrays.copyOf(PROMPT, PROMPT.length + BLOCK - 1);

        assertThat(answered(engine.hold(longer, LEASE)).wantedBlocks()).isEqualTo(8);
        assertThatThrownBy(() -> answered(engine.hold(Arrays.copyOf(PROMPT, BLOCK - 1), LEASE)))
                .hasRootCauseMessage("The prompt has 3 tokens, less than one block of 4; nothing of it can be held.");
    }

    @Test
    void requesterAndHint_reachTheHold() throws Exception {
        told.stores(PROMPT);
        HoldView held = answered(engine.hold(engine.prefix(PROMPT, LEASE).by("router")));
        assertThat(held.claims()).hasSize(1);

        nanos.addAndGet(300 * SECOND);
        fleet.doWork();
        List<HoldView> concerned = answered(engine.hint(Hint.USED, PROMPT));

        assertThat(concerned).extracting(HoldView::id).containsExactly(held.id());
        assertThat(concerned.getFirst().leaseLeft()).isGreaterThan(Duration.ofMinutes(9));
    }

    @Test
    void touch_prolongsALeaseThatUsesProlong() throws Exception {
        told.stores(PROMPT);
        answered(engine.hold(PROMPT, LEASE));
        nanos.addAndGet(300 * SECOND);
        work();
        assertThat(leaseLeft()).isLessThan(Duration.ofMinutes(6));

        assertThat(engine.touched(PROMPT)).isTrue();
        work();

        assertThat(leaseLeft()).isGreaterThan(Duration.ofMinutes(9));
        assertThat(engine.touched(new int[BLOCK - 1])).as("less than a block").isFalse();
    }

    private Duration leaseLeft() {
        return engine.view().orElseThrow().holds().getFirst().leaseLeft();
    }

    @Test
    void firstTokens_areTakenUntilTooManyWait() {
        int taken = 0;
        while (taken < 100_000 && engine.firstToken(FirstToken.of(0.1, 100))) {
            taken++;
        }

        assertThat(taken).isBetween(1_000, 99_999);
        fleet.doWork();
        nanos.addAndGet(SECOND);
        fleet.doWork();
        assertThat(engine.firstToken(FirstToken.of(0.1, 100))).isTrue();
    }

    @Test
    void releaseAll_pausesUntilResumed() throws Exception {
        told.stores(PROMPT);
        answered(engine.hold(PROMPT, LEASE));

        assertThat(answered(engine.releaseAll("lunch"))).isEqualTo(new Released(1, 0));
        assertThatThrownBy(() -> answered(engine.hold(PROMPT, LEASE)))
                .hasRootCauseInstanceOf(RejectedExecutionException.class);
        assertThat(engine.view().orElseThrow().paused()).hasValue("paused: lunch");

        assertThat(answered(engine.resume())).isTrue();
        assertThat(answered(engine.hold(PROMPT, LEASE)).state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void nextLife_releasesWhatItsLedgerLists() throws Exception {
        told.stores(PROMPT);
        answered(engine.hold(PROMPT, LEASE));
        fleet.close();
        stores.removeFirst().close();

        try (Fleet next = new Fleet(BLOCK, nanos::get)) {
            Engine again = next.add(EngineOptions.sglang("one").withHolding(holding("one")));
            new ToldEngine(again.events()).stores(PROMPT);
            for (int i = 0; i < 40; i++) {
                nanos.addAndGet(SECOND / 10);
                next.doWork();
            }
        }

        assertThat(pins.pinned).isEmpty();
        assertThat(outstanding("one")).isZero();
    }

    @Test
    void engineThatIsYetToSayWhichItIs_isLeftAloneUntilThen() throws Exception {
        told.stores(PROMPT);
        Engine two =
                fleet.add(EngineOptions.sglang("two").withHolding(holding("two").withIdentityToCome()));
        ToldEngine second = new ToldEngine(two.events());
        second.stores(PROMPT);
        answered(two.hold(PROMPT, LEASE));
        assertThat(pins.pinned).isEmpty();

        two.controller().orElseThrow().engineIs(EngineIdentity.VOUCHED_FOR);
        work();

        assertThat(pins.pinned).containsExactly(last(PROMPT));
    }

    @Test
    void removed_isFollowedUntilItLetGo() throws Exception {
        told.stores(PROMPT);
        answered(engine.hold(PROMPT, LEASE));
        CompletableFuture<Outcome> later = new CompletableFuture<>();
        pins.unpinLater = Optional.of(later);

        CompletionStage<Released> gone = fleet.remove(engine);
        work();
        assertThat(gone.toCompletableFuture()).isNotDone();
        assertThat(fleet.match(PROMPT).longest()).isEmpty();
        assertThat(engine.fault()).isEmpty();

        pins.unpinLater = Optional.empty();
        later.complete(new Outcome(Outcome.Kind.ACCEPTED, "at last"));

        assertThat(answered(gone)).isEqualTo(new Released(1, 0));
        assertThat(engine.fault()).hasValue("it was removed from the fleet");
        assertThat(outstanding("one")).isZero();
    }

    @Test
    void letGo_releasesEverywhere() throws Exception {
        Engine two = fleet.add(EngineOptions.sglang("two").withHolding(holding("two")));
        fleet.add(EngineOptions.sglang("three"));
        told.stores(PROMPT);
        new ToldEngine(two.events()).stores(tokens(900, 3));
        work();
        CompletionStage<HoldView> first = engine.hold(PROMPT, LEASE);
        answered(two.hold(tokens(900, 3), LEASE));
        assertThat(first.toCompletableFuture().get().state()).isEqualTo(HoldState.HELD);

        assertThat(answered(fleet.letGo())).isEqualTo(new Released(2, 0));
        assertThat(pins.pinned).isEmpty();
    }

    @Test
    void controllerThatFails_isOneEnginesFault_andRoutingGoesOn() throws Exception {
        ToldEngine broken = ToldEngine.silent();
        FileLedgerStore store = FileLedgerStore.open(state, "two");
        stores.add(store);
        Engine two = fleet.add(EngineOptions.sglang("two").withHolding(Holding.of(broken, store, Runnable::run)));
        ToldEngine second = new ToldEngine(two.events());
        told.stores(PROMPT);
        work();
        CompletionStage<HoldView> waits = two.hold(tokens(500, 3), LEASE);

        broken.broken = Optional.of(new IllegalStateException("a test's"));
        work();

        assertThat(two.fault().orElseThrow())
                .startsWith("its controller failed (java.lang.IllegalStateException: a test's)");
        assertThatThrownBy(() -> waits.toCompletableFuture().get())
                .hasRootCauseInstanceOf(RejectedExecutionException.class);
        assertThatThrownBy(() -> two.hold(PROMPT, LEASE).toCompletableFuture().get())
                .hasRootCauseMessage(
                        "Engine two answers nothing any more: " + two.fault().orElseThrow() + ".");
        assertThat(two.touched(PROMPT)).isFalse();
        second.stores(PROMPT);
        assertThat(fleet.match(PROMPT).tokens(two)).isEqualTo(PROMPT.length);
        assertThat(answered(engine.hold(PROMPT, LEASE)).state()).isEqualTo(HoldState.HELD);
        assertThat(answered(fleet.remove(two))).isEqualTo(new Released(0, 0));
    }

    @Test
    void close_answersWhatWaits() {
        CompletionStage<HoldView> waits = engine.hold(PROMPT, LEASE);
        assertThat(waits.toCompletableFuture()).isNotDone();

        fleet.close();

        assertThatThrownBy(() -> waits.toCompletableFuture().get())
                .hasRootCauseMessage("Engine one answers nothing any more: the fleet is closed.");
    }

    @Test
    void settingsOfAnotherEngine_areRefused() throws IOException {
        Holding other = holding("two").withSettings(ControllerSettings.defaults("two"));

        assertThatIllegalArgumentException()
                .isThrownBy(() -> EngineOptions.sglang("three").withHolding(other))
                .withMessage(
                        "The settings for holding are those of engine two, and they are given to engine three: make"
                                + " them for that one.");
    }

    @Test
    void vllmEngine_thatHasShownNoRule_cannotNameAPrompt() throws Exception {
        Engine two = fleet.add(EngineOptions.vllm("two").withHolding(holding("two")));

        assertThatThrownBy(() -> answered(two.hold(PROMPT, LEASE)))
                .hasRootCauseInstanceOf(BlockNaming.UnknownRule.class);
        assertThat(two.touched(PROMPT)).isFalse();
    }
}
