package io.holdfast.sidecar;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** An engine that has {@code pin_prefix} beside all that the one behind it has; a stand-in for SGLang 0.5.10rc0. */
final class PinPrefixRelay implements AutoCloseable {
    private final URI engine;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final HttpServer server;
    private final List<JsonObject> pins = new CopyOnWriteArrayList<>();
    private volatile int budgetTokens = Integer.MAX_VALUE;

    PinPrefixRelay(URI engine) {
        this.engine = engine;
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::relay);
        server.createContext("/hicache/pin_prefix", this::pin);
        server.start();
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
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
        reply(
                exchange,
                status,
                new JsonObject()
                        .put("status", word)
                        .put("nodes_pinned", nodes)
                        .put("message", message)
                        .encode());
    }

    private void relay(HttpExchange exchange) throws IOException {
        byte[] body = exchange.getRequestBody().readAllBytes();
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create(engine + exchange.getRequestURI().toString()))
                .header("Content-Type", "application/json")
                .method(exchange.getRequestMethod(), BodyPublishers.ofByteArray(body))
                .build();
        try {
            HttpResponse<String> there = client.send(request, BodyHandlers.ofString());
            reply(exchange, there.statusCode(), there.body());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void reply(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
        client.shutdownNow();
        threads.shutdownNow();
    }
}
