package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.kvcached.LimitSettings;
import io.holdfast.sidecar.config.ConfigSources.Setting;
import io.holdfast.sidecar.config.DiscoveryConfig.Dns;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.fleet.FleetChange;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Where values come from, which of them counts, and what is said of those that cannot. */
class ConfigSourcesTest {
    private static final String FILE = """
        listen:
          port: 9001
        stateDirectory: state
        engines:
          main:
            type: sglang
            url: http://127.0.0.1:30000
            share: 0.2
          gpu-b:
            type: vllm
            url: http://127.0.0.1:30001
        """;
    private static final Path PAGE = Path.of("..", "docs", "configuration.md");

    @TempDir
    Path directory;

    private SidecarConfig read(String yaml, Map<String, String> environment, String... settings) throws IOException {
        return sources(yaml, environment, settings).read().config();
    }

    private ConfigSources sources(String yaml, Map<String, String> environment, String... settings) throws IOException {
        Map<String, String> all = new TreeMap<>(environment);
        all.putIfAbsent("HOME", directory.toString());
        Optional<Path> file =
                yaml.isEmpty() ? Optional.empty() : Optional.of(Files.writeString(directory.resolve("h.yaml"), yaml));
        return ConfigSources.of(
                file, all, Arrays.stream(settings).map(Setting::of).toList());
    }

    @Test
    void flag_goesBeforeVariableBeforeFileBeforeDefault() throws IOException {
        Map<String, String> variable = Map.of("HOLDFAST_ENGINES_MAIN_SHARE", "0.3");

        assertThat(read(FILE, variable, "engines.main.share=0.4")
                        .engines()
                        .getFirst()
                        .share())
                .isEqualTo(0.4);
        assertThat(read(FILE, variable).engines().getFirst().share()).isEqualTo(0.3);
        assertThat(read(FILE, Map.of()).engines().getFirst().share()).isEqualTo(0.2);
        assertThat(read(FILE, Map.of()).engines().getLast().share()).isEqualTo(0.5);
        assertThat(read(FILE, variable, "engines.main.share=0.4", "engines.main.share=0.6")
                        .engines()
                        .getFirst()
                        .share())
                .as("the later flag")
                .isEqualTo(0.6);
    }

    @Test
    void everyPlainKey_canBeSetByVariableAndByFlag() throws IOException {
        Map<String, String> values = new TreeMap<>();
        values.put("listen.host", "::1");
        values.put("listen.port", "9000");
        values.put("listen.allowedHosts", "a.example, b.example");
        values.put("listen.readTokenEnv", "READ");
        values.put("listen.actTokenEnv", "ACT");
        values.put("listen.tls.certificate", "c.pem");
        values.put("listen.tls.key", "k.pem");
        values.put("stateDirectory", "s");
        values.put("engines.main.hashSeed", "0");
        values.put("engines.main.type", "vllm");
        values.put("engines.main.url", "https://e:1");
        values.put("engines.main.caFile", "ca.pem");
        values.put("engines.main.automaticHolds", "true");
        values.put("engines.main.largestPromptTokens", "measured");
        values.put("engines.main.maxOutputTokens", "64");
        values.put("engines.main.tickMillis", "20");
        values.put("engines.main.holds", "{a: {text: b}}");
        values.put("devices.gpu0.memory", "80G");
        values.put("devices.gpu0.weights", "16G");
        values.put("discovery.dns.name", "engines.example");
        values.put("discovery.dns.type", "vllm");
        values.put("discovery.dns.engine", "{share: 0.25}");
        Map<String, String> variables = new TreeMap<>();
        List<String> flags = new ArrayList<>();
        values.forEach((key, value) -> {
            variables.put("HOLDFAST_" + ConfigTree.Spelling.VARIABLE.of(key), value);
            flags.add(key + "=" + value);
        });

        SidecarConfig byVariables = read("", variables);
        SidecarConfig byFlags = read("", Map.of(), flags.toArray(String[]::new));

        assertThat(byVariables).isEqualTo(byFlags);
        assertThat(byFlags.listen().allowedHosts()).containsExactly("a.example", "b.example");
        assertThat(byFlags.listen().port()).isEqualTo(9000);
        assertThat(byFlags.listen().tls()).contains(new TlsConfig(Path.of("c.pem"), Path.of("k.pem")));
        EngineConfig main = byFlags.engines().getFirst();
        assertThat(main.id()).isEqualTo("main");
        assertThat(main.hashSeed()).contains("0");
        assertThat(main.tick()).isEqualTo(Duration.ofMillis(20));
        assertThat(main.holds().getFirst().name()).isEqualTo("a");
        assertThat(main.requestSizes().orElseThrow().largestPromptTokens()).isEmpty();
        assertThat(byFlags.devices().getFirst().memoryBytes()).isEqualTo(80L << 30);
        assertThat(byFlags.discovery()
                        .orElseThrow()
                        .dns()
                        .orElseThrow()
                        .engine()
                        .path("share")
                        .asDouble())
                .isEqualTo(0.25);
    }

