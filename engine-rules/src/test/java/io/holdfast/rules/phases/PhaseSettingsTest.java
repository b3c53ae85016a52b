package io.holdfast.rules.phases;

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
        assertThat(Rates.of(given).name()).isEqualTo(name);
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
        PhaseSettings settings = PhaseSettings.of(profile, Rates.of(model));
        assertThat(settings.running()).isEqualTo(running);
        assertThat(settings.blocks()).isEqualTo(blocks);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "9 | 2048 | 16 | The static profile reserves 4096 tokens for each of 9 requests, and has 32768.",
                "0 | 2048 | 16 | running must be at least 1, not 0.",
                "8 | 255 | 16 | blocks times blockTokens must be at least contextTokens, or the longest request could"
                        + " never be served; it is 4080 and 4096.",
                "8 | 2048 | 0 | blockTokens must be at least 1, not 0."
            })
    void impossibleServer_isOneSentence(int running, int blocks, int blockTokens, String sentence) {
        assertThatThrownBy(() ->
                        new PhaseSettings(Profile.STATIC, Rates.llama(), running, blocks, blockTokens, 4096, 512, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(sentence);
    }

    @Test
    void profiles_areWrittenInLowerCase() {
        assertThat(Arrays.stream(Profile.values()).map(Profile::text))
                .containsExactly("static", "continuous", "paged", "chunked", "prefix", "graph", "restore");
    }
}
