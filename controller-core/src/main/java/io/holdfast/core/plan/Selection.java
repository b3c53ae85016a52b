package io.holdfast.core.plan;

import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.rank.RankedPrefix;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Predicate;

/** Chooses which shared prefixes are to be held automatically now, as a set; a pure function. */
final class Selection {
    /*
     * Order
     * -----
     * By requests in the decayed window times blocks saved over blocks held. A prefix that goes on from a chosen one
     * saves, and costs, only what it has beyond it; a pin that reaches beyond its prefix, since it has to end where an
     * insertion ended, costs what it holds. So hot comes before long. What is held already counts half as much again:
     * two of equal heat do not take turns.
     *
     * Room
     * ----
     * What can be evicted is bounded by a share alone. For pins that take memory for good: what prompts need beside the
     * held prefixes depends on what is held: five system prompts before short texts need nearly the whole cache while
     * none is held, and little once all are. A rule that adds one after the other never gets there. So the longest run
     * of that order is taken whose own reserve leaves it room, and then whatever still fits. Room of what is not in the
     * cache now is lent to what is, until that comes back.
     *
     * By rank
     * -------
     * What is left of the room goes to what is to be held by its rank, in that order, as far as it reaches. Their
     * reserve was looked at when they were chosen, with what is taken here before them. Of what one saves only as much
     * counts as it is likely to be used.
     *
     * Copies
     * ------
     * What another engine has and serves is worth less here, by the part of the touches that would find it there. Where
     * hardly any is left, the copy here is given up; where nobody knows of others, nothing changes.
     */
    private static final double STAYS = 1.5;
    private static final int MOST = 64;

    private final PlanInput.Cache cache;
    private final PlanInput.Means means;
    private final Budget budget;
    private final List<Hold> holds;
    private final PlanInput.Automatic automatic;
    private final long nowNanos;
    private final Map<Long, Hold> automaticHolds = new HashMap<>();
    private final Set<Long> requested = new HashSet<>();
    private final Set<Long> chosen = new LinkedHashSet<>();
    private final List<Choice> order = new ArrayList<>();
    private final List<SharedPrefix> savingTooLittle = new ArrayList<>();
    private final List<SharedPrefix> usedTooRarely = new ArrayList<>();
    private final List<SharedPrefix> heldElsewhere = new ArrayList<>();
    private long othersTokens;
    private long chosenTokens;

    /** One prefix in the order, and what it adds to the blocks that are held. */
    private record Choice(SharedPrefix prefix, long costBlocks) {}

    private Selection(PlanInput in) {
        this.cache = in.cache();
        this.means = in.means();
        this.budget = in.limits().budget();
        this.holds = in.wishes().holds();
        this.automatic = in.automatic();
        this.nowNanos = in.moment().nowNanos();
    }

    static Selection of(PlanInput in) {
        Selection selection = new Selection(in);
        selection.look();
        selection.order();
        selection.choose();
        selection.addRanked();
        return selection;
    }

    /** The last blocks of the chosen, the first choice first. */
    Set<Long> chosen() {
        return chosen;
    }

    /** Returns the reason why a prefix is not among them. */
    Why whyNot(long lastBlock) {
        for (SharedPrefix prefix : savingTooLittle) {
            if (prefix.lastBlock() == lastBlock) {
                return new Why(Reason.SAVES_TOO_LITTLE, automatic.saving().tooLittle(tokens(prefix.blocks())));
            }
        }
        for (SharedPrefix prefix : usedTooRarely) {
            if (prefix.lastBlock() == lastBlock) {
                return new Why(
                        Reason.USED_TOO_RARELY,
                        "its uses come " + seconds(prefix.gapNanos())
                                + " apart, and an automatic hold waits for one at most "
                                + seconds(automatic.longestLease().toNanos())
                                + ", 12 times automaticLeaseSeconds: a larger"
                                + " number spans them, or a requested hold with a lease of its own");
            }
        }
        for (SharedPrefix prefix : heldElsewhere) {
            if (prefix.lastBlock() == lastBlock) {
                return new Why(Reason.HELD_ELSEWHERE, automatic.copies().said(lastBlock));
            }
        }
        for (Choice choice : order) {
            if (choice.prefix.lastBlock() == lastBlock) {
                long alone = Math.max(0, budget.automaticBesideReserve() - othersTokens);
                if (tokens(choice.costBlocks) > Math.min(alone, bound(Set.of(lastBlock)))) {
                    return new Why(
                            Reason.NO_ROOM_AUTOMATIC,
                            "automatic holds have no room for its " + tokens(choice.costBlocks) + " tokens"
                                    + (othersTokens == 0 ? "" : " beside requested holds of " + othersTokens)
                                    + ": " + budget.automaticWhy() + "; a larger share allows it, and a requested"
                                    + " hold is not bound by it");
                }
                return new Why(
                        Reason.HOTTER_FIRST,
                        "no room for it among automatic holds: it takes " + tokens(choice.costBlocks)
                                + " tokens, hotter prefixes take " + chosenTokens + ", requested holds " + othersTokens
                                + ", and " + bound(chosen) + " may be held: "
                                + budget.automaticWhy());
            }
        }
        if (automatic.candidates().stream().noneMatch(prefix -> prefix.lastBlock() == lastBlock)) {
            return automatic.ranking().whyNot();
        }
        return new Why(Reason.HOTTER_FIRST, "more than " + MOST + " hotter prefixes are worth a hold");
    }

