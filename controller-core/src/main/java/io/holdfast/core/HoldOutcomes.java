package io.holdfast.core;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.pin.Pins;
import io.holdfast.core.plan.Planner;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;
import java.util.function.LongPredicate;

/**
 * Decides what becomes of holds: by the answers to their pins, by what the engine was seen to release, and when they
 * are given up.
 */
final class HoldOutcomes implements Pins.Results, KeepWarm.Decisions {
    /*
     * A requested hold that is not pinned, or not any more, waits for its next chance with the reason; an automatic one
     * was only wanted because its prefix was there, and ends. Whatever ends a hold first makes it EXPIRING: it is over
     * when its last pin is known to be gone.
     *
     * A refusal ends a requested hold, unless it is one for now: room that others have, and may give back. That is
     * tried again ever more rarely, since a try that comes too early costs the engine a call and may take a part of
     * what others wait for.
     */
    /** Time until what was released for want of room comes back. */
    static final long AFTER_PRESSURE_NANOS = 10_000_000_000L;

    private static final long PIN_AGAIN_NANOS = 1_000_000_000L;
    private static final long REFUSED_AGAIN_NANOS = 300_000_000_000L;
    private static final long REFUSED_FOR_NOW_NANOS = 10_000_000_000L;
    private static final int LONGEST_BACK_OFF_LOG2 = 5;
    private static final long NEVER_AGAIN_NANOS = 365L * 86_400 * 1_000_000_000;
    private static final long AFTER_RESTART_NANOS = 2_000_000_000L;
    private static final int LOOKS_UNTIL_LOST = 3;
    private static final String EMPTIED = "the engine emptied its cache, and with it the pins";

    private final Holds holds;
    private final Pins pins;
    private final Backends backends;
    private final EngineCaches tree;
    private final OwnRequests own;
    private final Runnable replan;
    private final Runnable probeAgain;
    private final Map<Long, PinRequest> pinsUnderWay = new HashMap<>();
    /** Number of times in a row that there was no room for a hold. */
    private final Map<Long, Integer> withoutRoom = new HashMap<>();

    private Optional<ReleaseAll> releasing = Optional.empty();
    private int looksShort;
    private long nowNanos;

    /** A pin that is made by a request of our own. */
    private record PinRequest(long holdId, long sentNanos, OwnRequests.Call call) {}

    /** Holds that are released together. */
    private static final class ReleaseAll {
        final Set<Long> open = new HashSet<>();
        final CompletableFuture<Released> answer;
        int released;
        int pending;

        ReleaseAll(CompletableFuture<Released> answer) {
            this.answer = answer;
        }

        Released soFar() {
            return new Released(released, pending + open.size());
        }
    }

    /**
     * Creates the outcomes of these holds.
     *
     * @param own is told of pins that are made by sending the prefix
     * @param pins makes the pins whose answers come here
     * @param replan to be called when a plan has something to decide
     * @param probeAgain to be called when the backend is better asked again what it can do
     */
    HoldOutcomes(
            Holds holds,
            Backends backends,
            EngineCaches tree,
            OwnRequests own,
            Function<Pins.Results, Pins> pins,
            Runnable replan,
            Runnable probeAgain) {
        this.holds = holds;
        this.backends = backends;
        this.tree = tree;
        this.own = own;
        this.replan = replan;
        this.probeAgain = probeAgain;
        this.pins = pins.apply(this);
    }

    Pins pins() {
        return pins;
    }

    void now(long nanos) {
        nowNanos = nanos;
    }

    /** Answered once every unpin has an outcome. */
    void giveUpAll(String reason, CompletableFuture<Released> answer) {
        releasing.ifPresent(earlier -> holds.complete(earlier.answer, earlier.soFar()));
        ReleaseAll all = new ReleaseAll(answer);
        releasing = Optional.of(all);
        holds.living().forEach(hold -> all.open.add(hold.id()));
        all.open.addAll(pins.leavers());
        pins.retryNow();
        holds.living().forEach(hold -> giveUp(hold, reason));
        answerReleaseAll();
    }

    void giveUp(Hold hold, String reason) {
        if (hold.state() != HoldState.EXPIRING) {
            holds.update(hold.expiring(reason));
        }
        pins.leave(hold.id());
        replan.run();
    }

