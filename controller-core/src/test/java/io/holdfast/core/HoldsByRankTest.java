package io.holdfast.core;

import static io.holdfast.core.ControllerHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Plan.Action;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.rank.EvictingEngine;
import io.holdfast.core.rank.PrefixRank;
import io.holdfast.core.reading.Samples;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Conversations that go on each minute, among prompts that come once, at an engine that loses both. */
final class HoldsByRankTest {
    private static final ControllerSettings SETTINGS = new ControllerSettings(
            "e",
            new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
            AutomaticHolds.ON,
            Duration.ofMinutes(5),
            ControllerSettings.LEAST_SAVING,
            Duration.ofMillis(100),
            ControllerSettings.OWN_REQUESTS_AN_HOUR,
            Optional.of(EffectSettings.DEFAULTS));

    private final ControllerHarness harness = ControllerHarness.ready(SETTINGS);
    private final EvictingEngine users = new EvictingEngine(600, 1, harness.controller.events());
    private final Set<Reason> ended = EnumSet.noneOf(Reason.class);
    /** In hundredths. */
    private int served;
    /** Requests that find all that they need, so that no event shows them; of each hundred. */
    private int unseen;
    /** Requests that the engine counts when they end. */
    private int running;

    @Test
    void conversations_areHeld_andEndAsSoonAsOthersRankHigher() {
        run(600);
        assertThat(held())
                .isNotEmpty()
                .allSatisfy(hold -> assertThat(hold.reason()).contains("a conversation after its turn"));
        assertThat(harness.controller.view().byRank().licensed()).isTrue();
        assertThat(ended).containsExactly(Reason.OUTRANKED);
    }

    /** Where the next turn parts from the last one no insertion ended, so the pin reaches over it. */
    @Test
    void whatIsGoneOnFromWithinATurn_isHeldByAPathOverIt() {
        users.rewrites(3);
        run(600);
        assertThat(held()).isNotEmpty().allSatisfy(hold -> {
            assertThat(hold.reason()).contains("a conversation after its turn").contains("are pinned as well");
            assertThat(hold.beyondTokens()).isPositive();
        });
    }

    /** What stores nothing is seen by neither shadow: nobody knows what holds do to it. */
    @Test
    void moreThanOneRequestInTwentyUnseen_endsAllHolds() {
        run(600);
        assertThat(held()).isNotEmpty();
        unseen = 3;
        run(60);
        assertThat(held()).isNotEmpty();
        unseen = 100;
        run(60);
        assertThat(harness.controller.view().byRank().licensed()).isFalse();
        assertThat(harness.controller.view().byRank().why())
                .contains("% of the engine's last requests show in no event, and above 5 % nobody knows");
        assertThat(held()).isEmpty();
        assertThat(harness.engine.pins).isEmpty();
        assertThat(ended).contains(Reason.NOT_LICENSED);
    }

    /** What may be off is on the safe side: it takes a share that is small enough beyond doubt. */
    @Test
    void onceTooManyWereUnseen_itTakesFewEnoughBeyondDoubt() {
        run(600);
        unseen = 100;
        run(60);
        assertThat(harness.controller.view().byRank().licensed()).isFalse();
        unseen = 5;
        run(1_300);
        assertThat(harness.controller.view().byRank().why()).contains("show in no event");
        unseen = 3;
        run(1_300);
        assertThat(harness.controller.view().byRank().why()).doesNotContain("show in no event");
    }

    @Test
    void holdsThatTheEngineCanEvict_areMadeByRankToo() {
        harness.engine.traits = BackendTraits.soft().needing(Need.INSERTION_END);
        run(600);
        assertThat(held())
                .isNotEmpty()
                .allSatisfy(hold -> assertThat(hold.reason()).contains("a conversation after its turn"));
    }

    /** Then what the engine counted is compared with what was seen from there on, so at first of a few requests. */
    @Test
    void eventsThatComeLateForOnce_endNothing() {
        run(600);
        unseen = 3;
        run(60);
        assertThat(held()).isNotEmpty();
        for (int i = 0; i < 5; i++) {
            harness.controller.events().batchStarted(0, (harness.now - 2 * SECOND) / 1000);
            harness.controller.events().batchEnded();
            run(20);
            assertThat(harness.controller.view().byRank().licensed()).isTrue();
        }
        assertThat(ended).doesNotContain(Reason.NOT_LICENSED);
        unseen = 100;
        run(120);
        assertThat(held()).as("unseen for good").isEmpty();
    }

