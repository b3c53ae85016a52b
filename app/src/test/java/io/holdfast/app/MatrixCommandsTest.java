package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.CacheMatrix;
import io.holdfast.workbench.matrix.MatrixAxes;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The presets that vary one thing at a time, by command. */
final class MatrixCommandsTest {
    private static final String NOBODY = "http://127.0.0.1:1";

    @TempDir
    private Path folder = Path.of("");

    @Test
    void cacheMatrix_leavesItsFilesAndSaysWhatItIs() throws Exception {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(
                vertx, EmulatorSettings.defaults().withPrefillMicrosPerToken(5).withDecodeMillis(1))) {
            Path out = folder.resolve("m");
            CommandRun run = CommandRun.by(
                    "loadtest",
                    "preset",
                    "cache-matrix",
                    "--engine",
                    emulator.uri().toString(),
                    "--contexts",
                    "1=64",
                    "--states",
                    "cold,hot",
                    "--ways",
                    "streaming,non-streaming",
                    "--passes",
                    "1",
                    "--max-tokens",
                    "4",
                    "--staggered",
                    "64",
                    "--out",
                    out.toString());
            assertThat(run.err()).isEmpty();
            assertThat(run.code()).isEqualTo(ExitCode.OK);
            assertThat(run.out())
                    .contains("4 + 2 = 6 legs")
                    .contains("COMPLETE: 6 of 6 legs (100.0 %): 6 OK, 0 WARN, 0 FAIL, 0 INVALID.")
                    .contains("b1/hot/streaming/64tok")
                    .contains("user B TTFT, from A's request");
            try (Stream<Path> files = Files.list(out)) {
                assertThat(files.map(file -> file.getFileName().toString().replaceAll("_\\d{8}_\\d{6}", "_TIME")))
                        .containsExactlyInAnyOrder(
                                "plan.json",
                                "legs",
                                "cache-matrix_holdfast-emulated_TIME.json",
                                "report.md",
                                "staggered.json");
            }
            try (Stream<Path> files = Files.list(out)) {
                Path results = files.filter(
                                file -> file.getFileName().toString().startsWith("cache-matrix_"))
                        .findFirst()
                        .orElseThrow();
                assertThat(ResultFile.read(results).results()).hasSize(6);
            }
            CommandRun status = CommandRun.by("loadtest", "status", out.toString());
            assertThat(status.out()).startsWith("COMPLETE: 6 of 6 legs");
        } finally {
            vertx.close().await();
        }
    }

    /** One leg of 204 is there, and it waited for as long as it might. */
    @Test
    void resumeOfMoreThanAnHour_saysSoAndSendsNothing() {
        List<Suite.Leg> legs = new CacheMatrix(
                        MatrixAxes.usual(),
                        new CacheMatrix.Setup(true, 16, Optional.of(4_096L), Optional.of(4_096L), 42))
                .legs();
        Path out = folder.resolve("long");
        LoadFolder files = LoadFolder.create(out, Suite.plan("cache-matrix", Map.of("sameTexts", "true"), legs));
        files.add(ended(legs.getFirst()));
        CommandRun run = CommandRun.by(
                "loadtest", "preset", "cache-matrix", "--engine", NOBODY, "--out", out.toString(), "--resume");
        assertThat(run.code()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).isEmpty();
        assertThat(run.out())
                .contains("PARTIAL: 1 of 204 legs (0.5 %): 1 OK")
                .contains("203 legs are missing:")
                .contains("13.6 h of cool-downs")
                .contains(
                        "Nothing was sent. That is more than an hour: go on with --yes, or with --max-duration TIME.");
        CommandRun status = CommandRun.by("loadtest", "status", out.toString());
        assertThat(status.out()).startsWith("PARTIAL: 1 of").contains("staggered                6  all of them");
    }

    private static LoadLeg ended(Suite.Leg leg) {
        RequestRecord answer = new RequestRecord(
                0,
                Role.LOAD,
                0,
                RequestStatus.OK,
                0,
                0,
                OptionalLong.of(1),
                OptionalLong.of(1_000_000_000),
                OptionalLong.of(2_000_000_000),
                2_000_000_000,
                OptionalInt.of(512),
                OptionalInt.of(64),
                OptionalInt.of(0),
                "");
        return new LoadLeg(
                leg.id(),
                "cold",
                leg.load().id(),
                "",
                leg.settings(),
                "2026-11-22T00:00:00Z",
                List.of(new LoadLeg.Part("load", true, 0, 2_000_000_000, List.of(answer))),
                Map.of("cooldown", "timed out", "cooldown_seconds", "242.0"),
                Optional.empty(),
                Optional.empty());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "cache-matrix --contexts 1=x|whole numbers with commas, as 1024,2048",
                "cache-matrix --contexts 1=8|A context is 8",
                "cache-matrix --ways slow|there are streaming and non-streaming",
                "cache-matrix --states tepid|tepid",
                "cache-matrix --passes 0|The number of passes is 0; write 1",
                "cache-matrix --out nowhere --resume|has no plan.json",
                "staggered --delay soon|--delay is 'soon'",
                "staggered --rounds 0|--rounds is 0; write 1",
                "staggered --server-command serve --server-wrapper nsys|profile 'loadtest leg', which gives no verdict",
                "server-compare --variants none.yaml --server-command serve|The file of --variants says how each"
                        + " server",
                "server-compare --variants none.yaml --server-wrapper nsys|The file of --variants says how each server",
                "server-compare --variants none.yaml|There is no file none.yaml",
                "server-compare --variants none.yaml --judge speed|which is no metric"
            })
    void badInput_isASentence(String line, String mend) {
        String[] words = ("loadtest preset " + line + " --engine " + NOBODY).split(" ", -1);
        assertThat(CommandRun.by(words).badInput()).contains(mend);
    }

    @Test
    void commandWithAPlaceWithoutAValue_isAMistakeInTheFile() throws IOException {
        Path file = folder.resolve("v.yaml");
        Files.writeString(file, """
            command: "serve --memory {memory}"
            variants: {a: {}, b: {set: {memory: 0.8}}}
            cells: {batch: [1], length: [8]}
            """);
        assertThat(CommandRun.by(
                                "loadtest",
                                "preset",
                                "server-compare",
                                "--engine",
                                NOBODY,
                                "--variants",
                                file.toString(),
                                "--out",
                                folder.resolve("out").toString())
                        .badInput())
                .contains("{memory}");
    }
}
