package io.holdfast.core;

import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.pin.Pins;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Reason;
import java.util.Set;

/** Carries out plans: changes the holds as their lines say, and has the engine asked for what that takes. */
final class PlanRunner {
    /** Reasons to release a hold other than want of room. */
    private static final Set<Reason> ROOM_IS_THERE =
            Set.of(Reason.ONE_MORE_RANK, Reason.MEASURING, Reason.NO_BENEFIT, Reason.HARMFUL);

    private final Holds holds;
    private final Pins pins;
    private final Priming priming;
    private final EngineObserver events;
    private final EngineCaches tree;
    private final Tick tick;

    /**
     * Carries out what this tick decides.
     *
     * @param events of the cache where automatic holds are found
     */
    PlanRunner(Holds holds, Pins pins, Priming priming, EngineObserver events, EngineCaches tree, Tick tick) {
        this.holds = holds;
        this.pins = pins;
        this.priming = priming;
        this.events = events;
        this.tree = tree;
        this.tick = tick;
    }

    void run(Plan plan, long nowNanos) {
        plan.lines().forEach(line -> run(line, nowNanos));
    }

    /** Runs a plan without asking the engine for anything new: what would be pinned says so, and why it is not. */
    void runDry(Plan plan, String why, long nowNanos) {
        for (Plan.Line line : plan.lines()) {
            switch (line.action()) {
                case PIN, PRIME ->
                    holds.living(line.holdId()).ifPresent(hold -> waits(hold, why + "; else: " + line.reason()));
                case UNPIN, KEEP, WAIT, REFUSE -> run(line, nowNanos);
            }
        }
    }

    /** Gives a hold up that can never be. */
    void refuse(long id, String reason) {
        holds.living(id).ifPresent(hold -> {
            holds.update(hold.expiring(reason));
            pins.leave(id);
        });
    }

    private void run(Plan.Line line, long nowNanos) {
        switch (line.action()) {
            case PIN -> pin(line);
            case UNPIN ->
                holds.living(line.holdId()).ifPresent(hold -> {
                    if (line.code() == Reason.OUTRANKED || line.code() == Reason.NOT_LICENSED) {
                        holds.update(hold.expiring(line.reason()));
                    } else if (hold.state() == HoldState.HELD) {
                        long wait = ROOM_IS_THERE.contains(line.code()) ? 0 : backOff(hold);
                        holds.update(hold.waiting(nowNanos + wait, line.reason()));
                    }
                    pins.leave(line.holdId());
                });
            case WAIT -> holds.living(line.holdId()).ifPresent(hold -> waits(hold, line.reason()));
            case REFUSE -> refuse(line.holdId(), line.reason());
            case PRIME -> holds.living(line.holdId()).ifPresent(hold -> priming.send(waits(hold, line.reason())));
            case KEEP ->
                holds.living(line.holdId())
                        .filter(hold -> tree.several() && hold.state() == HoldState.HELD)
                        .ifPresent(hold -> holds.update(hold.because(line.reason())));
        }
    }

    private void pin(Plan.Line line) {
        if (holds.living(line.holdId()).isEmpty() && (holds.full() || !holds.fits(line.blocks()))) {
            return;
        }
        Hold hold = holds.living(line.holdId()).orElseGet(() -> automatic(line));
        if (hold.waits()) {
            holds.update(hold.because(line.reason()));
            pins.want(hold, pathOf(hold.request(), line), line.blocks(), tick::lastLook);
        } else if (hold.state() == HoldState.HELD) {
            // On one more rank.
            pins.want(hold, pathOf(hold.request(), line), line.blocks(), tick::lastLook);
        }
    }

    private Hold waits(Hold hold, String reason) {
        Hold waiting = hold.because(reason);
        holds.update(waiting);
        holds.decided(waiting);
        return waiting;
    }

    /**
     * Returns how long a hold released for want of room waits; a bound that wavers would otherwise pin and unpin with
     * every reading.
     */
    private static long backOff(Hold hold) {
        boolean toHoldMore = hold.heldBlocks() < hold.request().blocks();
        return toHoldMore ? 0 : HoldOutcomes.AFTER_PRESSURE_NANOS;
    }

    private Hold automatic(Plan.Line line) {
        HoldRequest path = new HoldRequest(tree.path(line.prefix()), tick.automaticLease(line.prefix()));
        return holds.register(HoldOrigin.AUTOMATIC, events.withKnownTokens(path), line.reason());
    }

    /** The path to pin: of the prefix itself, or one over it. */
    private HoldRequest pathOf(HoldRequest prefix, Plan.Line line) {
        return line.blocks() <= prefix.blocks() ? prefix : new HoldRequest(tree.path(line.lastBlock()), prefix.lease());
    }
}
