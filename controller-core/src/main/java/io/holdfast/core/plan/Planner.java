package io.holdfast.core.plan;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.plan.Plan.Action;
import io.holdfast.core.plan.Plan.Line;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Decides what one tick pins and unpins: a pure function from {@link PlanInput} to {@link Plan}. */
public final class Planner {
    /*
     * Level, not edge
     * ---------------
     * A plan says what should be, not what changed: a hold whose pin is under way is planned as a pin again, one that
     * expires as an unpin, until it is done. Acting is idempotent, so a lost outcome costs a tick and not a leak, and a
     * plan can be read without its predecessors.
     *
     * Order
     * -----
     * Letting go comes first: holds that are over; all hard pins when requests wait while nothing runs (the one state that
     * a pin may have caused and that costs everything); what stands above the hard bound, automatic holds before requested
     * ones and younger before older; automatic holds in a window that measures without them. A hold that was let go by the
     * last three is not over: it waits, and is pinned again when it fits.
     *
     * Then wishes, oldest first and requested before automatic. A pin counts against the bound from the plan that
     * makes it, an unpin frees nothing before the engine said so; within one plan two new paths that overlap are counted
     * twice. All three err on the side of the engine.
     *
     * The automatic rule
     * ------------------
     * A block that was lost and came back ended at least two insertions: the prefix up to it is shared, and this cache is
     * too small to keep it by itself. Of such prefixes the longest are held first, as far as the automatic bound goes. A
     * rank by expected reuse will take the place of this order; nothing else has to change.
     */
    private final PlanInput in;
    private final List<Line> lines = new ArrayList<>();
    private final long bound;
    private long planned;

    private Planner(PlanInput in) {
        this.in = in;
        this.bound = in.budget().newTokens();
        this.planned = in.budget().pinnedTokens();
    }

    public static Plan plan(PlanInput in) {
        return new Planner(in).plan();
    }

    private Plan plan() {
        boolean hardPins = in.traits().takesMemory();
        boolean stalled = in.stalled() && hardPins;
        Set<Long> aboveBound = stalled || !hardPins ? Set.of() : aboveBound();
        for (Hold hold : in.holds()) {
            switch (hold.state()) {
                case EXPIRING -> unpin(hold, hold.reason());
                case HELD -> {
                    if (stalled) {
                        unpin(hold, STALLED);
                    } else if (aboveBound.contains(hold.id())) {
                        unpin(
                                hold,
                                "let go: the pins exceed the bound: "
                                        + in.budget().hardWhy());
                    } else if (hold.automatic() && in.measuring().isPresent()) {
                        unpin(hold, in.measuring().get());
                    } else {
                        line(Action.KEEP, hold.id(), hold.lastBlock(), hold.heldBlocks(), hold.reason());
                    }
                }
                default -> {}
            }
        }
        wishes(HoldOrigin.REQUESTED, stalled);
        wishes(HoldOrigin.AUTOMATIC, stalled);
        if (!stalled
                && in.automaticHolds()
                && in.measuring().isEmpty()
                // Events name the blocks of a candidate, and no tokens are kept of them.
                && !in.traits().needs(Need.TOKENS)
                && hindrance().isEmpty()) {
            candidates();
        }
        return new Plan(in.tick(), lines);
    }

    public static final String STALLED =
            "requests wait while nothing runs: every pin is let go, and none is made until that is over";

    private void wishes(HoldOrigin origin, boolean stalled) {
        for (Hold hold : in.holds()) {
            if (hold.state() == HoldState.REQUESTED && hold.origin() == origin) {
                lines.add(wish(hold, stalled));
            }
        }
    }

