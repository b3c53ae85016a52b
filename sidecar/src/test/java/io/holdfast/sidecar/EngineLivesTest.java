package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sglang.StreamingSessionBackend;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines that are not there, go away, come back, clear their cache, or cannot pin. */
class EngineLivesTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    Path state;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void engineThatRestarts_losesItsHoldsAndBeginsAnotherIncarnation() {
        EmulatorSettings settings = TestBed.fast().withVariant(Variant.PIN_GPU);
        Emulator first = Emulator.start(vertx, settings);
        settings = settings.withHttpPort(first.uri().getPort())
                .withEventsPort(URI.create(first.eventsEndpoint()).getPort());
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, first.uri(), ""));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            String id;
            try (EngineClient engine = new EngineClient(first.uri())) {
                client.meet(engine);
                // Numbers high enough that those of the next life fall behind them.
                for (int i = 10; i < 20; i++) {
                    engine.generate(EngineClient.prompt(i, 64));
                }
                engine.generate(PREFIX);
                id = client.held(PREFIX);
            }
            long life = client.engine().getLong("incarnation");

            first.close();
            Eventually.see(
                    "the events are gone",
                    client::engine,
                    seen -> !seen.getJsonObject("events").getBoolean("connected"));
            try (Emulator second = Emulator.start(vertx, settings);
                    EngineClient engine = new EngineClient(second.uri())) {
                Eventually.see(
                        "the events are connected",
                        client::engine,
                        seen -> seen.getJsonObject("events").getBoolean("connected"));
                int[] number = {50};
                Eventually.see(
                        "a store of the second life reveals the restart",
                        () -> {
                            engine.generate(EngineClient.prompt(number[0]++, 64));
                            return client.holdById(id);
                        },
                        hold -> "lost".equals(hold.getString("state")));
                assertThat(client.holdById(id).getString("reason")).contains("emptied its cache");
                assertThat(client.engine().getLong("incarnation")).isGreaterThan(life);
                assertThat(engine.usedTokens()).isZero();

                assertThat(engine.flush()).isEqualTo(200);
                Eventually.see("the view is certain again", client::engine, seen -> seen.getBoolean("certain"));
                client.ready();
                engine.generate(PREFIX);
                client.held(PREFIX);
                assertThat(engine.usedTokens()).isEqualTo(512);
            }
        }
    }

    @Test
    void engineThatClearsItsCache_losesItsHolds() {
        try (TestBed bed = TestBed.pinning(state)) {
            bed.engine.generate(PREFIX);
            String id = bed.client.held(PREFIX);
            long life = bed.client.engine().getLong("incarnation");

            assertThat(bed.engine.flush()).isEqualTo(200);

            JsonObject lost = bed.client.holdIn(id, "lost");
            assertThat(lost.getString("reason")).isNotBlank();
            JsonObject engine = bed.client.engine();
            assertThat(engine.getLong("incarnation")).isGreaterThan(life);
            assertThat(engine.getBoolean("certain")).isTrue();
            assertThat(engine.getInteger("blocks")).isZero();
        }
    }

    @Test
    void stockEngine_refusesHoldsWithTheReasonOfItsBackend() {
        try (TestBed bed = TestBed.with(TestBed.fast(), state, "")) {
            bed.engine.generate(PREFIX);

            Http.Answer answer = bed.client.hold(PREFIX, 600);

            JsonObject backend = bed.client.engine().getJsonObject("backend");
            assertThat(backend.getBoolean("canPin")).isFalse();
            assertThat(answer.status()).as(answer.text()).isEqualTo(409);
            assertThat(answer.error()).contains(backend.getString("why"));
        }
    }

    /** The shared prompt ends an insertion in one rank and lies in the middle of one in the other. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void engineWithTwoRanks_isFollowedAndHeldOnBoth(boolean configured) {
        EmulatorSettings settings =
                TestBed.fast().withVariant(Variant.PIN_GPU).withFaults(List.of(new ServerFault.DpRanks(2)));
        try (Emulator emulator = Emulator.start(vertx, settings);
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        TestBed.config(
                                state,
                                emulator.uri(),
                                configured ? "events: '" + emulator.eventsEndpoint() + "'" : ""));
                EngineClient engine = new EngineClient(emulator.uri());
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            // Requests go round.
            assertThat(engine.generate(longer(PREFIX, 1, 448))).isZero();
            assertThat(engine.generate(PREFIX)).as("another cache").isZero();
            engine.generate(longer(PREFIX, 1, 448));
            assertThat(engine.generate(longer(PREFIX, 2, 448))).isEqualTo(PREFIX.length);
            JsonObject seen =
                    Eventually.see("every block of both", client::engine, view -> view.getInteger("blocks") == 120);
            assertThat(seen.getInteger("caches")).isEqualTo(2);
            JsonArray ranks = seen.getJsonObject("events").getJsonArray("ranks");
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.getJsonObject(rank).getLong("received")).isPositive();
            }

            String id = client.held(PREFIX);
            Eventually.see(
                    "held on both",
                    () -> client.holdById(id),
                    now -> now.getString("reason").equals("held on 2 of 2 data-parallel ranks (0, 1)"));
            engine.flood(400, 24, 512);
            assertThat(List.of(engine.generate(longer(PREFIX, 3, 32)), engine.generate(longer(PREFIX, 4, 32))))
                    .as("both ranks")
                    .allMatch(cached -> cached == PREFIX.length);
            client.ready();

            assertThat(client.http.delete("/api/v1/engines/demo/holds/" + id).status())
                    .isEqualTo(200);
            client.holdIn(id, "released");
            engine.flood(500, 4, 32);
            assertThat(engine.sum("sglang:num_used_tokens")).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({"sglang, /server_info", "vllm, /v1/models"})
    void engineThatAsksForAKey_isSaidWithTheMend(String type, String route) {
        EmulatorSettings settings = type.equals("sglang")
                ? TestBed.fast()
                : EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()));
        try (Emulator emulator = Emulator.start(vertx, settings.withFaults(List.of(new ServerFault.ApiKey("sk-1"))));
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        SidecarConfig.parse(
                                """
                                listen: {port: 0}
                                stateDirectory: '%s'
                                engines: {demo: {type: %s, url: '%s', events: '%s', readingsMillis: 50}}
                                """.formatted(state, type, emulator.uri(), emulator.eventsEndpoint()), "test.yaml"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            String mend = "The engine needs a key, and a valid one was not sent (HTTP 401 at " + route
                    + "): engines.ID.apiKeyEnv names the environment variable that has it.";

            Http.Answer ready = Eventually.see(
                    "the key is asked for",
                    () -> client.http.get("/readyz"),
                    answer -> answer.text().contains(mend));
            assertThat(ready.status()).isEqualTo(503);
            Eventually.see(
                    "in the summary as well",
                    () -> client.http.get("/api/v1/overview").json().encode(),
                    text -> text.contains("engines.ID.apiKeyEnv"));
        }
    }

    @Test
    void engineWithTwoRanksAndNoPins_isFollowed_andSaidWhyInOneSentence() {
        List<String> requests = EngineType.SGLANG.backends().stream()
                .filter(name -> !Set.of(
                                AutoBackend.NAME,
                                PinBlocksBackend.NAME,
                                StreamingSessionBackend.NAME,
                                DryRunBackend.NAME)
                        .contains(name))
                .toList();
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withFaults(List.of(new ServerFault.DpRanks(2))));
                Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, emulator.uri(), "backend: auto"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Http.Answer ready = Eventually.see(
                    "it is followed",
                    () -> client.http.get("/readyz"),
                    answer -> answer.status() == 200 && answer.text().contains("cannot hold"));

            assertThat(ready.json().getJsonArray("notes"))
                    .contains("engine demo: follows, cannot hold: This engine has 2 caches (data-parallel ranks), and a"
                            + " request reaches one of them only: run one engine for each rank, each with a sidecar's"
                            + " engine of its own.");
            assertThat(client.engine().getJsonObject("backend").getString("why"))
                    .contains("No way to hold works on this engine. Not " + String.join(", ", requests) + ":");
        }
    }

    @Test
    void rankThatIsNotHeard_keepsTheSidecarUnready() {
        EmulatorSettings settings =
                TestBed.fast().withVariant(Variant.PIN_GPU).withFaults(List.of(new ServerFault.DpRanks(2)));
        try (Emulator emulator = Emulator.start(vertx, settings);
                EventFeed first = new EventFeed();
                Sidecar sidecar = Sidecar.start(
                        vertx, TestBed.config(state, emulator.uri(), "events: '" + first.endpoint() + "'"));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            Eventually.see(
                    "the first rank is heard",
                    () -> {
                        first.cleared();
                        return client.engine().getJsonObject("events").getJsonArray("ranks", new JsonArray());
                    },
                    ranks -> ranks.size() == 2 && ranks.getJsonObject(0).getLong("received") > 0);
            Http.Answer ready = client.http.get("/readyz");
            assertThat(ready.status()).as(ready.text()).isEqualTo(503);
            assertThat(ready.text()).contains("its events do not answer at");
            assertThat(client.engine().getString("certainty")).contains("of data-parallel rank 1");
        }
    }

    private static int[] longer(int[] prefix, int number, int more) {
        int[] longer = Arrays.copyOf(prefix, prefix.length + more);
        System.arraycopy(EngineClient.prompt(200 + number, more), 0, longer, prefix.length, more);
        return longer;
    }

    @Test
    void engineThatComesBackWithOtherEvents_isHeardThere() {
        EmulatorSettings settings = TestBed.fast().withVariant(Variant.PIN_GPU);
        Emulator first = Emulator.start(vertx, settings);
        settings = settings.withHttpPort(first.uri().getPort());
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, first.uri(), ""));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            try (EngineClient engine = new EngineClient(first.uri())) {
                client.meet(engine);
                engine.generate(PREFIX);
                client.held(PREFIX);
            }
            String before = client.engine().getJsonObject("events").getString("endpoint");
            first.close();
            Eventually.see(
                    "the engine is gone",
                    client::engine,
                    seen -> seen.getJsonObject("readings").encode().contains("Nothing listens"));

            try (Emulator second = Emulator.start(vertx, settings);
                    EngineClient engine = new EngineClient(second.uri())) {
                assertThat(URI.create(second.eventsEndpoint())).isNotEqualTo(URI.create(before));
                Eventually.see(
                        "the new endpoint is listened to",
                        client::engine,
                        seen -> URI.create(second.eventsEndpoint()).getPort()
                                        == URI.create(seen.getJsonObject("events")
                                                        .getString("endpoint", before))
                                                .getPort()
                                && seen.getJsonObject("events").getBoolean("connected"));
                client.meet(engine);
                engine.generate(PREFIX);
                client.held(PREFIX);
                assertThat(engine.usedTokens()).isEqualTo(512);
            }
        }
    }

    @Test
    void dryRun_decidesEverythingAndSendsNothing() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "backend: dry_run")) {
            bed.engine.generate(PREFIX);

            String id = bed.client.hold(PREFIX, 600).json().getString("id");

            assertThat(bed.client.holdIn(id, "held").getString("reason")).contains("dry run");
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    @Test
    void engineThatComesLate_isFollowedFromThenOn() {
        Emulator probe = Emulator.start(vertx, TestBed.fast());
        EmulatorSettings settings = TestBed.fast()
                .withVariant(Variant.PIN_GPU)
                .withHttpPort(probe.uri().getPort())
                .withEventsPort(URI.create(probe.eventsEndpoint()).getPort());
        URI address = probe.uri();
        probe.close();
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, address, ""));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            assertThat(client.http.get("/livez").status()).isEqualTo(200);
            JsonObject waiting = Eventually.see(
                    "readyz says what is missing",
                    () -> client.http.get("/readyz").json(),
                    seen -> seen.getJsonArray("reasons").encode().contains("Nothing listens"));
            assertThat(waiting.getBoolean("ready")).isFalse();
            assertThat(waiting.getJsonArray("reasons").getString(0)).startsWith("engine demo: ");
            Http.Answer early = client.hold(PREFIX, 60);
            assertThat(early.status()).as(early.text()).isEqualTo(201);
            assertThat(early.json().getString("state")).isEqualTo("requested");
            assertThat(early.json().getString("reason")).contains("block size is not known yet");

            try (Emulator late = Emulator.start(vertx, settings);
                    EngineClient engine = new EngineClient(late.uri())) {
                client.meet(engine);
                engine.generate(PREFIX);
                client.holdIn(early.json().getString("id"), "held");
            }
        }
    }
}
