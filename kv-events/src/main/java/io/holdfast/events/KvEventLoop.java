package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/*
 * All engines' event sockets on one thread, which is not ours.
 *
 * Duty. The owner calls doWork again and again on one thread; that thread is the only one that touches the sockets and
 * the sinks, so whatever the sinks feed has a single writer. Only wakeup may come from elsewhere: it writes a byte into
 * a pipe that is polled beside the sockets. There are no timers: time limits are looked at when doWork is called, and
 * it waits no longer than until the next of them.
 *
 * Bounds. One call takes at most 256 messages or 8 MiB from each socket before the next has its turn, so that the owner
 * comes back to its own work under any flood. What a flood leaves in a socket is taken by the next call, without
 * polling first; Subscription.fullRounds counts how often that was so. A message above 64 MiB ends the connection
 * instead of being buffered. While past batches are requested, at most 4096 live batches or 16 MiB wait for each cache.
 *
 * Cost. A poll looks at every socket several times, which for 64 of them costs more than a batch does; and to be woken
 * for each batch of an engine that sends hundreds a second costs more than to apply them. While batches keep coming
 * from many sockets, or as densely from few, a round therefore waits 10 ms for more of them instead of polling, and
 * then looks at each socket once; a wakeup ends that wait like any other. After 50 ms without a batch it polls again,
 * so that a quiet loop costs next to nothing.
 *
 * Loss. ZeroMQ drops silently when a queue is full; the receive queue is made as long as the engines' own send queue,
 * and what is lost all the same shows in the sequence and is requested again, where the engine keeps past batches. A
 * publisher that goes away is reconnected to by ZeroMQ.
 *
 * Deafness. Of a hundred connections that JeroMQ 0.6.0 makes, one to six never begin their handshake (its poller loses
 * the new socket, jeromq#1022): they look connected and hear nothing. Only the handshake's time limit, 30 seconds
 * unless set, tears such a connection down for the next attempt. Hence a limit of a second, and a subscription counts
 * as connected only once the publisher has answered the handshake.
 */

/** Subscribes to engines' event streams, decodes what arrives and hands it to each engine's sink. */
public final class KvEventLoop implements AutoCloseable {
    /** Messages that each receive queue holds; as many as engines keep for a slow subscriber. */
    public static final int RECEIVE_QUEUE = 100_000;

    /** From so many streams on it pays to let batches gather; the events of a few are wanted at once. */
    private static final int MANY = 8;

    private static final Duration CLOSING = Duration.ofSeconds(10);

    /** So many batches within {@link #STREAMING_NANOS} are dense: a gathering brings several. */
    private static final int DENSE = 25;

    private static final int GATHER_MILLIS = 10;
    private static final long STREAMING_NANOS = 50_000_000;

    private final LongSupplier clock;
    private final FrameListener frames;
    private final ZContext context = new ZContext();
    private final ZMQ.Poller poller = context.createPoller(4);
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final List<EndpointSocket> sockets = new ArrayList<>();
    private final Pipe pipe;
    private final ByteBuffer woken = ByteBuffer.allocate(64);
    private final Selector gatherer;
    private boolean full;
    private boolean arrived;
    private long arrivedAt;
    /* Of the stretch of STREAMING_NANOS that is counted now, and whether the one before was dense. */
    private long countedSince;
    private int counted;
    private boolean dense;
    private boolean closed;

    /**
     * {@code clock} gives nanoseconds from an origin of its own, such as {@code System::nanoTime}; it is read by
     * {@link #doWork}.
     */
    public KvEventLoop(LongSupplier clock) {
        this(clock, FrameListener.NONE);
    }

