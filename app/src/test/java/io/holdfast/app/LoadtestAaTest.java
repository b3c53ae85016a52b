package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code loadtest aa} as people call it, beside emulated engines and servers that are none. */
class LoadtestAaTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String[] SMALL = ("--prefix-tokens 96 --suffix-tokens 8 --flood-requests 2 --flood-tokens 32"
                    + " --cycles 1 --output-tokens 2")
            .split(" ", -1);

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        vertx.close().await();
    }

    @Test
    void figures_comeWithIntervalsAndWithoutAVerdict() {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = aa(emulator, "--pairs", "12", "--journal", journal());
            assertThat(told.code()).isEqualTo(ExitCode.OK);
            assertThat(told.out())
                    .contains(
                            "model holdfast-emulated",
                            "12 pairs that count and one before them: 26 legs",
                            "texts of each leg begin with a salt",
                            "order bias",
                            "spread of a pair")
                    .contains("that 5 pairs of each order could see", "of 12 pairs stand")
                    .doesNotContain("VERDICT", "REAL", "NO_EFFECT", "INCONCLUSIVE", "unknown");
            CommandRun again = CommandRun.by("loadtest", "analyze", journal());
            assertThat(again.code()).isEqualTo(ExitCode.OK);
            assertThat(told.out()).endsWith(again.out());
            assertThat(CommandRun.by("loadtest", "report", journal()).badInput())
                    .contains("is that of 'loadtest aa', which has no verdict to report");
            assertThat(CommandRun.by("loadtest", "analyze", journal(), "--expect", "REAL")
                            .badInput())
                    .contains("finds nothing to be expected; leave --expect out.");
        }
    }

    @Test
    void fewerThanFourPairs_areInconclusive() throws IOException {
        try (Emulator emulator = Emulator.start(
                vertx, QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults())))) {
            CommandRun told = aa(emulator, "--pairs", "3", "--journal", journal(), "--json", "--api", "chat");
            assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
            JsonNode document = JSON.readTree(told.out());
            assertThat(JsonSchemas.complaints(JsonSchemas.CONTROL, document)).isEmpty();
            assertThat(document.path("enoughPairs").asBoolean(true)).isFalse();
            assertThat(document.path("plannedPairs").asInt()).isEqualTo(3);
            assertThat(document.path("salted").asBoolean()).isTrue();
            assertThat(document.path("orderBias").has("percent")).isTrue();
            assertThat(document.path("smallestEffect").path("pairsOfEachOrder").asInt())
                    .isEqualTo(5);
            assertThat(document.has("verdict")).isFalse();
            assertThat(told.err()).contains("about");
        }
    }

    @Test
    void plan_saysWhatWouldBeSentAndWritesNothing() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            CommandRun told = aa(emulator, "--plan", "--json", "--journal", journal());
            assertThat(told.code()).isEqualTo(ExitCode.OK);
            JsonNode plan = JSON.readTree(told.out());
            assertThat(plan.path("legs").asInt()).isEqualTo(18);
            assertThat(plan.path("requests").asInt()).isEqualTo(18 * 4);
            assertThat(plan.path("estimatedSeconds").asInt()).isPositive();
            assertThat(told.err()).isEmpty();
            assertThat(aa(emulator, "--plan").out()).contains("18 legs, 72 requests of");
            assertThat(folder).isEmptyDirectory();
        }
    }

    @Test
    void addressWithVersion_isTheSameServer() {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            assertThat(aa(emulator.uri() + "/v1/", "--plan").code()).isEqualTo(ExitCode.OK);
        }
    }

    @Test
    void modelThatIsNotServed_isNamed() {
        try (Emulator emulator = Emulator.start(
                vertx, QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults())))) {
            assertThat(aa(emulator, "--model", "nosuch").badInput())
                    .contains("The model `nosuch` does not exist")
                    .endsWith("; ask for a model that it serves: --model, or 'path' of the model in --config.");
        }
    }

    @Test
    void serverThatIsNoEngine_isNamedAtOnce() {
        HttpServer other = vertx.createHttpServer()
                .requestHandler(request -> request.response().setStatusCode(404).end("<html>nothing here</html>"))
                .listen(0, "127.0.0.1")
                .await();
        assertThat(aa("http://127.0.0.1:" + other.actualPort()).badInput())
                .endsWith(
                        "is not ready: POST /v1/completions was answered with 404; check that the address is that of an"
                                + " inference server and that it has this route.");
    }

    @Test
    void serverWithoutChat_isNamedWithTheRoute() {
        HttpServer textOnly = vertx.createHttpServer()
                .requestHandler(request -> request.response()
                        .setStatusCode("/v1/models".equals(request.path()) ? 200 : 404)
                        .end("/v1/models".equals(request.path()) ? "{\"data\":[{\"id\":\"m\"}]}" : ""))
                .listen(0, "127.0.0.1")
                .await();
        assertThat(aa("http://127.0.0.1:" + textOnly.actualPort(), "--api", "chat")
                        .badInput())
                .contains("POST /v1/chat/completions was answered with 404; check that the address");
    }

    @Test
    void requestThatDoesNotFitTheContext_isNamed() {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            List<String> args = new ArrayList<>(
                    List.of("loadtest", "aa", "--engine", emulator.uri().toString()));
            args.addAll(List.of("--prefix-tokens", "4000", "--plan"));
            assertThat(CommandRun.by(args.toArray(String[]::new)).badInput())
                    .contains("A request of the workload failed before the load began: the engine answered 400");
        }
    }

    private String journal() {
        return folder.resolve("aa.jsonl").toString();
    }

    private static CommandRun aa(Emulator emulator, String... options) {
        return aa(emulator.uri().toString(), options);
    }

    private static CommandRun aa(String url, String... options) {
        List<String> args = new ArrayList<>(List.of("loadtest", "aa", "--engine", url));
        args.addAll(List.of(SMALL));
        args.addAll(List.of(options));
        return CommandRun.by(args.toArray(String[]::new));
    }
}
