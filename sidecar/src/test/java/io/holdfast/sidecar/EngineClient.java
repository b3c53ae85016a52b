package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/** Someone who sends prompts to an engine and reads its numbers. */
public final class EngineClient implements AutoCloseable {
    private final Http http;

    public EngineClient(URI engine) {
        http = new Http(engine);
    }

    /** A prompt whose every block is unlike those of any other number, within the vocabulary of any model. */
    public static int[] prompt(int number, int tokens) {
        return IntStream.range(0, tokens)
                .map(i -> 1_000 + Math.floorMod(number * 10_007, 29_989) + i % 7)
                .toArray();
    }

    /** Has the prompt served and answers how many of its tokens were found in the cache. */
    public int generate(int[] prompt) {
        return cached(generateLater(prompt, 1).join());
    }

    /** The tokens with which the prompt is answered. */
    JsonArray output(int[] prompt) {
        Http.Answer answer = generateLater(prompt, 8).join();
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json().getJsonArray("output_ids");
    }

    CompletableFuture<Http.Answer> generateLater(int[] prompt, int maxNewTokens) {
        return http.postLater(
                "/generate",
                new JsonObject()
                        .put("input_ids", array(prompt))
                        .put("sampling_params", new JsonObject().put("max_new_tokens", maxNewTokens))
                        .encode());
    }

    /** Pins the prefix as somebody else than a sidecar would. */
    void pin(int[] prefix) {
        long[] blocks = SglangBlockNames.of(prefix, TestBed.BLOCK);
        Http.Answer answer = http.post("/hicache/pin_blocks", "{\"block_hashes\":[" + blocks[blocks.length - 1] + "]}");
        assertThat(answer.json().getInteger("pinned_count")).as(answer.text()).isEqualTo(1);
    }

    /** Has the prefix referred to by a session of somebody else's. */
    void open(String session, int[] prefix) {
        Http.Answer answer = http.post(
                "/generate",
                new JsonObject()
                        .put("session_id", session)
                        .put("input_ids", array(prefix))
                        .put("sampling_params", new JsonObject().put("max_new_tokens", 1))
                        .encode());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }

    static int cached(Http.Answer answer) {
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json().getJsonObject("meta_info").getInteger("cached_tokens");
    }

    /** Has a completion of this text served and answers how many of its tokens were found in the cache. */
    public int complete(String prompt) {
        return cachedOf(http.post(
                "/v1/completions",
                new JsonObject().put("prompt", prompt).put("max_tokens", 1).encode()));
    }

    /** Has a conversation continued and answers how many of its tokens were found in the cache. */
    int chat(JsonArray messages, JsonArray tools) {
        JsonObject body = new JsonObject().put("messages", messages).put("max_tokens", 1);
        return cachedOf(
                http.post("/v1/chat/completions", (tools.isEmpty() ? body : body.put("tools", tools)).encode()));
    }

    private static int cachedOf(Http.Answer answer) {
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        JsonObject details = answer.json().getJsonObject("usage").getJsonObject("prompt_tokens_details");
        return details == null ? 0 : details.getInteger("cached_tokens");
    }

    /** Serves so many prompts of this size that nothing else stays in the cache but what is pinned. */
    public void flood(int from, int count, int tokens) {
        List<CompletableFuture<Http.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            answers.add(generateLater(prompt(from + i, tokens), 1));
        }
        answers.forEach(answer -> cached(answer.join()));
    }

    public int flush() {
        return http.post("/flush_cache", "").status();
    }

    /** Tokens that cannot be evicted; while nothing runs these are the pinned ones. */
    public long usedTokens() {
        return (long) metric("sglang:num_used_tokens");
    }

    public double metric(String name) {
        Matcher line = Pattern.compile("(?m)^" + name + "(\\{[^}]*})? (\\S+)$")
                .matcher(http.get("/metrics").text());
        return line.find() ? Double.parseDouble(line.group(2)) : Double.NaN;
    }

    /** Of all data-parallel ranks together. */
    double sum(String name) {
        Matcher line = Pattern.compile("(?m)^" + name + "(\\{[^}]*})? (\\S+)$")
                .matcher(http.get("/metrics").text());
        return line.results()
                .mapToDouble(sample -> Double.parseDouble(sample.group(2)))
                .sum();
    }

    public static JsonArray array(int[] tokens) {
        return new JsonArray(IntStream.of(tokens).boxed().toList());
    }

    @Override
    public void close() {
        http.close();
    }
}
