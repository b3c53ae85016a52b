package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.Child;
import io.holdfast.app.CommandRun;
import io.holdfast.app.Http;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ledger show} and {@code ledger release} as a person at a terminal meets them. */
class LedgerCommandTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String LISTENS = "holdfast sidecar listens on ";
    private static final int COLUMNS = 80;

    @TempDir
    private Path folder = Path.of("");

    private final Vertx vertx = Vertx.vertx();
    private Emulator emulator = start();

    private Emulator start() {
        return Emulator.start(
                vertx,
                EmulatorSettings.defaults()
                        .withVariant(Variant.PIN_GPU)
                        .withCapacityTokens(4096)
                        .withPrefillMicrosPerToken(0)
                        .withDecodeMillis(1));
    }

    @BeforeEach
    void writeConfiguration() throws IOException {
        Files.writeString(config(), """
            listen: {port: 0}
            stateDirectory: '%s'
            engines:
              main: {type: sglang, url: '%s', backend: pin_blocks, priming: false, maxOutputTokens: 16,
                 largestPromptTokens: 1024, readingsMillis: 50, tickMillis: 10}
            """.formatted(state(), emulator.uri()));
    }

    @AfterEach
    void close() {
        emulator.close();
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Path config() {
        return folder.resolve("holdfast.yaml");
    }

    private Path state() {
        return folder.resolve("state");
    }

    @Test
    void ledger_isShownAndReleased_besideASidecarAndWithout() throws IOException {
        try (Http engine = new Http(emulator.uri())) {
            try (Child child = Child.start("sidecar", "--config", config().toString())) {
                URI api = URI.create(child.line().substring(LISTENS.length()));
                try (Http sidecar = new Http(api)) {
                    hold(sidecar, engine, 1);
                }
                CommandRun shown = run("ledger", "show", "--config", config().toString());
                assertThat(shown.code()).as(shown.toString()).isEqualTo(ExitCode.OK);
                assertThat(shown.out())
                        .startsWith(state() + "\n\nmain: the engine at http://localhost:")
                        .contains("  In use by the sidecar at http://127.0.0.1:", "pin_blocks", "pinned")
                        .contains("1 pin in 1 entry (1 pinned), at most 32 blocks.")
                        .contains("That sidecar releases them; 'holdfast ledger release' asks it");

                CommandRun released = run("ledger", "release", "--state", state().toString());
                assertThat(released.code()).as(released.toString()).isEqualTo(ExitCode.OK);
                assertThat(released.out()).startsWith("main: 1 of 1 entry released, by the sidecar at " + api);
                assertThat(usedTokens(engine)).isZero();
                try (Http sidecar = new Http(api)) {
                    assertThat(sidecar.post("/api/v1/engines/main/resume", "").status())
                            .isEqualTo(200);
                    hold(sidecar, engine, 2);
                }
            }
            assertThat(usedTokens(engine)).isEqualTo(512);
            JsonNode ledger = JSON.readTree(run("ledger", "show", "--json", "--state", state().toString())
                            .out())
                    .path("ledgers")
                    .path(0);
            assertThat(ledger.path("inUse").asBoolean()).isFalse();
            assertThat(ledger.path("counts").path("pinned").asInt()).isEqualTo(1);
            assertThat(ledger.path("pins").path(0).path("since").asText()).contains("T");

            CommandRun alone = run("ledger", "release", "--state", state().toString());
            assertThat(alone.code()).as(alone.toString()).isEqualTo(ExitCode.OK);
            assertThat(alone.out())
                    .startsWith("main: 1 of 1 entry released, by holdfast ledger release itself.\n  released  hold ")
                    .contains("The next start asks again for 1 requested hold in");
            assertThat(usedTokens(engine)).isZero();
            assertThat(run("ledger", "release", "--state", state().toString()).out())
                    .startsWith("main: nothing is listed, so there was nothing to release.");
        }
    }

    @Test
    void releaseAtADeadEngine_leavesAllAndSaysWhatToDo() throws IOException {
        Files.createDirectories(state());
        Files.writeString(state().resolve("main.ledger"), """
            {"ledger":2,"address":"http://127.0.0.1:1","resolved":"http://127.0.0.1:1","model":"some/model"}
            {"step":"PINNED","holdId":7,"origin":"REQUESTED","backend":"session_hold","handle":"holdfast-7","lastBlock":1,"blocks":2}
            """);

        CommandRun shown = run("ledger", "show", "--state", state().toString());
        assertThat(shown.out())
                .contains("main: the engine at http://127.0.0.1:1 with model some/model\n  No sidecar has it in use.")
                .contains("session_hold  pinned         2  unknown      holdfast-7");
        CommandRun told = run("ledger", "release", "--state", state().toString());

        assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(told.out())
                .startsWith("""
                    main: 0 of 1 entry released, by holdfast ledger release itself.
                      LEFT      hold 7  session_hold  holdfast-7
                    """)
                .contains("the engine does not answer: Nothing listens at http://127.0.0.1:1")
                .contains("Start the engine and try again;");
    }

    @Test
    void withoutArguments_theUsualStateDirectoryIsShown() throws IOException {
        Map<String, String> variables = Map.of(
                "XDG_STATE_HOME", folder.toString(),
                "STATE_DIRECTORY", state().toString());
        CommandRun none = show(variables);
        assertThat(none.code()).isEqualTo(ExitCode.BAD_INPUT);
        assertThat(none.err())
                .startsWith(
                        "holdfast: There is no state directory " + state() + ", which is where a sidecar of this user")
                .contains("--config FILE");
        try (Child sidecar = Child.start(
                with(variables, "HOLDFAST_LISTEN_PORT", "0"), "sidecar", "--engine", "http://127.0.0.1:9")) {
            assertThat(sidecar.line()).startsWith(LISTENS);

            assertThat(show(variables).out())
                    .startsWith(state() + "\n(the usual state directory, since STATE_DIRECTORY says so)\n\nmain: ");
            assertThat(show(with(variables, "HOLDFAST_STATE_DIRECTORY", state().toString()))
                            .out())
                    .startsWith(state() + "\n(the usual state directory, since HOLDFAST_STATE_DIRECTORY says so)\n");
        }
    }

    private static Map<String, String> with(Map<String, String> variables, String name, String value) {
        Map<String, String> more = new HashMap<>(variables);
        more.put(name, value);
        return more;
    }

    private static CommandRun show(Map<String, String> variables) throws IOException {
        try (Child child = Child.start(variables, "ledger", "show")) {
            return child.ends();
        }
    }

    @Test
    void whatIsNotThere_isOneSentence() throws IOException {
        assertThat(CommandRun.by("ledger", "release", "--state", "a", "--config", "b")
                        .badInput())
                .endsWith("--state-directory and --config both name a state directory; give one of them.");
        assertThat(CommandRun.by("ledger", "show", "--state", state().toString())
                        .badInput())
                .startsWith("holdfast: There is no state directory " + state());
        Files.createDirectories(state());
        assertThat(CommandRun.by("ledger", "release", "--state", state().toString())
                        .badInput())
                .startsWith("holdfast: there is no ledger in " + state());
        Files.writeString(state().resolve("main.ledger"), "no ledger\n");
        assertThat(CommandRun.by("ledger", "show", "--state", state().toString())
                        .badInput())
                .startsWith("holdfast: Line 1 of the ledger ");
        assertThat(CommandRun.by("ledger", "show", "--engine-id", "other", "--state", state().toString())
                        .badInput())
                .startsWith("holdfast: --engine-id is 'other'; in ");
        assertThat(CommandRun.by("ledger", "release", "--wait", "0s", "--state", state().toString())
                        .badInput())
                .startsWith("holdfast: --wait is '0s'; write a time from 1 s");
        assertThat(CommandRun.by("ledger", "lend").badInput()).contains("unknown subcommand 'lend'");
    }

    private static CommandRun run(String... args) {
        CommandRun told = CommandRun.by(args);
        assertThat(told.err()).isEmpty();
        if (!told.out().startsWith("{")) {
            assertThat(told.out().lines().filter(line -> !line.contains("/")))
                    .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(COLUMNS));
        }
        return told;
    }

    private static void hold(Http sidecar, Http engine, int number) {
        sidecar.await("/readyz", answer -> answer.status() == 200);
        int[] other = {1_000 * number};
        sidecar.await("/api/v1/engines/main", seen -> {
            generate(engine, prompt(other[0]++, 32));
            return seen.json().path("blocks").asInt() > 0;
        });
        assertThat(engine.post("/flush_cache", "").status()).isEqualTo(200);
        sidecar.await(
                "/api/v1/engines/main",
                seen -> seen.json().path("certain").asBoolean()
                        && seen.json().path("blocks").asInt(-1) == 0);
        generate(engine, prompt(number, 512));
        Http.Answer answer = sidecar.post(
                "/api/v1/engines/main/holds",
                JSON.createObjectNode()
                        .put("leaseSeconds", 3600)
                        .set("tokens", JSON.valueToTree(prompt(number, 512)))
                        .toString());
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        sidecar.await(
                "/api/v1/engines/main/holds/" + answer.json().path("id").asText(),
                hold -> hold.json().path("state").asText().equals("held"));
    }

    private static int[] prompt(int number, int tokens) {
        return IntStream.range(0, tokens)
                .map(i -> 1_000 + number * 7 % 20_000 + i % 7)
                .toArray();
    }

    private static void generate(Http engine, int[] tokens) {
        Http.Answer answer = engine.post(
                "/generate",
                JSON.createObjectNode()
                        .<ObjectNode>set("input_ids", JSON.valueToTree(tokens))
                        .set("sampling_params", JSON.createObjectNode().put("max_new_tokens", 1))
                        .toString());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }

    private static double usedTokens(Http engine) {
        return engine.get("/metrics")
                .text()
                .lines()
                .filter(line -> line.startsWith("sglang:num_used_tokens"))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' '))))
                .sum();
    }
}
