package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
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

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void engineWithSeveralCaches_isFollowedInAllAndNeverPinned(boolean configured) {
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
            Eventually.see(
                    "both ranks are heard",
                    client::engine,
                    seen -> seen.getJsonObject("events")
                                    .getJsonArray("ranks", new JsonArray())
                                    .size()
                            == 2);
            client.ready();
            assertThat(client.http.get("/readyz").json().getJsonArray("notes").encode())
                    .contains("follows, cannot hold: This engine has 2 caches");
            int before = client.engine().getInteger("blocks");
            for (int prompt = 100; prompt < 108; prompt++) {
                engine.generate(EngineClient.prompt(prompt, 512));
            }

            JsonObject seen = Eventually.see(
                    "every block of both", client::engine, view -> view.getInteger("blocks") >= before + 8 * 512 / 16);
            assertThat(seen.getInteger("caches")).isEqualTo(2);
            JsonArray ranks = seen.getJsonObject("events").getJsonArray("ranks");
            for (int rank = 0; rank < 2; rank++) {
                assertThat(ranks.getJsonObject(rank).getLong("received")).isPositive();
            }

            Http.Answer answer = client.hold(PREFIX, 600);

            assertThat(answer.text()).contains("2 caches");
            assertThat(engine.usedTokens()).isZero();
            assertThat(client.metric("holdfast_can_pin{engine=\"demo\"}")).isZero();
        }
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
            assertThat(early.status()).as(early.text()).isEqualTo(409);
            assertThat(early.error()).contains("block size is not known yet");

            try (Emulator late = Emulator.start(vertx, settings);
                    EngineClient engine = new EngineClient(late.uri())) {
                client.meet(engine);
                engine.generate(PREFIX);
                client.held(PREFIX);
            }
        }
    }
}
