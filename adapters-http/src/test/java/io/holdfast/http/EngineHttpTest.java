package io.holdfast.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against a real server in this process. */
@Timeout(60)
final class EngineHttpTest {
    private final ExecutorService executor = Executors.newCachedThreadPool();
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    private final AtomicLong nanos = new AtomicLong(1_000_000_000_000L);
    private final AtomicInteger served = new AtomicInteger();
    private HttpServer server;
    private URI base;

    EngineHttpTest() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        base = URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    @BeforeEach
    void start() {
        server.setExecutor(executor);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
        executor.shutdownNow();
        timer.shutdownNow();
    }

    @Test
    void answer_hasStatusAndBody_andHeadersAreSent() {
        serve(exchange -> answer(
                exchange,
                exchange.getRequestHeaders().getFirst("Authorization").equals("Bearer k") ? 200 : 401,
                exchange.getRequestMethod() + " " + exchange.getRequestURI() + " " + text(exchange)));
        EngineHttpSettings settings =
                EngineHttpSettings.of(URI.create(base + "/")).withHeaders(Map.of("Authorization", "Bearer k"));
        try (EngineHttp http = http(settings)) {
            assertThat(http.base()).isEqualTo(URI.create(base + "/"));
            assertThat(await(http.get("/health?x=1"))).isEqualTo(new Reply.Answer(200, "GET /health?x=1 "));
            assertThat(await(http.post("/pin", "{\"ü\":1}"))).isEqualTo(new Reply.Answer(200, "POST /pin {\"ü\":1}"));
        }
    }

    @Test
    void httpsUrl_speaksTls() throws Exception {
        try (ServerSocket tls = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                EngineHttp http =
                        http(EngineHttpSettings.of(URI.create("https://127.0.0.1:" + tls.getLocalPort() + "/")))) {
            CompletionStage<Reply> reply = http.get("/health");

            try (Socket client = tls.accept()) {
                assertThat(client.getInputStream().read())
                        .as("the first byte of a TLS handshake record")
                        .isEqualTo(22);
            }
            assertThat(await(reply)).isNotInstanceOf(Reply.Answer.class);
        }
    }

