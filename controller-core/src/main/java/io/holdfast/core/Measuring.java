package io.holdfast.core;

import io.holdfast.core.backend.Backends;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.effect.PrefixUse;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.effect.TtftLoop;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.plan.Why;
import io.holdfast.core.reading.EngineReadings;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** Measures what holds do, where they can be released for a window without them. */
final class Measuring {
    private final EngineObservers observers;
    private final Holds holds;
    private final Backends backends;
    private final Optional<TtftLoop> loop;
    private Steering steering;

    Measuring(
            Optional<EffectSettings> settings,
            RandomGenerator random,
            EngineObservers observers,
            Holds holds,
            Backends backends,
            Steering steering) {
        this.observers = observers;
        this.holds = holds;
        this.backends = backends;
        this.steering = steering;
        this.loop = settings.map(effect -> new TtftLoop(effect, random, cache(observers.first())));
    }

    private static TtftLoop.Cache cache(EngineObserver events) {
        return new TtftLoop.Cache() {
            @Override
            public Optional<Duration> residence() {
                return events.residence().median();
            }

            @Override
            public Optional<Duration> reuse() {
                return events.reuse().median();
            }

            @Override
            public PrefillCost prefill() {
                return events.prefill();
            }
        };
    }

    void steer(Steering orders) {
        steering = orders;
    }

    void reading(EngineReadings readings, long nowNanos) {
        loop.ifPresent(running -> running.reading(readings, nowNanos));
    }

    void firstToken(FirstToken report, long nowNanos) {
        loop.ifPresent(running -> running.firstToken(report, nowNanos));
    }

    /** Drops the window that is under way, since something else than holds changed in it. */
    void interrupted() {
        loop.ifPresent(TtftLoop::interrupted);
    }

    void tick(long nowNanos, Optional<String> stall) {
        List<Hold> measurable = holds.living().stream()
                .filter(hold -> hold.measured() && hold.state() == HoldState.HELD && !staysThroughout(hold))
                .toList();
        HeldUse use = observers.heldUse();
        PrefixUse used = use.take();
        running().ifPresent(running -> {
            use.holding(measurable, running.round());
            running.used(used);
            running.tick(nowNanos, !measurable.isEmpty(), stall);
        });
    }

    /** Returns true if windows without holds leave it alone, as the planner does. */
    private boolean staysThroughout(Hold hold) {
        return hold.automatic()
                && running()
                        .flatMap(running -> observers
                                .first()
                                .prefixes()
                                .find(hold.end())
                                .filter(prefix -> prefix.isSeldomUsed(running.windowLength())))
                        .isPresent();
    }

    /** Returns the loop where holds can be released for a window. */
    private Optional<TtftLoop> running() {
        return loop.filter(
                any -> backends.chosen().traits().releasable() && !steering.keepsHeld() && !steering.dryRun());
    }

    /** Returns the reason why holds are off now; absent when they are on. */
    Optional<Why> off() {
        return running().flatMap(TtftLoop::off);
    }

    /** Returns how long holds are off at a time; zero where nothing is measured. */
    Duration window() {
        return running().map(TtftLoop::windowLength).orElse(Duration.ZERO);
    }

    TtftEffect effect() {
        return running().map(TtftLoop::effect).orElseGet(() -> TtftEffect.unproven(whyNot()));
    }

    private String whyNot() {
        if (observers.silent().isPresent()) {
            return "not measured: nothing is held automatically at an engine without KV events";
        }
        if (steering.keepsHeld() || steering.dryRun()) {
            return "not measured: "
                    + (steering.dryRun() ? "dry run" : steering.paused().orElse(""));
        }
        return loop.isEmpty()
                ? "not measured: ttftLoop, which measures it, is switched off"
                : "not measured: what " + backends.chosen().name()
                        + " holds cannot be released, so there is nothing to compare it with";
    }
}
