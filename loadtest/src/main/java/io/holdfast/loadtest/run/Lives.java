package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.UntoldZeros;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.journal.VoidedPair;
import io.holdfast.loadtest.run.Progress.LegFinished;
import io.holdfast.loadtest.run.Progress.LifeStarted;
import io.holdfast.loadtest.run.Progress.Note;
import io.holdfast.loadtest.run.Progress.PairVoided;
import io.holdfast.loadtest.run.Progress.RunStarted;
import io.holdfast.loadtest.run.Progress.StepStarted;
import io.holdfast.loadtest.workload.Workload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The lives of a run that are left, one after the other, each leg of them written down as it ends. */
final class Lives {
    private static final Duration REHEARSED_CALL = Duration.ofSeconds(60);

    private final RunEnvironment environment;
    private final Workload workload;
    private final Progress progress;
    private final Journal journal;
    private final RunState state;
    private final ServerWatch watch;
    private boolean begun;
    private boolean announced;

    Lives(RunEnvironment environment, Workload workload, Progress progress, Journal journal, RunState state) {
        this.environment = environment;
        this.workload = workload;
        this.progress = progress;
        this.journal = journal;
        this.state = state;
        this.watch = new ServerWatch(environment.engine(), state.header());
    }

    /** Runs again what a new process must have done before it measures; the legs of that are written nowhere. */
    void rehearseAgain() {
        voidingOnFailure(state.life(), () -> {
            LegProtocol protocol = protocol(state.test().holdSlot());
            progress.on(started(0));
            for (PlannedLeg leg : state.header().legsOf(0)) {
                beginLeg(protocol, leg);
                protocol.run(leg.life(), leg.order(), leg.position());
            }
            if (!environment.engine().givesFreshLegs()) {
                environment.engine().beginLife();
            }
        });
        state.begins(environment.clock().nanos());
    }

    void run() {
        while (!state.isOver()) {
            stopOverTime();
            int life = state.life();
            voidingOnFailure(life, () -> {
                if (begun && !environment.engine().givesFreshLegs()) {
                    environment.engine().beginLife();
                }
                begun = true;
                pair(life);
            });
        }
        // A stop that comes after the last leg stops nothing.
        environment.stop().notice();
    }

    /** Between two pairs, so that those there are stay whole and the rest can be resumed. */
    private void stopOverTime() {
        state.test()
                .mostTime()
                .filter(most -> begun && state.since(now()).compareTo(most) >= 0)
                .ifPresent(most -> {
                    environment.stop().ask();
                    throw environment
                            .stop()
                            .stopped(new LoadTestException("The time that was given is over, after "
                                    + most.toString().substring(2).toLowerCase(Locale.ROOT) + "."));
                });
    }

    private void pair(int life) {
        if (life > 0 && !announced) {
            announced = true;
            progress.on(new RunStarted(state.plan(), state.legsLeft(), state.left(now())));
        }
        progress.on(started(life));
        watch.pairBegins();
        // While the slot is yet to be found, calls have the time that they take.
        LegProtocol protocol = protocol(
                life == 0 && state.test().slotAdapts()
                        ? REHEARSED_CALL
                        : state.test().holdSlot());
        List<LegRecord> legs = new ArrayList<>();
        Optional<String> another = Optional.empty();
        for (PlannedLeg planned : state.header().legsOf(life)) {
            beginLeg(protocol, planned);
            if (legs.isEmpty() || environment.engine().givesFreshLegs()) {
                another = watch.another(Arm.of(planned.order(), planned.position()));
                // What a server writes while it starts, or while the one before it ends, is of no leg.
                Optional<ServerLog> _ = environment.engine().written();
            }
            LegRecord leg = leg(protocol, planned, another);
            environment.stop().shielded(() -> journal.append(leg));
            legs.add(leg);
            state.stands(leg);
            tell(leg);
            if (state.mayRepeat(leg)) {
                repeat(life, legs.size(), state.gates().surroundings(leg));
                return;
            }
            if (state.isEndedBy(leg)) {
                return;
            }
        }
        if (life == 0) {
            rehearsed(legs);
        }
        state.pairEnds().ifPresent(sentence -> progress.on(new Note(sentence)));
    }