    /** Withdraws holds whose requesters have waited for an outcome as long as they wanted to. */
    void withdrawWhereNothingCame() {
        for (Hold hold : holds.outOfPatience()) {
            holds.withdrawn(
                    hold.id(),
                    new RejectedExecutionException(
                            "The engine gave no outcome in time, so the hold is withdrawn; ask again when it"
                                    + " answers."));
            giveUp(hold, "withdrawn: nothing became of it in time");
        }
    }

    /** Gives a hold up, and answers when it is unpinned, or known to be pinned still. */
    void release(long holdId, String reason, CompletableFuture<Optional<HoldView>> answer) {
        holds.awaitEnd(holdId, answer);
        pins.retryNow(holdId);
        holds.living(holdId).ifPresent(hold -> giveUp(hold, reason));
    }

    /** Answers for a hold that a requester left: at once while others want it, otherwise when it is unpinned. */
    void left(Optional<Hold> hold, CompletableFuture<Optional<HoldView>> answer) {
        if (hold.filter(left -> left.state() == HoldState.EXPIRING).isPresent()) {
            release(hold.get().id(), hold.get().reason(), answer);
        } else {
            holds.complete(answer, hold.flatMap(left -> holds.view(left.id())));
        }
    }

    /**
     * Takes in that the engine is at rest, with so many blocks in use on each rank.
     *
     * <p>What is believed to be pinned cannot be evicted, so an engine at rest has to count at least that. What is lost
     * by that is unpinned all the same: a number may be wrong, and a pin that nobody remembers stays for ever.
     */
    void rested(long[] usedBlocks, long blockTokens, long askedNanos) {
        int rank = 0;
        while (rank < usedBlocks.length && usedBlocks[rank] >= pins.surelyPinnedBlocks(rank)) {
            rank++;
        }
        if (!pins.areHard() || rank == usedBlocks.length) {
            looksShort = 0;
            if (pins.areHard()) {
                holds.proven(askedNanos);
            }
            return;
        }
        if (++looksShort < LOOKS_UNTIL_LOST) {
            return;
        }
        looksShort = 0;
        String evidence = "the engine, at rest, keeps " + usedBlocks[rank] * blockTokens + " tokens where "
                + pins.surelyPinnedBlocks(rank) * blockTokens + " were pinned"
                + (tree.several() ? " on data-parallel rank " + rank : "") + ", so it has released pins on its own";
        for (Hold hold : holds.living()) {
            if (hold.state() == HoldState.HELD) {
                lose(hold, evidence);
            }
        }
    }

    /** The cache of this rank removed blocks on pinned paths. */
    void removed(int rank, Set<Long> removed) {
        // Whatever came back since: it was not pinned there.
        Set<Long> gone = pins.removed(rank, removed);
        for (Hold hold : holds.living()) {
            if (hold.state() == HoldState.HELD && (gone.contains(hold.id()) || !isThere(hold))) {
                lose(
                        hold,
                        pins.areHard()
                                ? "the engine removed it although it was pinned"
                                : "the engine evicted it all the same");
            }
        }
    }

    /** Returns true if what is pinned for a hold is where it was pinned. */
    private boolean isThere(Hold hold) {
        if (!tree.several()) {
            return tree.match(hold.request()) >= hold.heldBlocks() && tree.resident(hold.lastBlock());
        }
        return pins.ends().getOrDefault(hold.id(), Set.of()).stream()
                .allMatch(block -> tree.pinnedOn(block).stream()
                        .allMatch(rank -> tree.rank(rank).match(hold.request()) >= hold.heldBlocks()
                                && tree.rank(rank).resident(block)));
    }

    /** Marks a hold as lost. It is wanted still, unless it was only wanted because its prefix was there. */
    private void lose(Hold hold, String evidence) {
        letLost(hold, evidence);
        if (backends.chosen().lost()) {
            probeAgain.run();
        }
    }

    private void letLost(Hold hold, String evidence) {
        Hold lost = hold.lost(evidence);
        holds.update(hold.automatic() ? lost.expiring("lost: " + evidence) : lost);
        pins.leave(hold.id());
        replan.run();
    }

    /** The cache of this rank is empty now, and the engine a new process where it was started again. */
    void engineForgot(int rank, boolean restarted) {
        pins.engineForgot(rank);
        for (Hold hold : holds.living()) {
            if (hold.state() == HoldState.EXPIRING) {
                holds.update(hold.ended(hold.reason()));
            } else if (hold.automatic()) {
                holds.update(hold.ended("lost: " + EMPTIED));
            } else if (hold.state() == HoldState.HELD) {
                holds.update(hold.lost(EMPTIED));
            }
        }
        if (restarted) {
            // Its cache may be another size, and the readings are of the one that is gone.
            for (Hold hold : holds.living()) {
                if (hold.waits()) {
                    holds.update(
                            hold.waiting(Math.max(hold.retryNanos(), nowNanos + AFTER_RESTART_NANOS), hold.reason()));
                }
            }
        }
        replan.run();
    }

