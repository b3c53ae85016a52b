package io.holdfast.loadtest.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.HttpSettings;
import java.time.Duration;
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
