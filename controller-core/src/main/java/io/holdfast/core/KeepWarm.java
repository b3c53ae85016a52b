package io.holdfast.core;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.pin.Acting;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/** Makes pins that fade again before they are worth nothing: what was used last is what an engine evicts last. */
final class KeepWarm {
    /*
     * When
     * ----
     * An engine without pins evicts what was used longest ago. A prefix that was just used is behind everything else
     * that can be evicted, so it lives until as many blocks were allocated as there are beside it:
     *
     *     room = capacity - what running requests hold - what is held
     *
     * What else is held counts like its own blocks: it is touched as well, and stands behind it from then on without
     * that a block was allocated.
     *
     * Allocations are counted by the blocks that the events announce, not by time: a prefix in a quiet engine needs no
     * touch for hours. What waits in the queue is served before a touch that is sent now, since engines serve first
     * come first, so it counts as if it were there: waiting requests times what nine of ten prompts need. A touch is
     * due when both together reach a part of the room. The part is one half at first, and becomes smaller with each
     * touch that came too late, since not every allocation is announced.
     *
     * Between two looks nobody knows what was allocated: a long prompt is stored at once, and an engine that is short
     * of CPU tells of several requests at once, half a second after it served them. So the most that came within a
     * tenth of a second lately is what may have been allocated unseen, and a touch is due where twice that is all the
     * room that is left.
     *
     * An engine that is busy may be late with its numbers, and that is when touches matter: what it told last counts
     * then.
     *
     * Where what is held leaves less than a part of the cache, the youngest hold is given up for lost, or the touches
     * would never end. Where the queue alone needs the room, no touch can be in time: the prefix is given up for lost
     * then, and not once it is gone, and comes back with the next request that stores it.
     *
     * What it may cost
     * ----------------
     * A touch costs a request, and what it computes where it came too late. When a prefix was touched so often since
     * its last use that computing it once more would have been cheaper, it is released, until somebody uses it: that
     * costs at most twice of what knowing the future would. Few touches are under way at once, and all requests of our
     * own together may take so many seconds of an hour.
     *
     * An automatic hold may cost four times that, since who shares a prefix often comes together, and each would
     * compute it: an engine shares what is stored, not what is under way. That is the price of what surely comes back.
     * Most prefixes that a few requests shared do not, and at that price each of them would take its seconds from those
     * that do. So it may cost that price times the share of such holds that were used after they were touched, of the
     * last twenty or so: what its use is expected to save. One that was used while it was kept may cost all of it, and
     * so may every sixteenth: where all were released early nobody would see one that is used late.
     *
     * Requests that find all of their prompt in the cache are not in the events; so a growth of the engine's counter of
     * cached tokens by as many as the prefix has is taken for a use of it, whoever's it was: of the growth, the part
     * that is theirs by the share of requests that no event shows.
     */
    private static final double FIRST_PART = 0.5;
    /** Least part of the cache that has to be free beside what is held. */
    private static final double LEAST_ROOM = 0.1;

    private static final double LEAST_PART = 0.2;
    private static final double AFTER_LATE = 0.85;
    private static final long BURST_NANOS = 100_000_000L;
    private static final double BURST_HALVES_NANOS = 30e9;
    /** Cost of a request beside the tokens that it computes, in computed tokens. */
    static final int REQUEST_TOKENS = 64;

    /** Holds that are kept as if they were surely used, so that the share of those that are is of all. */
    private static final int TRIED = 16;

    private static final double FORGETS = 0.95;
    /** Requests that come together and would each compute what is gone. */
    private static final int TOGETHER = 4;

    private static final long UNKNOWN = -1;
    private static final int MOST_UNDER_WAY = 8;
    private static final long AGAIN_NANOS = 1_000_000_000L;
    private static final long AFTER_NO_ANSWER_NANOS = 5_000_000_000L;

    private final Holds holds;
    private final EngineBlocks tree;
    private final OwnRequests own;
    private final Acting acting;
    private final Duration mostAnHour;
    private final Decisions decisions;
    private final Map<Long, Kept> kept = new HashMap<>();
    /** Holds that were released since they cost more than they save. */
    private final Map<Long, Rest> resting = new HashMap<>();

    private double part = FIRST_PART;
    private long attempts;
    private int underWay;
    private long quietUntilNanos;
    private long late;
    private long before = UNKNOWN;
    /** The most blocks that came at once, less the longer that is ago. */
    private double burst;

