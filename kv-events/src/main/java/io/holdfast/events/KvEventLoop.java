package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMonitor;

/*
 * All engines' event sockets on one thread, which is not ours.
 *
 * Duty. The owner calls doWork again and again on one thread; that thread is the only one that touches the sockets and
 * the sinks, so whatever the sinks feed has a single writer. Only wakeup may come from elsewhere: it writes a byte into a
 * pipe that is polled beside the sockets.
 *
 * Bounds. One call takes at most BURST messages or BURST_BYTES from each socket before the next has its turn, so that the
 * owner comes back to its own work under any flood. What a flood leaves in a socket is taken by the next call, without
 * polling first. A message above LARGEST_MESSAGE ends the connection instead of being buffered.
 *
 * Loss. ZeroMQ drops silently when a queue is full; the receive queue is made as long as the engines' own send queue, and
 * what is lost all the same shows in the sequence. A publisher that goes away is reconnected to by ZeroMQ.
 *
 * Deafness. Of a hundred connections that JeroMQ 0.6.0 makes, one to six never begin their handshake (its poller loses
 * the new socket, jeromq#1022): they look connected and hear nothing. Only the handshake's time limit, 30 seconds unless
 * set, tears such a connection down for the next attempt. Hence a limit of a second, and a subscription counts as
 * connected only once the publisher has answered the handshake.
 */

/** Subscribes to engines' event streams, decodes what arrives and hands it to each engine's sink. */
public final class KvEventLoop implements AutoCloseable {
    private static final int RECEIVE_QUEUE = 100_000;
    private static final int RECONNECT_MILLIS = 50;
    private static final int HANDSHAKE_MILLIS = 1000;
    private static final int BURST = 256;
    private static final int BURST_BYTES = 8 << 20;
    private static final int LARGEST_MESSAGE = 64 << 20;
    private static final Pattern ENDPOINT = Pattern.compile("tcp://(\\[[0-9A-Fa-f:.%]+]|[^\\[\\]:/;\\s]+):(\\d{1,5})");
    private static final byte[] NOTHING = new byte[0];

    private record Line(ZMQ.Socket socket, Subscription subscription) {}

    private final ZContext context = new ZContext();
    private final ZMQ.Poller poller = context.createPoller(4);
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final List<Line> lines = new ArrayList<>();
    private final Pipe pipe;
    private final ByteBuffer woken = ByteBuffer.allocate(64);
    private boolean closed;

    public KvEventLoop() {
        try {
            pipe = Pipe.open();
            pipe.source().configureBlocking(false);
            pipe.sink().configureBlocking(false);
        } catch (IOException e) {
            context.close();
            throw new UncheckedIOException("The system has no pipe left to wake the event loop with.", e);
        }
        poller.register(pipe.source(), ZMQ.Poller.POLLIN);
    }

    /**
     * Begins to listen to an engine, which need not be there yet.
     *
     * <p>On the loop's thread, or before its first {@link #doWork}.
     *
     * @param endpoint where the engine publishes, {@code tcp://host:port}
     * @param topic the beginning of the topics wanted; empty for all
     * @throws IllegalArgumentException with one sentence when the endpoint cannot be one
     */
    public Subscription subscribe(String endpoint, String topic, KvEventSink sink) {
        Matcher parts = ENDPOINT.matcher(endpoint);
        if (!parts.matches()) {
            throw new IllegalArgumentException("The events endpoint \"" + endpoint
                    + "\" is not of the form tcp://host:port, the one transport that engines and this client share.");
        }
        String host = parts.group(1);
        int port = Integer.parseInt(parts.group(2));
        if (host.equals("*") || host.equals("0.0.0.0") || host.equals("[::]")) {
            throw new IllegalArgumentException("The events endpoint \"" + endpoint
                    + "\" says where the engine listens, not where it is: write the engine's host in place of " + host
                    + ".");
        }
        if (port < 1 || port > 65535) {
            throw new IllegalArgumentException(
                    "The events endpoint \"" + endpoint + "\" has a port outside 1 to 65535.");
        }
        Subscription subscription = new Subscription(endpoint, topic, sink);
        ZMQ.Socket socket = context.createSocket(SocketType.SUB);
        socket.setRcvHWM(RECEIVE_QUEUE);
        socket.setReconnectIVL(RECONNECT_MILLIS);
        socket.setHandshakeIvl(HANDSHAKE_MILLIS);
        socket.setMaxMsgSize(LARGEST_MESSAGE);
        socket.setLinger(0);
        socket.setIPv6(host.startsWith("["));
        socket.setEventHook(
                event -> subscription.connected(event.getEvent() == ZMonitor.Event.HANDSHAKE_PROTOCOL),
                ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED);
        socket.subscribe(topic.getBytes(ZMQ.CHARSET));
        try {
            if (!socket.connect(endpoint)) {
                throw new ZMQException(socket.errno());
            }
        } catch (ZMQException | IllegalArgumentException e) {
            socket.close();
            throw new IllegalArgumentException(
                    "The events endpoint \"" + endpoint + "\" cannot be connected to: is \"" + host
                            + "\" the name of a host?",
                    e);
        }
        poller.register(socket, ZMQ.Poller.POLLIN);
        lines.add(new Line(socket, subscription));
        return subscription;
    }

    /**
     * Applies what has arrived; waits for it, at most so long, when nothing has.
     *
     * @return how many batches reached their sinks
     */
    public int doWork(int timeoutMillis) {
        if (closed) {
            throw new IllegalStateException("The event loop is closed.");
        }
        int applied = drain();
        if (applied == 0 && poller.poll(Math.max(0, timeoutMillis)) > 0) {
            swallowWakeups();
            applied = drain();
        }
        return applied;
    }

    /** Makes {@link #doWork} return soon. From any thread. */
    public void wakeup() {
        try {
            // A full pipe takes no byte and needs none.
            pipe.sink().write(ByteBuffer.wrap(new byte[1]));
        } catch (IOException e) {
            // Closed in the meantime: nobody waits any more.
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        poller.close();
        context.close();
        try {
            pipe.sink().close();
            pipe.source().close();
        } catch (IOException e) {
            throw new UncheckedIOException("The event loop's pipe does not close.", e);
        }
    }

    private int drain() {
        int applied = 0;
        for (int i = 0; i < lines.size(); i++) {
            applied += drain(lines.get(i));
        }
        return applied;
    }

    private int drain(Line line) {
        int applied = 0;
        long bytes = 0;
        for (int taken = 0; taken < BURST && bytes < BURST_BYTES; taken++) {
            byte[] frame = line.socket.recv(ZMQ.DONTWAIT);
            if (frame == null) {
                break;
            }
            byte[] sequence = NOTHING;
            byte[] payload = NOTHING;
            int frames = 1;
            bytes += frame.length;
            // A message arrives whole or not at all, so its later frames are there.
            while (line.socket.hasReceiveMore()) {
                frame = line.socket.recv(ZMQ.DONTWAIT);
                if (frame == null) {
                    break;
                }
                frames++;
                bytes += frame.length;
                if (frames == 2) {
                    sequence = frame;
                } else if (frames == 3) {
                    payload = frame;
                }
            }
            if (line.subscription.accept(frames, sequence, payload, decoder)) {
                applied++;
            }
        }
        return applied;
    }

    private void swallowWakeups() {
        try {
            do {
                woken.clear();
            } while (pipe.source().read(woken) == woken.capacity());
        } catch (IOException e) {
            throw new UncheckedIOException("The event loop's pipe does not read.", e);
        }
    }
}
