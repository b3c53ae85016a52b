package io.holdfast.emulator;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.SglangApi;
import io.holdfast.emulator.engine.EmulatorException;
import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.EngineThread;
import io.holdfast.emulator.engine.Gpu;
import io.holdfast.emulator.fault.Faults;
import io.holdfast.emulator.sglang.SglangEngine;
import io.holdfast.emulator.wire.EventPublisher;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * One life of an emulated SGLang server: HTTP routes, an event socket, and a scheduler thread in place of the GPU.
 *
 * <p>Closing is like killing the process: requests in flight are cut off and the cache is lost. When the engine dies of one
 * of its own defects, both ports close as well.
 */
public final class Emulator implements AutoCloseable {
    private static final String HOST = "127.0.0.1";
    private static final int PATIENCE_SECONDS = 30;

    private final EngineThread<SglangEngine> engine;
    private final EventPublisher publisher;
    private final HttpServer server;
    private final int port;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final AtomicBoolean eventsClosed;

    private Emulator(
            EngineThread<SglangEngine> engine,
            EventPublisher publisher,
            HttpServer server,
            int port,
            AtomicBoolean eventsClosed) {
        this.engine = engine;
        this.publisher = publisher;
        this.server = server;
        this.port = port;
        this.eventsClosed = eventsClosed;
    }

    /**
     * Starts a server and blocks until it serves; not to be called on an event loop.
     *
     * @throws EmulatorException with one sentence when it cannot, as when a port is in use
     */
    public static Emulator start(Vertx vertx, EmulatorSettings settings) {
        return start(vertx, settings, EngineClock.system());
    }

    static Emulator start(Vertx vertx, EmulatorSettings settings, EngineClock clock) {
        refuseEventLoop();
        refuseUsedPort(settings.endpoints().http());
        EventPublisher publisher = new EventPublisher(
                settings.endpoints().events(), settings.kind().dialect(), clock);
        AtomicBoolean eventsClosed = new AtomicBoolean();
        Faults faults = new Faults(settings.faults());
        ApiSettings api = ApiSettings.of(settings.seed(), publisher.port()).withModel(settings.model());
        HttpServer server = vertx.createHttpServer(new HttpServerOptions()
                .setHost(HOST)
                .setPort(settings.endpoints().http()));
        EngineThread<SglangEngine> engine = new EngineThread<>(
                "holdfast-engine-" + publisher.port(),
                stopping -> new SglangEngine(
                        settings.sglang(),
                        faults,
                        clock,
                        new Gpu(settings.speed(), faults, clock, stopping),
                        api.tokenizer().model(settings.seed()),
                        publisher::publish),
                () -> {
                    server.close();
                    if (eventsClosed.compareAndSet(false, true)) {
                        publisher.close();
                    }
                });
        try {
            SglangApi routes = new SglangApi(vertx, settings.sglang(), api, clock, engine, faults);
            server.requestHandler(routes).invalidRequestHandler(routes::invalid);
            int port = await(server.listen()).actualPort();
            engine.start();
            return new Emulator(engine, publisher, server, port, eventsClosed);
        } catch (RuntimeException e) {
            publisher.close();
            throw e instanceof EmulatorException
                    ? e
                    : new EmulatorException(
                            "Port " + settings.endpoints().http() + " for HTTP cannot be opened: " + e, e);
        }
    }

    public URI uri() {
        return URI.create("http://" + HOST + ":" + port);
    }

    public String eventsEndpoint() {
        return publisher.endpoint();
    }

    /** Blocks until both ports are free; not to be called on an event loop. */
    @Override
    public void close() {
        refuseEventLoop();
        if (closed.compareAndSet(false, true)) {
            engine.close();
            if (eventsClosed.compareAndSet(false, true)) {
                publisher.close();
            }
            await(server.close());
            awaitFree(port);
        }
    }

    private static void refuseEventLoop() {
        if (Context.isOnEventLoopThread()) {
            throw new IllegalStateException("An emulator starts and closes by blocking, which an event loop must not.");
        }
    }

    /** Two servers of one Vert.x instance would share a port in turns, and neither would notice. */
    private static void refuseUsedPort(int port) {
        if (port != 0 && !isFree(port)) {
            throw new EmulatorException("Port " + port + " for HTTP is in use; choose another or 0 for a free one.");
        }
    }

    /** A closed server lets go of its port only when its event loop next looks at its sockets. */
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

    private static <T> T await(Future<T> future) {
        try {
            return future.toCompletionStage().toCompletableFuture().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new EmulatorException(String.valueOf(e.getCause()), e);
        } catch (TimeoutException e) {
            throw new EmulatorException("The HTTP server did not answer within " + PATIENCE_SECONDS + " s.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EmulatorException("Interrupted while waiting for the HTTP server.", e);
        }
    }
}
