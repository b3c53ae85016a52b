package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.Http;
import io.holdfast.sidecar.RawClient;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.http.ServedApi;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each bound of the door by itself, with small numbers. */
class HttpLimitsTest {
    private static final HttpLimits SHORT = HttpLimits.defaults().withTimes(Duration.ofMillis(300));

    @TempDir
    Path state;

    @Test
    void connectionAboveTheBound_takesThePlaceOfTheOneThatWaitsLongest() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withConnections(3));
                RawClient raw = new RawClient(api.uri)) {
            List<Socket> sockets = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                sockets.add(raw.open());
                RawClient.send(sockets.get(i), "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
                assertThat(RawClient.head(sockets.get(i))).get().asString().startsWith("HTTP/1.1 200 ");
            }

            assertThat(raw.exchange(RawClient.get("/livez"))).startsWith("HTTP/1.1 200 ");

            assertThat(RawClient.read(sockets.get(0))).isEqualTo("{\"live\":true}");
            RawClient.send(sockets.get(2), RawClient.get("/livez"));
            assertThat(RawClient.read(sockets.get(2))).contains("HTTP/1.1 200 ");
        }
    }

    @Test
    void connectionAboveTheBound_isClosedWhileAllOthersAreAnswered() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withConnections(2));
                RawClient raw = new RawClient(api.uri)) {
            List<Socket> streams = List.of(raw.open(), raw.open());
            for (Socket stream : streams) {
                RawClient.send(stream, RawClient.get("/api/v1/overview/stream"));
                assertThat(RawClient.head(stream)).get().asString().startsWith("HTTP/1.1 200 ");
            }

            assertThat(RawClient.read(raw.open())).isEmpty();
        }
    }

    /** Else a few clients that send no end of a body would keep a probe out, and have the sidecar restarted. */
    @Test
    void bodyThatDoesNotCome_givesWayToAProbe() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withConnections(2));
                RawClient raw = new RawClient(api.uri)) {
            Socket oldest = halfBody(raw, 1000);
            Socket other = halfBody(raw, 1000);

            assertThat(raw.exchange(RawClient.get("/livez"))).startsWith("HTTP/1.1 200 ");

            assertThat(RawClient.read(oldest)).isEmpty();
            RawClient.send(other, " ".repeat(1000 - 1));
            assertThat(RawClient.head(other)).get().asString().startsWith("HTTP/1.1 400 ");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "G", "GET /livez HTTP/1.1\r\nHost: loc"})
    void headersThatDoNotCome_endTheConnection(String part) throws IOException {
        try (ServedApi api = serve(SHORT);
                RawClient raw = new RawClient(api.uri)) {
            Socket socket = raw.open();
            RawClient.send(socket, part);

            assertThat(RawClient.read(socket)).isEmpty();
        }
    }

    @Test
    void nextRequestThatDoesNotCome_endsTheConnection() throws IOException {
        try (ServedApi api = serve(SHORT);
                RawClient raw = new RawClient(api.uri)) {
            Socket socket = raw.open();
            RawClient.send(socket, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");

            assertThat(RawClient.read(socket)).startsWith("HTTP/1.1 200 ").endsWith("{\"live\":true}");
        }
    }

    @Test
    void bodyThatDoesNotCome_isRefusedWithASentenceAndClosed() throws IOException {
        try (ServedApi api = serve(SHORT);
                RawClient raw = new RawClient(api.uri)) {
            Socket socket = halfBody(raw, 100);

            assertThat(RawClient.read(socket))
                    .startsWith("HTTP/1.1 408 ")
                    .contains("The body did not arrive within 0 s; send it without a pause.");
        }
    }

    @Test
    void bodiesAboveAllOfTheirRoom_areRefusedBeforeTheyAreRead() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withBodiesBytes(4 << 20));
                RawClient raw = new RawClient(api.uri)) {
            halfBody(raw, 3 << 20);

            Socket refused = raw.open();
            RawClient.send(refused, RawClient.holdOf(3 << 20));
            assertThat(RawClient.head(refused)).get().asString().startsWith("HTTP/1.1 503 ");

            assertThat(api.http
                            .post(SidecarClient.HOLDS, "{\"hashes\":[7],\"leaseSeconds\":1}")
                            .status())
                    .as("there is room for a small one")
                    .isEqualTo(201);
            raw.hangUp();
            Eventually.see(
                    "the room of a client that hung up is free again",
                    () -> api.http.post(SidecarClient.HOLDS, " ".repeat(3 << 20)),
                    answer -> answer.status() == 400);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {60 << 10, 100 << 10})
    void refusedQueries_giveTheirRoomBack(int bytes) throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults().withBodiesBytes(1 << 20))) {
            for (int i = 0; i < 30; i++) {
                assertThat(api.http
                                .post("/query", "{\"token_ids\":[x" + " ".repeat(bytes))
                                .error())
                        .startsWith("The body is not valid JSON at line 1, column 15");
            }
        }
    }

    @Test
    void bodyInChunks_isRefusedWhereItGetsTooLarge() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults());
                RawClient raw = new RawClient(api.uri)) {
            Socket socket = raw.open();
            RawClient.send(
                    socket,
                    "POST " + SidecarClient.HOLDS + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            + "Transfer-Encoding: chunked\r\n\r\n");
            String chunk = "100000\r\n" + " ".repeat(1 << 20) + "\r\n";
            for (int i = 0; i < 9; i++) {
                RawClient.send(socket, chunk);
            }

            assertThat(RawClient.head(socket)).get().asString().startsWith("HTTP/1.1 413 ");
        }
    }

    @Test
    void clientThatExpectsALeaveToSend_getsItOrARefusal() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults());
                RawClient raw = new RawClient(api.uri)) {
            String expecting = "\r\nExpect: 100-continue\r\n\r\n";
            Socket small = raw.open();
            RawClient.send(small, RawClient.holdOf(2).replace("\r\n\r\n", expecting));
            assertThat(RawClient.head(small)).get().asString().startsWith("HTTP/1.1 100 ");
            Socket large = raw.open();
            RawClient.send(large, RawClient.holdOf(9 << 20).replace("\r\n\r\n", expecting));
            assertThat(RawClient.head(large)).get().asString().startsWith("HTTP/1.1 413 ");
        }
    }

    @Test
    void clientThatDoesNotReadItsAnswers_isClosed() throws IOException {
        try (ServedApi api = serve(SHORT);
                RawClient raw = new RawClient(api.uri)) {
            Socket socket = raw.open();
            byte[] asked = RawClient.bytes("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(100));
            int sent = 0;
            while (sent < 10_000 && RawClient.send(socket, asked)) {
                sent++;
            }

            assertThat(sent)
                    .as("requests sent until the connection was closed, in hundreds")
                    .isLessThan(10_000);
            assertThat(api.http.get("/livez").status()).isEqualTo(200);
        }
    }

    @Test
    void holdsOfMoreBlocksThanTheHeapBears_areRefused() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults())) {
            String most = hashes(65_536);
            for (int i = 0; i < 64; i++) {
                assertThat(api.http.post(SidecarClient.HOLDS, most).status()).isEqualTo(201);
            }

            Http.Answer over = api.http.post(SidecarClient.HOLDS, most);
            Http.Answer large = api.http.post(SidecarClient.HOLDS, hashes(65_537));

            assertThat(over.status()).isEqualTo(503);
            assertThat(over.error())
                    .isEqualTo("The holds of engine demo take 4194304 block names in all, and with this one they would"
                            + " take more than 4194304: release one first.");
            assertThat(large.status()).isEqualTo(409);
            assertThat(large.error())
                    .isEqualTo("hashes has more than 65536 elements, which can never fit this engine.");

            assertThat(api.http.delete(SidecarClient.HOLDS + "/1").status()).isEqualTo(200);
            assertThat(api.http.post(SidecarClient.HOLDS, most).status()).isEqualTo(201);
        }
    }

    private static String hashes(int count) {
        return "{\"leaseSeconds\":60,\"hashes\":[" + "7,".repeat(count - 1) + "7]}";
    }

    @Test
    void pause_isLiftedByResumeAlone() throws IOException {
        try (ServedApi api = serve(HttpLimits.defaults())) {
            String wish = "{\"hashes\":[7],\"leaseSeconds\":60}";
            assertThat(api.http.delete(SidecarClient.HOLDS).status()).isEqualTo(200);

            Http.Answer paused = api.http.post(SidecarClient.HOLDS, wish);
            assertThat(paused.status()).isEqualTo(409);
            assertThat(paused.error())
                    .matches("Holding is paused: everything was released by one call; only resume ends the pause,"
                            + " by POST /api/v1/engines/demo/resume.");
            assertThat(api.http.get("/api/v1/engines/demo").json().getBoolean("paused"))
                    .isTrue();

            assertThat(api.http.post("/api/v1/engines/demo/resume", "").json())
                    .isEqualTo(new JsonObject().put("resumed", true));
            assertThat(api.http.post(SidecarClient.HOLDS, wish).status()).isEqualTo(201);
            assertThat(api.http.post("/api/v1/engines/demo/resume", "").json())
                    .isEqualTo(new JsonObject().put("resumed", false));
        }
    }

    /** Returns when the server waits for the rest of it. */
    private static Socket halfBody(RawClient raw, int length) throws IOException {
        Socket socket = raw.open();
        RawClient.send(socket, RawClient.holdOf(length).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n") + " ");
        assertThat(RawClient.head(socket)).get().asString().startsWith("HTTP/1.1 100 ");
        return socket;
    }

    private ServedApi serve(HttpLimits limits) throws IOException {
        return new ServedApi(state, Listen.defaults(), limits);
    }
}
