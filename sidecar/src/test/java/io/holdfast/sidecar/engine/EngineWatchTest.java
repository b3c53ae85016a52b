package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.prefix.Sharing;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.config.HttpLimits;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.holdfast.sidecar.http.ServedApi;
import io.holdfast.sidecar.view.EngineOverview;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
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

    /** One of the requests over the shared prefix was told of by a router alone, so it is an invisible one. */
    @Test
    void classesOfRequests_addUpToThoseThatTheEngineCounts() {
        List<EngineWatch.Sample> samples = List.of(
                sample(0, 1_000, new Sharing(10, 1, 2, 3, 40), 20, 25),
                sample(10, 9_000, new Sharing(21, 2, 6, 5, 90), 45, 61));
        EngineReadings readings = EngineReadings.unknown("the test has none");
        EngineOverview.Hits hits =
                EngineOverview.hits(samples, readings, Optional.of(new PrefillCost.Known(0.01, 0.0001, 0, 20)));

        assertThat(hits.foundShared().number()).hasValue(10);
        assertThat(hits.foundInPart().number()).hasValue(4);
        assertThat(hits.foundNothing().number()).hasValue(2);
        assertThat(hits.lostShared().number()).hasValue(6);
        assertThat(hits.others().number()).hasValue(9);
        assertThat(hits.invisible().number()).hasValue(11);
        assertThat(hits.all().number()).hasValue(10 + 4 + 2 + 9 + 11);
        assertThat(hits.savedSeconds().number().orElseThrow()).isCloseTo(0.8, within(1e-9));
    }

    @Test
    void timeSaved_isUnknownBeforeTheCostOfATokenIsMeasured() {
        List<EngineWatch.Sample> samples =
                List.of(sample(0, 0, Sharing.NONE, 0, 0), sample(10, 9_000, Sharing.NONE, 0, 0));
        EngineReadings readings = EngineReadings.unknown("the test has none");

        assertThat(EngineOverview.hits(samples, readings, Optional.of(new PrefillCost.Unknown(3, "too few requests")))
                        .savedSeconds())
                .isEqualTo(Reading.unknown("too few requests"));
    }

    private static EngineWatch.Sample sample(
            long seconds, double cached, Sharing sharing, long visible, double requests) {
        return new EngineWatch.Sample(
                TimeUnit.SECONDS.toNanos(seconds),
                NOON.plusSeconds(seconds),
                OptionalDouble.of(10_000 + cached),
                OptionalDouble.of(cached),
                sharing,
                visible,
                OptionalDouble.of(requests));
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
