package io.holdfast.core.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.Observed;
import io.holdfast.core.budget.PromptSizes;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.plan.Plan.Action;
import io.holdfast.core.plan.Plan.Line;
import io.holdfast.core.prefix.PrefixView;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.rank.RankedPrefix;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Samples;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each reason that a plan can give, and the guard over random states. */
final class PlannerTest {
    private static final Capabilities ABLE = new Capabilities(true, "test");
    private static final BackendTraits HARD = BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);

    private static final Saving UNKNOWN =
            new Saving(new PrefillCost.Unknown(3, "3 of 20 measurements"), Duration.ofMillis(5));

    private final List<SharedPrefix> candidates = new ArrayList<>();
    private final Map<Long, Long> pathsOver = new HashMap<>();
    private final EngineBlocks tree = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    });
    private final List<Hold> holds = new ArrayList<>();
    private long hard = 10_000;
    private long forNewPins = Long.MAX_VALUE;
    private long automatic = 5_000;
    private Optional<String> unknownHard = Optional.empty();
    private Optional<String> unknownAutomatic = Optional.empty();
    private boolean stalled;
    private Optional<String> hindrance = Optional.empty();
    private Optional<Capabilities> capabilities = Optional.of(ABLE);
    private BackendTraits traits = HARD;
    private Optional<Why> letGo = Optional.empty();
    private final Set<Long> tokensKnown = new HashSet<>();
    private long largestToken = Long.MAX_VALUE;
    private Saving saving = UNKNOWN;
    private Ranking ranking = Ranking.NONE;
    private Optional<String> notPrimed = Optional.of("the sidecar sends no requests of its own to this engine");
    private Set<Long> leaving = Set.of();
    private Set<Long> freeing = Set.of();

    @Test
    void wish_wholePrefixEndedAnInsertion_isPinned() {
        root(1, 2);
        wish(1, 1, 2);
        assertLine(Action.PIN, 1, 2, 2, "the whole prefix is in the cache");
    }

    @Test
    void wish_noLivingPathOverIt_isPinnedClippedAndSaysWhatToDo() {
        root(1, 2);
        under(2, 3, 4);
        wish(1, 1, 2, 3);
        assertLine(
                Action.PIN,
                1,
                2,
                2,
                "clipped: 2 of 3 blocks, since the engine can only pin where a request's blocks end; all of it is"
                        + " pinned with the next request that goes on from it");
    }

    @Test
    void wish_pathOverIt_isPinnedBeyondItsEndAndSaysHowFar() {
        root(1, 2);
        under(2, 3, 4);
        pathsOver.put(3L, 4L);
        wish(1, 1, 2, 3);
        assertLine(Action.PIN, 1, 4, 4, "so 1 blocks beyond its 3 are pinned as well");
    }

    @Test
    void wish_pathOverItTooLong_saysTheNumbers() {
        root(1, 2, 3, 4);
        pathsOver.put(2L, 4L);
        hard = 63;
        wish(1, 1, 2);
        assertWaits("no room: 0 tokens are pinned, it needs 64 more, and the bound is 63");
    }

    @Test
    void wishes_roomForOne_theHeavierIsTakenAndTheOtherSaysBehindWhom() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        hard = 63;
        holds.add(weighed(1, 1, 1, 2));
        holds.add(weighed(2, 5, 3, 4));
        holds.add(weighed(3, 5, 5, 6));
        assertThat(plan().lines())
                .extracting(Line::holdId, Line::action)
                .containsExactly(tuple(2L, Action.PIN), tuple(3L, Action.WAIT), tuple(1L, Action.WAIT));
        assertThat(plan().lines().get(1).reason()).startsWith("no room").doesNotContain("goes before");
        assertThat(plan().lines().get(2).reason())
                .startsWith("no room: 32 tokens are pinned, it needs 32 more, and the bound is 63")
                .endsWith("; hold 2 of weight 5 goes before this one of weight 1");
    }

    @Test
    void heavierWish_takesNothingFromALighterHold() {
        root(1, 2);
        root(3, 4);
        hard = 63;
        held(1, 1, 2);
        holds.add(weighed(2, 100, 3, 4));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.WAIT);
    }

    @Test
    void boundThatFalls_takesTheLighterBeforeTheYounger() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        for (long id = 1; id <= 3; id++) {
            long last = 2 * id;
            tree.pinPath(last);
            holds.add(weighed(id, id == 1 ? 1 : 9, last - 1, last).held(last, 2, "held"));
        }
        hard = 64;
        assertThat(unpinned()).containsExactly(1L);
        hard = 32;
        assertThat(unpinned()).containsExactly(1L, 3L);
    }

    @Test
    void requestThatRuns_letsNothingGoThatIsHeld() {
        root(1, 2);
        root(3, 4);
        held(1, 1, 2);
        forNewPins = 16;
        wish(2, 3, 4);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.WAIT);
    }

    private static Hold weighed(long id, int weight, long... path) {
        return Hold.requested(
                id,
                HoldOrigin.REQUESTED,
                new HoldRequest(path, Duration.ofSeconds(60)).withWeight(weight),
                0,
                "asked for");
    }

    @Test
    void clippedHold_ofWhichAllCanBeHeld_isPinnedAnew() {
        root(1, 2);
        under(2, 3, 4);
        tree.pinPath(2);
        holds.add(wished(1, HoldOrigin.REQUESTED, 1, 2, 3).held(2, 2, "clipped"));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP);
        pathsOver.put(3L, 4L);
        leaving = Set.of(4L);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP);
        leaving = Set.of();
        assertLine(Action.UNPIN, 1, 2, 2, "released for a moment: all of it can be held now");
        hard = 63;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP);
    }

    @Test
    void wish_nothingEndsInItOrOverIt_waits() {
        root(1, 2, 3);
        wish(1, 1, 2);
        assertWaits("in the cache, but the engine can only pin where a request's blocks end");
    }

    @Test
    void wish_lastBlockNotStored_waits() {
        root(1);
        wish(1, 1, 2);
        assertWaits("not in the cache as a whole");
    }

    @Test
    void wish_lastBlockGoneAndTokensKnown_isPrimedOneAtATime() {
        holds.add(Hold.requested(1, HoldOrigin.REQUESTED, withTokens(1, 2), 0, "asked for"));
        holds.add(Hold.requested(2, HoldOrigin.REQUESTED, withTokens(3, 4), 0, "asked for"));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.WAIT, Action.WAIT);
        assertThat(plan().lines().getFirst().reason())
                .endsWith("; the sidecar sends no requests of its own to this engine");
        notPrimed = Optional.empty();
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PRIME, Action.WAIT);
        hard = 31;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.WAIT, Action.WAIT);
        assertThat(plan().lines().getFirst().reason()).contains("no room to pin its 32 tokens");
    }

    @Test
    void wish_thereWithinAUsersPath_isNotPrimed() {
        notPrimed = Optional.empty();
        root(1, 2, 3);
        pathsOver.put(2L, 3L);
        holds.add(Hold.requested(1, HoldOrigin.REQUESTED, withTokens(1, 2), 0, "asked for"));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN);
    }

    @Test
    void wish_endedAnInsertionItself_isPinnedThereThoughAPathGoesOn() {
        root(1, 2);
        under(2, 3);
        pathsOver.put(2L, 3L);
        wish(1, 1, 2);
        assertLine(Action.PIN, 1, 2, 2, "the whole prefix is in the cache");
    }

    @Test
    void wish_goneAndBackendPinsAnyBlock_isPrimedAsWell() {
        traits = BackendTraits.soft();
        notPrimed = Optional.empty();
        holds.add(Hold.requested(1, HoldOrigin.REQUESTED, withTokens(1, 2), 0, "asked for"));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PRIME);
    }

    @Test
    void wish_goneAndItsTokensAreLargerThanAnySeen_isNotPrimed() {
        notPrimed = Optional.empty();
        largestToken = -1;
        holds.add(Hold.requested(1, HoldOrigin.REQUESTED, withTokens(1, 2), 0, "asked for"));
        assertThat(plan().lines()).singleElement().satisfies(line -> {
            assertThat(line.action()).isEqualTo(Action.WAIT);
            assertThat(line.reason()).contains("does not send its token id 0 before the engine has shown one as large");
        });
    }

    @Test
    void wish_goneAndNoRoomBesideWhatIsPinned_isNotPrimed() {
        notPrimed = Optional.empty();
        root(3, 4);
        held(1, 3, 4);
        holds.add(Hold.requested(2, HoldOrigin.REQUESTED, withTokens(1, 2), 0, "asked for"));
        hard = 63;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.WAIT);
        hard = 64;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.PRIME);
    }

    private static HoldRequest withTokens(long... blocks) {
        return new HoldRequest(blocks, new int[blocks.length * 16], Duration.ofSeconds(60));
    }

    @Test
    void wish_holeBeforeItsEnd_waitsAndCounts() {
        root(1, 2, 3);
        remove(2);
        wish(1, 1, 2, 3);
        assertWaits("only the first 1 of 3 blocks are known to be in the cache");
    }

    @Test
    void wish_ambiguousHash_isRefused() {
        root(1, 2);
        root(1, 2);
        wish(1, 1, 2);
        assertLine(Action.REFUSE, 1, 0, 2, "may name two blocks of the engine");
    }

    @Test
    void wish_engineCannotPin_isRefusedWithItsWhy() {
        capabilities = Optional.of(new Capabilities(false, "HTTP 404 for /hicache/pin_blocks"));
        root(1, 2);
        wish(1, 1, 2);
        assertLine(Action.REFUSE, 1, 0, 2, "this engine cannot pin: HTTP 404 for /hicache/pin_blocks");
    }

    @Test
    void wish_largerThanTheCache_isRefused() {
        // 20000 - 2 x 16 - 200 = 19768 tokens are 1235 blocks.
        long[] fits = LongStream.range(0, 1_235).toArray();
        long[] tooLong = LongStream.range(0, 1_236).toArray();
        hard = 20_000;
        root(fits);
        wish(1, fits);
        wish(2, tooLong);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN, Action.REFUSE);
        assertThat(plan().lines().get(1).reason()).contains("its 19776 tokens never fit");
    }

    @Test
    void wish_hindered_waitsWithThatReason() {
        hindrance = Optional.of("holding is suspended: shutting down");
        root(1, 2);
        wish(1, 1, 2);
        assertWaits("holding is suspended: shutting down");
    }

    @Test
    void wish_hardBoundUnknown_waitsAndNamesTheReading() {
        unknownHard = Optional.of("the reading runningRequests is 11 s old: /metrics");
        root(1, 2);
        wish(1, 1, 2);
        assertWaits("nothing new is pinned: the reading runningRequests is 11 s old: /metrics");
    }

    @Test
    void wish_noRoom_waitsWithTheArithmetic() {
        hard = 31;
        root(1, 2);
        wish(1, 1, 2);
        assertWaits("no room: 0 tokens are pinned, it needs 32 more, and the bound is 31: arithmetic");
        hard = 32;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN);
    }

    @Test
    void wish_secondOfTwo_countsWhatTheFirstTakes() {
        hard = 63;
        root(1, 2);
        root(3, 4);
        wish(1, 1, 2);
        wish(2, 3, 4);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN, Action.WAIT);
    }

    @Test
    void wish_pathPinnedAlready_costsOnlyTheRest() {
        root(1, 2);
        under(2, 3);
        held(1, 1, 2);
        wish(2, 1, 2, 3);
        hard = 48;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.PIN);
    }

    @Test
    void wish_blockIsLeaving_waits() {
        root(1, 2);
        leaving = Set.of(2L);
        wish(1, 1, 2);
        assertWaits("the unpin of its last block has no outcome yet");
    }

    @Test
    void wish_toldToWait_isNotTriedBeforeItsTime() {
        root(1, 2);
        holds.add(wished(1, HoldOrigin.REQUESTED, 1, 2).waiting(1, "the engine did not have it"));
        assertWaits("the engine did not have it");
    }

    @Test
    void hold_nothingToDo_isKeptWithItsReason() {
        root(1, 2);
        held(1, 1, 2);
        assertLine(Action.KEEP, 1, 2, 2, "held for the test");
    }

    @Test
    void hold_expiring_isUnpinnedWithItsReason() {
        root(1, 2);
        held(1, 1, 2);
        holds.set(0, holds.get(0).expiring("its lease of 60 s is over"));
        assertLine(Action.UNPIN, 1, 2, 2, "its lease of 60 s is over");
    }

    @Test
    void stalled_unpinsAllAndPinsNothing() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        held(1, 1, 2);
        held(2, HoldOrigin.AUTOMATIC, 3, 4);
        wish(3, 5, 6);
        stalled = true;
        Plan plan = plan();
        assertThat(plan.lines()).extracting(Line::action).containsExactly(Action.UNPIN, Action.UNPIN, Action.WAIT);
        assertThat(plan.lines())
                .allSatisfy(line -> assertThat(line.reason()).startsWith("requests wait while nothing runs"));
    }

    @Test
    void stalled_pinsThatTheEngineMayEvict_stay() {
        traits = BackendTraits.soft()
                .needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH)
                .endingByThemselves();
        root(1, 2);
        held(1, 1, 2);
        stalled = true;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP);
    }

    @Test
    void aboveTheBound_automaticGoFirstThenTheYoungest() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        root(7, 8);
        held(1, 1, 2);
        held(2, HoldOrigin.AUTOMATIC, 3, 4);
        held(3, 5, 6);
        held(4, 7, 8);
        hard = 96;
        assertThat(unpinned()).containsExactly(2L);
        hard = 95;
        assertThat(unpinned()).containsExactly(2L, 4L);
        hard = 32;
        assertThat(unpinned()).containsExactly(2L, 3L, 4L);
        assertThat(plan().lines().get(1).reason()).isEqualTo("released: the pins exceed the bound: arithmetic");
    }

    @Test
    void aboveTheBound_whatIsLeavingAlready_isNotChargedToOthers() {
        root(1, 2);
        root(3, 4);
        held(1, 1, 2);
        tree.pinPath(4);
        leaving = Set.of(4L);
        freeing = leaving;
        hard = 32;
        assertThat(unpinned()).isEmpty();
    }

    @Test
    void aboveTheBound_pinThatTheEngineRefusesToTakeBack_isChargedToOthers() {
        root(1, 2);
        root(3, 4);
        held(1, 1, 2);
        held(2, 3, 4);
        holds.set(1, holds.get(1).expiring("the engine refused the unpin"));
        leaving = Set.of(4L);
        hard = 32;
        assertThat(unpinned()).containsExactly(1L, 2L);
    }

    @Test
    void aboveTheBound_uncountedPinOnAHeldPath_isNotSubtractedFromIt() {
        root(1, 2);
        under(2, 3, 4);
        held(1, 1, 2, 3, 4);
        leaving = Set.of(2L);
        hard = 63;
        assertThat(unpinned()).containsExactly(1L);
    }

    @Test
    void aboveTheBound_sharedBlock_isFreedOnlyWithItsLastHold() {
        root(1, 2);
        root(3, 4);
        held(1, 3, 4);
        held(2, 1, 2);
        holds.add(wished(3, HoldOrigin.REQUESTED, 1, 2).held(2, 2, "shares"));
        hard = 32;
        assertThat(unpinned()).containsExactly(2L, 3L);
    }

    @Test
    void aboveTheBound_boundUnknown_takesNothingAway() {
        root(1, 2);
        held(1, 1, 2);
        hard = 0;
        unknownHard = Optional.of("the reading capacityTokens is unknown: no answer");
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP);
    }

    @Test
    void automatic_sharedPrefixThatWasLost_isPinnedByThePathOverIt() {
        root(1, 2, 3, 4);
        pathsOver.put(2L, 4L);
        candidates.add(prefix(2, 7));
        assertLine(
                Action.PIN,
                100,
                4,
                4,
                "shared by 7 requests and lost once; the engine can only pin where a request's blocks end, so 2 blocks"
                        + " beyond its 2 are pinned as well");
        assertThat(plan().lines().getFirst().prefix()).isEqualTo(2);
    }

    @Test
    void automatic_notThereOrWithoutAnEnd_waits() {
        candidates.add(new SharedPrefix(2, 2, OptionalLong.empty(), 3, 7, 6, 1, 2, 7));
        assertWaits("worth a hold, and not in the cache now");
        root(1, 2, 3, 4);
        assertWaits("worth a hold, and the engine can only pin where a request's blocks end");
    }

    @Test
    void automatic_underALongerPin_needsNoneOfItsOwn() {
        root(1, 2, 3);
        pathsOver.put(2L, 3L);
        held(1, 1, 2, 3);
        candidates.add(prefix(2, 7));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP);
    }

    @Test
    void automatic_twoAtOnce_eachHasItsIdAndTakesItsRoom() {
        root(1, 2);
        root(3, 4);
        pathsOver.put(2L, 2L);
        pathsOver.put(4L, 4L);
        candidates.add(prefix(2, 7));
        candidates.add(prefix(4, 7));
        hard = 64;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN, Action.PIN);
        assertThat(plan().lines()).extracting(Line::holdId).containsExactly(100L, 101L);
        root(5, 6);
        wish(1, 5, 6);
        hard = 95;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN, Action.PIN, Action.WAIT);
    }

    /** What came before it is not known where the events of its root were lost. */
    @Test
    void automatic_beginningIsNotKnown_waits() {
        traits = BackendTraits.soft().needing(Need.TOKENS);
        under(9, 1, 2);
        tokensKnown.add(2L);
        candidates.add(prefix(2, 7));
        assertWaits("worth a hold, and what comes before its last block is not known, since events were lost");
    }

    @Test
    void automatic_pathIsLeaving_waits() {
        root(1, 2, 3);
        pathsOver.put(2L, 3L);
        leaving = Set.of(3L);
        candidates.add(prefix(2, 7));
        assertWaits("the unpin of its last block has no outcome yet");
    }

    @Test
    void automatic_backendSendsThePrefixItself_waits() {
        traits = BackendTraits.soft().needing(Need.TOKENS);
        root(1, 2);
        candidates.add(prefix(2, 7));
        assertWaits("worth a hold, and this backend sends the prefix itself, whose tokens are not known");
    }

    @Test
    void automatic_backendSendsThePrefixItselfAndItsTokensAreKnown_isPinned() {
        traits = BackendTraits.soft().needing(Need.TOKENS);
        root(1, 2);
        candidates.add(prefix(2, 7));
        tokensKnown.add(2L);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN);
    }

    @Test
    void automatic_backendPinsAnyBlock_isPinnedAtItsOwnEnd() {
        traits = BackendTraits.soft();
        root(1, 2, 3);
        pathsOver.put(2L, 3L);
        candidates.add(prefix(2, 7));
        assertLine(Action.PIN, 100, 2, 2, "shared by 7 requests and lost once");
    }

    @Test
    void automatic_noRoomUnderItsOwnBound_saysTheNumbersThoughRequestedWouldBePinned() {
        root(1, 2);
        pathsOver.put(2L, 2L);
        candidates.add(prefix(2, 7));
        automatic = 31;
        assertWaits(
                "automatic holds have no room for its 32 tokens: arithmetic; a larger share allows it, and a requested"
                        + " hold is not bound by it");
        wish(1, 1, 2);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN);
    }

    /** Two blocks of 16 tokens: what is worth 5 ms takes 156.25 microseconds a token. */
    @Test
    void automatic_savesLessThanIsWorthAHold_waitsAndSaysTheNumbers() {
        root(1, 2);
        pathsOver.put(2L, 2L);
        candidates.add(prefix(2, 7));
        saving = measured(0.000_156, 0);
        assertWaits(
                "holding its 32 tokens saves a request about 5.0 ms, and at least 5 ms are worth an automatic hold");
        assertThat(plan().lines().getFirst().code()).isEqualTo(Reason.SAVES_TOO_LITTLE);

        saving = measured(0.000_157, 0);
        assertLine(
                Action.PIN,
                100,
                2,
                2,
                "shared by 7 requests and lost once; a request that finds it saves about 5.0 ms");
        saving = measured(0.000_156, 0.000_001);
        assertThat(plan().lines())
                .as("what the error allows")
                .extracting(Line::action)
                .containsExactly(Action.PIN);

        saving = measured(0.000_001, 0);
        wish(1, 1, 2);
        assertThat(plan().lines())
                .as("what somebody asked for")
                .extracting(Line::code)
                .containsExactly(Reason.WHOLE_PREFIX);
    }

    @Test
    void automatic_heldAndFoundToSaveTooLittle_goes() {
        root(1, 2);
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        candidates.add(prefix(2, 7));
        saving = measured(0.000_105, 0);
        assertThat(plan().lines())
                .as("measurements waver")
                .extracting(Line::code)
                .containsExactly(Reason.HELD);
        saving = measured(0.000_104, 0);
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.SAVES_TOO_LITTLE);
        assertThat(unpinned()).containsExactly(1L);
        assertThat(plan().lines().getFirst().reason()).startsWith("released: holding its 32 tokens saves");
    }

    @Test
    void automatic_heldAboveItsOwnBound_goes() {
        root(1, 2);
        root(3, 4);
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        held(2, 3, 4);
        candidates.add(prefix(2, 7));
        automatic = 64;
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.KEEP);
        automatic = 63;
        assertThat(unpinned()).containsExactly(1L);
    }

    @Test
    void automatic_hotterPrefix_takesThePlaceOfAColderOne() {
        root(1, 2);
        root(3, 4);
        pathsOver.put(4L, 4L);
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        automatic = 32;
        candidates.add(prefix(2, 10));
        candidates.add(prefix(4, 14));
        assertThat(unpinned()).as("not by a little").isEmpty();
        candidates.set(1, prefix(4, 16));
        assertThat(unpinned()).containsExactly(1L);
        assertThat(plan().lines().getFirst().reason()).contains("hotter prefixes take 32");
    }

    @Test
    void automatic_boundUnknown_isNotPinnedAndNothingHeldGoes() {
        root(1, 2);
        root(3, 4);
        pathsOver.put(2L, 2L);
        candidates.add(prefix(2, 7));
        held(1, HoldOrigin.AUTOMATIC, 3, 4);
        unknownAutomatic = Optional.of("the reading usedTokens is unknown: not exported");
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.WAIT);
        assertThat(plan().lines().getLast().reason())
                .isEqualTo("no automatic hold: the reading usedTokens is unknown: not exported");
    }

    @Test
    void measuring_automaticHoldsGoAndRequestedStay() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        root(7, 8);
        candidates.add(prefix(8, 5));
        held(1, 1, 2);
        held(2, HoldOrigin.AUTOMATIC, 3, 4);
        holds.add(wished(3, HoldOrigin.AUTOMATIC, 5, 6));
        letGo = Optional.of(new Why(Reason.MEASURING, "measuring: a window without"));
        Plan plan = plan();
        assertThat(plan.lines())
                .extracting(Line::action)
                .containsExactly(Action.KEEP, Action.UNPIN, Action.WAIT, Action.WAIT);
        assertThat(plan.lines().subList(1, 4))
                .allSatisfy(line -> assertThat(line.reason()).startsWith("measuring: "));
    }

    /** Used every two and a half minutes, and windows have five: letting it go would lose it and tell nothing. */
    @Test
    void measuring_leavesWhatIsUsedSeldomAlone() {
        root(1, 2);
        root(3, 4);
        pathsOver.put(4L, 4L);
        SharedPrefix held = seldom(2);
        SharedPrefix fresh = seldom(4);
        candidates.add(held);
        candidates.add(fresh);
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        letGo = Optional.of(new Why(Reason.MEASURING, "measuring: a window without"));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.KEEP, Action.PIN);
        letGo = Optional.of(new Why(Reason.HARMFUL, "it does harm"));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.UNPIN);
    }

    private static SharedPrefix seldom(long last) {
        return new SharedPrefix(last, 2, OptionalLong.empty(), 3, 7, 6, 1, 2, 7, 150_000_000_000L);
    }

    /** Whatever the state: after a plan's pins, the largest request still fits beside what is pinned. */
    @Test
    void plan_randomStates_neverPinsAwayTheRoomOfTheLargestRequest() {
        int rounds = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 100_000 : 3_000;
        int pinned = 0;
        for (int seed = 1; seed <= rounds; seed++) {
            pinned += new PlannerTest().wedgeRound(new SplittableRandom(seed), "seed " + seed);
        }
        assertThat(pinned).as("the test must see pins to mean anything").isGreaterThan(rounds / 4);
    }

    private int wedgeRound(SplittableRandom random, String where) {
        int blockTokens = 1 << random.nextInt(6);
        List<Long> ends = new ArrayList<>();
        for (long prompt = 1; prompt <= random.nextInt(2, 12); prompt++) {
            long from = prompt * 1_000;
            long middle = from + random.nextInt(1, 25);
            root(LongStream.range(from, middle).toArray());
            if (random.nextBoolean()) {
                under(
                        middle - 1,
                        LongStream.range(middle, middle + random.nextInt(1, 15)).toArray());
            }
        }
        for (long block = 1_000; block < 12_000; block++) {
            if (tree.endedInsertion(block)) {
                ends.add(block);
            }
        }
        long id = 1;
        long outside = 0;
        leaving = new HashSet<>();
        freeing = new HashSet<>();
        for (long end : ends) {
            int what = random.nextInt(6);
            HoldOrigin origin = random.nextBoolean() ? HoldOrigin.REQUESTED : HoldOrigin.AUTOMATIC;
            if (what == 0) {
                held(id++, origin, tree.path(end));
            } else if (what < 3) {
                holds.add(wished(id++, origin, tree.path(end)));
            } else if (what == 3) {
                candidates.add(prefix(end, random.nextInt(1, 100)));
            } else if (what == 4) {
                // Leaving, and either about to go or refused by the engine.
                tree.pinPath(end);
                leaving.add(end);
                if (random.nextBoolean()) {
                    freeing.add(end);
                }
            } else {
                // Left over from an earlier life: the tree does not count its path.
                leaving.add(end);
                outside += tree.depth(end);
            }
        }
        int capacity = random.nextInt(1, 600) * blockTokens;
        PromptSizes.Facts prompts = new PromptSizes.Facts(
                random.nextInt(200),
                random.nextInt(1, capacity + 1),
                random.nextInt(1, 50),
                random.nextInt(1, 50),
                random.nextInt(3) / 2,
                random.nextInt(1, capacity + 1),
                random.nextInt(1, capacity + 1));
        int running = random.nextInt(3);
        BudgetSettings settings = new BudgetSettings(1, sizes(random, capacity), "--context-length");
        int context = random.nextInt(1, capacity + 1);
        int used = random.nextInt(4) == 0 ? random.nextInt(capacity) : 0;
        EngineReadings readings = Samples.readings(capacity, blockTokens, context, running, random.nextInt(2), used);
        long foreign = random.nextInt(8) == 0 ? random.nextInt(capacity) : 0;
        Observed observed =
                new Observed(prompts, OptionalLong.of(prompts.p90()), PromptSizes.Facts.NONE, foreign, true, running);
        Budget budget = BudgetRule.compute(settings, readings, observed, tree.pinnedBlocks() + outside, true, 0);
        Plan plan = Planner.plan(new PlanInput(
                new PlanInput.Moment(1, 0, 100),
                new PlanInput.Cache(tree, prefixes, capacity, blockTokens, Long.MAX_VALUE),
                new PlanInput.Means(HARD, Optional.of(ABLE), Optional.empty(), Optional.of("nothing is sent")),
                new PlanInput.Limits(budget, random.nextInt(8) == 0, leaving, freeing),
                new PlanInput.Wishes(holds, Optional.empty(), Duration.ZERO),
                new PlanInput.Automatic(true, candidates, Lease.LONGEST, Ranking.NONE, UNKNOWN)));

        int pins = 0;
        long pinnedBefore = tree.pinnedBlocks();
        for (Line line : plan.lines()) {
            if (line.action() == Action.PIN) {
                tree.pinPath(line.lastBlock());
                pins++;
            }
        }
        long needed = largestRequest(settings, prompts, context) + 2L * blockTokens + (capacity + 99) / 100 + foreign;
        if (pins > 0) {
            assertThat(capacity - (tree.pinnedBlocks() + outside) * blockTokens)
                    .as("%s: pinned %d before, %s", where, pinnedBefore, plan)
                    .isGreaterThanOrEqualTo(needed);
        }
        for (Line line : plan.lines()) {
            if (line.action() == Action.UNPIN) {
                tree.unpinPath(line.lastBlock());
            }
        }
        freeing.forEach(tree::unpinPath);
        // Letting go in the same plan brings pins from before within the bound, unless nothing is left to let go.
        long left = (tree.pinnedBlocks() + outside) * blockTokens;
        boolean keeps = plan.lines().stream().anyMatch(line -> line.action() == Action.KEEP);
        assertThat(!keeps || capacity - left >= needed)
                .as("%s: %d left, %s", where, left, plan)
                .isTrue();
        return pins;
    }

    private static Optional<RequestSizes> sizes(SplittableRandom random, int capacity) {
        int output = random.nextInt(8) == 0 ? random.nextInt(1, 9_000) : random.nextInt(1, 200);
        return switch (random.nextInt(3)) {
            case 0 -> Optional.empty();
            case 1 -> Optional.of(RequestSizes.measured(output));
            default -> Optional.of(RequestSizes.of(random.nextInt(1, capacity + 1), output));
        };
    }

    /** The rule for the largest request, written down a second time. */
    private static long largestRequest(BudgetSettings settings, PromptSizes.Facts prompts, long accepted) {
        if (settings.written().isEmpty()) {
            return accepted;
        }
        RequestSizes written = settings.written().get();
        if (written.largestPromptTokens().isPresent()) {
            long prompt = Math.max(written.largestPromptTokens().getAsInt(), prompts.largestPromptEver());
            return Math.min(accepted, Math.max(prompts.largestEver(), prompt + written.maxOutputTokens()));
        }
        boolean enough = prompts.count() >= 100 && prompts.unmeasured() == 0;
        return enough
                ? Math.min(accepted, Math.max(prompts.largest(), 2 * prompts.p99()) + written.maxOutputTokens())
                : accepted;
    }

    private Plan plan() {
        List<Budget.Term> terms = List.of(
                term("hard guard", hard, unknownHard),
                term("room beside running requests", 20_000, Optional.empty()),
                term("operator's share", automatic, unknownAutomatic));
        Budget budget =
                new Budget(hard, Math.min(hard, forNewPins), automatic, tree.pinnedBlocks() * 16L, 0, terms, List.of());
        return Planner.plan(new PlanInput(
                new PlanInput.Moment(1, 0, 100),
                new PlanInput.Cache(tree, prefixes, 20_000, 16, largestToken),
                new PlanInput.Means(traits, capabilities, hindrance, notPrimed),
                new PlanInput.Limits(budget, stalled, leaving, freeing),
                new PlanInput.Wishes(holds, letGo, Duration.ofMinutes(5)),
                new PlanInput.Automatic(true, candidates, Duration.ofHours(1), ranking, saving)));
    }

    private static Budget.Term term(String name, long tokens, Optional<String> unknown) {
        return new Budget.Term(
                name,
                unknown.isPresent() ? OptionalLong.empty() : OptionalLong.of(tokens),
                unknown.orElse("arithmetic"));
    }

    private List<Long> unpinned() {
        return plan().lines().stream()
                .filter(line -> line.action() == Action.UNPIN)
                .map(Line::holdId)
                .toList();
    }

    @Test
    void rankedPrefixes_areHeldInTheirOrder_asManyAsMayBegin() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        ranking = ranking(2, ranked(4, 2), ranked(2, 2), ranked(6, 2));
        assertThat(plan().lines()).extracting(Line::prefix).containsExactly(4L, 2L);
        assertThat(plan().lines()).allSatisfy(line -> {
            assertThat(line.action()).isEqualTo(Action.PIN);
            assertThat(line.code()).isEqualTo(Reason.RANKED);
            assertThat(line.reason())
                    .isEqualTo(
                            "a conversation after its turn 2, used once, last 3 s ago: 80 % of such prefixes are used"
                                + " again within 300 s; of recent prompts a simulation of this cache finds 12.0 % with"
                                + " such holds and 8.0 % without");
        });
    }

    @Test
    void prefixThatIsSharedAndRanksHigh_isHeldOnce() {
        traits = BackendTraits.hard();
        root(1, 2);
        root(3, 4);
        candidates.add(prefix(4, 10));
        ranking = ranking(9, ranked(4, 2), ranked(2, 2));
        assertThat(plan().lines()).extracting(Line::prefix).containsExactly(4L, 2L);
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.SHARED_AND_LOST, Reason.RANKED);
        assertThat(plan().lines()).extracting(Line::holdId).containsExactly(100L, 101L);
    }

    @Test
    void prefixThatIsSharedAndRanksHigh_waitsOnce() {
        traits = BackendTraits.hard();
        root(1, 2);
        forNewPins = 16;
        candidates.add(prefix(2, 10));
        ranking = ranking(9, ranked(2, 2));
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.NO_ROOM);
    }

    /** No path over it is known for sure, and an insertion ended with it. */
    @Test
    void prefixThatWaitsAsASharedOne_andCanBeHeldByItsRank_isHeld() {
        traits = BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);
        root(1, 2);
        candidates.add(prefix(2, 10));
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.NO_END);
        ranking = ranking(9, ranked(2, 2));
        assertThat(plan().lines()).singleElement().satisfies(line -> {
            assertThat(line.action()).isEqualTo(Action.PIN);
            assertThat(line.code()).isEqualTo(Reason.RANKED);
        });
    }

    @Test
    void rankedPrefix_isBoundByTheGuardAsAnyOther() {
        root(1, 2);
        root(3, 4);
        forNewPins = 2 * 16;
        ranking = ranking(9, ranked(2, 2), ranked(4, 2));
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.PIN, Action.WAIT);
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.RANKED, Reason.NO_ROOM);
    }

    @Test
    void rankedPrefix_whoseUnpinIsUnderWay_waits() {
        root(1, 2);
        leaving = Set.of(2L);
        ranking = ranking(9, ranked(2, 2));
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.UNPIN_UNDER_WAY);
    }

    /** What somebody asked for is held already, and takes its room once. */
    @Test
    void rankedPrefix_besideRequestedHolds_hasTheRestOfTheRoom() {
        root(1, 2);
        root(3, 4);
        held(1, 1, 2);
        ranking = ranking(9, ranked(2, 2), ranked(4, 2));
        automatic = 4 * 16;
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.HELD, Reason.RANKED);
        automatic = 4 * 16 - 1;
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.HELD);
    }

    @Test
    void rankedPrefix_savesAsMuchAsItIsLikelyToBeUsed_andStaysForLess() {
        root(1, 2);
        ranking = ranking(9, ranked(2, 2));
        // 32 tokens save 5.5 ms each time, which is 4.4 ms in eight of ten.
        saving = measured(5.5e-3 / 32, 0);
        assertThat(plan().lines()).isEmpty();
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        assertThat(plan().lines()).extracting(Line::code).containsExactly(Reason.HELD);
        saving = measured(4e-3 / 32, 0);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.UNPIN);
    }

    @Test
    void rankedPrefixes_takeTheRoomThatIsLeft() {
        root(1, 2);
        root(3, 4);
        root(5, 6);
        automatic = 5 * 16;
        ranking = ranking(9, ranked(2, 2), ranked(4, 2), ranked(6, 2));
        assertThat(plan().lines()).extracting(Line::prefix).containsExactly(2L, 4L);
    }

    @Test
    void heldByRank_isLetGoWhenOthersRankHigher_andSharedOnesStay() {
        root(1, 2);
        root(3, 4);
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        held(2, HoldOrigin.AUTOMATIC, 3, 4);
        candidates.add(prefix(4, 10));
        ranking = ranking(9, ranked(9, 2));
        assertThat(plan().lines()).hasSize(3).first().satisfies(line -> {
            assertThat(line.action()).isEqualTo(Action.UNPIN);
            assertThat(line.code()).isEqualTo(Reason.OUTRANKED);
        });
        assertThat(plan().lines()).extracting(Line::action).contains(Action.KEEP);
    }

    @Test
    void heldByRank_isLetGoWithItsNumbersWhenTheShadowsNoLongerAgree() {
        root(1, 2);
        root(3, 4);
        held(1, HoldOrigin.AUTOMATIC, 1, 2);
        holds.add(wished(2, HoldOrigin.AUTOMATIC, 3, 4));
        ranking = new Ranking(List.of(), Optional.empty(), new Evidence(false, 9, 8, 100), 9);
        assertThat(plan().lines()).extracting(Line::action).containsExactly(Action.UNPIN, Action.REFUSE);
        assertThat(plan().lines()).allSatisfy(line -> {
            assertThat(line.code()).isEqualTo(Reason.NOT_LICENSED);
            assertThat(line.reason())
                    .contains("of recent prompts a simulation of this cache finds 8.0 % with such holds and 9.0 %"
                            + " without");
        });
    }

    @Test
    void rankedPrefix_thatTheBackendCannotPin_waitsWithTheReason() {
        root(1, 2);
        ranking = ranking(9, ranked(1, 1));
        traits = BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);
        assertThat(plan().lines()).singleElement().satisfies(line -> {
            assertThat(line.action()).isEqualTo(Action.WAIT);
            assertThat(line.code()).isEqualTo(Reason.NO_END);
        });
        ranking = ranking(9, ranked(77, 3));
        assertThat(plan().lines())
                .singleElement()
                .satisfies(line -> assertThat(line.code()).isEqualTo(Reason.NOT_CACHED));
    }

    @Test
    void rankedPrefix_savesTooLittleAsAnyOther() {
        root(1, 2);
        ranking = ranking(9, ranked(2, 2));
        saving = measured(1e-5, 0);
        assertThat(plan().lines()).isEmpty();
    }

    private static RankedPrefix ranked(long lastBlock, int blocks) {
        return new RankedPrefix(lastBlock, blocks, blocks, 0.8, 1, 2, 3, Duration.ofMinutes(5));
    }

    private static Ranking ranking(int mayBegin, RankedPrefix... chosen) {
        return new Ranking(List.of(chosen), Optional.empty(), new Evidence(true, 8, 12, 100), mayBegin);
    }

    /** Whoever meets a code looks it up. */
    @Test
    void everyReason_isInTheDocsAndNoOther() throws IOException {
        List<String> documented = Files.readAllLines(Path.of("..", "docs", "reasons.md")).stream()
                .filter(line -> line.startsWith("| `"))
                .map(line -> line.substring(3, line.indexOf('`', 3)))
                .toList();
        assertThat(documented)
                .containsExactlyInAnyOrderElementsOf(Stream.of(Reason.values())
                        .map(reason -> reason.name().toLowerCase(Locale.ROOT))
                        .toList());
    }

    private static Saving measured(double secondsPerToken, double error) {
        return new Saving(new PrefillCost.Known(0.01, secondsPerToken, error, 20), Duration.ofMillis(5));
    }

    private void assertLine(Action action, long holdId, long lastBlock, int blocks, String reason) {
        assertThat(plan().lines()).singleElement().satisfies(line -> {
            assertThat(line.action()).isEqualTo(action);
            assertThat(line.holdId()).isEqualTo(holdId);
            assertThat(line.lastBlock()).isEqualTo(lastBlock);
            assertThat(line.blocks()).isEqualTo(blocks);
            assertThat(line.reason()).contains(reason);
        });
    }

    private void assertWaits(String reason) {
        assertThat(plan().lines()).singleElement().satisfies(line -> {
            assertThat(line.action()).isEqualTo(Action.WAIT);
            assertThat(line.reason()).startsWith(reason);
        });
    }

    private void wish(long id, long... path) {
        holds.add(wished(id, HoldOrigin.REQUESTED, path));
    }

    private static Hold wished(long id, HoldOrigin origin, long... path) {
        return Hold.requested(id, origin, new HoldRequest(path, Duration.ofSeconds(60)), 0, "asked for");
    }

    private void held(long id, long... path) {
        held(id, HoldOrigin.REQUESTED, path);
    }

    private void held(long id, HoldOrigin origin, long... path) {
        long last = path[path.length - 1];
        tree.pinPath(last);
        holds.add(wished(id, origin, path).held(last, path.length, "held for the test"));
    }

    private SharedPrefix prefix(long last, double heat) {
        return new SharedPrefix(
                last, tree.depth(last), OptionalLong.empty(), 3, (long) heat, (long) heat - 1, 1, 2, heat);
    }

    private final PrefixView prefixes = new PrefixView() {
        @Override
        public Optional<SharedPrefix> find(long lastBlock) {
            return candidates.stream()
                    .filter(prefix -> prefix.lastBlock() == lastBlock)
                    .findFirst();
        }

        @Override
        public OptionalLong shortestPathOver(long lastBlock) {
            Long end = pathsOver.get(lastBlock);
            return end == null ? OptionalLong.empty() : OptionalLong.of(end);
        }

        @Override
        public boolean tokensKnown(long lastBlock) {
            return tokensKnown.contains(lastBlock);
        }

        @Override
        public OptionalLong needBeside(Set<Long> held) {
            return OptionalLong.of(0);
        }
    };

    private void root(long... blocks) {
        batch(chain(blocks));
    }

    private void under(long parent, long... blocks) {
        batch(chain(blocks).under(parent));
    }

    private void batch(StoredBlocks chain) {
        tree.batchStarted(0, 0);
        tree.stored(chain);
        tree.batchEnded();
    }

    private void remove(long... blocks) {
        tree.removed(blocks, 0, blocks.length, Tier.GPU, 0);
    }

    private static StoredBlocks chain(long... blocks) {
        StoredBlocks chain = new StoredBlocks().reset();
        for (long block : blocks) {
            chain.add(block);
        }
        return chain;
    }
}
