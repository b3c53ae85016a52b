package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.events.VllmHashing;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.EngineTarget;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.look.Diagnosis;
import io.holdfast.sidecar.look.Doctor;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds on stock engines without anything to pin by: the prefix is used before it would be evicted. */
class KeepWarmTest {
    private static final int BLOCK = 16;
    private static final int BLOCKS = 256;
    private static final int PREFIX_BLOCKS = 30;
    private static final int[] PREFIX = EngineClient.prompt(1, PREFIX_BLOCKS * BLOCK);

    @TempDir
    Path state;

    /** Answers how many tokens of a prompt the engine found in its cache. */
    @FunctionalInterface
    private interface Asked {
        int cachedOf(int[] prompt);

        default void send(int[] prompt) {
            int _ = cachedOf(prompt);
        }
    }

    @Test
    void stockSglang_keepsThePrefixThroughFloods_untilItIsReleased() {
        try (TestBed bed = TestBed.with(TestBed.fast(), state, "backend: auto")) {
            assertThat(bed.client.engine().getJsonObject("backend").getString("why"))
                    .startsWith("Chosen: keep_warm.")
                    .contains("Not session_hold:", "start it with --enable-session-radix-cache", "Not pin_blocks:");
            keptUntilReleased(bed.client, bed.engine::generate);
        }
    }

