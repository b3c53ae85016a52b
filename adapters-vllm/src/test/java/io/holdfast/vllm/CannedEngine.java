package io.holdfast.vllm;

import com.sun.net.httpserver.HttpServer;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;

/** A server that gives prepared answers, 404 where there is none, and remembers what it was asked. */
final class CannedEngine implements AutoCloseable {
    private record Canned(int status, String body) {}

    private final ExecutorService executor = Executors.newCachedThreadPool();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final Map<String, Canned> answers = new ConcurrentHashMap<>();
    private final List<String> asked = new CopyOnWriteArrayList<>();
    private final HttpServer server;
    private final EngineHttp http;

    CannedEngine() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(executor);
        server.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            asked.add(exchange.getRequestMethod() + " " + path + (body.isEmpty() ? "" : " " + body));
            Canned canned = answers.getOrDefault(path, new Canned(404, "{\"detail\":\"Not Found\"}"));
            byte[] bytes = canned.body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(canned.status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        server.start();
        http = new EngineHttp(
                new EngineHttpSettings(
                        URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                        Map.of(),
                        Optional.empty(),
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(20),
                        16,
                        1000,
                        new EngineHttpSettings.Retries(1, Duration.ofMillis(1)),
                        new EngineHttpSettings.Breaker(1000, Duration.ofSeconds(1))),
                executor,
                timer,
                System::nanoTime);
    }

    EngineHttp http() {
        return http;
    }

    ScheduledExecutorService timer() {
        return timer;
    }

    List<String> asked() {
        return asked;
    }

    CannedEngine answers(String path, int status, String body) {
        answers.put(path, new Canned(status, body));
        return this;
    }

    /** Goes away: nothing listens at its address any more. */
    void dies() {
        server.stop(0);
    }

    static String resource(String name) throws IOException {
        try (InputStream in = Objects.requireNonNull(CannedEngine.class.getResourceAsStream(name))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        http.close();
        executor.shutdownNow();
        timer.shutdownNow();
    }
}
