package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.sidecar.SidecarConfig.Listen;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is remembered of an engine's counters, at moments that the test says. */
class EngineWatchTest {
    private static final Instant NOON = Instant.parse("2026-11-25T12:00:00Z");

    @TempDir
    Path state;

    @Test
    void hits_areWhatCountersGrewByBetweenSamples() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            EngineWatch watch = new EngineWatch(api.engine);
            counted(api, 1_000, 100);
            look(watch, 0);
            assertThat(hits(watch).cachedShare()).isEqualTo(Reading.unknown("it is watched too short a time to say"));
            counted(api, 2_000, 500);
            look(watch, 9);
            assertThat(watch.samples()).as("no sample so soon").hasSize(1);
            counted(api, 3_000, 1_100);
            look(watch, 10);

            assertThat(hits(watch).span()).isEqualTo(Duration.ofSeconds(10));
            assertThat(hits(watch).promptTokens().number()).hasValue(2_000);
            assertThat(hits(watch).cachedTokens().number()).hasValue(1_000);
            assertThat(hits(watch).cachedShare().number()).hasValue(0.5);

            counted(api, 3_000, 1_100);
            for (int i = 2; i < 100; i++) {
                look(watch, 10L * i);
            }
            assertThat(watch.samples()).hasSize(60);
            assertThat(hits(watch).cachedShare()).isEqualTo(Reading.unknown("no prompt came in that time"));
        }
    }

    @Test
    void counterThatFell_beginsAnew() throws IOException {
        try (ServedApi api = new ServedApi(state, Listen.defaults(), HttpLimits.defaults())) {
            EngineWatch watch = new EngineWatch(api.engine);
            counted(api, 5_000, 100);
            look(watch, 0);
            counted(api, 6_000, 200);
            look(watch, 10);
            counted(api, 10, 0);
            look(watch, 20);

            assertThat(watch.samples()).hasSize(1);
            assertThat(hits(watch).promptTokens().number()).isEmpty();
        }
    }

    private static EngineOverview.Hits hits(EngineWatch watch) {
        return EngineOverview.of(watch, 0, 0).hits();
    }

    private static void look(EngineWatch watch, long seconds) {
        watch.look(TimeUnit.SECONDS.toNanos(seconds), NOON.plusSeconds(seconds));
    }

    private static void counted(ServedApi api, double prompts, double cached) {
        EngineReadings readings = EngineReadings.unknown("the test has none")
                .but()
                .promptTokens(Reading.known(prompts, "the test", 0))
                .cachedTokens(Reading.known(cached, "the test", 0))
                .build();
        api.engine.controller().readings(readings);
        Eventually.see(
                "the readings are in the view",
                () -> api.engine.view().readings().promptTokens().number().orElse(-1),
                seen -> seen == prompts);
    }
}
