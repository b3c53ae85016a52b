package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.events.VllmHashing;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds at engines that publish no events: what they have is known from answers, what they allocate from counters. */
class KvcachedHoldTest {
    private static final int BLOCK = 16;
    private static final int BLOCKS = 256;
    private static final String RULES = IntStream.range(0, 30)
            .mapToObj(i -> "Rule " + i + ": answer in one sentence, and name the page.")
            .collect(Collectors.joining(" "));

    @TempDir
    Path folder;

    private final Vertx vertx = Vertx.vertx();
    private Emulator emulator;
    private Http engine;

    @BeforeEach
    void startEngine() {
        VllmSettings defaults = VllmSettings.defaults();
        VllmSettings small = defaults.withSizes(BLOCKS + 1, BLOCK, 2_048)
                .withHashing(new VllmHashing(Algorithm.SHA256_CBOR, "another seed", Form.TAGGED), false);
        emulator = Emulator.start(
                vertx,
                EmulatorSettings.defaults()
                        .withKind(new EmulatorSettings.Kind.Vllm(small))
                        .withPrefillMicrosPerToken(0)
                        .withFirstTokenMicros(0)
                        .withDecodeMillis(1)
                        .withKvcached(KvcachedSettings.of(EngineTag.VLLM, BLOCKS, BLOCK)
                                .withDirectory(folder)
                                .withIpcName("kvc_test")));
        engine = new Http(emulator.uri());
    }

    @AfterEach
    void stopEngine() {
        engine.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Sidecar sidecar(String keys) {
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(
                        """
                        listen: {port: 0}
                        stateDirectory: '%s'
                        engines:
                          demo: {type: vllm, url: '%s', kvcachedSegment: '%s', readingsMillis: 50, tickMillis: 10%s}
                        """.formatted(folder.resolve("state"), emulator.uri(), folder.resolve("kvc_test"), keys),
                        "test.yaml"));
    }

    /** Answers how many tokens it found in the cache. */
    private int complete(Object prompt) {
        JsonObject answer = engine.post(
                        "/v1/completions",
                        new JsonObject()
                                .put(
                                        "model",
                                        engine.get("/v1/models")
                                                .json()
                                                .getJsonArray("data")
                                                .getJsonObject(0)
                                                .getString("id"))
                                .put("prompt", prompt)
                                .put("max_tokens", 1)
                                .encode())
                .json();
        JsonObject details = answer.getJsonObject("usage").getJsonObject("prompt_tokens_details");
        Integer cached = details == null ? null : details.getInteger("cached_tokens");
        return cached == null ? 0 : cached;
    }

    private static String hold(SidecarClient client, String text) {
        Http.Answer asked = client.http.post(
                SidecarClient.HOLDS,
                new JsonObject().put("text", text).put("leaseSeconds", 600).encode());
        assertThat(asked.status()).as(asked.text()).isLessThan(300);
        return asked.json().getString("id");
    }

    @Test
    void requestedHold_isStoredAndKeptWarm_untilItIsReleased() {
        try (Sidecar sidecar = sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.ready();
            JsonObject backend = client.engine().getJsonObject("backend");
            assertThat(backend.getString("name")).isEqualTo("keep_warm");
            int held = client.holdIn(hold(client, RULES), "held").getInteger("heldTokens");
            assertThat(held).isGreaterThan(200);

            int[] number = {1_000};
            for (int round = 0; round < 3; round++) {
                flood(client, number);
                assertThat(complete(RULES + " What is a page, asks " + number[0] + "?"))
                        .as("after a flood of more than the cache")
                        .isGreaterThanOrEqualTo(held);
            }
            assertThat(client.engine().getBoolean("certain")).isFalse();
            assertThat(client.engine().getJsonObject("ownRequests").getInteger("lateTouches"))
                    .isZero();

            assertThat(client.http.delete(SidecarClient.HOLDS).json().getBoolean("paused"))
                    .isTrue();
            int sent = client.engine().getJsonObject("ownRequests").getInteger("sent");
            flood(client, number);
            assertThat(complete(RULES + " And now?")).as("let go").isZero();
            assertThat(client.engine().getJsonObject("ownRequests").getInteger("sent"))
                    .isEqualTo(sent);
        }
    }

    private void flood(SidecarClient client, int[] number) {
        for (int i = 0; i < 15; i++) {
            complete(EngineClient.array(EngineClient.prompt(number[0]++, 20 * BLOCK + 1)));
            settled(client);
        }
    }

    /** The sidecar has read what was served, and no touch is under way; so no pace decides. */
    private static void settled(SidecarClient client) {
        double[] before = {-1};
        Eventually.see("nothing is on its way any more", client::engine, seen -> {
            JsonObject own = seen.getJsonObject("ownRequests");
            double served =
                    seen.getJsonObject("readings").getJsonObject("promptTokens").getDouble("value", -2.0);
            double at = seen.getJsonObject("readings")
                    .getJsonObject("runningRequests")
                    .getDouble("value", -2.0);
            boolean quiet = at == 0
                    && served == before[0]
                    && own.getInteger("sent") == own.getInteger("answered") + own.getInteger("failed");
            before[0] = served;
            return quiet;
        });
    }

    @Test
    void nothingIsHeldUnasked_andWaysThatNeedEventsAreRefused() {
        try (Sidecar sidecar = sidecar(", automaticHolds: true");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.ready();
            for (int i = 0; i < 5; i++) {
                complete(RULES + " Question " + i);
            }
            settled(client);
            assertThat(client.engine().getJsonArray("holds", new JsonArray())).isEmpty();
            assertThat(client.http.get("/readyz").text()).contains("nothing is held automatically");
        }
    }

    @Test
    void boundOfKeptTokens_isTheCache() {
        try (Sidecar sidecar = sidecar(", kvcachedCachedTokens: 1024");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.ready();
            JsonObject capacity = Eventually.see(
                    "the cache is bounded",
                    () -> client.engine().getJsonObject("readings").getJsonObject("capacityTokens"),
                    each -> each.getDouble("value", 0.0) == 1_024);
            assertThat(capacity.getString("source")).isEqualTo("KVCACHED_MAX_CACHED_TOKENS");
            Http.Answer tooLong = client.http.post(
                    SidecarClient.HOLDS,
                    new JsonObject()
                            .put("tokens", EngineClient.array(EngineClient.prompt(1, 1_040)))
                            .put("leaseSeconds", 600)
                            .encode());
            assertThat(tooLong.text()).contains("A prefix of 65 blocks can never fit engine demo, whose cache has 64");
        }
    }
}
