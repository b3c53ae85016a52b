package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Leases, requesters, weights and hints over real HTTP. */
class LeaseApiTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final String HINTS = "/api/v1/engines/demo/hints";

    @TempDir
    Path state;

    private TestBed bed;

    @BeforeEach
    void start() {
        bed = TestBed.pinning(state);
        bed.engine.generate(PREFIX);
        bed.heard();
    }

    @AfterEach
    void stop() {
        bed.close();
    }

    private static JsonObject body(int[] tokens) {
        return new JsonObject().put("tokens", EngineClient.array(tokens));
    }

    private Http.Answer ask(JsonObject hold) {
        return bed.client.http.post(SidecarClient.HOLDS, hold.encode());
    }

    private Http.Answer patch(String id, String body) {
        return bed.client.http.send("PATCH", SidecarClient.HOLDS + "/" + id, body);
    }

    @Test
    void refreshedHold_saysSoAndWhatIsNotSeen() {
        Http.Answer answer = ask(body(PREFIX).put("leaseSeconds", 60).put("refreshOnHit", true));

        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        assertThat(answer.json().getBoolean("refreshOnHit")).isTrue();
        assertThat(answer.json().getDouble("atMostSeconds")).isBetween(86_000.0, 86_400.0);
        assertThat(answer.json().getString("note"))
                .contains("whose whole prompt is in the cache")
                .contains("/hints");
        assertThat(answer.json().getDouble("provenSecondsAgo")).isNotNegative();
    }

    @Test
    void useOfARefreshedHold_prolongsIt() {
        String id = ask(body(PREFIX).put("leaseSeconds", 60).put("refreshOnHit", true))
                .json()
                .getString("id");
        patch(id, "{\"leaseSeconds\":30}");
        int[] number = {2};
        // A use in the very moment of the shortening may count as one before it.
        Eventually.see(
                "the use",
                () -> {
                    bed.engine.generate(joined(PREFIX, EngineClient.prompt(number[0]++, 64)));
                    return bed.client.holdById(id);
                },
                hold -> hold.getDouble("leaseSeconds") > 30);
    }

    @Test
    void lease_isExtendedAndShortened() {
        String id = bed.client.hold(PREFIX, 60).json().getString("id");

        Http.Answer longer = patch(id, "{\"leaseSeconds\":3600}");
        assertThat(longer.status()).as(longer.text()).isEqualTo(200);
        assertThat(longer.json().getDouble("leaseSeconds")).isBetween(3_500.0, 3_600.0);
        assertThat(longer.json().getString("id")).isEqualTo(id);

        assertThat(patch(id, "{\"leaseSeconds\":0.1}").status()).isEqualTo(200);
        bed.client.holdIn(id, "released");
        Http.Answer over = patch(id, "{\"leaseSeconds\":60}");
        assertThat(over.status()).isEqualTo(409);
        assertThat(over.error())
                .isEqualTo("Hold " + id + " is over (its lease of 0 s is over); ask for its prefix again.");
        assertThat(bed.engine.usedTokens()).isZero();
    }

    @Test
    void extensionBeyondTheCap_endsAtItAndSaysSo() {
        String id = ask(body(PREFIX).put("leaseSeconds", 60).put("atMostSeconds", 120))
                .json()
                .getString("id");

        JsonObject capped = patch(id, "{\"leaseSeconds\":3600}").json();

        assertThat(capped.getDouble("leaseSeconds")).isLessThanOrEqualTo(120);
        assertThat(capped.getString("note")).contains("no longer than that in all");
    }

    @Test
    void requesters_shareAHoldAndItEndsWithTheLast() {
        JsonObject hold = body(PREFIX).put("leaseSeconds", 60);
        Http.Answer first = ask(hold.copy().put("requester", "router-a"));
        Http.Answer second = ask(hold.copy().put("requester", "router-b").put("weight", 9));
        Http.Answer again = ask(hold.copy().put("requester", "router-a"));
        assertThat(first.status()).as(first.text()).isEqualTo(201);
        assertThat(second.status()).as(second.text()).isEqualTo(200);
        assertThat(again.status()).isEqualTo(200);
        String id = first.json().getString("id");
        assertThat(second.json().getString("id")).isEqualTo(id);
        assertThat(again.json().getJsonArray("requesters"))
                .extracting(each -> ((JsonObject) each).getString("requester"))
                .containsExactly("router-a", "router-b");
        assertThat(again.json().getInteger("weight")).isEqualTo(9);
        assertThat(again.json().getInteger("timesAsked")).isEqualTo(3);
        assertThat(ask(hold).status()).as("without a requester: one of its own").isEqualTo(201);

        String path = SidecarClient.HOLDS + "/" + id + "?requester=";
        assertThat(bed.client.http.delete(path + "router-a").json().getString("state"))
                .isEqualTo("held");
        Http.Answer gone = bed.client.http.delete(path + "router-a");
        assertThat(gone.status()).isEqualTo(404);
        assertThat(gone.error()).isEqualTo("Engine demo has no hold '" + id + "' that requester 'router-a' wants.");
        assertThat(bed.client.http.delete(path + "router-b").json().getString("state"))
                .isEqualTo("released");
    }

    @Test
    void hints_prolongAndEnd() {
        int[] turn = joined(PREFIX, EngineClient.prompt(2, 64));
        bed.engine.generate(turn);
        JsonObject asked = new JsonObject().put("leaseSeconds", 600).put("refreshOnHit", true);
        String system = ask(asked.copy().mergeIn(body(PREFIX)).put("requester", "router-a"))
                .json()
                .getString("id");
        String conversation = ask(asked.copy().mergeIn(body(turn)).put("requester", "router-a"))
                .json()
                .getString("id");
        patch(system, "{\"leaseSeconds\":9,\"requester\":\"router-a\"}");

        JsonObject used = hint(body(turn).put("says", "used"));
        assertThat(ids(used)).containsExactly(system, conversation);
        Eventually.see(
                "the longer lease", () -> bed.client.holdById(system), hold -> hold.getDouble("leaseSeconds") > 500);

        JsonObject over = hint(body(turn).put("says", "over").put("requester", "router-a"));
        assertThat(ids(over)).containsExactly(conversation);
        bed.client.holdIn(conversation, "released");
        assertThat(bed.client.holdById(system).getString("state")).isEqualTo("held");
        Eventually.see(
                "both hints",
                () -> bed.client.engine().getJsonObject("hints").encode(),
                "{\"used\":1,\"goes_on\":0,\"over\":1}"::equals);
        assertThat(bed.client.metric("holdfast_hints_total{engine=\"demo\",says=\"over\"}"))
                .isEqualTo(1);
    }

    @Test
    void refusals_areAStatusAndOneSentence() {
        bed.client.hold(PREFIX, 60);
        """
        PATCH  | holds/999             | {"leaseSeconds":1}              | 404 | Engine demo has no hold '999'.
        PATCH  | holds/x               | {"leaseSeconds":1}              | 404 | Engine demo has no hold 'x'.
        PATCH  | holds/1               | {}                              | 400 | leaseSeconds is missing; every hold ages
        PATCH  | holds/1               | {"leaseSeconds":90000}          | 400 | leaseSeconds is '90000'; write 0.001 to 86400.
        PATCH  | holds/1               | {"weight":1}                    | 400 | The field 'weight' is unknown; what can be changed
        PATCH  | holds/1               | {"leaseSeconds":1,"requester":"z"} | 404 | Engine demo has no hold '1' that requester 'z' wants.
        PATCH  | holds/1               |                                 | 415 | The body must be JSON and say so
        DELETE | holds/1?requester=    |                                 | 400 | requester is empty; write 1 to 64 printable
        DELETE | holds?requester=a     |                                 | 400 | This call releases the holds of everybody, and has
        DELETE | holds/999?requester=a |                                 | 404 | Engine demo has no hold '999' that requester 'a' wants.
        POST   | hints                 | {"tokens":[1],"says":"used"}    | 400 | The prefix has 1 tokens, less than one block
        POST   | hints                 | {"hashes":[1],"says":"gone"}    | 400 | says is 'gone'; write used, goes_on or over.
        POST   | hints                 |                                 | 415 | The body must be JSON and say so
        GET    | hints                 |                                 | 405 | '/api/v1/engines/demo/hints' does not take GET.
        """.lines().map(row -> row.split("\\|", -1)).forEach(row -> {
            Http.Answer answer =
                    bed.client.http.send(row[0].strip(), "/api/v1/engines/demo/" + row[1].strip(), row[2].strip());

            assertThat(answer.status()).as(answer.text()).isEqualTo(Integer.parseInt(row[3].strip()));
            assertThat(answer.error()).startsWith(row[4].strip()).matches("[^\\n]+\\.");
        });
    }

    private static int[] joined(int[] first, int[] second) {
        int[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }

    private JsonObject hint(JsonObject body) {
        Http.Answer answer = bed.client.http.post(HINTS, body.encode());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json();
    }

    private static List<String> ids(JsonObject hint) {
        JsonArray holds = hint.getJsonArray("holds");
        return holds.stream().map(each -> ((JsonObject) each).getString("id")).toList();
    }
}