    private LegRecord leg(LegProtocol protocol, PlannedLeg planned, Optional<String> another) {
        Optional<String> wrong = another.or(watch::restarted);
        LegRecord ran = withTheRest(environment
                .around()
                .leg(planned, () -> protocol.run(planned.life(), planned.order(), planned.position())));
        return wrong.or(watch::restarted).map(ran::withProblem).orElseGet(() -> ran.withShares(watch.shares()));
    }

    /** Adds what the server wrote since the load of the leg began. */
    private LegRecord withTheRest(LegRecord leg) {
        Optional<ServerLog> rest = environment.engine().written();
        return leg.withServerLog(leg.serverLog()
                .flatMap(before -> rest.map(before::thenOfTheLoad))
                .or(() -> rest));
    }

    private void tell(LegRecord leg) {
        LegRecord shown = UntoldZeros.of(state.header(), List.of(leg)).legs().getFirst();
        progress.on(new LegFinished(
                shown,
                leg.probeMillis(),
                ArmSummary.cachedTokens(shown.probes()),
                state.left(now()).orElse(Duration.ZERO)));
    }

    private void repeat(int life, int legs, List<String> why) {
        String reason = reason(why);
        environment.stop().shielded(() -> journal.repeatPair(life, reason));
        state.repeat(life, legs);
        progress.on(new PairVoided(life, reason, state.repeats(), state.header().repeatPairs()));
    }

    /** Reports and applies what the rehearsal shows, before anything that counts is measured. */
    private void rehearsed(List<LegRecord> legs) {
        Rehearsal rehearsal = new Rehearsal(state.header(), legs);
        rehearsal.refuseFailed();
        state.rehearsed(legs);
        rehearsal.notes(environment.arms().learns()).forEach(note -> progress.on(new Note(note)));
    }

    /** A process that serves one leg is burned in by another before it, which is written nowhere. */
    private void beginLeg(LegProtocol protocol, PlannedLeg leg) {
        if (environment.engine().givesFreshLegs()) {
            environment.engine().beginLeg(Arm.of(leg.order(), leg.position()));
            protocol.run(leg.life(), leg.order(), 0);
        }
    }

    /** Does a part of a pair; when it fails, or the run is stopped, the journal says that the pair does not count. */
    private void voidingOnFailure(int life, Runnable part) {
        try {
            part.run();
        } catch (RuntimeException e) {
            boolean stop =
                    environment.stop().isAsked() || Thread.currentThread().isInterrupted();
            if (stop) {
                environment.stop().notice();
            }
            try {
                journal.voidPair(life, stop ? VoidedPair.STOPPED : reason(List.of(String.valueOf(e.getMessage()))));
            } catch (LoadTestException unwritten) {
                e.addSuppressed(unwritten);
            }
            throw stop ? new RunStopped(e) : e;
        }
    }

    /** Joins the reasons why a pair does not count into one clause. */
    static String reason(List<String> failed) {
        String told = String.join(" ", failed);
        return told.endsWith(".") ? told.substring(0, told.length() - 1) : told;
    }

    private LegProtocol protocol(Duration patience) {
        return new LegProtocol(
                environment,
                workload,
                state.test(),
                patience,
                (life, position, arm, kind, cycle) -> progress.on(new StepStarted(life, position, arm, kind, cycle)));
    }

    private LifeStarted started(int life) {
        RunHeader header = state.header();
        return new LifeStarted(
                life,
                header.plan().lives().size(),
                header.orderOf(life),
                header.plan().isOnlyControls());
    }

    private long now() {
        return environment.clock().nanos();
    }
}
