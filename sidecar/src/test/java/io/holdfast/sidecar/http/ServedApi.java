package io.holdfast.sidecar.http;

import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.NoOperations;
import io.holdfast.sidecar.Unstarted;
import io.holdfast.sidecar.config.ApiTokens;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.view.Overviews;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.ext.web.Router;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** The API on a loopback port, whatever its configuration says, with an engine that nobody asks. */
public final class ServedApi implements AutoCloseable {
    public static final String READ = "read-token-of-the-test";
    public static final String ACT = "act-token-of-the-test-";

    public final EngineLink engine;
    final Overviews overviews;
    public final Http http;
    public final URI uri;
    private final Vertx vertx;
    private final Unstarted around;
    /** Whether it is about to end. */
    final AtomicBoolean closing = new AtomicBoolean();

    private final HttpApi api;

    public ServedApi(Path state, Listen listen, HttpLimits limits) throws IOException {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        vertx = Sidecar.instrumented(registry);
        around = new Unstarted(state);
        engine = around.engine("demo");
        overviews = new Overviews(Map.of("demo", engine), System::nanoTime, InstantSource.system());
        api = new HttpApi(
                vertx,
                new Access(listen, ApiTokens.of(listen, Map.of("READ", READ + "\n", "ACT", " " + ACT + "\r\n"))),
                limits,
                System::nanoTime,
                Map.of("demo", engine),
                Optional.empty(),
                around.thread,
                registry,
                overviews,
                closing::get,
                new NoOperations());
        HttpServer server = vertx.createHttpServer(HttpApi.serverOptions("127.0.0.1", 0));
        api.serve(server);
        server.listen().toCompletionStage().toCompletableFuture().join();
        uri = URI.create("http://127.0.0.1:" + server.actualPort());
        http = new Http(uri);
        around.thread.drive(engine.controller(), engine::failed);
        around.thread.start();
    }

    Router router() {
        return api.router();
    }

    @Override
    public void close() {
        http.close();
        api.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
        around.close();
        engine.close();
    }
}
