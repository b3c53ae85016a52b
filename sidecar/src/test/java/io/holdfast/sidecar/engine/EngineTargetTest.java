package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

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
}
