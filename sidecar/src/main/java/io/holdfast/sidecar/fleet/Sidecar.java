package io.holdfast.sidecar.fleet;

import com.sun.management.OperatingSystemMXBean;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.sidecar.cell.Cells;
import io.holdfast.sidecar.cell.Stores;
import io.holdfast.sidecar.client.SiblingViews;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ApiTokens;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.ConfigSources;
import io.holdfast.sidecar.config.DnsLookup;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.ReloadReport;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.Limits;
import io.holdfast.sidecar.engine.SharedServices;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.http.Access;
import io.holdfast.sidecar.http.HttpApi;
import io.holdfast.sidecar.http.ServedTls;
import io.holdfast.sidecar.store.StrayLedgers;
import io.holdfast.sidecar.view.Metrics;
import io.holdfast.sidecar.view.Overviews;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.micrometer.MicrometerMetricsFactory;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
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
    private static final int TELL_SECONDS = 1;
    private static final int DRAIN_SECONDS = 1;
    private static final int SERVER_SECONDS = 3;
    /** Not two a core: each has buffers of its own, and the API has little to do. */
    private static final int EVENT_LOOPS = 2;
    /** Of memory, with automatic holds: docs/operate.md says where that comes from. */
    private static final int LEAST_MEBIBYTES = 256;
    /** An event loop that stood still for less is not told. */
    static final int STANDSTILL_SECONDS = 10;
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
    private final Reloads.Sources sources;
    private final HttpServer server;
    private final Optional<ServedTls> tls;
    private final List<Long> timers = new ArrayList<>();
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();
    private final Listen listen;
    private Optional<HttpApi> api = Optional.empty();
    private Optional<Limits> limits = Optional.empty();
    private Optional<Fleet> fleet = Optional.empty();
    private Optional<Cells> cells = Optional.empty();
    private Optional<SiblingViews> siblings = Optional.empty();
    private Optional<Reloads> reloads = Optional.empty();

    private Sidecar(
            Vertx vertx, SidecarConfig config, Reloads.Sources sources, PrometheusMeterRegistry registry, Seams seams)
            throws IOException {
        this.vertx = vertx;
        this.seams = seams;
        this.clock = seams.clock();
        this.registry = registry;
        this.listen = config.listen();
        this.sources = sources;
        HttpServerOptions options = HttpApi.serverOptions(listen.host(), listen.port());
        this.tls = ServedTls.of(listen.tls(), options);
        this.thread = new EventThread(clock, Fleet.roundMillis(config.engines(), seams));
        this.server = vertx.createHttpServer(options);
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

    /**
     * The same with a configuration that {@link #reload} reads again, and whose files and names are looked at meanwhile.
     *
     * @throws ConfigException with one sentence where it is not sound
     */
    public static Sidecar start(
            Vertx vertx, ConfigSources sources, boolean showText, PrometheusMeterRegistry registry) {
        return start(
                vertx,
                new Reloads.Sources(() -> sources.read().config().withShowText(showText), sources::stamp),
                registry,
                Seams.none());
    }

    public static Sidecar start(Vertx vertx, SidecarConfig config, PrometheusMeterRegistry registry, Seams seams) {
        return start(vertx, Reloads.Sources.fixed(config), registry, seams);
    }

    public static Sidecar start(Vertx vertx, Reloads.Sources sources, PrometheusMeterRegistry registry, Seams seams) {
        refuseEventLoop();
        SidecarConfig config = sources.config().get();
        Sidecar sidecar;
        try {
            sidecar = new Sidecar(vertx, config, sources, registry, seams);
        } catch (IOException e) {
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        }
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

    /** A Vert.x whose HTTP servers and clients are measured in this registry, and that writes no files of its own. */
    public static Vertx instrumented(PrometheusMeterRegistry registry) {
        registry.config().meterFilter(Metrics.unmatchedRoutes());
        return Vertx.builder()
                .with(options())
                .withMetrics(new MicrometerMetricsFactory(registry))
                .build();
    }

    public static VertxOptions options() {
        return new VertxOptions()
                .setEventLoopPoolSize(EVENT_LOOPS)
                // A busy machine takes the processor away for seconds, which is no news and not to be mended here.
                .setMaxEventLoopExecuteTime(STANDSTILL_SECONDS)
                .setMaxEventLoopExecuteTimeUnit(TimeUnit.SECONDS)
                .setWarningExceptionTime(STANDSTILL_SECONDS)
                .setWarningExceptionTimeUnit(TimeUnit.SECONDS)
                .setMetricsOptions(Metrics.http())
                // Else it makes a folder for cached files where temporary ones go, which may be read-only.
                .setFileSystemOptions(
                        new FileSystemOptions().setFileCachingEnabled(false).setClassPathResolvingEnabled(false));
    }

    private void open(SidecarConfig config) throws IOException {
        Access access = new Access(listen, ApiTokens.of(listen, System.getenv()));
        Metrics metrics = new Metrics(registry);
        StrayLedgers strays = StrayLedgers.find(
                config.stateDirectory(),
                config.engines().stream().map(EngineConfig::id).collect(Collectors.toSet()),
                seams.files());
        config.otherStates().forEach(other -> strays.addAll(other, seams.files()));
        siblings = SiblingViews.of(
                config.fleet(), ApiTokens.of(listen, System.getenv()).act());
        SharedServices shared = new SharedServices(
                clock,
                executor,
                timer,
                watch,
                registry,
                config.showText(),
                config.snapshots(),
                siblings.map(SiblingViews::sources).orElse(List.of()),
                seams);
        Limits followed = Limits.follow(config, clock, seams.files());
        limits = Optional.of(followed);
        Fleet engines = new Fleet(vertx, config.stateDirectory(), strays, followed, thread, metrics, shared);
        fleet = Optional.of(engines);
        engines.refuseTwins(config.engines());
        for (EngineConfig engine : config.engines()) {
            engines.open(engine);
        }
        metrics.follow(thread);
        thread.start();
        followed.start();
        Future<?> _ = watch.scheduleWithFixedDelay(
                () -> thread.look(LOOKS),
                seams.hangLimit().toMillis() / LOOKS,
                Math.max(1, seams.hangLimit().toMillis() / LOOKS),
                TimeUnit.MILLISECONDS);
        engines.awaitRestored();
        Reloads again = new Reloads(
                sources,
                config,
                engines,
                new Discovery(new DnsLookup(vertx)::find, clock),
                tls,
                server,
                closing::get,
                seams);
        reloads = Optional.of(again);
        thread.onReturn(again::followAnew);
        cells = cells(config, engines.links());
        Overviews overviews = new Overviews(engines.links(), clock, seams.wall());
        HttpApi served = new HttpApi(
                vertx,
                access,
                HttpLimits.defaults(),
                clock,
                engines.links(),
                cells,
                thread,
                registry,
                overviews,
                closing::get,
                again);
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
        engines.begin(uri());
        timers.add(vertx.setPeriodic(1, seams.waitMillis(Overviews.LOOKS), timer -> overviews.look()));
        timers.add(vertx.setPeriodic(seams.waitMillis(seams.summaries()), timer -> overviews.summarise()));
        cells.ifPresent(
                parts -> timers.add(vertx.setPeriodic(1, seams.waitMillis(Cells.LOOKS), timer -> parts.look())));
        again.start();
        if (access.actingRefused()) {
            LOG.warn(
                    "The API is served at {}, beyond this machine, and has no act token, so holding and releasing"
                            + " through it is refused: name a token with listen.actTokenEnv.",
                    listen.host());
        }
        if (config.engines().stream().anyMatch(engine -> engine.automaticHolds() != AutomaticHolds.OFF)) {
            shortOf(memoryBytes()).ifPresent(LOG::warn);
        }
        LOG.info("The sidecar looks after {} at {}.", engines.links().keySet(), uri());
    }

    /** The engines' parts in a fleet; absent where nothing is shared. */
    private Optional<Cells> cells(SidecarConfig config, Map<String, EngineLink> links) throws IOException {
        if (!config.fleet().shares()) {
            return Optional.empty();
        }
        return Optional.of(new Cells(
                config.fleet(),
                Stores.open(config.fleet(), System.getenv(), clock, executor),
                ApiTokens.of(listen, System.getenv()).act(),
                links,
                clock,
                new SplittableRandom(),
                executor,
                Cells.process(machine(), config.stateDirectory())));
    }

    private static String machine() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "localhost";
        }
    }

    /** The machine's memory, or that of the container where one bounds it. */
    private static long memoryBytes() {
        return ManagementFactory.getOperatingSystemMXBean() instanceof OperatingSystemMXBean system
                ? system.getTotalMemorySize()
                : Long.MAX_VALUE;
    }

    /** Returns what to do where automatic holds need more memory than there is. */
    public static Optional<String> shortOf(long bytes) {
        return bytes >= (long) LEAST_MEBIBYTES << 20
                ? Optional.empty()
                : Optional.of(
                        "This process may take " + (bytes >> 20) + " MiB of memory, and with automatic holds it needs "
                                + LEAST_MEBIBYTES
                                + " MiB: with less the kernel may kill it without a word, and what it had pinned stays"
                                + " until it is started again; raise the limit of its container, or write"
                                + " automaticHolds: false.");
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
        return URI.create((tls.isPresent() ? "https://" : "http://") + host + ":" + server.actualPort());
    }

    /**
     * Reads the configuration again and goes by it; blocks, so not on an event loop. What a reload can change, and what only
     * a restart can, is in docs/configuration.md.
     *
     * @throws SidecarException with one sentence, where nothing was changed
     */
    public ReloadReport reload() {
        refuseEventLoop();
        try {
            return reloads.orElseThrow().reloadPatiently();
        } catch (ApiError e) {
            throw new SidecarException(e.sentence(), e);
        }
    }

    /** Lets go of what is held, for a bounded time, and stops; blocks, so not on an event loop. A second call waits for the first. */
    @Override
    public void close() {
        refuseEventLoop();
        if (closing.compareAndSet(false, true)) {
            try {
                reloads.ifPresent(Reloads::close);
                fleet.ifPresent(Fleet::letGo);
                fleet.ifPresent(Fleet::keepLearned);
            } finally {
                shut();
                closed.complete(null);
            }
        } else {
            closed.join();
        }
    }

    /** Ends whatever was begun, in the order that leaves nobody waiting for what has ended. */
    private void shut() {
        timers.forEach(vertx::cancelTimer);
        cells.ifPresent(Cells::close);
        fleet.ifPresent(Fleet::stopAsking);
        reloads.ifPresent(Reloads::close);
        // Before anything that it hears of the engines ends.
        limits.ifPresent(Limits::close);
        api.ifPresent(Sidecar::endStreams);
        stopServer();
        api.ifPresent(HttpApi::close);
        thread.close();
        watch.shutdownNow();
        fleet.ifPresent(Fleet::shut);
        siblings.ifPresent(SiblingViews::close);
        executor.shutdownNow();
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
            // What is being answered is answered first.
            server.shutdown(DRAIN_SECONDS, TimeUnit.SECONDS)
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(SERVER_SECONDS, TimeUnit.SECONDS);
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
