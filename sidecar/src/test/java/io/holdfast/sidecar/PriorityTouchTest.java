package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds on a stock engine that evicts by priority, and has no way to take a priority back. */
final class PriorityTouchTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final String CANNOT =
            "cannot be released, 512 tokens: the engine has no call that takes them back, so they count until it evicts"
                    + " them, clears its cache or restarts";
    private static final String KEYS = "backend: priority_touch, clientPriorityMax: 0";

    @TempDir
    Path state;

    private int nextText;

    private static EmulatorSettings byPriority() {
        return TestBed.fast().withSglang(engine -> engine.withEviction(Eviction.PRIORITY));
    }

    @Test
    void hold_keepsThePrefix_andItsEndSaysThatItCannotLetGo() {
        try (TestBed bed = TestBed.with(byPriority(), state, KEYS)) {
            bed.engine.generate(PREFIX);
            flood(bed.engine, 1000);
            assertThat(bed.engine.generate(PREFIX)).as("not held").isZero();
            bed.heard();
            String id = bed.client.held(PREFIX);
            assertThat(bed.client.holdById(id).getString("reason"))
                    .isEqualTo("requested; the whole prefix is in the cache. The engine has its 512 tokens at"
                            + " priority 2, above what clients send.");
            flood(bed.engine, 2000);
            assertThat(bed.engine.generate(PREFIX)).as("after the flood").isGreaterThanOrEqualTo(496);

            Http.Answer answer = bed.client.http.delete(SidecarClient.HOLDS + "/" + id);
            assertThat(answer.status()).isEqualTo(503);
            assertThat(answer.error())
                    .isEqualTo("Hold " + id + " is not released (" + CANNOT + "); the ledger keeps it until it is.");
            assertThat(bed.client.holdById(id).getString("state")).isEqualTo("expiring");
            flood(bed.engine, 3000);
            assertThat(bed.engine.generate(PREFIX)).as("what it says is so").isGreaterThanOrEqualTo(496);
            Eventually.see(
                    "the metric",
                    () -> bed.client.metric("holdfast_unreleasable_tokens{engine=\"demo\"}"),
                    tokens -> tokens == 512);

            JsonObject all = bed.client.http.delete(SidecarClient.HOLDS).json();
            assertThat(all.getInteger("pending")).isEqualTo(1);
            assertThat(all.getString("unreleasable"))
                    .isEqualTo("512 tokens cannot be released: the engine has no call that takes them back, so they"
                            + " count until it evicts them, clears its cache or restarts.");
            assertThat(bed.client.http.get("/readyz").text()).contains("512 tokens cannot be released");
        }
    }

    @Test
    void nextStart_countsWhatIsProtectedStill_andAnEmptyCacheEndsIt() {
        try (TestBed bed = TestBed.with(byPriority(), state, KEYS)) {
            bed.engine.generate(PREFIX);
            bed.client.held(PREFIX);
            bed.sidecar.close();
            try (Sidecar next = Sidecar.start(
                            bed.vertx, TestBed.config(state, bed.emulator.uri(), "backend: session_hold"));
                    SidecarClient client = new SidecarClient(next.uri())) {
                client.ready();
                assertThat(client.metric("holdfast_unreleasable_tokens{engine=\"demo\"}"))
                        .as("also under another backend")
                        .isEqualTo(512);
                Eventually.see(
                        "it counts in the budget",
                        () -> client.engine().getJsonObject("budget").getInteger("pinnedTokens"),
                        tokens -> tokens == 512);
                assertThat(bed.engine.flush()).isEqualTo(200);
                Eventually.see(
                        "nothing is protected any more",
                        () -> client.metric("holdfast_unreleasable_tokens{engine=\"demo\"}"),
                        tokens -> tokens == 0);
            }
        }
    }

    @Test
    void systemPromptBeforeTexts_isHeldWithoutBeingAskedFor() {
        try (TestBed bed = TestBed.with(byPriority(), state, KEYS + ", automaticHolds: true")) {
            texts(bed, 3);
            shortPrompts(bed.engine, 1000);
            assertThat(texts(bed, 1)).as("lost to the flood").isZero();
            Eventually.see(
                    "an automatic hold",
                    bed.client::holds,
                    seen -> seen.stream().anyMatch(hold -> "held".equals(hold.getString("state"))));
            shortPrompts(bed.engine, 2000);
            assertThat(texts(bed, 1)).as("kept through the next flood").isEqualTo(512);
        }
    }

    @Test
    void moreThanTheShare_waits_withTheArithmetic() {
        try (TestBed bed = TestBed.with(byPriority(), state, KEYS + ", share: 0.25")) {
            bed.engine.generate(PREFIX);
            bed.client.held(PREFIX);
            int[] other = EngineClient.prompt(2, 640);
            bed.engine.generate(other);
            bed.heard();
            Http.Answer answer = bed.client.hold(other, 3600);
            assertThat(answer.status()).isEqualTo(201);
            assertThat(answer.json().getString("state")).isEqualTo("requested");
            assertThat(answer.json().getString("reason"))
                    .isEqualTo("no room: 512 tokens are pinned, it needs 640 more, and the bound is 1024: share 0.25 of"
                            + " the capacity 4096 = 1024; what was held before cannot be released, so it counts until"
                            + " the engine has evicted it");
        }
    }

    @Test
    void auto_choosesItWhereTheKeyIsGiven_andNamesTheKeyWhereNot() {
        try (TestBed bed = TestBed.with(byPriority(), state, "backend: auto, clientPriorityMax: 5")) {
            assertThat(bed.client.engine().getJsonObject("backend").getString("why"))
                    .startsWith("Chosen: priority_touch. The engine evicts by priority, and what is held is sent at 7,"
                            + " two above what clients send; it cannot be released again, only evicted. Not"
                            + " session_hold: ");
        }
        try (TestBed bed = TestBed.with(byPriority(), state.resolve("other"), "backend: auto")) {
            assertThat(bed.client.engine().getJsonObject("backend").getString("why"))
                    .startsWith("Chosen: keep_warm.")
                    .contains("Not priority_touch: The engine evicts by priority, and which priorities clients send is"
                            + " not known: write clientPriorityMax, the highest priority that clients send, 0"
                            + " where they send none.");
        }
    }

    /** One after another: what runs together could fill the cache by itself, and such a hold is soft. */
    private static void flood(EngineClient engine, int from) {
        for (int i = 0; i < 24; i++) {
            engine.generate(EngineClient.prompt(from + i, 512));
        }
    }

    /** Eight of them find room beside what is held, as automatic holds demand. */
    private static void shortPrompts(EngineClient engine, int from) {
        for (int i = 0; i < 60; i++) {
            engine.generate(EngineClient.prompt(from + i, 160));
        }
    }

    /** Sends as many texts after the system prompt, and tells the cached tokens of the last. */
    private int texts(TestBed bed, int count) {
        int cached = 0;
        for (int i = 0; i < count; i++) {
            int[] text = EngineClient.prompt(100 + nextText++, 50);
            int[] request = Arrays.copyOf(PREFIX, PREFIX.length + text.length);
            System.arraycopy(text, 0, request, PREFIX.length, text.length);
            cached = bed.engine.generate(request);
        }
        return cached;
    }
}