    @Test
    void nameInAVariable_isThatOfAnEngineWhoseLettersItHas() throws IOException {
        SidecarConfig config = read(
                FILE,
                Map.of(
                        "HOLDFAST_ENGINES_GPU_B_SHARE", "0.7",
                        "HOLDFAST_ENGINES_NEW_ONE_URL", "http://127.0.0.1:3",
                        "HOLDFAST_ENGINES_NEW_ONE_TYPE", "vllm",
                        "HOLDFAST_ENGINES_NEW_ONE_KVCACHED_SEGMENT", "s",
                        "HOLDFAST_ENGINES_NEW_ONE_KVCACHED_LIMIT_STEP", "0.3"));

        assertThat(config.engines()).extracting(EngineConfig::id).containsExactly("main", "gpu-b", "new_one");
        assertThat(config.engines().get(1).share()).isEqualTo(0.7);
        assertThat(config.engines().getLast().limit().settings().step()).isEqualTo(0.3);
    }

    @Test
    void variableOfTwoEngines_isRefused() {
        assertThatThrownBy(() -> read(FILE.replace("main:", "gpu.b:"), Map.of("HOLDFAST_ENGINES_GPU_B_SHARE", "0.7")))
                .hasMessage("HOLDFAST_ENGINES_GPU_B_SHARE can mean engines.gpu.b.share and engines.gpu-b.share; write"
                        + " one of them with --set, or in the file.");
    }

