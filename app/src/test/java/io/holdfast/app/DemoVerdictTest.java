package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * The demo's verdict follows what the engine does, not what the demo expects: make the engine ignore pins, or slow at
 * first, and another verdict comes out of the same code.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DemoVerdictTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String BLOCKS = "4";
    /** Exactly what comes before the second leg of a life: the readiness check and one leg. */
    private static final String WAVE = "cold-first-wave=" + (1 + SmallDemo.REQUESTS_OF_A_LEG) + ",150";

    private final ExecutorService players = Executors.newCachedThreadPool();

    // Begun together: the tests then wait for engines that wait themselves.
    private final CompletableFuture<Told> working = later();
    private final CompletableFuture<Told> warmingAlone = later("--fault", "pin-ignored");
    private final CompletableFuture<Told> nothing = later("--fault", "pin-ignored", "--no-warming");
    private final CompletableFuture<Told> waveBurntIn =
            later("--fault", WAVE, "--fault", "pin-ignored", "--no-warming");
    private final CompletableFuture<Told> waveMeasured =
            later("--fault", WAVE, "--fault", "pin-ignored", "--no-warming", "--no-burn-in", "--judge", "WHOLE_MEAN");

    private CompletableFuture<Told> later(String... options) {
        return CompletableFuture.supplyAsync(play(options), players);
    }

    private static Supplier<Told> play(String... options) {
        return () -> {
            String[] all = new String[options.length + 3];
            System.arraycopy(options, 0, all, 3, options.length);
            all[0] = "--json";
            all[1] = "--blocks";
            all[2] = BLOCKS;
            return SmallDemo.pressure(all);
        };
    }

    @AfterAll
    void stop() {
        players.close();
    }

    @Test
    void workingPinsOnAWarmingEngine_areReal() {
        JsonNode verdict = verdict(working, ExitCode.OK);

        assertFinding(verdict, "REAL");
        assertThat(verdict.path("withOrderBias").asBoolean()).isTrue();
        JsonNode ci95 = verdict.path("ci95");
        assertThat(ci95.size()).isEqualTo(2);
        assertThat(verdict.path("effectPercent").asDouble())
                .isBetween(ci95.get(0).asDouble(), ci95.get(1).asDouble())
                .isLessThan(-5);
    }

    @Test
    void ignoredPinsOnAWarmingEngine_areAnOrderArtefact() {
        JsonNode verdict = verdict(warmingAlone, ExitCode.CHECK_FAILED);

        assertFinding(verdict, "ORDER_ARTEFACT");
        assertThat(verdict.path("naivePercent").asDouble())
                .as("what baseline first, then pinned would claim")
                .isLessThan(-10);
        assertThat(verdict.path("effectPercent").asDouble()).isBetween(-5.0, 5.0);
    }

    @Test
    void ignoredPinsOnAnEvenEngine_haveNoEffect() {
        assertFinding(verdict(nothing, ExitCode.CHECK_FAILED), "NO_EFFECT");
    }

    @Test
    void coldFirstWave_isTakenByTheBurnInLeg() {
        assertFinding(verdict(waveBurntIn, ExitCode.CHECK_FAILED), "NO_EFFECT");
    }

    @Test
    void coldFirstWaveThatIsMeasured_isAnOrderArtefact() {
        assertFinding(verdict(waveMeasured, ExitCode.CHECK_FAILED), "ORDER_ARTEFACT");
    }

    private static void assertFinding(JsonNode verdict, String finding) {
        assertThat(verdict.path("name").asText())
                .as(verdict.path("reason").asText())
                .isEqualTo(finding);
    }

    /** The verdict of a demo; its exit code says whether it is the one that the demo is there to show. */
    private static JsonNode verdict(CompletableFuture<Told> played, int code) {
        Told told = played.join();
        assertThat(told.code()).as(told.toString()).isEqualTo(code);
        try {
            JsonNode document = JSON.readTree(told.out());
            assertThat(document.path("asExpected").isBoolean()).isTrue();
            assertThat(document.path("asExpected").asBoolean()).isEqualTo(code == ExitCode.OK);
            return document.path("verdict");
        } catch (JsonProcessingException e) {
            throw new AssertionError(told.out(), e);
        }
    }
}
