package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a router asks and tells: queries over two engines, one of which is not there, touches, first tokens. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RouterApiTest {
    private static final String DEMO = "/api/v1/engines/demo";

    private TestBed bed;
    private Sidecar both;
    private Http http;
    private SidecarClient demo;
    private Emulator second;
    private EngineClient other;

    @BeforeAll
    void start(@TempDir Path state) {
        bed = TestBed.pinning(state.resolve("one"));
        second = Emulator.start(bed.vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
        other = new EngineClient(second.uri());
        both = Sidecar.start(
                bed.vertx,
                SidecarConfig.parse(
                        """
                        listen: {port: 0}
                        stateDirectory: '%s'
                        engines:
                          demo: {type: sglang, url: '%s', readingsMillis: 50, tickMillis: 10, backend: dry_run, priming: false}
                          second: {type: sglang, url: '%s', readingsMillis: 50, tickMillis: 10, backend: dry_run, priming: false}
                          gone: {type: sglang, url: 'http://127.0.0.1:9', backend: dry_run, priming: false}
                        """.formatted(state.resolve("two"), bed.emulator.uri(), second.uri()), "test.yaml"));
        http = new Http(both.uri());
        demo = new SidecarClient(both.uri());
        SidecarClient secondClient = new SidecarClient(both.uri(), "second");
        demo.hear(bed.engine);
        secondClient.hear(other);
        secondClient.close();
    }

    @AfterAll
    void stop() {
        demo.close();
        http.close();
        both.close();
        other.close();
        second.close();
        bed.close();
    }

    @Test
    void query_saysOfEachEngineHowMuchItHas() {
        int[] prompt = EngineClient.prompt(11, 256);
        bed.engine.generate(prompt);
        other.generate(Arrays.copyOf(prompt, 64));
        JsonObject answer = Eventually.see(
                "both are heard",
                () -> query(prompt, ""),
                seen -> matched(seen, "demo") == 256 && matched(seen, "second") == 64);
        assertThat(answer.getJsonObject("instances").getJsonObject("demo"))
                .isEqualTo(new JsonObject()
                        .put("longest_matched", 256)
                        .put("gpu", 256)
                        .put("dp", new JsonObject().put("0", 256))
                        .put("cpu", 256)
                        .put("disk", 256));
        assertThat(answer.getJsonObject("scores"))
                .isEqualTo(new JsonObject()
                        .put("demo", new JsonObject().put("0", 256))
                        .put("second", new JsonObject().put("0", 64)));
        assertThat(answer.getJsonObject("unanswered").getString("gone")).contains("block size is not known yet");
        int[] longer = Arrays.copyOf(prompt, 300);
        assertThat(matched(query(longer, ""), "demo")).isEqualTo(256);
        int[] differs = prompt.clone();
        differs[100]++;
        assertThat(matched(query(differs, ""), "demo")).isEqualTo(96);
        differs[0]++;
        assertThat(matched(query(differs, ""), "demo")).isZero();
        assertThat(matched(query(new int[] {1, 2, 3}, ""), "demo")).isZero();
    }

    @Test
    void query_ofOneEngine_answersOfThatAlone() {
        JsonObject answer = query(EngineClient.prompt(11, 64), ",\"instance_id\":\"second\"");
        assertThat(answer.getJsonObject("instances").fieldNames()).containsExactly("second");
        assertThat(answer.containsKey("unanswered")).isFalse();
    }

    @Test
    void query_takesTokensByTheNameThatHoldsGiveThem() {
        Http.Answer answer = http.post("/query", "{\"tokens\":[1,2,3],\"instance_id\":\"second\"}");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(matched(answer.json(), "second")).isZero();
    }

    @Test
    void query_ofALargeBody_isAnsweredTheSame() {
        int[] prompt = EngineClient.prompt(12, 512);
        bed.engine.generate(prompt);
        int[] large = Arrays.copyOf(prompt, 40_000);
        Eventually.see("it is heard", () -> query(large, ""), seen -> matched(seen, "demo") == 512);
    }

    /** Its bytes are received into the array of the one before. */
    @Test
    void query_afterALongerOne_readsItsOwnBodyAlone() {
        int[] prompt = EngineClient.prompt(15, 512);
        bed.engine.generate(prompt);
        Eventually.see("it is heard", () -> query(prompt, ""), seen -> matched(seen, "demo") == 512);
        for (int tokens : new int[] {60_000, 30_000, 20_000, 8_000}) {
            assertThat(matched(query(Arrays.copyOf(prompt, tokens), ""), "demo"))
                    .isEqualTo(512);
            String ids =
                    EngineClient.array(Arrays.copyOf(prompt, tokens - 1_000)).encode();
            assertThat(http.post("/query", "{\"token_ids\":" + ids).error())
                    .startsWith("The body is not valid JSON at line 1, column " + (ids.length() + 14));
        }
    }

    @Test
    void query_byText_asksEachEngineForItsTokens_andSaysHowLongThatTook() {
        String text = "A prompt in words, which each engine makes tokens of. ".repeat(40);
        bed.engine.complete(text);
        JsonObject answer =
                Eventually.see("it is heard", () -> byText(text, ""), seen -> matched(seen, "demo") >= TestBed.BLOCK);
        int whole = matched(answer, "demo");
        assertThat(matched(answer, "second")).isZero();
        assertThat(answer.getJsonObject("unanswered").getString("gone")).contains("block size is not known yet");
        assertThat(answer.getJsonObject("tokenizing_seconds").fieldNames()).containsExactlyInAnyOrder("demo", "second");
        assertThat(answer.getJsonObject("tokenizing_seconds").getDouble("demo")).isPositive();
        assertThat(matched(byText(text + "And it goes on. ".repeat(10_000), ",\"instance_id\":\"demo\""), "demo"))
                .as("a long body")
                .isBetween(whole - TestBed.BLOCK, whole);
        assertThat(query(new int[] {1, 2, 3}, "").containsKey("tokenizing_seconds"))
                .isFalse();
    }

    @Test
    void queryByHash_matchesTheEnginesOwnNames() {
        int[] prompt = EngineClient.prompt(13, 128);
        bed.engine.generate(prompt);
        long[] names = SglangBlockNames.of(prompt, TestBed.BLOCK);
        assertThat(names).hasSize(8);
        Eventually.see("it is heard", () -> byHash(names), seen -> matched(seen, "demo") == 128);
        JsonArray unsigned = new JsonArray();
        LongStream.of(names).mapToObj(Long::toUnsignedString).forEach(unsigned::add);
        Http.Answer same = http.post(
                "/query_by_hash", new JsonObject().put("block_hashes", unsigned).encode());
        assertThat(matched(same.json(), "demo")).isEqualTo(128);
        names[4]++;
        assertThat(matched(byHash(names), "demo")).isEqualTo(64);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        /query         | {"tokens":[1],"token_ids":[1]}               | 400 | The body has token_ids and tokens; send one of them.
        /query         | {"token_ids":[1],"tokens":[1]}               | 400 | The body has token_ids and tokens; send one of them.
        /query         | {"tokens":[1],"text":"a"}                    | 400 | The body has token ids and a text; send one of them.
        /query         | {"text":""}                                  | 400 | text is empty
        /query         | {"text":["a"]}                               | 400 | text is not a string
        /query_by_hash | {"text":"a"}                                 | 400 | The field 'text' is unknown
        /query         | {}                                           | 400 | token_ids is missing; send the prompt's token ids, or its text.
        /query         | {"token_ids":[]}                             | 400 | token_ids is empty
        /query         | {"token_ids":[-1]}                           | 400 | token_ids[0] is '-1'; a token id is between
        /query         | {"token_ids":[1],"lora_name":"x"}            | 400 | lora_name is not known to the names of blocks here
        /query         | {"token_ids":[1],"cache_salt":"x"}           | 400 | cache_salt is not known to the names of blocks here
        /query         | {"token_ids":[1],"salt":"x"}                 | 400 | The field 'salt' is unknown; a query has token_ids
        /query         | {"token_ids":[1],"model_name":7}             | 400 | model_name is not a string.
        /query         | {"token_ids":[1],"instance_id":"nobody"}     | 404 | No engine here is called 'nobody'; known are demo
        /query         | nonsense                                     | 400 | The body is not valid JSON
        /query_by_hash | {"token_ids":[1]}                            | 400 | The field 'token_ids' is unknown
        /query_by_hash | {"content_hashes":[1]}                       | 400 | content_hashes name blocks by their content alone
        /api/v1/engines/demo/touches | {"contentHashes":[1]}          | 400 | contentHashes name blocks by their content alone, and
        /api/v1/engines/demo/hints   | {"contentHashes":[1],"says":"used"} | 400 | contentHashes name blocks by their content alone
        /api/v1/engines/demo/explain | {"local_hashes":[1]}           | 400 | local_hashes name blocks by their content alone
        /query_by_hash | {"block_hashes":["x"]}                       | 400 | block_hashes[0] is 'x'
        /query_by_hash | {"block_hashes":{}}                          | 400 | block_hashes is not an array.
        /api/v1/engines/demo/touches | {}                             | 400 | The body has none of tokens
        /api/v1/engines/demo/touches | {"touches":[]}                 | 400 | touches is empty; send what there is to tell.
        /api/v1/engines/demo/touches | {"touches":[7]}                | 400 | touches[0] is not an object.
        /api/v1/engines/demo/touches | {"touches":[{"hashes":[1]}],"hashes":[1]} | 400 | The body has touches and a prefix
        /api/v1/engines/demo/touches | {"touches":[{"hashes":[1],"says":1}]}     | 400 | The field 'says' is unknown; a touch
        /api/v1/engines/demo/touches | {"tokens":[1,2]}               | 400 | The prefix has 2 tokens, less than one block
        /api/v1/engines/demo/first-tokens | {}                        | 400 | seconds is missing
        /api/v1/engines/demo/first-tokens | {"seconds":1}             | 400 | promptTokens is missing
        /api/v1/engines/demo/first-tokens | {"seconds":"1"}           | 400 | seconds is not a number; write seconds, such as 0.25.
        /api/v1/engines/demo/first-tokens | {"seconds":1e999,"promptTokens":1} | 400 | A first token comes after more than 0
        /api/v1/engines/demo/first-tokens | {"seconds":1,"promptTokens":1.5}   | 400 | promptTokens is no whole number
        /api/v1/engines/demo/first-tokens | {"seconds":1,"promptTokens":1,"cachedTokens":2} | 400 | Of a prompt of 1 tokens
        /api/v1/engines/demo/first-tokens | {"seconds":1,"promptTokens":1,"class":3} | 400 | class is not a string
        /api/v1/engines/demo/first-tokens | {"firstTokens":[{"seconds":1}]} | 400 | firstTokens[0].promptTokens is missing
        /api/v1/engines/demo/first-tokens | {"ttft":1}                | 400 | The field 'ttft' is unknown; a first token has
        """)
    void nonsense_isRefusedInOneSentence(String path, String body, int status, String sentence) {
        Http.Answer answer = http.post(path, body);
        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        assertThat(answer.error()).startsWith(sentence).matches("[^\\n]+\\.");
    }

    @Test
    void lists_haveBounds() {
        String touch = "{\"hashes\":[1]}";
        String first = "{\"seconds\":1,\"promptTokens\":1}";
        assertThat(http.post(DEMO + "/touches", list("touches", touch, 256))
                        .json()
                        .getInteger("taken"))
                .isEqualTo(256);
        assertThat(http.post(DEMO + "/touches", list("touches", touch, 257)).error())
                .isEqualTo("touches has more than 256 elements; send them in several calls.");
        assertThat(http.post(DEMO + "/first-tokens", list("firstTokens", first, 1_000))
                        .json()
                        .getInteger("taken"))
                .isEqualTo(1_000);
        assertThat(http.post(DEMO + "/first-tokens", list("firstTokens", first, 1_001))
                        .error())
                .isEqualTo("firstTokens has more than 1000 elements; send them in several calls.");
    }

    @Test
    void touch_prolongsALeaseThatUsesProlong() {
        int[] prompt = EngineClient.prompt(14, 128);
        bed.engine.generate(prompt);
        bed.heard();
        JsonObject hold = bed.client
                .http
                .post(
                        SidecarClient.HOLDS,
                        new JsonObject()
                                .put("tokens", EngineClient.array(prompt))
                                .put("leaseSeconds", 3600)
                                .put("refreshOnHit", true)
                                .encode())
                .json();
        String id = hold.getString("id");
        Eventually.see(
                "the lease runs", () -> bed.client.holdById(id).getDouble("leaseSeconds"), left -> left < 3599.5);
        Http.Answer told = bed.client.http.post(
                DEMO + "/touches",
                new JsonObject().put("tokens", EngineClient.array(prompt)).encode());
        assertThat(told.status()).isEqualTo(202);
        Eventually.see(
                "it is prolonged", () -> bed.client.holdById(id).getDouble("leaseSeconds"), left -> left > 3599.5);
        assertThat(bed.client.engine().getJsonObject("touches").getInteger("told"))
                .isPositive();
    }

    private JsonObject query(int[] tokens, String more) {
        String ids = EngineClient.array(tokens).encode();
        Http.Answer answer = http.post("/query", "{\"token_ids\":" + ids + more + "}");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json();
    }

    private JsonObject byText(String text, String more) {
        Http.Answer answer = http.post("/query", "{\"text\":\"" + text + "\"" + more + "}");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json();
    }

    private JsonObject byHash(long[] names) {
        return http.post(
                        "/query_by_hash",
                        new JsonObject()
                                .put(
                                        "block_hashes",
                                        new JsonArray(
                                                LongStream.of(names).boxed().toList()))
                                .encode())
                .json();
    }

    private static int matched(JsonObject answer, String engine) {
        return answer.getJsonObject("instances").getJsonObject(engine).getInteger("longest_matched");
    }

    private static String list(String name, String element, int count) {
        return "{\"" + name + "\":[" + (element + ",").repeat(count - 1) + element + "]}";
    }
}
