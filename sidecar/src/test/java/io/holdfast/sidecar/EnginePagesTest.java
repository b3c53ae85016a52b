package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.look.Doctor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The page on starting engines names the flags that {@code doctor} asks for, and links that are there. */
class EnginePagesTest {
    private static final Path DOCS = Path.of("..", "docs");

    @ParameterizedTest
    @CsvSource({"beside-sglang-and-vllm.md, SGLANG", "beside-sglang-and-vllm.md, VLLM"})
    void page_hasTheEventFlagThatDoctorNames(String page, EngineType type) throws IOException {
        String text = Files.readString(DOCS.resolve(page));

        assertThat(text).contains(Doctor.eventsFlag(type)).contains("./holdfast doctor --engine http://127.0.0.1:");
        assertThat(text.lines().filter(line -> line.contains("](")))
                .isNotEmpty()
                .allSatisfy(line -> assertThat(DOCS.resolve(line.replaceAll("(?s).*?\\]\\(([^)#]+).*", "$1")))
                        .exists());
    }
}
