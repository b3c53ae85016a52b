package io.holdfast.core;

import static io.holdfast.core.ControllerHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.prefix.LearnedPrefix;
import io.holdfast.core.rank.EvictingEngine;
import io.holdfast.core.rank.LearnedRank;
import io.holdfast.core.rank.Reuse;
import io.holdfast.core.rank.ReuseCounts;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Two lives of a controller: what the first learned, the second goes on from. */
final class LearningTest {
    private static final ControllerSettings SETTINGS = new ControllerSettings(
            "e",
            new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
            AutomaticHolds.ON,
            Duration.ofMinutes(5),
            ControllerSettings.LEAST_SAVING,
            Duration.ofMillis(100),
            ControllerSettings.OWN_REQUESTS_AN_HOUR,
            Optional.empty());
    private static final long SYSTEM_PROMPT = 20;

    /** A controller beside an engine with conversations, which counts its requests. */
    private static final class Life {
        final ControllerHarness harness;
        final EvictingEngine users;
        int served;
        int capacity = 10_000;

        Life() {
            this(SETTINGS);
        }

        Life(ControllerSettings settings) {
            harness = new ControllerHarness(settings, new ControllerHarness.Disk(), new ControllerHarness.Engine());
            users = new EvictingEngine(600, 1, harness.controller.events());
        }

        void run(int seconds) {
            for (int i = 0; i < seconds; i++) {
                harness.now += SECOND;
                harness.controller.poll(harness.now);
                users.now(harness.now);
                users.pin(harness.engine.pins.keySet());
                users.request(6);
                read(16, ++served);
            }
        }

        void read(int block, int requests) {
            harness.controller.readings(Samples.readings(capacity, block, 9_000, 0, 0, 0, 0, requests, harness.now));
            harness.settle();
        }

        Optional<Learned> learned() {
            CompletableFuture<Optional<Learned>> answer =
                    harness.controller.learned().toCompletableFuture();
            harness.settle();
            return answer.join();
        }

        Optional<Reuse> reuse() {
            CompletableFuture<Optional<Reuse>> answer =
                    harness.controller.reuse().toCompletableFuture();
            harness.settle();
            return answer.join();
        }

        boolean take(ReuseCounts counts) {
            CompletableFuture<Boolean> answer =
                    harness.controller.takeReuse(counts).toCompletableFuture();
            harness.settle();
            return answer.join();
        }

        CompletableFuture<Optional<String>> restore(Learned learned, Duration away) {
            CompletableFuture<Optional<String>> answer =
                    harness.controller.restoreLearned(learned, away).toCompletableFuture();
            harness.settle();
            // What is taken up when the next readings come is used by the plan after them.
            harness.now += SECOND;
            return answer;
        }
    }

    /** Counts of reuse that controllers of several engines tell each other. */
    @Test
    void countsOfOthers_areTakenOnce_byOneThatKnowsNothing() {
        Life old = new Life();
        assertThat(old.reuse()).as("how large its cache is, is not known").isEmpty();
        old.run(600);
        ReuseCounts told = old.reuse().orElseThrow().counted();
        assertThat(told.weight()).isGreaterThan(1_000);
        assertThat(old.learned().orElseThrow().ranks().getFirst().used())
                .as("all that it counted")
                .isEqualTo(Arrays.copyOf(told.numbers(), 2_400));

        Life next = new Life();
        assertThat(next.take(told)).as("how large its cache is, is not known").isFalse();
        next.run(2);
        assertThat(next.reuse().orElseThrow().mayTake()).isTrue();
        LearnedRank before = next.learned().orElseThrow().ranks().getFirst();
        assertThat(next.take(told)).isTrue();
        assertThat(next.take(told)).as("once").isFalse();
        assertThat(next.reuse().orElseThrow().mayTake()).isFalse();
        assertThat(next.reuse().orElseThrow().counted().weight()).isLessThan(told.weight() / 10);
        LearnedRank after = next.learned().orElseThrow().ranks().getFirst();
        assertThat(Arrays.stream(after.used()).sum())
                .isEqualTo(Arrays.stream(before.used()).sum()
                        + Arrays.stream(told.numbers(), 0, 2_400).sum());
        assertThat(after)
                .as("no evidence, and nothing of its cache")
                .usingRecursiveComparison()
                .ignoringFields("used", "unused", "hintedUsed", "hintedUnused", "gaps")
                .isEqualTo(before);

        EngineIdentity one = new EngineIdentity("a", "a", Optional.of("one"));
        next.harness.controller.engineIs(one);
        next.harness.controller.engineIs(new EngineIdentity("a", "a", Optional.of("two")));
        next.harness.settle();
        assertThat(next.take(told)).as("for another model").isTrue();

        Life without = new Life(ControllerHarness.SETTINGS);
        without.run(5);
        assertThat(without.reuse()).as("nothing is held by its rank").isEmpty();
        assertThat(without.take(told)).isFalse();
    }

