package io.holdfast.sidecar;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The pins of an LMCache coordinator as its documentation says: keys of whole chunks, counted, never below nothing. */
final class LmcacheStandIn implements AutoCloseable {
    static final int CHUNK = 64;

    private final HttpServer server;
    private final Map<String, Integer> counts = new LinkedHashMap<>();

    LmcacheStandIn() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/cache/pins", this::answer);
        server.start();
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Pins as somebody else does. */
    void pin(String model, int[] tokens) {
        count(body(model, tokens), 1);
    }

    /** How often each chunk of a prefix is pinned; they are pinned together. */
    int pinned(String model, int[] tokens) {
        synchronized (counts) {
            return keys(body(model, tokens)).values().stream()
                    .mapToInt(key -> counts.getOrDefault(key, 0))
                    .max()
                    .orElse(0);
        }
    }

    int total() {
        synchronized (counts) {
            return counts.values().stream().mapToInt(Integer::intValue).sum();
        }
    }

    /** Is started again without --metadata-path. */
    void forgets() {
        synchronized (counts) {
            counts.clear();
        }
    }

    private static JsonObject body(String model, int[] tokens) {
        return new JsonObject()
                .put("model_name", model)
                .put("world_size", 1)
                .put("token_ids", EngineClient.array(tokens))
                .put("cache_salt", "");
    }

    private static Map<Integer, String> keys(JsonObject body) {
        JsonArray tokens = body.getJsonArray("token_ids");
        Map<Integer, String> keys = new LinkedHashMap<>();
        for (int end = CHUNK; end <= tokens.size(); end += CHUNK) {
            keys.put(
                    end,
                    body.getString("model_name") + tokens.stream().limit(end).toList());
        }
        return keys;
    }

    private int count(JsonObject body, int step) {
        Map<Integer, String> keys = keys(body);
        synchronized (counts) {
            for (String key : keys.values()) {
                counts.merge(key, step, Integer::sum);
                counts.values().removeIf(count -> count <= 0);
            }
        }
        return keys.size();
    }

    private void answer(HttpExchange exchange) throws IOException {
        String sent = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        JsonObject said = switch (exchange.getRequestMethod()) {
            case "POST" -> counted(new JsonObject(sent), 1, "pinned");
            case "DELETE" -> counted(new JsonObject(sent), -1, "unpinned");
            default -> new JsonObject().put("total", total()).put("pins", new JsonArray());
        };
        byte[] bytes = said.encode().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(200, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private JsonObject counted(JsonObject body, int step, String status) {
        int chunks = count(body, step);
        return new JsonObject().put("requested", chunks).put("affected", chunks).put("status", status);
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
