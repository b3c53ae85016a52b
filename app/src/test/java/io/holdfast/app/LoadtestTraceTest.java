package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** One request at a server that is really there; what it took is asserted nowhere. */
class LoadtestTraceTest {
    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void close() {
        vertx.close().await();
    }

    private static CommandRun trace(Emulator emulator, String... more) {
        List<String> line = new ArrayList<>(
                List.of("loadtest", "trace", "--engine", emulator.uri().toString()));
        line.addAll(List.of("--cold-client", "--prompt-tokens", "64", "--output-tokens", "40"));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    private static List<String> stages(JsonNode document, String source) {
        List<String> stages = new ArrayList<>();
        document.path("stages").forEach(stage -> {
            if (stage.path("source").asText().equals(source)) {
                stages.add(stage.path("stage").asText());
            }
        });
        return stages;
    }

    @Test
    void vllm_tellsItsOwnStages() throws IOException {
        try (Emulator emulator = Emulator.start(
                vertx, EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults())))) {
            CommandRun told = trace(emulator, "--json", "--steps", "1,3");
            assertThat(told.err()).isEmpty();
            JsonNode document = new ObjectMapper().readTree(told.out());
            assertThat(document.path("status").asText()).isEqualTo("OK");
            assertThat(document.path("completionTokens").asInt()).isEqualTo(40);
            assertThat(stages(document, "client"))
                    .containsExactly("connect", "sent", "first byte", "first token", "decode", "end of the stream");
            assertThat(stages(document, "server metrics"))
                    .containsExactlyInAnyOrder("queue", "prefill", "decode", "whole");
            assertThat(document.path("tokenTimes").findValuesAsText("token")).containsExactly("1", "32", "39");
            assertThat(document.path("tokenTimes").path(0).path("contextTokens").asInt())
                    .isEqualTo(65);
            assertThat(document.path("decodeSteps").findValuesAsText("batch")).containsExactly("1", "3");
            assertThat(document.path("slopeMillisPerToken").path("source").asText())
                    .isEqualTo("client");
            assertThat(document.path("clientTroubles").isArray()).isTrue();
        }
    }

    @Test
    void sglang_hasTheSameTreeAndSaysWhatItDoesNotTell() {
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults())) {
            CommandRun told = trace(emulator);
            assertThat(told.out())
                    .contains("request ", "├─ connect ", "├─ first byte ", "│  └─ prefill ", "not measured")
                    .contains(
                            "┌─ time between tokens ─", "│ token   32", "The parts add up to the whole within 0.1 ms.");
            assertThat(told.code()).as(told.out()).isEqualTo(ExitCode.OK);
        }
    }

    @Test
    void badOptions_areOneSentence() {
        assertThat(CommandRun.by("loadtest", "trace", "--engine", "nosuch").badInput())
                .contains("write an address");
        assertThat(CommandRun.by("loadtest", "trace", "--engine", "http://127.0.0.1:1", "--steps", "0")
                        .badInput())
                .contains("--steps is 0; write 1 to 512.");
        assertThat(CommandRun.by("loadtest", "trace", "--engine", "http://127.0.0.1:1")
                        .badInput())
                .contains("is not ready");
    }
}