    private long burstNanos;
    private long burstBlocks = UNKNOWN;

    /** Automatic holds that were used after they were touched, and those that ended first; the longer ago, the less. */
    private double repaid;

    private double unpaid;
    private long automatic;
    /** Tokens that requests which no event shows found in the cache. */
    private double unseenCached;

    private double usersCached;

    /** Capacity in tokens, as the engine told it last; 0 before it did. */
    private double capacity;

    private double blockTokens;
    private double used;
    private double waiting;

    /** Receives what becomes of a hold that is not kept any more. */
    interface Decisions {
        void lost(Hold hold, String evidence);

        /** Reports a hold that is not to be held again before it was used. */
        void notWorthIt(Hold hold, String reason);

        void usedAgain(Hold hold);
    }

    /** Time of the last use by then, and tokens that users had found in the cache. */
    private record Rest(long lastTouch, double usersCached) {}

    private static final class Kept {
        long usedAtBlocks = UNKNOWN;
        long lastTouch;
        long notBeforeNanos;
        double unseenCached;
        int touchesSinceUse;
        /** Tokens that those of them computed again which came too late. */
        long computedSinceUse;

        boolean automatic;
        /** True if its use may be taken for certain. */
        boolean sure;

        boolean underWay;
        /** Checked when a touch leaves, which may be long after it was decided: its execution may wait for a disk. */
        volatile boolean wanted = true;
    }

    /**
     * Facts by which a touch is decided.
     *
     * @param allocated blocks that the engine has announced, ever growing
     * @param promptBlocks what nine of ten prompts need; absent before there was one
     * @param silent whether the engine publishes no events, so that its counters alone tell of uses
     * @param unseen share of the engine's requests that its events surely do not show; 1 where nobody knows
     */
    record Now(
            long nanos,
            long allocated,
            EngineReadings readings,
            OptionalLong promptBlocks,
            boolean silent,
            double unseen) {}

    /** {@code mostAnHour} is how long requests of our own may take within an hour. */
    KeepWarm(Holds holds, EngineBlocks tree, OwnRequests own, Acting acting, Duration mostAnHour, Decisions decisions) {
        this.holds = holds;
        this.tree = tree;
        this.own = own;
        this.acting = acting;
        this.mostAnHour = mostAnHour;
        this.decisions = decisions;
    }

    /** Returns true if a hold was released until it is used. */
    boolean rests(long holdId) {
        return resting.containsKey(holdId);
    }

    /** Touches that found their prefix gone, and stored it anew. */
    long late() {
        return late;
    }

    /** Looks at all holds, for a backend whose pins fade; often, since what is too late is lost. */
    void poll(Backend backend, Now now) {
        kept.entrySet().removeIf(each -> {
            Optional<Hold> hold = holds.living(each.getKey());
            boolean held =
                    hold.filter(living -> living.state() == HoldState.HELD).isPresent();
            each.getValue().wanted = held;
            // One that waits is held again when it may be.
            if (!held && hold.filter(Hold::waits).isEmpty()) {
                ended(each.getValue());
            }
            return !held;
        });
        double cached = own.usersCached();
        // Fewer than before are another process's.
        unseenCached += now.unseen * Math.abs(cached - usersCached);
        usersCached = cached;
        resting.keySet().removeIf(id -> holds.living(id).filter(Hold::waits).isEmpty());
        capacity = now.readings.capacityTokens().number().orElse(capacity);
        blockTokens = now.readings.blockTokens().number().orElse(blockTokens);
        used = now.readings.usedTokens().number().orElse(used);
        waiting = now.readings.waitingRequests().number().orElse(waiting);
        noticeBursts(now);
        List<Hold> due = new ArrayList<>();
        for (Hold hold : holds.living()) {
            if (hold.state() == HoldState.HELD) {
                if (isDue(hold, now)) {
                    due.add(hold);
                }
            } else if (resting.containsKey(hold.id()) && usedSince(resting.get(hold.id()), hold, now)) {
                resting.remove(hold.id());
                decisions.usedAgain(hold);
            }
        }
        before = now.allocated;
        if (loseTheYoungestForWantOfRoom()) {
            return;
        }
        // Those that were used longest ago are evicted first.
        due.sort(Comparator.comparingLong(hold -> of(hold).usedAtBlocks));
        for (Hold hold : due) {
            if (underWay < MOST_UNDER_WAY && now.nanos >= quietUntilNanos) {
                touch(backend, hold, of(hold), now);
            }
        }
    }