    /**
     * Releases what another backend holds, so that the one that is chosen now holds it again; likewise what rests,
     * since it costs more to keep warm than that saves.
     */
    void changeOver(LongPredicate rests) {
        takeBack(rests, "another way to hold was chosen: " + backends.chosen().name());
    }

    /** Has every pin released, and keeps the holds: they wait. */
    void takeBack(String why) {
        takeBack(id -> false, why);
    }

    private void takeBack(LongPredicate rests, String why) {
        for (Hold hold : holds.living()) {
            if (hold.state() == HoldState.HELD || rests.test(hold.id())) {
                holds.update(hold.waiting(nowNanos, why));
            }
            if (hold.state() != HoldState.EXPIRING) {
                // A pin that is under way goes as well, as soon as it is answered.
                pins.leave(hold.id());
            }
        }
        replan.run();
    }

    /**
     * Answers requesters of holds whose pin waits for its turn in the engine's queue, so that they are not kept
     * waiting.
     */
    void tellOfQueued() {
        for (PinRequest request : pinsUnderWay.values()) {
            if (nowNanos - request.sentNanos() >= PIN_AGAIN_NANOS) {
                holds.living(request.holdId()).filter(Hold::waits).ifPresent(hold -> {
                    Hold waiting = hold.because("its request waits for its turn in the engine's queue");
                    holds.update(waiting);
                    holds.decided(waiting);
                });
            }
        }
    }

    @Override
    public void lost(Hold hold, String evidence) {
        lose(hold, evidence);
        holds.living(hold.id())
                .filter(Hold::waits)
                .ifPresent(lost -> holds.update(lost.waiting(nowNanos + AFTER_PRESSURE_NANOS, "")));
    }

    @Override
    public void notWorthIt(Hold hold, String reason) {
        // One that expired would be chosen again at once: its prefix is there, and shared as before.
        holds.update(hold.waiting(nowNanos + NEVER_AGAIN_NANOS, reason));
        pins.leave(hold.id());
        replan.run();
    }

    @Override
    public void usedAgain(Hold hold) {
        holds.update(hold.waiting(nowNanos, hold.reason()));
        replan.run();
    }

    @Override
    public void calling(PinCommand command) {
        pinsUnderWay.put(
                command.attempt(),
                new PinRequest(
                        command.holdId(),
                        nowNanos,
                        touches(backends.chosen().traits())
                                ? own.beginTouch(command.prefix(), command.blocks())
                                : own.begin(command.prefix(), command.blocks())));
    }

    /** Returns true if the prefix is sent with one token more, so that all of it is found. */
    private static boolean touches(BackendTraits traits) {
        return traits.fading() || traits.endsInTime();
    }

    @Override
    public void called(PinCommand command, Outcome outcome) {
        Optional.ofNullable(pinsUnderWay.remove(command.attempt()))
                .ifPresent(request -> own.end(request.call(), outcome));
    }

    @Override
    public void pinned(long holdId, long block, int blocks, String reason) {
        Optional<Hold> held = holds.living(holdId).filter(hold -> hold.state() == HoldState.HELD);
        if (held.isPresent()) {
            pinnedOnMore(held.get(), blocks);
            return;
        }
        holds.living(holdId).filter(Hold::waits).ifPresent(hold -> {
            int wanted = hold.request().blocks();
            String why = hold.automatic()
                    ? hold.reason()
                    : "requested; " + Planner.pinReason(backends.chosen().traits(), blocks, wanted) + ". " + reason;
            Hold now = hold.held(block, blocks, why);
            if (backends.chosen().traits().lasting()) {
                now = now.proven(holds.provenNanos(block));
            }
            withoutRoom.remove(holdId);
            boolean stillThere = pins.onRanks() ? isThere(now) : tree.match(hold.request()) >= now.heldBlocks();
            holds.update(now);
            if (!stillThere) {
                letLost(now, "the engine removed a part of it while its pin was under way");
            }
            holds.living(holdId).ifPresent(holds::decided);
            replan.run();
        });
    }

