package io.holdfast.embed;

import static io.holdfast.embed.ToldEngine.BLOCK;
import static io.holdfast.embed.ToldEngine.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.core.hold.Lease;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.FleetHoldView;
import io.holdfast.embed.cell.HeldCopy;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.embed.ledger.FileLedgerStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Engines of one or two processes over a store in memory, in virtual time. */
class SharedFleetTest {
    private static final int[] PROMPT = tokens(100, 8);
    private static final Duration LEASE = Duration.ofMinutes(10);
    private static final long SECOND = 1_000_000_000L;
    private static final Cell CELL = new Cell("model", BLOCK, "");
    /** Two periods, and the time in which a hold is asked for again. */
    private static final int SOON = 35;

    @TempDir
    Path state;

    private final AtomicLong nanos = new AtomicLong(SECOND);
    private final MemoryFleetStore store = new MemoryFleetStore(nanos::get);
    private final List<FileLedgerStore> ledgers = new ArrayList<>();
    private final List<Life> lives = new ArrayList<>();
    private final Life one = new Life("one");

    /** One process. */
    private final class Life {
        final Fleet fleet = new Fleet(BLOCK, nanos::get);
        final List<ToldEngine> pins = new ArrayList<>();
        final SharedFleet shared;

        Life(String name) {
            shared = new SharedFleet(fleet, store, CELL, name, new SplittableRandom(name.hashCode()));
            lives.add(this);
        }

        /** Adds an engine that has the prompt. */
        Engine engine(String id) throws IOException {
            FileLedgerStore ledger = FileLedgerStore.open(state, id);
            ledgers.add(ledger);
            ToldEngine backend = ToldEngine.silent();
            pins.add(backend);
            Engine engine = fleet.add(EngineOptions.sglang(id)
                    .withHolding(Holding.of(backend, ledger, Runnable::run).withRandom(new Random(1))));
            new ToldEngine(engine.events()).stores(PROMPT);
            return engine;
        }

        long pinned() {
            return pins.stream().filter(each -> !each.pinned.isEmpty()).count();
        }
    }

    @AfterEach
    void end() throws IOException {
        lives.forEach(life -> life.fleet.close());
        for (FileLedgerStore ledger : ledgers) {
            ledger.close();
        }
    }

    private void seconds(int count) {
        for (int i = 0; i < 2 * count; i++) {
            nanos.addAndGet(SECOND / 2);
            for (Life life : lives) {
                life.fleet.engines().forEach(each -> each.readings(ToldEngine.readings(1_000, nanos.get())));
                life.fleet.doWork();
                if (i % 2 == 0) {
                    life.shared.poll();
                }
            }
        }
    }

    @Test
    void hold_isKeptByAsManyEnginesAsAreAskedFor() throws IOException {
        one.engine("a");
        one.engine("b");
        one.engine("c is no key");
        seconds(SOON);

        FleetHold hold = one.shared.hold("router", PROMPT, 2, LEASE).orElseThrow();
        seconds(SOON);

        assertThat(one.pinned()).isEqualTo(2);
        FleetHoldView view = one.shared.holds().getFirst();
        assertThat(view.hold().id()).isEqualTo(hold.id());
        assertThat(view.copies()).hasSize(2).containsOnlyKeys(view.chosen());
        assertThat(view.copies().values()).extracting(HeldCopy::state).containsOnly(HeldCopy.State.HELD);
        assertThat(one.shared.members()).hasSize(3);

        assertThat(one.shared
                        .hold("router", PROMPT, FleetHold.ALL, LEASE)
                        .orElseThrow()
                        .id())
                .as("the same, asked for again")
                .isEqualTo(hold.id());
        assertThat(one.shared.release(hold.id())).isTrue();
        seconds(SOON);

        assertThat(one.pinned()).isZero();
        assertThat(one.shared.release(hold.id())).isFalse();
    }

    @Test
    void copy_ofAnEngineThatIsRemoved_isKeptByAnother() throws IOException {
        List<Engine> engines = List.of(one.engine("a"), one.engine("b"));
        seconds(SOON);
        one.shared.hold("router", PROMPT, 1, LEASE);
        seconds(SOON);
        assertThat(one.pinned()).isEqualTo(1);
        int chosen = one.pins.get(0).pinned.isEmpty() ? 1 : 0;

        one.fleet.remove(engines.get(chosen));
        seconds(SOON);

        assertThat(one.pins.get(chosen).pinned).isEmpty();
        assertThat(one.pins.get(1 - chosen).pinned).isNotEmpty();
    }

    @Test
    void twoProcesses_thatAskForTheSame_haveOneHold() throws IOException {
        Life two = new Life("two");
        one.engine("a");
        two.engine("a2");
        seconds(SOON);

        one.shared.hold("router", PROMPT, FleetHold.ALL, LEASE);
        seconds(SOON);

        assertThat(two.shared.holds()).hasSize(1);
        assertThat(two.shared.holds().getFirst().copies().get("a2:two").reason())
                .isEqualTo("no tokens: no request here had it yet, and nobody may be asked for its tokens");

        two.shared.hold("router", PROMPT, FleetHold.ALL, LEASE);
        seconds(SOON);

        assertThat(two.shared.holds()).hasSize(1);
        assertThat(List.of(one.pinned(), two.pinned())).containsExactly(1L, 1L);
    }

    @Test
    void engineThatComesLater_hasTheTokensFromTheOthers() throws IOException {
        one.engine("a");
        seconds(1);
        one.shared.hold("router", PROMPT, FleetHold.ALL, LEASE);
        one.engine("b");
        seconds(SOON);

        assertThat(one.pinned()).isEqualTo(2);
    }

    @Test
    void close_givesUpWhatIsHeldForTheCell_andLeavesTheRest() throws Exception {
        Engine engine = one.engine("a");
        one.fleet.add(EngineOptions.sglang("only routed to"));
        int[] own = tokens(900, 4);
        new ToldEngine(engine.events()).stores(own);
        seconds(SOON);
        engine.hold(own, Lease.refreshed(LEASE));
        one.shared.hold("router", PROMPT, FleetHold.ALL, LEASE);
        seconds(SOON);
        assertThat(one.pins.getFirst().pinned).hasSize(2);

        one.shared.close();
        seconds(SOON);

        assertThat(one.pins.getFirst().pinned).hasSize(1);
        assertThat(one.shared.members()).isEmpty();
        assertThat(one.shared.hold("router", PROMPT, 1, LEASE)).isEmpty();
    }

    @Test
    void whatCannotBe_isRefusedWithASentence() throws IOException {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SharedFleet(
                        one.fleet, store, new Cell("model", BLOCK + 1, ""), "one", new SplittableRandom(1)))
                .withMessage("The cell's blocks have %d tokens and the fleet's have %d: give both the engines' size."
                        .formatted(BLOCK + 1, BLOCK));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new SharedFleet(one.fleet, store, CELL, "a b", new SplittableRandom(1)))
                .withMessage("The name of a process in a cell has 1 to 99 letters, digits, dots and dashes, not"
                        + " \"a b\"; give it another one.");
        one.engine("a");
        seconds(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> one.shared.hold("router", new int[BLOCK - 1], 1, LEASE))
                .withMessageContaining("less than one block");
    }
}
