package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.sidecar.store.LearnedFile;
import io.holdfast.sidecar.store.LearnedFile.Found;
import io.holdfast.sidecar.store.LearnedFile.Snapshot;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps what is learned of one engine through restarts of the sidecar: takes it up once, then writes it now and then. */
final class LearnedSnapshots {
    /*
     * Whose it is
     * -----------
     * Nothing is read and nothing is written before the engine said which one it is: what was learned at another address, or
     * of another model, is nothing to this one. When an engine turns out to serve another model, the controller forgets what
     * it learned, and learning begins anew here as well.
     *
     * Never more than lost time
     * -------------------------
     * A file that cannot be read is left aside, one that cannot be written is a note; nothing waits for either. The event
     * thread copies numbers; text, checksum and disk are the executor's, one snapshot at a time.
     *
     * Which clock
     * -----------
     * When the next snapshot is due is told by the clock that only goes forward. How long nobody looked is the difference of
     * two times of the wall, taken for none where the wall went back: what was learned looks younger than it is then, and
     * older where the wall was set forward, and both only change how much of it counts.
     */
    private static final Logger LOG = LoggerFactory.getLogger(LearnedSnapshots.class);
    /** Beyond this nothing fades any further. */
    private static final Duration LONGEST_AWAY = Duration.ofDays(30);

    private final String engineId;
    private final LearnedFile file;
    private final Controller controller;
    private final Supplier<Optional<EngineIdentity>> engine;
    private final Duration interval;
    private final LongSupplier clock;
    private final InstantSource wall;
    private final Executor executor;
    private final AtomicReference<State> state = new AtomicReference<>(State.NONE);
    /** What is under way, or was last. */
    private CompletableFuture<Void> work = CompletableFuture.completedFuture(null);

    private long attemptedNanos;

    /**
     * What is known.
     *
     * @param of whose it is; absent before the engine said which one it is
     * @param since when all of it began to be learned
     * @param taken when the file's content was taken
     * @param written how many were written here
     */
    private record State(
            Optional<EngineIdentity> of,
            Optional<Instant> since,
            Optional<Instant> taken,
            Optional<String> notTakenUp,
            Optional<String> notWritten,
            long written) {
        static final State NONE =
                new State(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), 0);

        State begun(EngineIdentity engine, Instant begin, Optional<Instant> onDisk, Optional<String> why) {
            return new State(Optional.of(engine), Optional.of(begin), onDisk, why, Optional.empty(), written);
        }

        State dropped(Instant now, String why) {
            return new State(of, Optional.of(now), taken, Optional.of(why), notWritten, written);
        }

        State known(EngineIdentity engine) {
            return new State(Optional.of(engine), since, taken, notTakenUp, notWritten, written);
        }

        State written(Instant at) {
            return new State(of, since, Optional.of(at), notTakenUp, Optional.empty(), written + 1);
        }

