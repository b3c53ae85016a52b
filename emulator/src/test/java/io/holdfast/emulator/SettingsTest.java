package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import java.util.List;
import org.junit.jupiter.api.Test;

class SettingsTest {
    @Test
    void settings_withOneChange_keepTheRest() {
        EmulatorSettings defaults = EmulatorSettings.defaults();
        assertThat(defaults.withCapacityTokens(8192).withCapacityTokens(4096)).isEqualTo(defaults);
        assertThat(defaults.withSeed(9)
                        .withFaults(List.of(new CacheFault.PinIgnored()))
                        .seed())
                .isEqualTo(9);
        assertThat(defaults.withDecodeMillis(7).withFirstTokenMicros(8).withPrefillMicrosPerToken(9))
                .extracting(EmulatorSettings::speed)
                .isEqualTo(new Speed(9, 8, 7_000, 1));
    }

    @Test
    void settings_thatCannotBe_areRefusedInOneSentence() {
        EmulatorSettings defaults = EmulatorSettings.defaults();
        assertThatThrownBy(() -> defaults.withCapacityTokens(100))
                .hasMessage("capacityTokens must be at least 16 and whole pages of 16 tokens, not 100.");
        assertThatThrownBy(() -> defaults.withHttpPort(70_000))
                .hasMessage("httpPort must be 0 (a free one) to 65535, not 70000.");
        assertThatThrownBy(() -> defaults.withMaxRunning(0)).hasMessage("maxRunning must be at least 1, not 0.");
        assertThatThrownBy(() -> defaults.withDecodeMillis(-1)).hasMessageContaining("must not be negative");
    }
}
