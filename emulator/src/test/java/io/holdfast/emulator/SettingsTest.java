package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.vllm.Connector;
import io.holdfast.rules.vllm.Profile;
import io.holdfast.rules.vllm.Rates;
import io.holdfast.rules.vllm.Stage;
import io.holdfast.rules.vllm.VllmSettings;
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

    @Test
    void connector_isForVllmsOwnBlocksAndNeverShowsItsSecret() {
        Connector connector = Connector.of("a secret that nobody is to see");
        assertThat(connector).asString().doesNotContain("secret").contains("maxShare=0.25");
        assertThatThrownBy(() -> connector.withMaxShare(1))
                .hasMessage("The connector's share must be above 0 and at most 0.9, not 1.0.");
        assertThatThrownBy(() -> connector.withMaxTtlSeconds(0))
                .hasMessage("The connector's longest ttl must be at least 1 s, not 0.");
        EmulatorSettings settings = EmulatorSettings.defaults()
                .withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults().withConnector(connector)));
        assertThatThrownBy(() -> settings.withKvcached(KvcachedSettings.of(EngineTag.VLLM, 256, 16)))
                .hasMessage("kvcached replaces the blocks that a connector holds; leave one of them out.");
        VllmSettings profile = Stage.settings(Profile.PREFIX, Rates.LLAMA);
        assertThatThrownBy(() -> profile.withConnector(connector))
                .hasMessage("A connector is for vLLM itself; leave it out for a profile.");
    }
}
