package io.holdfast.embed;

import static io.holdfast.embed.ToldEngine.BLOCK;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.embed.cell.Cell;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.embed.cell.Hot;
import io.holdfast.embed.cell.HotEnd;
import io.holdfast.embed.cell.MemoryFleetStore;
import io.holdfast.embed.cell.SharedEngine;
import io.holdfast.embed.cell.TokenSource;
import io.holdfast.embed.cell.WarmingBudget;
import io.holdfast.embed.ledger.FileLedgerStore;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An empty engine that is filled with what is hot at another one, in virtual time. */
class WarmingTest {
    private static final Cell CELL = new Cell("model", BLOCK, "");
    private static final long MILLI = 1_000_000L;
    private static final int PROMPT = 2_048;
    private static final int STEP = 256;
    private static final int CAPACITY = 1_000_000;
    /** Time that the engine takes for a request of ours, however much of it is cached. */
    private static final int TAKES_MILLIS = 20;

    /** Lives of a newcomer of which users' times are put together. */
    private static final int LIVES = 2;

    private static final WarmingBudget BUDGET = new WarmingBudget(Duration.ofSeconds(20), 1_000_000, 0);

    @TempDir
    private Path state;

    private long nanos = MILLI;
    private final MemoryFleetStore store = new MemoryFleetStore(() -> nanos);
    private final Fleet fleet = new Fleet(BLOCK, () -> nanos);
    private final Map<Long, int[]> hot = new HashMap<>();
    private final CellMember donor = new CellMember(
            store, CELL, "donor", "http://donor:1", () -> nanos, new SplittableRandom(1), this::saidHot, List::of);

    /** A request of ours that the engine works at. */
    private record Sent(int tokens, long nanos, CompletableFuture<Outcome> answer) {}

    private final List<Sent> sent = new ArrayList<>();
    private Optional<Sent> under = Optional.empty();
    private int asked;
    private int waiting;
    private boolean answers = true;
    private boolean donorFails;
    private FileLedgerStore ledger;
    private Engine engine;

    @BeforeEach
    void start() throws IOException {
        ledger = FileLedgerStore.open(state, "new");
        engine = fleet.add(EngineOptions.sglang("new")
                .withHolding(Holding.of(ToldEngine.silent(), ledger, Runnable::run)
                        .withSender(this::send)
                        .withRandom(new Random(1))));
    }

    @AfterEach
    void end() throws IOException {
        fleet.close();
        ledger.close();
    }

    private CompletionStage<Outcome> send(int[] tokens) {
        assertThat(under).as("one at a time").isEmpty();
        Sent request = new Sent(tokens.length, nanos, new CompletableFuture<>());
        sent.add(request);
        under = Optional.of(request);
        return request.answer();
    }

    private Hot saidHot() {
        return new Hot(
                OptionalDouble.of(60),
                OptionalLong.of(1_000_000),
                hot.entrySet().stream()
                        .map(each -> new HotEnd(each.getKey(), each.getValue().length, 60, true, false))
                        .toList());
    }

    private void hot(int prompts) {
        for (int i = 0; i < prompts; i++) {
            int[] tokens = ToldEngine.tokens(1 + i * PROMPT, PROMPT / BLOCK);
            long[] names = new long[PROMPT / BLOCK];
            ContentNames.names(tokens, 0, PROMPT, BLOCK, ContentNames.NO_NAMESPACE, names);
            hot.put(names[names.length - 1], tokens);
        }
    }

    /** Says what the donor would, and has all tokens. */
    private final class Tokens implements TokenSource {
        @Override
        public Optional<String> whyNot(FleetHold hold) {
            return Optional.of("no hold is taken here");
        }

        @Override
        public CompletionStage<int[]> tokens(FleetHold hold) {
            throw new IllegalStateException("no hold is taken here");
        }

        @Override
        public boolean mayAsk(String address) {
            return address.equals("http://donor:1");
        }

        @Override
        public CompletionStage<int[]> tokens(String address, long name, int count) {
            asked++;
            return donorFails
                    ? CompletableFuture.failedFuture(new IllegalStateException("the donor did not answer"))
                    : CompletableFuture.completedStage(hot.get(name));
        }

        @Override
        public CompletionStage<Boolean> engineHas(long token) {
            return CompletableFuture.completedStage(true);
        }
    }

    private SharedEngine shared(WarmingBudget budget) {
        return new SharedEngine(
                store,
                CELL,
                "new",
                "http://new:1",
                () -> nanos,
                new SplittableRandom(2),
                engine.controller().orElseThrow(),
                engine.options().naming(),
                new Tokens(),
                budget);
    }

    private EngineReadings readings() {
        if (!answers) {
            return EngineReadings.unknownBut("the engine did not answer").build();
        }
        return ToldEngine.readings(CAPACITY, nanos)
                .but()
                .waitingRequests(Reading.known(waiting, "test", nanos))
                .build();
    }

