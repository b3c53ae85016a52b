package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Servers as they were measured, and settings that no server can have. */
final class PhaseSettingsTest {
    @ParameterizedTest
    @CsvSource({
        "meta-llama/Llama-3.2-3B-Instruct, llama",
        "Qwen/Qwen3-4B, qwen3",
        "google/gemma-3-1b-it, gemma3",
        "mlx-community/gemma-3-12b-it-4bit, gemma3-12b",
        "gemma3, gemma3"
    })
    void modelsName_isFoundInLongerOnes(String given, String name) {
        assertThat(Rates.of(given).text()).isEqualTo(name);
    }

    @Test
    void unknownModel_isOneSentence() {
        assertThatThrownBy(() -> Rates.of("mistral"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("There are no rates for the model \"mistral\"; use llama, qwen3, gemma3 or gemma3-12b.");
    }

    @ParameterizedTest
    @CsvSource({
        "STATIC, llama, 8, 2048",
        "CONTINUOUS, qwen3, 8, 2048",
        "PAGED, llama, 24, 2048",
        "CHUNKED, qwen3, 16, 1024",
        "PREFIX, gemma3, 24, 2048",
        "RESTORE, gemma3-12b, 2, 4096"
    })
    void server_isTheMeasuredOne(Profile profile, String model, int running, int blocks) {
        VllmSettings settings = Stage.settings(profile, Rates.of(model));
        assertThat(settings.maxRunning()).isEqualTo(running);
        assertThat(settings.blocks() - 1).isEqualTo(blocks);
    }

    @Test
    void impossibleServer_isOneSentence() {
        VllmSettings slots = Stage.settings(Profile.STATIC, Rates.LLAMA);
        assertThatThrownBy(() -> slots.withBatch(9, 32_768))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("The static profile reserves 4096 tokens for each of 9 requests, and has 32768.");
        VllmSettings graphs = Stage.settings(Profile.GRAPH, Rates.QWEN3);
        assertThatThrownBy(() -> graphs.withSizes(257, 16, 4096))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Capturing graphs takes 2048 of 4096 tokens, which leaves too few for a context of 4096"
                        + " tokens.");
    }

    @Test
    void profiles_areWrittenInLowerCase() {
        assertThat(Arrays.stream(Profile.values()).map(Profile::text))
                .containsExactly("static", "continuous", "paged", "chunked", "prefix", "graph", "restore");
    }
}
