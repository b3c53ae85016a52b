package io.holdfast.app.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.holdfast.app.CommandRun;
import io.holdfast.app.SmallDemo;
import io.holdfast.app.cli.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The document that {@code holdfast demo --json} prints. */
class DemoJsonTest {
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void demoOfOneRound_isOneDocumentWithNullForWhatIsUnknown() throws IOException {
        Path kept = folder.resolve("kept");
        CommandRun told =
                SmallDemo.run("--json", "--rounds", "1", "--seed", "7", "--no-burn-in", "--out", kept.toString());
        JsonNode document = document(told);
        assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(told.err()).as("the story").contains("Holdfast demo").contains("VERDICT: ");

        assertThat(document.path("seed").asLong()).isEqualTo(7);
        scenarios(elements(document.path("scenarios")));

        JsonNode verdict = document.path("verdict");
        assertThat(verdict.path("name").asText()).isEqualTo("INCONCLUSIVE");
        assertThat(verdict.path("effectPercent").isNumber()).isTrue();
        assertThat(verdict.path("naivePercent").isNumber()).isTrue();
        assertThat(verdict.path("orderBiasPercent").isNumber()).isTrue();
        assertThat(verdict.has("ci95")).isTrue();
        assertThat(verdict.path("ci95").isNull()).isTrue();

        List<JsonNode> verdicts = elements(document.path("verdicts"));
        assertThat(verdicts)
                .extracting(each -> each.path("name").asText())
                .containsExactly("idle-prefix-under-flood", "ample-memory");
        assertThat(verdicts.getFirst().path("verdict")).isEqualTo(verdict);
        assertThat(verdicts)
                .allSatisfy(each ->
                        assertThat(each.path("verdict").path("name").asText()).isEqualTo("INCONCLUSIVE"))
                .allSatisfy(each -> assertThat(each.path("judgement").asText()).isEqualTo("TOO_FEW_ROUNDS"))
                .allSatisfy(each ->
                        assertThat(each.path("asExpected").asBoolean(true)).isFalse());
        assertThat(document.path("automaticHold").path("heldBlocks").asInt()).isPositive();
        assertThat(document.path("automaticHold").path("asExpected").asBoolean())
                .isTrue();
        assertThat(document.path("asExpected").asBoolean(true)).isFalse();
        assertKept(kept, told);
    }

    /** What is kept is the same document, and journals that are judged to the same verdicts. */
    private static void assertKept(Path kept, CommandRun told) throws IOException {
        assertThat(kept.resolve("demo.json")).hasContent(told.out());
        CommandRun judged = CommandRun.by("loadtest", "analyze", kept.toString());
        assertThat(judged.out().lines())
                .anyMatch(line -> line.startsWith("idle-prefix-under-flood.jsonl: INCONCLUSIVE"))
                .anyMatch(line -> line.startsWith("ample-memory.jsonl: INCONCLUSIVE"))
                .hasSize(2);
        try (var files = Files.list(kept)) {
            assertThat(files).hasSize(3);
        }
        CommandRun again = SmallDemo.run("--out", kept.toString());
        assertThat(again.code()).isEqualTo(ExitCode.BAD_INPUT);
        assertThat(again.err())
                .isEqualTo("holdfast: --out is '" + kept
                        + "', which is there already; name another folder, or move it away."
                        + System.lineSeparator());
        CommandRun below =
                SmallDemo.run("--out", kept.resolve("demo.json").resolve("x").toString());
        assertThat(below.code()).isEqualTo(ExitCode.BAD_INPUT);
        assertThat(below.err())
                .contains("demo.json")
                .contains("name another folder")
                .doesNotContain("Exception");
    }

    /** Both arms of both scenes, with what the probes of each found. */
    private static void scenarios(List<JsonNode> scenarios) {
        assertThat(scenarios)
                .extracting(
                        one -> one.path("name").asText() + "/" + one.path("arm").asText())
                .containsExactly(
                        "idle-prefix-under-flood/baseline",
                        "idle-prefix-under-flood/pinned",
                        "ample-memory/baseline",
                        "ample-memory/pinned");
        assertThat(scenarios)
                .extracting(one -> one.path("cachedTokens").asInt(-1))
                .containsExactly(0, 256, 256, 256);
        assertThat(scenarios)
                .allSatisfy(one -> assertThat(one.path("ttftMillis").isNumber()).isTrue());
    }

    private static JsonNode document(CommandRun told) {
        try {
            return JSON.readTree(told.out());
        } catch (JsonProcessingException e) {
            throw new AssertionError("Standard output is not one JSON document: " + told, e);
        }
    }

    private static List<JsonNode> elements(JsonNode array) {
        assertThat(array.isArray()).as(array.toString()).isTrue();
        return StreamSupport.stream(array.spliterator(), false).toList();
    }
}
