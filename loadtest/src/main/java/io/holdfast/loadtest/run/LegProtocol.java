package io.holdfast.loadtest.run;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.run.EngineUnderTest.Beside;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.run.EngineUnderTest.Sent;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Phase;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/*
 * The leg protocol
 * ================
 *
 * Both arms take the same steps: flush, connect, prime, hold, then the other phases of the workload, release. They
 * differ in the body of the hold step and of its counterpart at the end, and in nothing else: what an arm asks of the
 * engine during the floods it asks as often in the other arm, of a prefix that nobody probes. There is one method here
 * for each step and no branch on the arm outside of `waitOutSlot`.
 *
 * The slot. Holding takes a call or two, a sham takes one. If the load began when the call returned, the arms would
 * start it at different times after the flush, which alone moves latencies. So the hold step has a fixed length that
 * both arms wait out. A body that does not fit spoils the leg; it is recorded, and a gate refuses it.
 *
 * What is held is released whatever ends the leg, a stop as well; the hold step itself is not cut in half by one.
 *
 * What ends a leg early. Without an empty cache, or without the prefix in it, the rest would measure something else.
 * The leg keeps what it has and names its problem; the gates turn that into an invalid experiment.
 */

/** Runs one leg, step by step, on a plain thread. */
final class LegProtocol {
    /** Receiver of the beginnings of steps. */
    interface Watcher {
        void step(int life, int position, Arm arm, Step.Kind kind, int cycle);
    }

    private final EngineUnderTest engine;
    private final ArmSwitch arms;
    private final RunClock clock;
    private final Workload workload;
    private final LoadTestPlan settings;
    private final Duration patience;
    private final RunStop stop;
    private final Watcher watcher;

    LegProtocol(RunEnvironment environment, Workload workload, LoadTestPlan settings, Watcher watcher) {
        this(environment, workload, settings, settings.holdSlot(), watcher);
    }

    /**
     * @param patience the most that the call of a hold step may take; longer than its slot where that is yet to be
     *     found
     */
    LegProtocol(
            RunEnvironment environment, Workload workload, LoadTestPlan settings, Duration patience, Watcher watcher) {
        this.patience = patience;
        this.engine = environment.engine();
        this.arms = environment.arms();
        this.clock = environment.clock();
        this.workload = workload;
        this.settings = settings;
        this.stop = environment.stop();
        this.watcher = watcher;
    }

    LegRecord run(int life, PairOrder order, int position) {
        return new Leg(life, order, position).run();
    }

    /** The leg under way. */
    private final class Leg {
        private final int life;
        private final PairOrder order;
        private final int position;
        private final Arm arm;
        private final List<Step> steps = new ArrayList<>();
        private final List<RequestRecord> records = new ArrayList<>();
        private final List<RequestRecord> own = new ArrayList<>();
        private final Load load;
        private final ArmSwitch.Prefixes prefixes;
        private final Optional<Beside> beside;
        private final long origin;
        private FlushReceipt followed = new FlushReceipt("", 0, Optional.empty());
        private HoldReceipt hold = HoldReceipt.skipped("the leg ended before its hold step");
        private long holdNanos;
        private Optional<ServerLog> before = Optional.empty();
        private ReleaseReceipt release = ReleaseReceipt.skipped("the leg ended before its release step");

        Leg(int life, PairOrder order, int position) {
            this.life = life;
            this.order = order;
            this.position = position;
            this.arm = Arm.of(order, position);
            this.load = engine.prepare(settings.requests(workload, life, position));
            this.prefixes = new ArmSwitch.Prefixes(
                    asSent(workload.touch()),
                    asSent(workload.touchOfAnother()),
                    workload.textsBeforeHold(position).stream()
                            .map(this::asSent)
                            .toList());
            this.beside = arms.beside(arm, prefixes);
            this.origin = clock.nanos();
        }

        private LoadRequest asSent(LoadRequest request) {
            return engine.known(settings.request(request, life, position));
        }

