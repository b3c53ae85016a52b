package io.holdfast.core.hold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.ControllerHarness;
import io.holdfast.core.backend.Outcome;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Leases of all kinds, in virtual time. */
final class LeasesTest {
    private static final Duration MINUTE = Duration.ofSeconds(60);
    private static final Duration HOUR = Duration.ofHours(1);
    private static final Lease REFRESHED = Lease.refreshed(MINUTE);

    private final ControllerHarness harness = ControllerHarness.ready();
    private long nextBlock = 1_000;

    @Test
    void automaticLease_isThreeGaps_andBetweenItsLeastAndTwelveTimesThat() {
        assertThat(Lease.automatic(MINUTE, Duration.ZERO)).isEqualTo(new Lease(MINUTE, true, Lease.LONGEST));
        assertThat(Lease.automatic(MINUTE, Duration.ofSeconds(19)).length()).isEqualTo(MINUTE);
        assertThat(Lease.automatic(MINUTE, Duration.ofSeconds(50)).length()).isEqualTo(Duration.ofSeconds(150));
        assertThat(Lease.automatic(MINUTE, Duration.ofSeconds(239)).length()).isEqualTo(Duration.ofSeconds(717));
        assertThat(Lease.automatic(MINUTE, Duration.ofSeconds(241)).length()).isEqualTo(Duration.ofMinutes(12));
        assertThat(Lease.automatic(Lease.LONGEST, Lease.LONGEST).length()).isEqualTo(Lease.LONGEST);
    }

