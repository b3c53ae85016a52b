package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whatever is wrong with the input: exit code 2, one sentence on the error stream, and not a word beside it. */
class BadInputTest {
    private static final String NOBODY = "http://127.0.0.1:1";

    @TempDir
    private Path folder = Path.of("");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "emulate --family nosuch|--family is 'nosuch'; there are sglang, vllm and tensorrt_llm.",
                "doctor|'--engine=URL'; see 'holdfast doctor --help'.",
                "doctor --engine nosuch|--engine is 'nosuch'; write the address of the engine's HTTP server,",
                "doctor --engine http://127.0.0.1:1 --type nosuch|--type is 'nosuch'; write sglang, vllm or"
                        + " tensorrt_llm, or leave it out.",
                "emulate --family tensorrt_llm --hash-seed 0|--hash-seed is for --family vllm, and this is"
                        + " tensorrt_llm",
                "doctor --engine http://127.0.0.1:1 --wait long|--wait is 'long'; write a time from 0 s to 720h, such",
                "doctor --engine http://127.0.0.1:1 --wait 1h|--wait is '1h'; wait at most 1m.",
                "doctor --engine http://127.0.0.1:1|Nothing listens at http://127.0.0.1:1: start the engine, or write"
                        + " another --engine.",
                "observe --engine http://127.0.0.1:1|Nothing listens at http://127.0.0.1:1: start the engine, or write"
                        + " another --engine.",
                "observe --engine http://127.0.0.1:1 --events nosuch|--events is 'nosuch'; write where the engine"
                        + " publishes KV events,",
                "observe --engine http://127.0.0.1:1 --for soon|--for is 'soon'; write a time from 1 s to 720h, such",
                "observe --engine http://127.0.0.1:1 --api-key-env a=b|--api-key-env is not the name of an environment"
                        + " variable;",
                "observe --engine http://127.0.0.1:1 --record /|--record is /, a directory; name a file in it.",
                "emulate --variant nosuch|--variant is 'nosuch'; there are stock, pin-gpu, pin-host.",
                "emulate --eviction nosuch|--eviction is 'nosuch'; there are lru, lfu, slru, priority.",
                "emulate --hash-algo nosuch --family vllm|There is no hash algorithm 'nosuch'; there are sha256,",
                "emulate --hash-seed 0|--hash-seed is for --family vllm, and this is sglang; leave it out.",
                "emulate --family vllm --capacity-tokens 64|--capacity-tokens is for --family sglang, and this is"
                        + " vllm;",
                "emulate --family vllm --blocks 4 --context-tokens 4096|blocks times blockTokens must be at least"
                        + " contextTokens, or the longest",
                "emulate --connector-share 0.5|--connector-share is for --family vllm, and this is sglang; leave it"
                        + " out.",
                "emulate --family vllm --connector-share 0.5|The other options of the connector do nothing without it;"
                        + " give --connector-secret-file too.",
                "emulate --family vllm --connector-secret-file nosuch|The connector's secret nosuch cannot be read as"
                        + " text: nosuch.",
                "emulate --family vllm --connector-secret-file /dev/null --connector-share 1|The connector's share must"
                        + " be above 0 and at most 0.9, not 1.0.",
                "emulate --events nosuch|--events is 'nosuch'; it must be a port or tcp://HOST:PORT, such as",
                "emulate --replay tcp://10.0.0.1:9|--replay names the host '10.0.0.1', and --host is '127.0.0.1';",
                "emulate --speed 0|The scale of time must be above 0, not 0.0.",
                "emulate --script nosuch|The script nosuch cannot be read as text: nosuch.",
                "emulate --capacity-tokens -16|capacityTokens must be at least 16 and whole pages of 16 tokens, not"
                        + " -16.",
                "emulate --capacity-tokens 100|capacityTokens must be at least 16 and whole pages of 16 tokens, not"
                        + " 100.",
                "emulate --page-size 0|pageTokens must be at least 1, not 0.",
                "emulate --context-tokens 1|contextTokens must be at least 16, not 1.",
                "emulate --decode-ms -1|must not be negative.",
                "emulate --max-running 0|maxRunning must be at least 1, not 0.",
                "emulate --port 70000|httpPort must be 0 (a free one) to 65535, not 70000.",
                "emulate --port nosuch|'--port': 'nosuch' is not an int; see 'holdfast emulate --help'.",
                "emulate --fault nosuch|There is no fault \"nosuch\"; there are api-key, auto-unpin,",
                "emulate --fault warming=0|The fault warming=REQUESTS wants REQUESTS as",
                "loadtest aa|'--engine=URL'; see 'holdfast loadtest aa --help'.",
                "loadtest preset pin-poc --port 99999 --out nosuch|--port is 1 to 65535, not 99999.",
                "loadtest aa --engine nosuch|--engine is 'nosuch'; write an address such as http://127.0.0.1:30000.",
                "loadtest aa --engine http://127.0.0.1:1 --pairs 0|--pairs is 1 to 1000, not 0.",
                "loadtest aa --engine http://127.0.0.1:1 --api nosuch|[completions, chat]",
                "loadtest aa --engine http://127.0.0.1:1 --cycles 0|A workload needs at least 1 for its cycles, not 0.",
                "loadtest aa --engine http://127.0.0.1:1 --arrivals poisson:0|The arrivals are 'poisson:0', where '0'"
                        + " is no rate between 0.001 and 100000 requests a second; write it as poisson:4.",
                "loadtest run --engine http://127.0.0.1:1 --hold none --arrivals ramp:NaN..4|where 'NaN' is no rate"
                        + " between",
                "loadtest run --engine http://127.0.0.1:1 --hold none --arrivals trace:/nosuch|There is no trace"
                        + " /nosuch.",
                "loadtest run --engine http://127.0.0.1:1 --hold none --arrivals often|The arrivals are 'often'; write",
                "loadtest aa --engine http://127.0.0.1:1 --flush-path x|The flush path is x; it starts with a slash,",
                "loadtest aa --engine http://127.0.0.1:1 --api-key-env NOSUCH_KEY|--api-key-env names NOSUCH_KEY, in"
                        + " which there is no key;",
                "loadtest aa --engine http://127.0.0.1:1 --journal /nosuch/aa.jsonl|there is no folder /nosuch; make"
                        + " it",
                "loadtest aa --engine http://127.0.0.1:1|The engine at http://127.0.0.1:1 is not ready: it does not"
                        + " answer;",
                "loadtest run|No engine is named; write its address, as --engine http://127.0.0.1:30000.",
                "loadtest run --engine nosuch --hold none|--engine is 'nosuch'; write an address such as",
                "loadtest run --engine http://127.0.0.1:1|Nothing is named that holds the prefix in pinned legs; write"
                        + " --hold session,",
                "loadtest run --engine http://127.0.0.1:1 --hold sidecar|write both --sidecar and --engine-id.",
                "loadtest run --engine http://127.0.0.1:1 --hold keep-warm --touch-every 32|--touch-every is 32, and a"
                        + " flood has 32 requests; write at least 1, and fewer",
                "loadtest run --engine http://127.0.0.1:1 --hold vllm-connector|The engine's connector holds for who"
                        + " has its secret; write the environment variable that has it, by --connector-secret-env"
                        + " VARIABLE.",
                "loadtest run --engine http://127.0.0.1:1 --hold release --connector-secret-env NO_SUCH|names NO_SUCH,"
                        + " in which there is no secret;",
                "loadtest run --engine http://127.0.0.1:1 --hold session --connector-secret-env PATH|is for --hold"
                        + " vllm-connector or release; leave it out.",
                "loadtest run --engine http://127.0.0.1:1 --hold nixl-lease --nixl-lease-seconds 0|--nixl-lease-seconds"
                        + " is 0; write the engine's kv_lease_duration, 15 to 600.",
                "loadtest run --engine http://127.0.0.1:1 --hold nixl-lease --nixl-lease-seconds 601|is 601; write",
                "loadtest run --engine http://127.0.0.1:1 --hold session --nixl-lease-seconds 30|--nixl-lease-seconds"
                        + " is for --hold nixl-lease, and this is session; leave it out.",
                "loadtest run --engine http://127.0.0.1:1 --hold release --held-tokens 0|--held-tokens is 0; write 1"
                        + " or",
                "loadtest run --engine http://127.0.0.1:1 --hold session --held-tokens 9|--held-tokens is for --hold"
                        + " release, and this is session; leave it out.",
                "loadtest run --engine http://127.0.0.1:1 --hold pin-route --route OPENAI_TEXT|which sends text, and a"
                        + " hold goes by token ids;",
                "loadtest run --engine http://127.0.0.1:1 --arm-command on=true|--arm-command has on; write both"
                        + " on=COMMAND and off=COMMAND.",
                "loadtest run --engine http://127.0.0.1:1 --arm-command on=true of=true|--arm-command has on, of;"
                        + " write",
                "loadtest run --engine http://127.0.0.1:1 --hold none|The engine at http://127.0.0.1:1 is not ready: it"
                        + " does not answer;",
                "demo --fault nosuch|There is no fault \"nosuch\"; there are api-key, auto-unpin,",
                "demo --rounds 0|--rounds and --cycles are 1 to 100, not 0 and 3.",
                "demo --cycles 101|--rounds and --cycles are 1 to 100, not 4 and 101.",
                "demo --judge nosuch|expected one of [PROBE_P50, PROBE_P95, PROBE_MEAN, WHOLE_MEAN] (case-insensitive)"
                        + " but was 'nosuch';",
                "demo --seed x|'--seed': 'x' is not a long; see 'holdfast demo --help'."
            })
    void wrongOption_isNamed(String command, String sentence) {
        assertThat(CommandRun.by(command.split(" ", -1)).badInput()).contains(sentence);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--engine nosuch|--engine is 'nosuch'; write an address such as http://127.0.0.1:30000.",
                "--engine ftp://127.0.0.1|--engine is 'ftp://127.0.0.1'; write an address",
                "--engine http://127.0.0.1:99999|--engine is 'http://127.0.0.1:99999'; write an address",
                "--engine http://[|'http://[' is no address, such as http://127.0.0.1:30000",
                "--sidecar nosuch|--sidecar is 'nosuch'; write an address",
                "--prefix-tokens 0|A workload needs at least 1 for its prefix tokens, not 0.",
                "--rounds 3|--rounds is 3, and fewer than 4 cannot give a verdict; write --rounds 4 or more, or",
                "--hold automatic --learn-cycles 0|--learn-cycles is 0, and what this arm holds it learns from",
                "--learn-cycles -1|A leg learns for -1 cycles; use 0 or more.",
                "--repeat-pairs -1|The pairs that may run again must be between 0 and 1000, not -1.",
                "--json --progress json|--json is one document and --progress json one object a line; leave one",
                "--cycles -1|A workload needs at least 1 for its cycles, not -1.",
                "--flood-tokens 2000000000|does not fit into memory; use at most",
                "--hold-slot-ms 0|The hold slot must be at least one millisecond, not 0 ms.",
                "--hold nosuch|--hold is 'nosuch'; there are session, keep-warm, pin-route, pin-told, none, sidecar,"
                        + " automatic, everything, vllm-connector, nixl-lease, streaming-session, release.",
                "--hold session|--sidecar and --engine-id are for --hold sidecar or automatic, and this is",
                "--arm-command on=true|--arm-command is an arm of its own; leave --hold and --sidecar out.",
                "--arm-claims-hold|--arm-claims-hold is for --arm-command; leave it out.",
                "--engine http://127.0.0.1:1 --engine http://127.0.0.1:2|--engine is written 2 times, and the router"
                        + " before",
                "--arm-server-command x|--arm-server-command is an arm of its own; leave --hold and --sidecar out.",
                "--flush-path x|The flush path is x; it starts with a slash,",
                "--rounds 0|The rounds must be between 1 and 1000, not 0.",
                "--concurrency 0|The concurrency must be between 1 and 4096, not 0.",
                "--route nosuch|SGLANG_GENERATE",
                "--route OPENAI_CHAT|--route is OPENAI_CHAT, which sends text, and a hold goes by token ids;",
                "--api-key-env NOSUCH_KEY|--api-key-env names NOSUCH_KEY, in which there is no key;",
                "--header secret|--header has no name and a colon first; write 'NAME: VALUE'.",
                "--header a/b:secret|--header has no name and a colon first; write 'NAME: VALUE'.",
                "--header X-Team:|--header has nothing in X-Team that a header can have;",
                "--header Host:secret|--header is Host, which the client writes itself; leave it out.",
                "--model m --header X-Team:secret --header x-team:secret|--header number 2 is x-team again; write each"
                        + " name once.",
                "--api-key-env PATH --header authorization:secret|--header is authorization, and so is the key of",
                "--ca nosuch.pem|nosuch.pem cannot be read; name one that is there.",
                "--ca pom.xml|pom.xml has no certificates that can be read; name one in PEM,",
                "--expect nosuch|NO_EXPOSURE"
            })
    void wrongOptionOfALoadTest_isNamed(String options, String sentence) {
        List<String> args = new ArrayList<>(List.of(loadTest(NOBODY, NOBODY, "main")));
        args.addAll(List.of(options.split(" ", -1)));
        // An option may be given once: the wrong one replaces the right one.
        dropFirst(args, options.split(" ", -1)[0]);

        assertThat(CommandRun.by(args.toArray(String[]::new)).badInput()).contains(sentence);
        assertThat(journal()).doesNotExist();
    }

    @Test
    void wrongConfigurationKey_isNamedByItsPath() throws IOException {
        assertThat(CommandRun.by(sidecar(config(0, NOBODY, "shared: 0.5"))).badInput())
                .contains("sidecar.yaml: engines.main.shared ");
        assertThat(CommandRun.by(sidecar(config(70_000, NOBODY, ""))).badInput())
                .contains("listen.port is '70000'");
        assertThat(CommandRun.by(sidecar(config(0, "nosuch", ""))).badInput()).contains("engines.main.url is 'nosuch'");
    }

    @Test
    void configurationThatIsNone_isNamed() throws IOException {
        byte[] noise = new byte[4096];
        new SplittableRandom(7).nextBytes(noise);
        Path binary = Files.write(folder.resolve("noise"), noise);
        Path empty = Files.writeString(folder.resolve("empty"), "");
        Path text = Files.writeString(folder.resolve("text"), "engines: [");

        assertThat(CommandRun.by(sidecar(folder.resolve("nosuch"))).badInput())
                .contains(folder.resolve("nosuch") + " does not exist; ");
        assertThat(CommandRun.by(sidecar(folder)).badInput()).contains(folder + " is a directory; ");
        assertThat(CommandRun.by(sidecar(binary)).badInput()).contains(binary + " is ");
        assertThat(CommandRun.by(sidecar(empty)).badInput())
                .contains("is empty; start from the example configuration.");
        assertThat(CommandRun.by(sidecar(text)).badInput()).contains("is not valid YAML at line 1");
    }

    @Test
    void portInUse_isNamed() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            int port = other.getLocalPort();
            String number = Integer.toString(port);

            assertThat(CommandRun.by(sidecar(config(port, NOBODY, ""))).badInput())
                    .startsWith("holdfast: Port " + port + " of 127.0.0.1 cannot be listened to (")
                    .endsWith("; stop what listens there or write another listen.port.");
            assertThat(CommandRun.by("emulate", "--port", number, "--events", "0")
                            .badInput())
                    .isEqualTo("holdfast: Port " + port + " for HTTP is in use; choose another or 0 for a free one.");
            assertThat(CommandRun.by("emulate", "--port", "0", "--events", number)
                            .badInput())
                    .isEqualTo("holdfast: Port " + port + " for events is in use; choose another or 0 for a free one.");
        }
    }

    @Test
    void unreachableServer_isNamed() throws IOException {
        Vertx vertx = Vertx.vertx();
        String closed = closedAddress();
        try (Sidecar sidecar = Sidecar.start(vertx, SidecarConfig.load(config(0, closed, "")));
                Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults())) {
            assertThat(CommandRun.by(loadTest(emulator.uri().toString(), closed, "main"))
                            .badInput())
                    .contains("The sidecar at " + closed + " does not answer; ");
            assertThat(CommandRun.by(loadTest(closed, sidecar.uri().toString(), "main"))
                            .badInput())
                    .contains("The engine at " + closed + " is not ready: it does not answer; ");
        } finally {
            vertx.close().await();
        }
        assertThat(journal()).doesNotExist();
    }

    @Test
    void engineThatTheSidecarDoesNotKnow_isNamed() throws IOException {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, EmulatorSettings.defaults());
                Sidecar sidecar = Sidecar.start(
                        vertx, SidecarConfig.load(config(0, emulator.uri().toString(), "")))) {
            assertThat(CommandRun.by(loadTest(
                                    emulator.uri().toString(), sidecar.uri().toString(), "nosuch"))
                            .badInput())
                    .contains("has no engine called nosuch; use an id from its configuration.");
            assertThat(CommandRun.by(loadTest(
                                    emulator.uri().toString(), emulator.uri().toString(), "main"))
                            .badInput())
                    .as("an engine in place of a sidecar")
                    .contains(emulator.uri().toString());
        } finally {
            vertx.close().await();
        }
        assertThat(journal()).doesNotExist();
    }

    @Test
    void journalThatIsNone_isNamed() throws IOException {
        byte[] noise = new byte[4096];
        new SplittableRandom(7).nextBytes(noise);
        Path binary = Files.write(folder.resolve("noise"), noise);
        Path text = Files.writeString(folder.resolve("text"), "no journal\n");
        Path other = Files.writeString(folder.resolve("other"), "{\"run\":{\"format\":1}}\n");
        Path empty = Files.writeString(folder.resolve("empty"), "");

        assertThat(analysis(folder.resolve("nosuch")))
                .isEqualTo("holdfast: There is no journal at " + folder.resolve("nosuch") + ".");
        assertThat(analysis(folder)).contains("holds no journal (*.jsonl) of a load test; name the file or the folder");
        assertThat(analysis(binary)).contains("The journal " + binary + " cannot be read");
        assertThat(analysis(text)).contains("Line 1 of the journal " + text + " cannot be read");
        assertThat(analysis(other))
                .contains("The journal " + other + " has format 1; this version reads formats 4 to 6");
        assertThat(analysis(empty)).contains("The journal " + empty + " is empty");
    }

    @Test
    void journalThatIsThereAlready_isLeftAsItIs() throws IOException {
        Files.writeString(journal(), "precious\n");

        assertThat(CommandRun.by(loadTest(NOBODY, NOBODY, "main")).badInput())
                .isEqualTo("holdfast: The journal " + journal()
                        + " exists already and is not overwritten; name another file.");
        assertThat(journal()).hasContent("precious\n");
    }

    @Test
    void journalInAFolderThatIsNot_isNamed() {
        Path journal = folder.resolve("nosuch/journal.jsonl");

        assertThat(CommandRun.by(
                                "loadtest run --engine-id main --engine http://127.0.0.1:1 --sidecar http://127.0.0.1:1"
                                        .concat(" --journal " + journal)
                                        .split(" ", -1))
                        .badInput())
                .isEqualTo("holdfast: --journal is '" + journal + "', but there is no folder " + journal.getParent()
                        + "; make it first.");
    }

    /** Commands that come furthest before they refuse: a log is set up, a port is requested, a server is asked. */
    @Test
    void processOfItsOwn_saysNothingElse() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            saysNothingElse(
                    sidecar(config(other.getLocalPort(), NOBODY, "")),
                    new String[] {"emulate", "--port", Integer.toString(other.getLocalPort())},
                    loadTest(NOBODY, NOBODY, "main"));
        }
    }

    @Test
    @Tag("deep")
    void furtherProcessOfItsOwn_saysNothingElse() throws IOException {
        saysNothingElse(
                sidecar(config(0, NOBODY, "shared: 0.5")),
                sidecar(folder.resolve("nosuch")),
                new String[] {"emulate", "--capacity-tokens", "-16"},
                new String[] {"loadtest", "analyze", folder.resolve("nosuch").toString()},
                new String[] {"doctor", "--engine", NOBODY},
                new String[] {"observe", "--engine", NOBODY});
    }

    private static void saysNothingElse(String[]... commands) throws IOException {
        for (String[] args : commands) {
            assertThat(Child.tells(args).badInput())
                    .isEqualTo(CommandRun.by(args).badInput());
        }
    }

    private String analysis(Path journal) {
        return CommandRun.by("loadtest", "analyze", journal.toString()).badInput();
    }

    private Path journal() {
        return folder.resolve("journal.jsonl");
    }

    private String[] loadTest(String engine, String sidecar, String id) {
        return new String[] {
            "loadtest",
            "run",
            "--engine",
            engine,
            "--sidecar",
            sidecar,
            "--engine-id",
            id,
            "--journal",
            journal().toString()
        };
    }

    private static void dropFirst(List<String> args, String option) {
        int first = args.indexOf(option);
        if (first != args.lastIndexOf(option)) {
            args.subList(first, first + 2).clear();
        }
    }

    private static String[] sidecar(Path config) {
        return new String[] {"sidecar", "--config", config.toString()};
    }

    private Path config(int port, String engine, String key) throws IOException {
        return Files.writeString(
                folder.resolve("sidecar.yaml"), """
                    listen:
                      port: %d
                    stateDirectory: '%s'
                    engines:
                      main:
                        type: sglang
                        url: %s
                        %s
                    """.formatted(port, folder.resolve("state"), engine, key));
    }

    /** An address where nobody listens: a port that was free a moment ago. */
    private static String closedAddress() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return URI.create("http://127.0.0.1:" + socket.getLocalPort()).toString();
        }
    }
}