    private void pinnedOnMore(Hold hold, int blocks) {
        if (blocks > hold.pinnedBlocks()) {
            holds.update(hold.held(hold.lastBlock(), blocks, hold.reason()));
        }
        if (pins.areHard() && !isThere(hold)) {
            lose(hold, "the engine removed a part of it while its pin was under way");
        }
        replan.run();
    }

    @Override
    public void renewed(long holdId) {
        holds.living(holdId)
                .filter(hold -> hold.state() == HoldState.HELD)
                .ifPresent(hold -> holds.update(hold.proven(nowNanos)));
    }

    @Override
    public void pinLost(long holdId, String why) {
        holds.living(holdId).filter(hold -> hold.state() == HoldState.HELD).ifPresent(hold -> lose(hold, why));
    }

    @Override
    public void notPinned(long holdId, Outcome outcome) {
        holds.living(holdId).filter(Hold::waits).ifPresent(hold -> {
            Hold next = switch (outcome.kind()) {
                case REJECTED -> refused(hold, outcome);
                case MISSING -> hold.waiting(nowNanos + PIN_AGAIN_NANOS, outcome.reason());
                case NOT_SENT -> hold.waiting(nowNanos + PIN_AGAIN_NANOS, "its pin was not sent: " + outcome.reason());
                case CLIPPED -> clipped(hold, outcome, backends.chosen().traits());
                case DEFERRED, ACCEPTED ->
                    hold.waiting(
                            // A request that may be in the engine's queue still is not followed by another at once.
                            nowNanos + (sendsPrefixes() ? AFTER_PRESSURE_NANOS : PIN_AGAIN_NANOS),
                            backends.chosen().traits().onlyRunsOut()
                                    ? "no clear answer to the pin, which is tried again: " + outcome.reason()
                                    : "no clear answer to the pin, so it is taken back before it is tried again: "
                                            + outcome.reason());
            };
            holds.update(next);
            holds.decided(next);
        });
    }

    private Hold refused(Hold hold, Outcome outcome) {
        if (outcome.forNow()) {
            return hold.waiting(nowNanos + backOff(hold.id()), "refused for now, and tried again: " + outcome.reason());
        }
        return hold.automatic()
                ? hold.waiting(nowNanos + REFUSED_AGAIN_NANOS, "refused: " + outcome.reason())
                : hold.ended("refused: " + outcome.reason());
    }

    /** Returns how long a hold waits when there was once more no room for it. */
    private long backOff(long holdId) {
        withoutRoom.keySet().removeIf(id -> holds.living(id).isEmpty());
        int times = withoutRoom.merge(holdId, 1, Integer::sum);
        return Math.min(REFUSED_AGAIN_NANOS, REFUSED_FOR_NOW_NANOS << Math.min(times - 1, LONGEST_BACK_OFF_LOG2));
    }

    private Hold clipped(Hold hold, Outcome outcome, BackendTraits traits) {
        return traits.onlyRunsOut()
                ? hold.waiting(
                        nowNanos + Math.max(traits.endsAfter().toNanos(), backOff(hold.id())),
                        "pinned otherwise than asked, and tried again when that has run out: " + outcome.reason())
                : hold.waiting(
                        nowNanos + PIN_AGAIN_NANOS,
                        "pinned otherwise than asked, so it is taken back before it is tried again: "
                                + outcome.reason());
    }

    @Override
    public void left(long holdId) {
        holds.living(holdId)
                .filter(hold -> hold.state() == HoldState.EXPIRING)
                .ifPresent(hold -> holds.update(hold.ended(hold.reason())));
        releasing.filter(all -> all.open.remove(holdId)).ifPresent(all -> all.released++);
        answerReleaseAll();
        replan.run();
    }

    @Override
    public void over(long holdId, String why) {
        holds.living(holdId)
                .filter(hold -> hold.state() == HoldState.EXPIRING)
                .ifPresent(hold -> holds.update(hold.because(why)));
        left(holdId);
    }

    @Override
    public void notLeft(long holdId, String why) {
        holds.living(holdId)
                .filter(hold -> hold.state() == HoldState.EXPIRING)
                .ifPresent(hold -> holds.endRefused(hold.because(why)));
        releasing.filter(all -> all.open.remove(holdId)).ifPresent(all -> all.pending++);
        answerReleaseAll();
    }

    private void answerReleaseAll() {
        releasing.filter(all -> all.open.isEmpty()).ifPresent(all -> {
            releasing = Optional.empty();
            holds.complete(all.answer, all.soFar());
        });
    }

    private boolean sendsPrefixes() {
        return backends.chosen().traits().sendsPrefix();
    }
}
