package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.loadtest.measure.ResultFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Presets that start a server in several ways, as their pages have them. */
final class StartedVariantsTest {
    @TempDir
    private Path folder = Path.of("");

    /** With this seed the variant that cannot start has its turn last, so nobody answers at the end. */
    @Test
    void lastVariantThatCannotStart_isNamedInATableOfTheOthers() throws IOException {
        Path variants = Files.writeString(folder.resolve("variants.yaml"), """
            reference: one
            variants:
              one: {command: "%s"}
              gone: {command: "echo no memory; exit 1"}
            cells: {batch: [1], length: [64], answer: 4}
            """.formatted(
                        QuickEngine.command().replace("\"", "\\\"")));
        Path out = folder.resolve("out");
        CommandRun told = CommandRun.by(
                "loadtest",
                "preset",
                "server-compare",
                "--url",
                "http://127.0.0.1:" + FreePort.any(),
                "--variants",
                variants.toString(),
                "--seed",
                "42",
                "--out",
                out.toString());
        assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(told.out()).contains("gone did not start: ", "did not start", "1.00 x");
        assertThat(ColdLegsTest.results(out, "server-compare_").environment().getOrDefault("server", ""))
                .contains("sglang");
        assertThat(out.resolve("report.md")).content().contains("gone did not start: ");
    }

    @Test
    void filesOfKvcachedOverhead_areWhatTheDocumentedExpectationsAreAbout() throws IOException {
        Path config = Files.writeString(folder.resolve("bench-config.yaml"), """
            models: [{name: small, path: small, port: 8001}]
            benchmark: {request_rates: [8], num_requests: 4, input_len: 32, output_len: 4}
            kvcached: {gpu_utilization: 0.95, page_size_mb: 2}
            """);
        Path out = folder.resolve("overhead");
        CommandRun told = CommandRun.by(
                "loadtest",
                "preset",
                "kvcached-overhead",
                "--url",
                "http://127.0.0.1:" + FreePort.any(),
                "--config",
                config.toString(),
                "--server-command",
                QuickEngine.command(),
                "--warmup-requests",
                "1",
                "--cooldown",
                "0s",
                "--out",
                out.toString());
        assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
        assertThat(ResultFile.read(out.resolve("kvcached.json")).results())
                .allSatisfy(result -> assertThat(result.workload()).isEqualTo("single-model"));
        CommandRun compared = CommandRun.by(
                "loadtest",
                "compare",
                out.resolve("baseline.json").toString(),
                out.resolve("kvcached.json").toString(),
                "--expect",
                "../examples/expectations/kvcached.yaml");
        assertThat(compared.err()).isEmpty();
        assertThat(compared.code()).isIn(ExitCode.INCONCLUSIVE, ExitCode.CHECK_FAILED);
        assertThat(compared.out())
                .containsPattern("(undecided|missed): single model, middle rates")
                .contains("not measured: single model, low load", "not measured: several models");
    }
}
