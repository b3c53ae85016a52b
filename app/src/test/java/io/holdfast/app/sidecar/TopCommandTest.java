package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.CommandRun;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code top} and {@code summary} beside a running sidecar, where the output is no terminal. */
class TopCommandTest {
    private static final int COLUMNS = 80;

    @TempDir
    private Path folder = Path.of("");

    @Test
    void runningSidecar_isShownOnceAndSummarised() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults());
                Sidecar sidecar = Sidecar.start(vertx, config(emulator.uri()))) {
            String api = sidecar.uri().toString();
            CommandRun top = CommandRun.by("top", "--sidecar", api);
            CommandRun once = CommandRun.by("top", "--once", "--sidecar", api);
            CommandRun json = CommandRun.by("top", "--json", "--sidecar", api);
            CommandRun summary = CommandRun.by("summary", "--sidecar", api);
            CommandRun summaries = CommandRun.by("summary", "--json", "--sidecar", api + "/");

            for (CommandRun run : new CommandRun[] {top, once, json, summary, summaries}) {
                assertThat(run.code()).as(run.toString()).isEqualTo(ExitCode.OK);
                assertThat(run.err()).isEmpty();
            }
            assertThat(top.out())
                    .startsWith("holdfast top  " + api + "  ")
                    .contains(" ENGINE     HOLDING       EFFECT 95 % INTERVAL   HELD CACHE   RHO FOUND SIMUL.\n>main ")
                    .contains("main: ")
                    .doesNotContain("\u001b");
            assertThat(top.out().lines())
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(COLUMNS));
            JsonNode overview = new ObjectMapper().readTree(json.out());
            assertThat(overview.path("engines").path(0).path("verdict").asText())
                    .isEqualTo("cannot_tell");
            assertThat(summary.out())
                    .startsWith("Engine main is watched in a dry run, which touches nothing; ")
                    .contains("cannot tell yet");
            JsonNode told =
                    new ObjectMapper().readTree(summaries.out()).path("engines").path(0);
            assertThat(told.path("id").asText()).isEqualTo("main");
            assertThat(told.path("summary").asText()).endsWith(".");
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    @Test
    void whatDoesNotTell_isOneSentence() {
        for (String command : new String[] {"top", "summary"}) {
            assertThat(CommandRun.by(command, "--sidecar", "http://127.0.0.1:1").badInput())
                    .isEqualTo(
                            "holdfast: No sidecar answers at http://127.0.0.1:1; name where its API is with --sidecar,"
                                    + " or start it.");
            assertThat(CommandRun.by(command, "--sidecar", "ftp://127.0.0.1").badInput())
                    .contains("--sidecar is 'ftp://127.0.0.1'; write where its API is");
            assertThat(CommandRun.by(command, "--token-env", "HOLDFAST_NO_SUCH_TOKEN")
                            .badInput())
                    .contains("HOLDFAST_NO_SUCH_TOKEN");
        }
    }

    @Test
    void serverThatIsNoSidecar_isOneSentence() {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults())) {
            assertThat(CommandRun.by("top", "--sidecar", emulator.uri().toString())
                            .badInput())
                    .startsWith("holdfast: What answers at " + emulator.uri() + " does not report its engines (");
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    private SidecarConfig config(URI engine) {
        return SidecarConfig.parse(
                "{listen: {port: 0}, stateDirectory: '" + folder + "', engines: {main: {type: sglang, url: '" + engine
                        + "', backend: dry_run}}}",
                "test.yaml");
    }
}
