package io.holdfast.emulator.testing;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.SglangApi;
import io.holdfast.emulator.engine.CacheEvent;
import io.holdfast.emulator.engine.Engine;
import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.EngineThread;
import io.holdfast.emulator.engine.Gpu;
import io.holdfast.emulator.engine.Speed;
import io.holdfast.emulator.fault.Faults;
import io.holdfast.emulator.sglang.SglangEngine;
import io.holdfast.emulator.sglang.SglangSettings;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** An engine behind its HTTP routes on a free port, without its event sockets. */
public final class Served<E extends Engine> implements AutoCloseable {
    private static final int NO_EVENTS_PORT = 5557;
    private static final int LONGEST_HEAD = 128 << 10;

    private final Vertx vertx = Vertx.vertx();
    private final Queue<List<CacheEvent>> frames;
    private final EngineThread<E> engine;
    private final HttpServer server;

    private Served(
            EngineThread<E> engine,
            Queue<List<CacheEvent>> frames,
            java.util.function.Function<Vertx, Handler<HttpServerRequest>> routes,
            int port) {
        this.engine = engine;
        this.frames = frames;
        this.server = vertx.createHttpServer(new HttpServerOptions()
                        .setHost("127.0.0.1")
                        .setPort(port)
                        .setMaxInitialLineLength(LONGEST_HEAD)
                        .setMaxHeaderSize(LONGEST_HEAD)
                        .setHttp2ClearTextEnabled(false))
                .requestHandler(routes.apply(vertx));
    }

    public static Served<SglangEngine> sglang(
            SglangSettings settings, ApiSettings api, Faults faults, EngineClock clock, Speed speed, int port) {
        Queue<List<CacheEvent>> frames = new ConcurrentLinkedQueue<>();
        EngineThread<SglangEngine> engine = new EngineThread<>(
                "engine",
                stopping -> new SglangEngine(
                        settings,
                        faults,
                        clock,
                        new Gpu(speed, faults, clock, stopping),
                        api.tokenizer().model(api.seed()),
                        frames::add),
                () -> {});
        SglangApi[] routes = new SglangApi[1];
        Served<SglangEngine> served = new Served<>(
                engine,
                frames,
                vertx -> routes[0] = new SglangApi(vertx, settings, api, clock, engine, faults),
                port);
        served.server.invalidRequestHandler(routes[0]::invalid);
        return served.begin();
    }

    public static ApiSettings api() {
        return ApiSettings.of(1, NO_EVENTS_PORT);
    }

    private Served<E> begin() {
        server.listen().await();
        engine.start();
        return this;
    }

    public int port() {
        return server.actualPort();
    }

    public EngineThread<E> engine() {
        return engine;
    }

    public List<CacheEvent> events() {
        return frames.stream().flatMap(List::stream).toList();
    }

    @Override
    public void close() {
        engine.close();
        server.close().await();
        vertx.close().await();
    }
}
