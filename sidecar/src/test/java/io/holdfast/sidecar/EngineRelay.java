package io.holdfast.sidecar;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
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
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** An engine's HTTP from one step away: notes what is asked of it, and answers some of it itself. */
final class EngineRelay implements AutoCloseable {
    private final URI engine;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final HttpServer server;
    private final Map<String, HttpHandler> own = new ConcurrentHashMap<>();
    private final List<String> calls = new CopyOnWriteArrayList<>();

    EngineRelay(URI engine) {
        this.engine = engine;
        try {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.setExecutor(threads);
        server.createContext("/", this::called);
        server.start();
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    /** Answers what is asked at this path itself, from now on. */
    void answers(String path, HttpHandler handler) {
        own.put(path, handler);
    }

    /** Hands on again what is asked at this path. */
    void handsOn(String path) {
        own.remove(path);
    }

    /** Methods, paths and bodies, in the order in which they were asked for. */
    List<String> calls() {
        return calls;
    }

    private void called(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        byte[] body = exchange.getRequestBody().readAllBytes();
        exchange.setStreams(new ByteArrayInputStream(body), null);
        calls.add((exchange.getRequestMethod() + " " + path + " " + new String(body, StandardCharsets.UTF_8)).strip());
        HttpHandler handler = own.get(path);
        if (handler == null) {
            handOn(exchange);
        } else {
            handler.handle(exchange);
        }
    }

    private void handOn(HttpExchange exchange) throws IOException {
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
        } catch (IOException e) {
            // The engine is not there, and so nobody is.
            exchange.close();
        }
    }

    static void reply(HttpExchange exchange, int status, String body) throws IOException {
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