    /** Polls once a second, and lets the engine answer at its time. */
    private void seconds(int count, SharedEngine shared) {
        for (int milli = 0; milli < 1_000 * count; milli++) {
            nanos += MILLI;
            if (milli % 1_000 == 0) {
                engine.readings(readings());
                fleet.doWork();
                donor.poll(nanos);
                shared.poll();
            }
            under.filter(request -> nanos - request.nanos() >= TAKES_MILLIS * MILLI)
                    .ifPresent(request -> {
                        under = Optional.empty();
                        request.answer().complete(new Outcome(Outcome.Kind.ACCEPTED, "stored"));
                    });
            fleet.doWork();
        }
    }

    @Test
    void prefix_isStoredInSteps_soThatNobodyWaitsForMoreThanOne() {
        hot(1);
        SharedEngine shared = shared(BUDGET);
        seconds(40, shared);

        assertThat(sent).extracting(Sent::tokens).containsExactly(256, 512, 768, 1024, 1280, 1536, 1792, 2048);
        assertThat(shared.warming().prefixes()).isEqualTo(1);
        assertThat(shared.warming().storedTokens()).isEqualTo(PROMPT);
        assertThat(shared.warming().why()).isEqualTo("all of it was sent");
    }

    @Test
    void besideUsers_itTakesATwentiethOfTheTime_andTheBudgetIsWhatItsRequestsTook() {
        hot(20);
        SharedEngine shared = shared(BUDGET);
        seconds(120, shared);

        assertThat(shared.warming().prefixes()).isEqualTo(20);
        int steps = 20 * PROMPT / STEP;
        assertThat(sent).hasSize(steps);
        double lasted = (sent.getLast().nanos() - sent.getFirst().nanos()) / 1e9;
        // A second's rest may be made up for at the beginning.
        assertThat(lasted).isBetween(steps * TAKES_MILLIS / 50.0 - 2, steps * TAKES_MILLIS / 50.0 + 5);
    }

    @Test
    void beforeAnyUserComes_stepFollowsStep() {
        hot(20);
        SharedEngine shared = shared(new WarmingBudget(BUDGET.time(), BUDGET.tokens(), 0.5));
        seconds(120, shared);

        int half = 10 * PROMPT / STEP;
        assertThat((sent.get(half - 1).nanos() - sent.getFirst().nanos()) / 1e9)
                .isLessThan(half * (TAKES_MILLIS + 5) / 1e3);
        assertThat((sent.getLast().nanos() - sent.get(half).nanos()) / 1e9)
                .as("then it is gentle")
                .isGreaterThan(half * TAKES_MILLIS / 50.0 - 2);
    }

    @Test
    void whileARequestWaits_nothingIsSent_andItGoesOnThen() {
        hot(1);
        SharedEngine shared = shared(BUDGET);
        waiting = 1;
        seconds(40, shared);
        assertThat(sent).isEmpty();
        assertThat(shared.warming().over()).isFalse();

        waiting = 0;
        seconds(20, shared);
        assertThat(shared.warming().storedTokens()).isEqualTo(PROMPT);
    }

    @Test
    void engineThatGaveNoAnswer_isNoWarmOne_untilItHasShownThatItLivedOn() {
        hot(1);
        SharedEngine shared = shared(BUDGET);
        seconds(40, shared);
        assertThat(shared.warming().over()).isTrue();

        answers = false;
        seconds(5, shared);
        answers = true;
        seconds(5, shared);
        assertThat(shared.warming().over()).isFalse();
        assertThat(shared.warming().part()).isZero();

        seconds(15, shared);
        assertThat(shared.warming().over()).isTrue();
        assertThat(shared.warming().storedTokens()).isEqualTo(PROMPT);
    }

    @Test
    void donorThatGivesNoAnswer_isAskedOnce_forWhateverItHas() {
        hot(5);
        donorFails = true;
        SharedEngine shared = shared(BUDGET);
        seconds(40, shared);

        assertThat(asked).isEqualTo(1);
        assertThat(sent).isEmpty();
        assertThat(shared.warming().over()).isTrue();
        assertThat(shared.warming().plannedTokens()).isZero();
    }

    @Test
    void headOfWhatIsSent_isNotSentAgain() {
        hot(1);
        int[] whole = hot.values().iterator().next();
        int[] head = Arrays.copyOf(whole, PROMPT / 2);
        long[] names = new long[head.length / BLOCK];
        ContentNames.names(head, 0, head.length, BLOCK, ContentNames.NO_NAMESPACE, names);
        hot.put(names[names.length - 1], head);
        SharedEngine shared = shared(BUDGET);
        seconds(40, shared);

        assertThat(sent).extracting(Sent::tokens).containsExactly(256, 512, 768, 1024, 1280, 1536, 1792, 2048);
        assertThat(shared.warming().storedTokens()).isEqualTo(PROMPT);
        assertThat(shared.warming().plannedTokens()).isEqualTo(PROMPT);
    }

