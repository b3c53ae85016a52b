package io.holdfast.sidecar;

import com.sun.net.httpserver.HttpExchange;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** An engine that has {@code pin_prefix} beside all that the one behind it has; a stand-in for SGLang 0.5.10rc0. */
final class PinPrefixRelay implements AutoCloseable {
    private final EngineRelay relay;
    private final List<JsonObject> pins = new CopyOnWriteArrayList<>();
    private volatile int budgetTokens = Integer.MAX_VALUE;

    PinPrefixRelay(URI engine) {
        relay = new EngineRelay(engine);
        relay.answers("/hicache/pin_prefix", this::pin);
    }

    URI uri() {
        return relay.uri();
    }

    /** What was asked to be pinned, probes aside. */
    List<JsonObject> pins() {
        return pins;
    }

    void hasRoomFor(int tokens) {
        budgetTokens = tokens;
    }

    private void pin(HttpExchange exchange) throws IOException {
        JsonObject asked = new JsonObject(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
        int tokens = asked.getJsonArray("token_ids").size();
        if (tokens == 0) {
            answer(exchange, 400, "error", 0, "No matching prefix found in cache to pin");
            return;
        }
        pins.add(asked);
        String exhausted = "Pin budget exhausted (" + budgetTokens + "/" + budgetTokens + " tokens pinned)";
        if (budgetTokens == 0) {
            answer(exchange, 400, "error", 0, exhausted);
        } else if (tokens > budgetTokens) {
            answer(
                    exchange,
                    200,
                    "ok",
                    1,
                    "Pinned 1 nodes (ttl=" + asked.getInteger("ttl_seconds") + "s); prefix partially pinned; "
                            + exhausted);
        } else {
            answer(exchange, 200, "ok", 1, "Pinned 1 nodes (ttl=" + asked.getInteger("ttl_seconds") + "s)");
        }
    }

    private static void answer(HttpExchange exchange, int status, String word, int nodes, String message)
            throws IOException {
        EngineRelay.reply(
                exchange,
                status,
                new JsonObject()
                        .put("status", word)
                        .put("nodes_pinned", nodes)
                        .put("message", message)
                        .encode());
    }

    @Override
    public void close() {
        relay.close();
    }
}