    private boolean usedSince(Rest rest, Hold hold, Now now) {
        long touch = tree.lastTouch(hold.end());
        return now.silent
                // Fewer than before are another process's.
                ? Math.abs(own.usersCached() - rest.usersCached)
                        >= hold.request().tokenCount()
                : rest.lastTouch < touch && own.busyNanos() < touch;
    }

    private void noticeBursts(Now now) {
        long passed = now.nanos - burstNanos;
        if (burstBlocks == UNKNOWN || passed >= BURST_NANOS) {
            burst *= Math.pow(0.5, passed / BURST_HALVES_NANOS);
            burstNanos = now.nanos;
            burstBlocks = before == UNKNOWN ? now.allocated : before;
        }
        burst = Math.max(burst, (double) (now.allocated - burstBlocks));
    }

    private boolean loseTheYoungestForWantOfRoom() {
        List<Hold> held = holds.living().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .toList();
        if (held.isEmpty()
                || blockTokens < 1
                || capacity / blockTokens - tree.pinnedBlocks() >= LEAST_ROOM * capacity / blockTokens) {
            return false;
        }
        decisions.lost(
                held.getLast(),
                "the " + tree.pinnedBlocks() + " blocks that are held leave too little of the cache to keep all of them"
                        + " warm");
        return true;
    }

    private Kept of(Hold hold) {
        return kept.computeIfAbsent(hold.id(), id -> {
            Kept of = new Kept();
            of.unseenCached = unseenCached;
            of.automatic = hold.automatic();
            of.sure = !hold.automatic() || automatic++ % TRIED == 0;
            return of;
        });
    }

    private void ended(Kept of) {
        if (of.automatic && of.touchesSinceUse > 0) {
            repaid *= FORGETS;
            unpaid = unpaid * FORGETS + 1;
        }
    }

    private void used(Kept of) {
        if (of.automatic && of.touchesSinceUse > 0) {
            repaid = repaid * FORGETS + 1;
            unpaid *= FORGETS;
            of.sure = true;
        }
        forget(of);
    }

    private static void forget(Kept of) {
        of.touchesSinceUse = 0;
        of.computedSinceUse = 0;
    }

    /**
     * Returns the cost of one more touch and those since its last use, in computed tokens. The first time that it is
     * stored again saves its next use that.
     */
    private static long costOfOneMore(Kept of, long prefix) {
        return (of.touchesSinceUse + 1L) * (REQUEST_TOKENS + 1) + Math.max(0, of.computedSinceUse - prefix);
    }

    /** Returns what may be spent on it until its next use, in computed tokens. */
    private double worth(Kept of, long prefix) {
        return Math.max(expected(of, prefix), 2 * REQUEST_TOKENS);
    }

    private double expected(Kept of, long prefix) {
        return of.automatic ? (of.sure ? 1 : chance()) * TOGETHER * prefix : prefix;
    }

    private String saving(Kept of, long prefix) {
        return of.automatic
                ? String.format(
                        Locale.ROOT,
                        "the %.0f tokens that it is expected to save%s",
                        expected(of, prefix),
                        of.sure
                                ? ""
                                : String.format(
                                        Locale.ROOT,
                                        ", since %.0f %% of the last ones were used while they were kept warm",
                                        100 * chance()))
                : "computing its " + prefix + " tokens again";
    }

    /** Returns the chance that a touched prefix is used before it ends; certain until one ended unused. */
    private double chance() {
        return (repaid + 1) / (repaid + unpaid + 1);
    }