    @Test
    void stockVllm_keepsThePrefixThroughFloods_untilItIsReleased() {
        Vertx vertx = Vertx.vertx();
        VllmSettings defaults = VllmSettings.defaults();
        VllmSettings small = defaults.withSizes(BLOCKS + 1, BLOCK, 2_048)
                .withHashing(new VllmHashing(Algorithm.SHA256_CBOR, "0", Form.TAGGED), false);
        try (Emulator emulator = Emulator.start(
                        vertx,
                        EmulatorSettings.defaults()
                                .withKind(new EmulatorSettings.Kind.Vllm(small))
                                .withPrefillMicrosPerToken(0)
                                .withFirstTokenMicros(0)
                                .withDecodeMillis(1));
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        SidecarConfig.parse(
                                """
                                listen: {port: 0}
                                stateDirectory: '%s'
                                engines:
                                  demo: {type: vllm, url: '%s', events: '%s', readingsMillis: 50, tickMillis: 10}
                                """.formatted(state, emulator.uri(), emulator.eventsEndpoint()), "test.yaml"));
                SidecarClient client = new SidecarClient(sidecar.uri());
                Http engine = new Http(emulator.uri())) {
            client.ready();
            keptUntilReleased(client, prompt -> complete(engine, prompt));
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    /** By the emulator alone. What takes events and statistics away from others is never asked for. */
    @Test
    void stockTensorRt_keepsThePrefixThroughFloods_andNothingIsTakenFromOthers() {
        Vertx vertx = Vertx.vertx();
        VllmSettings small = VllmSettings.defaults()
                .withSizes(BLOCKS + 1, BLOCK, 2_048)
                .withRelease(VllmSettings.Release.TENSORRT_LLM);
        try (Emulator emulator = Emulator.start(
                        vertx,
                        EmulatorSettings.defaults()
                                .withKind(new EmulatorSettings.Kind.Vllm(small))
                                .withPrefillMicrosPerToken(0)
                                .withFirstTokenMicros(0)
                                .withDecodeMillis(1));
                EngineRelay relay = new EngineRelay(emulator.uri());
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        SidecarConfig.parse(
                                """
                                listen: {port: 0}
                                stateDirectory: '%s'
                                engines:
                                  demo: {type: tensorrt_llm, url: '%s', events: '%s', readingsMillis: 50, tickMillis: 10}
                                """.formatted(state, relay.uri(), emulator.eventsEndpoint()), "test.yaml"));
                SidecarClient client = new SidecarClient(sidecar.uri());
                Http engine = new Http(emulator.uri())) {
            keptUntilReleased(client, prompt -> complete(engine, prompt));

            assertThat(client.engine().getJsonObject("backend").getString("why"))
                    .startsWith("Chosen: keep_warm.");
            Diagnosis found =
                    Doctor.examine(EngineTarget.of(relay.uri()), Duration.ZERO, false, new SplittableRandom(1));
            assertThat(found.engine()).startsWith("TensorRT-LLM ");
            assertThat(relay.calls())
                    .anyMatch(call -> call.startsWith("GET /prometheus/metrics"))
                    .anyMatch(call -> call.startsWith("POST /v1/completions"))
                    .noneMatch(call -> call.contains("/kv_cache_events") || call.startsWith("GET /metrics"));
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    @Test
    void pause_lastsThroughARestart_whereNothingIsPinnedForGood() {
        try (TestBed bed = TestBed.with(TestBed.fast(), state, "backend: auto")) {
            assertThat(bed.client.http.delete(SidecarClient.HOLDS).json().getBoolean("paused"))
                    .isTrue();
            bed.sidecar.close();
            try (Sidecar again = Sidecar.start(bed.vertx, TestBed.config(state, bed.emulator.uri(), "backend: auto"));
                    SidecarClient client = new SidecarClient(again.uri())) {
                assertThat(client.engine().getBoolean("paused")).isTrue();
            }
        }
    }

    /** The engine takes sessions and keeps nothing for them: that shows by what is lost, and another way is taken. */
    @Test
    void wayThatDoesNotWork_givesWayToTheNext() {
        try (TestBed bed =
                TestBed.with(TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: auto")) {
            bed.client.meet(bed.engine);
            bed.emulator.faults().begin(new CacheFault.HoldLost(100));
            int[] number = {1_000};
            bed.engine.generate(withText(number[0]++));
            String id = bed.client.held(PREFIX);
            assertThat(bed.client.engine().getJsonObject("backend").getString("name"))
                    .isEqualTo("session_hold");
            Eventually.see(
                    "another way is chosen",
                    () -> {
                        for (int i = 0; i < 15; i++) {
                            bed.engine.generate(EngineClient.prompt(number[0]++, 20 * BLOCK + 1));
                        }
                        bed.engine.generate(withText(number[0]++));
                        return bed.client.engine().getJsonObject("backend");
                    },
                    backend -> backend.getString("name").equals("keep_warm"));
            assertThat(bed.client.engine().getJsonObject("backend").getString("why"))
                    .contains("Not session_hold for an hour: it lost 3 pins within 10 minutes.");

            Eventually.see(
                    "it is held again with its next use",
                    () -> {
                        bed.engine.generate(withText(number[0]++));
                        return bed.client.holdById(id);
                    },
                    hold -> "held".equals(hold.getString("state")));
            for (int i = 0; i < 15; i++) {
                bed.engine.generate(EngineClient.prompt(number[0]++, 20 * BLOCK + 1));
                settled(bed.client);
            }
            assertThat(bed.engine.generate(withText(number[0]++))).isEqualTo(PREFIX.length);
        }
    }

    private static void keptUntilReleased(SidecarClient client, Asked engine) {
        int[] number = {1_000};
        Eventually.see(
                "the sidecar hears what the engine stores",
                () -> {
                    engine.send(EngineClient.prompt(number[0]++, 32));
                    return client.engine();
                },
                seen -> seen.getInteger("blocks") > 0);
        engine.send(withText(number[0]++));
        String id = client.held(PREFIX);
        for (int round = 0; round < 6; round++) {
            for (int i = 0; i < 15; i++) {
                engine.send(EngineClient.prompt(number[0]++, 20 * BLOCK + 1));
                settled(client);
            }
            assertThat(engine.cachedOf(withText(number[0]++)))
                    .as("after a flood of more than the cache")
                    .isEqualTo(PREFIX.length);
        }
        JsonObject seen = client.engine();
        assertThat(seen.getJsonObject("ownRequests").getInteger("lateTouches")).isZero();
        assertThat(seen.getJsonObject("invisibleShare").getDouble("value"))
                .as("touches are none of the users' requests")
                .isLessThan(0.1);

        assertThat(client.http.delete(SidecarClient.HOLDS + "/" + id).json().getString("state"))
                .isEqualTo("released");
        for (int i = 0; i < 40; i++) {
            engine.send(EngineClient.prompt(number[0]++, 20 * BLOCK + 1));
        }
        assertThat(engine.cachedOf(withText(number[0]++))).as("let go").isZero();
    }

    /** What the engine stored is heard of, and no touch is under way; so no pace decides. */
    private static void settled(SidecarClient client) {
        int[] before = {-1};
        Eventually.see("nothing is on its way any more", client::engine, seen -> {
            JsonObject own = seen.getJsonObject("ownRequests");
            int stored = seen.getJsonObject("events").getInteger("storedBlocks");
            boolean quiet = stored == before[0]
                    && own.getInteger("sent") == own.getInteger("answered") + own.getInteger("failed");
            before[0] = stored;
            return quiet;
        });
    }

    private static int[] withText(int number) {
        int[] text = EngineClient.prompt(number, 40);
        int[] all = Arrays.copyOf(PREFIX, PREFIX.length + text.length);
        System.arraycopy(text, 0, all, PREFIX.length, text.length);
        return all;
    }

    private static int complete(Http engine, int[] prompt) {
        JsonObject usage = engine.post(
                        "/v1/completions",
                        new JsonObject()
                                .put(
                                        "model",
                                        engine.get("/v1/models")
                                                .json()
                                                .getJsonArray("data")
                                                .getJsonObject(0)
                                                .getString("id"))
                                .put("prompt", EngineClient.array(prompt))
                                .put("max_tokens", 1)
                                .encode())
                .json()
                .getJsonObject("usage");
        JsonObject details = usage.getJsonObject("prompt_tokens_details");
        Integer cached = details == null ? null : details.getInteger("cached_tokens");
        return cached == null ? 0 : cached;
    }
}
