package io.holdfast.core.plan;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.BudgetRule;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.plan.Plan.Action;
import io.holdfast.core.plan.Plan.Line;
import io.holdfast.core.plan.RankEnds.RankEnd;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.rank.RankedPrefix;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
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
     * Letting go comes first: holds that are over; all hard pins when requests wait while nothing runs (the one state
     * that a pin may have caused and that costs everything); what stands above the hard bound, automatic holds before
     * requested ones, of those lighter before heavier, and younger before older; automatic holds, and those whose
     * owners allow it, in a window that measures without them or after it was found that they do not help. A hold that
     * was released by the last three is not over: it waits, and is pinned again when it fits.
     *
     * Then wishes, requested before automatic, of those heavier before lighter, and older before younger. A weight
     * takes nothing from what is held: somebody was promised that. A pin counts against the bound from the plan that
     * makes it, an unpin frees nothing before the engine said so; within one plan two new paths that overlap are
     * counted twice. All three err on the side of the engine.
     *
     * The automatic rule
     * ------------------
     * A prefix that several requests share and that this cache has lost is worth a hold, and so is one whose rank is
     * among the best, where the shadows license that. Which of them, says Selection, as a set; one that is held and
     * does not belong to it any more goes with the same plan.
     *
     * Where a pin ends
     * ----------------
     * A backend may only be able to pin where an insertion ended, and no insertion ends with a prefix that nobody sends
     * alone. Then the shortest living path over the prefix is pinned, and what it holds beyond is counted and said.
     * While there is none, the longest part of the prefix that ended an insertion has to do, until there is one.
     */
    /** Reason why a prefix cannot be sent. */
    public static final String NAMES_ONLY =
            "it was requested by the hashes of its blocks, whose tokens the engine has not reported, and this"
                    + " backend sends the prefix itself";

    /** Reason why nothing is pinned while requests wait and nothing runs. */
    public static final String STALLED =
            "requests wait while nothing runs: every pin is released, and no pin is made until this ends";

    /** A hash that is pinned, and came to a further rank since, is pinned in both by a new call. */
    private static final Why ON_MORE_RANKS =
            new Why(Reason.ONE_MORE_RANK, "released for a moment: it can be held on one more data-parallel rank");

    private static final Why UNPIN_UNDER_WAY =
            new Why(Reason.UNPIN_UNDER_WAY, "the unpin of its last block has no outcome yet");

    private final PlanInput.Moment moment;
    private final PlanInput.Cache cache;
    private final PlanInput.Means means;
    private final PlanInput.Limits limits;
    private final PlanInput.Wishes wishes;
    private final PlanInput.Automatic automatic;
    private final List<Line> lines = new ArrayList<>();
    private final Optional<Selection> selection;
    private final long bound;
    private long planned;
    private boolean primes;

    private Planner(PlanInput in) {
        this.moment = in.moment();
        this.cache = in.cache();
        this.means = in.means();
        this.limits = in.limits();
        this.wishes = in.wishes();
        this.automatic = in.automatic();
        this.bound = limits.budget().newTokens();
        this.planned = limits.budget().pinnedTokens();
        this.selection = automatic.on() && limits.budget().automaticUnknown().isEmpty()
                ? Optional.of(Selection.of(in))
                : Optional.empty();
    }

    public static Plan plan(PlanInput in) {
        return new Planner(in).plan();
    }

    private Plan plan() {
        boolean hardPins = means.traits().takesMemory();
        boolean stalled = limits.stalled() && hardPins;
        Set<Long> aboveBound = stalled || !hardPins ? Set.of() : aboveBound();
        for (Hold hold : wishes.holds()) {
            switch (hold.state()) {
                case EXPIRING -> unpin(hold, new Why(Reason.OVER, hold.reason()));
                case HELD -> {
                    if (stalled) {
                        unpin(hold, new Why(Reason.STALLED, STALLED));
                    } else if (aboveBound.contains(hold.id())) {
                        unpin(
                                hold,
                                new Why(
                                        Reason.ABOVE_BOUND,
                                        "released: the pins exceed the bound: "
                                                + limits.budget().hardWhy()));
                    } else if (letGo(hold).isPresent()) {
                        unpin(hold, letGo(hold).get());
                    } else if (hold.automatic()
                            && !stays(hold.end())
                            && means.traits().letsGo()) {
                        unpin(hold, whyNot(hold.end()).after("released: "));
                    } else if (hold.heldBlocks() < hold.request().blocks() && whole(hold.request())) {
                        unpin(hold, new Why(Reason.HELD_ANEW, "released for a moment: all of it can be held now"));
                    } else if (cache.ranks().several()) {
                        onMoreRanks(hold);
                    } else {
                        line(
                                Action.KEEP,
                                hold,
                                hold.lastBlock(),
                                hold.pinnedBlocks(),
                                new Why(Reason.HELD, hold.reason()));
                    }
                }
                default -> {}
            }
        }
        wishes(HoldOrigin.REQUESTED, stalled);
        wishes(HoldOrigin.AUTOMATIC, stalled);
        if (automatic.on() && !stalled && (wishes.letGo().isEmpty() || isMeasuring())) {
            candidates();
        }
        return new Plan(moment.tick(), lines);
    }

    /**
     * Returns the reason to release a hold for a while; absent for what is used once in a window or less, since that
     * would lose it and measure nothing.
     */
    private Optional<Why> letGo(Hold hold) {
        boolean stays = isMeasuring()
                && hold.automatic()
                && cache.prefixes()
                        .find(hold.end())
                        .filter(prefix -> prefix.isSeldomUsed(wishes.window()))
                        .isPresent();
        return hold.measured() && !stays ? wishes.letGo() : Optional.empty();
    }

    private boolean isMeasuring() {
        return wishes.letGo().filter(why -> why.code() == Reason.MEASURING).isPresent();
    }

    private void onMoreRanks(Hold hold) {
        Set<Long> pinned = cache.ranks().ends().getOrDefault(hold.id(), Set.of());
        RankEnds ends = new RankEnds(cache.tree(), cache.ranks(), hold.end(), pinned);
        Optional<RankEnd> next = pinned.isEmpty() ? Optional.empty() : ends.next();
        Optional<Why> why = hindrance();
        if (next.isPresent() && why.isEmpty()) {
            long block = next.get().block();
            if (pinned.contains(block)) {
                unpin(hold, ON_MORE_RANKS);
                return;
            }
            why = limits.leaving().contains(block) ? Optional.of(UNPIN_UNDER_WAY) : exceeds(block);
            if (why.isEmpty()) {
                planned += cost(block);
                line(
                        Action.PIN,
                        hold,
                        block,
                        next.get().blocks(),
                        new Why(
                                Reason.ONE_MORE_RANK,
                                "held, and pinned on rank " + next.get().rank()));
            }
        }
        line(
                Action.KEEP,
                hold,
                hold.lastBlock(),
                hold.pinnedBlocks(),
                new Why(Reason.HELD, ends.said(why.map(Why::said).orElse(""))));
    }

    private void wishes(HoldOrigin origin, boolean stalled) {
        wishes.holds().stream()
                .filter(hold -> hold.waits() && hold.origin() == origin)
                .sorted(Comparator.comparingInt(Hold::weight).reversed().thenComparingLong(Hold::id))
                .forEach(hold -> lines.add(wish(hold, stalled)));
    }

    private Line wish(Hold hold, boolean stalled) {
        HoldRequest path = hold.request();
        long last = path.block(path.blocks() - 1);
        Optional<Why> never = never(path, last);
        boolean namesOnly = means.traits().needs(Need.TOKENS) && path.tokens().isEmpty();
        if (never.isEmpty() && namesOnly && hold.automatic()) {
            never = Optional.of(new Why(Reason.TOKENS_UNKNOWN, NAMES_ONLY));
        }
        if (never.isPresent()) {
            return never.get().line(Action.REFUSE, hold.id(), last, 0, path.blocks());
        }
        if (namesOnly) {
            // It was taken when another backend held, or before the sidecar was started again.
            return wait(
                    hold,
                    Reason.TOKENS_UNKNOWN,
                    NAMES_ONLY + ": it is held when the engine's events report them, as they do when the prefix"
                            + " is stored again, or when it is requested by its tokens");
        }
        Optional<Why> hindrance = stalled ? Optional.of(new Why(Reason.STALLED, STALLED)) : hindrance();
        if (hindrance.isPresent()) {
            return wait(hold, hindrance.get());
        }
        Optional<Why> off = letGo(hold);
        if (off.isPresent()) {
            return wait(hold, off.get());
        }
        if (moment.nowNanos() < hold.retryNanos()) {
            return wait(hold, Reason.TRIED, hold.reason());
        }
        if (hold.automatic() && !selected(last)) {
            Why why = whyNot(last);
            // What ranks too low now is another prefix by the time that it ranks high again.
            return why.code() == Reason.OUTRANKED || why.code() == Reason.NOT_LICENSED
                    ? why.line(Action.REFUSE, hold.id(), last, 0, path.blocks())
                    : wait(hold, why);
        }
        if (!cache.tree().resident(last)) {
            return absent(hold);
        }
        int matched = cache.tree().match(path);
        if (matched < path.blocks()) {
            return wait(
                    hold,
                    Reason.NOT_CACHED,
                    "only the first " + matched + " of " + path.blocks()
                            + " blocks are known to be in the cache: it is pinned when the rest is stored");
        }
        Optional<End> end = end(path);
        if (end.isEmpty()) {
            return wait(
                    hold,
                    Reason.NO_END,
                    "in the cache, but the engine can only pin where a request's blocks end, and none that is still"
                            + " there ends in it or after it: it is pinned with the next request that goes on from it");
        }
        long block = end.get().block;
        if (limits.leaving().contains(block)) {
            return wait(hold, UNPIN_UNDER_WAY);
        }
        Optional<Why> tooMuch = exceeds(block);
        if (tooMuch.isPresent()) {
            return wait(hold, tooMuch.get().and(behind(hold)));
        }
        planned += cost(block);
        Why why = hold.automatic()
                ? automatic
                        .ranking()
                        .find(last)
                        .map(prefix -> ranked(prefix, end.get()))
                        .orElseGet(() -> shared(last, end.get()))
                : new Why(
                        end.get().blocks > path.blocks()
                                ? Reason.BEYOND
                                : end.get().blocks == path.blocks() ? Reason.WHOLE_PREFIX : Reason.CLIPPED,
                        pinReason(means.traits(), end.get().blocks, path.blocks()));
        return why.line(Action.PIN, hold.id(), last, block, end.get().blocks);
    }

    /** Who was taken before it for being heavier, where that may be why it has no room. */
    private String behind(Hold hold) {
        return wishes.holds().stream()
                .filter(other -> other.weight() > hold.weight() && !other.automatic())
                .filter(other -> other.state() == HoldState.HELD || pinnedByThisPlan(other))
                .max(Comparator.comparingInt(Hold::weight))
                .map(other -> "; hold " + other.id() + " of weight " + other.weight()
                        + " goes before this one of weight " + hold.weight())
                .orElse("");
    }

    private boolean pinnedByThisPlan(Hold hold) {
        return lines.stream().anyMatch(line -> line.action() == Action.PIN && line.holdId() == hold.id());
    }

    /**
     * Decides on a hold whose last block is not in the cache. Without it, storing the prefix alone would store nothing.
     */
    private Line absent(Hold hold) {
        String waits = "not in the cache as a whole: it is pinned when a request stores its last block";
        if (hold.automatic()) {
            return wait(hold, Reason.NOT_CACHED, waits);
        }
        if (hold.request().tokens().isEmpty()) {
            return wait(hold, Reason.NOT_CACHED, waits + "; given its tokens, the sidecar could send it");
        }
        if (primes || means.notPrimed().isPresent()) {
            return wait(
                    hold,
                    Reason.NOT_CACHED,
                    waits + means.notPrimed().map(why -> "; " + why).orElse(""));
        }
        if (hold.request().largestToken() > cache.largestToken()) {
            return wait(
                    hold,
                    Reason.NOT_CACHED,
                    waits + "; the sidecar does not send its token id "
                            + hold.request().largestToken() + " before the engine has shown one as large, since an id"
                            + " outside its vocabulary can end an engine");
        }
        long cost = hold.request().blocks() * cache.blockTokens();
        if (planned + cost > bound) {
            return wait(
                    hold,
                    Reason.NO_ROOM,
                    waits + "; the sidecar does not send it, since there is no room to pin its " + cost + " tokens: "
                            + limits.budget().newWhy());
        }
        primes = true;
        return new Why(Reason.STORED_BY_US, "not in the cache: the sidecar sends it in a request of its own")
                .line(Action.PRIME, hold.id(), hold.end(), 0, hold.request().blocks());
    }

    /** Block at which the pin of a prefix ends. */
    private record End(long block, int blocks) {}

    /** Returns the end of a prefix that is in the cache; empty where nothing in it or over it may be pinned. */
    private Optional<End> end(HoldRequest path) {
        int blocks = path.blocks();
        long last = path.block(blocks - 1);
        if (cache.ranks().several()) {
            return onRanks(last);
        }
        if (!means.traits().needs(Need.INSERTION_END) || cache.tree().endedInsertion(last)) {
            return Optional.of(new End(last, blocks));
        }
        Optional<End> over = over(last);
        if (over.isPresent()) {
            return over;
        }
        int clipped = cache.tree().insertionEnd(path, blocks);
        return clipped == 0 ? Optional.empty() : Optional.of(new End(path.block(clipped - 1), clipped));
    }

    /** The end of the shortest living path over a prefix. */
    private Optional<End> over(long last) {
        if (cache.ranks().several()) {
            return onRanks(last);
        }
        OptionalLong end = cache.prefixes().shortestPathOver(last);
        return end.isEmpty()
                ? Optional.empty()
                : Optional.of(new End(end.getAsLong(), cache.tree().depth(end.getAsLong())));
    }

    private Optional<End> onRanks(long last) {
        return new RankEnds(cache.tree(), cache.ranks(), last, Set.of())
                .next()
                .map(end -> new End(end.block(), end.blocks()));
    }

    /** Returns true if all of a prefix could be pinned of which a part is. */
    private boolean whole(HoldRequest path) {
        int blocks = path.blocks();
        return cache.tree().match(path) == blocks
                && end(path)
                        .filter(end -> end.blocks >= blocks
                                && !limits.leaving().contains(end.block)
                                && exceeds(end.block).isEmpty())
                        .isPresent();
    }

    private boolean selected(long last) {
        return selection.map(set -> set.chosen().contains(last)).orElse(false);
    }

    /** A bound that is not known takes nothing away. */
    private boolean stays(long last) {
        return selected(last)
                || (automatic.on() && limits.budget().automaticUnknown().isPresent());
    }

    private Why whyNot(long last) {
        return selection
                .map(set -> set.whyNot(last))
                .orElseGet(() -> limits.budget()
                        .automaticUnknown()
                        .map(why -> new Why(Reason.AUTOMATIC_UNKNOWN, "no automatic hold: " + why))
                        .orElseGet(() -> new Why(Reason.AUTOMATIC_OFF, AutomaticHolds.off(means.traits()))));
    }

    public static String pinReason(BackendTraits traits, int end, int wanted) {
        if (end > wanted) {
            return "the whole prefix is in the cache; the engine can only pin where a request's blocks end, so "
                    + (end - wanted) + " blocks beyond its " + wanted + " are pinned as well";
        }
        if (end == wanted) {
            return "the whole prefix is in the cache";
        }
        return "clipped: " + end + " of " + wanted
                + " blocks, since the engine can only pin where a request's blocks end; all of it is pinned with the"
                + " next request that goes on from it";
    }

    private Optional<Why> never(HoldRequest path, long last) {
        if (means.capabilities()
                .filter(found -> !found.canPin() && !found.passing())
                .isPresent()) {
            return Optional.of(new Why(
                    Reason.CANNOT,
                    "this engine cannot pin: " + means.capabilities().get().why()));
        }
        if (means.traits().needs(Need.UNAMBIGUOUS_HASH) && cache.tree().ambiguous(last)) {
            return Optional.of(new Why(
                    Reason.AMBIGUOUS,
                    "the hash of its last block may name two blocks of the engine (a salt or a LoRA is in use):"
                            + " such a pin could not be taken back safely"));
        }
        long most = cache.capacityTokens() - BudgetRule.slack(cache.capacityTokens(), cache.blockTokens());
        long wanted = path.blocks() * cache.blockTokens();
        if (cache.capacityTokens() > 0 && wanted > most) {
            return Optional.of(new Why(
                    Reason.NEVER_FITS,
                    "its " + wanted + " tokens never fit: the engine's cache has " + cache.capacityTokens()));
        }
        return Optional.empty();
    }

    private Optional<Why> hindrance() {
        if (means.hindrance().isPresent()) {
            return means.hindrance().map(why -> new Why(Reason.NOTHING_NEW, why));
        }
        if (means.capabilities().filter(Capabilities::passing).isPresent()) {
            return means.capabilities()
                    .map(found -> new Why(Reason.NOT_NOW, "this engine cannot pin now: " + found.why()));
        }
        return limits.budget().hardUnknown().map(why -> new Why(Reason.BOUND_UNKNOWN, "nothing new is pinned: " + why));
    }

    private Optional<Why> exceeds(long block) {
        long cost = cost(block);
        if (planned + cost > bound && limits.budget().noRoom().isPresent()) {
            return limits.budget().noRoom().map(why -> new Why(Reason.NO_ROOM, why));
        }
        if (planned + cost > bound) {
            return Optional.of(new Why(
                    Reason.NO_ROOM,
                    "no room: " + planned + " tokens are pinned, it needs " + cost
                            + " more, and the bound is " + bound + ": "
                            + limits.budget().newWhy()
                            + whatStays()));
        }
        return Optional.empty();
    }

    private String whatStays() {
        if (means.traits().onlyRunsOut()) {
            return "; what was held before cannot be released, so it counts until its time has run out";
        }
        return means.traits().releasable()
                ? ""
                : "; what was held before cannot be released, so it counts until the engine has evicted it";
    }

    private long cost(long block) {
        return (cache.tree().unpinnedBlocks(block) + beside(block)) * cache.blockTokens();
    }

    /** A hold that joins a pin takes nothing beside it. */
    private int beside(long block) {
        boolean joins =
                wishes.holds().stream().anyMatch(hold -> hold.state() == HoldState.HELD && hold.lastBlock() == block);
        return joins ? 0 : means.traits().blocksBeside();
    }

    /** Returns the holds to release so that what stays fits the hard bound; none while that is unknown. */
    private Set<Long> aboveBound() {
        Set<Long> chosen = new HashSet<>();
        if (!limits.budget().knowsHard()) {
            return chosen;
        }
        Map<Long, Integer> holdsOn = new HashMap<>();
        List<Hold> order = wishes.holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .sorted(Comparator.comparing(Hold::automatic)
                        .thenComparing(Comparator.comparingInt(Hold::weight).reversed())
                        .thenComparingLong(Hold::id)
                        .reversed())
                .toList();
        order.forEach(hold -> ends(hold).forEach(block -> holdsOn.merge(block, 1, Integer::sum)));
        Set<Long> goneAnyway = new LinkedHashSet<>(limits.freeing());
        goneAnyway.removeIf(block -> !cache.tree().pinned(block));
        for (Hold hold : wishes.holds()) {
            // The unpin of what is leaving was asked already: whether that frees anything, freeing() knows.
            if (hold.state() == HoldState.EXPIRING && hold.pinnedBlocks() > 0) {
                ends(hold).stream()
                        .filter(block -> !limits.leaving().contains(block)
                                && cache.tree().pinned(block)
                                && !holdsOn.containsKey(block))
                        .forEach(goneAnyway::add);
            }
        }
        // A pin goes with the last of its holds; `after` is how many holds have been released by then.
        List<Long> goes = new ArrayList<>(goneAnyway);
        List<Integer> after = new ArrayList<>(Collections.nCopies(goes.size(), 0));
        for (int i = 0; i < order.size(); i++) {
            for (long block : ends(order.get(i))) {
                if (holdsOn.merge(block, -1, Integer::sum) == 0 && cache.tree().pinned(block)) {
                    goes.add(block);
                    after.add(i + 1);
                }
            }
        }
        // Blocks that are pinned outside the tree (left over from an earlier life) cannot be freed by any choice here.
        long blockTokens = Math.max(1, cache.blockTokens());
        long outside = limits.budget().pinnedTokens() - cache.tree().pinnedBlocks() * cache.blockTokens();
        long most = Math.floorDiv(limits.budget().hardTokens() - outside, blockTokens);
        int enough = cache.tree()
                .pathsToUnpin(goes.stream().mapToLong(Long::longValue).toArray(), goneAnyway.size(), most);
        order.stream().limit(enough == 0 ? 0 : after.get(enough - 1)).forEach(hold -> chosen.add(hold.id()));
        return chosen;
    }

    private Set<Long> ends(Hold hold) {
        return cache.ranks().ends().getOrDefault(hold.id(), Set.of(hold.lastBlock()));
    }

    private void candidates() {
        long id = moment.nextHoldId();
        Optional<Why> hindrance = hindrance();
        Set<Long> known = new HashSet<>();
        wishes.holds().forEach(hold -> known.add(hold.end()));
        for (SharedPrefix prefix : automatic.candidates()) {
            long last = prefix.lastBlock();
            if (known.contains(last) || cache.tree().pinned(last)) {
                continue;
            }
            if (isMeasuring() && !prefix.isSeldomUsed(wishes.window())) {
                lines.add(wishes.letGo().get().line(Action.WAIT, 0, last, 0, prefix.blocks()));
                continue;
            }
            Optional<End> end =
                    means.traits().needs(Need.INSERTION_END) ? over(last) : Optional.of(new End(last, prefix.blocks()));
            Optional<Why> why = hindrance.isPresent() ? hindrance : whyNotNow(last, end);
            if (why.isPresent()) {
                lines.add(why.get().line(Action.WAIT, 0, last, 0, prefix.blocks()));
            } else {
                planned += cost(end.orElseThrow().block);
                lines.add(shared(last, end.get()).line(Action.PIN, id++, last, end.get().block, end.get().blocks));
                known.add(last);
            }
        }
        if (wishes.letGo().isEmpty()) {
            ranked(id, known, hindrance);
        }
    }

    private void ranked(long firstId, Set<Long> known, Optional<Why> hindrance) {
        long id = firstId;
        for (RankedPrefix prefix : automatic.ranking().chosen()) {
            long last = prefix.lastBlock();
            if (id - firstId == automatic.ranking().mayBegin()) {
                return;
            }
            if (known.contains(last) || cache.tree().pinned(last) || !selected(last)) {
                continue;
            }
            Optional<End> end = end(prefix);
            Optional<Why> why = hindrance.isPresent() ? hindrance : whyNotNow(prefix, end);
            // As a shared one it may wait already, for a path over it where this would end with it.
            boolean waits = lines.stream().anyMatch(line -> line.action() == Action.WAIT && line.prefix() == last);
            if (why.isPresent()) {
                if (!waits) {
                    lines.add(why.get().line(Action.WAIT, 0, last, 0, prefix.blocks()));
                }
            } else {
                if (waits) {
                    lines.removeIf(line -> line.action() == Action.WAIT && line.prefix() == last);
                }
                planned += cost(end.orElseThrow().block);
                lines.add(ranked(prefix, end.get()).line(Action.PIN, id++, last, end.get().block, end.get().blocks));
            }
        }
    }

    private Optional<End> end(RankedPrefix prefix) {
        long last = prefix.lastBlock();
        return !means.traits().needs(Need.INSERTION_END) || cache.tree().endedInsertion(last)
                ? Optional.of(new End(last, prefix.blocks()))
                : over(last);
    }

    private Optional<Why> whyNotNow(RankedPrefix prefix, Optional<End> end) {
        long last = prefix.lastBlock();
        if (!cache.tree().resident(last) || cache.tree().depth(last) == 0) {
            return Optional.of(new Why(Reason.NOT_CACHED, "ranks high, and left the cache just now"));
        }
        if (end.isEmpty()) {
            return Optional.of(
                    new Why(Reason.NO_END, "ranks high, and the engine can only pin where a request's blocks end"));
        }
        if (means.traits().needs(Need.UNAMBIGUOUS_HASH) && cache.tree().ambiguous(end.get().block)) {
            return Optional.of(new Why(
                    Reason.AMBIGUOUS, "ranks high, and the hash of its last block may name two blocks of the engine"));
        }
        return limits.leaving().contains(end.get().block) ? Optional.of(UNPIN_UNDER_WAY) : exceeds(end.get().block);
    }

    private Why ranked(RankedPrefix prefix, End end) {
        return new Why(
                Reason.RANKED,
                prefix.said() + "; " + automatic.ranking().evidence().said()
                        + automatic
                                .saving()
                                .said(prefix.blocks() * cache.blockTokens())
                                .orElse("")
                        + beyond(end, prefix.blocks()));
    }

    private static String beyond(End end, int blocks) {
        return end.blocks <= blocks
                ? ""
                : "; the engine can only pin where a request's blocks end, so " + (end.blocks - blocks)
                        + " blocks beyond its " + blocks + " are pinned as well";
    }

    private Optional<Why> whyNotNow(long last, Optional<End> end) {
        if (!selected(last)) {
            return Optional.of(whyNot(last));
        }
        if (means.traits().needs(Need.TOKENS) && !cache.prefixes().tokensKnown(last)) {
            return Optional.of(new Why(
                    Reason.TOKENS_UNKNOWN,
                    "worth a hold, and this backend sends the prefix itself, whose tokens are not known: it is"
                            + " held once all of it was stored again"));
        }
        if (!cache.tree().resident(last)) {
            return Optional.of(new Why(
                    Reason.NOT_CACHED, "worth a hold, and not in the cache now: it is pinned when it is stored again"));
        }
        if (cache.tree().depth(last) == 0) {
            return Optional.of(new Why(
                    Reason.BEGINNING_UNKNOWN,
                    "worth a hold, and what comes before its last block is not known, since events were lost:"
                            + " it is pinned when all of it is stored again"));
        }
        if (end.isEmpty()) {
            return Optional.of(new Why(
                    Reason.NO_END,
                    "worth a hold, and the engine can only pin where a request's blocks end: it is pinned with"
                            + " the next request that goes on from it"));
        }
        if (limits.leaving().contains(end.get().block)) {
            return Optional.of(UNPIN_UNDER_WAY);
        }
        return exceeds(end.get().block);
    }

    private Why shared(long last, End end) {
        Optional<SharedPrefix> known = cache.prefixes().find(last);
        String said = known.map(prefix -> "shared by " + prefix.requests() + " requests and lost "
                                + (prefix.losses() == 1 ? "once" : prefix.losses() + " times"))
                        .orElse("shared by several requests")
                + known.flatMap(prefix -> automatic.saving().said(tokens(prefix)))
                        .orElse("")
                + known.map(prefix -> beyond(end, prefix.blocks())).orElse("");
        return new Why(Reason.SHARED_AND_LOST, said);
    }

    private long tokens(SharedPrefix prefix) {
        return prefix.blocks() * cache.blockTokens();
    }

    private void unpin(Hold hold, Why why) {
        line(Action.UNPIN, hold, hold.lastBlock(), hold.pinnedBlocks(), why);
    }

    private static Line wait(Hold hold, Reason code, String said) {
        return wait(hold, new Why(code, said));
    }

    private static Line wait(Hold hold, Why why) {
        return why.line(Action.WAIT, hold.id(), hold.end(), 0, hold.request().blocks());
    }

    private void line(Action action, Hold hold, long block, int blocks, Why why) {
        lines.add(why.line(action, hold.id(), hold.end(), block, blocks));
    }
}