    private boolean isDue(Hold hold, Now now) {
        Kept of = of(hold);
        long touch = tree.lastTouch(hold.end());
        if (of.usedAtBlocks == UNKNOWN || (touch > of.lastTouch && touch > own.busyNanos())) {
            of.lastTouch = touch;
            // It was used since the last look, nobody knows when.
            of.usedAtBlocks = before == UNKNOWN ? now.allocated : before;
            used(of);
        }
        if (unseenCached - of.unseenCached >= tokens(hold)) {
            of.unseenCached = unseenCached;
            forget(of);
        }
        Optional<Long> room = room(hold);
        if (of.underWay || now.nanos < of.notBeforeNanos || room.isEmpty()) {
            return false;
        }
        double bound = Math.max(LEAST_PART * room.get(), Math.min(part * room.get(), room.get() - 2 * burst));
        double ahead = waiting * now.promptBlocks.orElse(0);
        if (ahead >= room.get()) {
            decisions.lost(
                    hold,
                    "requests that wait need some " + (long) ahead + " blocks before a touch would be served, and it is"
                            + " evicted after " + room.get());
            return false;
        }
        return now.allocated - of.usedAtBlocks + ahead >= bound;
    }

    private static long tokens(Hold hold) {
        return hold.request().tokenCount() / hold.request().blocks() * (long) hold.heldBlocks();
    }

    private Optional<Long> room(Hold hold) {
        if (blockTokens < 1 || capacity < 1) {
            return Optional.empty();
        }
        long held = Math.max(hold.pinnedBlocks(), tree.pinnedBlocks());
        return Optional.of(Math.max(1, (long) ((capacity - used) / blockTokens) - held));
    }

    private void touch(Backend backend, Hold hold, Kept of, Now now) {
        long prefix = tokens(hold);
        if (costOfOneMore(of, prefix) > worth(of, prefix)) {
            resting.put(hold.id(), new Rest(of.lastTouch, own.usersCached()));
            kept.remove(hold.id());
            decisions.notWorthIt(
                    hold,
                    "it was kept warm by " + of.touchesSinceUse + " requests since it was used last, and one more would"
                            + " cost more than " + saving(of, prefix) + ": it is kept warm again once it was used");
            ended(of);
            return;
        }
        if (own.timeWithinAnHour().compareTo(mostAnHour) >= 0) {
            of.notBeforeNanos = now.nanos + AGAIN_NANOS;
            holds.update(hold.because("not kept warm now: the sidecar's own requests took " + mostAnHour.toSeconds()
                    + " s within an hour, which is the most"));
            return;
        }
        PinCommand command = new PinCommand(hold.id(), attempts++, hold.request(), hold.heldBlocks());
        OwnRequests.Call call = own.beginTouch(hold.request(), hold.heldBlocks());
        // The one that is chosen now, whatever is by the time that the call leaves.
        Backend chosen = backend.itself();
        of.underWay = true;
        underWay++;
        acting.call(
                () -> of.wanted
                        ? chosen.pin(command)
                        : CompletableFuture.completedStage(new Outcome(
                                Outcome.Kind.NOT_SENT, "its hold was given up before the touch could leave")),
                outcome -> touched(hold.id(), of, call, outcome, now.allocated));
    }

    private void touched(long holdId, Kept of, OwnRequests.Call call, Outcome outcome, long allocatedAtSending) {
        own.end(call, outcome);
        of.underWay = false;
        underWay--;
        of.notBeforeNanos = call.answeredNanos();
        switch (outcome.kind()) {
            case ACCEPTED, CLIPPED -> {
                touchedAt(of, allocatedAtSending);
                of.computedSinceUse += call.computed();
                outcome.cachedTokens()
                        .ifPresent(cached -> holds.living(holdId).ifPresent(hold -> {
                            holds.update(hold.proven(call.answeredNanos()));
                            if (cached < tokens(hold)) {
                                late++;
                                part = Math.max(LEAST_PART, part * AFTER_LATE);
                            }
                        }));
            }
            case REJECTED, MISSING ->
                holds.living(holdId)
                        .filter(hold -> hold.state() == HoldState.HELD)
                        .ifPresent(hold -> decisions.lost(hold, "the engine refused a touch: " + outcome.reason()));
            case NOT_SENT -> of.notBeforeNanos += AGAIN_NANOS;
            // It may be in the engine's queue still, and another one would only make that longer.
            case DEFERRED -> {
                of.touchesSinceUse++;
                of.notBeforeNanos += AFTER_NO_ANSWER_NANOS;
                quietUntilNanos = Math.max(quietUntilNanos, call.answeredNanos() + AGAIN_NANOS);
            }
        }
    }

    private static void touchedAt(Kept of, long allocated) {
        of.usedAtBlocks = Math.max(of.usedAtBlocks, allocated);
        of.touchesSinceUse++;
    }
}
