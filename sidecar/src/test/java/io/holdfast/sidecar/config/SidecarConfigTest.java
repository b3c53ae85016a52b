package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.kvcached.LimitSettings;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class SidecarConfigTest {
    private static final String ENGINE = "engines: {a: {type: sglang, url: 'http://127.0.0.1:30000'";

    @TempDir
    Path directory;

    @Test
    void example_loads_withTheDocumentedDefaults() throws IOException {
        Path file = Files.writeString(directory.resolve("holdfast.yaml"), SidecarConfig.example());

        SidecarConfig config = SidecarConfig.load(file);

        assertThat(config.listen()).isEqualTo(SidecarConfig.Listen.defaults());
        assertThat(config.engines())
                .containsExactly(EngineConfig.of("main", EngineType.SGLANG, URI.create("http://127.0.0.1:30000")));
    }

    @Test
    void everyKey_isRead() {
        SidecarConfig config = SidecarConfig.parse("""
            listen:
              host: 0.0.0.0
              port: 0
              allowedHosts: [holdfast.example, "fd00::1"]
              readTokenEnv: READ
              actTokenEnv: ACT
            stateDirectory: state
            snapshotSeconds: 5
            engines:
              demo:
                type: sglang
                url: https://gpu-1:443
                events: tcp://gpu-1:5557
                replay: tcp://gpu-1:5570
                topic: kv
                backend: dry_run
                automaticHolds: true
                automaticLeaseSeconds: 30
                leastSavingMillis: 12
                ownRequestSecondsAnHour: 7
                share: 1
                memory: 8M
                maxOutputTokens: 512
                largestPromptTokens: 8192
                readingsMillis: 50
                tickMillis: 10
                ttftWindowSeconds: 20
                ttftOffShare: 0.1
                ttftLeastGain: 0.02
                apiKeyEnv: KEY
                adminKeyEnv: ADMIN_KEY
              v: {type: vllm, url: "http://[::1]:8000", kvcachedSegment: kvcached_1, automaticHolds: true,
                  kvcachedLimit: {device: gpu0, bundle: 144M, page: 2M, marginPages: 3, floor: 1G, step: 0.1,
                                  coolDownSeconds: 7, pressure: true, restore: false}}
            devices:
              gpu0: {memory: 80G, utilization: 0.95, weights: 16G, activations: 4G, reserve: 2G}
            """, "test");

        assertThat(config.listen())
                .isEqualTo(new SidecarConfig.Listen(
                        "0.0.0.0", 0, List.of("holdfast.example", "fd00::1"), Optional.of("READ"), Optional.of("ACT")));
        assertThat(config.stateDirectory()).isEqualTo(Path.of("state"));
        EngineConfig demo = config.engines().getFirst();
        assertThat(demo.backend()).isEqualTo("dry_run");
        assertThat(demo.ownRequestsAnHour()).isEqualTo(Duration.ofSeconds(7));
        assertThat(demo.events()).contains("tcp://gpu-1:5557");
        assertThat(demo.replay()).contains("tcp://gpu-1:5570");
        assertThat(demo.topic()).contains("kv");
        EngineConfig shared = config.engines().getLast();
        assertThat(shared.kvcachedSegment()).contains("kvcached_1");
        assertThat(shared.controllerSettings().automaticHolds()).isEqualTo(AutomaticHolds.OFF);
        assertThat(shared.limit().device()).contains("gpu0");
        assertThat(shared.limit().settings())
                .isEqualTo(new LimitSettings(
                        OptionalLong.of(144 << 20), 2 << 20, 3, 1 << 30, 0.1, Duration.ofSeconds(7), true, false));
        // 0.95 of 80 GiB less what is not the cache's: 76 - 22.
        assertThat(config.snapshots()).isEqualTo(Duration.ofSeconds(5));
        assertThat(config.devices().getFirst().budgetBytes()).isEqualTo(54L << 30);
        assertThat(demo.apiKeyEnv()).contains("KEY");
        assertThat(demo.adminKeyEnv()).contains("ADMIN_KEY");
        assertThat(demo.readings()).isEqualTo(Duration.ofMillis(50));
        assertThat(demo.controllerSettings())
                .returns("demo", settings -> settings.engineId())
                .returns(1.0, settings -> settings.budget().share())
                .returns(
                        RequestSizes.of(8192, 512),
                        settings -> settings.budget().written().orElseThrow())
                .returns(AutomaticHolds.ON, settings -> settings.automaticHolds())
                .returns(Duration.ofSeconds(30), settings -> settings.automaticLease())
                .returns(Duration.ofMillis(12), settings -> settings.leastSaving())
                .returns(Duration.ofMillis(10), settings -> settings.tick())
                .returns(8L << 20, settings -> settings.memoryBytes())
                .returns(
                        new EffectSettings(Optional.of(Duration.ofSeconds(20)), 0.1, 0.02),
                        settings -> settings.effect().orElseThrow());
        assertThat(config.engines().getLast().backend()).isEqualTo("auto");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {E}, sharee: 0.5}}            | engines.a.sharee is an unknown key; did you mean share?
        {E}, colour: red}}            | engines.a.colour is an unknown key; known here are adminKeyEnv, apiKeyEnv,
        {E}}}, lisen: {}              | lisen is an unknown key; did you mean listen?
        {E}}}, listen: {prot: 1}      | listen.prot is an unknown key; did you mean port?
        {E}}}, listen: [1]            | listen is a list; write a mapping with the keys actTokenEnv, allowedHosts, host
        {E}}}, listen: {port: 70000}  | listen.port is '70000'; write 0 to 65535
        {E}}}, listen: {port: -1}     | listen.port is '-1'; write 0 to 65535
        {E}}}, listen: {port: 1.5}    | listen.port is the value '1.5'; write a whole number
        {E}}}, listen: {port: '80'}   | listen.port is the text '80'; write a whole number
        {E}}}, listen: {host: ' '}    | listen.host is ' '; write an address
        {E}}}, listen: {host: 7}      | listen.host is the value '7'; write text (in quotes)
        {E}}}, listen: {host:}        | listen.host is empty; write an address of this machine
        {E}}}, listen: {allowedHosts: x} | listen.allowedHosts is the text 'x'; write a list
        {E}}}, listen: {allowedHosts: [7]} | listen.allowedHosts[0] is the value '7'; write text
        {E}}}, listen: {allowedHosts: ['*']} | listen.allowedHosts[0] is '*'; write a name or an address
        {E}}}, listen: {allowedHosts: ['h:1']} | listen.allowedHosts[0] is 'h:1'; write a name or an address
        {E}}}, listen: {actTokenEnv: 'top secret'} | listen.actTokenEnv is not the name of an environment variable
        {E}}}, listen: {readTokenEnv: R} | listen.readTokenEnv is 'R'; without actTokenEnv every caller that reaches
        {E}, share: -0.5}}            | engines.a.share is '-0.5'; write a number above 0 and at most 1
        {E}, share: 0}}               | engines.a.share is '0.0'; write a number above 0
        {E}, share: 1.01}}            | engines.a.share is '1.01'; write a number above 0 and at most 1
        {E}, share: half}}            | engines.a.share is the text 'half'; write a number
        {E}, share: .nan}}            | is not valid YAML at line 1
        {E}, memory: 0}}              | engines.a.memory is '0'; write 1M to 4G
        {E}, memory: 5G}}             | engines.a.memory is '5368709120'; write 1M to 4G
        {E}, maxOutputTokens: 0}}     | engines.a.maxOutputTokens is '0'; write 1 or more
        {E}, maxOutputTokens: 9999999999}} | engines.a.maxOutputTokens is the value '9999999999'; write a whole
        {E}, largestPromptTokens: -4}} | engines.a.largestPromptTokens is '-4'; write 1 or more, or measured
        {E}, largestPromptTokens: all}} | engines.a.largestPromptTokens is the text 'all'; write measured, or a whole
        {E}, maxOutputTokens: 64}}    | engines.a.largestPromptTokens is missing; maxOutputTokens alone makes no
        {E}, largestPromptTokens: measured}} | engines.a.maxOutputTokens is missing; largestPromptTokens alone makes
        {E}, readingsMillis: 1}}      | engines.a.readingsMillis is '1'; write 50 to 60000
        {E}, tickMillis: 0}}          | engines.a.tickMillis is '0'; write 10 to 10000
        {E}, automaticLeaseSeconds: 0}} | engines.a.automaticLeaseSeconds is '0'; write 1 to 86400
        {E}, nixlLeaseSeconds: 14}} | engines.a.nixlLeaseSeconds is '14'; write 15 to 600
        {E}, leastSavingMillis: -1}}  | engines.a.leastSavingMillis is '-1'; write 0 to 60000
        {E}, hashAlgorithm: sha256}}  | engines.a.hashAlgorithm is 'sha256'; only vLLM lets one choose it: leave the key out
        {E}, hashAlgorithm: md5}}     | engines.a.hashAlgorithm is 'md5'; write sha256 or sha256_cbor or xxhash
        {E}, hashSeed: '0'}}          | engines.a.hashSeed is '0'; only vLLM's names of blocks have a seed
        {E}, holds: [{text: a}]}}     | engines.a.holds is a list; write a mapping with a name before each mapping
        {E}, holds: {a b: {text: a}}}} | engines.a.holds.a b is 'a b'; write 1 to 64 letters
        {E}, holds: {a: {text: a}, a: {text: b}}}} | is not valid YAML at line 1, column 103 ('Duplicate field 'a'')
        {E}, holds: {a: {}}}}         | engines.a.holds.a has none of text, file, messages and tokens; write one
        {E}, holds: {a: {text: a, file: b}}}} | engines.a.holds.a has several of text, file, messages and tokens
        {E}, holds: {a: {text: a, tools: [{}]}}}} | engines.a.holds.a.tools are a part of a conversation
        {E}, holds: {a: {messages: [a]}}}} | engines.a.holds.a.messages[0] is the text 'a'; write a mapping
        {E}, holds: {a: {tokens: [-1]}}}} | engines.a.holds.a.tokens[0] is the value '-1'; write a token id, 0 to 4294967295
        {E}, holds: {a: {tokens: [4294967296]}}}} | engines.a.holds.a.tokens[0] is the value '4294967296'; write a token id, 0 to
        {E}, ttftWindowSeconds: -1}}  | engines.a.ttftWindowSeconds is '-1'; write 1 to 86400, or automatic
        {E}, ttftOffShare: 0.6}}      | engines.a.ttftOffShare is '0.6'; write 0 to 0.5, such as 0.05
        {E}, ttftLeastGain: 3}}       | engines.a.ttftLeastGain is '3.0'; write 0 to 0.5, such as 0.03
        {E}, ttftLoop: never}}        | engines.a.ttftLoop is the text 'never'; write true or false
        {E}, automaticHolds: maybe}}  | engines.a.automaticHolds is 'maybe'; write false or true or auto
        {E}, backend: pin_block}}     | engines.a.backend is 'pin_block'; did you mean pin_blocks?
        {E}, backend: magic}}         | engines.a.backend is 'magic'; write auto or session_hold or
        {E}, backend: lmcache}}       | engines.a.backend is 'lmcache'; pins at an LMCache coordinator are not supported any more: write auto or session_hold
        {E}, backend: pin_prefix}}    | engines.a.backend is 'pin_prefix'; the pins of SGLang 0.5.10rc0 are not supported any more: write auto or session_hold
        {E}, lmcache: {url: 'http://l'}}} | engines.a.lmcache is a key of earlier versions, and pins at an LMCache coordinator are not supported any more; leave it out
        {E}, clientPriorityMax: -1}}  | engines.a.clientPriorityMax is '-1'; write 0 to 1000000000
        {E}, clientPriorityMax: high}} | engines.a.clientPriorityMax is the text 'high'; write a whole number
        {E}}, b: {type: vllm, url: 'http://x', clientPriorityMax: 1}} | engines.b.clientPriorityMax is '1'; only SGLang evicts by the priority of requests
        {E}, events: 'tcp://*:5557'}} | engines.a.events is 'tcp://*:5557'; write where the engine publishes
        {E}, events: 'tcp://h:99999'}} | engines.a.events is 'tcp://h:99999'; write where
        {E}, events: 'ipc:///tmp/x'}} | engines.a.events is 'ipc:///tmp/x'; write where
        {E}, replay: 'tcp://*:5558'}} | engines.a.replay is 'tcp://*:5558'; write where the engine answers
        {E}, events: 'tcp://h:1', replay: 'tcp://h:1'}} | engines.a.replay is 'tcp://h:1'; the engine publishes there
        {E}, kvcachedLimit: {}}}      | engines.a.kvcachedSegment is empty; there is no limit to move without it
        {E}, kvcachedSegment: a, kvcachedLimit: {device: x}}} | engines.a.kvcachedLimit.device is 'x'; list it under
        {E}, kvcachedSegment: a, kvcachedLimit: {step: 0}}} | engines.a.kvcachedLimit.step is '0.0'; write a number above 0 and at most 0.5
        {E}, kvcachedSegment: a, kvcachedLimit: {bundle: 3M}}} | engines.a.kvcachedLimit.bundle is '3145728'; write
        {E}, kvcachedSegment: a, kvcachedLimit: {floor: 1T}}} | engines.a.kvcachedLimit.floor is the text '1T'; write
        {E}}}, snapshotSeconds: 0 | snapshotSeconds is '0'; write 1 to 86400
        {E}}}, snapshotSeconds: 86401 | snapshotSeconds is '86401'; write 1 to 86400
        {E}}}, devices: {g: {memory: 80G, weights: 1G, utilization: 0}} | devices.g.utilization is '0.0'; write a
        {E}}}, devices: {g: {memory: 80G, weights: 1G, utilization: 1.5}} | devices.g.utilization is '1.5'; write
        {E}}}, devices: {g: {memory: 80G, weights: 1G, reserve: -1}} | devices.g.reserve is the value '-1'; write a number of bytes
        {E}}}, devices: {g: {memory: 8G, weights: 16G}} | devices.g.memory is '8589934592'; nothing of it is left
        {E}}}, devices: {g: {memory: 8G}} | devices.g.weights is missing; write a number of bytes, or a size such as 8G, 512M or 1.5g: memory that the models
        {E}, kvcachedSegment: ''}}    | engines.a.kvcachedSegment is empty; write the segment's name
        {E}, apiKeyEnv: 'sk-123 4'}}  | engines.a.apiKeyEnv is not the name of an environment variable; write the name of one
        {E}}, b: 7}                   | engines.b is the value '7'; write a mapping
        {E}}, a: {type: vllm, url: 'http://x'}} | is not valid YAML at line 1, column 82 ('Duplicate field 'a'')
        {E}}, b: {type: vllm, url: 'http://127.0.0.1:30000'}} | engines.b.url is 'http://127.0.0.1:30000' like
        {E}}, b: {type: vllm, url: 'http://x', backend: pin_blocks}} | engines.b.backend is 'pin_blocks'; an engine of type vllm has none of that name: write auto or vllm_connector or nixl_lease or keep_warm or dry_run
        engines: {}                   | engines has none; write at least one by its name
        engines: [a]                  | engines is a list; write a mapping with a name before each mapping
        engines: {a: 7}               | engines.a is the value '7'; write a mapping with the keys
        engines: [{type: sglang, url: 'http://x'}] | engines is a list; write a mapping with a name before each mapping
        engines: {../up: {type: sglang, url: 'http://x'}} | engines.../up is '../up'; write 1 to 64 letters
        engines: {a: {url: 'http://x'}} | engines.a.type is missing; write sglang or vllm
        engines: {a: {type: sglng, url: 'http://x'}} | engines.a.type is 'sglng'; did you mean sglang?
        engines: {a: {type: sglang}} | engines.a.url is missing; write the address of the engine's HTTP server, such as
        engines: {a: {type: sglang, url: 'ftp://x'}} | engines.a.url is 'ftp://x'; write the address
        engines: {a: {type: sglang, url: 'localhost:3000'}} | engines.a.url is 'localhost:3000'; write the address
        engines: {a: {type: sglang, url: 'http://a b'}} | engines.a.url is the text 'http://a b'; write the address
        engines: {a: {type: sglang, url: 'http://u:p@x'}} | engines.a.url is 'http://u:p@x'; write the address
        """)
    void fault_isOneSentenceWithPathValueAndMend(String rest, String sentence) {
        String yaml = "{stateDirectory: s, " + rest.replace("{E}", ENGINE) + "}";

        assertThatThrownBy(() -> SidecarConfig.parse(yaml, "holdfast.yaml"))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith("holdfast.yaml: " + sentence)
                .hasMessageMatching("[^\\n\\r]+\\.");
    }

    @ParameterizedTest
    @EnumSource
    void unknownBackend_isAnsweredWithAllNamesOfItsType(EngineType type) {
        String yaml = "{stateDirectory: s, engines: {a: {type: " + type.name().toLowerCase(Locale.ROOT)
                + ", url: 'http://x', backend: magic}}}";

        assertThatThrownBy(() -> SidecarConfig.parse(yaml, "holdfast.yaml"))
                .isInstanceOf(ConfigException.class)
                .hasMessage("holdfast.yaml: engines.a.backend is 'magic'; write " + String.join(" or ", type.backends())
                        + " (line 1).");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        engines: [{id: a, type: vllm, url: 'http://x'}] | engines: {a: {type: vllm, url: 'http://x'}}
        engines: [] | engines: {}
        engines: {a: {holds: [{name: h, text: t}]}} | engines: {a: {holds: {h: {text: t}}}}
        {devices: [{id: g, memory: 1}], engines: [{id: b}, {id: a, holds: [{name: h, text: t}]}]} | {devices: {g: {memory: 1}}, engines: {b: {}, a: {holds: {h: {text: t}}}}}
        [{id: b, share: 1}, {id: a}] | {b: {share: 1}, a: {}}
        {id: b, share: 1} | {b: {share: 1}}
        """)
    void oldForm_isRefusedWithTheCommandThatPrintsTheNewOne(String old, String renewed) throws IOException {
        Path file = Files.writeString(directory.resolve("old.yaml"), old);

        assertThatThrownBy(() -> SidecarConfig.load(file))
                .hasMessage(file + ": is in the form of earlier versions, which listed engines, devices and holds;"
                        + " 'holdfast sidecar --print-config --from-old " + file
                        + "' prints it with each under its name.");
        assertThat(Yaml.parsed(ConfigSources.renewed(file))).isEqualTo(Yaml.parsed(renewed));
    }

    @Test
    void tokenIds_areReadUpToTheLargest() {
        SidecarConfig config = SidecarConfig.parse(
                "{stateDirectory: s, " + ENGINE + ", holds: {a: {tokens: [0, 4294967295]}}}}}", "test");

        assertThat(config.engines().getFirst().holds().getFirst().tokens())
                .contains(List.of(0, Integer.parseUnsignedInt("4294967295")));
    }

    /** A mapping has a name once, so a renewed one would lose the first of the two. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "engines: [{id: a, share: 1}, {id: a, topic: kv}]",
                "{engines: {a: {holds: [{name: h, text: one}, {name: h, text: other}]}}}",
                "devices: [{id: g, memory: 1}, {memory: 2}]"
            })
    void oldForm_withANameTwiceOrNone_losesNothing(String old) throws IOException {
        Path file = Files.writeString(directory.resolve("old.yaml"), old);

        assertThat(Yaml.parsed(ConfigSources.renewed(file))).isEqualTo(Yaml.parsed(old));
    }

    @Test
    void newForm_isRenewedAsItIs() throws IOException {
        Path file = Files.writeString(directory.resolve("new.yaml"), SidecarConfig.example());

        assertThat(Yaml.parsed(ConfigSources.renewed(file))).isEqualTo(Yaml.parsed(SidecarConfig.example()));
    }

    @Test
    void missingEngines_isAFault() {
        assertThatThrownBy(() -> SidecarConfig.parse("stateDirectory: s", "f"))
                .hasMessageStartingWith("f: engines has none; write at least one by its name");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "\n\n", "# only a comment\n", "---\n", "null"})
    void emptyFile_saysSo(String text) throws IOException {
        Path file = Files.writeString(directory.resolve("empty.yaml"), text);

        assertThatThrownBy(() -> SidecarConfig.load(file))
                .hasMessage(file + ": is empty; start from the example configuration.");
    }

    @Test
    void topLevelText_isAFault() {
        assertThatThrownBy(() -> SidecarConfig.parse("hello", "f"))
                .hasMessage("f: is the text 'hello'; write a mapping with the keys devices, discovery, engines,"
                        + " fleet, listen, snapshotSeconds, stateDirectory.");
    }

    @Test
    void missingFile_saysSo() {
        Path file = directory.resolve("none.yaml");

        assertThatThrownBy(() -> SidecarConfig.load(file))
                .hasMessage(file + " does not exist; give the path of a configuration file.");
    }

    @Test
    void directory_isRefused() {
        assertThatThrownBy(() -> SidecarConfig.load(directory))
                .hasMessage(directory + " is a directory; name the configuration file in it.");
    }

    @Test
    void binaryFile_isRefused() throws IOException {
        Path file = Files.write(directory.resolve("a.out"), new byte[] {0x7f, 'E', 'L', 'F', 0, 1});

        assertThatThrownBy(() -> SidecarConfig.load(file))
                .hasMessage(file + " is a binary file; give the path of a YAML file.");
    }

    @Test
    void fileThatIsNotUtf8_isRefused() throws IOException {
        Path file = Files.write(
                directory.resolve("latin1.yaml"), "stateDirectory: Bäume".getBytes(StandardCharsets.ISO_8859_1));

        assertThatThrownBy(() -> SidecarConfig.load(file))
                .hasMessage(file + " is not UTF-8 text; save it as UTF-8 or give the path of a YAML file.");
    }

    @Test
    void hugeFile_isRefusedUnread() throws IOException {
        Path file = Files.write(directory.resolve("huge.yaml"), new byte[(1 << 20) + 1]);

        assertThatThrownBy(() -> SidecarConfig.load(file)).hasMessageContaining("is larger than 1 MiB");
    }

    @Test
    void syntaxError_namesLineAndColumn() {
        assertThatThrownBy(() -> SidecarConfig.parse("stateDirectory: s\nengines: {a: {\n  - b: [\n", "f.yaml"))
                .isInstanceOf(ConfigException.class)
                .hasMessageMatching(
                        "f\\.yaml: is not valid YAML at line [234], column \\d+ \\('[^\\n]*'\\); mend the text"
                                + " there\\.");
    }

    @Test
    void duplicateKey_isASyntaxError() {
        assertThatThrownBy(() -> SidecarConfig.parse("stateDirectory: a\nstateDirectory: b\n", "f"))
                .hasMessageStartingWith("f: is not valid YAML at line 2")
                .hasMessageContaining("Duplicate");
    }

    @Test
    void secondDocument_isRefused() {
        assertThatThrownBy(() -> SidecarConfig.parse("stateDirectory: a\n---\nstateDirectory: b\n", "f"))
                .isInstanceOf(ConfigException.class)
                .hasMessageMatching("[^\\n]+\\.");
    }

    @Test
    void configurationMadeInJava_isValidatedToo() {
        EngineConfig engine = EngineConfig.of("a", EngineType.VLLM, URI.create("http://x"));

        assertThat(engine.backend()).isEqualTo("auto");
        assertThatThrownBy(() -> EngineConfig.of("", EngineType.VLLM, URI.create("http://x")))
                .hasMessageStartingWith("id is empty; write 1 to 64");
        assertThatThrownBy(() -> new SidecarConfig(SidecarConfig.Listen.defaults(), directory, List.of(engine, engine)))
                .hasMessageStartingWith(
                        "engines.a.id is 'a' like that of engines.a; give each engine a name of its own");
    }

    @Test
    void controlCharactersAndLongValues_doNotSpoilTheSentence() {
        String id = "x".repeat(200) + "\\u0007\\n";

        assertThatThrownBy(() -> SidecarConfig.parse(
                        "{stateDirectory: s, engines: {\"" + id + "\": {type: vllm, url: 'http://x'}}}", "f"))
                .hasMessageMatching("f: engines\\.'x{60}\\.\\.\\.' is 'x{60}\\.\\.\\.'; write [^\\n]+");
    }
}