        State notWritten(String why) {
            return new State(of, since, taken, notTakenUp, Optional.of(why), written);
        }
    }

    LearnedSnapshots(
            String engineId,
            LearnedFile file,
            Controller controller,
            Supplier<Optional<EngineIdentity>> engine,
            Duration interval,
            LongSupplier clock,
            InstantSource wall,
            Executor executor) {
        this.engineId = engineId;
        this.file = file;
        this.controller = controller;
        this.engine = engine;
        this.interval = interval;
        this.clock = clock;
        this.wall = wall;
        this.executor = executor;
    }

    /** Does what is due, without waiting for it; to be called by one thread at a time. */
    synchronized void look() {
        Optional<EngineIdentity> engineNow = engine.get();
        if (engineNow.isEmpty() || !work.isDone()) {
            return;
        }
        EngineIdentity here = engineNow.get();
        Optional<EngineIdentity> of = state.get().of;
        if (of.isEmpty()) {
            attemptedNanos = clock.getAsLong();
            work = noted(CompletableFuture.runAsync(() -> takeUp(here, file.read(here)), executor));
        } else if (!of.get().sameAs(here)) {
            another(of.get(), here);
        } else if (clock.getAsLong() - attemptedNanos >= interval.toNanos()) {
            state.updateAndGet(now -> now.known(here));
            work = take();
        }
    }

    /** Writes once more because the process ends; completed when that is done, or cannot be. */
    synchronized CompletableFuture<Void> last() {
        if (state.get().of.isPresent() && work.isDone()) {
            work = take();
        }
        return work;
    }

    private void takeUp(EngineIdentity here, Found found) {
        Instant now = now();
        switch (found) {
            case Found.Nothing _ -> state.updateAndGet(at -> at.begun(here, now, Optional.empty(), Optional.empty()));
            case Found.Aside aside -> {
                LOG.warn("Engine {}: {}.", engineId, aside.why());
                state.updateAndGet(at -> at.begun(here, now, Optional.empty(), Optional.of(aside.why())));
            }
            case Found.Whole whole -> {
                Snapshot snapshot = whole.snapshot();
                Duration away = Duration.between(snapshot.taken(), now);
                state.updateAndGet(
                        at -> at.begun(here, snapshot.since(), Optional.of(snapshot.taken()), Optional.empty()));
                CompletionStage<Void> _ = controller
                        .restoreLearned(snapshot.learned(), within(away))
                        .thenAccept(dropped -> dropped.ifPresent(this::dropped));
                LOG.info(
                        "Engine {}: what was learned since {} is taken up; it was written {} s ago.",
                        engineId,
                        snapshot.since(),
                        away.toSeconds());
            }
        }
    }

    /** As the file has it. */
    private Instant now() {
        return wall.instant().truncatedTo(ChronoUnit.MILLIS);
    }

    private static Duration within(Duration away) {
        return away.isNegative() ? Duration.ZERO : away.compareTo(LONGEST_AWAY) > 0 ? LONGEST_AWAY : away;
    }

    private void dropped(String why) {
        String sentence = "what an earlier process learned is not taken up as it is: " + why;
        LOG.warn("Engine {}: {}.", engineId, sentence);
        state.updateAndGet(at -> at.dropped(now(), sentence));
    }

    private void another(EngineIdentity before, EngineIdentity here) {
        String sentence = "the engine was the one at " + before.shown() + " and is the one at " + here.shown()
                + " now, so learning begins anew";
        LOG.info("Engine {}: {}.", engineId, sentence);
        state.updateAndGet(at -> at.begun(here, now(), at.taken, Optional.of(sentence)));
    }

    private CompletableFuture<Void> take() {
        attemptedNanos = clock.getAsLong();
        State now = state.get();
        return noted(controller
                .learned()
                .thenAcceptAsync(
                        learned -> learned.ifPresent(known ->
                                write(new Snapshot(now.of.orElseThrow(), now.since.orElseThrow(), now(), known))),
                        executor));
    }

    private void write(Snapshot snapshot) {
        try {
            file.write(snapshot);
            state.updateAndGet(at -> at.written(snapshot.taken()));
        } catch (IOException e) {
            String why = "what is learned is not on the disk (" + e.getMessage()
                    + "), so that a start would learn it anew: free space on the disk of the state directory or mend"
                    + " it";
            if (state.getAndUpdate(at -> at.notWritten(why)).notWritten.isEmpty()) {
                LOG.warn("Engine {}: {}.", engineId, why);
            }
        }
    }

    private CompletableFuture<Void> noted(CompletionStage<Void> stage) {
        return stage.whenComplete((done, failure) -> {
                    if (failure != null) {
                        LOG.warn("Engine {}: no snapshot of what was learned ({}).", engineId, failure.toString());
                    }
                })
                .toCompletableFuture();
    }

    /** What a person should know; absent while all is well. */
    Optional<String> note() {
        return state.get().notWritten;
    }

    /** Since when it has learned, how old the last snapshot is, and why that is not younger or nothing was taken up. */
    JsonObject json() {
        State now = state.get();
        JsonObject json = new JsonObject().put("snapshots", now.written);
        now.since.ifPresent(since -> json.put("since", since.toString()));
        now.taken
                .map(taken -> Duration.between(taken, now()).toSeconds())
                .ifPresent(age -> json.put("snapshotAgeSeconds", Math.max(0, age)));
        now.notTakenUp.ifPresent(why -> json.put("notTakenUp", why));
        now.notWritten.ifPresent(why -> json.put("notWritten", why));
        return json;
    }
}