    private void look() {
        long requestedBlocks = 0;
        long automaticBlocks = 0;
        for (Hold hold : holds) {
            if (hold.automatic()) {
                automaticHolds.put(hold.end(), hold);
                automaticBlocks += hold.pinnedBlocks();
            } else if (hold.state() == HoldState.HELD) {
                requested.add(hold.end());
                requestedBlocks += hold.pinnedBlocks();
            }
        }
        // Paths that overlap are counted twice on one side or the other: the larger number errs on the side of the
        // engine.
        othersTokens = Math.max(tokens(requestedBlocks), budget.pinnedTokens() - tokens(automaticBlocks));
    }

    private void order() {
        automatic.candidates().stream().filter(this::savesTooLittle).forEach(savingTooLittle::add);
        automatic.candidates().stream()
                .filter(prefix -> prefix.gapNanos() > automatic.longestLease().toNanos())
                .forEach(usedTooRarely::add);
        automatic.candidates().stream()
                .filter(prefix -> automatic.copies().areEnough(prefix.lastBlock(), isHeld(prefix)))
                .forEach(heldElsewhere::add);
        List<SharedPrefix> left = new ArrayList<>(automatic.candidates().stream()
                .filter(prefix -> !savingTooLittle.contains(prefix)
                        && !usedTooRarely.contains(prefix)
                        && !heldElsewhere.contains(prefix))
                .filter(prefix -> !isPutOff(prefix))
                .filter(prefix -> automaticHolds.containsKey(prefix.lastBlock())
                        || !cache.tree().pinned(prefix.lastBlock()))
                .sorted(Comparator.comparingDouble((SharedPrefix prefix) -> prefix.heat() * prefix.blocks())
                        .reversed())
                .limit(MOST)
                .toList());
        Map<Long, SharedPrefix> taken = new HashMap<>();
        while (!left.isEmpty()) {
            SharedPrefix best = left.getFirst();
            double most = -1;
            for (SharedPrefix prefix : left) {
                double worth = worth(prefix, takenAbove(prefix, taken));
                if (worth > most) {
                    most = worth;
                    best = prefix;
                }
            }
            order.add(new Choice(best, heldBlocks(best) - takenAbove(best, taken)));
            taken.put(best.lastBlock(), best);
            left.remove(best);
        }
    }

    private boolean savesTooLittle(SharedPrefix prefix) {
        return automatic.saving().isTooLittle(tokens(prefix.blocks()), isHeld(prefix));
    }

    private boolean isHeld(SharedPrefix prefix) {
        Hold hold = automaticHolds.get(prefix.lastBlock());
        return hold != null && hold.state() == HoldState.HELD;
    }

    /** Its room is for others until it may be held again. */
    private boolean isPutOff(SharedPrefix prefix) {
        Hold hold = automaticHolds.get(prefix.lastBlock());
        return hold != null && hold.waits() && nowNanos < hold.retryNanos();
    }

    private double worth(SharedPrefix prefix, int above) {
        double stays = isHeld(prefix) ? STAYS : 1;
        double here = automatic.copies().worth(prefix.lastBlock());
        return here * stays * prefix.heat() * (prefix.blocks() - above) / Math.max(1, heldBlocks(prefix) - above);
    }

    /** Blocks of the longest prefix before this one that is taken. */
    private int takenAbove(SharedPrefix prefix, Map<Long, SharedPrefix> taken) {
        OptionalLong above = prefix.above();
        while (above.isPresent()) {
            SharedPrefix known = taken.get(above.getAsLong());
            if (known != null) {
                return known.blocks();
            }
            above = cache.prefixes()
                    .find(above.getAsLong())
                    .map(SharedPrefix::above)
                    .orElse(OptionalLong.empty());
        }
        return 0;
    }

