package io.holdfast.loadtest.run;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.workload.Phase;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/*
 * The leg protocol
 * ================
 *
 * Both arms take the same steps: flush, connect, prime, hold, then the other phases of the workload, release. They
 * differ in the body of the hold step and of its counterpart at the end, and in nothing else. There is one method
 * here for each step and no branch on the arm outside of `holdOrSham` and `releaseOrSham`.
 *
 * The slot. Holding takes a call or two, a sham takes one. If the load began when the call returned, the arms would
 * start it at different times after the flush, which alone moves latencies. So the hold step has a fixed length that
 * both arms wait out. A body that does not fit spoils the leg; it is recorded, and a gate refuses it.
 *
 * What ends a leg early. Without an empty cache, or without the prefix in it, the rest would measure something else.
 * Such a leg keeps what it has and names its problem; the gates turn that into an invalid experiment.
 */

/** Runs one leg, step by step, on a plain thread. */
final class LegProtocol {
    /** Told when a step begins. */
    interface Watcher {
        void step(int life, int position, Arm arm, Step.Kind kind, int cycle);
    }

    private final EngineUnderTest engine;
    private final Holder holder;
    private final RunClock clock;
    private final Workload workload;
    private final LoadTestSettings settings;
    private final Watcher watcher;

    LegProtocol(RunEnvironment environment, Workload workload, LoadTestSettings settings, Watcher watcher) {
        this.engine = environment.engine();
        this.holder = environment.holder();
        this.clock = environment.clock();
        this.workload = workload;
        this.settings = settings;
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
        private final Load load;
        private final long origin;
        private FlushReceipt followed = new FlushReceipt("", 0, Optional.empty());
        private HoldReceipt hold = HoldReceipt.skipped("the leg ended before its hold step");
        private long holdNanos;
        private ReleaseReceipt release = ReleaseReceipt.skipped("the leg ended before its release step");

        Leg(int life, PairOrder order, int position) {
            this.life = life;
            this.order = order;
            this.position = position;
            this.arm = Arm.of(order, position);
            this.load = engine.prepare(settings.requests(workload, life, position));
            this.origin = clock.nanos();
        }

        LegRecord run() {
            step(Step.Kind.FLUSH, 0, () -> followed = holder.follow(engine::flush));
            if (followed.problem().isPresent()) {
                return record(followed.problem());
            }
            step(Step.Kind.CONNECT, 0, () -> load.connect(settings.concurrency()));
            List<Phase> phases = workload.phases(position);
            send(phases.getFirst());
            RequestRecord prime = records.getFirst();
            if (!prime.isOk()) {
                return record(Optional.of("the prefix could not be sent: " + prime.problem()));
            }
            step(Step.Kind.HOLD, 0, this::waitOutSlot);
            try {
                phases.stream().skip(1).forEach(this::send);
            } catch (RuntimeException e) {
                releaseAfter(e);
                throw e;
            }
            release();
            return record(Optional.empty());
        }

        /** Sends the requests of a phase and waits until all are over. */
        private void send(Phase phase) {
            Step.Kind kind = switch (phase.role()) {
                case PRIME -> Step.Kind.PRIME;
                case FLOOD -> Step.Kind.FLOOD;
                case PROBE -> Step.Kind.PROBE;
            };
            int concurrency = phase.role() == Role.FLOOD ? settings.concurrency() : 1;
            step(
                    kind,
                    phase.cycle(),
                    () -> load.send(phase.requests().size(), concurrency)
                            .forEach(record -> records.add(record.since(origin))));
        }

        private void release() {
            step(Step.Kind.RELEASE, 0, () -> release = releaseOrSham());
        }

        /** The first cause is what the user has to hear of; a release that fails after it only adds to it. */
        private void releaseAfter(RuntimeException cause) {
            try {
                release();
            } catch (RuntimeException e) {
                cause.addSuppressed(e);
            }
        }

        private void waitOutSlot() {
            long began = clock.nanos();
            hold = holdOrSham();
            holdNanos = clock.nanos() - began;
            clock.sleepUntil(began + settings.holdSlot().toNanos());
        }

        private HoldReceipt holdOrSham() {
            return arm == Arm.PINNED ? holder.hold(workload.prefix(), settings.holdSlot()) : holder.sham();
        }

        private ReleaseReceipt releaseOrSham() {
            return arm == Arm.PINNED ? holder.release(hold) : holder.shamRelease();
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
                    problem);
        }
    }
}