    /** As an engine does where an answer is not streamed. */
    @Test
    void requestsThatAreCountedWhenTheyEnd_areNotUnseen() {
        run(600);
        assertThat(held()).isNotEmpty();
        running = 40;
        run(30);
        running = 0;
        run(200);
        assertThat(held()).isNotEmpty();
        assertThat(ended).doesNotContain(Reason.NOT_LICENSED);
    }

    /** A pin that is planned anew until it is answered is one hold. */
    @Test
    void slowAnswers_doNotSlowDownWhatBegins() {
        run(600);
        harness.engine.late = true;
        int before = begun();
        for (int i = 0; i < 30; i++) {
            run(10);
            while (!harness.engine.unanswered.isEmpty()) {
                harness.engine.unanswered.remove().run();
            }
        }
        assertThat(begun() - before).as("two in three where each plan counts").isGreaterThan(32);
    }

    private int begun() {
        return (int)
                harness.log.stream().filter(line -> line.startsWith("pin ")).count();
    }

    @Test
    void engineWithSeveralCaches_isLeftAlone() {
        run(600);
        assertThat(held()).isNotEmpty();
        harness.controller.events(1);
        run(1);
        assertThat(harness.controller.view().byRank().licensed()).isFalse();
        assertThat(harness.controller.view().byRank().why()).contains("an engine with several data-parallel ranks");
    }

    /** What outranks a hold would have to wait until the other has ended by itself. */
    @ParameterizedTest
    @MethodSource("notTakenBackAtOnce")
    void backendWhoseHoldsCannotBeTakenBackAtOnce_isNotUsed(BackendTraits traits) {
        run(600);
        assertThat(held()).isNotEmpty();
        harness.engine.traits = traits;
        run(1);
        assertThat(harness.controller.view().byRank().licensed()).isFalse();
        assertThat(harness.controller.view().byRank().why()).contains("whose holds cannot be taken back");
    }

    static Stream<BackendTraits> notTakenBackAtOnce() {
        BackendTraits soft = BackendTraits.soft().needing(Need.INSERTION_END);
        return Stream.of(soft.thatFade(), soft.endingAfter(Duration.ofMinutes(1), Duration.ofSeconds(20)));
    }

    @Test
    void heldConversation_isExplainedByItsLineInThePlan() {
        run(600);
        long end = users.conversations().stream()
                .filter(harness.engine.pins::containsKey)
                .findFirst()
                .orElseThrow();
        PrefixExplanation explained = explain(users.path(end));
        assertThat(explained.heldBlocks())
                .isEqualTo(explained.blocks())
                .isEqualTo(explained.cachedBlocks())
                .isEqualTo(users.path(end).length);
        assertThat(explained.tokens()).isEqualTo(16L * explained.blocks());
        assertThat(explained.line().orElseThrow().code()).isEqualTo(Reason.HELD);
        assertThat(explained.why()).isEqualTo(explained.line().get().reason());
        PrefixRank rank = explained.rank().orElseThrow();
        assertThat(rank.order().chosen()).isTrue();
        assertThat(rank.blocks()).isEqualTo(explained.blocks());
        assertThat(rank.order().before()).isLessThan(rank.order().of() / 2);
        assertThat(rank.chances()).extracting(PrefixRank.Chance::seconds).containsExactly(10L, 60L, 300L, 1_800L);
        assertThat(explained.byRank().licensed()).isTrue();
        assertThat(explain(Arrays.copyOf(users.path(end), 3)).why())
                .as("what lies above is held with it")
                .isEqualTo("a longer path that is held goes over it");
    }

    @Test
    void whatWasSentOnce_isExplainedByWhatComesBeforeIt() {
        run(600);
        long end = users.sentOnce().stream().max(Long::compare).orElseThrow();
        PrefixExplanation explained = explain(users.path(end));
        PrefixRank rank = explained.rank().orElseThrow();
        assertThat(rank.kind()).isEqualTo(new PrefixRank.Kind(1, 1, 0, PrefixRank.Said.NOTHING));
        assertThat(rank.cached()).isTrue();
        assertThat(rank.lru().keeps()).as("it came last").isTrue();
        assertThat(rank.order().chosen()).isFalse();
        assertThat(explained.line()).isEmpty();
        assertThat(explained.heldBlocks()).isZero();
        assertThat(explained.why())
                .isEqualTo(rank.order().before() + " of " + rank.order().of()
                        + " places of the cache rank before it, and the room for holds by rank ends before it");
        harness.controller.hint(Hint.OVER, new HoldRequest(users.path(end), Duration.ofMinutes(1)), "");
        assertThat(explain(users.path(end)).rank().orElseThrow().kind().said()).isEqualTo(PrefixRank.Said.OVER);
    }

