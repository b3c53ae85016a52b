package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What earlier legs and earlier commands leave in a server's cache, which no leg may find. */
final class ColdLegsTest {
    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void close() {
        vertx.close().await();
    }

    @Test
    void presetRunAgain_onAnEngineWithARoute_findsWhatItFoundAtFirst() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            againIsTheSame(emulator);
        }
    }

    @Test
    void presetRunAgain_onAnEngineThatNobodyEmpties_findsWhatItFoundAtFirst() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, vllm())) {
            againIsTheSame(emulator);
        }
    }

    private void againIsTheSame(Emulator emulator) throws IOException {
        ResultFile first = prefixCaching(emulator, "first");
        ResultFile again = prefixCaching(emulator, "again");
        double share = share(first.results().getFirst());
        assertThat(share).isBetween(0.3, 0.9);
        assertThat(share(again.results().getFirst())).isLessThan(share + 0.05);
        assertThat(again.results().getFirst().notes()).isEmpty();
        assertThat(again.results().getFirst().workloadId())
                .isEqualTo(first.results().getFirst().workloadId());
    }

    @Test
    void passesOfALeg_findNothingOfEachOther() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = passes(emulator, "flushed", "--flush-path", "/flush_cache");
            assertThat(told.out()).contains("The server's cache is emptied before each leg.");
            assertThat(LoadFolder.open(folder.resolve("flushed")).legs())
                    .hasSize(2)
                    .allSatisfy(leg -> assertThat(leg.notes()).containsEntry("cache", "emptied"))
                    .allSatisfy(leg -> assertThat(cached(leg)).isZero());
        }
        try (Emulator emulator = Emulator.start(vertx, vllm())) {
            CommandRun told = passes(emulator, "salted");
            assertThat(told.out()).contains("Nobody empties the server's cache, so the texts of each leg begin with");
            assertThat(LoadFolder.open(folder.resolve("salted")).legs())
                    .hasSize(2)
                    .allSatisfy(leg -> assertThat(leg.notes()).containsEntry("cache", "salted"))
                    .allSatisfy(leg -> assertThat(cached(leg)).isZero());
        }
    }

    @Test
    void routeThatDoesNotEmpty_isRefusedBeforeTheLoad() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, vllm())) {
            assertThat(passes(emulator, "refused", "--flush-path", "/nosuch").badInput())
                    .contains("The cache cannot be emptied by --flush-path /nosuch: ")
                    .endsWith("leave --flush-path out, and the texts of each leg begin with words of their own.");
        }
    }

    private CommandRun passes(Emulator emulator, String place, String... more) throws IOException {
        Path recipe = Files.writeString(folder.resolve(place + ".yaml"), """
            name: cold
            parts:
              - {name: load, requests: 3, own: 256, answer: 2}
            """);
        List<String> line = new ArrayList<>(List.of(
                "loadtest",
                "leg",
                "--url",
                emulator.uri().toString(),
                "--recipe",
                recipe.toString(),
                "--repeat",
                "2",
                "--out",
                folder.resolve(place).toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    private ResultFile prefixCaching(Emulator emulator, String place) throws IOException {
        Path out = folder.resolve(place);
        CommandRun told = CommandRun.by(
                "loadtest",
                "preset",
                "serving",
                "--workload",
                "prefix_caching",
                "--requests",
                "6",
                "--url",
                emulator.uri().toString(),
                "--out",
                out.toString());
        assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
        assertThat(told.out()).doesNotContain("6 of 6 requests found").doesNotContain("The cache was warm");
        return results(out, "serving_");
    }

    static ResultFile results(Path out, String head) throws IOException {
        try (Stream<Path> files = Files.list(out)) {
            return ResultFile.read(
                    files.filter(file -> file.getFileName().toString().matches(head + ".*\\.json"))
                            .findFirst()
                            .orElseThrow());
        }
    }

    private static double share(LoadResult result) {
        return result.measures().of(Metric.CACHED_SHARE).orElseThrow();
    }

    private static int cached(LoadLeg leg) {
        return leg.measured().stream()
                .mapToInt(request -> request.cachedTokens().orElseThrow())
                .sum();
    }

    private static EmulatorSettings vllm() {
        return QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()));
    }
}
