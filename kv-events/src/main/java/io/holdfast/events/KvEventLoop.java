package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.function.LongSupplier;
import java.util.stream.IntStream;

/*
 * All engines' event sockets on one thread, which is not ours.
 *
 * Duty. The owner calls doWork again and again on one thread; that thread is the only one that touches the sockets and
 * the sinks, so whatever the sinks feed has a single writer. Only wakeup may come from elsewhere. There are no timers:
 * time limits are looked at when doWork is called, and it waits no longer than until the next of them.
 *
 * Bounds. One call takes at most 256 messages or 8 MiB from each socket before the next has its turn, so that the owner
 * comes back to its own work under any flood. What a flood leaves in a socket is taken by the next call, without
 * waiting first; Subscription.fullRounds counts how often that was so. A message above 64 MiB ends the connection
 * instead of being buffered. While past batches are requested, at most 4096 live batches or 16 MiB wait for each cache.
 *
 * Cost. To be woken for each batch of an engine that sends hundreds a second costs more than to apply them: caches are
 * cold each time. The first batch after a pause is applied at once; after a round that applied something, the next one
 * waits until the gathering time is over, 10 ms unless the owner says otherwise, and then takes all that came. Nothing
 * waits where somebody called wakeup or where the last round left something behind. While past batches are requested rounds
 * come each few milliseconds: the view waits for them, but a publisher that does not answer must not make every other
 * engine's batches be read one by one.
 *
 * Loss. Publishers drop silently when their queue for a subscriber is full; what is lost shows in the sequence and is
 * requested again, where the engine keeps past batches. A publisher that goes away is reconnected to.
 */

/** Subscribes to engines' event streams, decodes what arrives and hands it to each engine's sink. */
public final class KvEventLoop implements AutoCloseable {
    private static final Duration GATHER = Duration.ofMillis(10);
    private static final int NANOS_A_MILLI = 1_000_000;
    private static final long ASKING_NANOS = 5_000_000;

    private final LongSupplier clock;
    private final FrameListener frames;
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final List<EndpointSocket> sockets = new ArrayList<>();
    private final Selector selector;
    /** Has no channels: only a wakeup ends a wait here. */
    private final Selector gatherer;

    private volatile long gatherNanos = GATHER.toNanos();
    private volatile boolean woken;
    private volatile boolean gathering;
    private boolean full;
    private boolean applied;
    private long beganAt;
    private final GatherPace pace = new GatherPace();
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
            selector = Selector.open();
            gatherer = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException("The system has no file left to wait for events with.", e);
        }
    }

    /** Lets batches gather for so long before a round applies them; any thread. */
    public void gatherFor(Duration time) {
        gatherNanos = time.toNanos();
    }

    /**
     * Begins to listen to an engine, which need not be there yet.
     *
     * <p>On the loop's thread, or before its first {@link #doWork}.
     *
     * @param sinkOfRank the sink of each of its caches
     * @return one for each of its caches, by rank
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
        return new EndpointSocket(
                selector, this::wakeup, source, subscriptions, sinkOfRank, decoder, clock.getAsLong());
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
     * Offers a view to a subscription that does not know all, on the loop's thread; the view is told what becomes of it,
     * at once or in a later round.
     */
    public void offer(Subscription subscription, OfferedView view) {
        Optional<EndpointSocket> socket = sockets.stream()
                .filter(each -> each.subscriptions().contains(subscription))
                .findFirst();
        if (socket.isPresent()) {
            socket.get().offer(subscription, view);
        } else {
            view.refused("the subscription ended");
        }
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
        long timeout = full ? 0 : Math.max(0, timeoutMillis) * (long) NANOS_A_MILLI;
        try {
            if (timeout > 0 && applied) {
                long since = clock.getAsLong() - beganAt;
                await(true, Math.min(timeout, gather() - since));
                timeout = 0;
            }
            await(false, timeout);
        } catch (IOException e) {
            throw new UncheckedIOException("The event loop cannot wait.", e);
        }
        woken = false;
        return drain();
    }

    private long gather() {
        long usual = pace.nanos(gatherNanos);
        return sockets.stream().anyMatch(EndpointSocket::asks) ? Math.min(usual, ASKING_NANOS) : usual;
    }

    /** Waits until something arrives, a time limit is near, somebody wakes the loop, or this time is over. */
    private void await(boolean gathers, long nanos) throws IOException {
        long wait = nanos;
        for (int i = 0; wait > 0 && i < sockets.size(); i++) {
            wait = Math.min(wait, sockets.get(i).idleNanos());
        }
        gathering = gathers;
        Selector at = gathers ? gatherer : selector;
        if (woken || wait <= 0) {
            at.selectNow();
        } else {
            at.select((wait + NANOS_A_MILLI - 1) / NANOS_A_MILLI);
        }
        at.selectedKeys().forEach(key -> ((PeerSocket) key.attachment()).readable());
        at.selectedKeys().clear();
    }

    /** Time at which the last round began: what arrived before it is applied. On the loop's thread. */
    public long beganAt() {
        return beganAt;
    }

    /** Makes {@link #doWork} return soon. From any thread. */
    public void wakeup() {
        woken = true;
        (gathering ? gatherer : selector).wakeup();
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        sockets.forEach(EndpointSocket::close);
        try {
            gatherer.close();
            selector.close();
        } catch (IOException e) {
            throw new UncheckedIOException("The event loop does not close.", e);
        }
    }

    private int drain() {
        beganAt = clock.getAsLong();
        int batches = 0;
        full = false;
        double most = 0;
        for (int i = 0; i < sockets.size(); i++) {
            EndpointSocket socket = sockets.get(i);
            batches += socket.drain(beganAt);
            full |= socket.full();
            most = Math.max(most, socket.takeFill());
        }
        pace.round(most, full, gatherNanos);
        applied = batches > 0;
        return batches;
    }
}
