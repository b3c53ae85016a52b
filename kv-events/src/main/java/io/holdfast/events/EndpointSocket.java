package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntFunction;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import zmq.Msg;
import zmq.io.Metadata;

/**
 * The sockets of one endpoint: the one that receives live batches and, while past ones are requested, the one for the
 * replay.
 *
 * <p>Connections are counted as they are made, and every message says by which it came: both sides name a connection by
 * its port on this machine. The replay socket is a new one for each request, so that no answer to an older request, and
 * no connection to an earlier publisher, can get in between.
 */
final class EndpointSocket implements BatchSequencer.ReplayRequester {
    private static final int RECONNECT_MILLIS = 50;
    private static final int HANDSHAKE_MILLIS = 1000;
    private static final int BURST = 256;
    private static final int BURST_BYTES = 8 << 20;
    private static final int LARGEST_MESSAGE = 64 << 20;
    private static final int MOST_FRAMES = 4;
    private static final long END = -1;
    private static final String PORT_PROPERTY = "Self-Address";
    private static final byte[] NOTHING = new byte[0];

    private final ZContext context;
    private final ZMQ.Poller poller;
    private final EventSource source;
    private final List<Subscription> subscriptions;
    private final List<BatchSequencer> sequencers = new ArrayList<>();
    private final KvEventDecoder decoder;
    private final ZMQ.Socket subscriber;
    private Optional<ZMQ.Socket> replaySocket = Optional.empty();
    private String replayUnreachable = "";
    /** Set by the sockets' thread. */
    private AtomicBoolean replaySocketLost = new AtomicBoolean();

    /** Written by the sockets' thread, before the new connection brings its first message. */
    private final Map<String, Long> connections = new ConcurrentHashMap<>();

    private volatile long connection;
    private volatile boolean connected;
    private String connecting = "";

    private Optional<Metadata> lastOrigin = Optional.empty();
    private long lastConnection;
    private final List<byte[]> frames = new ArrayList<>();
    private int frameCount;
    private boolean full;

    /**
     * One subscription for the cache that publishes there, or several for the ranks that share the endpoint.
     *
     * @throws IllegalArgumentException with one sentence when the publisher's host is none
     */
    EndpointSocket(
            ZContext context,
            ZMQ.Poller poller,
            EventSource source,
            List<Subscription> subscriptions,
            IntFunction<KvEventSink> sinkOfRank,
            KvEventDecoder decoder,
            long now) {
        this.context = context;
        this.poller = poller;
        this.source = source;
        this.subscriptions = subscriptions;
        this.decoder = decoder;
        for (Subscription subscription : subscriptions) {
            sequencers.add(new BatchSequencer(
                    subscription,
                    sinkOfRank.apply(subscription.rank()),
                    decoder,
                    source.replayEndpoint().isPresent() ? Optional.of(this) : Optional.empty(),
                    now));
        }
        this.subscriber = open(SocketType.SUB, source.endpoint());
        subscriber.setSelfAddressPropertyName(PORT_PROPERTY);
        subscriber.setEventHook(
                this::onSocketEvent, ZMQ.EVENT_CONNECTED | ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED);
        subscriber.subscribe(source.topic().getBytes(ZMQ.CHARSET));
        try {
            connect(subscriber, source.endpoint());
        } catch (ZMQException | IllegalArgumentException e) {
            subscriber.close();
            throw new IllegalArgumentException(
                    "The events endpoint \"" + source.endpoint() + "\" cannot be connected to: is \"" + source.host()
                            + "\" the name of a host?",
                    e);
        }
        poller.register(subscriber, ZMQ.Poller.POLLIN);
    }

    List<Subscription> subscriptions() {
        return subscriptions;
    }

    /** Applies what has arrived, up to a burst of it; answers how many batches reached the sink. */
    int drain(long now) {
        for (BatchSequencer sequencer : sequencers) {
            sequencer.round(now, connection, connected);
        }
        receiveLive();
        replaySocket.ifPresent(this::readAnswer);
        if (!replayUnreachable.isEmpty()) {
            String why = replayUnreachable;
            replayUnreachable = "";
            sequencers.getFirst().failed(why);
        }
        int applied = 0;
        for (BatchSequencer sequencer : sequencers) {
            applied += sequencer.takeApplied();
        }
        return applied;
    }

    long idleNanos() {
        return sequencers.getFirst().idleNanos();
    }

    void close() {
        stop();
        poller.unregister(subscriber);
        subscriber.close();
    }

    @Override
    public void requestReplay(long from) {
        stop();
        String endpoint = source.replayEndpoint().orElseThrow();
        ZMQ.Socket socket = open(SocketType.DEALER, endpoint);
        replaySocket = Optional.of(socket);
        AtomicBoolean lost = new AtomicBoolean();
        replaySocketLost = lost;
        socket.setEventHook(event -> lost.set(true), ZMQ.EVENT_DISCONNECTED);
        poller.register(socket, ZMQ.Poller.POLLIN);
        try {
            connect(socket, endpoint);
            // The empty frame stands in for the envelope that the publisher's end expects.
            // A socket that lost its only connection would wait for another one, and with it all engines' events.
            byte[] request = ByteBuffer.allocate(Long.BYTES).putLong(from).array();
            if (!socket.send(NOTHING, ZMQ.SNDMORE | ZMQ.DONTWAIT) || !socket.send(request, ZMQ.DONTWAIT)) {
                replayUnreachable = "\"" + endpoint + "\" went away as it was asked";
            }
        } catch (ZMQException | IllegalArgumentException e) {
            replayUnreachable = "\"" + endpoint + "\" cannot be connected to";
        }
    }

    @Override
    public void stop() {
        replaySocket.ifPresent(socket -> {
            poller.unregister(socket);
            socket.close();
        });
        replaySocket = Optional.empty();
    }

