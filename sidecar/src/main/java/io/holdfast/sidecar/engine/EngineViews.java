package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.StreamPosition;
import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.embed.ViewSource;
import io.holdfast.embed.ViewTakeover;
import io.holdfast.events.Subscription;
import io.holdfast.sidecar.store.ViewFile;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Views of one engine's caches across the lives of sidecars: written now and then while they are certain, given to
 * siblings, and taken over where ours is not certain.
 */
public final class EngineViews {
    /*
     * Never more than lost time
     * -------------------------
     * A view is believed when the engine's own batches prove it, and not before; so a file that is old, damaged or of another
     * engine costs one question. One that cannot be written is a line in the log. The event thread copies arrays; bytes,
     * checksum and disk are the executor's, one write at a time, and none where no batch came since the last.
     */
    private static final Logger LOG = LoggerFactory.getLogger(EngineViews.class);

    private final String engineId;
    private final ViewFile file;
    private final List<ViewSource> sources;
    private final CacheTraits traits;
    private final Controller controller;
    private final EventSubscriptions events;
    private final EventThread thread;
    private final Duration interval;
    private final LongSupplier clock;
    private final Executor executor;
    private final LongAdder blind = new LongAdder();
    private volatile List<ViewTakeover> takeovers = List.of();

    /* The event thread's. */
    private long writtenNanos;
    private CompletableFuture<Void> writing = CompletableFuture.completedFuture(null);
    private final Map<Integer, StreamPosition> copied = new HashMap<>();

    /** For the executor alone, one write at a time. */
    private final Map<Integer, StreamPosition> written = new HashMap<>();

    /**
     * Creates them, with nothing read or written yet.
     *
     * @param siblings where else views may be had
     * @param interval how often they are written
     */
    EngineViews(
            String engineId,
            ViewFile file,
            List<ViewSource> siblings,
            CacheTraits traits,
            Controller controller,
            EventSubscriptions events,
            EventThread thread,
            Duration interval,
            LongSupplier clock,
            Executor executor) {
        this.engineId = engineId;
        this.file = file;
        this.sources = Stream.concat(Stream.of(file), siblings.stream()).toList();
        this.traits = traits;
        this.controller = controller;
        this.events = events;
        this.thread = thread;
        this.interval = interval;
        this.clock = clock;
        this.executor = executor;
        this.writtenNanos = clock.getAsLong();
    }

    /** Does what is due, without waiting for it. */
    void look() {
        thread.execute(loop -> thread.attempt(controller, "its view could not be looked after", this::lookNow));
    }

    private void lookNow() {
        List<Subscription> heard = events.subscriptions();
        for (int rank = 0; rank < heard.size(); rank++) {
            takeover(rank).look(heard.get(rank), controller.certain(rank));
        }
        if (clock.getAsLong() - writtenNanos >= interval.toNanos() && writing.isDone()) {
            writtenNanos = clock.getAsLong();
            writing = write(heard);
        }
    }

    /** Writes once more because the process ends; completed when that is done, or cannot be. */
    CompletableFuture<Void> last() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        thread.execute(loop -> {
            thread.attempt(
                    controller,
                    "its view could not be copied",
                    () -> writing = CompletableFuture.allOf(writing, write(events.subscriptions())));
            CompletableFuture<Void> _ = writing.whenComplete((nothing, failure) -> done.complete(null));
        });
        return done;
    }

    private CompletableFuture<Void> write(List<Subscription> heard) {
        Map<Integer, ViewSnapshot> views = new HashMap<>();
        for (int rank = 0; rank < heard.size(); rank++) {
            int at = rank;
            Optional<StreamPosition> position = heard.get(rank).position();
            if (position.isPresent() && !position.equals(Optional.ofNullable(copied.get(rank)))) {
                snapshot(heard.get(rank), rank).ifPresent(view -> {
                    copied.put(at, view.position());
                    views.put(at, view);
                });
            }
        }
        return views.isEmpty()
                ? CompletableFuture.completedFuture(null)
                : CompletableFuture.runAsync(() -> views.forEach(this::write), executor);
    }

    private Optional<ViewSnapshot> snapshot(Subscription heard, int rank) {
        return heard.position().flatMap(at -> controller.snapshot(rank, at));
    }

    private synchronized void write(int rank, ViewSnapshot view) {
        if (view.position().equals(written.get(rank))) {
            return;
        }
        try {
            file.write(rank, view.encode());
            written.put(rank, view.position());
        } catch (IOException | RuntimeException e) {
            LOG.warn(
                    "Engine {}: the view of its cache is not on the disk ({}), so that a start would begin without it.",
                    engineId,
                    e.getMessage());
        }
    }

    /** Gives the view of one rank's cache as a sibling takes it over; empty while that is not certain. */
    public CompletionStage<Optional<byte[]>> encoded(int rank) {
        CompletableFuture<Optional<ViewSnapshot>> copied = new CompletableFuture<>();
        thread.execute(loop -> {
            thread.attempt(controller, "its view could not be copied", () -> {
                List<Subscription> heard = events.subscriptions();
                copied.complete(rank < heard.size() ? snapshot(heard.get(rank), rank) : Optional.empty());
            });
            copied.complete(Optional.empty());
        });
        return copied.thenApplyAsync(view -> view.map(ViewSnapshot::encode), executor);
    }

    private ViewTakeover takeover(int rank) {
        if (takeovers.size() <= rank) {
            List<ViewTakeover> more = new ArrayList<>(takeovers);
            while (more.size() <= rank) {
                int next = more.size();
                more.add(new ViewTakeover(
                        engineId,
                        next,
                        sources,
                        Naming.ENGINE_HASH,
                        traits,
                        clock,
                        thread::execute,
                        view -> thread.attempt(
                                controller,
                                "a view of it could not be taken over",
                                () -> controller.become(next, view))));
            }
            takeovers = List.copyOf(more);
        }
        return takeovers.get(rank);
    }

    /** A router asks what the engine has. */
    public void asked() {
        if (!controller.view().certain()) {
            blind.increment();
        }
    }

    /** Returns how often a router asked what the engine has while that was not certain. */
    public long blind() {
        return blind.sum();
    }

    /** Returns how long it took until the view was certain for the first time; absent before. */
    public Optional<Duration> certainAfter() {
        List<ViewTakeover> looked = takeovers;
        return looked.isEmpty()
                        || looked.stream().anyMatch(one -> one.certainAfter().isEmpty())
                ? Optional.empty()
                : looked.stream().flatMap(one -> one.certainAfter().stream()).max(Comparator.naturalOrder());
    }

    /** State of the view as JSON. */
    public JsonObject json() {
        List<ViewTakeover> looked = takeovers;
        JsonObject json = new JsonObject()
                .put("blindQueries", blind())
                .put("taken", looked.stream().mapToLong(ViewTakeover::taken).sum());
        certainAfter().ifPresent(after -> json.put("certainAfterSeconds", after.toMillis() / 1e3));
        looked.stream().flatMap(one -> one.refusal().stream()).findFirst().ifPresent(why -> json.put("notTaken", why));
        return json;
    }
}
