package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A fault of ours lets go of what is pinned, and says so. */
class FaultTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;

    private final Vertx vertx = Vertx.vertx();
    /** Of the engine {@code demo}. */
    private final EventFault fault = new EventFault();

    @TempDir
    Path state;

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void controllerThatThrows_isLetGoOf_andTheOtherGoesOn(boolean error) throws IOException {
        try (Emulator one = pinning();
                Emulator two = pinning();
                EngineClient engine = new EngineClient(one.uri());
                EngineClient other = new EngineClient(two.uri());
                Sidecar sidecar = sidecar(one.uri(), two.uri(), Duration.ofSeconds(60));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            String id = heldByBoth(client, engine, other);
            fault.is(() -> {
                if (error) {
                    throw new StackOverflowError("too deep");
                }
                throw new IllegalStateException("no such slot");
            });
            engine.generate(EngineClient.prompt(9, 64));

            Eventually.see("pins of the faulted engine", engine::usedTokens, used -> used == 0);
            JsonObject hold = client.holdIn(id, "released");
            assertThat(hold.getString("reason")).contains("after a fault of the sidecar");
            assertThat(hold.getInteger("heldTokens")).isZero();
            Http.Answer live = client.http.get("/livez");
            assertThat(live.status()).isEqualTo(503);
            assertThat(live.text()).contains(error ? "too deep" : "no such slot");
            Http.Answer all = client.http.delete(SidecarClient.HOLDS);
            assertThat(all.status()).as(all.text()).isEqualTo(200);
            assertThat(client.hold(PREFIX, 60).status()).isEqualTo(503);

            assertThat(other.usedTokens()).as("the other engine's pin").isEqualTo(512);
            other.generate(EngineClient.prompt(7, 64));
            Eventually.see(
                    "the other engine is followed on",
                    () -> client.http.get("/api/v1/engines/other").json(),
                    seen -> seen.getInteger("blocks") >= 36 && seen.getBoolean("certain"));
            assertThat(client.http.delete("/api/v1/engines/other/holds").status())
                    .isEqualTo(200);
            assertThat(other.usedTokens()).isZero();
        }
    }

    @Test
    void threadThatHangs_isDoneWithoutUntilItComesRound() {
        try (Emulator one = pinning();
                Emulator two = pinning();
                EngineClient engine = new EngineClient(one.uri());
                EngineClient other = new EngineClient(two.uri());
                Sidecar sidecar = sidecar(one.uri(), two.uri(), Duration.ofMillis(800));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            heldByBoth(client, engine, other);
            fault.isAHang();
            engine.generate(EngineClient.prompt(9, 64));
            fault.awaitHang();
            try {
                Http.Answer all = client.http.delete(SidecarClient.HOLDS);

                assertThat(all.status()).as(all.text()).isEqualTo(200);
                assertThat(all.json().getInteger("released")).isEqualTo(1);
                assertThat(engine.usedTokens()).isZero();
                Eventually.see("pins of the other engine", other::usedTokens, used -> used == 0);
                assertThat(client.http.get("/livez").text()).contains("the event thread hangs");
                assertThat(client.holds()).noneMatch(hold -> "held".equals(hold.getString("state")));
            } finally {
                fault.wake();
            }

            Eventually.see("it lives again", () -> client.http.get("/livez").status(), status -> status == 200);
            Eventually.see(
                    "the ledger's pause is kept",
                    () -> client.hold(PREFIX, 60),
                    answer -> answer.status() == 409 && answer.text().contains("paused"));
            Eventually.see(
                    "the other engine's hold is back",
                    () -> {
                        // Nobody saw what it stored before, as after a restart of the sidecar.
                        other.flush();
                        other.generate(PREFIX);
                        return other.usedTokens();
                    },
                    used -> used == 512);
            assertThat(client.http.get("/readyz").text()).contains("the event thread was held up once");
            assertThat(client.http.get("/metrics").text()).contains("holdfast_poll_hangs_total 1.0");
            assertThat(client.http.post("/api/v1/engines/demo/resume", "").status())
                    .isEqualTo(200);
            engine.flush();
            engine.generate(PREFIX);
            client.held(PREFIX);
            assertThat(engine.usedTokens()).isEqualTo(512);
        }
    }

    @Test
    void dryRunOfAPerson_outlivesAThreadThatHung() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", seams(Duration.ofMillis(800)));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            assertThat(client.http
                            .send("PUT", "/api/v1/engines/demo/dry-run", "{\"dryRun\":true}")
                            .status())
                    .isEqualTo(200);
            fault.isAHang();
            bed.engine.generate(PREFIX);
            fault.awaitHang();
            Eventually.see("the hang", () -> client.http.get("/livez").status(), status -> status == 503);
            fault.wake();

            Eventually.see("it lives again", () -> client.http.get("/livez").status(), status -> status == 200);
            Eventually.see(
                    "the dry run",
                    () -> client.http.get("/api/v1/engines/demo").json(),
                    seen -> seen.getBoolean("dryRun", false));
        }
    }

    @Test
    void releasingAllAfterAFault_pausesTheNextStart() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            try (Sidecar sidecar = bed.sidecar("", seams(Duration.ofSeconds(60)));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.meet(bed.engine);
                fault.is(() -> {
                    throw new IllegalStateException("no such slot");
                });
                bed.engine.generate(PREFIX);
                Eventually.see("the fault", () -> client.http.get("/livez").status(), status -> status == 503);

                Http.Answer all = client.http.delete(SidecarClient.HOLDS);
                assertThat(all.status()).as(all.text()).isEqualTo(200);
                assertThat(all.json().getBoolean("paused")).isTrue();
            }
            fault.isNone();
            try (Sidecar next = bed.sidecar("");
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(client.hold(PREFIX, 60).status()).isEqualTo(409);
            }
        }
    }

    @Test
    void engineThatIsAway_isAskedUntilItLetsGo() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("", seams(Duration.ofSeconds(60)));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            bed.gate.shut();
            fault.is(() -> {
                throw new IllegalStateException("no such slot");
            });
            bed.engine.generate(EngineClient.prompt(9, 64));
            Eventually.see("the fault", () -> client.http.get("/livez").status(), status -> status == 503);

            Http.Answer refused = client.http.delete(SidecarClient.HOLDS);
            assertThat(refused.status()).as(refused.text()).isEqualTo(503);
            assertThat(refused.json().getInteger("pending")).isEqualTo(1);
            assertThat(client.holdById(id).getString("state")).isEqualTo("expiring");
            assertThat(bed.engine.usedTokens()).isEqualTo(512);
            bed.gate.open();

            bed.usedBecomes(0);
            client.holdIn(id, "released");
        }
    }

    private Emulator pinning() {
        return Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
    }

    private Sidecar sidecar(URI one, URI two, Duration hangLimit) {
        String yaml = TestBed.yaml(state, one, "")
                + TestBed.yaml(state, two, "").lines().skip(3).toList().stream()
                        .reduce("", (all, line) -> all + line + "\n")
                        .replace("demo: {", "other: {");
        return Sidecar.start(
                vertx,
                SidecarConfig.parse(yaml, "test.yaml"),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                seams(hangLimit));
    }

    private Seams seams(Duration hangLimit) {
        return Seams.none()
                .withHangLimit(hangLimit)
                .withSinks((engine, sink) -> engine.equals("demo") ? fault.in(sink) : sink);
    }

    /** Has both engines keep the prefix, and answers the id of the hold on {@code demo}. */
    private static String heldByBoth(SidecarClient client, EngineClient engine, EngineClient other) {
        client.meet(engine);
        other.generate(EngineClient.prompt(3, 64));
        other.flush();
        Eventually.see(
                "the other engine is known",
                () -> client.http.get("/api/v1/engines/other").json(),
                seen -> seen.getBoolean("certain"));
        engine.generate(PREFIX);
        other.generate(PREFIX);
        String id = client.held(PREFIX);
        Eventually.see(
                "the other engine's prefix is held",
                () -> {
                    client.http.post(
                            "/api/v1/engines/other/holds",
                            new JsonObject()
                                    .put("tokens", EngineClient.array(PREFIX))
                                    .put("leaseSeconds", 3600)
                                    .encode());
                    return other.usedTokens();
                },
                used -> used == 512);
        assertThat(engine.usedTokens()).isEqualTo(512);
        assertThat(List.of(engine.usedTokens(), other.usedTokens())).containsOnly(512L);
        return id;
    }
}
