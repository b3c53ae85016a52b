package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.rules.vllm.Connector;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sidecar's process as whoever runs it meets it: flags, variables, signals, what it prints. */
class SidecarProcessTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String LISTENS = "holdfast sidecar listens on ";
    private static final String NOBODY = "http://127.0.0.1:9";
    private static final int TERMINATED = 143;

    @TempDir
    private Path folder = Path.of("");

    private Path write(String engines) throws IOException {
        return Files.writeString(
                folder.resolve("sidecar.yaml"),
                "listen: {port: 0}\nstateDirectory: '" + folder.resolve("state") + "'\nengines: {" + engines + "}\n");
    }

    private static String engine(String id, int port) {
        return id + ": {type: sglang, url: 'http://127.0.0.1:" + port + "'}";
    }

    private static int vacant() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private static URI served(Child child) throws IOException {
        String line = child.line();
        assertThat(line).startsWith(LISTENS);
        return URI.create(line.substring(LISTENS.length()));
    }

    @Test
    void hangUp_reloadsAndTheProcessGoesOn() throws Exception {
        Path file = write(engine("a", 9));
        try (Child child = Child.start("sidecar", "--config", file.toString());
                Http sidecar = new Http(served(child))) {
            write(engine("a", 9) + ", " + engine("b", 10));
            child.signal("HUP");
            sidecar.await("/api/v1/engines/b", answer -> answer.status() == 200);

            write(engine("a", 9) + ", b: {share: 7}");
            child.signal("HUP");
            sidecar.await("/readyz", answer -> answer.text().contains("the new configuration is rejected: "));
            assertThat(sidecar.get("/api/v1/engines/b").status()).isEqualTo(200);

            CommandRun told = child.stop();

            assertThat(told.code()).isEqualTo(TERMINATED);
            assertThat(told.err())
                    .contains("Reloaded: added b.")
                    .contains("Nothing is reloaded: ")
                    .contains("engines.b.type is missing");
        }
    }

    @Test
    void process_startsWithoutAFile() throws IOException {
        Map<String, String> variables = Map.of(
                "HOLDFAST_ENGINES_GPU_TYPE", "vllm",
                "HOLDFAST_ENGINES_GPU_URL", "http://127.0.0.1:10",
                "HOLDFAST_LISTEN_PORT", "0",
                "XDG_STATE_HOME", folder.toString(),
                "STATE_DIRECTORY", folder.resolve("given").toString());
        try (Child child = Child.start(variables, "sidecar", "--engine", NOBODY);
                Http sidecar = new Http(served(child))) {
            JsonNode engines = sidecar.get("/api/v1/engines").json().path("engines");
            assertThat(engines).extracting(each -> each.path("id").asText()).containsExactly("gpu", "main");
            assertThat(folder.resolve("given").resolve("main.ledger")).exists();

            CommandRun told = child.stop();

            assertThat(told.err()).contains("engines.gpu.type = vllm (HOLDFAST_ENGINES_GPU_TYPE)");
        }
    }

    /** A container whose root is read-only: the state directory is all that it can write. */
    @Test
    void temporaryFolderThatCannotBeWritten_isNotNeeded() throws IOException {
        Path noFolder = Files.writeString(folder.resolve("file"), "");
        Path file = write(engine("a", 9));
        try (Child child = Child.start(
                        Map.of("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + noFolder),
                        "sidecar",
                        "--config",
                        file.toString());
                Http sidecar = new Http(served(child))) {
            assertThat(sidecar.get("/livez").status()).isEqualTo(200);
            CommandRun told = child.stop();
            assertThat(told.out()).as(told.toString()).contains("releases its holds and ends");
        }
    }

    @Test
    void log_isOneObjectALineWhereThatIsAskedFor() throws IOException {
        Path file = write(engine("a", 9));
        try (Child child = Child.start(
                        "sidecar", "--config", file.toString(), "--log-level", "info", "--log-format", "json");
                Http sidecar = new Http(served(child))) {
            assertThat(sidecar.get("/startupz").status()).isEqualTo(200);
            CommandRun told = child.stop();

            assertThat(told.err().lines()).isNotEmpty();
            for (String line : told.err().lines().toList()) {
                JsonNode event = JSON.readTree(line);
                assertThat(event.path("formattedMessage").asText()).as(line).isNotEmpty();
                assertThat(event.path("level").asText()).as(line).isNotEmpty();
            }
            assertThat(told.err()).contains("The sidecar looks after [a]").contains("engines.a.url = ");
        }
    }

    @Test
    void log_isLinesWithTheirDateWhereNoTerminalIs() throws IOException {
        Path file = write(engine("a", 9));
        for (Map<String, String> variables : List.of(Map.<String, String>of(), Map.of("HOLDFAST_LOG_FORMAT", "auto"))) {
            try (Child child = Child.start(variables, "sidecar", "--config", file.toString());
                    Http sidecar = new Http(served(child))) {
                assertThat(sidecar.get("/startupz").status()).isEqualTo(200);
                CommandRun told = child.stop();

                assertThat(told.err().lines())
                        .allSatisfy(line -> assertThat(line)
                                .matches("[0-9]{4}(-[0-9]{2}){2}T[0-9:.]{12}([+-][0-9]{2}:[0-9]{2}|Z)"
                                        + " (INFO|WARN|ERROR) +.+"));
                assertThat(told.err()).contains(" INFO  listen.port = 0 (").contains("sidecar.yaml:1)");
            }
        }
    }

    /** The log of a start with nothing but a wrong address. */
    @Test
    void engineThatIsNotThere_isInTheLogByDefault() throws Exception {
        try (Child child =
                Child.start("sidecar", "--engine", NOBODY, "--port", "0", "--state-directory", folder.toString())) {
            assertThat(child.line()).startsWith(LISTENS);

            String told = child.errorLine("does not answer");

            assertThat(told)
                    .contains(" WARN  Engine main does not answer: ")
                    .contains("Nothing listens at " + NOBODY + ": is the engine running?")
                    .endsWith("see that it runs, and that engines.main.url is its address.");
        }
    }

    /** The two may start in either order, and the address alone does not say which family it will be. */
    @Test
    void engineThatStartsLater_isFollowedAsTheOneThatItIs() throws Exception {
        Vertx vertx = Vertx.vertx();
        int port = vacant();
        int events = vacant();
        try (Child child = Child.start(
                        "sidecar",
                        "--engine",
                        "http://127.0.0.1:" + port,
                        "--port",
                        "0",
                        "--set",
                        "engines.main.events=tcp://127.0.0.1:" + events,
                        "--state-directory",
                        folder.toString());
                Http sidecar = new Http(served(child))) {
            sidecar.await("/readyz", answer -> answer.text().contains("Nothing listens"));

            EmulatorSettings vllm = EmulatorSettings.defaults()
                    .withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()))
                    .withEndpoints(new Endpoints(Endpoints.LOOPBACK, port, events, OptionalInt.empty()));
            try (Emulator _ = Emulator.start(vertx, vllm)) {
                assertThat(child.errorLine("engines.main.type = ")).endsWith("sglang (--engine)");
                assertThat(child.errorLine("engines.main.type = ")).endsWith("vllm (--engine)");
                sidecar.await("/readyz", answer -> answer.status() == 200);
                sidecar.await(
                        "/api/v1/engines/main/readings", answer -> answer.text().contains("vllm:"));
            }
        } finally {
            vertx.close().await();
        }
    }

    /** A held prefix stays through floods, and is evicted by the next one once it is released. */
    @Test
    void vllmWithTheConnector_keepsWhatIsHeld_andTheSecretIsInNothingThatIsPrinted() throws Exception {
        Vertx vertx = Vertx.vertx();
        String secret = "c0ffee-secret-token-c0ffee";
        // 128 blocks of 16 tokens, a quarter of which may be held.
        VllmSettings settings =
                VllmSettings.defaults().withSizes(129, 16, 1_024).withConnector(Connector.of(secret));
        try (Emulator vllm = Emulator.start(
                        vertx, EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(settings)));
                Child child = Child.start(
                        Map.of("MY_SECRET", secret),
                        "sidecar",
                        "--engine",
                        vllm.uri().toString(),
                        "--port",
                        "0",
                        "--set",
                        "engines.main.events=" + vllm.eventsEndpoint(),
                        "--set",
                        "engines.main.connectorSecretEnv=MY_SECRET",
                        "--set",
                        "engines.main.automaticHolds=false",
                        "--state-directory",
                        folder.toString(),
                        "--log-level",
                        "debug");
                Http sidecar = new Http(served(child));
                Http engine = new Http(vllm.uri())) {
            sidecar.await("/readyz", answer -> answer.status() == 200);
            int[] prefix = IntStream.range(1_000, 1_256).toArray();
            assertThat(cached(engine, prefix)).isZero();
            String hold = sidecar.post(
                            "/api/v1/engines/main/holds",
                            "{\"tokens\":" + Arrays.toString(prefix) + ",\"leaseSeconds\":600}")
                    .json()
                    .path("id")
                    .asText();
            sidecar.await(
                    "/api/v1/engines/main/holds/" + hold,
                    answer -> answer.json().path("state").asText().equals("held"));

            flood(engine, 1);
            assertThat(cached(engine, prefix)).isGreaterThanOrEqualTo(240);
            flood(engine, 2);
            assertThat(cached(engine, prefix)).isGreaterThanOrEqualTo(240);

            assertThat(sidecar.delete("/api/v1/engines/main/holds/" + hold).status())
                    .isEqualTo(200);
            flood(engine, 3);
            assertThat(cached(engine, prefix)).isZero();

            CommandRun told = child.stop();
            assertThat(told.code()).isEqualTo(TERMINATED);
            assertThat(told.out() + told.err()).contains("vllm_connector").doesNotContain(secret);
        } finally {
            vertx.close().await();
        }
    }

    @Test
    void vllmWithNixl_keepsWhatIsHeld_andNothingIsLeftOneLeaseAfterTheSidecarIsKilled() throws Exception {
        Vertx vertx = Vertx.vertx();
        VllmSettings settings = VllmSettings.defaults().withSizes(129, 16, 512).withNixlLease(Duration.ofSeconds(15));
        try (Emulator vllm = Emulator.start(
                        vertx, EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(settings)));
                Http engine = new Http(vllm.uri())) {
            CommandRun doctor = CommandRun.by(
                    "doctor", "--engine", vllm.uri().toString(), "--events", vllm.eventsEndpoint(), "--wait", "0s");
            assertThat(doctor.out()).contains("nixl_lease     The engine runs NIXL", "would hold with keep_warm");
            assertThat(engine.get("/metrics").text())
                    .as("doctor leased nothing")
                    .containsPattern("kv_cache_usage_perc\\{[^}]*} 0.0\n");
            String receipt = engine.post(
                            "/v1/completions",
                            "{\"model\":\"holdfast-emulated\",\"max_tokens\":1,\"prompt\":[1,2],"
                                    + "\"kv_transfer_params\":{\"do_remote_decode\":true}}")
                    .json()
                    .path("kv_transfer_params")
                    .path("remote_engine_id")
                    .asText();
            assertThat(receipt).isNotEmpty();
            int[] prefix = IntStream.range(1_000, 1_256).toArray();
            CommandRun told;
            try (Child child = Child.start(
                            "sidecar",
                            "--engine",
                            vllm.uri().toString(),
                            "--port",
                            "0",
                            "--set",
                            "engines.main.events=" + vllm.eventsEndpoint(),
                            "--set",
                            "engines.main.backend=nixl_lease",
                            "--set",
                            "engines.main.nixlLeaseSeconds=15",
                            "--state-directory",
                            folder.toString(),
                            "--log-level",
                            "debug");
                    Http sidecar = new Http(served(child))) {
                sidecar.await("/readyz", answer -> answer.status() == 200);
                assertThat(cached(engine, prefix)).isZero();
                String hold = sidecar.post(
                                "/api/v1/engines/main/holds",
                                "{\"tokens\":" + Arrays.toString(prefix) + ",\"leaseSeconds\":600}")
                        .json()
                        .path("id")
                        .asText();
                sidecar.await(
                        "/api/v1/engines/main/holds/" + hold,
                        answer -> answer.json().path("state").asText().equals("held"));
                for (int i = 1; i <= 3; i++) {
                    flood(engine, i);
                    assertThat(cached(engine, prefix)).isGreaterThanOrEqualTo(240);
                }
                assertThat(sidecar.delete("/api/v1/engines/main/holds/" + hold).text())
                        .contains("cannot be released before its time runs out, 15 s after its last renewal");
                told = child.stop("KILL");
            }
            assertThat(told.out() + told.err()).contains("nixl_lease").doesNotContain(receipt);
            engine.await(
                    "/metrics",
                    page -> page.text().contains("kv_cache_usage_perc{")
                            && Pattern.compile("kv_cache_usage_perc\\{[^}]*} 0.0\n")
                                    .matcher(page.text())
                                    .find());
            flood(engine, 4);
            assertThat(cached(engine, prefix)).isZero();
        } finally {
            vertx.close().await();
        }
    }

    /** Fills the cache one and a half times, each time with other prompts. */
    private static void flood(Http engine, int number) {
        for (int i = 0; i < 12; i++) {
            int first = 5_000 * number + 256 * i;
            cached(engine, IntStream.range(first, first + 256).toArray());
        }
    }

    private static int cached(Http engine, int[] prompt) {
        Http.Answer answer = engine.post(
                "/v1/completions",
                "{\"model\":\"holdfast-emulated\",\"max_tokens\":1,\"prompt\":" + Arrays.toString(prompt) + "}");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json()
                .path("usage")
                .path("prompt_tokens_details")
                .path("cached_tokens")
                .asInt();
    }

    @Test
    void secrets_areInNothingThatIsPrinted() throws Exception {
        String secret = "c0ffee-secret-token-c0ffee";
        Path file = write("a: {type: sglang, url: '" + NOBODY + "', apiKeyEnv: MY_KEY}");
        Map<String, String> variables = Map.of("MY_TOKEN", secret, "MY_KEY", secret + "-key");
        String[] command = {
            "sidecar", "--config", file.toString(), "--set", "listen.actTokenEnv=MY_TOKEN", "--log-level", "debug"
        };
        try (Child child = Child.start(variables, command);
                Http sidecar = new Http(served(child))) {
            sidecar.await("/readyz", answer -> answer.text().contains("Nothing listens"));
            child.signal("HUP");
            String seen = sidecar.get("/api/v1/engines").text()
                    + sidecar.get("/metrics").text();
            CommandRun told = child.stop();

            assertThat(told.out() + told.err() + seen).doesNotContain(secret);
            assertThat(told.err()).contains("listen.actTokenEnv = MY_TOKEN (--set listen.actTokenEnv)");
        }
        try (Child printed = Child.start(
                variables,
                "sidecar",
                "--config",
                file.toString(),
                "--print-config",
                "--set",
                "listen.actTokenEnv=MY_TOKEN")) {
            CommandRun told = printed.ends();
            assertThat(told.out()).contains("actTokenEnv: MY_TOKEN").doesNotContain(secret);
            assertThat(told.code()).isEqualTo(ExitCode.OK);
        }
    }

    @Test
    void check_saysWhatIsMissingOnThisMachine() throws IOException {
        Path file = write("a: {type: sglang, url: '" + NOBODY + "', apiKeyEnv: MY_KEY}");

        assertThat(CommandRun.by("sidecar", "--check-config", "--config", file.toString())
                        .badInput())
                .isEqualTo(
                        "holdfast: The environment variable MY_KEY, which engines.a.apiKeyEnv names, is not set; set it"
                                + " or leave apiKeyEnv out.");
        try (Child sound =
                Child.start(Map.of("MY_KEY", "k"), "sidecar", "--check-config", "--config", file.toString())) {
            assertThat(sound.ends())
                    .isEqualTo(new CommandRun(ExitCode.OK, file + " is valid." + System.lineSeparator(), ""));
        }
    }

    @Test
    void nothingAtAll_saysWhatToWrite() throws IOException {
        assertThat(Child.tells("sidecar").badInput())
                .isEqualTo(
                        "holdfast: the sidecar needs --config FILE or --engine URL; 'holdfast sidecar --print-example'"
                                + " prints a file to start from.");
        assertThat(CommandRun.by("sidecar", "--set", "listen.port").badInput())
                .startsWith("holdfast: --set is 'listen.port'; write KEY=VALUE");
        assertThat(CommandRun.by("sidecar", "--engine", NOBODY, "--log-format", "xml")
                        .badInput())
                .isEqualTo("holdfast: --log-format is 'xml'; write auto or json or text.");
        assertThat(CommandRun.by("sidecar", "--engine", NOBODY, "--log-level", "loud")
                        .badInput())
                .startsWith("holdfast: --log-level is 'loud'; write ");
    }

    @Test
    void processBesideAnEngineThatHangs_ends() throws IOException {
        Vertx vertx = Vertx.vertx();
        try {
            // It takes every request and answers none.
            HttpServer silent = vertx.createHttpServer()
                    .requestHandler(request -> {})
                    .listen(0, "127.0.0.1")
                    .toCompletionStage()
                    .toCompletableFuture()
                    .join();
            try (Child child = Child.start(
                            "sidecar",
                            "--config",
                            write(engine("a", silent.actualPort())).toString());
                    Http sidecar = new Http(served(child))) {
                assertThat(sidecar.get("/readyz").status()).isEqualTo(503);

                CommandRun told = child.stop();

                assertThat(told.code()).isEqualTo(TERMINATED);
                assertThat(told.out()).contains("releases its holds and ends");
            }
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }
}
