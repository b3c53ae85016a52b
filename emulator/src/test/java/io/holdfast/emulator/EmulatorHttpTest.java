package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.emulator.engine.Generation;
import io.holdfast.emulator.engine.Model;
import io.holdfast.emulator.engine.Terms;
import io.holdfast.emulator.sglang.SglangSettings.Variant;
import io.holdfast.emulator.testing.Heard;
import io.holdfast.emulator.testing.VirtualClock;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.http.HttpResponse;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The routes over real HTTP, in emulated time. */
class EmulatorHttpTest {
    private static final Vertx vertx = Vertx.vertx();

    private Emulator emulator = start(EmulatorSettings.defaults());
    private Client client = new Client(emulator.uri());

    @BeforeEach
    void isUp() {
        assertThat(client.get("/health").statusCode()).isEqualTo(200);
    }

    @AfterEach
    void stop() {
        client.close();
        emulator.close();
    }

    @AfterAll
    static void closeVertx() {
        vertx.close();
    }

    private static Emulator start(EmulatorSettings settings) {
        return Emulator.start(vertx, settings, new VirtualClock());
    }

    private void restart(EmulatorSettings settings) {
        stop();
        emulator = start(settings);
        client = new Client(emulator.uri());
    }

    private JsonObject post(String path, JsonObject body) {
        HttpResponse<String> response = client.post(path, body.encode());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return new JsonObject(response.body());
    }

    @Test
    void generate_whole_saysWhatItCostAndWhatItSaid() {
        JsonObject first = post("/generate", Client.generate(Client.prompt(1, 40), 3));
        JsonObject again = post("/generate", Client.generate(Client.prompt(1, 40), 3));
        assertThat(first.getJsonArray("output_ids")).hasSize(3).isEqualTo(again.getJsonArray("output_ids"));
        JsonObject meta = again.getJsonObject("meta_info");
        assertThat(meta.getInteger("prompt_tokens")).isEqualTo(40);
        assertThat(meta.getInteger("completion_tokens")).isEqualTo(3);
        assertThat(meta.getInteger("cached_tokens")).isEqualTo(32);
        assertThat(meta.getJsonObject("finish_reason"))
                .isEqualTo(new JsonObject().put("type", "length").put("length", 3));
        assertThat(first.getJsonObject("meta_info").getInteger("cached_tokens")).isZero();
    }

    @Test
    void generate_text_isCutIntoWords() {
        JsonObject answer = post("/generate", new JsonObject().put("text", "one two  three\n"));
        assertThat(answer.getJsonObject("meta_info").getInteger("prompt_tokens"))
                .isEqualTo(3);
        assertThat(answer.getJsonArray("output_ids"))
                .as("128 tokens unless told")
                .hasSize(128);
    }

    @Test
    void generate_stream_repeatsTheAnswerFromItsBeginning() {
        String body = client.post(
                        "/generate",
                        Client.generate(Client.prompt(1, 20), 2)
                                .put("stream", true)
                                .encode())
                .body();
        List<String> events = List.of(body.split("\n\n", -1));
        assertThat(events).hasSize(4);
        assertThat(events.get(2)).isEqualTo("data: [DONE]");
        assertThat(events.get(3)).isEmpty();
        JsonObject last = new JsonObject(events.get(1).substring("data: ".length()));
        assertThat(last.getJsonArray("output_ids")).hasSize(2);
        assertThat(last.getJsonObject("meta_info").getJsonObject("finish_reason"))
                .isNotNull();
        JsonObject first = new JsonObject(events.getFirst().substring("data: ".length()));
        assertThat(first.getJsonArray("output_ids")).hasSize(1);
        assertThat(first.getJsonObject("meta_info").getValue("finish_reason")).isNull();
    }

    /** What a server with seed 1 says. */
    private static int[] answer(int[] prompt, int length) {
        Model model = Model.seeded(1, Tokenizer.VOCABULARY);
        Generation request = new Generation(prompt, Terms.of(length), false, 0, new Heard());
        int[] answer = new int[length];
        for (int i = 0; i < length; i++) {
            answer[i] = model.next(request);
            request.answer(answer[i]);
        }
        return answer;
    }

