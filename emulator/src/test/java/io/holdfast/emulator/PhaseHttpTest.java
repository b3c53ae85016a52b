package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.testing.GateClock;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.vllm.Profile;
import io.holdfast.rules.vllm.Rates;
import io.holdfast.rules.vllm.Stage;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The server of seven profiles over real sockets. */
class PhaseHttpTest {
    private static final int[] PROMPT = Client.prompt(1, 100);

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void closeVertx() {
        vertx.close().await();
    }

    @ParameterizedTest
    @EnumSource(Profile.class)
    void completion_wholeAndStreamed_saysTheSameAndWhatItCost(Profile profile) {
        try (Emulator emulator = Emulator.start(vertx, settings(of(profile)), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            JsonObject whole = new JsonObject(
                    client.post("/v1/completions", ask(PROMPT, 5)).body());
            assertThat(whole.getJsonObject("usage").getInteger("completion_tokens"))
                    .isEqualTo(5);
            assertThat(cached(whole)).isZero();
            String said = whole.getJsonArray("choices").getJsonObject(0).getString("text");
            assertThat(said).isNotBlank();

            List<JsonObject> events = stream(client, "/v1/completions", streamed(new JsonObject(ask(PROMPT, 5))));
            StringBuilder text = new StringBuilder();
            for (JsonObject event : events.subList(0, events.size() - 1)) {
                text.append(event.getJsonArray("choices").getJsonObject(0).getString("text"));
            }
            assertThat(text).hasToString(said);
            int found = Set.of(Profile.PREFIX, Profile.GRAPH, Profile.RESTORE).contains(profile) ? 96 : 0;
            assertThat(cached(events.getLast())).isEqualTo(found);
            assertThat(events.getLast().getJsonObject("usage").getInteger("prompt_tokens"))
                    .isEqualTo(100);

            String metrics = client.get("/metrics").body();
            assertThat(metrics)
                    .contains(counted("request_success_total", ",finished_reason=\"length\"", 2))
                    .contains(counted("prompt_tokens_cached_total", "", found))
                    .contains(counted("time_to_first_token_seconds_count", "", 2))
                    .contains(counted("num_requests_running", "", 0));
            assertThat(client.get("/v1/models").body())
                    .contains("\"max_model_len\":" + of(profile).contextTokens());
        }
    }

    @Test
    void chat_wholeAndStreamed() {
        try (Emulator emulator = Emulator.start(vertx, settings(of(Profile.PREFIX)), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            JsonObject body = new JsonObject()
                    .put("max_tokens", 4)
                    .put(
                            "messages",
                            JsonArray.of(
                                    new JsonObject().put("role", "user").put("content", "one two three ".repeat(40))));
            JsonObject whole = new JsonObject(
                    client.post("/v1/chat/completions", body.encode()).body());
            String said = whole.getJsonArray("choices")
                    .getJsonObject(0)
                    .getJsonObject("message")
                    .getString("content");
            List<JsonObject> events = stream(client, "/v1/chat/completions", streamed(body));
            StringBuilder text = new StringBuilder();
            for (JsonObject event : events.subList(0, events.size() - 1)) {
                text.append(event.getJsonArray("choices")
                        .getJsonObject(0)
                        .getJsonObject("delta")
                        .getString("content", ""));
            }
            assertThat(text.toString()).isNotBlank().isEqualTo(said);
            assertThat(cached(events.getLast())).isPositive();
        }
    }

    @Test
    void graph_isNotHealthyBeforeItsLastSizeIsCaptured() throws InterruptedException {
        GateClock clock = new GateClock();
        try (Emulator emulator = Emulator.start(vertx, settings(of(Profile.GRAPH)), clock);
                Client client = new Client(emulator.uri())) {
            clock.awaitBusy();
            HttpResponse<String> before = client.get("/health");
            assertThat(before.statusCode()).isEqualTo(503);
            clock.open();
            while (client.get("/health").statusCode() != 200) {
                Thread.onSpinWait();
            }
            assertThat(client.get("/metrics").body()).contains("vllm:kv_cache_usage_perc");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void decodingThatCannotEvict_isAnErrorWithTheEnginesWords(boolean stream) {
        VllmSettings small = of(Profile.PREFIX).withSizes(257, 16, 4096);
        EmulatorSettings settings = settings(small).withFaults(List.<Fault>of(new CacheFault.DecodeCannotEvict()));
        try (Emulator emulator = Emulator.start(vertx, settings, new VirtualClock());
                Client client = new Client(emulator.uri())) {
            for (int i = 0; i < 4; i++) {
                HttpResponse<String> served = client.post("/v1/completions", ask(Client.prompt(10 + 10 * i, 1001), 1));
                assertThat(served.statusCode()).isEqualTo(200);
            }
            JsonObject body = new JsonObject(ask(Client.prompt(90, 120), 40));
            HttpResponse<String> failed = client.post("/v1/completions", (stream ? streamed(body) : body).encode());
            if (stream) {
                assertThat(failed.body())
                        .contains("\"message\":\"Cannot allocate 1 blocks: only 0 free\"")
                        .endsWith("data: [DONE]\n\n");
            } else {
                assertThat(failed.statusCode()).isEqualTo(500);
                assertThat(new JsonObject(failed.body()).getJsonObject("error").getString("message"))
                        .isEqualTo("Cannot allocate 1 blocks: only 0 free");
            }
            assertThat(client.get("/metrics").body())
                    .contains(counted("request_success_total", ",finished_reason=\"error\"", 1));
        }
    }

    @Test
    void promptLongerThanTheContext_isRefused() {
        try (Emulator emulator = Emulator.start(vertx, settings(of(Profile.PAGED)), new VirtualClock());
                Client client = new Client(emulator.uri())) {
            HttpResponse<String> refused = client.post("/v1/completions", ask(new int[4097], 5));
            assertThat(refused.statusCode()).isEqualTo(400);
            assertThat(refused.body()).contains("4096");
        }
    }

    @Test
    void kvcached_isNotForProfiles() {
        EmulatorSettings settings = settings(of(Profile.PREFIX));
        assertThatThrownBy(() -> settings.withKvcached(KvcachedSettings.of(EngineTag.VLLM, 256, 16)))
                .hasMessage("kvcached is emulated for SGLang and vLLM only; leave it out for a profile.");
    }

    private static VllmSettings of(Profile profile) {
        return Stage.settings(profile, profile == Profile.RESTORE ? Rates.RESTORING : Rates.LLAMA);
    }

    private static EmulatorSettings settings(VllmSettings settings) {
        return EmulatorSettings.defaults()
                .withKind(new EmulatorSettings.Kind.Vllm(settings))
                .withSpeed(new Speed(0, 0, 0, 1));
    }

    private static String counted(String name, String labels, int value) {
        return "vllm:" + name + "{engine=\"0\"" + labels + ",model_name=\"holdfast-emulated\"} " + value + ".0\n";
    }

    private static String ask(int[] prompt, int most) {
        return new JsonObject()
                .put("prompt", Client.ids(prompt))
                .put("max_tokens", most)
                .encode();
    }

    private static JsonObject streamed(JsonObject body) {
        return body.copy().put("stream", true).put("stream_options", new JsonObject().put("include_usage", true));
    }

    private static int cached(JsonObject answer) {
        return answer.getJsonObject("usage")
                .getJsonObject("prompt_tokens_details")
                .getInteger("cached_tokens");
    }

    private static List<JsonObject> stream(Client client, String path, JsonObject body) {
        String text = client.post(path, body.encode()).body();
        assertThat(text).endsWith("data: [DONE]\n\n");
        return text.lines()
                .filter(line -> line.startsWith("data: {"))
                .map(line -> new JsonObject(line.substring("data: ".length())))
                .toList();
    }
}
