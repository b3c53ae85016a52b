package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.net.URI;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An engine that tells its numbers before it takes pins. */
class StartingEngineTest {
    private static final long[] PREFIX = SglangBlockNames.of(EngineClient.prompt(1, 64), TestBed.BLOCK);

    private final Vertx vertx = Vertx.vertx();
    private final AtomicInteger refused = new AtomicInteger();
    private volatile boolean starting = true;
    private boolean metered = true;

    @TempDir
    Path state;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void holdsAskedForWhileTheEngineStarts_waitForIt_alsoAfterItsRestart() {
        HttpServer server = vertx.createHttpServer().requestHandler(engine());
        server.listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().join();
        URI address = URI.create("http://127.0.0.1:" + server.actualPort());
        try (EventFeed feed = new EventFeed();
                Sidecar sidecar =
                        Sidecar.start(vertx, TestBed.config(state, address, "events: '" + feed.endpoint() + "'"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            stored(feed, client);
            Eventually.see("a probe is turned away", refused::get, times -> times > 0);
            String first = waiting(client);
            assertThat(client.http.get("/readyz").json().getJsonArray("reasons").encode())
                    .contains("it is not known what its backend pin_blocks can do");

            starting = false;
            client.holdIn(first, "held");
            client.ready();

            starting = true;
            int before = refused.get();
            feed.beginAnew();
            feed.cleared();
            client.holdIn(first, "lost");
            Eventually.see("a probe is turned away again", refused::get, times -> times > before);
            stored(feed, client);
            String second = waiting(client);

            starting = false;
            client.holdIn(second, "held");
            assertThat(client.engine().getJsonObject("backend").getBoolean("canPin"))
                    .isTrue();
        }
    }

    @Test
    void engineThatTellsNoNumbers_isSaidByReadyz() {
        starting = false;
        metered = false;
        HttpServer server = vertx.createHttpServer().requestHandler(engine());
        server.listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().join();
        URI address = URI.create("http://127.0.0.1:" + server.actualPort());
        try (EventFeed feed = new EventFeed();
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        TestBed.config(
                                state,
                                address,
                                "backend: keep_warm, priming: true, events: '" + feed.endpoint() + "'"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            String why = "The engine answered /metrics with HTTP 405";
            Eventually.see(
                    "the note",
                    () -> client.http
                            .get("/readyz")
                            .json()
                            .getJsonArray("notes")
                            .encode(),
                    notes -> notes.contains("its numbers are not known: " + why));
        }
    }

    private static void stored(EventFeed feed, SidecarClient client) {
        Eventually.see(
                "the prefix is known to be stored",
                () -> {
                    // Storing it twice would look like two blocks of one name.
                    feed.cleared();
                    feed.stored(PREFIX);
                    return client.engine().getInteger("blocks");
                },
                blocks -> blocks > 0);
    }

    private static String waiting(SidecarClient client) {
        Http.Answer answer = client.hold(PREFIX, 3600);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        assertThat(answer.json().getString("state")).isEqualTo("requested");
        return answer.json().getString("id");
    }

    private Router engine() {
        Router router = Router.router(vertx);
        router.post().handler(BodyHandler.create(false));
        router.get("/server_info")
                .handler(call -> call.json(new JsonObject()
                        .put("max_total_num_tokens", TestBed.CAPACITY)
                        .put("page_size", TestBed.BLOCK)
                        .put("max_req_input_len", 1024)
                        .put("kv_events", new JsonObject().put("publisher", "zmq"))));
        if (metered) {
            router.get("/metrics")
                    .handler(call ->
                            call.end("sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\nsglang:num_used_tokens 0\n"));
        }
        router.post("/hicache/pin_blocks").handler(call -> count(call, "pinned_count"));
        // Whatever it had is gone, and it says so.
        router.post("/hicache/unpin_blocks")
                .handler(call -> call.json(new JsonObject().put("status", "ok").put("unpinned_count", 0)));
        return router;
    }

    private void count(RoutingContext call, String counter) {
        if (starting) {
            refused.incrementAndGet();
            call.response().setStatusCode(503).end("loading");
        } else {
            int blocks = new JsonObject(String.valueOf(call.body().asString()))
                    .getJsonArray("block_hashes")
                    .size();
            call.json(new JsonObject().put("status", "ok").put(counter, blocks));
        }
    }
}