    @Test
    void completion_stream_byteForByte() {
        JsonObject ask = new JsonObject()
                .put("prompt", Client.ids(Client.prompt(1, 20)))
                .put("max_tokens", 2)
                .put("stream", true)
                .put("stream_options", new JsonObject().put("include_usage", true));
        HttpResponse<String> response = client.post("/v1/completions", ask.encode());
        assertThat(response.headers().firstValue("content-type")).hasValue("text/event-stream; charset=utf-8");
        int[] said = answer(Client.prompt(1, 20), 2);
        String id = new JsonObject(response.body().substring(6, response.body().indexOf("\n\n"))).getString("id");
        String head = "data: {\"id\":\"" + id + "\",\"object\":\"text_completion\",\"created\":1700000000,"
                + "\"model\":\"holdfast-emulated\",\"choices\":[";
        String tail = "\",\"logprobs\":null,\"finish_reason\":";
        assertThat(id).matches("[0-9a-f]{32}");
        assertThat(response.body())
                .isEqualTo(head + "{\"index\":0,\"text\":\" t" + said[0] + tail
                        + "null,\"matched_stop\":null}],\"usage\":null}\n\n"
                        + head + "{\"index\":0,\"text\":\" t" + said[1] + tail
                        + "\"length\",\"matched_stop\":null}],\"usage\":null}\n\n"
                        + head + "],\"usage\":{\"prompt_tokens\":20,\"total_tokens\":22,\"completion_tokens\":2,"
                        + "\"prompt_tokens_details\":null,\"reasoning_tokens\":0}}\n\n"
                        + "data: [DONE]\n\n");
    }

    @Test
    void completion_stream_withoutUsageAsked_endsWithTheLastToken() {
        JsonObject ask =
                new JsonObject().put("prompt", "a b c").put("max_tokens", 1).put("stream", true);
        assertThat(client.post("/v1/completions", ask.encode()).body().split("\n\n"))
                .hasSize(2);
    }

    @Test
    void completion_usage_hasDetailsOnlyWhereSomethingWasCached() {
        JsonObject ask =
                new JsonObject().put("prompt", Client.ids(Client.prompt(1, 40))).put("max_tokens", 1);
        JsonObject cold = post("/v1/completions", ask).getJsonObject("usage");
        JsonObject warm = post("/v1/completions", ask).getJsonObject("usage");
        assertThat(cold.containsKey("prompt_tokens_details")).isTrue();
        assertThat(cold.getValue("prompt_tokens_details")).isNull();
        assertThat(warm.getJsonObject("prompt_tokens_details").getInteger("cached_tokens"))
                .isEqualTo(32);
    }

    @Test
    void chat_stream_hasRoleContentFinishAndUsageChunks() {
        JsonObject ask = chat("hello there")
                .put("max_tokens", 2)
                .put("stream", true)
                .put("stream_options", new JsonObject().put("include_usage", true));
        List<JsonObject> chunks =
                List.of(client.post("/v1/chat/completions", ask.encode()).body().split("\n\n")).stream()
                        .filter(event -> !event.equals("data: [DONE]"))
                        .map(event -> new JsonObject(event.substring(6)))
                        .toList();
        assertThat(chunks).hasSize(5);
        assertThat(delta(chunks.getFirst()).getString("role")).isEqualTo("assistant");
        assertThat(delta(chunks.getFirst()).getString("content")).isEmpty();
        assertThat(delta(chunks.get(1)).getString("content")).matches(" t\\d+");
        assertThat(delta(chunks.get(2)).getString("content")).matches(" t\\d+");
        assertThat(chunks.get(3).getJsonArray("choices").getJsonObject(0).getString("finish_reason"))
                .isEqualTo("length");
        assertThat(chunks.get(4).getJsonArray("choices")).isEmpty();
        assertThat(chunks.get(4).getJsonObject("usage").getInteger("completion_tokens"))
                .isEqualTo(2);
    }

    private static JsonObject delta(JsonObject chunk) {
        return chunk.getJsonArray("choices").getJsonObject(0).getJsonObject("delta");
    }

