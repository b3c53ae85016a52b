package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How long the prompts of a suite are by the server's count, against what the recipe says. */
final class PromptLengthsTest {
    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void close() {
        vertx.close().await();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void engineThatTakesTokenIds_getsPromptsOfExactlyThatLength(boolean sglang) throws IOException {
        try (Emulator emulator = Emulator.start(vertx, sglang ? QuickEngine.PLAIN : vllm())) {
            CommandRun told = leg(emulator, 1_024);
            assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
            assertThat(prompts("out")).containsOnly(sglang ? 1_024 : 1_024 + 4);
            assertThat(ColdLegsTest.results(folder.resolve("out"), "leg_").environment())
                    .as("by how many tokens at a time a long prompt is read")
                    .containsKey(sglang ? "flags.chunked_prefill_size" : "flags.max_num_batched_tokens");
        }
    }

    @Test
    void text_isFittedByTheServersTokenizer() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = leg(emulator, 1_024, "--api", "completions");
            assertThat(told.out()).containsPattern("A word has 1\\.\\d\\d tokens, by the server's /tokenize;");
            assertThat(prompts("out"))
                    .allSatisfy(tokens -> assertThat((double) tokens).isCloseTo(1_024, within(51.0)));
            assertThat(told.out()).doesNotContain("Prompts were to have");
        }
    }

    @Test
    void promptThatIsTooLong_isRefusedBeforeTheLoad() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            assertThat(leg(emulator, 16_384).badInput())
                    .contains("The leg load has a prompt of 16,384 tokens with an answer of 2, and the server takes")
                    .contains("leave out what is longer, or start the server with a longer context");
            assertThat(folder.resolve("out")).doesNotExist();
        }
    }

    private CommandRun leg(Emulator emulator, int tokens, String... more) throws IOException {
        Path recipe = Files.writeString(folder.resolve("recipe.yaml"), """
            name: load
            parts:
              - {name: load, requests: 4, own: %d, answer: 2}
            """.formatted(tokens));
        List<String> line = new ArrayList<>(List.of(
                "loadtest",
                "leg",
                "--url",
                emulator.uri().toString(),
                "--recipe",
                recipe.toString(),
                "--out",
                folder.resolve("out").toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    private List<Integer> prompts(String place) {
        return LoadFolder.open(folder.resolve(place)).legs().stream()
                .map(LoadLeg::measured)
                .flatMap(List::stream)
                .map(request -> request.promptTokens().orElseThrow())
                .toList();
    }

    private static EmulatorSettings vllm() {
        return QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()));
    }
}
