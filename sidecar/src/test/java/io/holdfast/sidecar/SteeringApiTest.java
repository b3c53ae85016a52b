package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.http.ServedApi;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steering an engine through the API, and looking at a part of it. */
class SteeringApiTest {
    private static final String DEMO = "/api/v1/engines/demo";
    private final int[] prompt = EngineClient.prompt(1, 256);
    private final int[] other = EngineClient.prompt(2, 256);

    @TempDir
    Path state;

    private Optional<TestBed> started = Optional.empty();

    @Test
    void pause_keepsWhatIsHeld_andTakesNothingNew() {
        try (TestBed bed = TestBed.pinning(state)) {
            this.started = Optional.of(bed);
            bed.engine.generate(prompt);
            bed.engine.generate(other);
            String held = bed.client.held(prompt);

            assertThat(post("/pause").json())
                    .isEqualTo(new JsonObject()
                            .put("paused", true)
                            .put("keepsHeld", true)
                            .put("note", "It lasts until it is taken back or the sidecar ends."));
            assertThat(post("/pause").json().getBoolean("keepsHeld"))
                    .as("again")
                    .isTrue();

            Http.Answer refused = bed.client.hold(other, 60);
            assertThat(refused.status()).isEqualTo(409);
            assertThat(refused.error())
                    .startsWith("Holding is paused, and keeps what is held: requested by one" + " call");
            assertThat(bed.client.holdById(held).getString("state")).isEqualTo("held");
            assertThat(bed.engine.usedTokens()).isEqualTo(256);
            JsonObject engine = bed.client.engine();
            assertThat(engine.getBoolean("paused")).isTrue();
            assertThat(engine.getBoolean("keepsHeld")).isTrue();
            assertThat(bed.client
                            .http
                            .get("/readyz")
                            .json()
                            .getJsonArray("notes")
                            .encode())
                    .contains("keeps what is held");

            assertThat(post("/resume").json().getBoolean("resumed")).isTrue();
            assertThat(post("/resume").json().getBoolean("resumed")).isFalse();
            bed.client.held(other);
        }
    }

    @Test
    void pause_afterTheOneThatReleased_saysThatItStaysThat() {
        try (TestBed bed = TestBed.pinning(state)) {
            this.started = Optional.of(bed);
            assertThat(bed.client.http.delete(SidecarClient.HOLDS).status()).isEqualTo(200);
            JsonObject said = post("/pause").json();
            assertThat(said.getBoolean("keepsHeld")).isFalse();
            assertThat(said.getString("note")).contains("everything released").contains("resume first");
        }
    }

    @Test
    void pause_endsWithTheSidecar_andTheHoldIsHeldAgain() {
        try (TestBed bed = TestBed.pinning(state)) {
            this.started = Optional.of(bed);
            bed.engine.generate(prompt);
            String held = bed.client.held(prompt);
            post("/pause");
            SidecarConfig config = TestBed.config(state, bed.emulator.uri(), "");
            bed.sidecar.close();
            try (Sidecar next = Sidecar.start(bed.vertx, config);
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.meet(bed.engine);
                bed.engine.generate(prompt);
                client.holdIn(held, "held");
                assertThat(client.engine().getBoolean("paused")).isFalse();
            }
        }
    }

