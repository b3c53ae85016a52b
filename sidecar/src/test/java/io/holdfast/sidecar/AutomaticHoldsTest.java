package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The planner holds on its own what the cache lost and needed again. */
class AutomaticHoldsTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    @TempDir
    Path state;

    @Test
    void prefixThatWasLostAndCameBack_isHeldWithoutBeingAskedFor() {
        try (TestBed bed =
                TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: true, share: 0.5")) {
            bed.engine.generate(PREFIX);
            bed.engine.flood(100, 60, 160);
            assertThat(bed.engine.usedTokens()).isZero();
            assertThat(bed.engine.generate(PREFIX)).as("lost to the flood").isZero();

            List<JsonObject> holds = Eventually.see(
                    "an automatic hold",
                    bed.client::holds,
                    seen -> seen.stream().anyMatch(hold -> "held".equals(hold.getString("state"))));

            assertThat(holds).allMatch(hold -> "automatic".equals(hold.getString("origin")));
            assertThat(bed.engine.usedTokens()).isEqualTo(512);
            bed.engine.flood(300, 60, 160);
            assertThat(bed.engine.generate(PREFIX))
                    .as("kept through the next flood")
                    .isGreaterThanOrEqualTo(496);
        }
    }

    @Test
    void everythingLetGo_staysSoUntilSomebodyResumes() {
        try (TestBed bed =
                TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: true, share: 0.5")) {
            bed.engine.generate(PREFIX);
            bed.engine.flood(100, 60, 160);
            bed.engine.generate(PREFIX);
            Eventually.see("an automatic hold", bed.engine::usedTokens, used -> used == 512);

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
            bed.engine.generate(PREFIX);
            Eventually.see("the planner holds again, too", bed.engine::usedTokens, used -> used == 512 + 64);
        }
    }

    @Test
    void withoutLeave_nothingIsHeld() {
        try (TestBed bed = TestBed.with(TestBed.fast().withVariant(Variant.PIN_GPU), state, "automaticHolds: false")) {
            bed.engine.generate(PREFIX);
            bed.engine.flood(100, 60, 160);
            bed.engine.generate(PREFIX);
            somePlansLater(bed);

            assertThat(bed.client.holds()).isEmpty();
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    private static void somePlansLater(TestBed bed) {
        long tick = bed.client.engine().getJsonObject("plan").getLong("tick");
        Eventually.see(
                "some plans later",
                () -> bed.client.engine().getJsonObject("plan").getLong("tick"),
                now -> now > tick + 5);
    }
}
