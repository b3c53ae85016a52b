package io.holdfast.emulator;

import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.process.EngineThread;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.emulator.wire.EventPublisher;
import io.holdfast.emulator.wire.EventSettings;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;

/**
 * The emulated server's process between two restarts: its ranks with their caches and event sockets, and the HTTP port
 * in front of them.
 *
 * <p>It ends as a killed process does: requests in flight are cut off and the caches are lost. When an engine dies of
 * one of its own defects, the ports close as well.
 */
final class ServerInstance<E extends Engine> implements AutoCloseable {
    private static final int TIMEOUT_SECONDS = 30;

    private final HttpServer server;
    private final Ranks<E> ranks;
    private final List<EventPublisher> publishers;
    private final Optional<KvcachedPool> memory;
    private final AtomicBoolean eventsClosed = new AtomicBoolean();
    private int port;

    private ServerInstance(
            Vertx vertx,
            EmulatorSettings settings,
            Faults faults,
            EngineClock clock,
            Optional<KvcachedPool> memory,
            BiFunction<Gpu, EventPublisher, E> engine,
            BiFunction<Ranks<E>, EventPublisher, HttpFrontend> http,
            List<EventPublisher> publishers) {
        this.publishers = publishers;
        this.memory = memory;
        this.server = vertx.createHttpServer(HttpFrontend.options()
                .setHost(settings.endpoints().host())
                .setPort(settings.endpoints().http()));
        List<EngineThread<E>> engines = new ArrayList<>();
        for (EventPublisher publisher : publishers) {
            engines.add(new EngineThread<>(
                    "holdfast-engine-" + publisher.port(),
                    stopping -> engine.apply(new Gpu(settings.speed(), faults, clock, stopping), publisher),
                    this::die));
        }
        this.ranks = new Ranks<>(engines);
        HttpFrontend frontend = http.apply(ranks, publishers.getFirst());
        server.requestHandler(frontend).invalidRequestHandler(frontend::invalid);
    }

    /**
     * Starts the engines; they run when this returns, and nobody listens on the HTTP port yet.
     *
     * @param engine makes a rank's engine
     * @param http makes the routes over all ranks
     * @throws EmulatorException with one sentence when a port cannot be had
     */
    static <E extends Engine> ServerInstance<E> start(
            Vertx vertx,
            EmulatorSettings settings,
            Faults faults,
            EngineClock clock,
            Optional<KvcachedPool> memory,
            BiFunction<Gpu, EventPublisher, E> engine,
            BiFunction<Ranks<E>, EventPublisher, HttpFrontend> http) {
        Endpoints endpoints = settings.endpoints();
        refuseUsedPort(endpoints);
        EventSettings events = EventSettings.of(
                        endpoints.events(), settings.kind().dialect())
                .withHost(endpoints.host())
                .withReplay(endpoints.replay())
                .withBufferSteps(endpoints.repeats());
        int ranks = faults.find(ServerFault.DpRanks.class)
                .map(ServerFault.DpRanks::ranks)
                .orElse(1);
        ServerInstance<E> instance = new ServerInstance<>(
                vertx,
                settings,
                faults,
                clock,
                memory,
                engine,
                http,
                EventPublisher.forRanks(events, ranks, faults, clock, new SplittableRandom(settings.seed())));
        instance.ranks.start();
        return instance;
    }

    /** Opens the HTTP port. */
    void listen() {
        try {
            port = await(server.listen()).actualPort();
        } catch (RuntimeException e) {
            end();
            throw new EmulatorException("The port for HTTP cannot be opened: " + e.getMessage(), e);
        }
    }

    int port() {
        return port;
    }

    /** The event socket of the first rank. */
    EventPublisher events() {
        return publishers.getFirst();
    }

    /** Requests answered in full so far. */
    long answered() {
        return ranks.look(Engine::answered).stream().mapToLong(Long::longValue).sum();
    }

    /** Batches of events published so far by all ranks; blocks for a step of each engine. */
    long publishedBatches() {
        ranks.awaitStep();
        return publishers.stream().mapToLong(EventPublisher::published).sum();
    }

    /** Ends as a process that is told to: nothing stays behind. Blocks as {@link #close} does. */
    void end() {
        close();
        memory.ifPresent(KvcachedPool::close);
    }

    /** Blocks until all ports are free; not to be called on an event loop. */
    @Override
    public void close() {
        ranks.close();
        closeEvents();
        await(server.close());
        if (port != 0) {
            awaitFree(port);
        }
    }

    private void die() {
        server.close();
        closeEvents();
    }

    private void closeEvents() {
        if (eventsClosed.compareAndSet(false, true)) {
            publishers.forEach(EventPublisher::close);
        }
    }

    /** Two servers of one Vert.x instance would share a port in turns, and neither would notice. */
    private static void refuseUsedPort(Endpoints endpoints) {
        if (endpoints.http() != 0 && !isFree(endpoints.http())) {
            throw new EmulatorException(
                    "Port " + endpoints.http() + " for HTTP is in use; choose another or 0 for a free one.");
        }
    }

    /** A closed server releases its port only when its event loop next looks at its sockets. */
    private static void awaitFree(int port) {
        for (int i = 0; i < 10_000 && !isFree(port); i++) {
            LockSupport.parkNanos(200_000);
        }
    }

    private static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** A port that is free now, for a server that will listen later. */
    static int freePort() {
        try (ServerSocket probe = new ServerSocket()) {
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            return probe.getLocalPort();
        } catch (IOException e) {
            throw new EmulatorException("No port is free for HTTP: " + e.getMessage(), e);
        }
    }

    private static <T> T await(Future<T> future) {
        try {
            return future.toCompletionStage().toCompletableFuture().get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new EmulatorException(
                    Optional.ofNullable(e.getCause()).map(Throwable::getMessage).orElse("unknown"), e);
        } catch (TimeoutException e) {
            throw new EmulatorException("The HTTP server did not answer within " + TIMEOUT_SECONDS + " s.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EmulatorException("Interrupted while waiting for the HTTP server.", e);
        }
    }
}
