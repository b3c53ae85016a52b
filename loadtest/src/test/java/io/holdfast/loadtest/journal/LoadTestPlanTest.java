package io.holdfast.loadtest.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.Salt;
import java.lang.reflect.RecordComponent;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class LoadTestPlanTest {
    @Test
    void defaults_areFiveRoundsWithBurnIn() {
        LoadTestPlan settings = LoadTestPlan.defaults();
        assertThat(settings.rounds()).isEqualTo(5);
        assertThat(settings.burnIn()).isTrue();
        assertThat(settings.slotTolerance()).isEqualTo(Duration.ofMillis(50));
        assertThat(settings.statistic()).isEqualTo(Statistic.PROBE_P50);
    }

    @Test
    void builder_keepsWhatIsNotChanged() {
        LoadTestPlan settings =
                LoadTestPlan.defaults().toBuilder().seed(7).rehearsal(true).build();
        assertThat(settings.toBuilder().build()).isEqualTo(settings);
    }

    /** A value that a builder forgot would be another one in the legs after a void pair or a resume. */
    @Test
    void builder_keepsEachValueThatIsNoDefault() throws ReflectiveOperationException {
        LoadTestPlan plan = LoadTestPlan.defaults().toBuilder()
                .design(Design.BLOCKS)
                .looks(List.of(2, 6))
                .seed(7)
                .concurrency(3)
                .burnIn(false)
                .rehearsal(true)
                .statistic(Statistic.PROBE_P95)
                .alsoJudged(List.of(Statistic.WHOLE_MEAN))
                .criteria(new Criteria(0.07, 0.01, 5))
                .holdSlot(Duration.ofMillis(151))
                .slotAdapts(true)
                .slotTolerance(Duration.ofMillis(51))
                .repeatPairs(4)
                .pauseAfterFlush(Duration.ofMillis(9))
                .mostTime(Duration.ofHours(8))
                .salt(new Salt(-7))
                .freshLegs(true)
                .profiler(Optional.of("nsys"))
                .target(new LoadTestPlan.Target(
                        URI.create("http://127.0.0.1:1"),
                        List.of(),
                        FloodShape.of(64, 8, 5, 40, 3),
                        "closed",
                        ArmPlan.none(),
                        Optional.empty(),
                        Optional.empty()))
                .build();

        for (RecordComponent value : LoadTestPlan.class.getRecordComponents()) {
            assertThat(value.getAccessor().invoke(plan))
                    .as(value.getName())
                    .isNotEqualTo(value.getAccessor().invoke(LoadTestPlan.defaults()));
        }
        assertThat(plan.toBuilder().build()).isEqualTo(plan);
    }

    /** A text of a broken-off pair may be cached, so the next legs begin with another one. */
    @Test
    void planOfARunThatGoesOn_countsItsResumesAndRepeatsInItsSalt() {
        LoadTestPlan salted =
                LoadTestPlan.defaults().toBuilder().salt(new Salt(7)).build();
        List<VoidedPair> voided = List.of(
                new VoidedPair(1, "a call was late", 2, true),
                new VoidedPair(1, "a call was late", 2, true),
                new VoidedPair(2, "stopped", 1));
        Journal.Contents run =
                new Journal.Contents(Legs.header().with(salted), List.of(), List.of(), voided, 1, true, List.of());

        assertThat(LoadTestPlan.of(run).salt()).contains(new Salt(7, 4));
    }

    @Test
    void arms_tellWhatTheyAsk() {
        assertThat(Arrays.stream(ArmPlan.Means.values())
                        .map(ArmPlan.ByEngine::new)
                        .filter(ArmPlan::goesByTokens))
                .containsExactly(
                        new ArmPlan.ByEngine(ArmPlan.Means.PIN_ROUTE),
                        new ArmPlan.ByEngine(ArmPlan.Means.EVERYTHING),
                        new ArmPlan.ByEngine(ArmPlan.Means.VLLM_CONNECTOR),
                        new ArmPlan.ByEngine(ArmPlan.Means.STREAMING_SESSION));
        URI sidecar = URI.create("http://127.0.0.1:8471");
        assertThat(new ArmPlan.Beside(sidecar, "main", false))
                .returns(true, ArmPlan::goesByTokens)
                .returns(false, ArmPlan::learns);
        assertThat(new ArmPlan.Beside(sidecar, "main", true))
                .returns(false, ArmPlan::goesByTokens)
                .returns(true, ArmPlan::learns);
    }

    @Test
    void badValues_areRefusedInOneSentence() {
        LoadTestPlan settings = LoadTestPlan.defaults();
        assertThatThrownBy(() -> settings.toBuilder().rounds(0).build())
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The rounds must be between 1 and 1000, not 0.");
        assertThatThrownBy(() -> settings.toBuilder().concurrency(0).build()).hasMessageContaining("concurrency");
        assertThatThrownBy(() -> settings.toBuilder().holdSlot(Duration.ZERO).build())
                .hasMessageContaining("hold slot");
        assertThatThrownBy(() -> HttpSettings.defaults().withFlushPath("flush"))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The flush path is flush; it starts with a slash, as /flush_cache.");
    }
}