    @Test
    void idWithDots_isFoundInAFlag() throws IOException {
        SidecarConfig config =
                read(FILE.replace("gpu-b:", "10.0.0.7-30000:"), Map.of(), "engines.10.0.0.7-30000.share=0.9");

        assertThat(config.engines()).hasSize(2);
        assertThat(config.engines().getLast().share()).isEqualTo(0.9);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        engines.main.share=2      | --set engines.main.share: engines.main.share is '2.0'; write a number above 0
        engines.main.share=half   | --set engines.main.share: engines.main.share is the text 'half'; write a number
        engines.main.shar=1       | --set engines.main.shar is no key of the configuration; did you mean engines.main.share?
        engines.new.share=0.5     | --set engines.new.share: engines.new.type is missing; write sglang or vllm
        engines.main=1            | --set engines.main: engines.main is the value '1'; write a mapping with the keys
        engines.main.id=b         | --set engines.main.id is no key of the configuration; did you mean engines.main.url?
        engines.main.kvcachedLimit={ | --set engines.main.kvcachedLimit: engines.main.kvcachedLimit is not valid YAML at line 1
        listen.port=              | --set listen.port: listen.port is empty; write a value
        listen.port=1.5           | --set listen.port: listen.port is the value '1.5'; write a whole number
        listen.port=70000         | --set listen.port: listen.port is '70000'; write 0 to 65535
        listen.port.x=1           | --set listen.port.x is no key of the configuration; did you mean listen.port?
        lisen.port=1              | --set lisen.port is no key of the configuration; did you mean listen.port?
        nonsense=1                | --set nonsense is no key of the configuration; holdfast sidecar --print-keys lists all
        engines.main.priming=maybe | --set engines.main.priming: engines.main.priming is the text 'maybe'; write true or false
        engines.main.kvcachedLimit=x | --set engines.main.kvcachedLimit: engines.main.kvcachedLimit is the text 'x'; write a mapping with the keys
        engines.main.caFile=x     | --set engines.main.caFile: engines.main.caFile is 'x'; only https has certificates
        """)
    void flagThatCannotBe_saysKeyFlagCauseAndMend(String setting, String sentence) {
        assertThatThrownBy(() -> read(FILE, Map.of(), setting))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith(sentence)
                .hasMessageMatching("[^\\n]+\\.");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        HOLDFAST_LISEN_PORT         | 1    | HOLDFAST_LISEN_PORT is no key of the configuration; did you mean HOLDFAST_LISTEN_PORT?
        HOLDFAST_ENGINES_MAIN_SHAR  | 1    | HOLDFAST_ENGINES_MAIN_SHAR is no key of the configuration; did you mean HOLDFAST_ENGINES_MAIN_SHARE?
        HOLDFAST_NONSENSE           | 1    | HOLDFAST_NONSENSE is no key of the configuration; unset it
        HOLDFAST_LISTEN_PORT        | x    | HOLDFAST_LISTEN_PORT: listen.port is the text 'x'; write a whole number
        HOLDFAST_ENGINES_MAIN_SHARE | 1.5  | HOLDFAST_ENGINES_MAIN_SHARE: engines.main.share is '1.5'; write a number
        HOLDFAST_ENGINES_MAIN_AUTOMATICHOLDS | true | HOLDFAST_ENGINES_MAIN_AUTOMATICHOLDS is no key of the configuration; did you mean HOLDFAST_ENGINES_MAIN_AUTOMATIC_HOLDS?
        """)
    void variableThatCannotBe_saysKeyVariableCauseAndMend(String variable, String value, String sentence) {
        assertThatThrownBy(() -> read(FILE, Map.of(variable, value)))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith(sentence)
                .hasMessageMatching("[^\\n]+[.?]\\.?");
    }

    @Test
    void fileThatCannotBe_saysTheLine() {
        assertThatThrownBy(() -> read(FILE.replace("share: 0.2", "share: 2"), Map.of()))
                .hasMessage(directory.resolve("h.yaml") + ": engines.main.share is '2.0'; write a number above 0 and at"
                        + " most 1, such as 0.5 (line 8).");
        assertThatThrownBy(() -> read(FILE.replace("share: 0.2", "sharre: 2"), Map.of()))
                .hasMessageContaining("engines.main.sharre is an unknown key; did you mean share? (line 8).");
    }

    @Test
    void whatOthersTellEveryProcess_isPassedOver() throws IOException {
        SidecarConfig config = read(
                FILE,
                Map.of(
                        "HOLDFAST_SERVICE_HOST", "10.0.0.1",
                        "HOLDFAST_SERVICE_PORT", "8471",
                        "HOLDFAST_SERVICE_PORT_HTTP", "8471",
                        "HOLDFAST_PORT", "tcp://10.0.0.1:8471",
                        "HOLDFAST_PORT_8471_TCP", "tcp://10.0.0.1:8471",
                        "HOLDFAST_PORT_8471_TCP_ADDR", "10.0.0.1",
                        "HOLDFAST_LISTEN_PORT", "tcp://10.0.0.1:8471",
                        "HOLDFAST_LOG", "info",
                        "PATH", "x"));

        assertThat(config.listen().port()).isEqualTo(9001);
    }

    @Test
    void variableThatTheConfigurationNames_isNoKey() throws IOException {
        Map<String, String> token = Map.of("HOLDFAST_ACT_TOKEN", "0123456789abcdef");

        assertThat(read(FILE, token, "listen.actTokenEnv=HOLDFAST_ACT_TOKEN")
                        .listen()
                        .actTokenEnv())
                .contains("HOLDFAST_ACT_TOKEN");
        assertThatThrownBy(() -> read(FILE, token)).hasMessageStartingWith("HOLDFAST_ACT_TOKEN is no key");
    }

    @Test
    void printedConfiguration_isReadAgainAsItWas() throws IOException {
        String rich = FILE.replace("share: 0.2", """
            share: 0.2
                hashSeed: "0"
                kvcachedSegment: k
                kvcachedLimit: {step: 0.1}
                holds: {a: {messages: [{role: system, content: "0x10 # no comment"}]}}
            """).replace("type: sglang", "type: vllm");
        ConfigSources sources = sources(rich, Map.of("HOLDFAST_LISTEN_PORT", "0"), "engines.gpu-b.backend=dry_run");
        EffectiveConfig effective = sources.read();

        SidecarConfig again = SidecarConfig.parse(effective.yaml(), "printed");

        assertThat(again).isEqualTo(effective.config());
        assertThat(again.engines().getLast().readings()).isEqualTo(Duration.ofSeconds(2));
        assertThat(effective.yaml()).contains("ownRequestSecondsAnHour: 120").contains("marginPages: 5");
    }

    @Test
    void secrets_areNeverPrinted() throws IOException {
        Map<String, String> environment = Map.of("ACT", "very-secret-token-of-mine", "KEY", "sk-secret");
        EffectiveConfig effective = sources(
                        FILE,
                        environment,
                        "listen.actTokenEnv=ACT",
                        "engines.main.apiKeyEnv=KEY",
                        "engines.gpu-b.apiKeyEnv=abcdef0123456789",
                        "engines.main.holds={a: {text: a private prompt}}")
                .read();

        assertThat(effective.yaml()).doesNotContain("secret").contains("actTokenEnv: ACT");
        assertThat(String.join("\n", effective.lines()))
                .contains("listen.actTokenEnv = ACT (--set listen.actTokenEnv)")
                .contains("engines.gpu-b.apiKeyEnv = (a variable that is not set)")
                .doesNotContain("secret")
                .doesNotContain("abcdef0123456789")
                .doesNotContain("private");
    }

    @Test
    void lines_sayWhereEachValueIsFrom() throws IOException {
        List<String> lines = sources(FILE, Map.of("HOLDFAST_ENGINES_MAIN_SHARE", "0.3"), "listen.port=0")
                .read()
                .lines();

        assertThat(lines)
                .contains(
                        "listen.port = 0 (--set listen.port)",
                        "engines.main.share = 0.3 (HOLDFAST_ENGINES_MAIN_SHARE)",
                        "engines.gpu-b.url = http://127.0.0.1:30001 (" + directory.resolve("h.yaml") + ":11)")
                .noneMatch(line -> line.contains("tickMillis"));
    }

    @Test
    void foundFiles_areEnginesLikeThoseListed() throws IOException {
        Path found = Files.createDirectories(directory.resolve("engines.d"));
        Files.writeString(found.resolve("b.yaml"), "b:\n  type: vllm\n  url: http://127.0.0.1:2\n");
        Files.writeString(found.resolve("a.yaml"), """
            a1: {type: vllm, url: 'http://127.0.0.1:3'}
            a2: {type: vllm, url: 'http://127.0.0.1:4'}
            """);
        Files.writeString(found.resolve("c.txt"), "no engine");
        String yaml = FILE + "discovery: {file: 'engines.d/*.yaml'}\n";

        EffectiveConfig effective =
                sources(yaml, Map.of("HOLDFAST_ENGINES_A2_SHARE", "0.1")).read();

        assertThat(effective.config().engines())
                .extracting(EngineConfig::id)
                .containsExactly("main", "gpu-b", "a1", "a2", "b");
        assertThat(effective.config().engines().get(3).share()).isEqualTo(0.1);
        assertThat(SidecarConfig.parse(effective.yaml(), "printed").engines())
                .isEqualTo(effective.config().engines());
        Files.writeString(found.resolve("b.yaml"), "b:\n  type: vllm\n  url: http://127.0.0.1:2\n  share: 7\n");
        assertThatThrownBy(() -> read(yaml, Map.of()))
                .hasMessageStartingWith(found.resolve("b.yaml") + ": engines.b.share is '7.0'")
                .hasMessageEndingWith("(line 4).");
        Files.writeString(found.resolve("b.yaml"), "7");
        assertThatThrownBy(() -> read(yaml, Map.of()))
                .hasMessageStartingWith(found.resolve("b.yaml") + ": is the value");
    }

    @Test
    void moreFoundFilesThanAllowed_areRefused() throws IOException {
        Path found = Files.createDirectories(directory.resolve("e"));
        for (int i = 0; i < 3; i++) {
            Files.writeString(
                    found.resolve(i + ".yaml"), "{e" + i + ": {type: vllm, url: 'http://127.0.0.1:" + (i + 1) + "'}}");
        }

        assertThatThrownBy(() -> read("stateDirectory: s\ndiscovery: {file: 'e/*.yaml', mostEngines: 2}\n", Map.of()))
                .hasMessageContaining("discovery.mostEngines is '2', and the files have 3 engines");
    }

    // The table

    @Test
    void defaultsOfTheTable_areThoseOfTheCode() {
        EngineConfig engine = EngineConfig.of("a", EngineType.SGLANG, URI.create("http://x"));
        assertThat(engine.effect()).contains(EffectSettings.DEFAULTS);
        assertThat(engine.leastSaving()).isEqualTo(ControllerSettings.LEAST_SAVING);
        assertThat(engine.ownRequestsAnHour()).isEqualTo(ControllerSettings.OWN_REQUESTS_AN_HOUR);
        assertThat(engine.limit().settings()).isEqualTo(LimitSettings.defaults());
        assertThat(engine.automaticHolds()).isEqualTo(AutomaticHolds.WHERE_EVICTABLE);
        for (EngineType type : EngineType.values()) {
            assertThat(EngineConfig.of("a", type, URI.create("http://x")).backend())
                    .isEqualTo(type.backends().getFirst());
        }
        assertThat(Section.of(SidecarConfig.class)
                        .find("snapshotSeconds")
                        .orElseThrow()
                        .standard())
                .isEqualTo(String.valueOf(SidecarConfig.SNAPSHOTS.toSeconds()));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "engines: {a: {type: vllm, url: 'http://x', kvcachedSegment: s, kvcachedLimit: {}}}",
                "devices: {g: {memory: 80G, weights: 1G}}\ndiscovery: {dns: {name: n, type: vllm}}"
            })
    void completedTree_isReadAsItWasWritten(String rest) {
        String yaml = "stateDirectory: s\n" + rest + "\n";

        String complete = Yaml.printed(ConfigTree.of(yaml, "t").complete(StateHome.of(Map.of())));

        assertThat(SidecarConfig.parse(complete, "t")).isEqualTo(SidecarConfig.parse(yaml, "t"));
        assertThat(complete.lines().count()).isGreaterThan(20);
    }