    @Test
    void countsOfOthers_areNothingToOneThatGoesOnFromItsPast() {
        Learned past = afterTenMinutes();
        Life other = new Life();
        other.run(300);
        ReuseCounts told = other.reuse().orElseThrow().counted();

        Life next = new Life();
        assertThat(next.restore(past, Duration.ZERO)).isNotNull();
        assertThat(next.reuse()).as("which may still come").isEmpty();
        assertThat(next.take(told)).isFalse();
        next.read(16, 0);
        next.run(1);
        assertThat(next.reuse().orElseThrow().mayTake()).isFalse();
        assertThat(next.take(told)).isFalse();

        Life late = new Life();
        late.read(16, 0);
        late.harness.now += SECOND;
        late.harness.settle();
        assertThat(late.take(told)).isTrue();
        assertThat(late.restore(past, Duration.ZERO)).isNotNull();
        late.read(16, 0);
        assertThat(late.learned().orElseThrow().ranks().getFirst().used())
                .as("read late from the disk, its past counts in place of the others'")
                .isEqualTo(past.ranks().getFirst().used());

        Life smaller = new Life();
        smaller.capacity = 8_900;
        assertThat(smaller.restore(past, Duration.ZERO)).isNotNull();
        smaller.read(16, 0);
        smaller.run(2);
        assertThat(smaller.take(told))
                .as("its ranks were dropped, as those of another cache")
                .isTrue();
    }

    private static Learned afterTenMinutes() {
        Life first = new Life();
        first.run(600);
        first.harness.controller.hint(
                Hint.GOES_ON,
                new HoldRequest(
                        first.users.path(first.users.conversations().iterator().next()), Duration.ofMinutes(1)),
                "");
        return first.learned().orElseThrow();
    }

    @Test
    void whatIsTakenUp_isWhatWasLearned() {
        Learned before = afterTenMinutes();
        Life next = new Life();
        CompletableFuture<Optional<String>> answer = next.restore(before, Duration.ZERO);
        next.read(16, 0);

        assertThat(answer).isCompletedWithValue(Optional.empty());
        assertThat(before.ranks()).hasSize(1);
        assertThat(Arrays.stream(before.ranks().getFirst().used()).sum()).isPositive();
        double[] hinted = before.ranks().getFirst().hintedUnused();
        assertThat(Arrays.stream(hinted, hinted.length / 3, hinted.length).sum())
                .as("a hint, too")
                .isPositive();
        assertThat(before.times().residences()).isPositive();
        assertLike(next.learned().orElseThrow(), before);
    }

    @Test
    void licence_isNotTakenUp_itsEvidenceIs() {
        Learned before = afterTenMinutes();
        Life fresh = new Life();
        Life next = new Life();
        assertThat(next.restore(before, Duration.ZERO)).isNotNull();
        fresh.run(1);
        next.run(1);

        assertThat(next.harness.controller.view().byRank().shadows().open())
                .as("a licence needs requests of this life")
                .isEqualTo(false);
        next.run(20);
        fresh.run(20);
        assertThat(next.harness.controller.view().byRank().shadows().open()).isTrue();
        assertThat(fresh.harness.controller.view().byRank().shadows().open()).isFalse();
    }

    @Test
    void evidence_fadesWhileNobodyLooks_curvesStay() {
        Learned before = afterTenMinutes();
        Life next = new Life();
        assertThat(next.restore(before, Duration.ofMinutes(21))).isNotNull();
        next.read(16, 0);

        LearnedRank.LearnedEvidence kept =
                next.learned().orElseThrow().ranks().getFirst().evidence();
        assertThat(kept.references()).isZero();
        assertThat(next.learned().orElseThrow().ranks().getFirst().used())
                .as("curves do not")
                .isEqualTo(before.ranks().getFirst().used());
    }

