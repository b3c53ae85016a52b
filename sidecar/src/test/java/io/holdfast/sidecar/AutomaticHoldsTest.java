package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The planner holds on its own what the cache lost and needed again. */
class AutomaticHoldsTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    @TempDir
    Path state;

    private int nextText;

    @Test
    void systemPromptBeforeTexts_isHeldWithoutBeingAskedFor() {
        try (TestBed bed =
                TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: true, share: 0.5")) {
            texts(bed, 3);
            bed.engine.flood(100, 60, 160);
            assertThat(bed.engine.usedTokens()).isZero();
            assertThat(texts(bed, 1)).as("lost to the flood").isZero();

            List<JsonObject> holds = Eventually.see(
                    "an automatic hold",
                    bed.client::holds,
                    seen -> seen.stream().anyMatch(hold -> "held".equals(hold.getString("state"))));

            assertThat(holds).singleElement().satisfies(hold -> {
                assertThat(hold.getString("origin")).isEqualTo("automatic");
                assertThat(hold.getInteger("heldTokens")).isEqualTo(512);
                assertThat(hold.getInteger("beyondTokens")).isEqualTo(48);
                assertThat(hold.getString("reason")).startsWith("shared by 4 requests and lost once");
            });
            assertThat(bed.engine.usedTokens()).isEqualTo(512 + 48);
            bed.engine.flood(300, 60, 160);
            assertThat(texts(bed, 1)).as("kept through the next flood").isEqualTo(512);
        }
    }

    @Test
    void everythingLetGo_staysSoUntilSomebodyResumes() {
        try (TestBed bed =
                TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: true, share: 0.5")) {
            texts(bed, 3);
            bed.engine.flood(100, 60, 160);
            texts(bed, 1);
            Eventually.see("an automatic hold", bed.engine::usedTokens, used -> used == 560);

            assertThat(bed.client.http.delete(SidecarClient.HOLDS).json().getInteger("released"))
                    .isEqualTo(1);
            somePlansLater(bed);
            assertThat(bed.engine.usedTokens()).isZero();

            int[] other = EngineClient.prompt(2, 64);
            bed.engine.generate(other);
            assertThat(bed.client.hold(other, 60).status()).isEqualTo(409);
            assertThat(bed.client.http.post("/api/v1/engines/demo/resume", "").status())
                    .isEqualTo(200);
            bed.client.held(other);
            bed.engine.flood(300, 60, 160);
            texts(bed, 1);
            Eventually.see("the planner holds again, too", bed.engine::usedTokens, used -> used == 560 + 64);
        }
    }

    @Test
    void withoutLeave_nothingIsHeld() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: false")) {
            texts(bed, 3);
            bed.engine.flood(100, 60, 160);
            texts(bed, 1);
            somePlansLater(bed);

            assertThat(bed.client.holds()).isEmpty();
            assertThat(bed.engine.usedTokens()).isZero();
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

    private static void somePlansLater(TestBed bed) {
        long tick = bed.client.engine().getJsonObject("plan").getLong("tick");
        Eventually.see(
                "some plans later",
                () -> bed.client.engine().getJsonObject("plan").getLong("tick"),
                now -> now > tick + 5);
    }
}