    @Test
    void engineOfAName_publishesAtItsOwnAddress() {
        Dns dns = SidecarConfig.parse(
                        "stateDirectory: s\ndiscovery: {dns: {name: n, type: vllm,"
                                + " engine: {events: 'tcp://*:5557', replay: 'tcp://*:5570'}}}\n",
                        "t")
                .discovery()
                .flatMap(DiscoveryConfig::dns)
                .orElseThrow();

        assertThat(dns.at("10.0.0.7", 8000).events()).contains("tcp://10.0.0.7:5557");
        assertThat(dns.at("10.0.0.7", 8000).replay()).contains("tcp://10.0.0.7:5570");
        assertThat(dns.at("fd00::7", 8000).events()).contains("tcp://[fd00::7]:5557");
    }

    /** A component that is no key is not read, and so stands for what is known otherwise. */
    @Test
    void everyComponentOfAnEngine_hasItsKeys() {
        assertThat(EngineConfig.class.getRecordComponents())
                .filteredOn(part -> Section.of(EngineConfig.class).of(part).isEmpty())
                .extracting(RecordComponent::getName)
                .containsExactly("id");
        assertThat(SidecarConfig.class.getRecordComponents())
                .filteredOn(part -> Section.of(SidecarConfig.class).of(part).isEmpty())
                .extracting(RecordComponent::getName)
                .containsExactly("showText", "otherStates");
    }

