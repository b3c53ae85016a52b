package io.holdfast.sidecar;

import io.holdfast.core.Controller;
import io.holdfast.core.DryRunBackend;
import io.holdfast.core.EngineView;
import io.holdfast.core.HoldRequest;
import io.holdfast.core.HoldView;
import io.holdfast.core.Reading;
import io.holdfast.core.Released;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.events.Subscription;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sidecar.EngineConfig.EngineType;
import io.holdfast.sidecar.EngineProbe.Events;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One engine as the sidecar follows it: its controller, its event subscription and the asking for its numbers.
 *
 * <p>The engine need not be there: where its events come from is asked again with every reading until it answers.
 */
final class EngineLink implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineLink.class);

    private final EngineConfig config;
    private final FileLedgerStore ledger;
    private final EngineProbe probe;
    private final EngineHttp http;
    private final MeteredBackend backend;
    private final Controller controller;
    private final EventThread thread;
    private final Executor executor;
    private final LongSupplier clock;
    /** Completed by the next answer of the engine, and then replaced. */
    private final AtomicReference<CompletableFuture<Boolean>> nextAnswer =
            new AtomicReference<>(new CompletableFuture<>());

    private final AtomicBoolean reading = new AtomicBoolean();
    private final AtomicBoolean subscribing = new AtomicBoolean();
    private volatile Optional<Subscription> subscription = Optional.empty();
    private volatile String notSubscribed = "the engine was not asked for them yet";
    private volatile Optional<SegmentReading> segment = Optional.empty();
    /** When everything was let go of. Guarded by this, as is the order in which wishes about it reach the controller. */
    private OptionalLong pausedNanos = OptionalLong.empty();

    private EngineLink(
            EngineConfig config, FileLedgerStore ledger, EngineHttp http, EventThread thread, Surroundings around)
            throws IOException {
        this.config = config;
        this.ledger = ledger;
        this.http = http;
        this.thread = thread;
        this.probe = EngineProbe.of(config, http, around.clock());
        this.executor = around.executor();
        this.clock = around.clock();
        this.backend = new MeteredBackend(
                switch (config.backend()) {
                    case PIN_BLOCKS -> new PinBlocksBackend(http, around.timer());
                    case DRY_RUN -> new DryRunBackend();
                },
                config.id(),
                around.registry(),
                nextAnswer::get,
                ledger::stuck);
        this.controller = new Controller(
                config.controllerSettings(),
                config.requestRules(),
                backend,
                ledger,
                around.executor(),
                new SplittableRandom());
    }

    /** What all engines share. */
    record Surroundings(
            LongSupplier clock, ExecutorService executor, ScheduledExecutorService timer, MeterRegistry registry) {}

    /**
     * Opens the ledger and lets the thread drive the controller from then on.
     *
     * @throws IOException with one sentence, when the ledger cannot be had
     */
    static EngineLink open(EngineConfig config, Path stateDirectory, EventThread thread, Surroundings around)
            throws IOException {
        Map<String, String> headers = config.apiKeyEnv().isEmpty()
                ? Map.of()
                : Map.of(
                        "Authorization",
                        Secret.read(System.getenv(), config.apiKeyEnv().get(), "engines." + config.id() + ".apiKeyEnv")
                                .bearer());
        FileLedgerStore ledger = FileLedgerStore.open(stateDirectory, config.id());
        EngineHttp http = new EngineHttp(
                EngineHttpSettings.of(config.url()).withHeaders(headers),
                around.executor(),
                around.timer(),
                around.clock());
        try {
            EngineLink link = new EngineLink(config, ledger, http, thread, around);
            thread.drive(link.controller);
            return link;
        } catch (IOException | RuntimeException e) {
            http.close();
            ledger.close();
            throw e;
        }
    }

    String id() {
        return config.id();
    }

    EngineConfig config() {
        return config;
    }

    Controller controller() {
        return controller;
    }

    EngineView view() {
        return controller.view();
    }

    /** Whether the view is exact; that of an engine that is followed no more is not. */
    boolean certain() {
        return view().certain() && thread.fault(controller).isEmpty();
    }

    Optional<Subscription> subscription() {
        return subscription;
    }

    /** Holds that an earlier process left and that are not known to be released. */
    int inherited() {
        return ledger.inherited();
    }

    /** Asks the engine for its numbers, and for its events while they are not subscribed to; one question at a time. */
    void ask() {
        if (reading.compareAndSet(false, true)) {
            probe.read().whenComplete((readings, fault) -> {
                reading.set(false);
                if (fault == null) {
                    controller.readings(readings);
                    // Of all numbers this one is never remembered from an earlier answer.
                    if (readings.runningRequests().number().isPresent()) {
                        nextAnswer.getAndSet(new CompletableFuture<>()).complete(true);
                    }
                } else {
                    LOG.error("Reading engine {} failed.", id(), fault);
                }
            });
        }
        config.kvcachedSegment()
                .ifPresent(
                        name -> executor.execute(() -> segment = Optional.of(SegmentReader.read(segmentPath(name)))));
        if (subscription.isEmpty() && subscribing.compareAndSet(false, true)) {
            probe.eventSource().whenComplete((source, fault) -> {
                if (fault == null) {
                    subscribe(source);
                } else {
                    LOG.error("Asking engine {} for its events failed.", id(), fault);
                    subscribing.set(false);
                }
            });
        }
    }

    private static Path segmentPath(String nameOrPath) {
        return nameOrPath.contains("/") ? Path.of(nameOrPath) : SegmentReader.path(nameOrPath);
    }

    private void subscribe(Events events) {
        switch (events) {
            case Events.Unknown unknown -> {
                notSubscribed = unknown.why();
                subscribing.set(false);
            }
            case Events.At at -> thread.execute(loop -> subscribe(loop, at.source()));
        }
    }

    private void subscribe(KvEventLoop loop, EventSource source) {
        try {
            KvEventSink sink = thread.guarded(controller, controller.events());
            subscription = Optional.of(loop.subscribe(source, rank -> sink).getFirst());
            LOG.info(
                    "Listening to engine {} at {}, {}.",
                    id(),
                    source.endpoint(),
                    source.replayEndpoint()
                            .map(endpoint -> "asking for what was missed at " + endpoint)
                            .orElse("without a place to ask for what was missed"));
        } catch (IllegalArgumentException e) {
            notSubscribed = String.valueOf(e.getMessage());
            subscribing.set(false);
        }
    }

    /** Asks for a hold; refused while everything is let go of. */
    synchronized CompletionStage<HoldView> hold(HoldRequest request) {
        if (pausedNanos.isPresent()) {
            long seconds = (clock.getAsLong() - pausedNanos.getAsLong()) / 1_000_000_000;
            return CompletableFuture.failedFuture(new ApiError(
                    409,
                    "Holding is paused by a release of everything " + seconds + " s ago; POST /api/v1/engines/" + id()
                            + "/resume lifts it."));
        }
        return controller.request(request);
    }

    /** Lets go of everything; nothing is held again, not by the planner either, before {@link #resume}. */
    synchronized CompletionStage<Released> releaseAll() {
        pausedNanos = OptionalLong.of(clock.getAsLong());
        return controller.releaseAll("everything was let go by one call; only resume lifts that");
    }

    /** Ends what {@link #releaseAll} began; answered with whether there was anything to end. */
    synchronized CompletionStage<Boolean> resume() {
        CompletableFuture<Boolean> resumed = controller.resumeHolding().toCompletableFuture();
        if (!resumed.isCompletedExceptionally()) {
            pausedNanos = OptionalLong.empty();
        }
        return resumed;
    }

    synchronized boolean paused() {
        return pausedNanos.isPresent();
    }

    /** The most blocks that a hold here can have. */
    int mostBlocks() {
        return Controller.mostBlocks(view().readings());
    }

    /** What a request for a hold comes down to: tokens are named as this engine names them. */
    HoldRequest holdRequest(HoldBody body) {
        long[] blocks = body.hashes().orElseGet(() -> names(body.tokens().orElseThrow()));
        return new HoldRequest(blocks, body.lease());
    }

    private long[] names(int[] tokens) {
        if (config.type() != EngineType.SGLANG) {
            throw new ApiError(
                    409,
                    "vLLM seeds the names of its blocks, so they cannot be computed from tokens here; send the hashes"
                            + " of its events.");
        }
        int blockTokens = switch (view().readings().blockTokens()) {
            case Reading.Known known -> (int) known.value();
            case Reading.Unknown unknown ->
                throw new ApiError(
                        409,
                        "The engine's block size is not known yet (" + unknown.why()
                                + "); try again when it answers, or send hashes.");
        };
        if (tokens.length < blockTokens) {
            throw ApiError.badRequest("The prefix has " + tokens.length + " tokens, less than one block of "
                    + blockTokens + "; nothing of it can be held.");
        }
        return SglangBlockNames.of(tokens, blockTokens);
    }

    /** Why the engine cannot be looked after now, one reason each; empty when it can. */
    List<String> unreadiness() {
        List<String> reasons = new ArrayList<>();
        String fault = thread.fault(controller);
        if (!fault.isEmpty()) {
            reasons.add(fault);
        }
        if (subscription.isEmpty()) {
            reasons.add("its events are not subscribed to: " + notSubscribed);
        } else if (!subscription.get().connected()) {
            reasons.add("its events do not answer at " + subscription.get().endpoint());
        }
        if (!backend.probed()) {
            reasons.add("what its backend " + backend.name() + " can do is not known: "
                    + (view().readings().runningRequests() instanceof Reading.Unknown unknown
                            ? "it is not asked before its load is known: " + unknown.why()
                            : "the engine has not answered that yet"));
        }
        if (inherited() > 0) {
            reasons.add(inherited() + " holds of an earlier run are not released yet");
        }
        return reasons;
    }

    /** @param why whether the reader may see the reasons of holds and plans */
    JsonObject json(boolean why) {
        JsonObject events = new JsonObject();
        subscription.ifPresentOrElse(
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
                () -> events.put("connected", false).put("why", notSubscribed));
        JsonObject engine = ApiJson.engine(config, view(), events, why).put("paused", paused());
        String fault = thread.fault(controller);
        if (!fault.isEmpty()) {
            engine.put("fault", fault).put("certain", false).put("certainty", fault);
        }
        segment.ifPresent(seen -> engine.put("kvcached", ApiJson.segment(seen)));
        return engine;
    }

    @Override
    public void close() {
        http.close();
        try {
            ledger.close();
        } catch (IOException e) {
            LOG.warn("The ledger of engine {} did not close.", id(), e);
        }
    }
}
