package io.holdfast.emulator.wire;

import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Faults;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * The event sockets of one cache: each batch is a message of topic, number and payload, and past batches can be
 * requested.
 *
 * <p>Numbers start at 0 with each server instance, and nobody's absence is noticed. Like the engines' own publisher it
 * is a queue and a thread that owns both sockets and answers questions about the past between two batches. What a batch
 * says and when it was made is settled when the engine hands it over; its number when it leaves.
 */
public final class EventPublisher implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EventPublisher.class);
    private static final int HIGH_WATER_MARK = 100_000;

    /** JeroMQ now and then loses a handshake; either side notices only by this, and its default is 30 s. */
    private static final int HANDSHAKE_MILLIS = 500;

    /** Longest time that a question about the past, or a batch that is due, waits for the thread to look. */
    private static final Duration ROUND = Duration.ofMillis(20);

    private static final Duration QUIET_ROUND = Duration.ofSeconds(1);
    private static final int LAST_PORT = 65_535;
    private static final int PORT_TRIES = 50;

    private record Batch(List<CacheEvent> events, double stamp, long madeNanos) {}

    private final int rank;
    private final Faults faults;
    private final EngineClock clock;
    private final ZContext context = new ZContext(1);
    private final String endpoint;
    private final Optional<String> replayEndpoint;
    private final BatchWriter writer;
    private final EventSender sender;
    private final ReplaySocket replaySocket;
    private final BlockingQueue<Batch> queue = new LinkedBlockingQueue<>(HIGH_WATER_MARK);
    private final ArrayDeque<Batch> waiting = new ArrayDeque<>();
    private final Thread thread;
    private final AtomicLong published = new AtomicLong();
    private volatile boolean closing;
    private long sequence;

    /**
     * Opens the sockets of a rank and begins to serve them.
     *
     * @param random decides when faults strike; this publisher's own
     * @throws EmulatorException with one sentence when a port cannot be had
     */
    public EventPublisher(EventSettings settings, int rank, Faults faults, EngineClock clock, RandomGenerator random) {
        this.rank = rank;
        this.faults = faults;
        this.clock = clock;
        EventSettings own = settings.ofRank(rank);
        byte[] topic = own.topic().getBytes(StandardCharsets.UTF_8);
        ZMQ.Socket publisher;
        Optional<ZMQ.Socket> router;
        try {
            publisher = bound(SocketType.PUB, own.host(), own.port(), "events");
            router = own.replayPort().isPresent()
                    ? Optional.of(bound(
                            SocketType.ROUTER, own.host(), own.replayPort().getAsInt(), "replay"))
                    : Optional.empty();
        } catch (EmulatorException e) {
            context.close();
            throw e;
        }
        this.endpoint = publisher.getLastEndpoint();
        this.replayEndpoint = router.map(ZMQ.Socket::getLastEndpoint);
        this.writer = new BatchWriter(own.dialect());
        this.sender = new EventSender(publisher, topic, faults, random);
        this.replaySocket = new ReplaySocket(
                router, own.dialect().maps() ? Optional.of(topic) : Optional.empty(), own.bufferSteps(), faults);
        this.thread =
                Thread.ofPlatform().daemon().name("holdfast-events-" + port()).start(this::run);
    }

    /** One publisher for each rank, at consecutive ports also where the first may be any free one. */
    public static List<EventPublisher> forRanks(
            EventSettings settings,
            int ranks,
            Faults faults,
            EngineClock clock,
            RandomGenerator.SplittableGenerator random) {
        for (int attempt = 1; ; attempt++) {
            List<EventPublisher> publishers = new ArrayList<>();
            try {
                EventSettings fixed = settings;
                for (int rank = 0; rank < ranks; rank++) {
                    EventPublisher publisher = new EventPublisher(fixed, rank, faults, clock, random.split());
                    publishers.add(publisher);
                    fixed = rank == 0 ? publisher.settled(settings) : fixed;
                }
                return publishers;
            } catch (EmulatorException e) {
                publishers.forEach(EventPublisher::close);
                boolean free = settings.port() == 0 || settings.replayPort().orElse(1) == 0;
                if (!free || attempt == PORT_TRIES) {
                    throw e;
                }
            }
        }
    }

    public String endpoint() {
        return endpoint;
    }

    public int port() {
        return port(endpoint);
    }

    /** Address at which past batches are requested, if there is one. */
    public Optional<String> replayEndpoint() {
        return replayEndpoint;
    }

    public OptionalInt replayPort() {
        return replayEndpoint.map(where -> OptionalInt.of(port(where))).orElse(OptionalInt.empty());
    }

    public int rank() {
        return rank;
    }

    /** Sends the events as one batch; what is published after the close is lost. */
    public void publish(List<CacheEvent> events) {
        if (!events.isEmpty() && !closing) {
            published.incrementAndGet();
            put(new Batch(List.copyOf(events), clock.unixSeconds(), clock.nanos()));
        }
    }

    /** Batches handed over so far, those that are still on their way included. */
    public long published() {
        return published.get();
    }

    /** Returns when the ports are free. What has not left by then is lost. */
    @Override
    public void close() {
        if (!closing) {
            closing = true;
            queue.offer(new Batch(List.of(), 0, 0));
        }
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        context.close();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        while (!closing) {
            try {
                replaySocket.serve();
                Batch batch = queue.poll(patience().toMillis(), TimeUnit.MILLISECONDS);
                if (batch != null && !batch.events().isEmpty()) {
                    waiting.addLast(batch);
                }
                sendWhatIsDue();
            } catch (InterruptedException | RuntimeException e) {
                log.error("A batch of events could not be sent.", e);
            }
        }
    }

    private Duration patience() {
        return replaySocket.isOpen() || sender.waits() || !waiting.isEmpty() ? ROUND : QUIET_ROUND;
    }

    private void sendWhatIsDue() {
        long now = clock.nanos();
        long delay = faults.find(EventFault.EventDelay.class)
                .map(fault -> fault.delay().toNanos())
                .orElse(0L);
        while (!waiting.isEmpty() && now - waiting.getFirst().madeNanos() >= delay) {
            send(waiting.removeFirst(), now);
        }
        sender.settle(now);
    }

    private void send(Batch batch, long now) {
        if (faults.find(EventFault.SequenceReset.class)
                .filter(fault -> sequence >= fault.batches())
                .isPresent()) {
            sequence = 0;
            replaySocket.forgetAll();
        }
        double skew = faults.find(EventFault.ClockSkew.class)
                .map(fault -> fault.skew().toMillis() / 1e3)
                .orElse(0.0);
        Frame frame = new Frame(sequence++, writer.write(batch.events(), batch.stamp() + skew, rank));
        replaySocket.remember(frame);
        sender.send(frame, now);
    }

    /** Like the engines' own queue it makes the engine wait where it is full. */
    private void put(Batch batch) {
        try {
            queue.put(batch);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The settings with the ports that rank 0 was given. */
    private EventSettings settled(EventSettings settings) {
        return settings.withPort(port())
                .withReplay(
                        replayEndpoint.map(where -> OptionalInt.of(port(where))).orElse(OptionalInt.empty()));
    }

    private ZMQ.Socket bound(SocketType type, String host, int port, String what) {
        if (port > LAST_PORT) {
            throw new EmulatorException("Rank " + rank + " would have port " + port + " for " + what
                    + ", which no port is; choose a lower one for rank 0.");
        }
        ZMQ.Socket socket = context.createSocket(type);
        socket.setHWM(HIGH_WATER_MARK);
        socket.setLinger(0);
        socket.setHandshakeIvl(HANDSHAKE_MILLIS);
        String where = (host.equals("0.0.0.0") ? "*" : host) + ":" + (port == 0 ? "*" : Integer.toString(port));
        try {
            socket.bind("tcp://" + where);
        } catch (ZMQException e) {
            throw new EmulatorException(
                    e.getErrorCode() == ZMQ.Error.EADDRINUSE.getCode()
                            ? "Port " + port + " for " + what + " is in use; choose another or 0 for a free one."
                            : "Nothing can listen for " + what + " on \"" + where
                                    + "\": choose an address of this machine.",
                    e);
        }
        return socket;
    }

    private static int port(String endpoint) {
        return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    }
}
