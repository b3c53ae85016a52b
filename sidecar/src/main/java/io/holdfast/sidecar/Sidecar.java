package io.holdfast.sidecar;

import io.holdfast.sidecar.SharedServices.Seams;
import io.holdfast.sidecar.SidecarConfig.Listen;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.micrometer.MicrometerMetricsFactory;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running sidecar: it follows its engines, holds what it is asked to or decides to, and serves the HTTP API.
 *
 * <h2>Threads</h2>
 *
 * One thread, {@code holdfast-events}, applies every engine's events and drives every controller; others reach them
 * through their mailbox only. One virtual thread per engine writes its ledger, another calls its backend. Timers and HTTP
 * run on Vert.x and never wait. {@code holdfast-watch} looks whether the first one comes round, and lets go of what is
 * pinned when it does not.
 *
 * <h2>Beginning and end</h2>
 *
 * Starting waits for no engine: where the sidecar starts first, as beside the engine in a pod, waiting would be a deadlock.
 * {@code /readyz} says what is still missing. Closing first lets go of everything held, for a bounded time; what could not
 * be unpinned stays in the ledger, and the next start begins with it.
 */
public final class Sidecar implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Sidecar.class);
    private static final Duration LONGEST_ROUND = Duration.ofMillis(100);
    private static final int RELEASE_SECONDS = 5;
    private static final int SERVER_SECONDS = 10;
    private static final int WRITE_SECONDS = 3;
    private static final int RESOLVE_SECONDS = 2;
    private static final int TELL_SECONDS = 1;
    /** Not two a core: each has buffers of its own, and the API has little to do. */
    private static final int EVENT_LOOPS = 2;
    /** So many looks without a round are a thread that hangs. */
    private static final int LOOKS = 20;

    private final Vertx vertx;
    private final PrometheusMeterRegistry registry;
    private final LongSupplier clock;
    private final EventThread thread;
    private final ExecutorService executor = Executors.newThreadPerTaskExecutor(
            Thread.ofVirtual().name("holdfast-acting-", 0).factory());
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("holdfast-timer").daemon().factory());
    private final ScheduledExecutorService watch = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("holdfast-watch").daemon().factory());
    private final Seams seams;
    private final Map<String, EngineLink> engines = new LinkedHashMap<>();
    private final List<Long> timers = new ArrayList<>();
    private final HttpServer server;
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final Listen listen;
    private Optional<HttpApi> api = Optional.empty();
    private Optional<Limits> limits = Optional.empty();

    private Sidecar(Vertx vertx, SidecarConfig config, PrometheusMeterRegistry registry, Seams seams) {
        this.vertx = vertx;
        this.seams = seams;
        this.clock = seams.clock();
        this.registry = registry;
        this.listen = config.listen();
        Duration round = config.engines().stream()
                .map(EngineConfig::tick)
                .filter(tick -> tick.compareTo(LONGEST_ROUND) < 0)
                .min(Comparator.naturalOrder())
                .orElse(LONGEST_ROUND);
        this.thread = new EventThread(clock, (int) seams.waitMillis(round));
        this.server = vertx.createHttpServer(HttpApi.serverOptions(listen.host(), listen.port()));
    }

    /**
     * Starts with a metrics registry of its own.
     *
     * @see #start(Vertx, SidecarConfig, PrometheusMeterRegistry)
     */
    public static Sidecar start(Vertx vertx, SidecarConfig config) {
        return start(vertx, config, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT));
    }

    /**
     * Starts and returns once the API is served; blocks, so not on an event loop.
     *
     * @param registry what {@code /metrics} shows: give it to {@link #instrumented} too, and HTTP is measured as well
     * @throws SidecarException with one sentence when it cannot start, as when its port or its ledger is taken
     */
    public static Sidecar start(Vertx vertx, SidecarConfig config, PrometheusMeterRegistry registry) {
        return start(vertx, config, registry, Seams.none());
    }

    static Sidecar start(Vertx vertx, SidecarConfig config, PrometheusMeterRegistry registry, Seams seams) {
        refuseEventLoop();
        Sidecar sidecar = new Sidecar(vertx, config, registry, seams);
        try {
            sidecar.open(config);
            return sidecar;
        } catch (IOException e) {
            sidecar.shut();
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        } catch (RuntimeException e) {
            sidecar.shut();
            throw e;
        }
    }

    /** A Vert.x whose HTTP servers and clients are measured in this registry. */
    public static Vertx instrumented(PrometheusMeterRegistry registry) {
        registry.config().meterFilter(Metrics.unmatchedRoutes());
        return Vertx.builder()
                .with(new VertxOptions().setEventLoopPoolSize(EVENT_LOOPS).setMetricsOptions(Metrics.http()))
                .withMetrics(new MicrometerMetricsFactory(registry))
                .build();
    }

    private void open(SidecarConfig config) throws IOException {
        Access access = Access.of(listen, System.getenv());
        Metrics metrics = new Metrics(registry);
        refuseTwins(config.engines());
        StrayLedgers strays = StrayLedgers.find(
                config.stateDirectory(),
                config.engines().stream().map(EngineConfig::id).collect(Collectors.toSet()),
                seams.files());
        SharedServices shared = new SharedServices(
                clock, executor, timer, watch, registry, config.showText(), config.snapshots(), seams);
        Limits followed = Limits.follow(config, clock, seams.files());
        limits = Optional.of(followed);
        for (EngineConfig engine : config.engines()) {
            EngineLink link =
                    EngineLink.open(engine, config.stateDirectory(), strays, followed.of(engine.id()), thread, shared);
            engines.put(engine.id(), link);
            metrics.follow(link);
        }
        metrics.follow(thread);
        thread.start();
        followed.start();
        Future<?> _ = watch.scheduleWithFixedDelay(
                () -> thread.look(LOOKS),
                seams.hangLimit().toMillis() / LOOKS,
                Math.max(1, seams.hangLimit().toMillis() / LOOKS),
                TimeUnit.MILLISECONDS);
        engines.values().forEach(engine -> {
            boolean _ = engine.restored().join();
        });
        Overviews overviews = new Overviews(engines, clock, seams.wall());
        HttpApi served = new HttpApi(
                vertx, access, HttpLimits.defaults(), clock, engines, thread, registry, overviews, closing::get);
        api = Optional.of(served);
        served.serve(server);
        try {
            server.listen().toCompletionStage().toCompletableFuture().join();
        } catch (CompletionException e) {
            throw new SidecarException(
                    "Port " + listen.port() + " of " + listen.host() + " cannot be listened to (" + e.getCause()
                            + "); stop what listens there or write another listen.port.",
                    e);
        }
        engines.values().forEach(engine -> engine.servedAt(uri()));
        engines.values().forEach(this::askRegularly);
        timers.add(vertx.setPeriodic(1, seams.waitMillis(Overviews.LOOKS), timer -> overviews.look()));
        timers.add(vertx.setPeriodic(seams.waitMillis(seams.summaries()), timer -> overviews.summarise()));
        if (access.actingRefused()) {
            LOG.warn(
                    "The API is served at {}, beyond this machine, and has no act token, so holding and releasing"
                            + " through it is refused: name a token with listen.actTokenEnv.",
                    listen.host());
        }
        LOG.info("The sidecar looks after {} at {}.", engines.keySet(), uri());
    }

    /** Two names can be one engine, which a configuration that asks no name server cannot know. */
    private void refuseTwins(List<EngineConfig> configured) throws IOException {
        List<CompletableFuture<String>> addresses = configured.stream()
                .map(engine -> CompletableFuture.supplyAsync(() -> EngineAddress.resolved(engine.url()), executor)
                        .completeOnTimeout(EngineAddress.spelling(engine.url()), RESOLVE_SECONDS, TimeUnit.SECONDS))
                .toList();
        Map<String, EngineConfig> seen = new LinkedHashMap<>();
        for (int i = 0; i < configured.size(); i++) {
            EngineConfig engine = configured.get(i);
            EngineConfig twin = seen.putIfAbsent(addresses.get(i).join(), engine);
            if (twin != null) {
                throw new IOException("Engines " + twin.id() + " (" + twin.url() + ") and " + engine.id() + " ("
                        + engine.url() + ") are one, at " + addresses.get(i).join()
                        + "; list it once, since two ledgers of one engine would release each other's pins.");
            }
        }
    }

    private void askRegularly(EngineLink engine) {
        timers.add(vertx.setPeriodic(1, seams.waitMillis(engine.config().readings()), timer -> engine.ask()));
    }

    /** Where the API is served; of a wildcard address the loopback one. */
    public URI uri() {
        String host = switch (listen.host()) {
            case "0.0.0.0" -> "127.0.0.1";
            case "::", "[::]" -> "[::1]";
            default ->
                listen.host().contains(":") && !listen.host().startsWith("[")
                        ? "[" + listen.host() + "]"
                        : listen.host();
        };
        return URI.create("http://" + host + ":" + server.actualPort());
    }

    /** Lets go of what is held, for a bounded time, and stops; blocks, so not on an event loop. A second call waits for the first. */
    @Override
    public void close() {
        refuseEventLoop();
        if (closing.compareAndSet(false, true)) {
            try {
                releaseEverything();
                keepLearned();
            } finally {
                shut();
                closed.complete(null);
            }
        } else {
            closed.join();
        }
    }

    private void keepLearned() {
        CompletableFuture<?>[] snapshots =
                engines.values().stream().map(EngineLink::keepLearned).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(snapshots).get(WRITE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("What was learned since the last snapshot is not on the disk, so the next start learns it anew.");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void releaseEverything() {
        if (!letGo(List.copyOf(engines.values()))) {
            // Whose controller does not come round is let go of without it.
            boolean hangs = thread.lagNanos() > TimeUnit.SECONDS.toNanos(RELEASE_SECONDS) / 2.0;
            if (hangs) {
                engines.values().forEach(engine -> engine.failed("the event thread hangs while the sidecar ends"));
            }
            if (!hangs || !letGo(List.copyOf(engines.values()))) {
                LOG.warn(
                        "Not everything was let go of within {} s; the ledger keeps the rest for the next start.",
                        RELEASE_SECONDS);
            }
        }
    }

    /** Whether all of them answered in time. */
    private static boolean letGo(List<EngineLink> all) {
        CompletableFuture<?>[] releases = all.stream()
                .map(engine -> engine.letGo()
                        .thenAccept(done -> {
                            if (done.pending() > 0 && engine.endsByItself()) {
                                LOG.info(
                                        "Engine {}: what {} holds have pinned ends by itself when its time has run"
                                                + " out.",
                                        engine.id(),
                                        done.pending());
                            } else if (done.pending() > 0) {
                                LOG.warn(
                                        "Engine {} did not let go of {} holds; the ledger keeps them for the next"
                                                + " start.",
                                        engine.id(),
                                        done.pending());
                            }
                        })
                        .toCompletableFuture())
                .toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(releases).get(RELEASE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            return false;
        } catch (ExecutionException e) {
            LOG.warn("Letting go failed; the ledger keeps the rest for the next start.", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return true;
    }

    /** Ends whatever was begun, in the order that leaves nobody waiting for what has ended. */
    private void shut() {
        timers.forEach(vertx::cancelTimer);
        // Before anything that it hears of the engines ends.
        limits.ifPresent(Limits::close);
        api.ifPresent(Sidecar::endStreams);
        stopServer();
        api.ifPresent(HttpApi::close);
        thread.close();
        watch.shutdownNow();
        engines.values().forEach(EngineLink::hangUp);
        executor.shutdown();
        try {
            // What was released is on its way to the ledger; unwritten it would be unpinned once more by the next
            // start.
            if (!executor.awaitTermination(WRITE_SECONDS, TimeUnit.SECONDS)) {
                LOG.warn("Not every line was written to the ledgers within {} s.", WRITE_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        engines.values().forEach(EngineLink::close);
        timer.shutdownNow();
    }

    private static void endStreams(HttpApi api) {
        try {
            api.endStreams().toCompletionStage().toCompletableFuture().get(TELL_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("Not every listener was told that the sidecar ends.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void stopServer() {
        try {
            server.close().toCompletionStage().toCompletableFuture().get(SERVER_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("The HTTP server did not stop cleanly.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void refuseEventLoop() {
        if (Context.isOnEventLoopThread()) {
            throw new IllegalStateException("A sidecar starts and closes by blocking, which an event loop must not.");
        }
    }
}
