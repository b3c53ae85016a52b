package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.HttpLimits;
import io.vertx.core.Future;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.impl.VertxConnection;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The connections of the API: how many there are, and how long each may take for what it is at.
 *
 * <p>Every connection has one deadline at any time: to its first headers, to the end of a body, to the end of an answer, to
 * the next request. A client that sends a byte now and then moves none of them. When there are as many as there may be, a
 * newcomer takes the place of the connection that has waited longest without a request, so that those who only sit there
 * shut nobody out. A stream has no deadline: whoever serves it bounds how many there are, and ends those that are not read.
 * All methods are for the server's event loop.
 */
final class ConnectionGuard {
    private static final long MOST_UNWRITTEN = 64 << 10;

    private final HttpLimits limits;
    private final LongSupplier clock;
    private final Map<HttpConnection, Slot> slots = new HashMap<>();

    ConnectionGuard(HttpLimits limits, LongSupplier clock) {
        this.limits = limits;
        this.clock = clock;
    }

    void opened(HttpConnection connection) {
        if (slots.size() >= limits.connections()) {
            // A body that does not come is worth less than whoever asks now: it may be a probe.
            Optional<Slot> waiting = oldest(slot -> !slot.busy).or(() -> oldest(slot -> !slot.bodyEnded));
            if (waiting.isEmpty()) {
                cut(connection);
                return;
            }
            close(waiting.get());
        }
        slots.put(connection, new Slot(connection));
        connection.closeHandler(gone -> slots.remove(connection));
    }

    private Optional<Slot> oldest(Predicate<Slot> which) {
        return slots.values().stream().filter(which).min(Comparator.comparingLong(slot -> slot.since));
    }

    /** Follows one request and its answer; false where it is refused with its connection. */
    boolean began(HttpServerRequest request) {
        Slot slot = slots.get(request.connection());
        // Answers that nobody reads would pile up: whoever asks on must have read what was answered before.
        if (slot == null || slot.unwritten > MOST_UNWRITTEN) {
            slots.remove(request.connection());
            cut(request.connection());
            return false;
        }
        slot.begin(request);
        return true;
    }

    /** Throws the rest of a body away, and the connection with it when that is too much. */
    void discard(HttpServerRequest request) {
        Slot slot = slots.get(request.connection());
        if (slot != null) {
            slot.discard(request);
        }
    }

    /** Counts an answer for its connection until it is written. */
    void answering(HttpServerRequest request, long bytes, Future<Void> written) {
        Slot slot = slots.get(request.connection());
        if (slot != null) {
            slot.unwritten += bytes;
            written.onComplete(done -> slot.unwritten -= bytes);
        }
    }

    /** Lets the answer to this request go on for as long as its stream looks after it. */
    void streams(HttpServerRequest request) {
        Slot slot = slots.get(request.connection());
        if (slot != null) {
            slot.streaming = true;
        }
    }

    /** Ends the connection of this request now, read or not. */
    void cutOff(HttpServerRequest request) {
        slots.remove(request.connection());
        cut(request.connection());
    }

    /** Sets the refusal that is sent if the body does not come in time. */
    void onBodyLate(HttpServerRequest request, Runnable refusal) {
        Slot slot = slots.get(request.connection());
        if (slot != null) {
            slot.bodyLate = Optional.of(refusal);
        }
    }

    /** Ends what has outlived its deadline. */
    void sweep() {
        long now = clock.getAsLong();
        for (Slot slot : new ArrayList<>(slots.values())) {
            if (!slot.streaming && now - slot.deadline >= 0) {
                late(slot, now);
            }
        }
    }

    int open() {
        return slots.size();
    }

    private void late(Slot slot, long now) {
        List<Runnable> refusal = slot.bodyLate.stream().toList();
        slot.bodyLate = Optional.empty();
        if (refusal.isEmpty()) {
            close(slot);
        } else {
            // A sentence first; what is left of the time is for it to be read.
            slot.deadline = now + limits.times().header().toNanos();
            refusal.getFirst().run();
        }
    }

    private void close(Slot slot) {
        slots.remove(slot.connection);
        cut(slot.connection);
    }

    /** Closing as the API offers it waits until everything is written, which a client that does not read prevents for ever. */
    private static void cut(HttpConnection connection) {
        if (connection instanceof VertxConnection channel) {
            var _ = channel.channelHandlerContext().close();
        } else {
            var _ = connection.close();
        }
    }

    /** One connection. */
    private final class Slot {
        private final HttpConnection connection;
        private boolean busy;
        private boolean bodyEnded;
        private boolean answered;
        private boolean streaming;
        private long since = clock.getAsLong();
        private long deadline = since + limits.times().header().toNanos();
        private long discarded;
        private long unwritten;
        private Optional<Runnable> bodyLate = Optional.empty();

        private Slot(HttpConnection connection) {
            this.connection = connection;
        }

        private void begin(HttpServerRequest request) {
            busy = true;
            bodyEnded = false;
            answered = false;
            discarded = 0;
            bodyLate = Optional.empty();
            since = clock.getAsLong();
            deadline = since + limits.times().body().toNanos();
            request.exceptionHandler(gone -> {});
            request.end().onComplete(ended -> {
                if (ended.succeeded()) {
                    bodyEnded = true;
                    turn();
                }
            });
            request.response().endHandler(ended -> {
                answered = true;
                streaming = false;
                turn();
            });
            discard(request);
        }

        private void discard(HttpServerRequest request) {
            request.handler(piece -> {
                discarded += piece.length();
                if (discarded > limits.discardedBytes()) {
                    close(this);
                }
            });
        }

        private void turn() {
            long now = clock.getAsLong();
            if (bodyEnded) {
                bodyLate = Optional.empty();
                busy = !answered;
                since = now;
                deadline =
                        now + (answered ? limits.times().idle() : limits.times().answer()).toNanos();
            }
        }
    }
}
