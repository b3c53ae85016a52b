package io.holdfast.emulator.testing;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.api.sglang.SglangApi;
import io.holdfast.emulator.api.vllm.VllmApi;
import io.holdfast.emulator.process.EngineThread;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Engine;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiFunction;
import java.util.stream.IntStream;

/** An engine behind its HTTP routes on a free port, without its event sockets. */
public final class Served<E extends Engine> implements AutoCloseable {
    private static final int NO_EVENTS_PORT = 5557;

    /** Makes the engine around its GPU. */
    private interface Make<E> {
        E engine(Gpu gpu, Queue<List<CacheEvent>> frames);
    }

    private final Vertx vertx = Vertx.vertx();
    private final Queue<List<CacheEvent>> frames = new ConcurrentLinkedQueue<>();
    private final Ranks<E> engine;
    private final HttpServer server;

    private Served(
            int ranks,
            Make<E> make,
            BiFunction<Vertx, Ranks<E>, HttpFrontend> routes,
            Faults faults,
            EngineClock clock,
            Speed speed) {
        this.engine = new Ranks<>(IntStream.range(0, ranks)
                .mapToObj(rank -> new EngineThread<>(
                        "engine-" + rank,
                        stopping -> make.engine(new Gpu(speed, faults, clock, stopping), frames),
                        () -> {}))
                .toList());
        HttpFrontend front = routes.apply(vertx, engine);
        this.server = vertx.createHttpServer(
                        HttpFrontend.options().setHost("127.0.0.1").setPort(0))
                .requestHandler(front)
                .invalidRequestHandler(front::invalid);
        server.listen().await();
        engine.start();
    }

    public static Served<SglangEngine> sglang(
            SglangSettings settings, ApiSettings api, Faults faults, EngineClock clock, Speed speed) {
        return new Served<>(
                api.ranks(),
                (gpu, frames) -> new SglangEngine(
                        settings, faults, clock, gpu, api.tokenizer().model(api.seed()), frames::add, ElasticPool.OWN),
                (vertx, engine) -> new SglangApi(vertx, settings, api, clock, engine, faults).routes(),
                faults,
                clock,
                speed);
    }

    public static Served<VllmEngine> vllm(
            VllmSettings settings, ApiSettings api, Faults faults, EngineClock clock, Speed speed) {
        return new Served<>(
                api.ranks(),
                (gpu, frames) -> new VllmEngine(
                        settings, faults, clock, gpu, api.tokenizer().model(api.seed()), frames::add, ElasticPool.OWN),
                (vertx, engine) -> new VllmApi(vertx, settings, api, clock, engine, faults).routes(),
                faults,
                clock,
                speed);
    }

    public static ApiSettings api() {
        return ApiSettings.of(1, NO_EVENTS_PORT);
    }

    public int port() {
        return server.actualPort();
    }

    public Ranks<E> engine() {
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
