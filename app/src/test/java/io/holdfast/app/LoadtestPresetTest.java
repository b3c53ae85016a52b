package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.workbench.preset.Definition;
import io.holdfast.workbench.preset.Presets;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class LoadtestPresetTest {
    private static final EmulatorSettings ENGINE = EmulatorSettings.defaults()
            .withPrefillMicrosPerToken(1)
            .withFirstTokenMicros(100)
            .withDecodeMillis(1)
            .withSglang(settings -> settings.withSizes(16_384, 16, 4_096));

    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void list_hasALineForEachPreset() {
        CommandRun told = CommandRun.by("loadtest", "preset", "--list");
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        List<String> names =
                told.out().lines().filter(line -> !line.startsWith(" ")).toList();
        assertThat(names).isEqualTo(Presets.all().stream().map(Definition::name).toList());
        names.forEach(name -> assertThat(
                        CommandRun.by("loadtest", "preset", name, "--help").out())
                .contains("loadtest preset " + name));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "serving --workload nosuch|There is no workload 'nosuch'; there are all, baseline,",
                "serving --requests 0|--requests is 0; write at least 1.",
                "serving --workload-set blocks=3|--workload-set is 'blocks=3'; write WORKLOAD:NAME=VALUE,",
                "serving --workload-set nosuch:blocks=3|A server setting is for the workload 'nosuch'; there are",
                "serving --workload-set baseline:blocks=3|differ in how the server is started; say how by",
                "serving --no-save --out x|--no-save leaves no file; leave --out and --resume out, or --no-save.",
                "serving --cooldown long|--cooldown is 'long'; write a time from",
                "serving --max-duration 0s|--max-duration is '0s'; write a time from",
                "serving --warmup-requests -1|--warmup-requests is -1; write 0 to 100000.",
                "serving --resume|--resume goes on in a folder; name it by --out.",
                "radix --order A,B,C|The order is A,B,C; write each of A,B,C,D once.",
                "radix reqests=5|has no parameter 'reqests' (did you mean requests?); it has requests, output-tokens,",
                "radix requests=0|--requests is 0; write 1 to 100000.",
                "radix --requests 0|--requests is 0; write 1 to 100000.",
                "radix --output-tokens 0|--output-tokens is 0; write 1 to 100000.",
                "baseline-story --prompt-tokens 0|--prompt-tokens is 0; write at least 1.",
                "kvcached-overhead --config nosuch.yaml|There is no file nosuch.yaml; name a bench-config.yaml.",
                "accuracy --questions nosuch.jsonl|There is no file nosuch.jsonl; name one with a question in each"
                        + " line."
            })
    void badInput_isASentence(String line, String said) {
        assertThat(CommandRun.by(("loadtest preset " + line + " --engine http://127.0.0.1:1").split(" ", -1))
                        .badInput())
                .contains(said);
    }

    @Test
    void radix_overSocketsLeavesItsFiles_andAnotherOrderFails() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, ENGINE)) {
            CommandRun told = radix(emulator, "a");
            assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
            assertThat(told.out())
                    .contains("Check A           holds", "Check D           holds: the server evicted")
                    .contains("holds: by its events the engine stored");
            try (var files = Files.list(folder.resolve("a"))) {
                assertThat(files.map(file -> file.getFileName().toString().replaceAll("_\\d{8}_\\d{6}", "_TIME")))
                        .containsExactlyInAnyOrder(
                                "legs",
                                "prefixes",
                                "plan.json",
                                "radix_holdfast-emulated_TIME.json",
                                "radix_holdfast-emulated_TIME.txt");
            }
            CommandRun other = radix(emulator, "b", "--order", "B,A,C,D");
            assertThat(other.code()).isEqualTo(ExitCode.CHECK_FAILED);
            assertThat(other.out()).contains("Check B failed: 1 of 2 requests had the shared prefix cached");
        } finally {
            vertx.close().await();
        }
    }

    @Test
    void noWarmUp_theServerCountsTheRequestsOfTheLoadAndNoOther() {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, ENGINE);
                Http client = new Http(emulator.uri())) {
            CommandRun told = CommandRun.by(
                    "loadtest",
                    "preset",
                    "baseline-story",
                    "requests=6",
                    "--engine",
                    emulator.uri().toString(),
                    "--output-tokens",
                    "2",
                    "--warmup-requests",
                    "0",
                    "--no-save");

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(client.get("/metrics")
                            .text()
                            .lines()
                            .filter(line -> line.startsWith("sglang:time_to_first_token_seconds_count"))
                            .map(line -> line.replaceFirst(".* ", "")))
                    .containsExactly("6.0");
        } finally {
            vertx.close().await();
        }
    }

    /** Prefixes of a load can be held by a sidecar that never saw one of its requests. */
    @Test
    void sharedPrefixOfALoad_isAFileThatASidecarTakes() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, ENGINE.withVariant(Variant.PIN_GPU))) {
            serve(emulator, "first");
            Path prefix = folder.resolve("first").resolve("prefixes").resolve("prefix_caching-shared.json");
            int tokens = JSON.readTree(prefix.toFile()).path("tokens").size();
            assertThat(tokens).isBetween(1_000, 1_048);
            Path config = Files.writeString(
                    folder.resolve("sidecar.yaml"), """
                        listen: {port: 0}
                        stateDirectory: '%s'
                        engines:
                          main: {type: sglang, url: '%s', backend: pin_blocks, automaticHolds: false, priming: false}
                        """.formatted(folder.resolve("state"), emulator.uri()));
            try (Child child = Child.start("sidecar", "--config", config.toString())) {
                String listens = "holdfast sidecar listens on ";
                try (Http sidecar = new Http(URI.create(child.line().substring(listens.length())))) {
                    sidecar.await("/readyz", answer -> answer.status() == 200);
                    Http.Answer asked = sidecar.post("/api/v1/engines/main/holds", Files.readString(prefix));
                    assertThat(asked.status()).as(asked.text()).isEqualTo(201);

                    serve(emulator, "second");

                    Http.Answer held = sidecar.await(
                            "/api/v1/engines/main/holds/"
                                    + asked.json().path("id").asText(),
                            hold -> hold.json().path("state").asText().equals("held"));
                    assertThat(held.json().path("heldTokens").asInt()).isEqualTo(tokens - tokens % 16);
                }
            }
        } finally {
            vertx.close().await();
        }
    }

    /** Requests under way and requests in one step, beside each other, show how a server batches. */
    @Test
    void requestsUnderWayAndThoseInAStep_areToldOverTime() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, ENGINE)) {
            serve(emulator, "a");

            CommandRun told =
                    CommandRun.by("loadtest", "report", folder.resolve("a").toString());

            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(folder.resolve("a").resolve("experiments.md"))
                    .content()
                    .contains("| second | under way at the client | in a step of the server |")
                    .containsPattern("\n\\| 0 \\| \\d+ \\| \\d+ \\|\n");
        } finally {
            vertx.close().await();
        }
    }

    private void serve(Emulator emulator, String place) {
        CommandRun told = CommandRun.by(
                "loadtest",
                "preset",
                "serving",
                "--workload",
                "prefix_caching",
                "--engine",
                emulator.uri().toString(),
                "--requests",
                "6",
                "--cooldown",
                "0s",
                "--out",
                folder.resolve(place).toString());
        assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
    }

    private CommandRun radix(Emulator emulator, String place, String... options) {
        List<String> line = new ArrayList<>(List.of(
                "loadtest",
                "preset",
                "radix",
                "--engine",
                emulator.uri().toString(),
                "--requests",
                "5",
                "--answer-tokens",
                "1",
                "--out",
                folder.resolve(place).toString()));
        line.addAll(List.of(options));
        return CommandRun.by(line.toArray(String[]::new));
    }
}