    /** Creates a loop whose listener is shown the batches as they came. */
    public KvEventLoop(LongSupplier clock, FrameListener frames) {
        this.clock = clock;
        this.frames = frames;
        try {
            pipe = Pipe.open();
            pipe.source().configureBlocking(false);
            pipe.sink().configureBlocking(false);
            gatherer = Selector.open();
            pipe.source().register(gatherer, SelectionKey.OP_READ);
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
     * @param sinkOfRank the sink of each of its caches
     * @return one for each of its caches, by rank
     * @throws IllegalArgumentException with one sentence when its host is none
     */
    public List<Subscription> subscribe(EventSource source, IntFunction<KvEventSink> sinkOfRank) {
        List<EndpointSocket> fresh = new ArrayList<>();
        try {
            if (source.sharedEndpoint()) {
                fresh.add(socket(
                        source,
                        IntStream.range(0, source.ranks())
                                .mapToObj(rank -> new Subscription(source, rank, frames))
                                .toList(),
                        sinkOfRank));
            } else {
                for (int rank = 0; rank < source.ranks(); rank++) {
                    EventSource own = source.ofRank(rank);
                    fresh.add(socket(own, List.of(new Subscription(own, rank, frames)), sinkOfRank));
                }
            }
        } catch (RuntimeException e) {
            fresh.forEach(EndpointSocket::close);
            throw e;
        }
        sockets.addAll(fresh);
        return fresh.stream().flatMap(socket -> socket.subscriptions().stream()).toList();
    }

    private EndpointSocket socket(
            EventSource source, List<Subscription> subscriptions, IntFunction<KvEventSink> sinkOfRank) {
        return new EndpointSocket(context, poller, source, subscriptions, sinkOfRank, decoder, clock.getAsLong());
    }

    /**
     * Begins to listen to an engine with one cache that keeps no past batches.
     *
     * @param endpoint where the engine publishes, {@code tcp://host:port}
     * @param topic the beginning of the topics wanted; empty for all
     * @throws IllegalArgumentException with one sentence when the endpoint cannot be one
     */
    public Subscription subscribe(String endpoint, String topic, KvEventSink sink) {
        return subscribe(EventSource.of(endpoint, topic), rank -> sink).getFirst();
    }

    /**
     * Ends a subscription and those that share its endpoint; their sinks are told nothing more. On the loop's thread.
     */
    public void unsubscribe(Subscription subscription) {
        sockets.removeIf(socket -> {
            boolean meant = socket.subscriptions().contains(subscription);
            if (meant) {
                socket.close();
            }
            return meant;
        });
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
        if (gathering() && timeoutMillis > 0) {
            gather(Math.min(timeoutMillis, GATHER_MILLIS));
            return drain();
        }
        int applied = drain();
        if (applied == 0 && poller.poll(waitMillis(timeoutMillis)) > 0) {
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
        end(context);
        try {
            gatherer.close();
            pipe.sink().close();
            pipe.source().close();
        } catch (IOException e) {
            throw new UncheckedIOException("The event loop's pipe does not close.", e);
        }
    }

    /**
     * Closes a context with all of its sockets, as far as it lets itself be closed in time: JeroMQ waits without a
     * limit for each socket to have ended, and an exception on one of its own threads makes that for ever. What is left
     * then are daemon threads.
     */
    static void end(ZContext context) {
        Thread closing = Thread.ofPlatform().daemon().name("zmq-close").start(context::close);
        try {
            closing.join(CLOSING);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private int drain() {
        long now = clock.getAsLong();
        int applied = 0;
        full = false;
        for (int i = 0; i < sockets.size(); i++) {
            EndpointSocket socket = sockets.get(i);
            applied += socket.drain(now);
            full |= socket.full();
        }
        if (applied > 0) {
            arrived = true;
            arrivedAt = now;
        }
        counted += applied;
        if (now - countedSince >= STREAMING_NANOS) {
            dense = counted >= DENSE;
            countedSince = now;
            counted = 0;
        }
        return applied;
    }

    /** Returns true while more is about to come, of which nothing waits yet. */
    private boolean gathering() {
        return (dense || sockets.size() >= MANY) && arrived && !full && clock.getAsLong() - arrivedAt < STREAMING_NANOS;
    }

    private void gather(int millis) {
        try {
            if (gatherer.select(millis) > 0) {
                gatherer.selectedKeys().clear();
                swallowWakeups();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The event loop cannot wait.", e);
        }
    }

    /** Longest time to wait, so that no time limit is overslept. */
    private long waitMillis(int timeoutMillis) {
        long nanos = Math.max(0, timeoutMillis) * 1_000_000L;
        for (int i = 0; i < sockets.size(); i++) {
            nanos = Math.min(nanos, sockets.get(i).idleNanos());
        }
        return (nanos + 999_999) / 1_000_000;
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
