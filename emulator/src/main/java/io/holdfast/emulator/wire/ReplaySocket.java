package io.holdfast.emulator.wire;

import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Faults;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.ZMQ;

/**
 * Remembers past batches and sends them again, from a requested number on.
 *
 * <p>As with real engines a request is three frames, of which the asker's name and the last one, a number of any
 * length, matter; anything else gets no answer, and what is too old is left out without a word. An end marker closes
 * each answer.
 */
final class ReplaySocket {
    private static final Logger log = LoggerFactory.getLogger(ReplaySocket.class);
    private static final byte[] NOTHING = {};
    private static final byte[] END =
            ByteBuffer.allocate(Long.BYTES).putLong(-1).array();

    private final Optional<ZMQ.Socket> router;
    private final Optional<byte[]> topic;
    private final int bufferSteps;
    private final Faults faults;
    private final ArrayDeque<Frame> past = new ArrayDeque<>();

    /** @param topic stands in each answer, except in the form that has no place for it */
    ReplaySocket(Optional<ZMQ.Socket> router, Optional<byte[]> topic, int bufferSteps, Faults faults) {
        this.router = router;
        this.topic = topic;
        this.bufferSteps = bufferSteps;
        this.faults = faults;
    }

    void remember(Frame frame) {
        past.addLast(frame);
        forgetTheOldest();
    }

    void forgetAll() {
        past.clear();
    }

    boolean isOpen() {
        return router.isPresent();
    }

    /** Answers all that was asked since the last call. */
    void serve() {
        router.ifPresent(socket -> {
            for (byte[] asker = socket.recv(ZMQ.DONTWAIT); asker != null; asker = socket.recv(ZMQ.DONTWAIT)) {
                List<byte[]> rest = new ArrayList<>();
                while (socket.hasReceiveMore()) {
                    rest.add(socket.recv());
                }
                if (rest.size() == 2) {
                    answer(socket, asker, new BigInteger(1, rest.getLast()));
                } else {
                    log.warn(
                            "A request for past batches has {} frames in place of 3; it gets no answer.",
                            1 + rest.size());
                }
            }
        });
    }

    private void answer(ZMQ.Socket socket, byte[] asker, BigInteger from) {
        forgetTheOldest();
        for (Frame frame : past) {
            if (BigInteger.valueOf(frame.sequence()).compareTo(from) >= 0) {
                send(socket, asker, topic, frame.number(), frame.payload());
            }
        }
        send(socket, asker, topic.map(_ -> NOTHING), END, NOTHING);
    }

    private static void send(ZMQ.Socket socket, byte[] asker, Optional<byte[]> topic, byte[] number, byte[] payload) {
        socket.sendMore(asker);
        socket.sendMore(NOTHING);
        topic.ifPresent(socket::sendMore);
        socket.sendMore(number);
        socket.send(payload);
    }

    private void forgetTheOldest() {
        int kept = faults.find(EventFault.ReplayShort.class)
                .map(fault -> Math.min(fault.batches(), bufferSteps))
                .orElse(bufferSteps);
        while (past.size() > kept) {
            past.removeFirst();
        }
    }
}