    @Test
    void whatIsGoneOrWasNeverSeen_isSaidToBe() {
        run(100);
        long[] gone = users.path(users.sentOnce().stream().min(Long::compare).orElseThrow());
        run(500);
        assertThat(users.has(gone[0])).isFalse();
        PrefixExplanation explained = explain(gone);
        assertThat(explained.cachedBlocks()).isZero();
        assertThat(explained.rank().orElseThrow().cached()).isFalse();
        assertThat(explained.rank().orElseThrow().lru().keeps()).isFalse();
        assertThat(explained.why())
                .isEqualTo("nothing of it is in the cache; it left the cache, and what is not there is not held by its"
                        + " rank");
        PrefixExplanation never = explain(-1, -2);
        assertThat(never.rank()).isEmpty();
        assertThat(never.why())
                .isEqualTo("nothing of it is in the cache; no request that stored something went over it, as far as is"
                        + " remembered");
    }

    @Test
    void whatGoesOnBelowAHold_isExplainedInBothParts() {
        run(600);
        long end = users.conversations().stream()
                .filter(harness.engine.pins::containsKey)
                .findFirst()
                .orElseThrow();
        long[] path = users.path(end);
        long[] longer = Arrays.copyOf(path, path.length + 2);
        longer[path.length] = -1;
        longer[path.length + 1] = -2;
        PrefixExplanation explained = explain(longer);
        assertThat(explained.heldBlocks()).isEqualTo(path.length);
        assertThat(explained.why())
                .startsWith("of its first " + path.length + " blocks: "
                        + explained.line().orElseThrow().reason() + "; of all of it: ");
    }

    @Test
    void ofTwoLinesOnAPath_theDeeperOneExplainsIt() {
        run(600);
        long end = users.conversations().stream()
                .filter(block -> users.path(block).length > 8)
                .findFirst()
                .orElseThrow();
        long[] path = users.path(end);
        harness.hold(Arrays.copyOf(path, 8));
        harness.hold(path);
        run(1);
        assertThat(harness.controller.view().lastPlan().lines())
                .extracting(Plan.Line::prefix)
                .contains(path[7], end);
        assertThat(explain(path).line().orElseThrow().prefix()).isEqualTo(end);
        assertThat(explain(Arrays.copyOf(path, 9)).line().orElseThrow().prefix())
                .isEqualTo(path[7]);
    }

    @Test
    void unlicensedRank_isNamedWithWhatItLacks() {
        run(30);
        assertThat(explain(users.path(users.sentOnce().iterator().next())).why())
                .startsWith("nothing is held by its rank now: of recent prompts a simulation of this cache finds");
        unseen = 100;
        run(60);
        assertThat(explain(users.path(users.sentOnce().iterator().next())).why())
                .contains("of the engine's last requests show in no event");
    }

    private PrefixExplanation explain(long... path) {
        CompletableFuture<PrefixExplanation> answer = harness.controller
                .explain(new HoldRequest(path, Duration.ofMinutes(1)))
                .toCompletableFuture();
        harness.controller.poll(harness.now);
        while (!harness.acting.isEmpty()) {
            harness.acting.remove().run();
        }
        return answer.join();
    }

    private List<HoldView> held() {
        return views().filter(hold -> hold.state() == HoldState.HELD).toList();
    }

    private Stream<HoldView> views() {
        return harness.controller.view().holds().stream();
    }

    private void run(int seconds) {
        for (int i = 0; i < seconds; i++) {
            harness.now += SECOND;
            harness.controller.poll(harness.now);
            users.now(harness.now);
            users.pin(harness.engine.pins.keySet());
            users.request(6);
            served += 100 + unseen;
            int count = served / 100 - running;
            harness.controller.readings(Samples.readings(10_000, 16, 9_000, running, 0, 0, 0, count, harness.now));
            settle();
        }
    }

    /** Looks at each plan, since what one ends the next does not know any more. */
    private void settle() {
        while (harness.controller.poll(harness.now) > 0 || !harness.acting.isEmpty()) {
            assertThat(harness.controller.view().lastPlan().lines())
                    .as("only what this backend can hold is chosen")
                    .noneMatch(line -> line.code() == Reason.NO_END);
            harness.controller.view().lastPlan().lines().stream()
                    .filter(line -> line.action() == Action.UNPIN)
                    .filter(line -> line.code() == Reason.OUTRANKED || line.code() == Reason.NOT_LICENSED)
                    .forEach(line -> {
                        ended.add(line.code());
                        assertThat(harness.holdNow(line.holdId()).state())
                                .as("what is outranked ends, and does not wait")
                                .isIn(HoldState.EXPIRING, HoldState.RELEASED);
                    });
            while (!harness.acting.isEmpty()) {
                harness.acting.remove().run();
            }
        }
    }
}