    @Test
    void untilTheEngineAnswers_thereIsNothingNewToWrite() {
        Learned before = afterTenMinutes();
        Life next = new Life();
        assertThat(next.learned())
                .as("of what size its blocks are is not known")
                .isEmpty();
        CompletableFuture<Optional<String>> answer = next.restore(before, Duration.ZERO);
        next.users.request(6);
        next.harness.settle();

        assertThat(answer).isNotDone();
        assertThat(next.learned()).isEmpty();
        next.read(16, 0);
        assertThat(answer).isDone();
        assertThat(next.learned()).isPresent();
    }

    @Test
    void blocksOfAnotherSize_dropAllOfIt() {
        Learned before = afterTenMinutes();
        Life next = new Life();
        CompletableFuture<Optional<String>> answer = next.restore(before, Duration.ZERO);
        next.read(32, 0);

        assertThat(answer)
                .isCompletedWithValue(Optional.of("it is of blocks of 16 tokens, and the engine's have 32 now"));
        Learned learned = next.learned().orElseThrow();
        assertThat(learned.times().residences()).isZero();
        assertThat(learned.ranks().getFirst().used()).containsOnly(0);
    }

    @Test
    void anotherCapacity_dropsRanksAlone() {
        Learned before = afterTenMinutes();
        Life next = new Life();
        next.capacity = 8_900;
        CompletableFuture<Optional<String>> answer = next.restore(before, Duration.ZERO);
        next.read(16, 0);

        assertThat(answer.join().orElseThrow())
                .isEqualTo("its ranks are of a cache of 10,000 tokens, and the engine's has 8,900 now, so they are"
                        + " learned anew");
        Learned learned = next.learned().orElseThrow();
        assertThat(learned.ranks().getFirst().used()).containsOnly(0);
        assertThat(learned.times()).usingRecursiveComparison().isEqualTo(before.times());
    }

    @Test
    void capacityThatWaversALittle_dropsNothing() {
        Life next = new Life();
        next.capacity = 9_100;
        CompletableFuture<Optional<String>> answer = next.restore(afterTenMinutes(), Duration.ZERO);
        next.read(16, 0);
        assertThat(answer).isCompletedWithValue(Optional.empty());
    }

    @Test
    void anotherModel_isLearnedAnew_exceptWhatIsSafer() {
        Life life = new Life();
        life.harness.controller.engineIs(new EngineIdentity("a", "a", Optional.of("one")));
        life.run(600);
        Learned before = life.learned().orElseThrow();
        life.harness.controller.engineIs(new EngineIdentity("a", "a", Optional.of("two")));
        life.harness.settle();

        Learned after = life.learned().orElseThrow();
        assertThat(after.prefixes()).isEmpty();
        assertThat(after.times().residences()).isZero();
        assertThat(after.ranks().getFirst().used()).containsOnly(0);
        assertThat(after.ranks().getFirst().evidence().references()).isZero();
        assertThat(after.prompts()).usingRecursiveComparison().isEqualTo(before.prompts());
    }

    @Test
    void anotherModelBeforeTheFirstAnswer_dropsWhatWaits() {
        Life life = new Life();
        life.harness.controller.engineIs(new EngineIdentity("a", "a", Optional.of("one")));
        CompletableFuture<Optional<String>> answer = life.restore(afterTenMinutes(), Duration.ZERO);
        life.harness.controller.engineIs(new EngineIdentity("a", "a", Optional.of("two")));
        life.harness.settle();
        assertThat(answer.join()).contains("it is of another model than the engine serves now");
        life.read(16, 0);
        assertThat(life.learned().orElseThrow().times().residences()).isZero();
    }

