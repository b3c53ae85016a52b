package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.http.ApiContract;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Attacks on the API of a sidecar with a process of its own and little memory. During each it answers new connections and
 * lets go of a hold whose lease ends; after each its heap is what it was. {@code -Dholdfast.scale=deep} makes them large.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DoorTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int FUZZED = DEEP ? 100_000 : 2_000;
    private static final int METHODS = DEEP ? 100_000 : 14_000;
    private static final int HALF_BODIES = DEEP ? 90 : 30;
    private static final int SLOW_CLIENTS = DEEP ? 600 : 300;
    private static final int REPORTS = DEEP ? 5_000 : 200;
    private static final int KEYED = DEEP ? 100_000 : 2_000;
    private static final int QUERIES = DEEP ? 2_000 : 60;
    private static final long STREAMED = DEEP ? 1L << 30 : 64L << 20;
    private static final long MOST_GROWTH = 16 << 20;
    private static final long SEED = 20_261_122;

    private final Vertx vertx = Vertx.vertx();
    private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
    private Emulator emulator;
    private EngineClient engine;
    private ChildSidecar sidecar;
    private SidecarClient client;
    private RawClient raw;
    private int prompts;

    @BeforeAll
    void start(@TempDir Path directory) throws IOException {
        emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
        engine = new EngineClient(emulator.uri());
        sidecar = ChildSidecar.start(Files.writeString(
                directory.resolve("holdfast.yaml"), TestBed.yaml(directory.resolve("state"), emulator.uri(), "")));
        client = new SidecarClient(sidecar.uri());
        raw = new RawClient(sidecar.uri());
        client.meet(engine);
        // What is loaded and compiled once is no growth.
        for (int i = 0; i < 200; i++) {
            raw.exchange(fuzzed(new SplittableRandom(i)));
        }
    }

    @AfterAll
    void stop() {
        raw.close();
        client.close();
        sidecar.close();
        engine.close();
        emulator.close();
        executor.shutdownNow();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void fuzzedRequests_areAllRefusedOrAnswered() throws IOException {
        withstand("fuzzed requests", () -> {
            Map<String, Integer> statuses = new TreeMap<>();
            SplittableRandom random = new SplittableRandom(SEED);
            for (int i = 0; i < FUZZED; i++) {
                String answer = raw.exchange(fuzzed(random));
                statuses.merge(answer.substring(0, Math.min(12, answer.length())), 1, Integer::sum);
            }
            System.out.println("fuzzed: " + statuses);
            assertThat(statuses.keySet()).noneMatch(status -> status.startsWith("HTTP/1.1 5"));
        });
    }

    @Test
    void requestsWithMadeUpMethods_leaveTheMetricsAsTheyWere() throws IOException {
        withstand("the first made-up methods", () -> oddMethods(0, 700));
        // Asking for them is a request like others, and counted the first time.
        series();
        List<String> before = series();

        withstand("made-up methods", () -> oddMethods(700, METHODS));

        assertThat(series()).isEqualTo(before);
        assertThat(client.http.get("/metrics").text())
                .contains("method=\"OTHER\"")
                .doesNotContain("MADEUP");
    }

    @Test
    void clientsThatSendNothingMore_shutNobodyOut() throws IOException {
        withstand("slow clients", () -> {
            List<Socket> slow = new ArrayList<>();
            for (int i = 0; i < SLOW_CLIENTS; i++) {
                Socket socket = raw.open();
                slow.add(socket);
                RawClient.send(socket, i % 2 == 0 ? "GET /livez HTTP/1.1\r\nHost: lo" : "");
                if (i % 50 == 0) {
                    serves();
                }
            }
            serves();
            slow.forEach(socket -> assertThat(RawClient.read(socket)).isEmpty());
        });
    }

    @Test
    void bodiesThatStopHalfWay_doNotFillTheHeap() throws IOException {
        withstand("half bodies", () -> {
            byte[] half = new byte[7_900_000];
            Map<String, Integer> answers = new TreeMap<>();
            List<Socket> waiting = new ArrayList<>();
            for (int i = 0; i < HALF_BODIES; i++) {
                Socket socket = raw.open();
                waiting.add(socket);
                RawClient.send(socket, RawClient.holdOf(8_000_000));
                RawClient.send(socket, half);
                serves();
            }
            for (Socket socket : waiting) {
                // Those that were let in are answered when their time is over, which need not be waited for.
                socket.setSoTimeout(100);
                answers.merge(
                        RawClient.head(socket)
                                .map(head -> head.substring(9, 12))
                                .orElse("let in"),
                        1,
                        Integer::sum);
                socket.close();
            }
            System.out.println("half bodies: " + answers);
            assertThat(answers).containsKeys("503", "let in");
        });
    }

    @Test
    void bodyWithoutEnd_isCutOff() throws IOException {
        withstand("a body of " + (STREAMED >> 20) + " MiB", () -> {
            for (boolean chunked : new boolean[] {false, true}) {
                Socket socket = raw.open();
                String head = RawClient.holdOf(STREAMED);
                RawClient.send(
                        socket,
                        chunked ? head.replaceFirst("Content-Length: \\d+", "Transfer-Encoding: chunked") : head);
                byte[] piece = (chunked ? "100000\r\n" + " ".repeat(1 << 20) + "\r\n" : " ".repeat(1 << 20))
                        .getBytes(StandardCharsets.US_ASCII);
                long sent = 0;
                while (sent < STREAMED && RawClient.send(socket, piece)) {
                    sent += 1 << 20;
                }
                System.out.println("streamed: cut off after " + (sent >> 20) + " MiB");
                assertThat(sent).isLessThan(STREAMED);
                serves();
            }
        });
    }

    @Test
    void reportsOfRouters_moreThanAnybodyNeeds_fillNothing() throws IOException {
        String touches = "{\"touches\":[" + "{\"hashes\":[7,8,9]},".repeat(255) + "{\"hashes\":[7,8,9]}]}";
        String reports = "{\"firstTokens\":[" + "{\"seconds\":1,\"promptTokens\":1},".repeat(999)
                + "{\"seconds\":1,\"promptTokens\":1}]}";
        withstand("reports of routers", () -> {
            Map<String, Integer> statuses = new TreeMap<>();
            for (int i = 0; i < REPORTS; i++) {
                boolean touch = i % 2 == 0;
                String answer = raw.exchange(post(
                        "/api/v1/engines/demo/" + (touch ? "touches" : "first-tokens"), touch ? touches : reports, ""));
                statuses.merge(answer.substring(9, 12), 1, Integer::sum);
            }
            System.out.println("reports: " + statuses);
            assertThat(statuses.keySet()).isSubsetOf("202", "429", "503").contains("202");
        });
    }

    @Test
    void callsWithEverNewKeys_fillNothing() throws IOException {
        withstand("keys of calls", () -> {
            for (int i = 0; i < KEYED; i++) {
                String answer = raw.exchange(post("/api/v1/engines/demo/resume", "", "Idempotency-Key: " + i + "\r\n"));
                assertThat(answer.substring(9, 12)).isIn("200", "429");
            }
        });
    }

    @Test
    void queriesOfLongPrompts_areAnswered() throws IOException {
        String query = "{\"token_ids\":[" + "1,".repeat(100_000) + "1]}";
        withstand("queries", () -> {
            for (int i = 0; i < QUERIES; i++) {
                assertThat(raw.exchange(post("/query", query, ""))).startsWith("HTTP/1.1 200 ");
            }
        });
    }

    private static String post(String path, String body, String headers) {
        return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers
                + "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n\r\n" + body;
    }

    @Test
    void clientsThatHangUpInMidBody_areNoFaultOfOurs() throws IOException {
        withstand("clients that hang up", () -> {
            for (int i = 0; i < 300; i++) {
                Socket socket = raw.open();
                RawClient.send(socket, RawClient.holdOf(100_000) + " ".repeat(5_000));
                socket.close();
            }
        });
    }

    @FunctionalInterface
    private interface Attack {
        void run() throws IOException;
    }

    /** A hold's lease ends while the attack goes on, and the heap is afterwards what it was. */
    private void withstand(String what, Attack attack) throws IOException {
        long before = sidecar.heap();
        int[] prompt = EngineClient.prompt(700 + prompts++, 256);
        engine.generate(prompt);
        Http.Answer held = client.hold(prompt, 3);
        assertThat(held.status()).as(held.text()).isEqualTo(201);
        CompletableFuture<Void> unpinned = CompletableFuture.runAsync(
                () -> Eventually.see("the lease has ended", engine::usedTokens, used -> used == 0), executor);

        attack.run();

        unpinned.join();
        serves();
        raw.hangUp();
        long after = Eventually.see("the heap is flat after " + what, this::heap, heap -> heap - before < MOST_GROWTH);
        System.out.println(what + ": heap " + (before >> 10) + " KiB before, " + (after >> 10) + " KiB after");
    }

    /** The metrics without their values. */
    private List<String> series() {
        return client.http
                .get("/metrics")
                .text()
                .lines()
                .map(line -> line.startsWith("#") ? line : line.substring(0, line.lastIndexOf(' ')))
                .toList();
    }

    private long heap() {
        try {
            return sidecar.heap();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void serves() {
        assertThat(raw.exchange(RawClient.get("/livez"))).startsWith("HTTP/1.1 200 ");
        assertThat(raw.exchange(RawClient.get(SidecarClient.HOLDS))).startsWith("HTTP/1.1 200 ");
    }

    private void oddMethods(int from, int to) throws IOException {
        for (int i = from; i < to; ) {
            StringBuilder batch = new StringBuilder();
            int end = Math.min(to, i + 100);
            String padding = "X".repeat(i % 7 * 100);
            for (; i < end; i++) {
                batch.append("MADEUP")
                        .append(i)
                        .append(padding)
                        .append(i % 2 == 0 ? " /livez" : " /made/up/" + i)
                        .append(" HTTP/1.1\r\nHost: ")
                        .append(i % 3 == 0 ? "elsewhere.example" : "localhost")
                        .append(i == end - 1 ? "\r\nConnection: close" : "")
                        .append("\r\n\r\n");
            }
            assertThat(raw.exchange(batch.toString())).startsWith("HTTP/1.1 4");
        }
    }

    /** One request, or what is no request at all; the server is always told or made to close the connection. */
    private static byte[] fuzzed(SplittableRandom random) {
        String good = "POST " + SidecarClient.HOLDS + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Content-Type: application/json\r\nContent-Length: 36\r\n\r\n"
                + "{\"tokens\":[1,2,3],\"leaseSeconds\":0.1}";
        return switch (random.nextInt(8)) {
            case 0 -> RawClient.bytes(garbage(random) + "\r\n\r\n");
            case 1 -> RawClient.bytes(body(mutated(good.substring(good.indexOf('{')), random)));
            case 2 -> RawClient.bytes(RawClient.get("/" + garbage(random).replace(' ', '+')));
            case 3 -> RawClient.bytes(body(garbage(random)));
            case 4 ->
                RawClient.bytes("DELETE " + SidecarClient.HOLDS + "/" + random.nextLong()
                        + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + header(random) + "\r\n");
            case 5, 6 -> RawClient.bytes(anyRoute(random));
            default ->
                RawClient.bytes("GET /livez HTTP/1.1\r\nConnection: close\r\n" + header(random) + "Host: "
                        + garbage(random) + "\r\n\r\n");
        };
    }

    /** Any route of the document but those that would end what other attacks need, with what is nearly right for it. */
    private static String anyRoute(SplittableRandom random) {
        List<String> routes = new ArrayList<>();
        Map<String, List<String>> bodies = new TreeMap<>();
        ApiContract.OF_THE_SIDECAR.operations((name, operation) -> {
            // An answer without an end is no exchange; streams have a test of their own.
            if ((!name.endsWith("/holds") || name.startsWith("POST")) && !name.endsWith("/stream")) {
                routes.add(name);
                bodies.put(name, ApiContract.bodies(operation));
            }
        });
        String route = routes.get(random.nextInt(routes.size()));
        List<String> known = bodies.getOrDefault(route, List.of());
        String text = known.isEmpty() ? garbage(random) : mutated(known.get(random.nextInt(known.size())), random);
        if (route.endsWith("/pause") || route.endsWith("/dry-run")) {
            // Other attacks look at a hold.
            text = "{" + text;
            route = route.replace("/pause", "/pauses");
        }
        return route.replace("{engine}", random.nextInt(4) == 0 ? "x" : "demo")
                        .replaceAll("\\{[a-z]+}", Integer.toString(random.nextInt(5) + 900))
                + (random.nextInt(4) == 0 ? "?limit=" + garbage(random).replace(' ', '+') : "")
                + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + (random.nextBoolean() ? "Idempotency-Key: k" + random.nextInt(9) + "\r\n" : "")
                + "Content-Type: application/json\r\nContent-Length: " + text.length() + "\r\n\r\n" + text;
    }

    private static String body(String text) {
        return "POST " + SidecarClient.HOLDS + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                + "Content-Type: application/json\r\nContent-Length: " + text.length() + "\r\n\r\n" + text;
    }

    private static String header(SplittableRandom random) {
        String name = List.of("Origin", "Authorization", "Content-Type", "Expect", "Upgrade", "X-Y", "Cookie", "Accept")
                .get(random.nextInt(8));
        return name + ": " + garbage(random) + "\r\n";
    }

    private static String garbage(SplittableRandom random) {
        StringBuilder text = new StringBuilder("!");
        for (int length = random.nextInt(80); length > 0; length--) {
            text.append((char) random.nextInt(' ', 0x7F));
        }
        return text.toString();
    }

    private static String mutated(String good, SplittableRandom random) {
        StringBuilder text = new StringBuilder(good);
        for (int times = random.nextInt(1, 4); times > 0; times--) {
            int at = random.nextInt(Math.max(1, text.length() - 1));
            switch (random.nextInt(3)) {
                case 0 -> text.delete(at, at + 1);
                case 1 -> text.insert(at, (char) random.nextInt(' ', 0x7F));
                default -> text.setLength(Math.max(1, at));
            }
        }
        return text.toString();
    }
}
