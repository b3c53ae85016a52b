package io.holdfast.emulator.wire;

import io.holdfast.rules.fault.Chance;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Faults;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.zeromq.ZMQ;

/** The way to the subscribers, on which batches are lost, doubled and overtaken where faults say so. */
final class EventSender {
    /** After so long a silence what waits for a successor goes alone. */
    static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final ZMQ.Socket socket;
    private final byte[] topic;
    private final Faults faults;
    private final RandomGenerator random;
    private Optional<Frame> overtaken = Optional.empty();
    private long overtakenSince;

    EventSender(ZMQ.Socket socket, byte[] topic, Faults faults, RandomGenerator random) {
        this.socket = socket;
        this.topic = topic;
        this.faults = faults;
        this.random = random;
    }

    void send(Frame frame, long nanos) {
        if (strikes(EventFault.EventLoss.class)) {
            return;
        }
        if (overtaken.isEmpty() && strikes(EventFault.EventReorder.class)) {
            overtaken = Optional.of(frame);
            overtakenSince = nanos;
            return;
        }
        // Asked before the frame leaves: a fault that begins when somebody has heard it is not about this one.
        boolean twice = strikes(EventFault.EventDuplicates.class);
        put(frame);
        if (twice) {
            put(frame);
        }
        letGo();
    }

    /** Sends what has waited for a successor for too long. */
    void settle(long nanos) {
        if (nanos - overtakenSince >= PATIENCE_NANOS) {
            letGo();
        }
    }

    /** Returns true if something waits here. */
    boolean waits() {
        return overtaken.isPresent();
    }

    private void letGo() {
        overtaken.ifPresent(this::put);
        overtaken = Optional.empty();
    }

    private <F extends EventFault & Chance> boolean strikes(Class<F> kind) {
        return faults.find(kind).filter(fault -> fault.strikes(random)).isPresent();
    }

    private void put(Frame frame) {
        socket.sendMore(topic);
        socket.sendMore(frame.number());
        socket.send(frame.payload());
    }
}