    /** Without what was known it would take three requests, three ways and a loss. */
    @Test
    void knownPrefix_isHeldAgain_afterTheFirstRequest() {
        ControllerHarness first = ControllerHarness.ready(SETTINGS);
        for (long user = 1; user <= 3; user++) {
            user(first, user);
        }
        lose(first, 1, 2, 3);
        user(first, 4);
        Learned learned = learnedBy(first);
        assertThat(learned.prefixes()).extracting(LearnedPrefix::lastBlock).containsExactly(SYSTEM_PROMPT);

        ControllerHarness next = ControllerHarness.ready(SETTINGS);
        next.controller.restoreLearned(learned, Duration.ofMinutes(1));
        next.settle();
        next.pass(Duration.ofSeconds(1));
        user(next, 5);
        next.pass(Duration.ofSeconds(1));

        assertThat(next.controller.view().holds()).extracting(HoldView::origin).containsExactly(HoldOrigin.AUTOMATIC);
        assertThat(learnedBy(next).prefixes()).singleElement().satisfies(prefix -> {
            assertThat(prefix.ways()).as("the first way has no name").isEqualTo(4);
            assertThat(prefix.requests()).isEqualTo(5);
            assertThat(prefix.losses()).as("nobody saw it evicted since").isEqualTo(1);
        });
    }

    /** The engine lived on, and its replay endpoint tells all that the earlier process heard. */
    @Test
    void pastThatTheEngineRepeats_isNotCountedAgain() {
        ControllerHarness first = ControllerHarness.ready(SETTINGS);
        usersAndALoss(first);
        Learned learned = learnedBy(first);
        assertThat(counts(learned)).isEqualTo("4 ways, 4 requests, 1 lost");

        ControllerHarness next = ControllerHarness.ready(SETTINGS);
        next.controller.restoreLearned(learned, Duration.ofMinutes(1));
        next.settle();
        usersAndALoss(next);
        assertThat(counts(learnedBy(next))).as("repeated").isEqualTo(counts(learned));

        // Once more before any live batch: a process that ended soon.
        ControllerHarness last = ControllerHarness.ready(SETTINGS);
        last.controller.restoreLearned(learnedBy(next), Duration.ofMinutes(1));
        last.settle();
        usersAndALoss(last);
        assertThat(counts(learnedBy(last))).as("repeated again").isEqualTo(counts(learned));

        last.stampMicros++;
        user(last, 5);
        assertThat(counts(learnedBy(last))).as("found by one more").isEqualTo("5 ways, 5 requests, 1 lost");
        lose(last, 4, 5);
        user(last, 6);
        assertThat(counts(learnedBy(last))).as("lost once more").isEqualTo("6 ways, 6 requests, 2 lost");
    }

    @Test
    void pastThatCameBeforeWhatWasLearned_isNotCountedAgain() {
        ControllerHarness first = ControllerHarness.ready(SETTINGS);
        usersAndALoss(first);
        Learned learned = learnedBy(first);

        ControllerHarness next = ControllerHarness.ready(SETTINGS);
        next.controller.learnedUntil(learned.untilMicros());
        next.settle();
        usersAndALoss(next);
        next.stampMicros++;
        user(next, 5);
        next.controller.restoreLearned(learned, Duration.ofMinutes(1));
        next.settle();
        next.pass(Duration.ofSeconds(1));
        assertThat(counts(learnedBy(next))).isEqualTo("5 ways, 5 requests, 1 lost");
        assertThat(learnedBy(next).untilMicros()).isEqualTo(next.stampMicros);
    }

    /** The repeated past shows what was evicted while nobody looked: it is lost to whoever comes next. */
    @Test
    void lossWhileNobodyLooked_isCounted() {
        ControllerHarness first = ControllerHarness.ready(SETTINGS);
        usersAndALoss(first);
        Learned learned = learnedBy(first);

        ControllerHarness next = ControllerHarness.ready(SETTINGS);
        next.controller.restoreLearned(learned, Duration.ofMinutes(1));
        next.settle();
        usersAndALoss(next);
        next.stampMicros++;
        lose(next, 4);
        user(next, 5);
        assertThat(counts(learnedBy(next))).isEqualTo("5 ways, 5 requests, 2 lost");
    }

    /** The stamps of a clock that was set back are all of the past: believed for a minute, not for ever. */
    @Test
    void clockOfTheEngineThatWasSetBack_isCountedAfterAMinute() {
        ControllerHarness first = ControllerHarness.ready(SETTINGS);
        usersAndALoss(first);
        Learned learned = learnedBy(first);

        ControllerHarness next = ControllerHarness.ready(SETTINGS);
        next.controller.restoreLearned(learned, Duration.ofMinutes(1));
        next.settle();
        next.stampMicros = 1;
        user(next, 5);
        assertThat(counts(learnedBy(next))).isEqualTo(counts(learned));
        next.pass(Duration.ofMinutes(1));
        user(next, 6);
        assertThat(counts(learnedBy(next))).isEqualTo("5 ways, 5 requests, 1 lost");
    }

