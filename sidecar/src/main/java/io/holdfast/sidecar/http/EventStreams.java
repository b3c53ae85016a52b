package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.ApiError;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.RoutingContext;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Answers that do not end: server-sent events for a bounded number of listeners.
 *
 * <h2>Slow readers</h2>
 *
 * Nothing waits in a queue of ours. A listener's source is asked what to say next only while its connection takes more, so
 * that a reader who is slow is told less often, and what it is told is new; a comment says that something was passed over. One
 * that takes nothing for half a minute is cut off.
 *
 * <h2>Silence</h2>
 *
 * A comment every few seconds keeps the connection open on its way, and tells the reader that what it has is still how
 * things are.
 */
final class EventStreams implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EventStreams.class);
    static final int MOST = 32;
    private static final Duration BEATS = Duration.ofSeconds(5);
    private static final Duration STUCK = Duration.ofSeconds(30);
    private static final int QUEUE_BYTES = 64 << 10;

    private final ConnectionGuard guard;
    private final Vertx vertx;
    private final LongSupplier clock;
    private final Set<Listener> listeners = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Events that one listener wants. */
    @FunctionalInterface
    interface Source {
        /** The text of the next event, if there is one; asked when the connection takes more. */
        Optional<String> next();
    }

    EventStreams(Vertx vertx, ConnectionGuard guard, LongSupplier clock) {
        this.vertx = vertx;
        this.guard = guard;
        this.clock = clock;
    }

    /** One event; the data is of one line, as JSON is. */
    static String event(String name, Optional<String> id, String data) {
        return id.map(its -> "id: " + its + "\n").orElse("") + "event: " + name + "\ndata: " + data + "\n\n";
    }

    /** @throws ApiError when there are as many listeners as there may be, or when the sidecar ends */
    void open(RoutingContext routing, Source source) {
        if (closed.get()) {
            throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
        }
        if (listeners.size() >= MOST) {
            throw new ApiError(
                    503,
                    "As many as may listen do so already (" + MOST
                            + "); close one of them, or ask for the same without /stream.");
        }
        Listener listener = new Listener(routing, source);
        listeners.add(listener);
        listener.begin();
    }

    int listening() {
        return listeners.size();
    }

    /** Something may have changed: every listener's source is asked. */
    void tell() {
        listeners.forEach(listener -> listener.context.runOnContext(now -> listener.pump(true)));
    }

    /** Has the silent ones hear that the connection lives, and cuts off those that take nothing. */
    void beat() {
        listeners.forEach(listener -> listener.context.runOnContext(now -> listener.beat()));
    }

    /** Ends every stream with an event that says why; completed when they have been told. */
    Future<Void> end() {
        closed.set(true);
        return Future.join(listeners.stream().map(Listener::end).toList()).mapEmpty();
    }

    @Override
    public void close() {
        closed.set(true);
        listeners.clear();
    }

    /** One of them; its methods are for its connection's own context. */
    private final class Listener {
        private final RoutingContext routing;
        private final Context context;
        private final HttpServerResponse response;
        private final Source source;
        private long wroteNanos = clock.getAsLong();
        private boolean full;
        private boolean passedOver;

        private Listener(RoutingContext routing, Source source) {
            this.routing = routing;
            this.context = vertx.getOrCreateContext();
            this.response = routing.response();
            this.source = source;
        }

        private void begin() {
            guard.streams(routing.request());
            response.closeHandler(gone -> listeners.remove(this));
            response.exceptionHandler(gone -> listeners.remove(this));
            response.setWriteQueueMaxSize(QUEUE_BYTES);
            response.setChunked(true)
                    .putHeader("content-type", "text/event-stream; charset=utf-8")
                    .putHeader("cache-control", "no-store")
                    // A proxy that collects an answer before it hands it on would make this one late for ever.
                    .putHeader("x-accel-buffering", "no");
            write("retry: 2000\n\n");
            pump(false);
        }

        private void pump(boolean something) {
            try {
                if (!over()) {
                    say(something);
                }
            } catch (RuntimeException e) {
                LOG.error("A stream of events failed, and its connection is closed.", e);
                listeners.remove(this);
                guard.cutOff(routing.request());
            }
        }

        private void say(boolean something) {
            if (response.writeQueueFull()) {
                passedOver |= something;
                awaitRoom();
                return;
            }
            if (passedOver) {
                passedOver = false;
                write(": you read slowly, so something in between may have been passed over\n\n");
            }
            Optional<String> next = source.next();
            while (next.isPresent()) {
                write(next.get());
                if (response.writeQueueFull()) {
                    awaitRoom();
                    return;
                }
                next = source.next();
            }
        }

        private void awaitRoom() {
            if (!full) {
                full = true;
                response.drainHandler(room -> {
                    full = false;
                    wroteNanos = clock.getAsLong();
                    pump(false);
                });
            }
        }

        private void beat() {
            if (over()) {
                return;
            }
            long silent = clock.getAsLong() - wroteNanos;
            if (response.writeQueueFull()) {
                if (silent >= STUCK.toNanos()) {
                    listeners.remove(this);
                    guard.cutOff(routing.request());
                }
            } else if (silent >= BEATS.toNanos()) {
                write(": nothing has changed\n\n");
            }
        }

        private Future<Void> end() {
            return Future.future(told -> context.runOnContext(now -> {
                listeners.remove(this);
                if (over()) {
                    told.complete();
                } else {
                    response.end(event(
                                    "end",
                                    Optional.empty(),
                                    new JsonObject()
                                            .put("reason", "The sidecar is shutting down.")
                                            .encode()))
                            .onComplete(done -> told.complete());
                }
            }));
        }

        private boolean over() {
            return response.ended() || response.closed();
        }

        private void write(String text) {
            wroteNanos = clock.getAsLong();
            Future<Void> _ = response.write(text);
        }
    }
}
