package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Generation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/*
 * Streaming sessions: each keeps the KV of its request, and what that request found in the tree stays locked.
 *
 * What is kept
 * ------------
 * A session's request is admitted like any other. When it ends its lock stays, and so do the slots that it holds beside
 * the tree, which nobody else finds. An answer of one token ends with the prefill, so that nothing of the prompt is
 * stored: others find what was in the tree before, and no more. With a longer answer, or a prompt in chunks, the prompt
 * was stored when the prefill was done, and the lock is on all of it.
 *
 * How it ends
 * -----------
 * A session ends when it is closed, or when its last request is longer ago than its time; that is looked at once a
 * second at most, and in a pass only, so what ended in an idle engine is there until its next pass. While its request is
 * under way it is only marked, and ends after that. A request that was aborted leaves nothing. A flush takes what the
 * sessions keep and leaves them open.
 *
 * Not followed: a second request of a session, which would go on after the first one's answer; it is refused.
 */
final class StreamingSessions {
    private static final long SECOND = 1_000_000_000L;

    private static final class Session {
        private final Optional<Duration> time;
        private long usedNanos;
        private boolean used;
        private boolean closing;
        private Optional<Generation> underWay = Optional.empty();
        private Optional<RadixNode> locked = Optional.empty();
        private int held;

        Session(Optional<Duration> time, long nanos) {
            this.time = time;
            this.usedNanos = nanos;
        }

        private long endNanos() {
            return time.map(limit -> usedNanos + limit.toNanos()).orElse(Long.MAX_VALUE);
        }
    }

    private final RadixCache cache;
    private final Map<String, Session> open = new LinkedHashMap<>();
    private long lookedNanos;

    StreamingSessions(RadixCache cache) {
        this.cache = cache;
    }

    /** Opens a session; false where one of that id is open. */
    boolean open(String id, Optional<Duration> time, long nanos) {
        return open.putIfAbsent(id, new Session(time, nanos)) == null;
    }

    /** Takes in that a request of the session has arrived; says why it is refused. */
    Optional<String> arrived(String id, Generation request, long nanos) {
        Session session = open.get(id);
        if (session == null) {
            return Optional.of("Invalid request: session id " + id + " does not exist");
        }
        if (session.closing) {
            return Optional.of("Invalid request: close was requested for session " + id);
        }
        if (session.underWay.isPresent()) {
            return Optional.of("Streaming session already has an active request.");
        }
        if (session.used) {
            return Optional.of("This emulator plays one request of a streaming session, and no further one.");
        }
        session.usedNanos = nanos;
        session.underWay = Optional.of(request);
        return Optional.empty();
    }

    /** Keeps what the request has, which ends now; false where it belongs to no session. */
    boolean keeps(RadixRequest active) {
        Optional<Session> own = of(active.request);
        own.ifPresent(session -> {
            session.underWay = Optional.empty();
            session.used = true;
            session.locked = Optional.of(active.node);
            session.held = active.held;
            active.held = 0;
        });
        return own.isPresent();
    }

    /** Takes in that the request is gone, and nothing of it is kept. */
    void dropped(Generation request) {
        of(request).ifPresent(session -> session.underWay = Optional.empty());
    }

    private Optional<Session> of(Generation request) {
        return open.values().stream()
                .filter(session ->
                        session.underWay.filter(own -> own == request).isPresent())
                .findFirst();
    }

    /** Ends a session; nothing happens if there is none of that id. */
    void close(String id) {
        Session session = open.get(id);
        if (session == null) {
            return;
        }
        session.closing = true;
        if (session.underWay.isEmpty()) {
            open.remove(id);
            session.locked.ifPresent(cache::unlock);
            cache.giveBack(session.held);
        }
    }

    /** Ends those whose time has run out, and those that were to be closed and whose request is over. */
    void look(long nanos) {
        if (nanos - lookedNanos > SECOND) {
            lookedNanos = nanos;
            List<String> over = new ArrayList<>();
            open.forEach((id, session) -> {
                if (session.closing || nanos > session.endNanos()) {
                    over.add(id);
                }
            });
            over.forEach(this::close);
        }
    }

    /** Next time to look while there is anything that may end; absent where nothing can. */
    OptionalLong nextLookNanos(long nanos) {
        return open.isEmpty() ? OptionalLong.empty() : OptionalLong.of(nanos + SECOND);
    }

    /** Takes in that the cache was emptied, locks and slots included. */
    void cleared() {
        open.values().forEach(session -> {
            session.locked = Optional.empty();
            session.held = 0;
        });
    }

    /** Nodes down to which open sessions lock, by the session's id, for observers. */
    Map<String, RadixNode> locks() {
        Map<String, RadixNode> locks = new HashMap<>();
        open.forEach((id, session) -> session.locked.ifPresent(node -> locks.put(id, node)));
        return locks;
    }
}