    /** Three users of a system prompt, which is lost then, and a fourth. */
    private static void usersAndALoss(ControllerHarness harness) {
        for (long user = 1; user <= 4; user++) {
            if (user == 4) {
                lose(harness, 1, 2, 3);
            }
            harness.stampMicros = user * 1_000_000;
            user(harness, user);
        }
    }

    private static String counts(Learned learned) {
        return learned.prefixes().stream()
                .map(prefix ->
                        prefix.ways() + " ways, " + prefix.requests() + " requests, " + prefix.losses() + " lost")
                .collect(Collectors.joining("; "));
    }

    @Test
    void prefixThatNobodyPassedForLong_isNoCandidate() {
        ControllerHarness next = ControllerHarness.ready(SETTINGS);
        LearnedPrefix cold = new LearnedPrefix(SYSTEM_PROMPT, 20, 3, new long[] {1, 2}, 9, 3, 5, 100, 8, 60 * SECOND);
        Learned empty = learnedBy(next);
        next.controller.restoreLearned(
                new Learned(16, 0, 10_000, List.of(cold), empty.times(), empty.prefill(), empty.prompts(), List.of()),
                Duration.ofMinutes(10));
        next.settle();
        next.pass(Duration.ofSeconds(1));

        LearnedPrefix known = learnedBy(next).prefixes().getFirst();
        assertThat(known.heat()).as("a half-life of five minutes").isBetween(1.99, 2.0);
        assertThat(known.idleNanos()).isEqualTo(61 * SECOND + 600 * SECOND);
        assertThat(next.controller.view().lastPlan().lines()).isEmpty();
    }

    /** A second writing down of what is known must not make more of it. */
    @Test
    void lifeAfterLife_withoutTraffic_changesNothing() {
        Learned learned = afterTenMinutes();
        for (int i = 0; i < 5; i++) {
            Life next = new Life();
            assertThat(next.restore(learned, Duration.ZERO)).isNotNull();
            next.read(16, 0);
            assertLike(next.learned().orElseThrow(), learned);
            learned = next.learned().orElseThrow();
        }
    }

    /** But for what fades with each second that nobody came. */
    private static void assertLike(Learned learned, Learned before) {
        assertThat(learned)
                .usingRecursiveComparison()
                .ignoringFields("prefixes.idleNanos", "ranks.evidence.idleSeconds", "ranks.evidence.forSeconds")
                .withEqualsForType((a, b) -> Math.abs(a - b) <= 0.01 * Math.abs(b), Double.class)
                .isEqualTo(before);
    }

    private static Learned learnedBy(ControllerHarness harness) {
        CompletableFuture<Optional<Learned>> answer =
                harness.controller.learned().toCompletableFuture();
        harness.settle();
        return answer.join().orElseThrow();
    }

    private static void user(ControllerHarness harness, long user) {
        long[] prompt = new long[(int) SYSTEM_PROMPT];
        for (int i = 0; i < prompt.length; i++) {
            prompt[i] = i + 1L;
        }
        long[] text = {1_000 * user, 1_000 * user + 1};
        harness.pass(Duration.ofSeconds(1));
        if (harness.controller.view().blocks() == 0) {
            long[] all = Arrays.copyOf(prompt, prompt.length + text.length);
            System.arraycopy(text, 0, all, prompt.length, text.length);
            harness.stored(all);
        } else {
            harness.storedUnder(SYSTEM_PROMPT, text);
        }
        harness.pass(Duration.ofSeconds(1));
    }

    private static void lose(ControllerHarness harness, long... users) {
        long[] prompt = new long[(int) SYSTEM_PROMPT];
        for (int i = 0; i < prompt.length; i++) {
            prompt[i] = i + 1L;
        }
        for (long user : users) {
            harness.removed(1_000 * user + 1, 1_000 * user);
        }
        for (int i = prompt.length - 1; i >= 0; i--) {
            harness.removed(prompt[i]);
        }
        harness.pass(Duration.ofSeconds(1));
    }
}
