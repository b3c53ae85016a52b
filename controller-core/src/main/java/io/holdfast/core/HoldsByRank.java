package io.holdfast.core;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Ranking;
import io.holdfast.core.plan.Reason;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.rank.HoldPace;
import io.holdfast.core.rank.PrefixRank;
import io.holdfast.core.rank.RankSettings;
import io.holdfast.core.rank.RankedPrefix;
import io.holdfast.core.rank.RankedPrefixes;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.LongPredicate;

/** Says for each plan what is to be held by its rank, with how much of the room and how fast. */
final class HoldsByRank {
    /** Largest share of invisible requests: what neither shadow sees may be what pins would harm. */
    private static final double MOST_INVISIBLE = 0.05;

    private final EngineObserver events;
    private final Holds holds;
    private final Backends backends;
    private final RankedPrefixes ranked;
    private List<RankedPrefix> usable = List.of();
    private Optional<String> whyNone = Optional.of("the engine was not asked yet how large its cache is");
    private final HoldPace pace = new HoldPace();
    private boolean blind;
    private double blindTo;

    HoldsByRank(EngineObserver events, Holds holds, Backends backends, Duration lease) {
        this.events = events;
        this.holds = holds;
        this.backends = backends;
        this.ranked = events.rank(RankSettings.defaults(), lease);
    }

    EngineView.ByRank view() {
        return new EngineView.ByRank(whyNone, backendCan() ? ranked.evidence() : Evidence.NONE);
    }

    /** Returns true if holds can be taken back as soon as others rank higher. */
    private boolean backendCan() {
        BackendTraits traits = backends.chosen().traits();
        return traits.releasable() && !traits.fading();
    }

    /**
     * Returns what was learned of the longest prefix of this one that a request went over; absent if no request went
     * over any.
     */
    Optional<PrefixRank> rank(Prefix prefix) {
        return ranked.rank(prefix);
    }

    /** Returns the reason why a prefix that was not in the last plan is not held by its rank. */
    String whyNot(Optional<PrefixRank> known) {
        if (whyNone.isPresent()) {
            return whyNone.get();
        }
        if (known.isEmpty()) {
            return "no request that stored something went over it, as far as is remembered";
        }
        PrefixRank rank = known.get();
        PrefixRank.Order order = rank.order();
        if (!ranked.evidence().open()) {
            return "nothing is held by its rank now: " + ranked.evidence().said();
        }
        if (!rank.cached()) {
            return "it left the cache, and what is not there is not held by its rank";
        }
        if (!order.chosen()) {
            return order.before() + " of " + order.of()
                    + " places of the cache rank before it, and the room for holds by rank ends before it";
        }
        return ranked.tooUnlikely(rank)
                ? String.format(
                        Locale.ROOT,
                        "%.1f %% of such prefixes are used again within the lease of a hold, which is too few for one",
                        100 * ranked.chanceOfUse(rank))
                : "it ranks high enough, and is held with a longer prefix, or when its turn comes";
    }

    Ranking ranking(EngineReadings readings, Budget budget, boolean severalCaches, long nowNanos) {
        double capacity = readings.capacityTokens().number().orElse(0);
        double block = readings.blockTokens().number().orElse(0);
        pace.now(nowNanos, events.counters().visibleRequests());
        look();
        if (capacity < 1 || block < 1) {
            return Ranking.NONE;
        }
        ranked.capacity((int) (capacity / block));
        ranked.freePrompts(budget.leavesRoom() ? BudgetRule.RESERVED_PROMPTS : 0);
        long mayHold = (long) (budget.automaticBesideReserve() / block) - requestedBlocks();
        LongPredicate mayEnd = mayEnd();
        if (ranked.tick(Math.max(0, mayHold), (long) (budget.room() / block), first(), mayEnd)) {
            usable = usable();
        }
        whyNone = whyNone(severalCaches);
        // Between two choices the path by which one could be pinned may have been evicted.
        List<RankedPrefix> pinnable = usable.stream()
                .filter(prefix -> mayEnd.test(prefix.lastBlock()))
                .toList();
        return new Ranking(whyNone.isPresent() ? List.of() : pinnable, whyNone, ranked.evidence(), pace.mayBegin());
    }

    /**
     * A backend that is given the name of a block can only hold to where an insertion ended, there or further down a
     * path.
     */
    private LongPredicate mayEnd() {
        EngineBlocks tree = events.tree();
        return backends.chosen().traits().needs(Need.INSERTION_END)
                ? block -> tree.endedInsertion(block)
                        || events.prefixes().shortestPathOver(block).isPresent()
                : block -> true;
    }

    void hint(Hint hint, Prefix prefix) {
        switch (hint) {
            case GOES_ON -> ranked.hint(prefix, true);
            case OVER -> ranked.hint(prefix, false);
            case USED -> {}
        }
    }

    /** Counts the holds that begin with this plan. */
    void planned(Plan plan) {
        pace.begun(plan.lines().stream()
                .filter(line -> line.code() == Reason.RANKED
                        && holds.living(line.holdId()).isEmpty())
                .count());
    }

    private Optional<String> whyNone(boolean severalCaches) {
        if (!backendCan()) {
            return Optional.of("nothing is held by its rank with "
                    + backends.chosen().name() + ", whose holds cannot be taken back as soon as others rank higher");
        }
        if (severalCaches) {
            return Optional.of(
                    "nothing is held by its rank at an engine with several data-parallel ranks, since only the"
                            + " first of them is learned from");
        }
        return blind
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "nothing is held by its rank: %.0f %% of the engine's last requests show in no event, and"
                            + " above %.0f %% nobody knows whether holds would harm them; a router that reports uses"
                            + " by POST …/touches makes them known",
                        100 * blindTo,
                        100 * MOST_INVISIBLE))
                : Optional.empty();
    }

    /**
     * Looks at the share of invisible requests. Requests are seen when they are prefilled, and some engines count them
     * when they end. So the share wavers by those that run, and means nothing while it is of a few, as it is whenever
     * events came late and it begins anew. Until it is beyond doubt, the last result stands, or a pause of a second
     * would end all holds.
     */
    private void look() {
        double share = events.recentlyInvisible().orElse(0);
        double doubt = events.recentDoubt();
        if (share - doubt > MOST_INVISIBLE) {
            blind = true;
            blindTo = share;
        } else if (share + doubt <= MOST_INVISIBLE) {
            blind = false;
        }
    }

    /** Returns the prefixes that could be held: a backend that sends prefixes has to know their tokens. */
    private List<RankedPrefix> usable() {
        List<RankedPrefix> chosen = ranked.chosen().stream()
                .filter(prefix -> !holds.isLetGo(prefix.lastBlock()))
                .toList();
        return backends.chosen().traits().needs(Need.TOKENS)
                ? chosen.stream()
                        .filter(prefix -> events.tokens().know(events.tree().path(prefix.lastBlock())))
                        .toList()
                : chosen;
    }

    private long requestedBlocks() {
        return holds.living().stream()
                .filter(hold -> !hold.automatic() && hold.state() == HoldState.HELD)
                .mapToLong(Hold::pinnedBlocks)
                .sum();
    }

    /** Returns what several requests share and lost, which is held before anything else. */
    private long[] first() {
        return holds.living().stream()
                .filter(Hold::automatic)
                .mapToLong(Hold::end)
                .filter(end -> events.prefixes()
                        .find(end)
                        .filter(SharedPrefix::worthHolding)
                        .isPresent())
                .toArray();
    }
}
