package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds by example: somebody sends what is to be held, and the sidecar says what it saw. */
class ExamplesTest {
    private static final String EXAMPLES = "/api/v1/engines/demo/examples";
    private static final int[] RULES = EngineClient.prompt(1, 512);

    @TempDir
    Path state;

    private TestBed bed;

    @BeforeEach
    void start() {
        bed = TestBed.pinning(state);
    }

    @AfterEach
    void stop() {
        bed.close();
    }

    private static int[] with(int[] prefix, int user, int tokens) {
        return IntStream.concat(IntStream.of(prefix), IntStream.of(EngineClient.prompt(user, tokens)))
                .toArray();
    }

    private String begun() {
        Http.Answer answer = bed.client.http.post(EXAMPLES, "");
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        assertThat(answer.json().getBoolean("running")).isTrue();
        return answer.json().getString("example");
    }

    private JsonObject seen(String example, int requests) {
        return Eventually.see(
                "the example saw " + requests + " requests",
                () -> bed.client.http.get(EXAMPLES + "/" + example).json(),
                seen -> seen.getInteger("requests") == requests);
    }

    @Test
    void sharedPrefix_isTheFirstThatIsOffered_andIsHeld() {
        bed.engine.generate(with(RULES, 10, 64));
        bed.heard();
        String example = begun();
        for (int user = 20; user < 23; user++) {
            bed.engine.generate(with(RULES, user, 64));
        }
        bed.engine.generate(EngineClient.prompt(30, 128));
        bed.engine.generate(EngineClient.prompt(30, 128));
        seen(example, 4);

        JsonObject seen =
                bed.client.http.post(EXAMPLES + "/" + example + "/stop", "").json();

        assertThat(seen.getBoolean("running")).isFalse();
        JsonObject first = seen.getJsonArray("prefixes").getJsonObject(0);
        assertThat(first.getInteger("prefix")).isEqualTo(1);
        assertThat(first.getInteger("blocks")).isEqualTo(32);
        assertThat(first.getInteger("tokens")).isEqualTo(512);
        assertThat(first.getInteger("prompts")).isEqualTo(3);
        assertThat(first.getInteger("requests")).isEqualTo(3);
        assertThat(first.getBoolean("wholePrompt")).isFalse();
        assertThat(seen.getJsonArray("prefixes")).hasSize(5);
        assertThat(seen.getString("note")).contains("stores nothing");

        bed.engine.generate(EngineClient.prompt(40, 128));
        bed.heard();
        assertThat(bed.client.http.get(EXAMPLES + "/" + example).json().getInteger("requests"))
                .as("nothing is noted after its end")
                .isEqualTo(4);

        Http.Answer hold = hold(example, 1);
        assertThat(hold.status()).as(hold.text()).isEqualTo(201);
        assertThat(hold.json().getInteger("wantedBlocks")).isEqualTo(32);
        Http.Answer whole = hold(example, 2);
        bed.client.holdIn(whole.json().getString("id"), "held");
    }

    @Test
    void chunksOfOnePrompt_areOneRequest() {
        int[] longPrompt = EngineClient.prompt(50, 2400);
        String example = begun();
        bed.engine.generate(longPrompt);

        JsonObject seen = seen(example, 1);
        assertThat(seen.getJsonArray("prefixes")).hasSize(1);
        assertThat(seen.getJsonArray("prefixes").getJsonObject(0).getInteger("tokens"))
                .isEqualTo(2400);
        assertThat(seen.getJsonArray("prefixes").getJsonObject(0).getBoolean("wholePrompt"))
                .isTrue();
    }

    @Test
    void whatThereIsNot_isSaidInOneSentence() {
        assertThat(bed.client.http.get(EXAMPLES + "/7").status()).isEqualTo(404);
        assertThat(bed.client.http.post(EXAMPLES + "/x/stop", "").status()).isEqualTo(404);
        assertThat(bed.client.http.post(EXAMPLES + "?seconds=0", "").error())
                .isEqualTo("seconds is '0'; write 1 to 600.");
        assertThat(hold("7", 1).status()).isEqualTo(404);
        assertThat(hold("7", 1).error()).startsWith("There is no prefix 1 of an example 7");
        String example = begun();
        begun();
        begun();
        begun();
        assertThat(bed.client.http.post(EXAMPLES, "").error()).startsWith("Four examples run already");
        bed.client.http.post(EXAMPLES + "/" + example + "/stop", "");
        begun();
    }

    @Test
    void example_endsByItself() {
        String example =
                bed.client.http.post(EXAMPLES + "?seconds=1", "").json().getString("example");
        Eventually.see(
                "its end",
                () -> bed.client.http.get(EXAMPLES + "/" + example).json(),
                seen -> !seen.getBoolean("running"));
    }

    private Http.Answer hold(String example, int prefix) {
        return bed.client.http.post(
                SidecarClient.HOLDS,
                new JsonObject()
                        .put("example", example)
                        .put("prefix", prefix)
                        .put("leaseSeconds", 60)
                        .encode());
    }
}
