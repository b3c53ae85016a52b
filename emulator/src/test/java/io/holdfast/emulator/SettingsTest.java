package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.engine.Speed;
import io.holdfast.emulator.fault.Fault;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsTest {
    @Test
    void fault_parse_readsEachForm() {
        assertThat(Fault.parse("cold-first-wave")).isEqualTo(new Fault.ColdFirstWave(64, Duration.ofMillis(150)));
        assertThat(Fault.parse("cold-first-wave=3,20")).isEqualTo(new Fault.ColdFirstWave(3, Duration.ofMillis(20)));
        assertThat(Fault.parse(" Warming=7 ")).isEqualTo(new Fault.Warming(7));
        assertThat(Fault.parse("pin-ignored")).isEqualTo(new Fault.PinIgnored());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "cold",
                "warming",
                "warming=",
                "warming=x",
                "warming=1,2",
                "cold-first-wave=1",
                "pin-ignored=1",
                "warming=99999999999"
            })
    void fault_parseNonsense_listsWhatThereIs(String text) {
        assertThatThrownBy(() -> Fault.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(
                        "There is no fault \"" + text + "\"; use cold-first-wave, cold-first-wave=REQUESTS,EXTRA_MS,"
                                + " warming=REQUESTS or pin-ignored.");
    }

    @Test
    void fault_parseZeroRequests_isRefused() {
        assertThatThrownBy(() -> Fault.parse("warming=0")).hasMessage("warming wants at least 1 request, not 0.");
    }

    @Test
    void settings_withOneChange_keepTheRest() {
        EmulatorSettings defaults = EmulatorSettings.defaults();
        assertThat(defaults.withCapacityTokens(8192).withCapacityTokens(4096)).isEqualTo(defaults);
        assertThat(defaults.withSeed(9)
                        .withFaults(List.of(new Fault.PinIgnored()))
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