    private ZMQ.Socket open(SocketType type, String endpoint) {
        ZMQ.Socket socket = context.createSocket(type);
        socket.setRcvHWM(KvEventLoop.RECEIVE_QUEUE);
        socket.setReconnectIVL(RECONNECT_MILLIS);
        socket.setHandshakeIvl(HANDSHAKE_MILLIS);
        socket.setMaxMsgSize(LARGEST_MESSAGE);
        socket.setLinger(0);
        socket.setIPv6(endpoint.contains("["));
        return socket;
    }

    private static void connect(ZMQ.Socket socket, String endpoint) {
        if (!socket.connect(endpoint)) {
            throw new ZMQException(socket.errno());
        }
    }

    private void onSocketEvent(ZEvent event) {
        switch (event.getEvent()) {
            case CONNECTED -> {
                SocketChannel channel = event.getValue();
                connecting = port(String.valueOf(channel.socket().getLocalSocketAddress()));
            }
            case HANDSHAKE_PROTOCOL -> {
                long made = connection + 1;
                connections.put(connecting, made);
                connection = made;
                connected(true);
            }
            default -> connected(false);
        }
    }

    private void connected(boolean now) {
        connected = now;
        subscriptions.forEach(subscription -> subscription.connected(now));
    }

    private static String port(String address) {
        return address.substring(address.lastIndexOf(':') + 1);
    }

    /** Returns true if the last burst left something behind. */
    boolean full() {
        return full;
    }

    private void receiveLive() {
        full = false;
        long bytes = 0;
        for (int taken = 0; taken < BURST && bytes < BURST_BYTES; taken++) {
            long size = receive(subscriber);
            if (size < 0) {
                return;
            }
            bytes += size;
            accept();
        }
        full = true;
        subscriptions.forEach(Subscription::fullRound);
    }

    private void accept() {
        int rank = 0;
        Optional<String> refusal = shape();
        if (refusal.isEmpty() && sequencers.size() > 1) {
            rank = decoder.read(frames.get(2)) ? decoder.rank() : 0;
            if (rank < 0 || rank >= sequencers.size()) {
                refusal = Optional.of("A batch of rank " + rank + " came from " + source.endpoint()
                        + ", which the ranks 0 to " + (sequencers.size() - 1) + " were said to share.");
                rank = 0;
            }
        }
        Subscription subscription = subscriptions.get(rank);
        subscription.arrived();
        if (refusal.isPresent()) {
            subscription.refuse(refusal.get());
            return;
        }
        BatchSequencer sequencer = sequencers.get(rank);
        sequencer.live(new Message(lastConnection, frames.get(1), frames.get(2), sequencer.replayRequests()));
    }

    /** Reason why the message is no batch, by its outside. */
    private Optional<String> shape() {
        if (frameCount != 3) {
            return Optional.of("A message of " + frameCount + " frames came from " + source.endpoint()
                    + "; a batch has three: topic, sequence, payload.");
        }
        byte[] sequence = frames.get(1);
        if (sequence.length < Long.BYTES) {
            return Optional.of(
                    "A sequence of " + sequence.length + " bytes came from " + source.endpoint() + "; it has eight.");
        }
        long number = ByteBuffer.wrap(sequence).getLong(0);
        return number < 0
                ? Optional.of("The sequence " + number + " came from " + source.endpoint()
                        + "; a live batch has none below 0.")
                : Optional.empty();
    }

    private void readAnswer(ZMQ.Socket socket) {
        BatchSequencer sequencer = sequencers.getFirst();
        // What is applied may end this question and begin another, by another socket.
        for (int taken = 0; taken < BURST && replaySocket.filter(socket::equals).isPresent(); taken++) {
            boolean gone = replaySocketLost.get();
            if (receive(socket) < 0) {
                if (gone) {
                    sequencer.cutOff();
                }
                return;
            }
            // An empty frame, in newer builds the topic, the sequence and the payload.
            int at = frameCount - 2;
            if (at < 1 || at > 2 || frames.get(0).length > 0 || frames.get(at).length < Long.BYTES) {
                sequencer.failed("an answer of " + frameCount + " frames is none");
                return;
            }
            Message batch = new Message(0, frames.get(at), frames.get(at + 1), sequencer.replayRequests());
            if (batch.sequence == END && batch.payload.length == 0) {
                sequencer.ended();
            } else if (batch.sequence < 0) {
                sequencer.failed("an answer has the number " + batch.sequence);
            } else {
                sequencer.answered(batch);
            }
        }
    }

    /** Takes one message into {@link #frames} and answers its size; negative when there is none. */
    private long receive(ZMQ.Socket socket) {
        frames.clear();
        frameCount = 0;
        long bytes = 0;
        // A message arrives whole or not at all, so its later frames are there.
        do {
            Msg frame = socket.recvMsg(ZMQ.DONTWAIT);
            if (frame == null) {
                break;
            }
            if (frameCount == 0 && socket.equals(subscriber)) {
                recordConnection(frame);
            }
            if (frameCount < MOST_FRAMES) {
                frames.add(frame.data());
            }
            frameCount++;
            bytes += frame.size();
        } while (socket.hasReceiveMore());
        return frameCount == 0 ? -1 : bytes;
    }

    @SuppressWarnings("ReferenceEquality") // one object for each connection
    private void recordConnection(Msg frame) {
        Metadata origin = frame.getMetadata();
        if (origin != null && lastOrigin.filter(known -> known == origin).isEmpty()) {
            lastOrigin = Optional.of(origin);
            lastConnection = connections.getOrDefault(port(String.valueOf(origin.get(PORT_PROPERTY))), connection);
        }
    }
}
