package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Reloads;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Engines of one sidecar that share what they know within its process. */
class FleetApiTest {
    private static final int PACE = 20;
    static final int[] SYSTEM = EngineClient.prompt(1, 512);

    @TempDir
    private Path state;

    private final Vertx vertx = Vertx.vertx();
    private Emulator one;
    private Emulator two;
    private EngineClient atOne;
    private EngineClient atTwo;

    @BeforeEach
    void start() {
        one = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
        two = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
        atOne = new EngineClient(one.uri());
        atTwo = new EngineClient(two.uri());
    }

    @AfterEach
    void end() {
        atOne.close();
        atTwo.close();
        one.close();
        two.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Sidecar sidecar(String fleet) {
        String keys = "maxOutputTokens: 16, largestPromptTokens: 1024, backend: pin_blocks, automaticHolds: true,"
                + " readingsMillis: 1000, tickMillis: 200, leastSavingMillis: 0";
        SidecarConfig config =
                SidecarConfig.parse("""
                    listen: {port: 0}
                    stateDirectory: '%s'
                    %s
                    engines:
                      one: {type: sglang, url: '%s', %s}
                      two: {type: sglang, url: '%s', %s}
                    """.formatted(state, fleet, one.uri(), keys, two.uri(), keys), "test.yaml");
        Seams seams = Seams.none().withClock(new FastClock(PACE)::nanos).withPace(PACE);
        return Sidecar.start(vertx, config, new PrometheusMeterRegistry(PrometheusConfig.DEFAULT), seams);
    }

    static int[] user(int number) {
        int[] prompt = Arrays.copyOf(SYSTEM, SYSTEM.length + 64);
        System.arraycopy(EngineClient.prompt(number, 64), 0, prompt, SYSTEM.length, 64);
        return prompt;
    }

    static JsonObject cell(SidecarClient client) {
        JsonArray cells = client.http.get("/api/v1/fleet").json().getJsonArray("cells");
        return cells.isEmpty() ? new JsonObject() : cells.getJsonObject(0);
    }

    static List<String> states(JsonObject hold) {
        return hold.getJsonArray("on", new JsonArray()).stream()
                .map(copy -> ((JsonObject) copy).getString("state"))
                .toList();
    }

    /** Waits until the sidecar knows all of an engine's cache, which is emptied for that. */
    static void meet(SidecarClient client, String name, EngineClient engine) {
        int[] number = {500_000};
        Eventually.see(
                "the sidecar hears what the engine stores",
                () -> {
                    engine.generate(EngineClient.prompt(number[0]++, 32));
                    return client.http.get("/api/v1/engines/" + name).json();
                },
                seen -> seen.getInteger("blocks") > 0);
        assertThat(engine.flush()).isEqualTo(200);
        Eventually.see(
                "the cache is known to be empty",
                () -> client.http.get("/api/v1/engines/" + name).json(),
                seen -> seen.getBoolean("certain") && seen.getInteger("blocks") == 0);
    }

    @Test
    void withoutAStore_saysThatNothingIsShared() {
        try (Sidecar sidecar = sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            JsonObject fleet = client.http.get("/api/v1/fleet").json();
            assertThat(fleet.getString("store")).isEqualTo("none");
            assertThat(fleet.getString("says")).contains("fleet.store");
            Http.Answer refused =
                    client.http.post("/api/v1/fleet/holds", "{\"tokens\":[1],\"copies\":1,\"leaseSeconds\":9}");
            assertThat(refused.status()).isEqualTo(409);
            assertThat(refused.error()).contains("fleet.store");
        }
    }

    @Test
    void enginesOfOneProcess_tellWhatIsHot_andHoldWhatTheFleetWants() {
        try (Sidecar sidecar = sidecar("fleet: {store: memory}");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Eventually.see(
                    "both engines are in the cell",
                    () -> cell(client),
                    cell -> cell.getJsonArray("engines", new JsonArray()).size() == 2);
            meet(client, "one", atOne);
            meet(client, "two", atTwo);
            for (int user = 10; user < 14; user++) {
                atOne.generate(user(user));
            }
            JsonObject hot = Eventually.see(
                            "what is hot is told with its copy",
                            () -> cell(client).getJsonArray("prefixes", new JsonArray()),
                            prefixes -> !prefixes.isEmpty())
                    .getJsonObject(0);
            assertThat(hot.getInteger("tokens")).isEqualTo(512);
            assertThat(hot.getJsonArray("copies").getJsonObject(0).getString("engine"))
                    .startsWith("one:");

            Http.Answer asked = client.http.post(
                    "/api/v1/fleet/holds",
                    new JsonObject()
                            .put("tokens", EngineClient.array(SYSTEM))
                            .put("copies", "all")
                            .put("leaseSeconds", 3_600)
                            .put("requester", "platform")
                            .encode());
            assertThat(asked.status()).as(asked.text()).isEqualTo(201);
            String id = asked.json().getString("id");
            // The second engine never saw it: it has the tokens of this process, and stores it by a request of its own.
            Eventually.see(
                    "both hold it",
                    () -> client.http.get("/api/v1/fleet/holds/" + id).json(),
                    hold -> hold.getJsonArray("on", new JsonArray()).size() == 2
                            && states(hold).equals(List.of("held", "held")));
            assertThat(atTwo.generate(user(99))).isEqualTo(512);

            assertThat(client.http.delete("/api/v1/fleet/holds/" + id).status()).isEqualTo(200);
            Eventually.see(
                    "both let it go",
                    () -> client.http.get("/api/v1/fleet/holds").json(),
                    holds -> holds.getJsonArray("holds").isEmpty());
            Eventually.see("nothing is pinned for it", atTwo::usedTokens, used -> used == 0);
        }
    }

    @Test
    void holdThatWasTakenThroughAnEngine_outlivesThatItIsFollowedAnew() {
        String keys = "maxOutputTokens: 16, largestPromptTokens: 1024, backend: pin_blocks";
        String[] name = {"one"};
        Supplier<SidecarConfig> config =
                () -> SidecarConfig.parse("""
                    listen: {port: 0}
                    stateDirectory: '%s'
                    fleet: {store: memory}
                    engines:
                      %s: {type: sglang, url: '%s', %s}
                    """.formatted(state, name[0], one.uri(), keys), "test.yaml");
        Seams seams = Seams.none().withClock(new FastClock(PACE)::nanos).withPace(PACE);
        try (Sidecar sidecar = Sidecar.start(
                        vertx,
                        new Reloads.Sources(config, List::of),
                        new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                        seams);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Eventually.see(
                    "it is in its cell",
                    () -> cell(client),
                    cell -> cell.getJsonArray("engines", new JsonArray()).size() == 1);
            String id = client.http
                    .post(
                            "/api/v1/fleet/holds",
                            new JsonObject()
                                    .put("tokens", EngineClient.array(SYSTEM))
                                    .put("copies", 1)
                                    .put("leaseSeconds", 7_200)
                                    .encode())
                    .json()
                    .getString("id");
            name[0] = "anew";
            sidecar.reload();
            Eventually.see(
                    "its part is another one",
                    () -> cell(client).getJsonArray("engines", new JsonArray()).encode(),
                    engines -> engines.contains("anew:") && !engines.contains("one:"));
            JsonObject hold = Eventually.see(
                    "it is there again",
                    () -> client.http.get("/api/v1/fleet/holds/" + id).json(),
                    seen -> seen.getBoolean("takenHere", false));
            assertThat(hold.getInteger("tokens")).isEqualTo(512);
            assertThat(client.http
                            .post("/api/v1/fleet/tokens", "{\"hold\":\"" + id + "\"}")
                            .status())
                    .isEqualTo(200);
        }
    }

    @Test
    void text_isHeldAlthoughNoRequestHasShownItsTokens() {
        try (Sidecar sidecar = sidecar("fleet: {store: memory}");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            meet(client, "one", atOne);
            meet(client, "two", atTwo);
            Eventually.see(
                    "both are in one cell",
                    () -> cell(client),
                    cell -> cell.getJsonArray("engines", new JsonArray()).size() == 2);
            Http.Answer asked = client.http.post(
                    "/api/v1/fleet/holds",
                    new JsonObject()
                            .put("text", "You answer for a shop that sells boats. ".repeat(20))
                            .put("copies", "all")
                            .put("leaseSeconds", 7_200)
                            .encode());
            assertThat(asked.status()).as(asked.text()).isEqualTo(201);
            Eventually.see(
                    "both hold it",
                    () -> client.http
                            .get("/api/v1/fleet/holds/" + asked.json().getString("id"))
                            .json(),
                    hold -> states(hold).equals(List.of("held", "held")));
        }
    }

    @Test
    void badHolds_areRefusedInASentence() {
        try (Sidecar sidecar = sidecar("fleet: {store: memory}");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Eventually.see(
                    "an engine is in the cell",
                    () -> cell(client),
                    cell -> !cell.getJsonArray("engines", new JsonArray()).isEmpty());
            """
            {"tokens":[1,2],"leaseSeconds":9}                      | copies is missing
            {"tokens":[1,2],"copies":0,"leaseSeconds":9}           | copies is neither
            {"tokens":[1,2],"copies":"many","leaseSeconds":9}      | copies is neither
            {"tokens":[1,2],"copies":1}                            | leaseSeconds is missing
            {"tokens":[1,2],"copies":1,"leaseSeconds":9}           | The prefix has 2 tokens, less than one block of 16
            {"hashes":[1],"copies":1,"leaseSeconds":9}             | Other engines name blocks otherwise
            {"copies":1,"leaseSeconds":9}                          | The body has none of tokens
            {"tokens":[1],"copies":1,"leaseSeconds":9,"keep":true} | The field 'keep' is unknown
            """.lines().map(row -> row.split("\\|")).forEach(row -> {
                Http.Answer answer = client.http.post("/api/v1/fleet/holds", row[0].strip());
                assertThat(answer.status()).as(answer.text()).isEqualTo(400);
                assertThat(answer.error()).startsWith(row[1].strip()).matches("[^\\n]+\\.");
            });
            assertThat(client.http
                            .post("/api/v1/fleet/tokens", "{\"hold\":\"0123456789abcdef\"}")
                            .status())
                    .isEqualTo(404);
        }
    }
}
