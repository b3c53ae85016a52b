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
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;

/** An LMCache coordinator as its documentation says: pins of keys of whole chunks, counted, never below nothing, and listed. */
final class LmcacheStandIn implements AutoCloseable {
    static final int CHUNK = 64;

    private final HttpServer server;
    private final Map<String, Integer> counts = new LinkedHashMap<>();
    private final Queue<Boolean> lost = new ConcurrentLinkedQueue<>();

    LmcacheStandIn() {
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/cache/pins", this::answer);
        server.createContext("/directory/lookup", this::lookUp);
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

    /** The answer to the next unpin is lost on its way. */
    void losesAnUnpin(boolean carriedOut) {
        lost.add(carriedOut);
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
        boolean unpin = exchange.getRequestMethod().equals("DELETE");
        Boolean carriedOut = unpin ? lost.poll() : null;
        if (carriedOut != null) {
            if (carriedOut) {
                count(new JsonObject(sent), -1);
            }
            exchange.close();
            return;
        }
        send(
                exchange,
                switch (exchange.getRequestMethod()) {
                    case "POST" -> counted(new JsonObject(sent), 1, "pinned");
                    case "DELETE" -> counted(new JsonObject(sent), -1, "unpinned");
                    default -> listed(exchange.getRequestURI().getQuery());
                });
    }

    private void lookUp(HttpExchange exchange) throws IOException {
        JsonArray results = new JsonArray();
        keys(new JsonObject(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)))
                .values()
                .forEach(key -> results.add(new JsonObject().put("key", key(key))));
        send(exchange, new JsonObject().put("chunks", results.size()).put("results", results));
    }

    private JsonObject listed(String query) {
        Map<String, String> asked = Arrays.stream(query.split("&"))
                .map(each -> each.split("=", 2))
                .collect(Collectors.toMap(each -> each[0], each -> each[1]));
        synchronized (counts) {
            JsonArray page = new JsonArray();
            counts.entrySet().stream()
                    .skip(Long.parseLong(asked.getOrDefault("offset", "0")))
                    .limit(Long.parseLong(asked.getOrDefault("limit", "1000")))
                    .forEach(each -> page.add(
                            new JsonObject().put("key", key(each.getKey())).put("pin_count", each.getValue())));
            return new JsonObject().put("total", counts.size()).put("pins", page);
        }
    }

    private static JsonObject key(String key) {
        return new JsonObject()
                .put(
                        "chunk_hash_hex",
                        UUID.nameUUIDFromBytes(key.getBytes(StandardCharsets.UTF_8))
                                .toString()
                                .replace("-", ""));
    }

    private static void send(HttpExchange exchange, JsonObject said) throws IOException {
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
