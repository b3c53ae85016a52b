package io.holdfast.embed.cell;

import static io.holdfast.embed.cell.CellTime.CELL;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Controller;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.rank.Reuse;
import io.holdfast.core.rank.ReuseCounts;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.embed.cell.FleetStore.Key;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Engines that come to a cell one after the other, in virtual time. */
class CurveExchangeTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int CAPACITY = 160_000;
    /** A minute until it is asked for, and a round. */
    private static final int SOON = 75;

    private long now = 5 * SECOND;
    private final MapStore store = new MapStore(() -> now);
    private final List<Life> lives = new ArrayList<>();
    private final SplittableRandom traffic = new SplittableRandom(12);

    /** One engine with its part. */
    private final class Life {
        final Controller controller;
        final SharedEngine shared;
        final int capacity;
        private final long[] ends = new long[20];
        private long next = 1;
        private long batch;

        Life(String name, int capacity, FleetStore at) throws IOException {
            this.capacity = capacity;
            controller = new Controller(
                    ControllerSettings.defaults(name), new Nowhere(), new Nothing(), Runnable::run, new Random(1));
            shared = new SharedEngine(
                    at,
                    CELL,
                    name,
                    "",
                    () -> now,
                    new SplittableRandom(name.hashCode()),
                    controller,
                    (prompt, blockTokens) -> new long[prompt.length / blockTokens],
                    TokenSource.NONE);
            lives.add(this);
        }

        /** A conversation goes on. */
        void turn(int conversation) {
            StoredBlocks stores = new StoredBlocks().blockTokens(16);
            if (ends[conversation] > 0) {
                stores.under(ends[conversation]);
            }
            for (int i = 0; i < 3; i++) {
                ends[conversation] = 1_000_000L * (conversation + 1) + next++;
                stores.add(ends[conversation]);
            }
            controller.events().batchStarted(batch++, now / 1_000);
            controller.events().stored(stores);
            controller.events().batchEnded();
        }

        void second() {
            controller.readings(EngineReadings.unknownBut("the test does not say")
                    .capacityTokens(Reading.known(capacity, "test", now))
                    .blockTokens(Reading.known(16, "test", now))
                    .contextTokens(Reading.known(4_096, "test", now))
                    .largestAcceptedTokens(Reading.known(4_096, "test", now))
                    .runningRequests(Reading.known(0, "test", now))
                    .waitingRequests(Reading.known(0, "test", now))
                    .usedTokens(Reading.known(0, "test", now))
                    .build());
            controller.poll(now);
            shared.poll();
            controller.poll(now);
        }

        Reuse reuse() {
            CompletableFuture<Reuse> answer =
                    controller.reuse().toCompletableFuture().thenApply(found -> found.orElseThrow());
            controller.poll(now);
            return answer.join();
        }

        /** Uses that it knows of, by itself or from others. */
        double[] used() {
            CompletableFuture<double[]> answer = controller
                    .learned()
                    .toCompletableFuture()
                    .thenApply(
                            learned -> learned.orElseThrow().ranks().getFirst().used());
            controller.poll(now);
            return answer.join();
        }
    }

    private Life life(String name) throws IOException {
        return new Life(name, CAPACITY, store);
    }

    private void seconds(int count) {
        for (int i = 0; i < count; i++) {
            now += SECOND;
            lives.forEach(Life::second);
        }
    }

    /** Conversations of an even number go to one engine, the others to the other, and all to a third. */
    private void talk(int seconds, Life even, Life odd, Life all) {
        for (int i = 0; i < seconds; i++) {
            seconds(1);
            int conversation = traffic.nextInt(20);
            (conversation % 2 == 0 ? even : odd).turn(conversation);
            all.turn(conversation);
        }
    }

    private static double[] used(ReuseCounts counts) {
        return Arrays.copyOf(counts.numbers(), 2_400);
    }

    private Map<String, byte[]> told() {
        return store.list(CELL.id(), Curves.KIND, 1_000).toCompletableFuture().join();
    }

    private void plant(String name, long capacity, ReuseCounts counts) {
        store.plant(new Key(CELL.id(), Presence.KIND, name), new Presence(name, "", 1, 1, 0).bytes(CELL.id()));
        store.plant(new Key(CELL.id(), Curves.KIND, name), new Curves(name, capacity, counts).bytes(CELL.id()));
    }

    @Test
    @DisplayName("a newcomer knows what its cell counted, which is what one engine counts of all its requests")
    void newcomer() throws IOException {
        MemoryFleetStore apart = new MemoryFleetStore(() -> now);
        MemoryFleetStore cell = new MemoryFleetStore(() -> now);
        Life even = new Life("even", CAPACITY, cell);
        Life odd = new Life("odd", CAPACITY + CAPACITY / 40, cell);
        Life all = new Life("all", CAPACITY, apart);
        talk(600, even, odd, all);
        seconds(SOON);
        double[] counted = used(all.reuse().counted());
        assertThat(Arrays.stream(counted).sum()).isGreaterThan(5_000);
        assertThat(used(even.reuse().counted().plus(odd.reuse().counted()))).isEqualTo(counted);
        assertThat(all.shared.curvesTakenFrom()).as("it is alone").isZero();
        assertThat(all.reuse().mayTake()).isTrue();
        assertThat(List.of(even.shared.curvesTakenFrom(), odd.shared.curvesTakenFrom()))
                .as("new at the same time, they took a minute from each other")
                .contains(1);
        double known =
                Arrays.stream(even.used()).sum() + Arrays.stream(odd.used()).sum();

        Life newcomer = new Life("newcomer", CAPACITY - CAPACITY / 20, cell);
        seconds(30);
        assertThat(newcomer.shared.curvesTakenFrom()).isEqualTo(2);
        assertThat(newcomer.used()).as("each told its own alone").isEqualTo(counted);
        assertThat(newcomer.reuse().counted().isEmpty()).isTrue();

        // Nothing goes round, and nothing is taken again.
        seconds(4 * SOON);
        Life later = new Life("later", CAPACITY, cell);
        seconds(4 * SOON);
        assertThat(later.shared.curvesTakenFrom())
                .as("the newcomer has nothing to tell")
                .isEqualTo(2);
        assertThat(later.used()).isEqualTo(counted);
        assertThat(newcomer.used()).isEqualTo(counted);
        assertThat(Arrays.stream(even.used()).sum() + Arrays.stream(odd.used()).sum())
                .isEqualTo(known);
        assertThat(newcomer.shared.member().counters().refused()).isEmpty();
    }

    @Test
    @DisplayName("an engine with another cache has nothing to say, and a lost store takes and tells nothing")
    void othersAndLostStores() throws IOException {
        Life large = new Life("large", 2 * CAPACITY, store);
        talk(90, large, large, large);
        assertThat(told()).containsOnlyKeys("large");
        Life small = life("small");
        seconds(SOON);
        assertThat(small.shared.curvesTakenFrom()).isZero();
        assertThat(small.reuse().mayTake()).isTrue();

        store.mood = MapStore.Mood.SILENT;
        Life like = life("like");
        for (MapStore.Mood mood : MapStore.Mood.values()) {
            if (mood != MapStore.Mood.WELL) {
                store.mood = mood;
                talk(2 * SOON, like, like, large);
                assertThat(small.shared.curvesTakenFrom()).as("%s", mood).isZero();
                assertThat(small.reuse().mayTake()).as("%s", mood).isTrue();
            }
        }
        store.mood = MapStore.Mood.WELL;
        seconds(2 * SOON);
        assertThat(small.shared.curvesTakenFrom()).isEqualTo(1);
        assertThat(small.used()).isEqualTo(used(like.reuse().counted()));

        lives.remove(like);
        seconds(60);
        Life late = life("late");
        seconds(30);
        assertThat(told()).containsKey("like");
        assertThat(late.shared.curvesTakenFrom())
                .as("who is gone may be anybody")
                .isZero();
    }

    @Test
    @DisplayName("of a hundred engines is read at most, each has one voice, and all together weigh what one may")
    void hostile() throws IOException {
        for (int i = 0; i < 150; i++) {
            double[] numbers = new double[ReuseCounts.COUNT];
            numbers[i % 2] = Curves.MOST_WEIGHT;
            plant("x" + i, CAPACITY, new ReuseCounts(numbers));
        }
        byte[] liar = new Curves("liar", CAPACITY, CurvesTest.counts(2_000_000)).bytes(CELL.id());
        store.plant(new Key(CELL.id(), Curves.KIND, "other"), liar);
        Life newcomer = life("newcomer");
        seconds(40);
        assertThat(newcomer.shared.curvesTakenFrom()).isBetween(90, CurveExchange.MOST_ENGINES);
        double[] used = newcomer.used();
        assertThat(used[0] + used[1]).isBetween(Curves.MOST_WEIGHT - 2, Curves.MOST_WEIGHT);
        assertThat(used[0]).isBetween(0.3 * Curves.MOST_WEIGHT, 0.7 * Curves.MOST_WEIGHT);
        assertThat(newcomer.controller.view().byRank().shadows().open()).isFalse();
    }

    /** A way to hold that nobody uses here. */
    private static final class Nowhere implements Backend {
        @Override
        public String name() {
            return "nowhere";
        }

        @Override
        public BackendTraits traits() {
            return BackendTraits.soft();
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return CompletableFuture.completedFuture(new Capabilities(true, "a test's"));
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, "pinned"));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, "unpinned"));
        }
    }

    /** A ledger with nothing in it. */
    private static final class Nothing implements LedgerStore {
        @Override
        public List<LedgerLine> read() {
            return List.of();
        }

        @Override
        public void append(LedgerLine line) {}

        @Override
        public void replaceWith(List<LedgerLine> kept) {}
    }
}