    @Test
    void absoluteLease_howeverOftenUsed_ends() {
        long id = held(new HoldRequest(path(), MINUTE)).id();
        for (int i = 0; i < 2; i++) {
            pass(29);
            use();
        }
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        pass(3);
        assertThat(harness.holdNow(id).reason()).isEqualTo("its lease of 60 s is over");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void refreshedLease_endsItsLengthAfterTheLastUse() {
        long id = held(new HoldRequest(path(), REFRESHED)).id();
        for (int i = 0; i < 5; i++) {
            pass(50);
            use();
        }
        pass(59);
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        pass(1);
        assertThat(harness.holdNow(id).reason())
                .isEqualTo("its lease of 60 s is over, since the prefix was not used for so long");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void refreshedLease_usedAllTheTime_endsAtItsCap() {
        long id = held(new HoldRequest(path(), new Lease(MINUTE, true, Duration.ofSeconds(150))))
                .id();
        for (int i = 0; i < 14; i++) {
            pass(10);
            use();
        }
        assertThat(harness.holdNow(id).leaseLeft()).isEqualTo(Duration.ofSeconds(10));
        pass(9);
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        pass(1);
        assertThat(harness.holdNow(id).reason()).isEqualTo("its lease has run for the 150 s that it may run in all");
    }

    @Test
    void refreshedLease_whileItIsLost_isProlongedByWhoStillSendsIt() {
        long id = held(new HoldRequest(path(), REFRESHED)).id();
        for (int i = 0; i < 3; i++) {
            harness.engine.pins.clear();
            harness.cleared();
            pass(50);
            assertThat(state(id)).isEqualTo(HoldState.LOST);
            harness.stored(1, 2, nextBlock++);
            pass(1);
        }
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        harness.engine.pins.clear();
        harness.cleared();
        pass(60);
        assertThat(state(id)).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void storeThatMayBelongToAnEarlierRequest_isAUseAllTheSame() {
        harness.stored(1, 2, 5);
        long id = ask(new HoldRequest(path(), REFRESHED)).id();
        pass(40, 1);
        harness.controller.events().batchStarted(7, 3_000_000);
        harness.controller.events().stored(ControllerHarness.chain(6).under(5));
        harness.controller.events().batchEnded();
        pass(40, 1);
        assertThat(harness.controller.view().counters().visibleRequests())
                .as("taken for one")
                .isEqualTo(1);
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        pass(40, 1);
        assertThat(state(id)).isEqualTo(HoldState.RELEASED);
    }

    @Test
    void requestOfOurOwn_isNoUse() {
        int[] tokens = IntStream.range(0, 32).toArray();
        harness.cleared();
        long id = ask(new HoldRequest(path(), tokens, REFRESHED)).id();
        assertThat(harness.own).as("sent alone").hasSize(1);
        pass(1);
        harness.stored(1, 2);
        pass(1);
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        pass(58);
        assertThat(state(id)).as("its own request prolonged nothing").isEqualTo(HoldState.RELEASED);
    }

    @Test
    void lease_thatIsNone_isRefusedInOneSentence() {
        assertThatThrownBy(() -> new Lease(HOUR, true, MINUTE))
                .hasMessage("The lease of PT1H is longer than the PT1M that the hold may live in all: give a longer"
                        + " cap or a shorter lease.");
        assertThatThrownBy(() -> new Lease(HOUR, true, Duration.ofDays(366)))
                .hasMessage("A hold may live at most 365 days in all, and PT8784H were requested: request it"
                        + " again before it ends.");
        assertThat(Lease.refreshed(MINUTE).atMost()).isEqualTo(Duration.ofHours(24));
        assertThat(Lease.refreshed(Duration.ofDays(3)).atMost()).isEqualTo(Duration.ofDays(3));
    }

    @Test
    void extension_runsFromNow_alsoForLess() {
        long id = held(new HoldRequest(path(), MINUTE)).id();
        pass(50);
        assertThat(extend(id, HOUR).leaseLeft()).isEqualTo(HOUR);
        pass(3_000);
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        assertThat(extend(id, Duration.ofSeconds(10)).leaseLeft()).isEqualTo(Duration.ofSeconds(10));
        pass(10);
        assertThat(harness.holdNow(id).reason()).isEqualTo("its lease of 10 s is over");
    }

    @Test
    void extension_beyondTheCap_endsAtIt() {
        long id = held(new HoldRequest(path(), new Lease(MINUTE, true, Duration.ofSeconds(100))))
                .id();
        pass(20);
        assertThat(extend(id, HOUR).leaseLeft()).isEqualTo(Duration.ofSeconds(80));
        assertThat(extend(id, HOUR).claims().getFirst().leftAtMost()).isEqualTo(Duration.ofSeconds(80));
    }

    @Test
    void shortenedLease_isNotUndoneByAnEarlierUse_butByALaterOne() {
        long id = held(new HoldRequest(path(), REFRESHED)).id();
        pass(10);
        use();
        pass(10);
        assertThat(extend(id, Duration.ofSeconds(5)).leaseLeft()).isEqualTo(Duration.ofSeconds(5));
        pass(3);
        assertThat(harness.holdNow(id).leaseLeft()).isEqualTo(Duration.ofSeconds(2));
        use();
        pass(1);
        assertThat(harness.holdNow(id).leaseLeft()).isBetween(Duration.ofSeconds(58), MINUTE);
    }

    @Test
    void shortenedLease_andAHintInTheSameRound_isProlonged() {
        long id = held(new HoldRequest(path(), REFRESHED)).id();
        pass(10);
        harness.controller.extend(id, Optional.empty(), Duration.ofSeconds(5));
        assertThat(hint(Hint.GOES_ON, "", 1, 2))
                .singleElement()
                .extracting(HoldView::leaseLeft)
                .isEqualTo(MINUTE);
    }

    @Test
    void extension_ofWhatIsOverOrAutomaticOrUnknown_changesNothing() {
        long id = held(new HoldRequest(path(), MINUTE)).id();
        pass(60);
        assertThat(extend(id, HOUR).state()).isEqualTo(HoldState.RELEASED);
        assertThat(await(harness.controller.extend(99, Optional.empty(), HOUR))).isEmpty();
    }

    @Test
    void requesters_ofOnePrefix_shareAHoldUntilTheLastLeaves() {
        HoldView first = held(new HoldRequest(path(), HOUR).by("a"));
        HoldView joined = ask(new HoldRequest(path(), MINUTE).withWeight(7).by("b"));

        assertThat(joined.id()).isEqualTo(first.id());
        assertThat(first.timesAsked()).isEqualTo(1);
        assertThat(joined.timesAsked()).isEqualTo(2);
        assertThat(joined.weight()).isEqualTo(7);
        assertThat(joined.claims()).extracting(ClaimView::requester).containsExactly("a", "b");
        assertThat(harness.engine.pins).containsOnlyKeys(2L).containsValue(1);

        assertThat(leave(first.id(), "a")).hasValueSatisfying(left -> {
            assertThat(left.state()).isEqualTo(HoldState.HELD);
            assertThat(left.leaseLeft()).isEqualTo(MINUTE);
        });
        assertThat(leave(first.id(), "a")).as("it wants nothing any more").isEmpty();
        assertThat(leave(first.id(), "b")).hasValueSatisfying(left -> {
            assertThat(left.state()).isEqualTo(HoldState.RELEASED);
            assertThat(left.reason()).isEqualTo("released by its last requester, b");
        });
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void requester_whoseLeaseEnds_leavesTheOthers() {
        long id = held(new HoldRequest(path(), MINUTE).by("a")).id();
        pass(30);
        ask(new HoldRequest(path(), MINUTE).by("b"));
        pass(30);
        assertThat(harness.holdNow(id).claims())
                .extracting(ClaimView::requester)
                .containsExactly("b");
        assertThat(state(id)).isEqualTo(HoldState.HELD);
        pass(30);
        assertThat(harness.holdNow(id).reason()).isEqualTo("the lease of its last requester, b, of 60 s is over");
        assertThat(harness.engine.pins).isEmpty();
    }

    @Test
    void requester_askingAgain_renewsAndTakesNothingBack() {
        long id = held(new HoldRequest(path(), MINUTE).by("a")).id();
        for (int i = 0; i < 4; i++) {
            pass(50);
            assertThat(ask(new HoldRequest(path(), MINUTE).by("a"))).satisfies(renewed -> {
                assertThat(renewed.id()).isEqualTo(id);
                assertThat(renewed.leaseLeft()).isEqualTo(MINUTE);
            });
        }
        ask(new HoldRequest(path(), HOUR).by("a"));
        assertThat(ask(new HoldRequest(path(), MINUTE).by("a")).leaseLeft())
                .as("an hour was promised")
                .isEqualTo(HOUR);
    }

    @Test
    void holdsWithoutARequester_stayHoldsOfTheirOwn() {
        long first = held(new HoldRequest(path(), HOUR)).id();
        long second = ask(new HoldRequest(path(), HOUR)).id();
        long shared = ask(new HoldRequest(path(), HOUR).by("a")).id();
        long longer = ask(new HoldRequest(new long[] {1, 2, 3}, HOUR).by("a")).id();
        assertThat(List.of(first, second, shared, longer)).doesNotHaveDuplicates();
        assertThat(leave(first, "a")).isEmpty();
    }

    @Test
    void requesters_moreThanAHoldMayHave_areRefusedWithASentence() {
        held(new HoldRequest(path(), HOUR).by("0"));
        for (int i = 1; i < 64; i++) {
            ask(new HoldRequest(path(), HOUR).by(Integer.toString(i)));
        }
        assertThatThrownBy(() -> ask(new HoldRequest(path(), HOUR).by("64")))
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(RejectedExecutionException.class)
                .hasMessageContaining("Hold 1 has 64 requesters, which is the most: release it for one of them first.");
        assertThat(ask(new HoldRequest(path(), HOUR).by("63")).id()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a\nb", "a\u202Eb", "\uD800"})
    void requester_whoseNameIsNone_isRefused(String name) {
        assertThatThrownBy(() -> new HoldRequest(path(), HOUR).by(name))
                .hasMessage("A requester's name is 1 to 64 printable characters; give it another one.");
        assertThatThrownBy(() -> new HoldRequest(path(), HOUR).by("a".repeat(65)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new HoldRequest(path(), HOUR).withWeight(101))
                .hasMessage("The weight of a hold is 1 to 100, and 101 was requested.");
    }

    @Test
    void joining_beforeAnythingIsKnown_isAnsweredWithTheFirst() {
        harness.stored(1, 2);
        CompletableFuture<HoldView> first = harness.controller
                .request(new HoldRequest(path(), HOUR).by("a"))
                .toCompletableFuture();
        CompletableFuture<HoldView> second = harness.controller
                .request(new HoldRequest(path(), HOUR).by("b"))
                .toCompletableFuture();
        harness.settle();
        assertThat(first.join().id()).isEqualTo(second.join().id());
        assertThat(second.join().state()).isEqualTo(HoldState.HELD);
    }

    @Test
    void joining_withTokens_tellsTheHoldItsTokens() {
        harness.cleared();
        ask(new HoldRequest(path(), HOUR).by("a"));
        assertThat(harness.own).isEmpty();
        ask(new HoldRequest(path(), new int[32], Lease.absolute(HOUR)).by("b"));
        pass(1);
        assertThat(harness.own).as("sent alone, now that its tokens are known").hasSize(1);
    }

    /** All that a router does for a request whose body says {@code "cache_control": {"ttl": …}}. */
    private HoldView cacheControl(long[] prefix, Duration ttl) {
        return ask(new HoldRequest(prefix, Lease.refreshed(ttl)).by("router-a"));
    }

    @Test
    void routersOneCall_forEachRequest_keepsItsPrefixAsLongAsItComes() {
        for (int request = 0; request < 10; request++) {
            harness.stored(1, 2, nextBlock++);
            cacheControl(path(), Duration.ofMinutes(5));
            pass(200);
        }
        assertThat(harness.controller.view().holds()).singleElement().satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.HELD);
            assertThat(hold.timesAsked()).isEqualTo(10);
        });
        assertThat(await(harness.controller.leave(new HoldRequest(path(), MINUTE), "router-a")))
                .hasValueSatisfying(left -> assertThat(left.state()).isEqualTo(HoldState.RELEASED));
        assertThat(harness.engine.pins).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"USED", "GOES_ON"})
    void use_thatIsReported_prolongsWhatIsOnThePath(String word) {
        harness.stored(1, 2);
        harness.storedUnder(2, 3, 4);
        long above = ask(new HoldRequest(path(), REFRESHED)).id();
        long whole =
                ask(new HoldRequest(new long[] {1, 2, 3, 4}, REFRESHED).by("b")).id();
        long absolute = ask(new HoldRequest(path(), MINUTE)).id();
        long beyond =
                ask(new HoldRequest(new long[] {1, 2, 3, 4, 5}, REFRESHED)).id();
        long aside = ask(new HoldRequest(new long[] {1, 2, 7}, REFRESHED)).id();
        pass(50);
        assertThat(hint(Hint.valueOf(word), "", 1, 2, 3, 4))
                .extracting(HoldView::id)
                .containsExactly(above, whole);
        pass(20);
        assertThat(List.of(state(above), state(whole))).containsOnly(HoldState.HELD);
        assertThat(List.of(state(absolute), state(beyond), state(aside))).containsOnly(HoldState.RELEASED);
        assertThat(harness.controller.view().hints()).containsEntry(Hint.valueOf(word), 1L);
    }

    @Test
    void over_endsWhatTheRequesterWantsOfTheConversation_andNothingShared() {
        harness.stored(1, 2);
        harness.storedUnder(2, 3, 4);
        long system = ask(new HoldRequest(path(), HOUR).by("a")).id();
        long turn = ask(new HoldRequest(new long[] {1, 2, 3}, HOUR).by("a")).id();
        long longer =
                ask(new HoldRequest(new long[] {1, 2, 3, 4}, HOUR).by("a")).id();
        ask(new HoldRequest(new long[] {1, 2, 3, 4}, HOUR).by("b"));
        long nameless = ask(new HoldRequest(new long[] {1, 2, 3, 4}, HOUR)).id();

        assertThat(hint(Hint.OVER, "a", 1, 2, 3)).extracting(HoldView::id).containsExactly(turn, longer);

        assertThat(state(turn)).isEqualTo(HoldState.RELEASED);
        assertThat(harness.holdNow(longer).claims())
                .extracting(ClaimView::requester)
                .containsExactly("b");
        assertThat(List.of(state(system), state(nameless))).containsOnly(HoldState.HELD);
        assertThat(hint(Hint.OVER, "", 1, 2, 3)).as("from nobody").isEmpty();
        assertThat(hint(Hint.OVER, "b", 1, 2, 3)).extracting(HoldView::id).containsExactly(longer);
        assertThat(harness.holdNow(longer).reason()).isEqualTo("released by its last requester, b");
    }

    @Test
    void restoredHold_hasItsClaimsAgain() {
        harness.stored(1, 2);
        Lease capped = new Lease(MINUTE, true, HOUR);
        harness.controller.restore(
                9,
                new HoldRequest(path(), MINUTE),
                List.of(
                        new ClaimView("a", capped, 3, Duration.ofSeconds(20), Duration.ofSeconds(70)),
                        new ClaimView("b", Lease.absolute(HOUR), 5, Duration.ofSeconds(10), HOUR)),
                "asked for before");
        harness.settle();
        assertThat(harness.holdNow(9).weight()).isEqualTo(5);
        pass(15);
        use();
        pass(1);
        assertThat(harness.holdNow(9).claims()).singleElement().satisfies(claim -> {
            assertThat(claim.requester()).isEqualTo("a");
            assertThat(claim.leftAtMost()).isEqualTo(Duration.ofSeconds(54));
            assertThat(claim.left()).isEqualTo(Duration.ofSeconds(54));
        });
        assertThat(ask(new HoldRequest(path(), MINUTE).by("a")).id()).isEqualTo(9);
    }

    @Test
    void proof_isAsOldAsWhatShowedIt() {
        HoldView held = held(new HoldRequest(path(), HOUR));
        assertThat(held.provenAgo()).as("the pin's answer").contains(Duration.ZERO);
        pass(100);
        assertThat(harness.holdNow(held.id()).provenAgo()).contains(Duration.ofSeconds(100));
        use();
        pass(7);
        assertThat(harness.holdNow(held.id()).provenAgo())
                .as("a request over it")
                .contains(Duration.ofSeconds(7));
        harness.served(32);
        pass(3);
        assertThat(harness.holdNow(held.id()).provenAgo().orElseThrow())
                .as("a rest with as much taken")
                .isBetween(Duration.ofSeconds(3), Duration.ofSeconds(4));
        long joined = ask(new HoldRequest(path(), HOUR)).id();
        assertThat(harness.holdNow(joined).provenAgo().orElseThrow())
                .as("whose pin was there before")
                .isGreaterThanOrEqualTo(Duration.ofSeconds(3));
        assertThat(ask(new HoldRequest(new long[] {8}, HOUR)).provenAgo()).isEmpty();
        harness.engine.pins.clear();
        harness.cleared();
        pass(1);
        assertThat(harness.holdNow(held.id()).provenAgo()).isEmpty();
    }

    @Test
    void reasons_ofWhatWasLost_areSentencesThatAreTrue() {
        harness.engine.pinAnswers.clear();
        long id = held(new HoldRequest(path(), HOUR)).id();
        harness.engine.pins.clear();
        harness.cleared();
        harness.stored(1, 2);
        pass(1);
        assertThat(harness.holdNow(id).reason()).doesNotContain("..").doesNotContain("held again when");
        Hold said = Hold.requested(1, HoldOrigin.REQUESTED, new HoldRequest(path(), HOUR), 0, "asked for")
                .lost("flushed")
                .held(2, 2, "asked for. The engine stored 32 tokens.");
        assertThat(said.view(0, 16, Long.MIN_VALUE, 1).reason())
                .isEqualTo("asked for. The engine stored 32 tokens. It was lost before: flushed.");
        assertThat(said.lost("flushed").view(0, 16, Long.MIN_VALUE, 1).reason())
                .isEqualTo("flushed; it is held again when its prefix is stored again");
        assertThat(said.lost("flushed")
                        .expiring("lost: flushed")
                        .view(0, 16, 0, 1)
                        .reason())
                .isEqualTo("lost: flushed");
    }

    @Test
    void leaving_anUnpinThatIsRefused_saysSo() {
        long id = held(new HoldRequest(path(), HOUR).by("a")).id();
        harness.engine.unpinAnswers.add(Outcome.Kind.DEFERRED);
        assertThat(leave(id, "a").orElseThrow()).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.EXPIRING);
            assertThat(hold.reason()).startsWith("no clear answer to the unpin");
        });
        assertThat(ask(new HoldRequest(path(), HOUR).by("a")).id())
                .as("a hold of its own")
                .isNotEqualTo(id);
    }