    private Line wish(Hold hold, boolean stalled) {
        HoldRequest path = hold.request();
        long last = path.block(path.blocks() - 1);
        Optional<String> never = never(path, last);
        if (never.isPresent()) {
            return new Line(Action.REFUSE, hold.id(), 0, path.blocks(), never.get());
        }
        Optional<String> hindrance = stalled ? Optional.of(STALLED) : hindrance();
        if (hindrance.isPresent()) {
            return wait(hold, hindrance.get());
        }
        if (hold.automatic() && in.measuring().isPresent()) {
            return wait(hold, in.measuring().get());
        }
        if (in.nowNanos() < hold.retryNanos()) {
            return wait(hold, hold.reason());
        }
        if (!in.tree().resident(last)) {
            return wait(hold, "not in the cache as a whole: it is pinned when a request stores its last block");
        }
        int matched = in.tree().match(path);
        if (matched < path.blocks()) {
            return wait(
                    hold,
                    "only the first " + matched + " of " + path.blocks()
                            + " blocks are known to be in the cache: it is pinned when the rest is stored");
        }
        int end = in.traits().needs(Need.INSERTION_END) ? in.tree().insertionEnd(path, matched) : matched;
        if (end == 0) {
            return wait(
                    hold,
                    "in the cache, but none of its blocks ended an insertion, so none can be pinned safely: send the"
                            + " prefix alone once, after it was evicted");
        }
        long block = path.block(end - 1);
        if (in.leaving().contains(block)) {
            return wait(hold, "the unpin of its last block has no outcome yet");
        }
        Optional<String> tooMuch = exceeds(block, hold.automatic());
        if (tooMuch.isPresent()) {
            return wait(hold, tooMuch.get());
        }
        planned += cost(block);
        return new Line(
                Action.PIN,
                hold.id(),
                block,
                end,
                hold.automatic() ? returned(block) : pinReason(in.traits(), end, path.blocks()));
    }

    public static String pinReason(BackendTraits traits, int end, int wanted) {
        if (!traits.needs(Need.INSERTION_END)) {
            return end == wanted ? "the whole prefix is in the cache" : "clipped: " + end + " of " + wanted + " blocks";
        }
        return end == wanted
                ? "the whole prefix is in the cache and ended an insertion"
                : "clipped: the deepest block that ended an insertion is number " + end + " of " + wanted
                        + "; to hold all of it send the prefix alone once, before anything longer";
    }

    private Optional<String> never(HoldRequest path, long last) {
        if (in.capabilities().isPresent() && !in.capabilities().get().canPin()) {
            return Optional.of(
                    "this engine cannot pin: " + in.capabilities().get().why());
        }
        if (in.traits().needs(Need.TOKENS) && path.tokens().isEmpty()) {
            return Optional.of("it was asked for by the names of its blocks, and this backend sends the prefix itself:"
                    + " ask for it by its tokens");
        }
        if (in.traits().needs(Need.UNAMBIGUOUS_HASH) && in.tree().ambiguous(last)) {
            return Optional.of(
                    "the hash of its last block may name two blocks of the engine (a salt or a LoRA is in use):"
                            + " such a pin could not be taken back safely");
        }
        long most = in.capacityTokens() - BudgetRule.slack(in.capacityTokens(), in.blockTokens());
        long wanted = path.blocks() * in.blockTokens();
        if (in.capacityTokens() > 0 && wanted > most) {
            return Optional.of("its " + wanted + " tokens never fit: the engine's cache has " + in.capacityTokens());
        }
        return Optional.empty();
    }

    private Optional<String> hindrance() {
        if (in.hindrance().isPresent()) {
            return in.hindrance();
        }
        return in.budget().hardUnknown().map(why -> "nothing new is pinned: " + why);
    }

    private Optional<String> exceeds(long block, boolean automatic) {
        long cost = cost(block);
        if (planned + cost > bound && in.budget().noRoom().isPresent()) {
            return in.budget().noRoom();
        }
        if (planned + cost > bound) {
            return Optional.of("no room: " + planned + " tokens are pinned, it needs " + cost
                    + " more, and the bound is " + bound + ": " + in.budget().newWhy());
        }
        if (automatic && in.budget().automaticUnknown().isPresent()) {
            return Optional.of(
                    "no automatic hold: " + in.budget().automaticUnknown().get());
        }
        if (automatic && planned + cost > in.budget().automaticTokens()) {
            return Optional.of("no room for automatic holds: " + planned + " tokens are pinned, it needs " + cost
                    + " more, and the bound is " + in.budget().automaticTokens() + ": "
                    + in.budget().automaticWhy());
        }
        return Optional.empty();
    }

