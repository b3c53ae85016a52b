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
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SidecarConfigTest {
    private static final String ENGINE = "engines: [{id: a, type: sglang, url: 'http://127.0.0.1:30000'";

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
              - id: demo
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
                maxOutputTokens: 512
                largestPromptTokens: 8192
                readingsMillis: 50
                tickMillis: 10
                ttftWindowSeconds: 20
                ttftOffShare: 0.1
                ttftLeastGain: 0.02
                apiKeyEnv: KEY
                adminKeyEnv: ADMIN_KEY
              - {id: v, type: vllm, url: "http://[::1]:8000", kvcachedSegment: kvcached_1, automaticHolds: true,
                 kvcachedLimit: {device: gpu0, bundle: 144M, page: 2M, marginPages: 3, floor: 1G, step: 0.1,
                                 coolDownSeconds: 7, pressure: true, restore: false}}
            devices:
              - {id: gpu0, memory: 80G, utilization: 0.95, weights: 16G, activations: 4G, reserve: 2G}
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
        assertThat(shared.limit())
                .isEqualTo(new LimitConfig(
                        Optional.of("gpu0"),
                        new LimitSettings(
                                OptionalLong.of(144 << 20),
                                2 << 20,
                                3,
                                1 << 30,
                                0.1,
                                Duration.ofSeconds(7),
                                true,
                                false)));
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
                .returns(
                        new EffectSettings(Optional.of(Duration.ofSeconds(20)), 0.1, 0.02),
                        settings -> settings.effect().orElseThrow());
        assertThat(config.engines().getLast().backend()).isEqualTo("auto");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        {E}, sharee: 0.5}]            | engines[0].sharee is an unknown key; did you mean share?
        {E}, colour: red}]            | engines[0].colour is an unknown key; known here are adminKeyEnv, apiKeyEnv,
        {E}}], lisen: {}              | lisen is an unknown key; did you mean listen?
        {E}}], listen: {prot: 1}      | listen.prot is an unknown key; did you mean port?
        {E}}], listen: [1]            | listen is a list; write a mapping with the keys actTokenEnv, allowedHosts, host
        {E}}], listen: {port: 70000}  | listen.port is '70000'; write 0 to 65535
        {E}}], listen: {port: -1}     | listen.port is '-1'; write 0 to 65535
        {E}}], listen: {port: 1.5}    | listen.port is the value '1.5'; write a whole number
        {E}}], listen: {port: '80'}   | listen.port is the text '80'; write a whole number
        {E}}], listen: {host: ' '}    | listen.host is ' '; write an address
        {E}}], listen: {host: 7}      | listen.host is the value '7'; write text (in quotes)
        {E}}], listen: {host:}        | listen.host is empty; write an address of this machine
        {E}}], listen: {allowedHosts: x} | listen.allowedHosts is the text 'x'; write a list
        {E}}], listen: {allowedHosts: [7]} | listen.allowedHosts[0] is the value '7'; write text
        {E}}], listen: {allowedHosts: ['*']} | listen.allowedHosts[0] is '*'; write a name or an address
        {E}}], listen: {allowedHosts: ['h:1']} | listen.allowedHosts[0] is 'h:1'; write a name or an address
        {E}}], listen: {actTokenEnv: 'top secret'} | listen.actTokenEnv is not the name of an environment variable
        {E}}], listen: {readTokenEnv: R} | listen.readTokenEnv is 'R'; without actTokenEnv whoever reaches
        {E}, share: -0.5}]            | engines[0].share is '-0.5'; write a number above 0 and at most 1
        {E}, share: 0}]               | engines[0].share is '0.0'; write a number above 0
        {E}, share: 1.01}]            | engines[0].share is '1.01'; write a number above 0 and at most 1
        {E}, share: half}]            | engines[0].share is the text 'half'; write a number
        {E}, share: .nan}]            | is not valid YAML at line 1
        {E}, maxOutputTokens: 0}]     | engines[0].maxOutputTokens is '0'; write 1 or more
        {E}, maxOutputTokens: 9999999999}] | engines[0].maxOutputTokens is the value '9999999999'; write a whole
        {E}, largestPromptTokens: -4}] | engines[0].largestPromptTokens is '-4'; write measured, or 1 or more
        {E}, largestPromptTokens: all}] | engines[0].largestPromptTokens is the text 'all'; write measured, or a whole
        {E}, maxOutputTokens: 64}]    | engines[0].largestPromptTokens is missing; maxOutputTokens alone makes no
        {E}, largestPromptTokens: measured}] | engines[0].maxOutputTokens is missing; largestPromptTokens alone makes
        {E}, readingsMillis: 1}]      | engines[0].readingsMillis is '1'; write 50 to 60000
        {E}, tickMillis: 0}]          | engines[0].tickMillis is '0'; write 10 to 10000
        {E}, automaticLeaseSeconds: 0}] | engines[0].automaticLeaseSeconds is '0'; write 1 to 86400
        {E}, leastSavingMillis: -1}]  | engines[0].leastSavingMillis is '-1'; write 0 to 60000
        {E}, hashAlgorithm: sha256}]  | engines[0].hashAlgorithm is 'sha256'; only vLLM lets one choose it: leave the key out
        {E}, hashAlgorithm: md5}]     | engines[0].hashAlgorithm is 'md5'; write sha256 or sha256_cbor or xxhash
        {E}, hashSeed: '0'}]          | engines[0].hashSeed is '0'; only vLLM's names of blocks have a seed
        {E}, holds: [{text: a}]}]     | engines[0].holds[0].name is missing; give the hold a short name
        {E}, holds: [{name: a b, text: a}]}] | engines[0].holds[0].name is 'a b'; write 1 to 64 letters
        {E}, holds: [{name: a, text: a}, {name: a, text: b}]}] | engines[0].holds[0].name is 'a'; another hold has that name
        {E}, holds: [{name: a}]}]     | engines[0].holds[0] has none of text, file, messages and tokens; write one
        {E}, holds: [{name: a, text: a, file: b}]}] | engines[0].holds[0] has several of text, file, messages and tokens
        {E}, holds: [{name: a, text: a, tools: [{}]}]}] | engines[0].holds[0].tools are a part of a conversation
        {E}, holds: [{name: a, messages: [a]}]}] | engines[0].holds[0].messages[0] is the text 'a'; write a mapping
        {E}, holds: [{name: a, tokens: [-1]}]}] | engines[0].holds[0].tokens[0] is the value '-1'; write a token id
        {E}, ttftWindowSeconds: -1}]  | engines[0].ttftWindowSeconds is '-1'; write 1 to 86400, or automatic
        {E}, ttftOffShare: 0.6}]      | engines[0].ttftOffShare is '0.6'; write a number from 0, for none, to 0.5
        {E}, ttftLeastGain: 3}]       | engines[0].ttftLeastGain is '3.0'; write a part of the time to first token, from 0
        {E}, ttftLoop: never}]        | engines[0].ttftLoop is the text 'never'; write true or false
        {E}, automaticHolds: maybe}]  | engines[0].automaticHolds is the text 'maybe'; write true, false or auto
        {E}, backend: pin_block}]     | engines[0].backend is 'pin_block'; did you mean pin_blocks?
        {E}, backend: magic}]         | engines[0].backend is 'magic'; write auto or session_hold or pin_blocks or priority_touch or keep_warm or dry_run
        {E}, backend: lmcache}]       | engines[0].backend is 'lmcache'; pins at an LMCache coordinator are not supported any more: write auto or session_hold
        {E}, backend: pin_prefix}]    | engines[0].backend is 'pin_prefix'; the pins of SGLang 0.5.10rc0 are not supported any more: write auto or session_hold
        {E}, lmcache: {url: 'http://l'}}] | engines[0].lmcache is a key of earlier versions, and pins at an LMCache coordinator are not supported any more; leave it out
        {E}, clientPriorityMax: -1}]  | engines[0].clientPriorityMax is '-1'; write the highest priority that clients send, 0 to
        {E}, clientPriorityMax: high}] | engines[0].clientPriorityMax is the text 'high'; write a whole number
        {E}}, {id: b, type: vllm, url: 'http://x', clientPriorityMax: 1}] | engines[1].clientPriorityMax is '1'; only SGLang evicts by the priority of requests
        {E}, events: 'tcp://*:5557'}] | engines[0].events is 'tcp://*:5557'; write where the engine publishes
        {E}, events: 'tcp://h:99999'}] | engines[0].events is 'tcp://h:99999'; write where
        {E}, events: 'ipc:///tmp/x'}] | engines[0].events is 'ipc:///tmp/x'; write where
        {E}, replay: 'tcp://*:5558'}] | engines[0].replay is 'tcp://*:5558'; write where the engine answers
        {E}, events: 'tcp://h:1', replay: 'tcp://h:1'}] | engines[0].replay is 'tcp://h:1'; the engine publishes there
        {E}, kvcachedLimit: {}}]      | engines[0].kvcachedSegment is empty; there is no limit to move without it
        {E}, kvcachedSegment: a, kvcachedLimit: {device: x}}] | engines[0].kvcachedLimit.device is 'x'; list it under
        {E}, kvcachedSegment: a, kvcachedLimit: {step: 0}}] | engines[0].kvcachedLimit.step is '0.0'; write more than 0
        {E}, kvcachedSegment: a, kvcachedLimit: {bundle: 3M}}] | engines[0].kvcachedLimit.bundle is '3145728'; write
        {E}, kvcachedSegment: a, kvcachedLimit: {floor: 1T}}] | engines[0].kvcachedLimit.floor is the text '1T'; write
        {E}}], snapshotSeconds: 0 | snapshotSeconds is '0'; write 1 to 86400
        {E}}], snapshotSeconds: 86401 | snapshotSeconds is '86401'; write 1 to 86400
        {E}}], devices: [{id: g, memory: 80G, weights: 1G, utilization: 0}] | devices[0].utilization is '0.0'; write a
        {E}}], devices: [{id: g, memory: 80G, weights: 1G, utilization: 1.5}] | devices[0].utilization is '1.5'; write
        {E}}], devices: [{id: g, memory: 8G, weights: 16G}] | devices[0].memory is '8589934592'; nothing of it is left
        {E}}], devices: [{id: g, memory: 8G}] | devices[0].weights is missing; write what the models
        {E}, kvcachedSegment: ''}]    | engines[0].kvcachedSegment is empty; write the segment's name
        {E}, apiKeyEnv: 'sk-123 4'}]  | engines[0].apiKeyEnv is not the name of an environment variable; write the name of one
        {E}}, 7]                      | engines[1] is the value '7'; write a mapping
        {E}}, {id: a, type: vllm, url: 'http://x'}] | engines[1].id is 'a' like that of engines[0]; give each
        {E}}, {id: b, type: vllm, url: 'http://127.0.0.1:30000'}] | engines[1].url is 'http://127.0.0.1:30000' like
        {E}}, {id: b, type: vllm, url: 'http://x', backend: pin_blocks}] | engines[1].backend is 'pin_blocks'; an engine of type vllm has none of that name: write auto or keep_warm or dry_run
        engines: []                   | engines is empty; name at least one engine
        engines: {id: a}              | engines is a mapping; write a list
        engines: [{type: sglang, url: 'http://x'}] | engines[0].id is missing; give the engine a short name
        engines: [{id: ../up, type: sglang, url: 'http://x'}] | engines[0].id is '../up'; write 1 to 64 letters
        engines: [{id: a, url: 'http://x'}] | engines[0].type is missing; write sglang or vllm
        engines: [{id: a, type: sglng, url: 'http://x'}] | engines[0].type is 'sglng'; did you mean sglang?
        engines: [{id: a, type: sglang}] | engines[0].url is missing; write the address
        engines: [{id: a, type: sglang, url: 'ftp://x'}] | engines[0].url is 'ftp://x'; write the address
        engines: [{id: a, type: sglang, url: 'localhost:3000'}] | engines[0].url is 'localhost:3000'; write the address
        engines: [{id: a, type: sglang, url: 'http://a b'}] | engines[0].url is 'http://a b'; write the address
        engines: [{id: a, type: sglang, url: 'http://u:p@x'}] | engines[0].url is 'http://u:p@x'; write the address
        """)
    void fault_isOneSentenceWithPathValueAndMend(String rest, String sentence) {
        String yaml = "{stateDirectory: s, " + rest.replace("{E}", ENGINE) + "}";

        assertThatThrownBy(() -> SidecarConfig.parse(yaml, "holdfast.yaml"))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith("holdfast.yaml: " + sentence)
                .hasMessageMatching("[^\\n\\r]+\\.");
    }

    @Test
    void missingEngines_isAFault() {
        assertThatThrownBy(() -> SidecarConfig.parse("stateDirectory: s", "f"))
                .hasMessageStartingWith("f: engines is missing; list at least one engine");
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
                        + " listen, snapshotSeconds, stateDirectory.");
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
        assertThatThrownBy(() -> SidecarConfig.parse("stateDirectory: s\nengines: [{id: a\n  - b: [\n", "f.yaml"))
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
                .hasMessageStartingWith("engines[1].id is 'a'");
    }

    @Test
    void controlCharactersAndLongValues_doNotSpoilTheSentence() {
        String id = "x".repeat(200) + "\\u0007\\n";

        assertThatThrownBy(() -> SidecarConfig.parse(
                        "{stateDirectory: s, engines: [{id: \"" + id + "\", type: vllm, url: 'http://x'}]}", "f"))
                .hasMessageMatching("f: engines\\[0]\\.id is 'x{60}\\.\\.\\.'; write [^\\n]+");
    }
}
