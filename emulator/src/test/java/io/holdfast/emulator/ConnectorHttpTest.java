package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.process.MachineClock;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.vllm.Connector;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A vLLM with the connector over real sockets, 255 blocks of 16 tokens, in virtual time. */
class ConnectorHttpTest {
    private static final String SECRET = "a secret of the tests";
    private static final int[] PREFIX = Client.prompt(1, 30 * 16 + 1);
    private static final String COMPLETIONS = "/v1/completions";
    private static final String CHAT = "/v1/chat/completions";

    private final Vertx vertx = Vertx.vertx();
    private final VirtualClock clock = new VirtualClock();
    private long at = Math.round(VirtualClock.START * 1e3);
    private int floods = 10;

    @AfterEach
    void closeVertx() {
        vertx.close().await();
    }

    @Test
    void hold_isAnsweredAndKeepsThePrefixThroughAFlood() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            assertThat(answer(post(client, COMPLETIONS, hold("a", 60, PREFIX))))
                    .isEqualTo(new JsonObject()
                            .put("v", 1)
                            .put("held", 30)
                            .put("ttl", 60)
                            .put("blocks_held", 30)
                            .put("blocks_most", 63)
                            .put("blocks_total", 255)
                            .put("gave_way", 0)
                            .put("block_size", 16));
            flood(client);
            assertThat(cached(post(client, COMPLETIONS, ask(PREFIX)))).isEqualTo(30 * 16);
            assertThat(client.get("/metrics").body()).contains("vllm:kv_cache_usage_perc{engine=\"0\"");

            JsonObject holds = answer(post(client, COMPLETIONS, list())).getJsonObject("holds");
            assertThat(holds.fieldNames()).containsExactly("a");
            assertThat(holds.getJsonArray("a").getInteger(0)).isEqualTo(30);
            assertThat(holds.getJsonArray("a").getDouble(1)).isBetween(0.1, 60.0);