    private static ConfigKey key(String name) {
        return Section.of(EngineConfig.class).find(name).orElseThrow();
    }

    @Test
    void page_saysWhatTheTableSays() throws IOException {
        String page = Files.readString(PAGE);

        assertThat(page)
                .as("docs/configuration.md: put what 'holdfast sidecar --print-keys' prints at its end")
                .endsWith("<!-- keys: begin -->\n" + SidecarConfig.reference() + "<!-- keys: end -->\n");
    }

    @Test
    void everyKey_isDescribedAndInTheExample() {
        String example = SidecarConfig.example();
        Section.ROOT
                .all("")
                .forEach(each -> each.section().keys().forEach(key -> {
                    assertThat(key.meaning()).as(key.name()).isNotEmpty();
                    assertThat(key.standard().isEmpty() || !key.why().isEmpty())
                            .as("a reason for the default of " + key.name())
                            .isTrue();
                    assertThat(Pattern.compile("\\b" + key.name() + ":")
                                    .matcher(example)
                                    .find())
                            .as("the example has " + each.path() + " " + key.name())
                            .isTrue();
                }));
    }

    // The state directory

    @Test
    void stateDirectory_isTheSystemsWhereItCanBeWritten() {
        Path system = directory.resolve("var");

        StateHome home = StateHome.of(Map.of("HOME", directory.toString()), system, "?");

        assertThat(home).isEqualTo(new StateHome(Optional.of(system), "it can be written", List.of()));
        assertThat(StateHome.of(Map.of("STATE_DIRECTORY", "/s:/t", "HOME", "/h"), system, "?")
                        .directory())
                .isEqualTo(Path.of("/s"));
    }

