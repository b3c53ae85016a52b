package io.holdfast.loadtest.client;

import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** The plainest of routers: each request goes to the next engine, and the answer comes back as it comes. */
final class RoundRobin implements AutoCloseable {
    private static final Duration LIMIT = Duration.ofSeconds(30);

    private final List<URI> engines;
    private final HttpClientAgent client;
    private final HttpServer server;
    private int next;

    RoundRobin(Vertx vertx, List<URI> engines) {
        this.engines = List.copyOf(engines);
        this.client = vertx.createHttpClient(new HttpClientOptions(), new PoolOptions().setHttp1MaxSize(64));
        this.server = EngineClient.await(
                vertx.createHttpServer().requestHandler(this::pass).listen(0, "127.0.0.1"), LIMIT, "starting a router");
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.actualPort());
    }

    private void pass(HttpServerRequest in) {
        URI engine = engines.get(next++ % engines.size());
        in.body()
                .compose(body -> client.request(new RequestOptions()
                                .setMethod(in.method())
                                .setHost(engine.getHost())
                                .setPort(engine.getPort())
                                .setURI(in.uri()))
                        .compose(out -> out.putHeader("content-type", "application/json")
                                .send(body == null ? Buffer.buffer() : body)))
                .onSuccess(answer -> {
                    in.response().setStatusCode(answer.statusCode()).setChunked(true);
                    answer.pipeTo(in.response());
                })
                .onFailure(cause ->
                        in.response().setStatusCode(502).end(cause.getClass().getSimpleName()));
    }

    @Override
    public void close() {
        EngineClient.await(server.close(), LIMIT, "stopping a router");
        EngineClient.await(client.close(), LIMIT, "stopping a router's client");
    }
}