    private static long[] path() {
        return new long[] {1, 2};
    }

    private HoldView held(HoldRequest request) {
        harness.stored(1, 2);
        HoldView held = ask(request);
        assertThat(held.state()).isEqualTo(HoldState.HELD);
        return held;
    }

    private HoldView ask(HoldRequest request) {
        return await(harness.controller.request(request));
    }

    private HoldView extend(long id, Duration length) {
        return await(harness.controller.extend(id, Optional.empty(), length)).orElseThrow();
    }

    private Optional<HoldView> leave(long id, String requester) {
        return await(harness.controller.leave(id, requester));
    }

    private List<HoldView> hint(Hint hint, String requester, long... path) {
        return await(harness.controller.hint(hint, new HoldRequest(path, HOUR), requester));
    }

    private <T> T await(CompletionStage<T> stage) {
        harness.settle();
        return stage.toCompletableFuture().join();
    }

    private HoldState state(long id) {
        return harness.holdNow(id).state();
    }

    /** A request of somebody's goes over the prefix, and finds it. */
    private void use() {
        harness.storedUnder(2, nextBlock++);
    }

    private void pass(int seconds) {
        harness.pass(Duration.ofSeconds(seconds));
    }

    /** The same with an engine in which so many requests run. */
    private void pass(int seconds, int running) {
        harness.now += seconds * ControllerHarness.SECOND;
        harness.readings(running, 0);
        harness.settle();
    }
}