    @Test
    void stateDirectory_isTheUsersWhereTheSystemsCannotBeWritten() throws IOException {
        Path system = Files.createFile(directory.resolve("plain")).resolve("holdfast");

        assertThat(StateHome.of(Map.of("HOME", "/h", "XDG_STATE_HOME", "/x"), system, "?")
                        .directory())
                .isEqualTo(Path.of("/x/holdfast"));
        assertThat(StateHome.of(Map.of("HOME", "/h", "XDG_STATE_HOME", "relative"), system, "?")
                        .directory())
                .isEqualTo(Path.of("/h/.local/state/holdfast"));
    }

    @Test
    void stateDirectory_staysWhereLedgersAre() throws IOException {
        Path system = directory.resolve("var");
        Path users = Files.createDirectories(directory.resolve(".local/state/holdfast"));
        Map<String, String> environment = Map.of("HOME", directory.toString());
        Files.writeString(users.resolve("main.ledger"), "");

        assertThat(StateHome.of(environment, system, "?"))
                .as("the system's became writable later")
                .isEqualTo(new StateHome(Optional.of(users), "its ledgers are there", List.of()));

        Files.createDirectories(system);
        Files.writeString(system.resolve("main.ledger"), "");
        assertThat(StateHome.of(environment, system, "?"))
                .isEqualTo(new StateHome(Optional.of(system), "its ledgers are there", List.of(users)));
    }

    @Test
    void stateDirectory_userWithoutAHome_isRefusedWithTheKey() throws IOException {
        Path system = Files.createFile(directory.resolve("plain")).resolve("holdfast");

        for (Map<String, String> homeless :
                List.of(Map.<String, String>of(), Map.of("HOME", ""), Map.of("HOME", "?"), Map.of("HOME", "there"))) {
            StateHome home = StateHome.of(homeless, system, "?");
            assertThatThrownBy(home::directory)
                    .isInstanceOf(ConfigException.class)
                    .hasMessage("stateDirectory is not written, and " + system
                            + " cannot be written by this user, who has no home directory; set it, or the variable"
                            + " HOLDFAST_STATE_DIRECTORY, to a directory that outlives this process.");
        }
        assertThat(StateHome.of(Map.of(), system, "/listed").directory())
                .isEqualTo(Path.of("/listed/.local/state/holdfast"));
    }

    @Test
    void stateDirectory_homeThatCannotBeWritten_isRefusedWithTheKey() throws IOException {
        Path system = Files.createFile(directory.resolve("plain")).resolve("holdfast");
        Path home = Files.createFile(directory.resolve("home"));

        StateHome found = StateHome.of(Map.of("HOME", home.toString()), system, "?");

        assertThatThrownBy(found::directory)
                .hasMessageStartingWith("stateDirectory is not written, and neither " + system + " nor " + home
                        + "/.local/state/holdfast can be written by this user; set it, or the variable"
                        + " HOLDFAST_STATE_DIRECTORY,");
    }

