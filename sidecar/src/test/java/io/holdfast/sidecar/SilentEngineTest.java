package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.BodyHandler;
import java.net.URI;
import java.nio.file.Path;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An engine that takes a pin and says nothing. */
class SilentEngineTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 64);
    private static final String EMPTY = "{\"block_hashes\":[]}";

    private final Queue<String> unpins = new ConcurrentLinkedQueue<>();

    @TempDir
    Path state;

    @Test
    void holdWithoutAnOutcomeInTime_isWithdrawnAndItsPinTakenBack() {
        Vertx vertx = Vertx.vertx();
        HttpServer server = vertx.createHttpServer().requestHandler(engine(vertx));
        try (EventFeed feed = new EventFeed()) {
            server.listen(0, "127.0.0.1")
                    .toCompletionStage()
                    .toCompletableFuture()
                    .join();
            URI address = URI.create("http://127.0.0.1:" + server.actualPort());
            String keys = "events: '" + feed.endpoint() + "'";
            try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, address, keys));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.ready();
                Eventually.see(
                        "the feed is heard",
                        () -> {
                            feed.cleared();
                            return client.engine().getJsonObject("events").getLong("batches");
                        },
                        batches -> batches > 0);
                feed.stored(SglangBlockNames.of(PREFIX, TestBed.BLOCK));
                Eventually.see(
                        "the prefix is known to be stored",
                        () -> client.engine().getInteger("blocks"),
                        blocks -> blocks > 0);

                Http.Answer answer = client.hold(PREFIX, 60);

                assertThat(answer.status()).as(answer.text()).isEqualTo(503);
                assertThat(answer.error())
                        .isEqualTo("The engine gave no outcome within 2 s, so the hold is withdrawn; ask again when the"
                                + " engine answers.");
                Eventually.see(
                        "nothing is left of it",
                        client::holds,
                        holds -> holds.stream().allMatch(hold -> "released".equals(hold.getString("state"))));
                assertThat(unpins).isNotEmpty();
            }
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    /** As much of an engine as is needed to be asked for pins. */
    private Router engine(Vertx vertx) {
        Router router = Router.router(vertx);
        router.post().handler(BodyHandler.create(false));
        router.get("/server_info")
                .handler(call -> call.json(new JsonObject()
                        .put("max_total_num_tokens", TestBed.CAPACITY)
                        .put("page_size", TestBed.BLOCK)
                        .put("max_req_input_len", 1024)
                        .put("kv_events", new JsonObject().put("publisher", "zmq"))));
        router.get("/metrics")
                .handler(call ->
                        call.end("sglang:num_running_reqs 0\nsglang:num_queue_reqs 0\nsglang:num_used_tokens 0\n"));
        router.post("/hicache/pin_blocks").handler(call -> {
            if (EMPTY.equals(call.body().asString())) {
                call.json(new JsonObject().put("status", "ok").put("pinned_count", 0));
            }
        });
        router.post("/hicache/unpin_blocks").handler(call -> {
            unpins.add(call.body().asString());
            call.json(new JsonObject().put("status", "ok").put("unpinned_count", 1));
        });
        return router;
    }
}
