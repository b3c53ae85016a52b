package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.journal.Journal;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes on beside legs, and servers under profilers, by command. */
class LoadtestBedTest {
    /** Records what it is told, then becomes the program behind its own options. */
    private static final String PROFILER = """
        #!/bin/sh
        printf '%s\\n' "$@" >> "$0.arguments"
        while [ $# -gt 0 ]; do
            case "$1" in
            -o) shift 2 ;;
            --set|--kernel-regex|--launch-count) shift 2 ;;
            profile|-*) shift ;;
            *) break ;;
            esac
        done
        exec "$@"
        """;

    @TempDir
    private Path folder = Path.of("");

    private Path journal() {
        return folder.resolve("aa.jsonl");
    }

    private Path program(String name, String script) throws IOException {
        Path file = Files.writeString(folder.resolve(name), script);
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private CommandRun aa(String url, String... more) {
        List<String> line = new ArrayList<>(List.of("loadtest", "aa", "--engine", url, "--pairs", "1"));
        line.addAll(List.of("--prefix-tokens", "64", "--flood-requests", "2", "--flood-tokens", "32"));
        line.addAll(List.of(
                "--cycles", "1", "--output-tokens", "2", "--journal", journal().toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    @Test
    void samplesAndCommands_goBesideEachLegOfTheJournal() throws IOException {
        program("nvidia-smi", """
            #!/bin/sh
            case "$*" in
            *-l*) echo 'index, memory.used [MiB]'; while :; do echo '0, 1024 MiB'; sleep 0.02; done ;;
            esac
            """);
        Path seen = folder.resolve("seen");
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults())) {
            CommandRun told = aa(
                    emulator.uri().toString(),
                    "--sample",
                    "gpu,process,kvcached",
                    "--sample-every",
                    "10ms",
                    "--tools",
                    folder.toString(),
                    "--shared-memory",
                    folder.toString(),
                    "--before-leg",
                    "echo \"$HOLDFAST_LEG\" >> " + seen);
            // A machine that is too busy for a pair says so, and the samples are there all the same.
            assertThat(told.code()).as(told.out() + told.err()).isIn(ExitCode.INCONCLUSIVE, ExitCode.CHECK_FAILED);
        } finally {
            vertx.close().await();
        }
        Journal.Contents run = Journal.read(journal());
        assertThat(run.header().environment()).containsKeys("java", "gpu", "driver", "torch", "PYTHONHASHSEED");
        assertThat(Files.readAllLines(seen))
                .containsAll(run.legs().stream().map(leg -> leg.label()).toList());
        CommandRun samples = CommandRun.by("loadtest", "samples", journal().toString(), "--json");
        JsonNode summaries = new ObjectMapper().readTree(samples.out()).path("summaries");
        assertThat(summaries.findValuesAsText("source"))
                .contains("nvidia-smi", "process")
                .doesNotContain("kvcached");
        assertThat(CommandRun.by("loadtest", "samples", journal().toString(), "--by-step")
                        .out())
                .contains("memory.resident [MiB]");
        assertThat(CommandRun.by("loadtest", "samples", journal().toString(), "--samples", folder + "/nosuch")
                        .badInput())
                .contains("run the load test with --sample");
    }

    @Test
    void profiledServer_isMarkedAndNeverJudged() throws IOException {
        Path nsys = program("nsys", PROFILER);
        String wrapper = nsys + " profile --trace=cuda,nvtx,osrt,cudnn,cublas --cuda-memory-usage=true"
                + " --gpuctxsw=true --force-overwrite=true -o results/sglang_trace";
        List<String> line =
                new ArrayList<>(List.of("loadtest", "run", "--engine", "http://127.0.0.1:" + FreePort.any()));
        line.addAll(List.of(
                "--server-command", QuickEngine.command(), "--server-wrapper", wrapper, "--restart-per", "run"));
        line.addAll(List.of("--prefix-tokens", "96", "--flood-requests", "4", "--flood-tokens", "32"));
        line.addAll(List.of("--cycles", "1", "--rounds", "1", "--anyway", "--repeat-pairs", "50"));
        line.addAll(List.of("--hold", "keep-warm", "--journal", journal().toString(), "--json"));
        CommandRun told = CommandRun.by(line.toArray(String[]::new));
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.CHECK_FAILED);
        JsonNode verdict = new ObjectMapper().readTree(told.out()).path("verdict");
        assertThat(verdict.toString()).contains("INVALID", "The legs were profiled: the server ran under");
        assertThat(Journal.read(journal()).header().test().profiler()).contains(wrapper);
        try (Stream<String> arguments = Files.lines(folder.resolve("nsys.arguments"))) {
            assertThat(arguments.limit(7))
                    .containsExactly(
                            "profile",
                            "--trace=cuda,nvtx,osrt,cudnn,cublas",
                            "--cuda-memory-usage=true",
                            "--gpuctxsw=true",
                            "--force-overwrite=true",
                            "-o",
                            "results/sglang_trace");
        }
    }

    @Test
    void badOptions_areOneSentence() {
        assertThat(aa("http://127.0.0.1:1", "--server-wrapper", "nsys profile").badInput())
                .contains("--server-wrapper is for a server that is started by --server-command");
        assertThat(aa("http://127.0.0.1:1", "--sample-every", "1h").badInput()).contains("write at most 1m.");
        assertThat(aa("http://127.0.0.1:1", "--sample", "nosuch").badInput()).contains("--sample");
        assertThat(CommandRun.by(
                                "loadtest",
                                "run",
                                "--engine",
                                "http://127.0.0.1:1",
                                "--server-command",
                                "CUDA_LAUNCH_BLOCKING=1 serve",
                                "--arm-server-command",
                                "serve")
                        .badInput())
                .contains("Only one of --server-command and --arm-server-command has CUDA_LAUNCH_BLOCKING");
    }
}
