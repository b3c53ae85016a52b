package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.demo.DemoServers;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Loads that nothing can be gained on, beside a sidecar that may hold by itself. */
final class NegativeLoadTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void sidecarBesideNegativeLoads_pinsNothing() throws IOException, InterruptedException {
        EmulatorSettings pins = QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Sglang(
                SglangSettings.defaults().withSizes(65_536, 16, 1_024).withVariant(Variant.PIN_GPU), false));
        Vertx vertx = Vertx.vertx();
        try (DemoServers servers = DemoServers.start(vertx, pins, true)) {
            CommandRun told = CommandRun.by(
                    "loadtest",
                    "preset",
                    "negative",
                    "--requests",
                    "40",
                    "--url",
                    servers.uri().toString(),
                    "--out",
                    folder.resolve("negative").toString());
            assertThat(told.code()).as(told.out() + told.err()).isEqualTo(ExitCode.OK);
            assertThat(told.out()).contains("NO_EXPOSURE: by its events the engine removed no block in 3 legs;");
            List<String> metrics = metrics(servers.sidecar());
            assertThat(metrics).anyMatch(line -> line.startsWith("holdfast_pinned_tokens{"));
            assertThat(metrics)
                    .filteredOn(line -> line.startsWith("holdfast_pinned_tokens{")
                            || (line.startsWith("holdfast_backend_calls_seconds_count{")
                                    && line.contains("call=\"pin\"")))
                    .allMatch(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))) == 0);
        } finally {
            vertx.close().await();
        }
    }

    private static List<String> metrics(URI sidecar) throws IOException, InterruptedException {
        try (HttpClient client = HttpClient.newHttpClient()) {
            return client.send(
                            HttpRequest.newBuilder(sidecar.resolve("/metrics")).build(),
                            HttpResponse.BodyHandlers.ofString())
                    .body()
                    .lines()
                    .toList();
        }
    }
}
