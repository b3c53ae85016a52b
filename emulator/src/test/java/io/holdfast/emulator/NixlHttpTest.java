package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A vLLM with NIXL over real sockets, 255 blocks of 16 tokens. */
class NixlHttpTest {
    private static final String COMPLETIONS = "/v1/completions";
    private static final int[] PREFIX = Client.prompt(1, 30 * 16 + 1);
    private static final Duration LONG = Duration.ofMinutes(10);

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void closeVertx() {
        vertx.close().await();
    }

    @Test
    void lease_isAnsweredByAReceipt_andKeepsThePrefixThroughAFlood() {
        try (Emulator emulator = start(LONG);
                Client client = new Client(emulator.uri())) {
            JsonObject receipt = said(client, body(PREFIX).put("kv_transfer_params", lease()))
                    .getJsonObject("kv_transfer_params");
            assertThat(receipt.getJsonArray("remote_block_ids").getJsonArray(0)).hasSize(31);
            assertThat(receipt.getString("remote_engine_id")).isNotEmpty();
            assertThat(receipt.getInteger("remote_num_tokens")).isEqualTo(PREFIX.length);
            assertThat(receipt.getBoolean("do_remote_prefill")).isTrue();
            assertThat(receipt.getValue("remote_blocks_expiry_time")).isNull();
            for (int i = 0; i < 20; i++) {
                said(client, body(Client.prompt(10 + i, 20 * 16)));
            }
            assertThat(said(client, body(PREFIX))
                            .getJsonObject("usage")
                            .getJsonObject("prompt_tokens_details")
                            .getInteger("cached_tokens"))
                    .isEqualTo(30 * 16);
            assertThat(metric(client, "vllm:kv_cache_usage_perc")).isGreaterThan(0.12);
            assertThat(metric(client, "vllm:nixl_num_kv_expired_reqs_total")).isZero();
            assertThat(new JsonObject(client.post("/reset_prefix_cache", "").body()))
                    .isEqualTo(new JsonObject().put("success", false));
        }
    }

    @Test
    void streamedAnswer_hasNoReceipt_andItsLeaseIsTakenAllTheSame() {
        try (Emulator emulator = start(LONG);
                Client client = new Client(emulator.uri())) {
            String stream = client.post(
                            COMPLETIONS,
                            body(PREFIX)
                                    .put("stream", true)
                                    .put("kv_transfer_params", lease())
                                    .encode())
                    .body();
            assertThat(stream).contains("[DONE]").doesNotContain("remote_engine_id");
            assertThat(metric(client, "vllm:kv_cache_usage_perc")).isGreaterThan(0.12);
        }
    }

    @Test
    void lease_endsByItself_andIsCounted() {
        try (Emulator emulator = start(Duration.ofSeconds(1));
                Client client = new Client(emulator.uri())) {
            said(client, body(PREFIX).put("kv_transfer_params", lease()));
            while (metric(client, "vllm:nixl_num_kv_expired_reqs_total") < 1) {
                Thread.onSpinWait();
            }
            assertThat(metric(client, "vllm:kv_cache_usage_perc")).isZero();
        }
    }

    @Test
    void whoDoesNotAsk_leasesNothing_andAnEngineWithoutNixlKnowsNoneOfIt() {
        try (Emulator emulator = start(LONG);
                Client client = new Client(emulator.uri())) {
            assertThat(said(client, body(PREFIX)).getValue("kv_transfer_params"))
                    .isNull();
            assertThat(said(client, body(PREFIX).put("kv_transfer_params", lease().put("do_remote_decode", false)))
                            .getValue("kv_transfer_params"))
                    .isNull();
            assertThat(metric(client, "vllm:kv_cache_usage_perc")).isZero();
        }
        try (Emulator stock = Emulator.start(
                        vertx,
                        EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults())));
                Client client = new Client(stock.uri())) {
            assertThat(said(client, body(PREFIX).put("kv_transfer_params", lease()))
                            .getValue("kv_transfer_params"))
                    .isNull();
            assertThat(client.get("/metrics").body()).doesNotContain("vllm:nixl_");
        }
    }

    private Emulator start(Duration lease) {
        return Emulator.start(
                vertx,
                EmulatorSettings.defaults()
                        .withKind(new EmulatorSettings.Kind.Vllm(
                                VllmSettings.defaults().withNixlLease(lease))));
    }

    private static JsonObject lease() {
        return new JsonObject().put("do_remote_decode", true);
    }

    private static JsonObject body(int[] prompt) {
        JsonArray tokens = new JsonArray();
        for (int token : prompt) {
            tokens.add(token);
        }
        return new JsonObject()
                .put("model", "holdfast-emulated")
                .put("prompt", tokens)
                .put("max_tokens", 1);
    }

    private static JsonObject said(Client client, JsonObject body) {
        return new JsonObject(client.post(COMPLETIONS, body.encode()).body());
    }

    private static double metric(Client client, String name) {
        Matcher sample = Pattern.compile("(?m)^" + name + "\\{[^}]*} (\\S+)$")
                .matcher(client.get("/metrics").body());
        assertThat(sample.find()).as(name).isTrue();
        return Double.parseDouble(sample.group(1));
    }
}
