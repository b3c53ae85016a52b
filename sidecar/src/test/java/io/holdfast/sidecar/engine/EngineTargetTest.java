package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import org.junit.jupiter.api.Test;

class EngineTargetTest {
    /** An SGLang says itself where it publishes. */
    @Test
    void placeOfEvents_isTakenForGrantedOfAVllmAlone() {
        EngineTarget target = EngineTarget.named("http://gpu-1:8000");
        assertThat(target.usualEvents("vllm")).contains("tcp://gpu-1:5557");
        assertThat(target.usualEvents("sglang")).isEmpty();
        assertThat(EngineTarget.named("gpu-1").usualEvents("vllm")).isEmpty();
    }

    @Test
    void addressThatIsNone_isRefusedByTheOptionAndNoLineOfAFile() {
        assertThatThrownBy(() -> EngineTarget.named("nosuch").config(EngineType.SGLANG))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith("--engine is 'nosuch'; write the address of the engine's HTTP server")
                .hasMessageNotContaining("line");
    }
}