        LegRecord run() {
            Optional<String> mismatch = workload.withAnotherPrefix(position);
            if (mismatch.isPresent()) {
                return record(mismatch.map(why -> LegRecord.PROMPT_MISMATCH + " " + why));
            }
            step(Step.Kind.FLUSH, 0, this::flush);
            if (followed.problem().isPresent()) {
                return record(followed.problem());
            }
            if (!settings.pauseAfterFlush().isZero()) {
                step(
                        Step.Kind.PAUSE,
                        0,
                        () -> clock.sleepUntil(
                                clock.nanos() + settings.pauseAfterFlush().toNanos()));
            }
            step(Step.Kind.CONNECT, 0, () -> load.connect(settings.concurrency() + (beside.isPresent() ? 1 : 0)));
            List<Phase> phases = workload.phases(position);
            phases.stream().filter(Phase::isBeforeHold).forEach(this::send);
            RequestRecord last = records.getLast();
            if (!last.isOk()) {
                return record(Optional.of("the prefix could not be sent: " + last.problem()));
            }
            try {
                step(Step.Kind.HOLD, 0, this::waitOutSlot);
                // What the server wrote of what came before the load is told apart from what it writes of the load.
                before = engine.written();
                phases.stream().filter(phase -> !phase.isBeforeHold()).forEach(this::send);
            } catch (RuntimeException e) {
                releaseAfter(e);
                throw e;
            }
            release();
            return record(Optional.empty());
        }

        /** Empties the cache, unless texts are told apart by a salt: then the cache has nothing of use to this leg. */
        private void flush() {
            if (settings.salt().isEmpty()) {
                followed = arms.follow(engine::flush);
            }
        }

        /** Sends the requests of a phase and waits until all are over. */
        private void send(Phase phase) {
            Step.Kind kind = switch (phase.role()) {
                case PRIME -> Step.Kind.PRIME;
                case LEARN -> Step.Kind.LEARN;
                case FLOOD -> Step.Kind.FLOOD;
                case PROBE -> Step.Kind.PROBE;
                case TOUCH, WARM_UP, LOAD ->
                    throw new IllegalArgumentException("No leg of an arm has a phase of " + phase.role() + ".");
            };
            int concurrency = phase.isFlood() ? settings.concurrency() : 1;
            Optional<Beside> now = phase.role() == Role.FLOOD ? beside : Optional.empty();
            step(kind, phase.cycle(), () -> {
                Sent sent = phase.hasTurns()
                        ? load.sendInTurn(phase.turns(), concurrency, now)
                        : load.send(phase.requests().size(), concurrency, now);
                sent.load().forEach(record -> records.add(record.since(origin)));
                sent.beside().forEach(this::addOwn);
            });
        }

        private void addOwn(RequestRecord record) {
            own.add(record.since(origin).numbered(own.size()));
        }

        private void release() {
            step(
                    Step.Kind.RELEASE,
                    0,
                    () -> stop.always(() -> {
                        release = arms.release(hold);
                    }));
        }

        /** The first cause is what the user has to hear of; a release that fails after it only adds to it. */
        private void releaseAfter(RuntimeException cause) {
            if (stop.isAsked()) {
                stop.notice();
            }
            if (hold.kind() == HoldReceipt.Kind.SKIPPED) {
                // There was no answer; the switch knows what it may have left behind.
                return;
            }
            try {
                release();
            } catch (RuntimeException e) {
                cause.addSuppressed(e);
            }
        }

        private void waitOutSlot() {
            long began = clock.nanos();
            stop.shielded(() -> {
                hold = arm == Arm.PINNED ? arms.on(prefixes, patience) : arms.off(prefixes, patience);
            });
            holdNanos = clock.nanos() - began;
            arms.sent().forEach(this::addOwn);
            clock.sleepUntil(began + settings.holdSlot().toNanos());
        }

        private void step(Step.Kind kind, int cycle, Runnable body) {
            watcher.step(life, position, arm, kind, cycle);
            long began = clock.nanos() - origin;
            body.run();
            steps.add(new Step(kind, cycle, began, clock.nanos() - origin));
        }

        private LegRecord record(Optional<String> problem) {
            return new LegRecord(
                            life,
                            order,
                            position,
                            arm,
                            workload.id(),
                            load.digest(),
                            followed,
                            hold,
                            holdNanos,
                            release,
                            steps,
                            records,
                            own,
                            problem)
                    .withClient(load.health())
                    .withServerLog(before);
        }
    }
}
