package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The two commands that run until they are told to stop, in processes of their own. */
class ServerCommandsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String STANDS_BY = "holdfast sidecar stands by: another one has the state directory";
    private static final String LISTENS = "holdfast sidecar listens on ";
    private static final String LETS_GO = "holdfast sidecar releases its holds and ends" + System.lineSeparator();
    private static final int PREFIX_TOKENS = 512;
    /** What a process reports that SIGTERM ended after its own clean-up. */
    private static final int TERMINATED = 143;

    @TempDir
    private Path folder = Path.of("");

    @Test
    void emulate_saysWhereItServesAndStopsWhenAsked() throws IOException {
        try (Child child = Child.start("emulate", "--port", "0", "--events", "0")) {
            JsonNode ready = JSON.readTree(child.line());
            assertThat(ready.path("engine").asText()).isEqualTo("sglang");
            assertThat(ready.path("model").asText()).isEqualTo("holdfast-emulated");
            assertThat(ready.path("events").asText()).startsWith("tcp://127.0.0.1:");
            try (Http engine = new Http(url(ready))) {
                assertThat(engine.get("/health").status()).isEqualTo(200);
                JsonNode info = engine.get("/server_info").json();
                assertThat(info.path("max_total_num_tokens").asInt()).isEqualTo(24_576);
                assertThat(generate(engine, prompt(1))).isZero();
                assertThat(generate(engine, prompt(1))).isPositive();
            }

            CommandRun told = child.stop();

            assertThat(told).isEqualTo(new CommandRun(TERMINATED, "", ""));
        }
    }

    @Test
    void emulatedVllm_hasTheConnectorWhereItIsGivenASecret() throws IOException {
        Path secret = Files.writeString(folder.resolve("secret"), "sixteen letters and more\n");
        try (Child child = Child.start(
                        "emulate",
                        "--port",
                        "0",
                        "--events",
                        "0",
                        "--family",
                        "vllm",
                        "--connector-secret-file",
                        secret.toString(),
                        "--connector-share",
                        "0.5",
                        "--connector-max-ttl",
                        "60",
                        "--connector-give-way-after",
                        "0.1");
                Http engine = new Http(url(JSON.readTree(child.line())))) {
            String unproven = "{\"v\":1,\"op\":\"list\",\"at\":0,\"proof\":\"" + "0".repeat(64) + "\"}";
            JsonNode served = engine.post(
                            "/v1/completions",
                            "{\"prompt\":\"one\",\"kv_transfer_params\":{\"holdfast\":" + unproven + "}}")
                    .json();
            assertThat(served.at("/kv_transfer_params/holdfast"))
                    .isEqualTo(JSON.readTree("{\"v\":1,\"refused\":\"proof\"}"));
        }
    }

    @Test
    void emulatedNixl_answersByAReceipt() throws IOException {
        try (Child child = Child.start(
                        "emulate", "--port", "0", "--events", "0", "--family", "vllm", "--nixl-lease", "60");
                Http engine = new Http(url(JSON.readTree(child.line())))) {
            JsonNode served = engine.post(
                            "/v1/completions",
                            "{\"prompt\":\"one\",\"kv_transfer_params\":{\"do_remote_decode\":true}}")
                    .json();
            assertThat(served.at("/kv_transfer_params/remote_engine_id").asText())
                    .isNotEmpty();
        }
    }

    @Test
    void sidecar_releasesWhatItHoldsBeforeItEnds() throws IOException {
        try (Child emulator = Child.start(
                        "emulate",
                        "--port",
                        "0",
                        "--events",
                        "0",
                        "--variant",
                        "pin-gpu",
                        "--prefill-us-per-token",
                        "0",
                        "--decode-ms",
                        "1");
                Http engine = new Http(url(JSON.readTree(emulator.line())));
                Child child = Child.start("sidecar", "--config", config(engine).toString())) {
            String line = child.line();
            assertThat(line).startsWith(LISTENS + "http://127.0.0.1:");
            try (Http sidecar = new Http(URI.create(line.substring(LISTENS.length())))) {
                assertThat(sidecar.get("/livez").status()).isEqualTo(200);
                sidecar.await("/readyz", answer -> answer.status() == 200);
                meet(sidecar, engine);
                generate(engine, prompt(0));
                hold(sidecar, prompt(0));
                assertThat(usedTokens(engine)).isEqualTo(PREFIX_TOKENS);
            }

            CommandRun told = child.stop();

            assertThat(told.code()).isEqualTo(TERMINATED);
            assertThat(told.out()).isEqualTo(LETS_GO);
            // The configuration, and what a person should know of the engine; nothing else.
            assertThat(told.err().lines())
                    .allSatisfy(said -> assertThat(said).contains(" INFO "))
                    .anySatisfy(said -> assertThat(said).endsWith(" configuration"))
                    .anySatisfy(said -> assertThat(said).contains("Engine main pin of hold 1"))
                    .anySatisfy(said -> assertThat(said).contains("Engine main unpin of hold 1"))
                    .noneSatisfy(said -> assertThat(said).contains("Exception"));
            assertThat(usedTokens(engine)).isZero();
            assertThat(emulator.stop()).isEqualTo(new CommandRun(TERMINATED, "", ""));
        }
    }

    /** With one configuration, port and all. */
    @Test
    @SuppressWarnings("try") // the first has to end before the block does
    void sidecarOnStandby_servesWhenTheOtherHasEnded_andEndsWhenItIsToldTo() throws Exception {
        try (Child emulator = Child.start("emulate", "--port", "0", "--events", "0");
                Http engine = new Http(url(JSON.readTree(emulator.line())))) {
            String config = config(engine).toString();
            try (Child first = Child.start("sidecar", "--config", config)) {
                assertThat(first.line()).startsWith(LISTENS);
                try (Child second = Child.start("sidecar", "--config", config, "--standby");
                        Child third = Child.start("sidecar", "--config", config, "--standby")) {
                    assertThat(second.line()).isEqualTo(STANDS_BY);
                    assertThat(third.line()).isEqualTo(STANDS_BY);
                    assertThat(third.stop()).isEqualTo(new CommandRun(TERMINATED, "", ""));
                    // There is nothing to reload yet, and nothing to end either.
                    second.signal("HUP");
                    first.close();
                    assertThat(second.line()).startsWith(LISTENS);
                }
            }
        }
    }

    @Test
    void printedExample_isSound() throws IOException {
        CommandRun example = CommandRun.by("sidecar", "--print-example");
        assertThat(example.code()).isEqualTo(ExitCode.OK);
        assertThat(example.err()).isEmpty();
        Path file = Files.writeString(folder.resolve("example.yaml"), example.out());

        CommandRun told = CommandRun.by("sidecar", "--check-config", "--config", file.toString());

        assertThat(told).isEqualTo(new CommandRun(ExitCode.OK, file + " is valid." + System.lineSeparator(), ""));
    }

    @Test
    void checkOfAnUnsoundConfiguration_saysWhatIsWrong() throws IOException {
        String example = CommandRun.by("sidecar", "--print-example").out();
        Path file = Files.writeString(folder.resolve("wrong.yaml"), example.replace("share: 0.5", "share: 1.5"));

        assertThat(CommandRun.by("sidecar", "--check-config", "--config", file.toString())
                        .badInput())
                .contains("engines.main.share is '1.5'");
    }

    @Test
    void fileOfAnEarlierVersion_isPrintedInTheNewForm() throws IOException {
        Path file = Files.writeString(
                folder.resolve("old.yaml"),
                "stateDirectory: '" + folder.resolve("state")
                        + "'\nengines:\n  - {id: main, type: sglang, url: 'http://127.0.0.1:1'}\n");
        assertThat(CommandRun.by("sidecar", "--check-config", "--config", file.toString())
                        .badInput())
                .contains("'holdfast sidecar --print-config --from-old " + file + "'");

        CommandRun printed = CommandRun.by("sidecar", "--print-config", "--from-old", file.toString());

        assertThat(printed.out()).endsWith("""
            engines:
              main:
                type: sglang
                url: http://127.0.0.1:1
            """);
        Files.writeString(file, printed.out());
        assertThat(CommandRun.by("sidecar", "--check-config", "--config", file.toString())
                        .code())
                .isEqualTo(ExitCode.OK);
        assertThat(CommandRun.by("sidecar", "--from-old", file.toString()).badInput())
                .contains("--from-old prints a file in another form; add --print-config.");
    }

    private Path config(Http engine) throws IOException {
        return Files.writeString(
                folder.resolve("sidecar.yaml"), """
                    listen: {port: 0}
                    stateDirectory: '%s'
                    engines:
                      main: {type: sglang, url: '%s', maxOutputTokens: 16, largestPromptTokens: 1024,
                         readingsMillis: 50, tickMillis: 10}
                    """.formatted(folder.resolve("state"), engine.server()));
    }

    /** Waits until the sidecar hears the engine, then empties the cache so that it knows all of it. */
    private static void meet(Http sidecar, Http engine) {
        int[] number = {1};
        sidecar.await("/api/v1/engines/main", seen -> {
            generate(engine, prompt(number[0]++));
            return seen.json().path("blocks").asInt() > 0;
        });
        assertThat(engine.post("/flush_cache", "").status()).isEqualTo(200);
        sidecar.await(
                "/api/v1/engines/main",
                seen -> seen.json().path("certain").asBoolean()
                        && seen.json().path("blocks").asInt(-1) == 0);
    }

    private static void hold(Http sidecar, int[] tokens) {
        Http.Answer answer = sidecar.post(
                "/api/v1/engines/main/holds",
                JSON.createObjectNode()
                        .put("leaseSeconds", 3600)
                        .set("tokens", JSON.valueToTree(tokens))
                        .toString());
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        String id = answer.json().path("id").asText();
        sidecar.await(
                "/api/v1/engines/main/holds/" + id,
                hold -> hold.json().path("state").asText().equals("held"));
    }

    private static int[] prompt(int number) {
        return IntStream.range(0, PREFIX_TOKENS)
                .map(i -> 1_000 + number * 577 + i % 7)
                .toArray();
    }

    /** Has the prompt served and answers how many of its tokens were cached. */
    private static int generate(Http engine, int[] tokens) {
        Http.Answer answer = engine.post(
                "/generate",
                JSON.createObjectNode()
                        .<ObjectNode>set("input_ids", JSON.valueToTree(tokens))
                        .set("sampling_params", JSON.createObjectNode().put("max_new_tokens", 1))
                        .toString());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json().path("meta_info").path("cached_tokens").asInt();
    }

    /** Tokens that cannot be evicted; while nothing runs these are the pinned ones. */
    private static int usedTokens(Http engine) {
        Matcher line = Pattern.compile("(?m)^sglang:num_used_tokens(\\{[^}]*})? (\\S+)$")
                .matcher(engine.get("/metrics").text());
        assertThat(line.find()).isTrue();
        return (int) Double.parseDouble(line.group(2));
    }

    private static URI url(JsonNode ready) {
        return URI.create(ready.path("url").asText());
    }
}
