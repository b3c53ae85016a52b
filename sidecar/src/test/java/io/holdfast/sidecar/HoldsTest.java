package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.events.SglangBlockNames;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds from request to release, through real HTTP, real events and the emulator's own pins. */
class HoldsTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    @TempDir
    Path state;

    private TestBed bed;

    @BeforeEach
    void start() {
        bed = TestBed.pinning(state);
    }

    @AfterEach
    void stop() {
        bed.close();
    }

    @Test
    void storedPrefix_isHeldAndSurvivesAFlood() {
        store(PREFIX);

        Http.Answer answer = bed.client.hold(PREFIX, 60);

        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        JsonObject hold = answer.json();
        assertThat(hold.getString("engine")).isEqualTo("demo");
        assertThat(hold.getString("origin")).isEqualTo("requested");
        assertThat(hold.getString("state")).isEqualTo("held");
        assertThat(hold.getInteger("wantedBlocks")).isEqualTo(32);
        assertThat(hold.getInteger("heldBlocks")).isEqualTo(32);
        assertThat(hold.getInteger("heldTokens")).isEqualTo(512);
        assertThat(hold.getDouble("leaseSeconds")).isBetween(1.0, 60.0);
        assertThat(bed.engine.usedTokens()).isEqualTo(512);

        bed.engine.flood(100, 60, 200);
        assertThat(bed.engine.generate(PREFIX)).isGreaterThanOrEqualTo(512 - TestBed.BLOCK);
        assertThat(bed.client.metric(
                        "holdfast_backend_calls_seconds_count{call=\"unpin\",engine=\"demo\",kind=\"accepted\"}"))
                .as("the pin was never taken back in between")
                .isZero();
    }

    @Test
    void prefixWithoutAHold_isLostToTheSameFlood() {
        store(PREFIX);

        bed.engine.flood(100, 60, 200);

        assertThat(bed.engine.generate(PREFIX)).isZero();
    }

    @Test
    void holdAskedByHashes_isTheSameAsByTokens() {
        store(PREFIX);

        JsonObject hold =
                bed.client.hold(SglangBlockNames.of(PREFIX, TestBed.BLOCK), 60).json();

        assertThat(hold.getString("state")).as(hold.encode()).isEqualTo("held");
        assertThat(bed.engine.usedTokens()).isEqualTo(512);
    }

    @Test
    void prefixThatIsNotThereYet_isHeldWhenItIsStored() {
        Http.Answer answer = bed.client.hold(PREFIX, 60);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        JsonObject asked = answer.json();
        assertThat(asked.getString("state")).isEqualTo("requested");
        assertThat(asked.getInteger("heldBlocks")).isZero();
        assertThat(asked.getString("reason")).contains("cache");

        bed.engine.generate(PREFIX);

        JsonObject held = bed.client.holdIn(asked.getString("id"), "held");
        assertThat(held.getInteger("heldBlocks")).isEqualTo(32);
        assertThat(bed.engine.usedTokens()).isEqualTo(512);
    }

    @Test
    void releasedHold_isUnpinnedBeforeTheAnswer() {
        store(PREFIX);
        String id = bed.client.hold(PREFIX, 60).json().getString("id");

        Http.Answer answer = bed.client.http.delete(SidecarClient.HOLDS + "/" + id);

        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.json().getString("state")).isEqualTo("released");
        assertThat(answer.json().getString("id")).isEqualTo(id);
        assertThat(bed.engine.usedTokens()).isZero();
    }

    @Test
    void holdWhoseLeaseIsOver_isReleasedByItself() {
        store(PREFIX);
        String id = bed.client.hold(PREFIX, 1).json().getString("id");

        bed.client.holdIn(id, "released");

        assertThat(bed.engine.usedTokens()).isZero();
    }

    @Test
    void oneCall_releasesEveryHold() {
        int[] other = EngineClient.prompt(2, 256);
        store(PREFIX);
        store(other);
        bed.client.hold(PREFIX, 60);
        bed.client.hold(other, 60);
        assertThat(bed.engine.usedTokens()).isEqualTo(768);

        Http.Answer answer = bed.client.http.delete(SidecarClient.HOLDS);

        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.json())
                .isEqualTo(new JsonObject().put("released", 2).put("pending", 0).put("paused", true));
        assertThat(bed.engine.usedTokens()).isZero();
        Http.Answer paused = bed.client.hold(PREFIX, 60);
        assertThat(paused.status()).as(paused.text()).isEqualTo(409);
        assertThat(bed.client.http.get("/readyz").text()).contains("only resume ends the pause");

        assertThat(bed.client.http.post("/api/v1/engines/demo/resume", "").json())
                .isEqualTo(new JsonObject().put("resumed", true));
        Http.Answer again = bed.client.hold(PREFIX, 60);
        assertThat(again.json().getString("state")).as(again.text()).isEqualTo("held");
    }

    @Test
    void twoHoldsOnOnePrefix_shareAPinUntilBothAreGone() {
        store(PREFIX);
        String first = bed.client.hold(PREFIX, 60).json().getString("id");
        String second = bed.client.hold(PREFIX, 60).json().getString("id");
        assertThat(second).isNotEqualTo(first);

        bed.client.http.delete(SidecarClient.HOLDS + "/" + first);
        assertThat(bed.engine.usedTokens()).isEqualTo(512);
        bed.client.http.delete(SidecarClient.HOLDS + "/" + second);
        assertThat(bed.engine.usedTokens()).isZero();
    }

    @Test
    void prefixLargerThanTheEngineCanSpare_isRefusedWithTheArithmetic() {
        Http.Answer answer = bed.client.hold(EngineClient.prompt(3, 4080), 60);

        assertThat(answer.status()).as(answer.text()).isEqualTo(409);
        assertThat(answer.error()).contains("4080 tokens never fit").contains("4096");
    }

    @Test
    void engineAsPeopleSeeIt_hasEveryPart() {
        store(PREFIX);
        bed.client.hold(PREFIX, 60);

        JsonObject engine = Eventually.see(
                "the plan keeps the hold",
                bed.client::engine,
                seen -> seen.getJsonObject("plan").encode().contains("\"keep\""));

        assertThat(engine.getString("id")).isEqualTo("demo");
        assertThat(engine.getString("url")).isEqualTo(bed.emulator.uri().toString());
        assertThat(engine.getLong("incarnation")).isPositive();
        assertThat(engine.getString("certainty")).isNotBlank();
        assertThat(engine.getInteger("blocks")).isGreaterThanOrEqualTo(32);
        assertThat(engine.getJsonObject("events").getLong("storedBlocks")).isGreaterThanOrEqualTo(32);
        assertThat(engine.getJsonObject("events").getBoolean("connected")).isTrue();
        assertThat(engine.getJsonObject("backend").getString("name")).isEqualTo("pin_blocks");
        assertThat(engine.getJsonObject("backend").getBoolean("canPin")).isTrue();
        assertThat(engine.getJsonObject("readings")
                        .getJsonObject("capacityTokens")
                        .getInteger("value"))
                .isEqualTo(TestBed.CAPACITY);
        assertThat(engine.getJsonObject("readings")
                        .getJsonObject("capacityTokens")
                        .getString("source"))
                .isNotBlank();
        assertThat(engine.getJsonObject("budget").getLong("pinnedTokens")).isEqualTo(512);
        assertThat(engine.getJsonObject("budget").getJsonArray("terms")).isNotEmpty();
        assertThat(engine.getJsonArray("holds")).hasSize(1);
        assertThat(engine.getJsonObject("ttft").getString("state")).isEqualTo("unproven");
        assertThat(bed.client.http.get("/api/v1/engines").json().getJsonArray("engines"))
                .hasSize(1);
    }

    @Test
    void metrics_countWhatHappened() {
        store(PREFIX);
        bed.client.hold(PREFIX, 60);

        assertThat(bed.client.metric("holdfast_pinned_tokens{engine=\"demo\"}")).isEqualTo(512);
        assertThat(bed.client.metric("holdfast_holds{engine=\"demo\",origin=\"requested\",state=\"held\"}"))
                .isEqualTo(1);
        assertThat(bed.client.metric("holdfast_events_batches_total{engine=\"demo\"}"))
                .isPositive();
        assertThat(bed.client.metric("holdfast_events_refused_frames_total{engine=\"demo\"}"))
                .isZero();
        assertThat(bed.client.metric(
                        "holdfast_backend_calls_seconds_count{call=\"pin\",engine=\"demo\",kind=\"accepted\"}"))
                .isEqualTo(1);
        assertThat(bed.client.metric(
                        "holdfast_backend_calls_seconds_count{call=\"unpin\",engine=\"demo\",kind=\"missing\"}"))
                .isZero();
        assertThat(bed.client.metric("holdfast_capacity_tokens{engine=\"demo\"}"))
                .isEqualTo(TestBed.CAPACITY);
        assertThat(bed.client.metric("holdfast_poll_lag_seconds")).isBetween(0.0, 60.0);
    }

    @Test
    void requestsThatStoreNothing_areTheInvisibleShare() {
        store(PREFIX);
        long visible = visible(bed.client.engine());

        // What the share is of begins anew with a batch that comes a second late, so its value is not ours to say here;
        // but from wherever it begins, requests that store nothing carry it towards one.
        Eventually.see(
                "most requests are known to have stored nothing",
                () -> {
                    bed.engine.generate(PREFIX);
                    return bed.client.engine();
                },
                seen -> share(seen) > 0.75);

        double served = bed.engine.metric("sglang:time_to_first_token_seconds_count");
        JsonObject after = Eventually.see(
                "all requests counted", bed.client::engine, seen -> counted(seen) && count(seen) == served);
        assertThat(visible(after)).isEqualTo(visible);
        assertThat(bed.client.metric("holdfast_requests_visible_total{engine=\"demo\"}"))
                .isEqualTo((double) visible);
        assertThat(bed.client.metric("holdfast_requests_invisible_share{engine=\"demo\"}"))
                .isCloseTo(share(after), within(1e-9));
    }

    private static double share(JsonObject engine) {
        return engine.getJsonObject("invisibleShare").getDouble("value", 0.0);
    }

    private static long visible(JsonObject engine) {
        return engine.getJsonObject("events").getLong("visibleRequests");
    }

    private static boolean counted(JsonObject engine) {
        return engine.getJsonObject("readings").getJsonObject("ttftCount").containsKey("value");
    }

    private static double count(JsonObject engine) {
        return engine.getJsonObject("readings").getJsonObject("ttftCount").getDouble("value");
    }

    /** Stores a prefix and waits until the sidecar has heard of it. */
    private void store(int[] prefix) {
        int before = bed.client.engine().getInteger("blocks");
        bed.engine.generate(prefix);
        Eventually.see(
                "the blocks are announced",
                () -> bed.client.engine().getInteger("blocks"),
                blocks -> blocks >= before + prefix.length / TestBed.BLOCK);
    }

    @Test
    void refusedHold_isNamedByItsProblem() {
        Http.Answer answer = bed.client.hold(EngineClient.prompt(3, 4080), 60);
        assertThat(answer.json().getString("instance")).startsWith(SidecarClient.HOLDS + "/");
    }
}