    /** Returns the number of blocks that a pin of it holds, or would hold as far as that is known. */
    private long heldBlocks(SharedPrefix prefix) {
        return heldBlocks(prefix.lastBlock(), prefix.blocks());
    }

    private long heldBlocks(long last, int blocks) {
        Hold hold = automaticHolds.get(last);
        if (hold != null && hold.pinnedBlocks() > 0) {
            return hold.pinnedBlocks();
        }
        OptionalLong path =
                means.traits().needs(Need.INSERTION_END) && !cache.tree().endedInsertion(last)
                        ? cache.prefixes().shortestPathOver(last)
                        : OptionalLong.empty();
        return path.isPresent() ? Math.max(blocks, cache.tree().depth(path.getAsLong())) : blocks;
    }

    private void choose() {
        long[] sums = new long[order.size() + 1];
        for (int i = 0; i < order.size(); i++) {
            sums[i + 1] = sums[i] + tokens(order.get(i).costBlocks);
        }
        int run = order.size();
        while (run > 0 && !fits(sums[run], ends(run))) {
            run--;
        }
        order.subList(0, run).forEach(choice -> chosen.add(choice.prefix.lastBlock()));
        chosenTokens = sums[run];
        addWhatFits(order.subList(run, order.size()), choice -> true, new HashSet<>(chosen), sums[run]);
        Set<Long> there = new HashSet<>();
        long thereTokens = 0;
        for (Choice choice : order) {
            if (chosen.contains(choice.prefix.lastBlock()) && isThere(choice)) {
                there.add(choice.prefix.lastBlock());
                thereTokens += tokens(choice.costBlocks);
            }
        }
        addWhatFits(order, this::isThere, there, thereTokens);
    }

    private void addWhatFits(List<Choice> choices, Predicate<Choice> which, Set<Long> beside, long besideTokens) {
        long sum = besideTokens;
        for (Choice choice : choices) {
            long last = choice.prefix.lastBlock();
            if (!chosen.contains(last) && which.test(choice)) {
                Set<Long> with = new HashSet<>(beside);
                with.add(last);
                if (fits(sum + tokens(choice.costBlocks), with)) {
                    chosen.add(last);
                    beside.add(last);
                    sum += tokens(choice.costBlocks);
                }
            }
        }
        chosenTokens = Math.max(chosenTokens, sum);
    }

    private void addRanked() {
        for (RankedPrefix prefix : automatic.ranking().chosen()) {
            long last = prefix.lastBlock();
            boolean held = automaticHolds.containsKey(last);
            long adds = tokens(prefix.adds() + heldBlocks(last, prefix.blocks()) - prefix.blocks());
            if (!chosen.contains(last)
                    && (held || !cache.tree().pinned(last))
                    && !automatic.copies().areEnough(last, held)
                    && !automatic.saving().isTooLittle((long) (prefix.chance() * tokens(prefix.blocks())), held)
                    && othersTokens + chosenTokens + adds <= budget.automaticBesideReserve()) {
                chosen.add(last);
                chosenTokens += adds;
            }
        }
    }

    private boolean isThere(Choice choice) {
        return cache.tree().resident(choice.prefix.lastBlock());
    }

    private Set<Long> ends(int run) {
        Set<Long> ends = new HashSet<>();
        order.subList(0, run).forEach(choice -> ends.add(choice.prefix.lastBlock()));
        return ends;
    }

    private boolean fits(long tokens, Set<Long> ends) {
        return othersTokens + tokens <= budget.automaticBesideReserve() && othersTokens + tokens <= bound(ends);
    }

    /** Returns the most that may be held when these are. */
    private long bound(Set<Long> ends) {
        Set<Long> held = new HashSet<>(requested);
        held.addAll(ends);
        if (!budget.leavesRoom()) {
            return budget.automaticBesideReserve();
        }
        long need = tokens(cache.prefixes().needBeside(held).orElse(0));
        long reserve = budget.room() - BudgetRule.RESERVED_PROMPTS * need;
        return Math.max(0, Math.min(budget.automaticBesideReserve(), reserve));
    }

    private static String seconds(long nanos) {
        return nanos / 1_000_000_000 + " s";
    }

    private long tokens(long blocks) {
        return blocks * cache.blockTokens();
    }
}