    @Test
    void redirect_isAnAnswer() {
        serve(exchange -> {
            exchange.getResponseHeaders().set("Location", "/elsewhere");
            answer(exchange, 302, "");
        });
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(302, ""));
            assertThat(served).hasValue(1);
        }
    }

    @Test
    void get_isRepeated_untilItIsAnswered() {
        serve(exchange -> answer(exchange, served.get() < 3 ? 503 : 200, "x"));
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(200, "x"));
            assertThat(served).hasValue(3);
        }
    }

    @Test
    void get_thatNeverSucceeds_givesItsLastAnswer() {
        serve(exchange -> answer(exchange, 503, "busy " + served.get()));
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(503, "busy 3"));
            assertThat(served).hasValue(3);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 404, 500})
    void get_whoseAnswerWillNotChange_isNotRepeated(int status) {
        serve(exchange -> answer(exchange, status, "no"));
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(status, "no"));
            assertThat(served).hasValue(1);
        }
    }

    @Test
    void post_isNeverRepeated() {
        serve(exchange -> answer(exchange, 503, "busy"));
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.post("/", "{}"))).isEqualTo(new Reply.Answer(503, "busy"));
            assertThat(served).hasValue(1);
        }
    }

    @Test
    void post_whoseConnectionBreaks_isNotRepeated_andMayHaveBeenDone() {
        serve(exchange -> {
            text(exchange);
            throw new IOException("the engine dies");
        });
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.post("/pin", "{}")))
                    .isEqualTo(new Reply.NoAnswer("POST " + base + "/pin broke off without an answer.", true));
            assertThat(served).hasValue(1);
        }
    }

    @Test
    void silence_isATimeOut_andMayHaveBeenDone() {
        CountDownLatch released = new CountDownLatch(1);
        serve(exchange -> {
            awaitLatch(released);
            answer(exchange, 200, "late");
        });
        try (EngineHttp http = http(settings().withTimeLimit(Duration.ofMillis(200)))) {
            assertThat(await(http.post("/pin", "{}")))
                    .isEqualTo(new Reply.NoAnswer("POST " + base + "/pin had no answer within 200 ms.", true));
            assertThat(await(http.get("/info")))
                    .isEqualTo(new Reply.NoAnswer("GET " + base + "/info had no answer within 200 ms.", true));
            assertThat(served).hasValueLessThan(3);
        } finally {
            released.countDown();
        }
    }

    @Test
    void bodyThatNeverEnds_isATimeOut() {
        CountDownLatch released = new CountDownLatch(1);
        serve(exchange -> {
            exchange.sendResponseHeaders(200, 0);
            exchange.getResponseBody().write('x');
            exchange.getResponseBody().flush();
            awaitLatch(released);
            exchange.close();
        });
        try (EngineHttp http = http(settings().withTimeLimit(Duration.ofMillis(200)))) {
            assertThat(await(http.get("/metrics")))
                    .isEqualTo(new Reply.NoAnswer("GET " + base + "/metrics had no answer within 200 ms.", true));
        } finally {
            released.countDown();
        }
    }

    @Test
    void bodyBeyondAllReason_isGivenUp() {
        serve(exchange -> {
            exchange.sendResponseHeaders(200, 0);
            try (OutputStream body = exchange.getResponseBody()) {
                byte[] mebibyte = new byte[1 << 20];
                for (int i = 0; i < 64; i++) {
                    body.write(mebibyte);
                }
            }
        });
        try (EngineHttp http = http(settings())) {
            assertThat(await(http.get("/metrics")))
                    .isEqualTo(new Reply.NoAnswer(
                            "GET " + base + "/metrics was given up: the answer is longer than 16777216 bytes.", true));
        }
    }

    @Test
    void nobodyListening_isOneSentence_andCertainlyNotDone() throws IOException {
        URI nowhere = unused();
        try (EngineHttp http = http(EngineHttpSettings.of(nowhere))) {
            Reply refused = new Reply.NoAnswer("Nothing listens at " + nowhere + ": is the engine running?", false);
            assertThat(await(http.get("/health"))).isEqualTo(refused);
            assertThat(await(http.post("/pin", "{}"))).isEqualTo(refused);
        }
    }

    @Test
    void attemptThatFailed_isTheAnswer_whereTheNextIsTurnedAway() throws IOException {
        EngineHttpSettings nowhere = EngineHttpSettings.of(unused());
        try (EngineHttp http = http(nowhere)) {
            for (int i = 1; i < nowhere.breaker().calls(); i++) {
                await(http.post("/pin", "{}"));
            }
            assertThat(await(http.get("/health")))
                    .isEqualTo(new Reply.NoAnswer(
                            "Nothing listens at " + nowhere.base() + ": is the engine running?", false));
            assertThat(await(http.get("/health")).toString()).contains("are suspended");
        }
    }

    @Test
    void unknownHost_isOneSentence_andCertainlyNotDone() {
        try (EngineHttp http = http(EngineHttpSettings.of(URI.create("http://engine.invalid:30000")))) {
            assertThat(await(http.post("/pin", "{}")))
                    .isEqualTo(new Reply.NoAnswer("No host is known by the name of engine.invalid.", false));
        }
    }

    @Test
    void failures_openTheBreaker_whichRecovers() {
        AtomicInteger status = new AtomicInteger(500);
        serve(exchange -> answer(exchange, status.get(), ""));
        try (EngineHttp http = http(settings())) {
            for (int i = 0; i < 10; i++) {
                assertThat(await(http.post("/", "{}"))).isEqualTo(new Reply.Answer(500, ""));
            }
            Reply suspended = new Reply.NoAnswer(
                    "Calls to " + base
                            + " are suspended because too many have failed lately, the last one so: it answered"
                            + " with HTTP 500.",
                    false);
            assertThat(await(http.post("/", "{}"))).isEqualTo(suspended);
            assertThat(await(http.get("/"))).isEqualTo(suspended);
            assertThat(served).hasValue(10);

            nanos.addAndGet(TimeUnit.SECONDS.toNanos(4));
            assertThat(await(http.post("/", "{}"))).isEqualTo(suspended);
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(2));
            assertThat(await(http.post("/", "{}"))).isEqualTo(new Reply.Answer(500, ""));
            assertThat(await(http.post("/", "{}"))).isEqualTo(suspended);

            status.set(200);
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(6));
            for (int i = 0; i < 20; i++) {
                assertThat(await(http.post("/", "{}"))).isEqualTo(new Reply.Answer(200, ""));
            }
        }
    }

    @Test
    void callsThatTimeOutInTheQueue_turnNoOtherCallAway() {
        CountDownLatch never = new CountDownLatch(1);
        serve(exchange -> {
            if (exchange.getRequestURI().getPath().equals("/generate")) {
                awaitLatch(never);
            }
            answer(exchange, 200, "x");
        });
        try (EngineHttp http = http(settings())) {
            EngineHttp own = http.waiting(Duration.ofMillis(50));
            List<CompletionStage<Reply>> replies = IntStream.range(0, 10)
                    .mapToObj(i -> own.post("/generate", "{}"))
                    .toList();
            replies.forEach(reply -> assertThat(await(reply)).isInstanceOf(Reply.NoAnswer.class));

            assertThat(await(http.post("/unpin", "{}"))).isEqualTo(new Reply.Answer(200, "x"));
            assertThat(await(own.post("/generate", "{}")).toString()).contains("are suspended");
            assertThat(http.guards())
                    .containsExactly(
                            new GuardState(GuardState.Calls.PROMPT, GuardState.Breaker.CLOSED, 0, 32, 0, 0, 0, 0),
                            new GuardState(GuardState.Calls.QUEUED, GuardState.Breaker.OPEN, 0, 32, 1, 0, 0, 10),
                            new GuardState(GuardState.Calls.TEXT, GuardState.Breaker.CLOSED, 0, 32, 0, 0, 0, 0));
        } finally {
            never.countDown();
        }
    }

    @Test
    void answersBelow500_doNotOpenTheBreaker() {
        serve(exchange -> answer(exchange, 404, ""));
        try (EngineHttp http = http(settings())) {
            for (int i = 0; i < 30; i++) {
                assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(404, ""));
            }
        }
    }

    @Test
    void moreCallsThanTheBulkheadTakes_areTurnedAway_andRoomComesBack() {
        CountDownLatch released = new CountDownLatch(1);
        serve(exchange -> {
            awaitLatch(released);
            answer(exchange, 200, "");
        });
        try (EngineHttp http = http(settings().withLimits(2, 1000))) {
            List<CompletionStage<Reply>> underWay = List.of(http.post("/", "{}"), http.post("/", "{}"));
            assertThat(await(http.post("/", "{}")))
                    .isEqualTo(new Reply.NoAnswer("Too many calls to " + base + " are under way.", false));
            released.countDown();
            underWay.forEach(call -> assertThat(await(call)).isEqualTo(new Reply.Answer(200, "")));
            assertThat(await(http.post("/", "{}"))).isEqualTo(new Reply.Answer(200, ""));
        }
    }

    @Test
    void moreCallsThanTheRateAllows_areTurnedAway_untilTheNextSecond() {
        serve(exchange -> answer(exchange, 200, ""));
        try (EngineHttp http = http(settings().withLimits(16, 3))) {
            for (int i = 0; i < 3; i++) {
                assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(200, ""));
            }
            Reply tooMany =
                    new Reply.NoAnswer("Too many calls to " + base + " were made within the last second.", false);
            for (int i = 0; i < 30; i++) {
                assertThat(await(http.get("/"))).isEqualTo(tooMany);
            }
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
            assertThat(await(http.get("/"))).isEqualTo(new Reply.Answer(200, ""));
        }
    }

    @Test
    void closedClient_answersWithItsRefusal() {
        serve(exchange -> answer(exchange, 200, ""));
        EngineHttp http = http(settings());
        http.close();
        Reply closed = new Reply.NoAnswer("The connection to " + base + " was closed here.", false);
        assertThat(await(http.get("/"))).isEqualTo(closed);
        assertThat(await(http.post("/", "{}"))).isEqualTo(closed);
        assertThat(served).hasValue(0);
    }

    @Test
    void closingDuringACall_endsIt() {
        CountDownLatch arrived = new CountDownLatch(1);
        CountDownLatch released = new CountDownLatch(1);
        serve(exchange -> {
            arrived.countDown();
            awaitLatch(released);
            answer(exchange, 200, "");
        });
        EngineHttp http = http(settings());
        CompletionStage<Reply> call = http.post("/pin", "{}");
        awaitLatch(arrived);
        http.close();
        assertThat(await(call))
                .isEqualTo(new Reply.NoAnswer(
                        "POST " + base + "/pin was given up: the connection was closed here.", true));
        released.countDown();
    }

    @ParameterizedTest
    @ValueSource(strings = {"localhost:30000", "ftp://127.0.0.1", "http:///x", "engine"})
    void addressThatIsNone_isOneSentence(String address) {
        assertThatThrownBy(() -> EngineHttpSettings.of(URI.create(address)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("The engine's address \"" + address + "\" is not of the form http://host:port.");
    }

    private EngineHttpSettings settings() {
        return EngineHttpSettings.of(base);
    }

    private EngineHttp http(EngineHttpSettings settings) {
        return new EngineHttp(settings, executor, timer, nanos::get);
    }

    private interface Handler {
        void handle(HttpExchange exchange) throws IOException;
    }

    private static URI unused() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return URI.create("http://127.0.0.1:" + socket.getLocalPort());
        }
    }

    private void serve(Handler handler) {
        server.createContext("/", exchange -> {
            served.incrementAndGet();
            handler.handle(exchange);
        });
    }

    private static void answer(HttpExchange exchange, int status, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private static String text(HttpExchange exchange) throws IOException {
        return new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static void awaitLatch(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Reply await(CompletionStage<Reply> stage) {
        CompletableFuture<Reply> future = stage.toCompletableFuture();
        return future.join();
    }
}
