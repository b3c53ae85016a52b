package io.holdfast.core.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.prefix.PrefixView;
import io.holdfast.core.prefix.SharedPrefix;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

final class SelectionTest {
    private static final long BLOCK = 16;
    private static final BackendTraits TRAITS = BackendTraits.hard().needing(BackendTraits.Need.INSERTION_END);

    private final EngineBlocks tree = new EngineBlocks(CacheTraits.sglang(), new TreeListener() {
        @Override
        public void insertionEnded(long lastBlock, int depth, boolean ended) {}

        @Override
        public void parted(long above, long first) {}

        @Override
        public void pinnedBlockRemoved(long block) {}
    });
    private final List<SharedPrefix> candidates = new ArrayList<>();
    private final List<SharedPrefix> known = new ArrayList<>();
    private final Map<Long, Long> pathsOver = new HashMap<>();
    private final List<Hold> holds = new ArrayList<>();
    private Function<Set<Long>, Long> needBlocks = held -> 0L;
    private long room = 24_576;
    private String roomTerm = "room beside running requests";
    private long share = 24_576;
    private long pinned;
    private Copies copies = Copies.NONE;

    private final PrefixView prefixes = new PrefixView() {
        @Override
        public Optional<SharedPrefix> find(long lastBlock) {
            return Stream.concat(candidates.stream(), known.stream())
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
            return false;
        }

        @Override
        public OptionalLong needBeside(Set<Long> held) {
            return OptionalLong.of(needBlocks.apply(held));
        }
    };

    @Test
    void shortAndHot_comesBeforeLongAndCold() {
        candidate(100, 20, 301);
        candidate(200, 60, 2);
        share = 60 * BLOCK;
        assertThat(chosen()).containsExactly(100L);
    }

    @Test
    void fiveLongPromptsBeforeShortTexts_fitIntoTheCacheTogether() {
        for (int i = 1; i <= 5; i++) {
            candidate(1_000L * i, 128, 10 + i);
        }
        // Each is a fifth of the traffic: while one is not held, more than one prompt of ten needs all of it.
        needBlocks = held -> held.size() == 5 ? 8L : 136L;
        assertThat(chosen()).hasSize(5);
    }

    @Test
    void setsThatLeaveNoReserve_areNotChosen() {
        for (int i = 1; i <= 5; i++) {
            candidate(1_000L * i, 128, 10 + i);
        }
        needBlocks = held -> 136L;
        // 24,576 - 8 x 136 x 16 = 7,168 tokens are three prompts of 2,048, the hottest.
        assertThat(chosen()).containsExactly(5_000L, 4_000L, 3_000L);
    }

    @Test
    void pinsThatTheEngineCanEvict_leaveNoReserve() {
        for (int i = 1; i <= 5; i++) {
            candidate(1_000L * i, 128, 10 + i);
        }
        needBlocks = held -> 136L;
        roomTerm = Budget.HARD_GUARD;
        assertThat(chosen()).hasSize(5);
    }

    @Test
    void usesFurtherApartThanTheLongestLease_areNotChosen() {
        candidate(100, 20, 50);
        candidates.add(new SharedPrefix(200, 20, OptionalLong.empty(), 3, 9, 8, 1, 1, 50, Lease.LONGEST.toNanos() + 1));
        assertThat(chosen()).containsExactly(100L);
    }

    @Test
    void whatDoesNotFit_leavesRoomToWhatStillDoes() {
        candidate(100, 20, 50);
        candidate(200, 90, 40);
        candidate(300, 10, 1);
        share = 40 * BLOCK;
        assertThat(chosen()).containsExactly(100L, 300L);
    }

    @Test
    void longerPrefix_costsOnlyWhatItHasBeyondTheShorter() {
        candidate(100, 20, 50);
        candidates.add(new SharedPrefix(150, 30, OptionalLong.of(100), 3, 20, 19, 1, 1, 20));
        share = 30 * BLOCK;
        assertThat(chosen()).containsExactly(100L, 150L);
    }

    @Test
    void pathThatReachesFarBeyond_makesAPrefixCostWhatItHolds() {
        candidate(100, 20, 10);
        candidate(200, 20, 8);
        LongStream.Builder path = LongStream.builder();
        LongStream.rangeClosed(81, 100).forEach(path);
        LongStream.rangeClosed(5_001, 5_040).forEach(path);
        stored(path.build().toArray());
        stored(LongStream.rangeClosed(181, 200).toArray());
        pathsOver.put(100L, 5_040L);
        share = 60 * BLOCK;
        assertThat(chosen()).as("8 x 20/20 comes before 10 x 20/60").containsExactly(200L);
    }

    @Test
    void roomOfWhatIsNotThere_isLentUntilItComesBack() {
        candidate(100, 20, 50);
        candidate(220, 20, 8);
        share = 30 * BLOCK;
        stored(LongStream.rangeClosed(201, 220).toArray());
        assertThat(chosen()).containsExactly(100L, 220L);
        stored(LongStream.rangeClosed(81, 100).toArray());
        assertThat(chosen()).containsExactly(100L);
    }

    @Test
    void requestedHolds_takeRoomFirst() {
        candidate(100, 20, 50);
        share = 30 * BLOCK;
        HoldRequest request = new HoldRequest(LongStream.range(0, 11).toArray(), Duration.ofMinutes(1));
        holds.add(Hold.requested(1, HoldOrigin.REQUESTED, request, 0, "").held(10, 11, ""));
        assertThat(chosen()).isEmpty();
    }

