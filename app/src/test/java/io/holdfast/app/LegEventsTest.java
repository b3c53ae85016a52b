package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an engine's events tell of a leg. */
final class LegEventsTest {
    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void close() {
        vertx.close().await();
    }

    @Test
    void legInACacheWithRoom_hasItsStoresAndNoExposure() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = leg(emulator, "room", 4, 256);
            assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
            LoadResult result = ColdLegsTest.results(folder.resolve("room"), "leg_")
                    .results()
                    .getFirst();
            assertThat(count(result, Metric.BLOCKS_STORED)).isBetween(64.0, 72.0);
            assertThat(count(result, Metric.BLOCKS_REMOVED)).isZero();
            assertThat(count(result, Metric.CACHE_CLEARS)).isEqualTo(1);
            assertThat(told.out()).contains("NO_EXPOSURE: by its events the engine removed no block in load;");
            try (var files = Files.list(folder.resolve("room"))) {
                Path file = files.filter(each -> each.getFileName().toString().startsWith("leg_"))
                        .findFirst()
                        .orElseThrow();
                assertThat(JsonSchemas.complaints(JsonSchemas.SUITE, new ObjectMapper().readTree(file.toFile())))
                        .isEmpty();
            }
        }
    }

    @Test
    void legThatFillsTheCache_hasRemovals() throws IOException {
        EmulatorSettings small = QuickEngine.PLAIN.withKind(
                new EmulatorSettings.Kind.Sglang(SglangSettings.defaults().withSizes(2_048, 16, 1_024), false));
        try (Emulator emulator = Emulator.start(vertx, small)) {
            CommandRun told = leg(emulator, "full", 12, 512);
            LoadResult result = ColdLegsTest.results(folder.resolve("full"), "leg_")
                    .results()
                    .getFirst();
            assertThat(count(result, Metric.BLOCKS_REMOVED)).isGreaterThan(100);
            assertThat(told.out()).doesNotContain("NO_EXPOSURE");
        }
    }

    private static double count(LoadResult result, Metric metric) {
        return result.measures().of(metric).orElseThrow();
    }

    private CommandRun leg(Emulator emulator, String place, int requests, int tokens) throws IOException {
        Path recipe = Files.writeString(folder.resolve(place + ".yaml"), """
            name: load
            parts:
              - {name: load, requests: %d, own: %d, answer: 2}
            """.formatted(requests, tokens));
        return CommandRun.by(
                "loadtest",
                "leg",
                "--url",
                emulator.uri().toString(),
                "--recipe",
                recipe.toString(),
                "--out",
                folder.resolve(place).toString());
    }

    /** The benchmark pinned all that its event socket told of: texts of warm-ups and answers beside the shared prompt. */
    @Test
    void armThatPinsWhatItIsTold_pinsMoreThanThePromptAndTakesAllOfItOff() {
        EmulatorSettings pins = QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Sglang(
                SglangSettings.defaults().withSizes(8_192, 16, 1_024).withVariant(Variant.PIN_GPU), false));
        Path journal = folder.resolve("run.jsonl");
        try (Emulator emulator = Emulator.start(vertx, pins)) {
            CommandRun told = CommandRun.by(
                    "loadtest",
                    "run",
                    "--url",
                    emulator.uri().toString(),
                    "--hold",
                    "pin-told",
                    "--prefix-tokens",
                    "96",
                    "--flood-requests",
                    "2",
                    "--flood-tokens",
                    "32",
                    "--cycles",
                    "1",
                    "--rounds",
                    "1",
                    "--anyway",
                    "--journal",
                    journal.toString());
            assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        }
        List<LegRecord> pinned = Journal.read(journal).legs().stream()
                .filter(leg -> leg.arm() == Arm.PINNED && leg.position() > 0)
                .toList();
        assertThat(pinned).isNotEmpty().allSatisfy(leg -> {
            assertThat(leg.hold().wantedBlocks()).isGreaterThanOrEqualTo(6);
            assertThat(leg.hold().heldBlocks()).isEqualTo(leg.hold().wantedBlocks());
            assertThat(leg.hold().reason()).contains("blocks were told of, 6 of them the shared prompt's");
            assertThat(leg.release().kind().name()).isEqualTo("RELEASED");
        });
    }

    @Test
    void armThatPinsWhatItIsTold_beforeAnEngineThatTellsNothing_isASentence() {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            assertThat(CommandRun.by(
                                    "loadtest",
                                    "run",
                                    "--url",
                                    emulator.uri().toString(),
                                    "--hold",
                                    "pin-told",
                                    "--journal",
                                    folder.resolve("none.jsonl").toString())
                            .err())
                    .contains("pins no blocks");
        }
    }
}
