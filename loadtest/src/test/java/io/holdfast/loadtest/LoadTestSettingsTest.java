package io.holdfast.loadtest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

final class LoadTestSettingsTest {
    @Test
    void defaults_areFiveBlocksWithBurnIn() {
        LoadTestSettings settings = LoadTestSettings.defaults();
        assertThat(settings.blocks()).isEqualTo(5);
        assertThat(settings.burnIn()).isTrue();
        assertThat(settings.slotTolerance()).isEqualTo(Duration.ofMillis(50));
        assertThat(settings.statistic()).isEqualTo(Statistic.PROBE_P50);
        assertThat(settings.dialect()).isEqualTo(Dialect.SGLANG_GENERATE);
    }

    @Test
    void builder_keepsWhatIsNotChanged() {
        LoadTestSettings settings = LoadTestSettings.defaults().toBuilder()
                .dialect(Dialect.OPENAI_COMPLETIONS)
                .model("m")
                .seed(7)
                .rehearsal(true)
                .build();
        assertThat(settings.toBuilder().build()).isEqualTo(settings);
        assertThat(settings.model()).hasValue("m");
    }

    @Test
    void badValues_areRefusedInOneSentence() {
        LoadTestSettings settings = LoadTestSettings.defaults();
        assertThatThrownBy(() -> settings.toBuilder().blocks(0).build())
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The blocks must be between 1 and 1000, not 0.");
        assertThatThrownBy(() -> settings.toBuilder().concurrency(0).build()).hasMessageContaining("concurrency");
        assertThatThrownBy(() -> settings.toBuilder().holdSlot(Duration.ZERO).build())
                .hasMessageContaining("hold slot");
        assertThatThrownBy(() -> settings.toBuilder().flushPath("flush").build())
                .hasMessageContaining("starts with a slash");
    }
}