            assertThat(answer(post(client, COMPLETIONS, release("a", "b"))).getInteger("released"))
                    .isOne();
            flood(client);
            assertThat(cached(post(client, COMPLETIONS, ask(PREFIX)))).isZero();
            post(client, COMPLETIONS, hold("a", 60, PREFIX));
            assertThat(new JsonObject(client.post("/reset_prefix_cache", "").body()))
                    .isEqualTo(new JsonObject().put("success", true));
            assertThat(answer(post(client, COMPLETIONS, list())).getInteger("blocks_held"))
                    .isZero();
        }
    }

    @Test
    void hold_lapsesOnTheEnginesClock() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            post(client, COMPLETIONS, hold("a", 60, PREFIX));
            clock.await(clock.nanos() + 60_000_000_000L);
            JsonObject listed = answer(post(client, COMPLETIONS, list()));
            assertThat(listed.getJsonObject("holds")).isEmpty();
            assertThat(listed.getInteger("blocks_held")).isZero();
        }
    }

    @Test
    void chat_isHeldByTheTokensOfItsTemplate() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            JsonArray turns =
                    JsonArray.of(new JsonObject().put("role", "user").put("content", "one two three four ".repeat(30)));
            JsonArray tokens = new JsonObject(client.post(
                                    "/tokenize",
                                    new JsonObject().put("messages", turns).encode())
                            .body())
                    .getJsonArray("tokens");
            JsonObject body = new JsonObject().put("messages", turns).put("max_tokens", 1);
            int[] prompt = tokens.stream().mapToInt(token -> (Integer) token).toArray();
            assertThat(answer(post(client, CHAT, with(body, holding("a", 60, prompt))))
                            .getInteger("held"))
                    .isEqualTo(prompt.length / 16);
            JsonObject without = post(client, CHAT, body);
            assertThat(without.containsKey("kv_transfer_params")).isTrue();
            assertThat(without.getJsonObject("kv_transfer_params")).isNull();
        }
    }

    @Test
    void streamedAnswer_dropsTheFieldAndTheHoldIsMade() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            String stream = client.post(
                            COMPLETIONS,
                            hold("a", 60, PREFIX).put("stream", true).encode())
                    .body();
            assertThat(stream).contains("[DONE]").doesNotContain("kv_transfer_params");
            assertThat(answer(post(client, COMPLETIONS, list())).getInteger("blocks_held"))
                    .isEqualTo(30);
        }
    }

    @Test
    void refusedOrders_areServedAndToldNothingElse() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            JsonObject replayed = hold("a", 60, PREFIX);
            post(client, COMPLETIONS, replayed);
            at += 301_000;
            JsonObject late = hold("b", 60, PREFIX);
            at -= 301_000;
            JsonObject proof = with(ask(PREFIX), holding("c", 60, Client.prompt(2, 40)));
            JsonObject malformed = with(ask(PREFIX), new JsonObject().put("v", 1));
            assertThat(answer(post(client, COMPLETIONS, replayed))).isEqualTo(refused("seen"));
            assertThat(answer(post(client, COMPLETIONS, late)))
                    .isEqualTo(refused("clock").put("now", Math.round(VirtualClock.START * 1e3)));
            assertThat(answer(post(client, COMPLETIONS, proof))).isEqualTo(refused("proof"));
            assertThat(answer(post(client, COMPLETIONS, malformed))).isEqualTo(refused("request"));
            assertThat(answer(post(client, COMPLETIONS, list()))
                            .getJsonObject("holds")
                            .fieldNames())
                    .containsExactly("a");

            JsonObject beyond = answer(post(client, COMPLETIONS, hold("d", 60, Client.prompt(3, 40 * 16))));
            assertThat(beyond.getInteger("held")).isZero();
            assertThat(beyond.getString("refused")).isEqualTo("share");
            assertThat(beyond.getInteger("blocks_held")).isEqualTo(30);
        }
    }

    @Test
    void largeRequestBesideAFullShare_isServedAndOneHoldGaveWay() {
        try (Emulator emulator = start(connector -> connector.withMaxShare(0.9));
                Client client = new Client(emulator.uri())) {
            for (int i = 0; i < 7; i++) {
                post(client, COMPLETIONS, hold("h" + i, 600, Client.prompt(10 + 5 * i, 30 * 16 + 1)));
            }
            assertThat(post(client, COMPLETIONS, ask(Client.prompt(60, 70 * 16)))
                            .getJsonObject("usage")
                            .getInteger("completion_tokens"))
                    .isOne();
            JsonObject listed = answer(post(client, COMPLETIONS, list()));
            assertThat(listed.getInteger("gave_way")).isOne();
            assertThat(listed.getJsonObject("holds").fieldNames())
                    .doesNotContain("h0")
                    .hasSize(6);
        }
    }

    /** In the machine's time, 5 ms a token. */
    @Test
    void clientThatGoesAwayWhileItsRequestRuns_holdsNothing() throws IOException {
        EngineClock machine = new MachineClock();
        at = Math.round(machine.unixSeconds() * 1e3);
        EmulatorSettings slow = settings(UnaryOperator.identity()).withSpeed(new Speed(0, 0, 5_000, 1));
        try (Emulator emulator = Emulator.start(vertx, slow, machine);
                Client client = new Client(emulator.uri())) {
            String body = hold("a", 60, PREFIX).put("max_tokens", 1_500).encode();
            try (Socket leaving =
                    new Socket(InetAddress.getLoopbackAddress(), emulator.uri().getPort())) {
                leaving.getOutputStream()
                        .write(("POST " + COMPLETIONS + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                        + "Content-Length: " + body.length() + "\r\n\r\n" + body)
                                .getBytes(StandardCharsets.US_ASCII));
                awaitCounted(client, "vllm:num_requests_running{engine=\"0\"");
            }
            awaitCounted(client, "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\"");
            JsonObject listed = answer(post(client, COMPLETIONS, list()));
            assertThat(listed.getJsonObject("holds").fieldNames()).isEmpty();
            assertThat(listed.getInteger("blocks_held")).isZero();
        }
    }

    @Test
    void answerThatIsLost_leavesTheHold() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            emulator.faults().begin(Fault.parse("pin-late=3600000"));
            CompletableFuture<HttpResponse<String>> lost = client.postAsync(COMPLETIONS, hold("a", 60, PREFIX));
            awaitCounted(client, "vllm:request_success_total{engine=\"0\",finished_reason=\"length\"");
            assertThat(lost).isNotDone();
            lost.cancel(true);
            emulator.faults().end(Fault.parse("pin-late").kind());
            assertThat(answer(post(client, COMPLETIONS, list())).getInteger("blocks_held"))
                    .isEqualTo(30);
        }
    }

    @Test
    void restart_forgetsHoldsAndProofs() {
        try (Emulator emulator = start(UnaryOperator.identity());
                Client client = new Client(emulator.uri())) {
            JsonObject hold = hold("a", 60, PREFIX);
            post(client, COMPLETIONS, hold);
            emulator.restart();
            assertThat(answer(post(client, COMPLETIONS, list())).getInteger("blocks_held"))
                    .isZero();
            assertThat(answer(post(client, COMPLETIONS, hold)).getInteger("held"))
                    .isEqualTo(30);
        }
    }

    @Test
    void serverWithoutTheConnector_answersAsIfNothingWasAsked() {
        EmulatorSettings plain = EmulatorSettings.defaults()
                .withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()))
                .withSpeed(new Speed(0, 0, 0, 1));
        try (Emulator emulator = Emulator.start(vertx, plain, clock);
                Client client = new Client(emulator.uri())) {
            assertThat(post(client, COMPLETIONS, hold("a", 60, PREFIX)).getJsonObject("kv_transfer_params"))
                    .isNull();
            assertThat(new JsonObject(client.post("/reset_prefix_cache", "").body()))
                    .isEqualTo(new JsonObject().put("success", true));
        }
    }

    private Emulator start(UnaryOperator<Connector> change) {
        return Emulator.start(vertx, settings(change), clock);
    }

    private static EmulatorSettings settings(UnaryOperator<Connector> change) {
        return EmulatorSettings.defaults()
                .withKind(new EmulatorSettings.Kind.Vllm(
                        VllmSettings.defaults().withConnector(change.apply(Connector.of(SECRET)))))
                .withSpeed(new Speed(0, 0, 0, 1));
    }

    /** Waits until a number of the metrics is 1. */
    private static void awaitCounted(Client client, String sample) {
        String line = sample + ",model_name=\"holdfast-emulated\"} 1.0\n";
        while (!client.get("/metrics").body().contains(line)) {
            Thread.onSpinWait();
        }
    }

    /** Three times the cache. */
    private void flood(Client client) {
        for (int i = 0; i < 12; i++) {
            post(client, COMPLETIONS, ask(Client.prompt(floods += 6, 64 * 16)));
        }
    }

    private JsonObject hold(String id, int ttl, int[] prompt) {
        return with(ask(prompt), holding(id, ttl, prompt));
    }

    private JsonObject holding(String id, int ttl, int[] prompt) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * prompt.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asIntBuffer().put(prompt);
        String digest;
        try {
            digest = HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
        return proven("hold", "\n" + id + "\n" + ttl + "\n" + digest)
                .put("id", id)
                .put("ttl", ttl);
    }

    private JsonObject release(String... ids) {
        return with(
                ask(Client.prompt(0, 3)),
                proven("release", "\n" + String.join(",", ids)).put("ids", new JsonArray(List.of(ids))));
    }

    private JsonObject list() {
        return with(ask(Client.prompt(0, 3)), proven("list", ""));
    }

    /** Each at a time of its own. */
    private JsonObject proven(String op, String rest) {
        at++;
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(SECRET.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            byte[] proof = mac.doFinal(("holdfast/1\n" + op + "\n" + at + rest).getBytes(StandardCharsets.UTF_8));
            return new JsonObject()
                    .put("v", 1)
                    .put("op", op)
                    .put("at", at)
                    .put("proof", HexFormat.of().formatHex(proof));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static JsonObject ask(int[] prompt) {
        return new JsonObject().put("prompt", Client.ids(prompt)).put("max_tokens", 1);
    }

    private static JsonObject with(JsonObject body, JsonObject order) {
        return body.copy().put("kv_transfer_params", new JsonObject().put("holdfast", order));
    }

    private static JsonObject refused(String why) {
        return new JsonObject().put("v", 1).put("refused", why);
    }

    private static JsonObject post(Client client, String path, JsonObject body) {
        HttpResponse<String> answer = client.post(path, body.encode());
        assertThat(answer.statusCode()).isEqualTo(200);
        return new JsonObject(answer.body());
    }

    private static JsonObject answer(JsonObject body) {
        return body.getJsonObject("kv_transfer_params").getJsonObject("holdfast");
    }

    private static int cached(JsonObject body) {
        return body.getJsonObject("usage")
                .getJsonObject("prompt_tokens_details")
                .getInteger("cached_tokens");
    }
}