    @Test
    void usersWhoComeBeforeThePoll_doNotKeepItFromBeginning() {
        hot(1);
        new ToldEngine(engine.events()).stores(ToldEngine.tokens(500_000, CAPACITY / 10 / BLOCK - 1));
        SharedEngine shared = shared(BUDGET);
        seconds(20, shared);

        assertThat(shared.warming().storedTokens()).isEqualTo(PROMPT);
    }

    @Test
    void cacheThatIsInUse_isLeftAlone() {
        hot(1);
        new ToldEngine(engine.events()).stores(ToldEngine.tokens(500_000, CAPACITY / 10 / BLOCK + 1));
        SharedEngine shared = shared(BUDGET);
        seconds(20, shared);

        assertThat(sent).isEmpty();
        assertThat(shared.warming().why())
                .isEqualTo("more than a tenth of its cache is filled already, or it is not known how much");
    }

    @Test
    void budgetOfTime_endsIt() {
        hot(40);
        SharedEngine shared = shared(new WarmingBudget(Duration.ofSeconds(1), 1_000_000, 0));
        seconds(120, shared);

        assertThat(sent).hasSizeBetween(1_000 / TAKES_MILLIS - 20, 1_000 / TAKES_MILLIS + 1);
        assertThat(shared.warming().why()).isEqualTo("the budget of 1 s is spent");
    }

    /** Five minutes of an engine that computes what waits in one pass; answers the users' times to first token. */
    private List<Double> fiveMinutes(SharedEngine shared, SplittableRandom users) {
        List<Double> times = new ArrayList<>();
        Deque<Long> queue = new ArrayDeque<>();
        List<Long> pass = List.of();
        Optional<Sent> ours = Optional.empty();
        long passEnds = 0;
        long begun = nanos;
        long next = nanos + gap(users);
        for (int milli = 0; milli < 300_000; milli++) {
            nanos = begun + milli * MILLI;
            for (; next <= nanos; next += gap(users)) {
                queue.add(next);
            }
            if (nanos >= passEnds) {
                long ended = passEnds;
                pass.forEach(came -> times.add((ended - came) / 1e6));
                pass = List.of();
                ours.ifPresent(request -> {
                    under = Optional.empty();
                    request.answer().complete(new Outcome(Outcome.Kind.ACCEPTED, "stored"));
                });
                ours = Optional.empty();
            }
            if (milli % 500 == 0) {
                waiting = pass.isEmpty() ? 0 : queue.size();
                engine.readings(readings());
            }
            fleet.doWork();
            if (milli % 1_000 == 0) {
                donor.poll(nanos);
                shared.poll();
                fleet.doWork();
            }
            if (pass.isEmpty() && ours.isEmpty() && (!queue.isEmpty() || under.isPresent())) {
                pass = List.copyOf(queue);
                queue.clear();
                ours = under;
                int tokens = pass.size() * 512 + ours.map(this::computed).orElse(0);
                passEnds = nanos + 5 * MILLI + tokens * 20_000L;
            }
        }
        return times;
    }

    /** Returns the tokens that the cache does not have of a request, which goes further than the one before or begins anew. */
    private int computed(Sent request) {
        int before = sent.size() < 2 ? 0 : sent.get(sent.size() - 2).tokens();
        return request.tokens() > before ? request.tokens() - before : request.tokens();
    }

    /** Ten users' requests a second. */
    private static long gap(SplittableRandom users) {
        return 1 + (long) (-100 * MILLI * Math.log(1 - users.nextDouble()));
    }

    private static double p99(List<Double> times) {
        return times.stream()
                .sorted()
                .skip(times.size() * 99L / 100)
                .findFirst()
                .orElseThrow();
    }

    @Test
    void usersOfTheFirstFiveMinutes_waitHardlyLonger() {
        hot(97);
        List<Double> off = new ArrayList<>();
        List<Double> on = new ArrayList<>();
        for (int seed = 1; seed <= LIVES; seed++) {
            off.addAll(fiveMinutes(shared(WarmingBudget.NONE), new SplittableRandom(seed)));
            SharedEngine shared = shared(BUDGET);
            on.addAll(fiveMinutes(shared, new SplittableRandom(seed)));
            assertThat(shared.warming().prefixes()).isEqualTo(97);
        }
        assertThat(p99(on)).isLessThan(1.05 * p99(off));
    }

    @Test
    void partThatIsNone_isRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> new WarmingBudget(Duration.ZERO, 0, 1.5));
    }
}