    @Test
    void dryRun_letsGo_decides_andActsAgainWhenItEnds() {
        try (TestBed bed = TestBed.pinning(state)) {
            this.started = Optional.of(bed);
            bed.engine.generate(prompt);
            String held = bed.client.held(prompt);

            Http.Answer on = bed.client.http.send("PUT", DEMO + "/dry-run", "{\"dryRun\":true}");
            assertThat(on.json().getBoolean("changed")).isTrue();
            Eventually.see("the engine is let go of", bed.engine::usedTokens, used -> used == 0);
            // The engine has let go before its answer is read here, so the reason is waited for too.
            Eventually.see(
                    "the hold waits, and says why",
                    () -> bed.client.holdById(held),
                    hold -> "requested".equals(hold.getString("state"))
                            && hold.getString("reason").startsWith("decided, and not asked of the engine: dry run"));
            JsonObject plan = Eventually.see(
                    "the plan would pin",
                    () -> bed.client.http.get(DEMO + "/plan").json(),
                    seen -> seen.getJsonArray("lines").encode().contains("\"action\":\"pin\""));
            assertThat(plan.getString("engine")).isEqualTo("demo");
            assertThat(bed.client.engine().getBoolean("dryRun")).isTrue();
            assertThat(bed.client
                            .http
                            .get("/readyz")
                            .json()
                            .getJsonArray("notes")
                            .encode())
                    .contains("dry run, switched on through the API");
            assertThat(bed.engine.usedTokens()).isZero();

            assertThat(bed.client
                            .http
                            .send("PUT", DEMO + "/dry-run", "{\"dryRun\":false}")
                            .status())
                    .isEqualTo(200);
            bed.client.holdIn(held, "held");
            assertThat(bed.engine.usedTokens()).isEqualTo(256);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {}                | dryRun is missing; write {"dryRun":true} or false.
        {"dryRun":"yes"}  | dryRun is neither true nor false.
        {"dry":true}      | The field 'dry' is unknown; what is switched is dryRun.
        [true]            | The body must be a JSON object such as {"dryRun":true}.
        """)
    void dryRun_whatIsNoSwitch_isRefused(String body, String sentence) throws IOException {
        try (ServedApi api = new ServedApi(
                state,
                new Listen("127.0.0.1", 0, List.of(), Optional.empty(), Optional.empty()),
                HttpLimits.defaults())) {
            Http.Answer answer = api.http.send("PUT", DEMO + "/dry-run", body);
            assertThat(answer.status()).isEqualTo(400);
            assertThat(answer.error()).isEqualTo(sentence);
        }
    }

    @Test
    void holds_comeByPages() {
        try (TestBed bed = TestBed.pinning(state)) {
            this.started = Optional.of(bed);
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                ids.add(bed.client.hold(new long[] {i + 1}, 600).json().getString("id"));
            }
            List<String> seen = new ArrayList<>();
            Integer from = 0;
            int pages = 0;
            while (from != null) {
                JsonObject page = bed.client
                        .http
                        .get(DEMO + "/holds?limit=2&from=" + from)
                        .json();
                assertThat(page.getInteger("count")).isEqualTo(5);
                assertThat(page.getInteger("from")).isEqualTo(from);
                JsonArray some = page.getJsonArray("holds");
                for (int i = 0; i < some.size(); i++) {
                    seen.add(some.getJsonObject(i).getString("id"));
                }
                from = page.getInteger("next");
                pages++;
            }
            assertThat(pages).isEqualTo(3);
            assertThat(seen).isEqualTo(ids);
            assertThat(bed.client.http.get(DEMO + "/holds?from=9").json().getJsonArray("holds"))
                    .isEmpty();
            assertThat(bed.client.http.get(DEMO + "/holds?limit=1001").error())
                    .isEqualTo("limit is '1001'; write 1 to 1000.");
            assertThat(bed.client.http.get(DEMO + "/holds?from=-1").error())
                    .isEqualTo("from is '-1'; write 0 to 1000000.");
        }
    }

    @Test
    void snapshotReadingsAndPlan_sayWhatTheEngineSays() {
        try (TestBed bed = TestBed.pinning(state)) {
            this.started = Optional.of(bed);
            bed.engine.generate(prompt);
            bed.client.held(prompt);
            JsonObject snapshot = bed.client.http.get("/api/v1/snapshot").json();
            assertThat(snapshot.getBoolean("ready")).isTrue();
            assertThat(snapshot.getJsonArray("engines")).hasSize(1);
            JsonObject engine = snapshot.getJsonArray("engines").getJsonObject(0);
            assertThat(engine.fieldNames()).isEqualTo(bed.client.engine().fieldNames());
            assertThat(engine.getJsonArray("holds")).hasSize(1);
            JsonObject readings = bed.client.http.get(DEMO + "/readings").json();
            assertThat(readings.getJsonObject("capacityTokens").getInteger("value"))
                    .isEqualTo(TestBed.CAPACITY);
            assertThat(readings.getString("engine")).isEqualTo("demo");
            JsonObject plan = Eventually.see(
                    "the plan keeps it",
                    () -> bed.client.http.get(DEMO + "/plan").json(),
                    seen -> seen.getJsonArray("lines").encode().contains("\"action\":\"keep\""));
            assertThat(plan.getInteger("tick")).isPositive();
        }
    }

    private Http.Answer post(String path) {
        return started.orElseThrow().client.http.post(DEMO + path, "");
    }
}