    // What is checked without a start

    @Test
    void check_namesWhatIsMissingOnThisMachine() throws IOException {
        sources(FILE, Map.of()).check();
        assertThatThrownBy(
                        () -> sources(FILE, Map.of(), "listen.actTokenEnv=ACT").check())
                .hasMessageStartingWith("The environment variable ACT, which listen.actTokenEnv names, is not set");
        assertThatThrownBy(() ->
                        sources(FILE, Map.of(), "engines.gpu-b.apiKeyEnv=K").check())
                .hasMessageStartingWith("The environment variable K, which engines.gpu-b.apiKeyEnv names, is not set");
        assertThatThrownBy(() -> sources(FILE, Map.of(), "engines.main.holds={a: {file: /nosuch}}")
                        .check())
                .hasMessageStartingWith("The file /nosuch cannot be read");
        Path plain = Files.createFile(directory.resolve("plain"));
        assertThatThrownBy(
                        () -> sources(FILE, Map.of(), "stateDirectory=" + plain).check())
                .hasMessageContaining("cannot be written by this user");
        assertThatThrownBy(
                        () -> sources(FILE, Map.of(), "stateDirectory=pom.xml").check())
                .hasMessageStartingWith(
                        "The state directory " + Path.of("pom.xml").toAbsolutePath() + " cannot be written");
        assertThatThrownBy(() -> sources(FILE, Map.of(), "listen.tls={certificate: " + plain + ", key: " + plain + "}")
                        .check())
                .hasMessageStartingWith("listen.tls.certificate " + plain + " has no certificates");
    }

    // What a reload can do

    @Test
    void difference_isToldByKeysAndByWhatTheyNeed() throws IOException {
        SidecarConfig before = read(FILE, Map.of());
        FleetChange change = FleetChange.between(
                before,
                read(
                        FILE.replace("gpu-b:", "c:").replace("30001", "30003"),
                        Map.of(),
                        "engines.main.share=0.9",
                        "engines.main.largestPromptTokens=100",
                        "engines.main.maxOutputTokens=10"));

        assertThat(change.added()).extracting(EngineConfig::id).containsExactly("c");
        assertThat(change.removed()).extracting(EngineConfig::id).containsExactly("gpu-b");
        List<ConfigKey> keys = change.changed().values().iterator().next();
        assertThat(keys).extracting(ConfigKey::name).containsExactly("share", "largestPromptTokens", "maxOutputTokens");
        assertThat(FleetChange.anew(keys)).isFalse();
        assertThat(FleetChange.anew(List.of(key("backend")))).isTrue();
        assertThat(key("kvcachedLimit").change()).isEqualTo(Change.RESTART);
    }

    @ParameterizedTest
    @CsvSource({
        "listen.port=1, listen.port is taken at a start alone",
        "listen.host=127.0.0.2, listen.host is taken",
        "stateDirectory=other, stateDirectory is taken",
        "engines.main.kvcachedSegment=x, engines.main.kvcachedSegment is taken",
        "'devices={g: {memory: 80G, weights: 1G}}', devices is taken"
    })
    void whatOnlyARestartTakes_isRefused(String setting, String sentence) throws IOException {
        SidecarConfig before = read(FILE, Map.of());
        SidecarConfig after = read(FILE, Map.of(), setting);

        assertThatThrownBy(() -> FleetChange.between(before, after)).hasMessageStartingWith(sentence);
    }

    @Test
    void sameFileReadTwice_isNoChange() throws IOException {
        String yaml = FILE.replace("share: 0.2", "holds: {a: {tokens: [1, 2]}, b: {text: x}}");

        FleetChange change = FleetChange.between(read(yaml, Map.of()), read(yaml, Map.of()));

        assertThat(change).isEqualTo(new FleetChange(List.of(), List.of(), Map.of()));
    }

    @Test
    void exampleAndTable_haveTheSameKeysOnly() {
        JsonNode example = Yaml.parsed(SidecarConfig.example());

        assertThat(Section.of(EngineConfig.class).names())
                .containsAll(() -> example.path("engines").path("main").fieldNames());
    }
}
