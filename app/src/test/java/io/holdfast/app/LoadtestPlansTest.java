package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The plans of the load test as people call them, in virtual time; one round only, which decides nothing. */
class LoadtestPlansTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder = Path.of("");

    private static CommandRun loadtest(String command, VirtualPlace place, String... more) {
        List<String> line = new ArrayList<>(List.of("loadtest", command, "--engine", VirtualPlace.ENGINE));
        line.addAll(List.of("--hold", "session", "--prefix-tokens", "256", "--flood-requests", "4"));
        line.addAll(List.of("--flood-tokens", "512", "--cycles", "1", "--rounds", "1", "--anyway"));
        line.addAll(List.of("--hold-slot-ms", "150", "--repeat-pairs", "50"));
        line.addAll(List.of(more));
        return CommandRun.by(place, line.toArray(String[]::new));
    }

    private static String unwrapped(CommandRun told) {
        return told.out().replaceAll("\\s+", " ");
    }

    @Test
    void blocks_runFourLegsOfALife() throws IOException {
        String journal = folder.resolve("run.jsonl").toString();
        VirtualPlace place = VirtualPlace.sessions();
        CommandRun told = loadtest("ab", place, "--blocks", "abba", "--json", "--journal", journal);
        assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        JsonNode document = JSON.readTree(told.out());
        assertThat(JsonSchemas.complaints(document)).isEmpty();
        assertThat(document.path("plan").path("design").asText()).isEqualTo("BLOCKS");
        assertThat(document.path("plan").path("pairs").asInt()).isEqualTo(2);
        assertThat(document.path("metrics").path(0).path("logRatios").path("BPPB"))
                .hasSize(1);
        assertThat(document.path("legs")).hasSize(3 * 5);
        assertThat(CommandRun.by("loadtest", "analyze", journal, "--json").out())
                .isEqualTo(told.out());
        assertThat(CommandRun.by("loadtest", "analyze", journal).out())
                .contains("the place in a block", "1 BPPB and 1 PBBP blocks where at least 4")
                .doesNotContain("naive claim");
    }

    @Test
    void sweep_leavesAJournalForEachLevelAndGoesOn() throws IOException {
        Path out = folder.resolve("sweep");
        String[] asked = {"--over", "concurrency=1,2", "--over", "flood-requests=2,4", "--out", out.toString()};
        VirtualPlace place = VirtualPlace.sessions();
        CommandRun told = loadtest("sweep", place, asked);
        assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(unwrapped(told))
                .contains(
                        "Level 1 of 2, concurrency 1, flood-requests 2:",
                        "Sweep, 2 of 2 levels",
                        "concurrency 2, flood-requests 4: INCONCLUSIVE(design)",
                        "No level has pairs enough to say how its effect depends");
        try (Stream<Path> files = Files.list(out)) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "sweep.json",
                            "01-concurrency-1-flood-requests-2.jsonl",
                            "02-concurrency-2-flood-requests-4.jsonl");
        }
        assertThat(loadtest("sweep", place, asked).badInput()).contains("is not overwritten");
        Files.delete(out.resolve("02-concurrency-2-flood-requests-4.jsonl"));
        List<String> again = new ArrayList<>(List.of(asked));
        again.addAll(List.of("--resume", "--json"));
        CommandRun rest = loadtest("sweep", place, again.toArray(String[]::new));
        assertThat(rest.err()).contains("Level 1 of 2, concurrency 1, flood-requests 2: finished before.");
        JsonNode document = JSON.readTree(rest.out());
        assertThat(JsonSchemas.complaints(JsonSchemas.SWEEP, document)).isEmpty();
        assertThat(document.path("levels")).hasSize(2);
        assertThat(document.path("levels").path(1).path("capacityTokens").asInt())
                .isEqualTo(2_048);
        assertThat(document.path("levels").path(1).path("demandTokens").asInt()).isEqualTo(256 + 4 * 513);
        assertThat(loadtest("sweep", place, "--over", "concurrency=1,3", "--resume", "--out", out.toString())
                        .badInput())
                .contains("was begun with the levels");
    }

    @Test
    void planOfThePinBenchmark_saysStepsAndTimeAndMeasuresNothing() throws IOException {
        Path out = folder.resolve("pin");
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            CommandRun told = CommandRun.by(
                    "loadtest",
                    "preset",
                    "pin-poc",
                    "--engine",
                    emulator.uri().toString(),
                    "--hold",
                    "session",
                    "--requests",
                    "8",
                    "--max-tokens",
                    "2",
                    "--plan",
                    "--out",
                    out.toString());
            assertThat(told.code()).isEqualTo(ExitCode.OK);
            assertThat(told.out())
                    .contains(
                            "1  aa_control_conc32       32 at a time  1 pair, baseline twice",
                            "7  multi_rep_conc64        64 at a time  3 pairs",
                            "All steps take about");
            assertThat(out).doesNotExist();
        } finally {
            vertx.close().await();
        }
    }

    @Test
    void badPlans_areRefusedInASentence() {
        assertThat(bad("ab", "--order", "sideways"))
                .contains("--order is 'sideways'; there are both, normal, reversed.");
        assertThat(bad("ab", "--blocks", "abba", "--order", "normal")).contains("leave --order out");
        assertThat(bad("ab", "--looks", "5,4")).contains("each comes after more rounds");
        assertThat(bad("ab", "--looks", "2,9")).contains("The first of --looks is after 2 rounds");
        assertThat(bad("ab", "--looks", "5,9", "--rounds", "7")).contains("the last look is the end of the plan");
        assertThat(bad("ab", "--restart-per", "leg")).contains("are for a server that is started");
        assertThat(bad("sweep", "--over", "concurrency")).contains("write a name and at least two levels");
        assertThat(bad("sweep", "--over", "concurrency=1,x")).contains("A level of concurrency is 'x'");
        assertThat(bad("sweep", "--over", "concurrency=1,2", "--placebo", "3")).contains("is none of the levels");
        assertThat(bad("sweep", "--over", "concurrency=1,2", "--resume")).contains("name that by --out");
        assertThat(bad("preset pin-poc", "--pairs", "0")).contains("at least one pair");
        assertThat(bad("preset pin-poc", "--rebuild", "--journals", folder.toString()))
                .contains("There is no journal at");
    }

    private String bad(String command, String... more) {
        List<String> line = new ArrayList<>(List.of("loadtest"));
        line.addAll(List.of(command.split(" ", -1)));
        line.addAll(List.of("--engine", "http://127.0.0.1:1", "--hold", "session"));
        if (command.equals("sweep") && !List.of(more).contains("--resume")) {
            line.addAll(List.of("--out", folder.resolve("bad").toString()));
        }
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new)).badInput();
    }
}
