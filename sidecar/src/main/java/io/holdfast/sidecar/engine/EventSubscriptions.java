package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import io.holdfast.sidecar.engine.EngineFamily.Events;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The event subscriptions of one engine, one for each of its caches.
 *
 * <p>Where the events come from is asked of the engine until it is known, and again whenever the engine was silent and
 * answers again: it may have come back with another endpoint.
 */
public final class EventSubscriptions {
    private static final Logger LOG = LoggerFactory.getLogger(EventSubscriptions.class);

    /** A subscription for each of the engine's caches, and where they listen. */
    private record Followed(List<Subscription> subscriptions, EventSource source) {}

    private final String engineId;
    private final EngineProbe probe;
    private final Controller controller;
    private final EventThread thread;
    private final UnaryOperator<KvEventSink> sinks;
    private final AtomicBoolean asking = new AtomicBoolean();
    private volatile Optional<Followed> followed = Optional.empty();
    private volatile boolean answered;
    private volatile boolean askAgain;
    private volatile boolean closed;
    private volatile String unknown = "the engine was not asked for them yet";

    public EventSubscriptions(
            String engineId,
            EngineProbe probe,
            Controller controller,
            EventThread thread,
            UnaryOperator<KvEventSink> sinks) {
        this.engineId = engineId;
        this.probe = probe;
        this.controller = controller;
        this.thread = thread;
        this.sinks = sinks;
    }

    /** Whether the engine gave its numbers when it was asked for them last. */
    public void answers(boolean now) {
        if (now && !answered) {
            askAgain = true;
        }
        answered = now;
    }

    /** Asks where the events come from where that is not known, or may have changed; one question at a time. */
    public void ask() {
        if ((followed.isEmpty() || askAgain) && asking.compareAndSet(false, true)) {
            probe.eventSource().whenComplete((events, fault) -> {
                if (fault == null) {
                    follow(events);
                } else {
                    LOG.error("Asking engine {} for its events failed.", engineId, fault);
                    asking.set(false);
                }
            });
        }
    }

    private void follow(Events events) {
        switch (events) {
            case Events.Unknown why -> {
                unknown = why.why();
                asking.set(false);
            }
            case Events.At at
            when followed.map(Followed::source).filter(at.source()::equals).isPresent() -> {
                askAgain = false;
                asking.set(false);
            }
            case Events.At at -> thread.execute(loop -> follow(loop, at.source()));
        }
    }

    /** On the event thread. */
    private void follow(KvEventLoop loop, EventSource source) {
        if (closed) {
            return;
        }
        try {
            followed.ifPresent(earlier -> {
                earlier.subscriptions().forEach(loop::unsubscribe);
                // Who publishes elsewhere is another process.
                earlier.subscriptions().forEach(each -> sink(each.rank()).restarted(1));
                LOG.info(
                        "Engine {} publishes no more at {}.",
                        engineId,
                        earlier.source().endpoint());
            });
            followed = Optional.empty();
            followed = Optional.of(new Followed(loop.subscribe(source, this::sink), source));
            askAgain = false;
            LOG.info(
                    "Listening to engine {} at {}{}, {}.",
                    engineId,
                    source.endpoint(),
                    source.ranks() == 1 ? "" : " and the ports above it, " + source.ranks() + " caches in all",
                    source.replayEndpoint()
                            .map(endpoint -> "asking for what was missed at " + endpoint)
                            .orElse("without a place to ask for what was missed"));
        } catch (RuntimeException e) {
            unknown = String.valueOf(e.getMessage());
        } finally {
            asking.set(false);
        }
    }

    /** Listens no more, from the event thread's next round on; answered when that was. */
    CompletionStage<Boolean> stop() {
        closed = true;
        CompletableFuture<Boolean> stopped = new CompletableFuture<>();
        thread.execute(loop -> {
            followed.ifPresent(last -> last.subscriptions().forEach(loop::unsubscribe));
            followed = Optional.empty();
            stopped.complete(true);
        });
        return stopped;
    }

    private KvEventSink sink(int rank) {
        return thread.guarded(controller, sinks.apply(controller.events(rank)));
    }

    /** One for each of the engine's caches, by rank; empty before it is known where they publish. */
    public List<Subscription> subscriptions() {
        return followed.map(Followed::subscriptions).orElse(List.of());
    }

    /** Why events are not heard now; absent when they are. */
    public Optional<String> trouble() {
        List<Subscription> now = subscriptions();
        if (now.isEmpty()) {
            return Optional.of("its events are not subscribed to: " + unknown);
        }
        return now.stream().filter(each -> !each.connected()).findFirst().map(Subscription::silence);
    }

    /** Reason why nothing is subscribed to; absent where something is. */
    Optional<String> unsubscribed() {
        return followed.isEmpty() ? Optional.of(unknown) : Optional.empty();
    }
}
