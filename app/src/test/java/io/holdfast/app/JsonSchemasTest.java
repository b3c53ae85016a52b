package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.RunFiles;
import io.holdfast.emulator.Emulator;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** That schemas refuse what they should, and take what a load without arms writes. */
class JsonSchemasTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void resultsOfLoads_areWhatTheirSchemaSays_andNothingElse() throws IOException {
        Path recipe = Files.writeString(
                folder.resolve("recipe.yaml"),
                "name: small\nparts:\n  - {name: load, requests: 4, own: 16, answer: 4}\n");
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = CommandRun.by(
                    "loadtest",
                    "leg",
                    "--recipe",
                    recipe.toString(),
                    "--engine",
                    emulator.uri().toString(),
                    "--out",
                    folder.resolve("out").toString(),
                    "--slo",
                    "ttft=1s",
                    "--json");
            assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.OK);
        } finally {
            vertx.close().await();
        }
        JsonNode results = JSON.readTree(written("_"));
        assertThat(CommandRun.by("loadtest", "report", folder.resolve("out").toString())
                        .out()
                        .lines())
                .hasSize(2)
                .allMatch(line -> line.matches("Written: .*(experiments|final-report)\\.md"));
        assertThat(folder.resolve("out/final-report.md")).content().contains("COMPLETE: 1 of 1 legs", "| small | ");

        assertThat(JsonSchemas.complaints(JsonSchemas.SUITE, results)).isEmpty();
        assertThat(results.path("results").path(0).has("goodput")).isTrue();

        ObjectNode one = (ObjectNode) results.path("results").path(0);
        one.put("ttft_p50", "fast");
        assertThat(JsonSchemas.complaints(JsonSchemas.SUITE, results)).hasSize(1);
        one.put("ttft_p50", 1).put("surprise", 1);
        assertThat(JsonSchemas.complaints(JsonSchemas.SUITE, results)).hasSize(1);
        one.remove(List.of("surprise", "requests"));
        assertThat(JsonSchemas.complaints(JsonSchemas.SUITE, results)).hasSize(1);
    }

    private String written(String part) throws IOException {
        try (Stream<Path> files = Files.list(folder.resolve("out"))) {
            return Files.readString(files.filter(file -> RunFiles.name(file).contains(part))
                    .filter(file -> RunFiles.name(file).endsWith(".json"))
                    .findFirst()
                    .orElseThrow());
        }
    }
}