    @Test
    void pinsThatNobodyIsKnownToNeed_takeRoomAsWell() {
        candidate(100, 20, 50);
        share = 30 * BLOCK;
        pinned = 11 * BLOCK;
        assertThat(chosen()).isEmpty();
    }

    @Test
    void pinOfALongerPath_needsNoRoomForThePrefixBeforeItsEnd() {
        stored(LongStream.rangeClosed(81, 101).toArray());
        tree.pinPath(101);
        pinned = 21 * BLOCK;
        candidate(100, 20, 50);
        candidate(220, 20, 8);
        share = 41 * BLOCK;
        assertThat(chosen()).containsExactly(220L);
    }

    @Test
    void longerPrefix_overNoCandidate_costsWhatIsBeyondTheChosen() {
        candidate(100, 20, 50);
        known.add(new SharedPrefix(120, 25, OptionalLong.of(100), 3, 20, 20, 0, 0, 20));
        candidates.add(new SharedPrefix(150, 30, OptionalLong.of(120), 3, 20, 19, 1, 1, 20));
        share = 30 * BLOCK;
        assertThat(chosen()).containsExactly(100L, 150L);
    }

    @Test
    void heldPrefix_costsWhatItsPinHolds() {
        candidate(100, 20, 10);
        candidate(200, 20, 8);
        HoldRequest path = new HoldRequest(LongStream.rangeClosed(81, 100).toArray(), Duration.ofMinutes(1));
        holds.add(Hold.requested(1, HoldOrigin.AUTOMATIC, path, 0, "").held(5_040, 60, ""));
        pinned = 60 * BLOCK;
        share = 60 * BLOCK;
        assertThat(chosen()).as("8 x 20/20 comes before 1.5 x 10 x 20/60").containsExactly(200L);
    }

    @Test
    void reserve_isOfWhatPromptsNeedBesideRequestedHoldsThatAreHeld() {
        candidate(100, 20, 50);
        needBlocks = held -> held.contains(10L) ? 0L : 1_000L;
        HoldRequest request = new HoldRequest(LongStream.range(0, 11).toArray(), Duration.ofMinutes(1));
        Hold waiting = Hold.requested(1, HoldOrigin.REQUESTED, request, 0, "");
        holds.add(waiting);
        assertThat(chosen()).isEmpty();
        holds.set(0, waiting.held(10, 11, ""));
        assertThat(chosen()).containsExactly(100L);
    }

    @Test
    void runThatFits_isJudgedByItsOwnReserve() {
        for (int i = 1; i <= 5; i++) {
            candidate(1_000L * i, 128, 10 + i);
        }
        needBlocks = held -> held.size() == 5 ? 8L : 136L;
        share = 4 * 128 * BLOCK;
        assertThat(chosen()).containsExactly(5_000L, 4_000L, 3_000L);
    }

    @Test
    void whatStillFits_isJudgedBesideTheChosen() {
        candidate(100, 20, 50);
        candidate(200, 90, 40);
        candidate(300, 10, 1);
        share = 40 * BLOCK;
        needBlocks = held -> held.contains(100L) ? 0L : 1_000L;
        assertThat(chosen()).containsExactly(100L, 300L);
    }

    @Test
    void whatAnotherEngineHasAndServes_isNotHeldHereToo() {
        candidate(100, 20, 50);
        candidate(200, 20, 40);
        copies = new Copies(Map.of(100L, 0.1));
        assertThat(chosen()).containsExactly(200L);
    }

    @Test
    void whatAnotherEngineServesInPart_isWorthTheRest() {
        candidate(100, 20, 50);
        candidate(200, 20, 40);
        copies = new Copies(Map.of(100L, 0.5));
        assertThat(chosen()).containsExactly(200L, 100L);
    }

    @Test
    void copyThatIsHeld_staysUntilHardlyAnythingIsLeft() {
        assertThat(new Copies(Map.of(100L, 0.2)).areEnough(100, true)).isFalse();
        assertThat(new Copies(Map.of(100L, 0.2)).areEnough(100, false)).isTrue();
        assertThat(new Copies(Map.of(100L, 0.1)).areEnough(100, true)).isTrue();
        assertThat(Copies.NONE.areEnough(100, false)).isFalse();
    }

    private Set<Long> chosen() {
        Budget budget = new Budget(
                24_576,
                24_576,
                share,
                pinned,
                0,
                List.of(
                        new Budget.Term(roomTerm, OptionalLong.of(room), ""),
                        new Budget.Term("operator's share", OptionalLong.of(share), "")),
                List.of());
        Saving unmeasured = new Saving(new PrefillCost.Unknown(0, "no measurement"), Duration.ZERO);
        return Selection.of(new PlanInput(
                        new PlanInput.Moment(1, 0, 1),
                        new PlanInput.Cache(tree, prefixes, 24_576, BLOCK, Long.MAX_VALUE),
                        new PlanInput.Means(TRAITS, Optional.empty(), Optional.empty(), Optional.of("nothing is sent")),
                        new PlanInput.Limits(budget, false, Set.of(), Set.of()),
                        new PlanInput.Wishes(holds, Optional.empty(), Duration.ZERO),
                        new PlanInput.Automatic(true, candidates, Lease.LONGEST, Ranking.NONE, unmeasured, copies)))
                .chosen();
    }

    private void candidate(long last, int blocks, double heat) {
        candidates.add(new SharedPrefix(last, blocks, OptionalLong.empty(), 3, 9, 8, 1, 1, heat));
    }

    private void stored(long... blocks) {
        StoredBlocks chain = new StoredBlocks().reset();
        for (long block : blocks) {
            chain.add(block);
        }
        tree.batchStarted(0, 0);
        tree.stored(chain);
        tree.batchEnded();
    }
}
