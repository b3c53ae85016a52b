package io.holdfast.sglang;

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
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
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
    private final Set<String> slow = ConcurrentHashMap.newKeySet();
    private final Map<String, Canned> special = new ConcurrentHashMap<>();
    private final CountDownLatch goesOn = new CountDownLatch(1);
    private HttpServer server;
    private final EngineHttp http;

    CannedEngine() throws IOException {
        this(Duration.ofSeconds(20));
    }

    /** One that nobody waits for longer than this, as a rule. */
    CannedEngine(Duration timeLimit) throws IOException {
        server = serve(0);
        http = new EngineHttp(
                new EngineHttpSettings(
                        URI.create("http://127.0.0.1:" + server.getAddress().getPort()),
                        Map.of(),
                        Optional.empty(),
                        Duration.ofSeconds(5),
                        timeLimit,
                        16,
                        1000,
                        new EngineHttpSettings.Retries(1, Duration.ofMillis(1)),
                        new EngineHttpSettings.Breaker(1000, Duration.ofSeconds(1))),
                executor,
                timer,
                System::nanoTime);
    }

    private HttpServer serve(int port) throws IOException {
        HttpServer fresh = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        fresh.setExecutor(executor);
        fresh.createContext("/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            asked.add(exchange.getRequestMethod() + " " + path + (body.isEmpty() ? "" : " " + body));
            if (slow.contains(path)) {
                await(goesOn);
            }
            Canned usual = answers.getOrDefault(path, new Canned(404, "{\"detail\":\"Not Found\"}"));
            Canned canned = special.entrySet().stream()
                    .filter(each -> (path + " " + body).contains(each.getKey()))
                    .findFirst()
                    .map(Map.Entry::getValue)
                    .orElse(usual);
            byte[] bytes = canned.body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(canned.status, bytes.length == 0 ? -1 : bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
        fresh.start();
        return fresh;
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

    /** Does not answer this before it goes on. */
    void makesWait(String path) {
        slow.add(path);
    }

    /** Is too busy for a request that has this in its body. */
    void isTooBusyFor(String part) {
        answersTo(part, 503, "{\"message\":\"busy\"}");
    }

    /** Answers so where path and body have this. */
    CannedEngine answersTo(String part, int status, String body) {
        special.put(part, new Canned(status, body));
        return this;
    }

    void goesOn() {
        goesOn.countDown();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Goes away: nothing listens at its address any more. */
    void dies() {
        server.stop(0);
    }

    /** Serves at its old address again. */
    void comesBack() throws IOException {
        server = serve(server.getAddress().getPort());
    }

    static String resource(String name) throws IOException {
        try (InputStream in = Objects.requireNonNull(CannedEngine.class.getResourceAsStream(name))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Override
    public void close() {
        goesOn();
        server.stop(0);
        http.close();
        executor.shutdownNow();
        timer.shutdownNow();
    }
}