    private long cost(long block) {
        return in.tree().unpinnedBlocks(block) * in.blockTokens();
    }

    /** The holds to let go so that what stays fits the hard bound; none while that is unknown. */
    private Set<Long> aboveBound() {
        Set<Long> chosen = new HashSet<>();
        if (!in.budget().knowsHard()) {
            return chosen;
        }
        Map<Long, Integer> holdsOn = new HashMap<>();
        List<Hold> order = in.holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .sorted(Comparator.comparing(Hold::automatic)
                        .thenComparingLong(Hold::id)
                        .reversed())
                .toList();
        order.forEach(hold -> holdsOn.merge(hold.lastBlock(), 1, Integer::sum));
        Set<Long> goneAnyway = new LinkedHashSet<>(in.freeing());
        goneAnyway.removeIf(block -> !in.tree().pinned(block));
        for (Hold hold : in.holds()) {
            // The unpin of what is leaving was asked already: whether that frees anything, freeing() knows.
            if (hold.state() == HoldState.EXPIRING
                    && hold.heldBlocks() > 0
                    && !in.leaving().contains(hold.lastBlock())
                    && in.tree().pinned(hold.lastBlock())
                    && !holdsOn.containsKey(hold.lastBlock())) {
                goneAnyway.add(hold.lastBlock());
            }
        }
        // A pin goes with the last of its holds; `after` is how many holds have been let go by then.
        List<Long> goes = new ArrayList<>(goneAnyway);
        List<Integer> after = new ArrayList<>(Collections.nCopies(goes.size(), 0));
        for (int i = 0; i < order.size(); i++) {
            long block = order.get(i).lastBlock();
            if (holdsOn.merge(block, -1, Integer::sum) == 0 && in.tree().pinned(block)) {
                goes.add(block);
                after.add(i + 1);
            }
        }
        // Blocks that are pinned outside the tree (left over from an earlier life) cannot be freed by any choice here.
        long blockTokens = Math.max(1, in.blockTokens());
        long outside = in.budget().pinnedTokens() - in.tree().pinnedBlocks() * in.blockTokens();
        long most = Math.floorDiv(bound - outside, blockTokens);
        int enough =
                in.tree().pathsToUnpin(goes.stream().mapToLong(Long::longValue).toArray(), goneAnyway.size(), most);
        order.stream().limit(enough == 0 ? 0 : after.get(enough - 1)).forEach(hold -> chosen.add(hold.id()));
        return chosen;
    }

    private void candidates() {
        long id = in.nextHoldId();
        List<Long> longestFirst = in.candidates().stream()
                .filter(block ->
                        (in.tree().endedInsertion(block) || !in.traits().needs(Need.INSERTION_END))
                                && !in.tree().pinned(block)
                                && !in.leaving().contains(block)
                                && in.tree().depth(block) > 0)
                .sorted(Comparator.comparingInt((Long block) -> in.tree().depth(block))
                        .reversed())
                .toList();
        Set<Long> covered = new HashSet<>();
        for (long block : longestFirst) {
            if (covered.contains(block) || exceeds(block, true).isPresent()) {
                continue;
            }
            planned += cost(block);
            for (long above : in.tree().path(block)) {
                covered.add(above);
            }
            line(Action.PIN, id++, block, in.tree().depth(block), returned(block));
        }
    }

    private String returned(long block) {
        int times = in.tree().timesLost(block);
        return "lost " + (times == 1 ? "once" : times + " times")
                + " and stored again: a shared prefix that this cache does not keep by itself";
    }

    private void unpin(Hold hold, String reason) {
        line(Action.UNPIN, hold.id(), hold.lastBlock(), hold.heldBlocks(), reason);
    }

    private static Line wait(Hold hold, String reason) {
        return new Line(Action.WAIT, hold.id(), 0, hold.request().blocks(), reason);
    }

    private void line(Action action, long holdId, long block, int blocks, String reason) {
        lines.add(new Line(action, holdId, block, blocks, reason));
    }
}
