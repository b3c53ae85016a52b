package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** The sidecar's own beginning and end. */
@Isolated("looks at the threads of the whole process")
class SidecarLifeTest {
    private static final URI NOBODY = URI.create("http://127.0.0.1:9");
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Vertx vertx = Sidecar.instrumented(registry);

    @TempDir
    Path state;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void close_releasesWhatIsHeldAndEmptiesTheLedger() throws Exception {
        ThreadGroup own = new ThreadGroup("this sidecar's");
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            Sidecar sidecar = startedIn(own, TestBed.config(state, emulator.uri(), ""));
            assertThat(namesIn(own)).contains("holdfast-events");
            try (SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.meet(engine);
                engine.generate(PREFIX);
                client.held(PREFIX);
                assertThat(engine.usedTokens()).isEqualTo(512);
            }

            sidecar.close();
            sidecar.close();

            assertThat(engine.usedTokens()).isZero();
            assertThat(outstanding()).isEmpty();
            assertThat(namesIn(own)).doesNotContain("holdfast-events");
        }
    }

    /** A thread belongs to the group of whoever made it, which tells this sidecar's from those of tests beside this one. */
    private Sidecar startedIn(ThreadGroup group, SidecarConfig config) throws Exception {
        FutureTask<Sidecar> start = new FutureTask<>(() -> Sidecar.start(vertx, config));
        new Thread(group, start).start();
        return start.get();
    }

    private static List<String> namesIn(ThreadGroup group) {
        Thread[] threads = new Thread[100];
        int count = group.enumerate(threads);
        return Arrays.stream(threads, 0, count).map(Thread::getName).toList();
    }

    @Test
    void closeWithoutTheEngine_keepsTheHoldInTheLedger() throws IOException {
        Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
        Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, emulator.uri(), ""));
        try (EngineClient engine = new EngineClient(emulator.uri());
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            client.held(PREFIX);
        }
        emulator.close();

        sidecar.close();

        assertThat(outstanding()).hasSize(1);
    }

    private List<LedgerLine.Entry> outstanding() throws IOException {
        try (FileLedgerStore store = FileLedgerStore.open(state, "demo", LedgerFiles.SYSTEM)) {
            return new Ledger(store).outstanding();
        }
    }

    @Test
    void takenPort_isOneSentence() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            SidecarConfig config = SidecarConfig.parse(
                    TestBed.yaml(state, NOBODY, "").replace("port: 0", "port: " + other.getLocalPort()), "test");

            assertThatThrownBy(() -> Sidecar.start(vertx, config))
                    .isInstanceOf(SidecarException.class)
                    .hasMessageStartingWith("Port " + other.getLocalPort() + " of 127.0.0.1 cannot be listened to")
                    .hasMessageMatching("[^\\n]+\\.");
        }
        Sidecar.start(vertx, TestBed.config(state, NOBODY, "")).close();
    }

    @Test
    void ledgerOfAnotherSidecar_isOneSentence() {
        SidecarConfig config = TestBed.config(state, NOBODY, "");
        try (Sidecar first = Sidecar.start(vertx, config)) {
            assertThat(first.uri().getPort()).isPositive();
            assertThatThrownBy(() -> Sidecar.start(vertx, config))
                    .isInstanceOf(SidecarException.class)
                    .hasMessageContaining("is in use by another sidecar or router");
        }
        Sidecar.start(vertx, config).close();
    }

    @Test
    void corruptLedger_isOneSentenceAndNothingIsLost() throws IOException {
        Files.writeString(state.resolve("demo.ledger"), "garbage\n");

        assertThatThrownBy(() -> Sidecar.start(vertx, TestBed.config(state, NOBODY, "")))
                .isInstanceOf(SidecarException.class)
                .hasMessageStartingWith("Line 1 of the ledger " + state.resolve("demo.ledger") + " cannot be read");

        assertThat(Files.readString(state.resolve("demo.ledger"))).isEqualTo("garbage\n");
    }

    @Test
    void closedSidecar_servesNoMore() {
        Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, NOBODY, ""));
        try (Http http = new Http(sidecar.uri())) {
            assertThat(http.get("/livez").status()).isEqualTo(200);
            sidecar.close();
            assertThatThrownBy(() -> http.get("/livez")).hasMessage("GET /livez");
        }
    }

    @Test
    void sidecarThatCloses_isNotServedAfterItsEventThread() {
        for (int life = 0; life < 10; life++) {
            Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, NOBODY, ""));
            try (Http http = new Http(sidecar.uri())) {
                CompletableFuture<Void> closed = CompletableFuture.runAsync(sidecar::close);
                List<String> unlike = new ArrayList<>();
                boolean served = true;
                while (served) {
                    try {
                        Http.Answer answer = http.get("/livez");
                        if (answer.status() != 200) {
                            unlike.add(answer.text());
                        }
                    } catch (UncheckedIOException e) {
                        served = false;
                    }
                }
                closed.join();
                assertThat(unlike).isEmpty();
            }
        }
    }

    @Test
    void whoeverListensBeyondThisMachine_isAskedForByAnAllowedName() throws IOException {
        SidecarConfig config = SidecarConfig.parse(
                TestBed.yaml(state, NOBODY, "").replace("{port: 0}", "{host: 0.0.0.0, port: 0, allowedHosts: [gpu-1]}"),
                "test");
        try (Sidecar sidecar = Sidecar.start(vertx, config);
                Socket socket = new Socket(
                        InetAddress.getLoopbackAddress(), sidecar.uri().getPort())) {
            socket.getOutputStream()
                    .write("GET /livez HTTP/1.1\r\nHost: gpu-1\r\nConnection: close\r\n\r\n"
                            .getBytes(StandardCharsets.US_ASCII));

            assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                    .startsWith("HTTP/1.1 200 ");
        }
    }

    @Test
    void startOnAnEventLoop_isRefused() {
        CompletableFuture<String> said = new CompletableFuture<>();

        vertx.runOnContext(nothing -> {
            try (Sidecar started = Sidecar.start(vertx, TestBed.config(state, NOBODY, ""))) {
                said.complete("started at " + started.uri());
            } catch (IllegalStateException e) {
                said.complete(String.valueOf(e.getMessage()));
            }
        });

        assertThat(said.join()).isEqualTo("A sidecar starts and closes by blocking, which an event loop must not.");
    }

    @Test
    void keyOfTheEngine_comesFromTheEnvironment() {
        CompletableFuture<String> sent = new CompletableFuture<>();
        HttpServer engine = vertx.createHttpServer().requestHandler(request -> {
            sent.complete(String.valueOf(request.getHeader("Authorization")));
            request.response().setStatusCode(404).end();
        });
        engine.listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().join();
        URI address = URI.create("http://127.0.0.1:" + engine.actualPort());

        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, address, "apiKeyEnv: HOME"))) {
            assertThat(sidecar.uri().getPort()).isPositive();
            assertThat(sent.join()).isEqualTo("Bearer " + System.getenv("HOME"));
        }
    }

    @Test
    void adminKeyOfTheEngine_goesWithPinsAlone() {
        Map<String, String> sent = new ConcurrentHashMap<>();
        HttpServer engine = vertx.createHttpServer().requestHandler(request -> {
            sent.put(request.path(), String.valueOf(request.getHeader("Authorization")));
            request.response().setStatusCode(404).end();
        });
        engine.listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().join();
        URI address = URI.create("http://127.0.0.1:" + engine.actualPort());

        try (Sidecar _ = Sidecar.start(vertx, TestBed.config(state, address, "apiKeyEnv: HOME, adminKeyEnv: PATH"))) {
            Eventually.see(
                    "both are asked",
                    sent::keySet,
                    paths -> paths.containsAll(List.of("/server_info", "/hicache/pin_blocks")));
            assertThat(sent)
                    .containsEntry("/server_info", "Bearer " + System.getenv("HOME"))
                    .containsEntry("/hicache/pin_blocks", "Bearer " + System.getenv("PATH"));
        }
    }

    @Test
    void missingKey_isOneSentence() {
        assertThatThrownBy(() -> Sidecar.start(vertx, TestBed.config(state, NOBODY, "apiKeyEnv: HOLDFAST_NO_SUCH_KEY")))
                .isInstanceOf(SidecarException.class)
                .hasMessage("The environment variable HOLDFAST_NO_SUCH_KEY, which engines.demo.apiKeyEnv names, is not"
                        + " set; set it or leave apiKeyEnv out.");
        assertThatThrownBy(
                        () -> Sidecar.start(vertx, TestBed.config(state, NOBODY, "adminKeyEnv: HOLDFAST_NO_SUCH_KEY")))
                .hasMessageContaining("which engines.demo.adminKeyEnv names, is not set");
    }

    @Test
    void instrumentedVertx_measuresItsHttpToo() {
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, NOBODY, ""), registry);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.http.get("/api/v1/engines");

            String text = Eventually.see(
                    "the request is counted",
                    () -> client.http.get("/metrics").text(),
                    seen -> seen.contains("route=\"/api/v1/engines\""));

            assertThat(text).contains("vertx_http_server_requests_total{").contains("holdfast_poll_lag_seconds");
        }
    }

    @Test
    void whoeverListensBeyondThisMachine_isAskedForByItsOwnAddress() throws IOException {
        Optional<InetAddress> own = NetworkInterface.networkInterfaces()
                .flatMap(NetworkInterface::inetAddresses)
                .filter(address -> address instanceof Inet4Address && !address.isLoopbackAddress())
                .findFirst();
        Assumptions.assumeTrue(own.isPresent(), "a machine with the loopback address alone");
        SidecarConfig config = SidecarConfig.parse(
                TestBed.yaml(state, NOBODY, "").replace("{port: 0}", "{host: 0.0.0.0, port: 0}"), "test");
        try (Sidecar sidecar = Sidecar.start(vertx, config);
                Socket socket = new Socket(own.get(), sidecar.uri().getPort())) {
            RawClient.send(
                    socket,
                    "GET /livez HTTP/1.1\r\nHost: " + own.get().getHostAddress() + "\r\nConnection: close\r\n\r\n");
            assertThat(RawClient.read(socket)).startsWith("HTTP/1.1 200 ");
        }
    }
}
