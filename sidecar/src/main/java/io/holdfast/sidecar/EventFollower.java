package io.holdfast.sidecar;

import io.holdfast.core.Controller;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import io.holdfast.sidecar.EngineProbe.Events;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The event subscription of one engine.
 *
 * <p>Where the events come from is asked of the engine until it is known, and again whenever the engine was silent and
 * answers again: it may have come back with another endpoint.
 */
final class EventFollower {
    private static final Logger LOG = LoggerFactory.getLogger(EventFollower.class);

    /** A subscription and where it listens. */
    private record Followed(Subscription subscription, EventSource source) {}

    private final String engineId;
    private final EngineProbe probe;
    private final Controller controller;
    private final EventThread thread;
    private final UnaryOperator<KvEventSink> sinks;
    private final AtomicBoolean asking = new AtomicBoolean();
    private volatile Optional<Followed> followed = Optional.empty();
    private volatile boolean answered;
    private volatile boolean askAgain;
    private volatile String unknown = "the engine was not asked for them yet";

    EventFollower(
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
    void answers(boolean now) {
        if (now && !answered) {
            askAgain = true;
        }
        answered = now;
    }

    /** Asks where the events come from where that is not known, or may have changed; one question at a time. */
    void ask() {
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
        try {
            KvEventSink sink = thread.guarded(controller, sinks.apply(controller.events()));
            followed.ifPresent(earlier -> {
                loop.unsubscribe(earlier.subscription());
                // Who publishes elsewhere is another process.
                sink.restarted(1);
                LOG.info(
                        "Engine {} publishes no more at {}.",
                        engineId,
                        earlier.source().endpoint());
            });
            followed = Optional.empty();
            followed = Optional.of(
                    new Followed(loop.subscribe(source, rank -> sink).getFirst(), source));
            askAgain = false;
            LOG.info(
                    "Listening to engine {} at {}, {}.",
                    engineId,
                    source.endpoint(),
                    source.replayEndpoint()
                            .map(endpoint -> "asking for what was missed at " + endpoint)
                            .orElse("without a place to ask for what was missed"));
        } catch (RuntimeException e) {
            unknown = String.valueOf(e.getMessage());
        } finally {
            asking.set(false);
        }
    }

    Optional<Subscription> subscription() {
        return followed.map(Followed::subscription);
    }

    /** Why events are not heard now; absent when they are. */
    Optional<String> trouble() {
        Optional<Subscription> now = subscription();
        if (now.isEmpty()) {
            return Optional.of("its events are not subscribed to: " + unknown);
        }
        return now.get().connected()
                ? Optional.empty()
                : Optional.of("its events do not answer at " + now.get().endpoint());
    }

    JsonObject json() {
        JsonObject events = new JsonObject();
        subscription()
                .ifPresentOrElse(
                        wire -> {
                            events.put("endpoint", wire.endpoint())
                                    .put("connected", wire.connected())
                                    .put("received", wire.received())
                                    .put("refused", wire.refused())
                                    .put("unknownEvents", wire.unknownEvents())
                                    .put("duplicates", wire.duplicates())
                                    .put("fullRounds", wire.fullRounds());
                            wire.replayEndpoint()
                                    .ifPresent(endpoint -> events.put("replayEndpoint", endpoint)
                                            .put("replays", wire.replays())
                                            .put("failedReplays", wire.failedReplays())
                                            .put("replayedBatches", wire.replayedBatches()));
                            wire.lastReplayFailure().ifPresent(sentence -> events.put("lastReplayFailure", sentence));
                            wire.lastRefusal().ifPresent(sentence -> events.put("lastRefusal", sentence));
                        },
                        () -> events.put("connected", false).put("why", unknown));
        return events;
    }
}
