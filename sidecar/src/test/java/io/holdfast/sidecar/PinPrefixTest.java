package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds by pins that end by themselves after a time, which nothing takes back before. */
final class PinPrefixTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final String KEYS = "backend: pin_prefix";

    @TempDir
    Path state;

    private final Vertx vertx = Vertx.vertx();
    private final Emulator emulator = Emulator.start(vertx, TestBed.fast());
    private final EngineClient engine = new EngineClient(emulator.uri());
    private final PinPrefixRelay relay = new PinPrefixRelay(emulator.uri());

    @AfterEach
    void close() {
        relay.close();
        engine.close();
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void hold_isPinnedForAMinute_andItsEndSaysThatItCannotLetGoBefore() {
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, relay.uri(), KEYS));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            assertThat(client.engine().getJsonObject("backend").getString("why"))
                    .startsWith("The engine pins prefixes in host memory for 60 s at a time, which are renewed;");
            engine.generate(PREFIX);
            String id = client.held(PREFIX);
            assertThat(client.holdById(id).getString("reason"))
                    .isEqualTo("asked for; the whole prefix is in the cache. The engine pinned its 512 tokens in host"
                            + " memory for 60 s, renewed while it is held; where it evicts them from the GPU, the next"
                            + " use loads them from there.");
            assertThat(relay.pins()).singleElement().satisfies(pin -> {
                assertThat(pin.getInteger("ttl_seconds")).isEqualTo(60);
                assertThat(pin.getJsonArray("token_ids")).isEqualTo(EngineClient.array(PREFIX));
            });
            assertThat(client.metric("holdfast_own_requests_total{engine=\"demo\",result=\"answered\"}"))
                    .as("a call is no request")
                    .isZero();

            Http.Answer answer = client.release(id);
            assertThat(answer.status()).isEqualTo(503);
            assertThat(answer.error())
                    .isEqualTo("Hold " + id
                            + " is not released (cannot be released before its time runs out, 60 s after its last"
                            + " renewal or use: the engine has no call that takes a pin back, so its 512 tokens count"
                            + " until then); it ends by itself.");
            JsonObject seen = Eventually.see(
                    "it counts",
                    client::engine,
                    now -> now.getJsonObject("pins").getInteger("unreleasableBlocks") == 32);
            assertThat(seen.getJsonObject("pins").getInteger("runningOut")).isEqualTo(1);
            assertThat(seen.getJsonObject("budget").getInteger("pinnedTokens")).isEqualTo(512);
            assertThat(client.http.get("/readyz").text())
                    .contains("512 tokens cannot be released before their time has run out, so they count until then");
        }
        assertThat(StateDirectory.at(state).ledger("demo").pins())
                .as("what ends by itself needs no ledger")
                .isEmpty();
    }

    @Test
    void moreThanTheEnginesBudget_isClipped_andWaits() {
        relay.hasRoomFor(256);
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, relay.uri(), KEYS));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            Http.Answer answer = client.hold(PREFIX, 3600);
            assertThat(answer.status()).isEqualTo(201);
            JsonObject waits = Eventually.see(
                    "clipped",
                    () -> client.holdById(answer.json().getString("id")),
                    hold -> hold.getString("reason").startsWith("pinned otherwise"));
            assertThat(waits.getString("state")).isEqualTo("requested");
            assertThat(waits.getString("reason"))
                    .isEqualTo("pinned otherwise than asked, and tried again when that has run out: The engine pinned a"
                            + " part of the prefix only: Pinned 1 nodes (ttl=60s); prefix partially pinned; Pin budget"
                            + " exhausted (256/256 tokens pinned). A larger SGLANG_HICACHE_MAX_PINNED_RATIO of the"
                            + " engine leaves more to pins.");
        }
    }

    @Test
    void budgetThatIsExhausted_holdsNothing_andTheHoldWaits() {
        relay.hasRoomFor(0);
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, relay.uri(), KEYS));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            Http.Answer answer = client.hold(PREFIX, 3600);
            assertThat(answer.status()).isEqualTo(201);
            JsonObject waits = Eventually.see(
                    "refused for now",
                    () -> client.holdById(answer.json().getString("id")),
                    hold -> hold.getString("reason").startsWith("refused for now"));
            assertThat(waits.getString("state")).isEqualTo("requested");
            assertThat(waits.getString("reason"))
                    .isEqualTo("refused for now, and tried again: The engine pinned nothing of the prefix: Pin budget"
                            + " exhausted (0/0 tokens pinned). A larger SGLANG_HICACHE_MAX_PINNED_RATIO of the engine"
                            + " leaves more to pins.");
            JsonObject seen = client.engine();
            assertThat(seen.getJsonObject("pins").getInteger("runningOut")).isZero();
            assertThat(seen.getJsonObject("budget").getInteger("pinnedTokens")).isZero();
        }
    }

    @Test
    void engineWithoutTheRoute_isFollowed_andSaysWhatIsMissing() {
        try (Sidecar sidecar = Sidecar.start(vertx, TestBed.config(state, emulator.uri(), KEYS));
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            engine.generate(PREFIX);
            String missing = "This engine has no pin_prefix route, as only SGLang 0.5.10rc0 does; newer ones keep"
                    + " prefixes by sessions (--enable-session-radix-cache) or by priorities (--radix-eviction-policy"
                    + " priority) instead.";
            assertThat(client.http.get("/readyz").text()).contains("follows, cannot hold: " + missing);
            assertThat(client.hold(PREFIX, 3600).text()).contains("This engine cannot pin: " + missing);
        }
    }
}