    @Test
    void chat_nextTurn_findsTheLastTurnAndItsAnswerInTheCache() {
        JsonObject first = post("/v1/chat/completions", chat("w ".repeat(60)).put("max_tokens", 40));
        String answer = first.getJsonArray("choices")
                .getJsonObject(0)
                .getJsonObject("message")
                .getString("content");
        JsonObject next = chat("w ".repeat(60));
        next.getJsonArray("messages")
                .add(new JsonObject().put("role", "assistant").put("content", answer))
                .add(new JsonObject().put("role", "user").put("content", "and then?"));
        JsonObject usage =
                post("/v1/chat/completions", next.put("max_tokens", 1)).getJsonObject("usage");
        int before = first.getJsonObject("usage").getInteger("total_tokens");
        assertThat(usage.getJsonObject("prompt_tokens_details").getInteger("cached_tokens"))
                .isEqualTo((before - 1) / 16 * 16);
    }

    private static JsonObject chat(String content) {
        return new JsonObject()
                .put(
                        "messages",
                        JsonArray.of(new JsonObject().put("role", "user").put("content", content)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "/generate|{}|Either text or input_ids should be provided, and not both.",
                "/generate|{\"input_ids\":[1,-2]}|input_ids must hold token ids, whole numbers from 0 on; one prompt"
                        + " per request.",
                "/generate|{\"input_ids\":[]}|input_ids cannot be empty.",
                "/generate|{\"text\":\"a\",\"sampling_params\":{\"max_new_tokens\":0}}|max_new_tokens must be at least"
                        + " 1, got 0.",
                "/v1/completions|{\"prompt\":7}|prompt must be a text or a list of token ids, one prompt per request.",
                "/v1/completions|{\"prompt\":\"a\",\"max_tokens\":\"x\"}|max_tokens must be at least 1, got x.",
                "/v1/chat/completions|{\"messages\":[]}|messages must be a list of at least one message.",
                "/v1/chat/completions|[1]|The request body is not a JSON object.",
                "/v1/completions|{\"prompt\":|The request body is not a JSON object.",
            })
    void nonsense_isRefusedInTheEnginesWords(String path, String body, String message) {
        HttpResponse<String> response = client.post(path, body);
        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(new JsonObject(response.body()))
                .isEqualTo(new JsonObject()
                        .put("object", "error")
                        .put("message", message)
                        .put("type", "BadRequestError")
                        .putNull("param")
                        .put("code", 400));
    }

    @Test
    void prompt_tooLong_isRefused() {
        HttpResponse<String> pool = client.post(
                "/generate", Client.generate(Client.prompt(1, 4091), 1).encode());
        assertThat(pool.statusCode()).isEqualTo(400);
        assertThat(pool.body())
                .contains("Input length (4091 tokens) exceeds the maximum allowed length (4090 tokens).");
        HttpResponse<String> context = client.post(
                "/generate", Client.generate(Client.prompt(1, 8192), 1).encode());
        assertThat(context.body()).contains("is longer than the model's context length (8192 tokens).");
        HttpResponse<String> total = client.post(
                "/generate", Client.generate(Client.prompt(1, 4000), 5000).encode());
        assertThat(total.body()).contains("maximum context length of 8192 tokens. You requested a total of 9000");
        assertThat(client.cachedTokens(Client.prompt(1, 4090))).isZero();
    }

    @Test
    void serverInfo_saysWhereTheEventsAreAndHowLargeTheCacheIs() {
        JsonObject info = new JsonObject(client.get("/server_info").body());
        assertThat(info.getInteger("max_total_num_tokens")).isEqualTo(4096);
        assertThat(info.getInteger("max_req_input_len")).isEqualTo(4090);
        assertThat(info.getInteger("page_size")).isEqualTo(16);
        assertThat(info.getString("status")).isEqualTo("ready");
        JsonObject events = info.getJsonObject("kv_events");
        assertThat("tcp://" + events.getString("endpoint_host") + ":" + events.getInteger("endpoint_port_base"))
                .isEqualTo(emulator.eventsEndpoint());
        assertThat(events.getInteger("block_size")).isEqualTo(16);
        assertThat(events.getString("topic")).isEmpty();
    }

    @Test
    void models_nameTheOneModel() {
        assertThat(new JsonObject(client.get("/v1/models").body())
                        .getJsonArray("data")
                        .getJsonObject(0)
                        .getString("id"))
                .isEqualTo("holdfast-emulated");
    }

    @Test
    void metrics_haveTheEnginesNamesAndBuckets() {
        client.cachedTokens(Client.prompt(1, 40));
        client.cachedTokens(Client.prompt(1, 40));
        String page = client.get("/metrics").body();
        String kind = "engine_type=\"unified\",is_streaming=\"false\",model_name=\"holdfast-emulated\"} ";
        assertThat(page)
                .contains("sglang:max_total_num_tokens{engine_type=\"unified\",model_name=\"holdfast-emulated\","
                        + "moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"} 4096.0\n")
                .contains("sglang:prompt_tokens_total{" + kind + "80.0\n")
                .contains("sglang:cached_tokens_total{cache_source=\"device\",engine_type=\"unified\","
                        + "model_name=\"holdfast-emulated\"} 32.0\n")
                .contains("# TYPE sglang:time_to_first_token_seconds histogram\n")
                .contains("sglang:time_to_first_token_seconds_bucket{engine_type=\"unified\",is_streaming=\"false\","
                        + "le=\"0.1\",model_name=\"holdfast-emulated\"} 2.0\n")
                .contains("le=\"+Inf\",model_name=\"holdfast-emulated\"} 2.0\n")
                .contains("sglang:time_to_first_token_seconds_count{" + kind + "2.0\n");
        assertThat(client.metric("time_to_first_token_seconds_sum")).isEqualTo(0.009 + 0.0058);
        assertThat(client.metric("kv_evictable_tokens")).isEqualTo(32);
        assertThat(client.metric("num_used_tokens")).isZero();
    }

    @Test
    void metrics_counterNeverCounted_isAbsent() {
        assertThat(client.get("/metrics").body())
                .doesNotContain("sglang:cached_tokens_total{")
                .contains("# TYPE sglang:cached_tokens_total counter");
    }

    @Test
    void flush_emptiesTheCache() {
        client.cachedTokens(Client.prompt(1, 40));
        HttpResponse<String> flushed = client.post("/flush_cache", "");
        assertThat(flushed.statusCode()).isEqualTo(200);
        assertThat(flushed.body()).startsWith("Cache flushed.\n");
        assertThat(client.cachedTokens(Client.prompt(1, 40))).isZero();
        assertThat(client.get("/flush_cache").statusCode()).isEqualTo(200);
    }

    @Test
    void pinRoutes_existOnThePinBranchOnly() {
        String body = "{\"block_hashes\":[1]}";
        assertThat(client.post("/hicache/pin_blocks", body).statusCode()).isEqualTo(404);
        assertThat(client.post("/hicache/unpin_blocks", body).body()).isEqualTo("{\"detail\":\"Not Found\"}");
        restart(EmulatorSettings.defaults().withVariant(Variant.PIN_GPU));
        assertThat(client.post("/hicache/pin_blocks", body).body())
                .isEqualTo("{\"status\":\"ok\",\"pinned_count\":0,\"message\":\"Pinned 0/1 blocks\"}");
        assertThat(client.post("/hicache/unpin_blocks", "{}").body())
                .isEqualTo("{\"status\":\"ok\",\"unpinned_count\":0,\"message\":\"Unpinned 0/0 blocks\"}");
        assertThat(client.post("/hicache/pin_blocks", "{\"block_hashes\":[1.5]}")
                        .statusCode())
                .isEqualTo(400);
    }

    @Test
    void wrongMethodAndUnknownPath_areTheFrameworksAnswers() {
        assertThat(client.get("/generate").statusCode()).isEqualTo(405);
        assertThat(client.get("/nowhere").statusCode()).isEqualTo(404);
    }

    @Test
    void extraKey_separatesEqualPrompts() {
        int[] prompt = Client.prompt(1, 40);
        client.cachedTokens(prompt);
        JsonObject other = post("/generate", Client.generate(prompt, 1).put("extra_key", "tenant"));
        assertThat(other.getJsonObject("meta_info").getInteger("cached_tokens")).isZero();
        JsonObject again = post("/generate", Client.generate(prompt, 1).put("extra_key", "tenant"));
        assertThat(again.getJsonObject("meta_info").getInteger("cached_tokens")).isEqualTo(32);
    }
}
