package io.holdfast.loadtest;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.EngineClient.Prepared;
import io.holdfast.loadtest.Holder.Followed;
import io.holdfast.loadtest.Workload.Cycle;
import io.holdfast.loadtest.Workload.Script;
import io.vertx.core.buffer.Buffer;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/*
 * The leg protocol
 * ================
 *
 * Both arms take the same steps: flush, connect, prime, hold, then flood and probe cycle by cycle, release. They
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

    private final EngineClient client;
    private final EngineControl control;
    private final Holder holder;
    private final Workload workload;
    private final LoadTestSettings settings;
    private final LongSupplier nanos;
    private final Watcher watcher;

    LegProtocol(
            EngineClient client,
            EngineControl control,
            Holder holder,
            Workload workload,
            LoadTestSettings settings,
            LongSupplier nanos,
            Watcher watcher) {
        this.client = client;
        this.control = control;
        this.holder = holder;
        this.workload = workload;
        this.settings = settings;
        this.nanos = nanos;
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
        private final List<Prepared> prepared = new ArrayList<>();
        private final List<Step> steps = new ArrayList<>();
        private final List<RequestRecord> records = new ArrayList<>();
        private final String bodies;
        private final long origin;
        private int next;
        private Followed followed = new Followed("", 0, Optional.empty());
        private HoldReceipt hold = HoldReceipt.skipped("the leg ended before its hold step");
        private long holdNanos;
        private ReleaseReceipt release = ReleaseReceipt.skipped("the leg ended before its release step");

        Leg(int life, PairOrder order, int position) {
            this.life = life;
            this.order = order;
            this.position = position;
            this.arm = Arm.of(order, position);
            this.bodies = prepare(workload.leg(position));
            this.origin = nanos.getAsLong();
        }

        private String prepare(Script script) {
            MessageDigest sha = Workload.sha256();
            for (LoadRequest request : script.requests()) {
                byte[] body = settings.dialect().body(settings.model(), request);
                sha.update(body);
                prepared.add(new Prepared(prepared.size(), request, Buffer.buffer(body)));
            }
            return HexFormat.of().formatHex(sha.digest());
        }

        LegRecord run() {
            step(Step.Kind.FLUSH, 0, () -> followed = holder.follow(control::flush));
            if (followed.problem().isPresent()) {
                return record(followed.problem());
            }
            step(Step.Kind.CONNECT, 0, this::connect);
            step(Step.Kind.PRIME, 0, () -> send(1, 1));
            RequestRecord prime = records.getFirst();
            if (!prime.isOk()) {
                return record(Optional.of("the prefix could not be sent: " + prime.problem()));
            }
            step(Step.Kind.HOLD, 0, this::waitOutSlot);
            try {
                floodAndProbe();
            } catch (RuntimeException e) {
                releaseAfter(e);
                throw e;
            }
            release();
            return record(Optional.empty());
        }

        private void floodAndProbe() {
            for (Cycle cycle : workload.leg(position).cycles()) {
                int number = cycle.flood().getFirst().cycle();
                step(Step.Kind.FLOOD, number, () -> send(cycle.flood().size(), settings.concurrency()));
                step(Step.Kind.PROBE, number, () -> send(cycle.probes().size(), 1));
            }
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

        private void connect() {
            EngineClient.await(
                    client.open(settings.concurrency()), Duration.ofSeconds(60), "opening the connections of the load");
        }

        private void waitOutSlot() {
            long began = nanos.getAsLong();
            hold = holdOrSham();
            holdNanos = nanos.getAsLong() - began;
            long left = settings.holdSlot().toNanos() - holdNanos;
            while (left > 0) {
                LockSupport.parkNanos(left);
                left = began + settings.holdSlot().toNanos() - nanos.getAsLong();
            }
        }

        private HoldReceipt holdOrSham() {
            return arm == Arm.PINNED ? holder.hold(workload.prefix(), settings.holdSlot()) : holder.sham();
        }

        private ReleaseReceipt releaseOrSham() {
            return arm == Arm.PINNED ? holder.release(hold) : holder.shamRelease();
        }

        /** Sends the next requests of the list and waits until all are over. */
        private void send(int count, int concurrency) {
            List<Prepared> now = prepared.subList(next, next + count);
            next += count;
            Duration limit = settings.requestTimeout()
                    .multipliedBy(count / concurrency + 2L)
                    .plusSeconds(60);
            for (RequestRecord record :
                    EngineClient.await(client.closedLoop(List.copyOf(now), concurrency), limit, "the load")) {
                records.add(record.since(origin));
            }
        }

        private void step(Step.Kind kind, int cycle, Runnable body) {
            watcher.step(life, position, arm, kind, cycle);
            long began = nanos.getAsLong() - origin;
            body.run();
            steps.add(new Step(kind, cycle, began, nanos.getAsLong() - origin));
        }

        private LegRecord record(Optional<String> problem) {
            return new LegRecord(
                    life,
                    order,
                    position,
                    arm,
                    workload.id(),
                    bodies,
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
