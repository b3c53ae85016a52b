package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.events.VllmHashing;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.events.VllmHashing.Form;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Holds by tokens on vLLM: its names of blocks are found out from what it announces. */
class VllmNamingTest {
    private static final String RULES = "Answer in one sentence, and always name the page you found it on. ".repeat(12);

    @TempDir
    Path state;

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Emulator engine(Algorithm algorithm, String seed) {
        VllmSettings defaults = VllmSettings.defaults();
        return Emulator.start(
                vertx,
                EmulatorSettings.defaults()
                        .withKind(new EmulatorSettings.Kind.Vllm(
                                defaults.withHashing(new VllmHashing(algorithm, seed, Form.TAGGED), false)))
                        .withPrefillMicrosPerToken(0)
                        .withFirstTokenMicros(0)
                        .withDecodeMillis(1));
    }

    private Sidecar sidecar(Emulator engine, String keys) {
        return sidecar(engine, "dry_run", keys);
    }

    private Sidecar sidecar(Emulator engine, String backend, String keys) {
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(
                        """
                        listen: {port: 0}
                        stateDirectory: '%s'
                        engines:
                          demo: {type: vllm, url: '%s', events: '%s', backend: %s, maxOutputTokens: 16,
                             largestPromptTokens: 256, readingsMillis: 50, tickMillis: 10%s}
                        """.formatted(state, engine.uri(), engine.eventsEndpoint(), backend, keys), "test.yaml"));
    }

    private static void followed(SidecarClient client) {
        Eventually.see("the engine is followed", () -> client.http.get("/readyz"), ready -> ready.status() == 200);
    }

    private static Http.Answer hold(SidecarClient client, JsonObject prefix) {
        return client.http.post(
                SidecarClient.HOLDS, prefix.copy().put("leaseSeconds", 60).encode());
    }

    @ParameterizedTest
    @CsvSource({"SHA256, vllm-none-hash", "SHA256_CBOR, 0", "XXHASH, 42", "XXHASH_CBOR, vllm-none-hash"})
    void hold_byText_findsTheEnginesOwnBlocks(Algorithm algorithm, String seed) {
        try (Emulator emulator = engine(algorithm, seed);
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = sidecar(emulator, "");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            followed(client);
            engine.complete(RULES + "\n\nWhat is a cache?");
            Eventually.see("blocks are heard of", client::engine, seen -> seen.getInteger("blocks") > 0);

            Http.Answer byText = hold(client, new JsonObject().put("text", RULES));
            Http.Answer byMessages = hold(
                    client,
                    new JsonObject()
                            .put(
                                    "messages",
                                    JsonArray.of(new JsonObject()
                                            .put("role", "system")
                                            .put("content", RULES))));

            assertThat(byText.status()).as(byText.text()).isEqualTo(201);
            assertThat(byText.json().getString("reason")).contains("the whole prefix is in the cache");
            assertThat(byMessages.status()).as(byMessages.text()).isEqualTo(201);
        }
    }

    @Test
    void hold_byTokensBeforeAnyEvent_waits_andIsMetWithTheFirstBlock() {
        try (Emulator emulator = engine(Algorithm.SHA256_CBOR, "0");
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar sidecar = sidecar(emulator, "keep_warm", "");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            followed(client);
            String id = requested(client, EngineClient.prompt(1, 64));
            String given = requested(client, EngineClient.prompt(2, 64));
            waitsForItsName(client, id);
            assertThat(client.http.get(SidecarClient.HOLDS).text()).contains("\"id\":\"" + id + "\"");
            assertThat(client.http
                            .delete(SidecarClient.HOLDS + "/" + given)
                            .json()
                            .getString("state"))
                    .isEqualTo("released");
            assertThat(client.http.get(SidecarClient.HOLDS + "/" + given).status())
                    .isEqualTo(404);

            engine.complete(RULES);

            client.holdIn(id, "held");
        }
    }

    @Test
    void holdsThatWaitForTheirNames_areOneForTheSameRequester_andApartForOthers() {
        try (Emulator emulator = engine(Algorithm.SHA256_CBOR, "0");
                Sidecar sidecar = sidecar(emulator, "keep_warm", "");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            followed(client);
            int[] prefix = EngineClient.prompt(1, 64);
            String router = requestedBy(client, prefix, "router");
            assertThat(requestedBy(client, prefix, "router")).isEqualTo(router);
            String batch = requestedBy(client, prefix, "batch");
            String nobody = requested(client, prefix);
            assertThat(List.of(router, batch, nobody, requested(client, prefix)))
                    .doesNotHaveDuplicates();
        }
    }

    private static String requestedBy(SidecarClient client, int[] tokens, String requester) {
        return client.http
                .post(
                        SidecarClient.HOLDS,
                        new JsonObject()
                                .put("tokens", EngineClient.array(tokens))
                                .put("leaseSeconds", 600)
                                .put("requester", requester)
                                .encode())
                .json()
                .getString("id");
    }

    @Test
    void hold_thatWaitsForItsName_waitsOnAfterARestart() {
        try (Emulator emulator = engine(Algorithm.SHA256_CBOR, "0");
                EngineClient engine = new EngineClient(emulator.uri())) {
            String id;
            try (Sidecar first = sidecar(emulator, "keep_warm", "");
                    SidecarClient client = new SidecarClient(first.uri())) {
                followed(client);
                id = requested(client, EngineClient.prompt(1, 64));
                waitsForItsName(client, id);
            }
            try (Sidecar next = sidecar(emulator, "keep_warm", "");
                    SidecarClient client = new SidecarClient(next.uri())) {
                followed(client);
                waitsForItsName(client, id);
                engine.complete(RULES);
                client.holdIn(id, "held");
            }
        }
    }

    private static String requested(SidecarClient client, int[] tokens) {
        Http.Answer answer = client.hold(tokens, 600);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        assertThat(answer.json().getString("state")).isEqualTo("requested");
        return answer.json().getString("id");
    }

    private static void waitsForItsName(SidecarClient client, String id) {
        Eventually.see(
                "the reason is that nothing was announced",
                () -> client.http.get(SidecarClient.HOLDS + "/" + id).json(),
                hold -> hold.getString("state").equals("requested")
                        && hold.getString("reason")
                                .startsWith("The rule by which this vLLM engine names its blocks is not known"
                                        + " before"));
    }

    @Test
    void configuredNames_areKnownAtOnce_andRefutedByEvents() {
        try (Emulator emulator = engine(Algorithm.SHA256_CBOR, "7");
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar right = sidecar(emulator, ", hashAlgorithm: sha256_cbor, hashSeed: '7'");
                SidecarClient client = new SidecarClient(right.uri())) {
            followed(client);
            Eventually.see(
                    "the names are known",
                    () -> client.hold(EngineClient.prompt(1, 64), 60).status(),
                    status -> status == 201);
            engine.complete(RULES);
            Eventually.see("blocks are heard of", client::engine, seen -> seen.getInteger("blocks") > 0);
            assertThat(client.hold(EngineClient.prompt(2, 64), 60).status()).isEqualTo(201);
        }
        try (Emulator emulator = engine(Algorithm.SHA256_CBOR, "7");
                EngineClient engine = new EngineClient(emulator.uri());
                Sidecar wrong = sidecar(emulator, ", hashAlgorithm: sha256_cbor, hashSeed: '8'");
                SidecarClient client = new SidecarClient(wrong.uri())) {
            followed(client);
            engine.complete(RULES);
            Eventually.see("blocks are heard of", client::engine, seen -> seen.getInteger("blocks") > 0);
            assertThat(client.hold(EngineClient.prompt(1, 64), 60).error())
                    .startsWith("No known rule gives the names of this vLLM engine's blocks (tried with 1 blocks)");
        }
    }
}
