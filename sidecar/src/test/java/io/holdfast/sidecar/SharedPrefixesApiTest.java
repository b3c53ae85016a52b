package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What requests share is shown, and a prefix that nobody sends alone can be asked for. */
class SharedPrefixesApiTest {
    private static final int[] PROMPT = EngineClient.prompt(1, 512);
    private static final String EXPLAIN = "/api/v1/engines/demo/explain";
    private static final String PREFIXES = "/api/v1/engines/demo/prefixes";

    @TempDir
    Path state;

    private int nextText;

    @Test
    void sharedPrompt_isListedWithWhatItsLossesCost() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: false")) {
            texts(bed, 3);
            JsonObject shared =
                    Eventually.see("the third text", () -> only(bed), seen -> seen.getInteger("continuations", 0) == 3);
            assertThat(shared.getInteger("tokens")).isEqualTo(512);
            assertThat(shared.getInteger("hits")).isEqualTo(2);
            assertThat(shared.getBoolean("cached")).isTrue();
            assertThat(shared.getString("why")).isEqualTo("never lost: the cache keeps it without a hold");

            bed.engine.flood(100, 60, 160);
            texts(bed, 1);
            shared = Eventually.see("the loss", () -> only(bed), seen -> seen.getInteger("timesLost") == 1);
            assertThat(shared.getInteger("recomputedTokens")).isEqualTo(512);
            assertThat(shared.getBoolean("held")).isFalse();
            assertThat(shared.getString("why"))
                    .isEqualTo("worth a hold, and automatic holds are off: ask for it, or write automaticHolds: true");
            assertThat(bed.client.http.get("/metrics").text())
                    .contains("holdfast_prefix_requests_total{engine=\"demo\",result=\"lost\"} 1.0");
        }
    }

    @Test
    void prefix_isExplained_asFarAsItWasSeen() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: true")) {
            texts(bed, 3);
            JsonObject shared = Eventually.see(
                    "the third text",
                    () -> explained(bed, PROMPT),
                    seen -> seen.getJsonObject("rank", new JsonObject())
                                    .getJsonObject("kind", new JsonObject())
                                    .getInteger("uses", 0)
                            == 3);
            assertThat(shared.getInteger("blocks")).isEqualTo(32);
            assertThat(shared.getInteger("tokens")).isEqualTo(512);
            assertThat(shared.getInteger("cachedBlocks")).isEqualTo(32);
            assertThat(shared.getInteger("heldBlocks")).isZero();
            assertThat(shared.getString("why")).startsWith("nothing is held by its rank now: ");
            JsonObject rank = shared.getJsonObject("rank");
            assertThat(rank.getInteger("blocks")).isEqualTo(32);
            assertThat(rank.getBoolean("cached")).isTrue();
            assertThat(rank.getJsonObject("lru").getBoolean("keeps")).isTrue();
            assertThat(rank.getJsonObject("kind").getString("hint")).isEqualTo("nothing");
            assertThat(rank.getJsonArray("usedAgain")).hasSizeGreaterThanOrEqualTo(4);
            assertThat(shared.getJsonObject("byRank").getBoolean("licensed")).isFalse();

            bed.client.held(PROMPT);
            JsonObject held = explained(bed, PROMPT);
            assertThat(held.getInteger("heldBlocks")).isEqualTo(32);
            assertThat(held.getJsonObject("plan").getString("code")).isEqualTo("held");
            assertThat(held.getString("why"))
                    .isEqualTo(held.getJsonObject("plan").getString("reason"));
        }
    }

    @Test
    void whatIsToBeExplained_hasToBeAPrefix() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: false")) {
            JsonObject unknown = explained(bed, PROMPT);
            assertThat(unknown.getInteger("cachedBlocks")).isZero();
            assertThat(unknown.getString("why"))
                    .isEqualTo("nothing of it is in the cache; nobody requested it, and automatic holds are"
                            + " switched off");
            assertThat(unknown.containsKey("rank")).isFalse();
            Http.Answer refused = bed.client.http.post(EXPLAIN, "{\"tokens\":[1,2,3],\"leaseSeconds\":5}");
            assertThat(refused.status()).isEqualTo(400);
            assertThat(refused.error())
                    .isEqualTo(
                            "The field 'leaseSeconds' is unknown; what is to be explained is given by tokens, hashes,"
                                    + " text, messages (with tools) or an example.");
            assertThat(bed.client.http.post(EXPLAIN, "{}").status()).isEqualTo(400);
            assertThat(bed.client.http.post(EXPLAIN, "{\"tokens\":[1,2,3]}").error())
                    .contains("less than one block of 16");
            assertThat(bed.client.http.post(EXPLAIN, "[]").error()).startsWith("The body must be a JSON object");
        }
    }

    private static JsonObject explained(TestBed bed, int[] prefix) {
        Http.Answer answer = bed.client.http.post(
                EXPLAIN,
                new JsonObject().put("tokens", EngineClient.array(prefix)).encode());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json();
    }

    @Test
    void pageOfPrefixes_badNumber_isRefused() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "")) {
            Http.Answer refused = bed.client.http.get(PREFIXES + "?limit=many");
            assertThat(refused.status()).isEqualTo(400);
            assertThat(refused.error()).isEqualTo("limit is 'many'; write 1 to 500.");
            // A page of nothing would name itself as the next one.
            assertThat(bed.client.http.get(PREFIXES + "?limit=0").status()).isEqualTo(400);
            assertThat(bed.client.http.get(PREFIXES + "?from=5&limit=1").json().getJsonArray("prefixes"))
                    .isEmpty();
        }
    }

    @Test
    void requestedPrompt_isHeldUnderTextsThatBeginWithIt() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "")) {
            texts(bed, 2);
            JsonObject held = bed.client.holdById(bed.client.held(PROMPT));
            assertThat(held.getInteger("heldTokens")).isEqualTo(512);
            assertThat(held.getInteger("beyondTokens")).isEqualTo(48);
            bed.engine.flood(300, 60, 160);
            assertThat(texts(bed, 1)).isEqualTo(512);
        }
    }

    @Test
    void requestedPrompt_thatIsNotThere_isSentAloneAndHeldExactly() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "priming: true")) {
            // The view has to be certain, so something has to be stored first.
            bed.engine.generate(EngineClient.prompt(50, 64));
            JsonObject held = bed.client.holdById(bed.client.held(PROMPT));
            assertThat(held.getInteger("heldTokens")).isEqualTo(512);
            assertThat(held.getInteger("beyondTokens")).isZero();
            bed.engine.flood(300, 60, 160);
            assertThat(texts(bed, 1)).isEqualTo(512);
            assertThat(bed.client.http.get("/metrics").text())
                    .contains("holdfast_own_requests_total{engine=\"demo\",result=\"answered\"} 1.0");
        }
    }

    private JsonObject only(TestBed bed) {
        JsonArray prefixes = bed.client.http.get(PREFIXES).json().getJsonArray("prefixes");
        return prefixes.size() == 1 ? prefixes.getJsonObject(0) : new JsonObject().put("timesLost", -1);
    }

    /** Sends as many texts after the prompt, and tells the cached tokens of the last. */
    private int texts(TestBed bed, int count) {
        int cached = 0;
        for (int i = 0; i < count; i++) {
            int[] text = EngineClient.prompt(100 + nextText++, 50);
            int[] request = Arrays.copyOf(PROMPT, PROMPT.length + text.length);
            System.arraycopy(text, 0, request, PROMPT.length, text.length);
            cached = bed.engine.generate(request);
        }
        return cached;
    }
}
