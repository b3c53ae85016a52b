package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.Arrays;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An SGLang with streaming sessions over real sockets, 4,096 tokens, in virtual time. */
class StreamingHttpTest {
    private static final int[] REQUEST = Client.prompt(1, 513);
    private static final int[] PREFIX = Arrays.copyOf(REQUEST, 512);

    private final Vertx vertx = Vertx.vertx();
    private final VirtualClock clock = new VirtualClock();

    @AfterEach
    void closeVertx() {
        vertx.close().await();
    }

    private Emulator start(boolean streaming) {
        return Emulator.start(
                vertx,
                EmulatorSettings.defaults()
                        .withCapacityTokens(4_096)
                        .withSglang(engine -> engine.withStreaming(streaming))
                        .withSpeed(new Speed(0, 0, 0, 1)),
                clock);
    }

    private static HttpResponse<String> open(Client client, String session) {
        return client.post(
                "/open_session",
                new JsonObject()
                        .put("capacity_of_str_len", 100_000)
                        .put("session_id", session)
                        .put("streaming", true)
                        .put("timeout", 60)
                        .encode());
    }

    private static HttpResponse<String> ask(Client client, String session) {
        return client.post(
                "/generate",
                Client.generate(REQUEST, 1)
                        .put("session_params", new JsonObject().put("id", session))
                        .encode());
    }

    private static void flood(Client client) {
        for (int i = 0; i < 12; i++) {
            client.cachedTokens(Client.prompt(100 + i, 1_024));
        }
    }

    @Test
    void session_locksWhatItFinds_untilItIsClosed() {
        try (Emulator emulator = start(true);
                Client client = new Client(emulator.uri())) {
            assertThat(client.get("/server_info").body()).contains("\"enable_streaming_session\":true");
            client.cachedTokens(PREFIX);
            assertThat(open(client, "one").body()).isEqualTo("\"one\"");
            assertThat(ask(client, "one").body()).contains("\"cached_tokens\":512");
            flood(client);
            assertThat(client.cachedTokens(REQUEST)).isEqualTo(512);
            assertThat(client.post("/close_session", "{\"session_id\":\"one\"}").statusCode())
                    .isEqualTo(200);
            flood(client);
            assertThat(client.cachedTokens(REQUEST)).isZero();
        }
    }

    @Test
    void refused_isASecondOpening_andARequestOfNoOpenSession() {
        try (Emulator emulator = start(true);
                Client client = new Client(emulator.uri())) {
            open(client, "one");
            HttpResponse<String> again = open(client, "one");
            assertThat(again.statusCode()).isEqualTo(400);
            assertThat(again.body()).contains("Check if a session with the same id is still open.");
            HttpResponse<String> nobody = ask(client, "nobody");
            assertThat(nobody.statusCode()).isEqualTo(400);
            assertThat(nobody.body()).contains("Invalid request: session id nobody does not exist");
        }
    }

    @Test
    void withoutTheFlag_noneIsOpened() {
        try (Emulator emulator = start(false);
                Client client = new Client(emulator.uri())) {
            HttpResponse<String> refused = open(client, "one");
            assertThat(refused.statusCode()).isEqualTo(400);
            assertThat(refused.body()).contains("Please relaunch with --enable-streaming-session.");
        }
    }
}
