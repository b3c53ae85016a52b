package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.budget.EngineGuard;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Holds;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.pin.Acting;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.Pins;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.plan.Plan.Action;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Samples;
import io.holdfast.core.requests.RequestRules;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Decisions of a tick, without mail and threads. */
final class TickTest {
    private static final Steering ACTS = new Steering(Optional.empty(), false, false);
    private static final EngineReadings IDLE = Samples.readings(10_000, 16, 1_000, 0, 0, 0);

    private final ControllerHarness.Engine engine = new ControllerHarness.Engine();
    private final Backends backends = Backends.only(engine);
    private final OwnRequests own = new OwnRequests(Optional.empty(), new Acting(Runnable::run, Runnable::run));
    private final EngineObservers observers =
            new EngineObservers(RequestRules.sglang(), own::isOwn, false, MemoryBudget.unbounded(), rank -> {});
    private final NewestReadings newest = new NewestReadings(observers);
    private final Holds holds = new Holds(1, observers.trees(), observers, Runnable::run);
    private final Priming priming = new Priming(own, holds, observers.trees(), backends);
    private final Probing probing = new Probing(backends, Runnable::run, Runnable::run, () -> {}, () -> {});
    private Tick tick;

    @BeforeEach
    void storeAndWant() throws IOException {
        Ledger ledger = new Ledger(new ControllerHarness.Disk());
        Pins pins = new HoldOutcomes(
                        holds,
                        backends,
                        observers.trees(),
                        own,
                        results -> new Pins(ledger, backends, Runnable::run, Runnable::run, observers.trees(), results),
                        () -> {},
                        () -> {})
                .pins();
        pins.engineIs(EngineIdentity.VOUCHED_FOR);
        Measuring measuring =
                new Measuring(Optional.empty(), new SplittableRandom(1), observers, holds, backends, ACTS);
        tick = new Tick(
                ControllerHarness.SETTINGS,
                ACTS,
                backends,
                observers,
                newest,
                holds,
                pins,
                own,
                priming,
                probing,
                new EngineGuard(),
                measuring);
        EngineObserver events = observers.first();
        events.batchStarted(0, 0);
        events.stored(new StoredBlocks().reset().blockTokens(16).add(1).add(2));
        events.batchEnded();
        newest.take(IDLE);
        holds.register(HoldOrigin.REQUESTED, new HoldRequest(new long[] {1, 2}, Duration.ofMinutes(1)), "asked for");
    }

    @Test
    void hold_waitsUntilTheBackendWasProbed_andIsPlannedThen() {
        assertThat(line().action()).isEqualTo(Action.WAIT);
        assertThat(line().reason()).isEqualTo("the backend test was not probed yet");

        probing.poll();

        assertThat(line().action()).isEqualTo(Action.PIN);
        assertThat(line().lastBlock()).isEqualTo(2);
    }

    @Test
    void lastLook_refusesWhatIsNotWantedAnyMore() {
        probing.poll();
        line();
        assertThat(tick.lastLook(engine, 2)).isEmpty();

        assertThat(tick.lastLook(new DryRunBackend(), 2)).contains("another way to hold was chosen meanwhile");
        assertThat(tick.lastLook(engine, 1)).contains("its last block left the cache, or ends no insertion any more");
        tick.steer(ACTS.pausing(Optional.of("paused: by hand")));
        assertThat(tick.lastLook(engine, 2)).contains("paused: by hand");
        tick.steer(ACTS.dry(true));
        assertThat(tick.lastLook(engine, 2)).contains(Steering.DRY);
    }

    @Test
    void pauseThatKeepsWhatIsHeld_isTheReasonThatNothingNewIsPinned() {
        probing.poll();
        tick.steer(ACTS.keeping("paused, and keeps what is held: by hand"));

        assertThat(line().action()).isEqualTo(Action.WAIT);
        assertThat(line().reason()).isEqualTo("paused, and keeps what is held: by hand");
    }

    private Plan.Line line() {
        return tick.decide(newest.effective(0), 0).lines().getFirst();
    }
}
