package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigMapping.required;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.kvcached.LimitSettings;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The YAML form of a {@link SidecarConfig}. */
public final class ConfigFile {
    private static final long MOST_BYTES = 1 << 20;
    private static final Set<String> ROOT = ConfigKeys.names(ConfigKeys.ROOT);
    private static final Set<String> LISTEN = ConfigKeys.names(ConfigKeys.LISTEN);
    private static final Set<String> TLS = ConfigKeys.names(ConfigKeys.TLS);
    private static final Set<String> ENGINE = ConfigKeys.names(ConfigKeys.ENGINE);
    private static final Set<String> LIMIT = ConfigKeys.names(ConfigKeys.LIMIT);
    private static final Set<String> DEVICE = ConfigKeys.names(ConfigKeys.DEVICE);
    private static final Set<String> HOLD = ConfigKeys.names(ConfigKeys.HOLD);
    private static final Set<String> DISCOVERY = ConfigKeys.names(ConfigKeys.DISCOVERY);
    private static final Set<String> DNS = ConfigKeys.names(ConfigKeys.DNS);

    private ConfigFile() {}

    static SidecarConfig load(Path file) {
        return parse(text(file), file.toString());
    }

    static SidecarConfig parse(String yaml, String source) {
        ConfigTree tree;
        try {
            tree = ConfigTree.of(yaml, source);
        } catch (ConfigException e) {
            throw e.in(source);
        }
        return read(tree, StateHome.of(System.getenv()));
    }

    /** @throws ConfigException with where its cause was written */
    static SidecarConfig read(ConfigTree tree, StateHome home) {
        try {
            return read(tree.root(), home);
        } catch (ConfigException e) {
            throw tree.located(e);
        }
    }

    static String text(Path file) {
        String name = file.toString();
        if (Files.isDirectory(file)) {
            throw new ConfigException("", name + " is a directory; name the configuration file in it");
        }
        if (!Files.exists(file)) {
            throw new ConfigException("", name + " does not exist; give the path of a configuration file");
        }
        try {
            if (Files.size(file) > MOST_BYTES) {
                throw new ConfigException("", name + " is larger than 1 MiB; that is no configuration file");
            }
            byte[] bytes = Files.readAllBytes(file);
            for (byte b : bytes) {
                if (b == 0) {
                    throw new ConfigException("", name + " is a binary file; give the path of a YAML file");
                }
            }
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            throw new ConfigException(
                    "", name + " is not UTF-8 text; save it as UTF-8 or give the path of a YAML file");
        } catch (IOException e) {
            throw new ConfigException("", name + " cannot be read (" + e + "); check its permissions");
        }
    }

    private static SidecarConfig read(JsonNode tree, StateHome home) {
        ConfigMapping root = new ConfigMapping(tree, ROOT);
        Listen listen = root.mapping("listen", LISTEN, ConfigFile::listen).orElseGet(Listen::defaults);
        Optional<Path> state = root.text("stateDirectory").map(ConfigFile::path);
        Optional<DiscoveryConfig> discovery = root.mapping("discovery", DISCOVERY, ConfigFile::discovery);
        Optional<List<EngineConfig>> engines = root.mappings("engines", ENGINE, ConfigFile::engine);
        return new SidecarConfig(
                listen,
                state.orElseGet(home::directory),
                root.wholeNumber("snapshotSeconds").stream()
                        .mapToObj(Duration::ofSeconds)
                        .findFirst()
                        .orElse(SidecarConfig.SNAPSHOTS),
                discovery.isPresent()
                        ? engines.orElse(List.of())
                        : required("engines", engines, "list at least one engine by id, type and url"),
                false,
                root.mappings("devices", DEVICE, ConfigFile::device).orElse(List.of()),
                discovery,
                state.isPresent() ? List.of() : home.others());
    }

    private static DiscoveryConfig discovery(ConfigMapping mapping) {
        return new DiscoveryConfig(
                mapping.text("file"),
                mapping.mapping("dns", DNS, ConfigFile::dns),
                seconds(mapping, "everySeconds", 10),
                seconds(mapping, "graceSeconds", 60),
                mapping.wholeNumber("mostEngines").orElse(64));
    }

    private static Duration seconds(ConfigMapping mapping, String key, int standard) {
        return Duration.ofSeconds(mapping.wholeNumber(key).orElse(standard));
    }

    private static DiscoveryConfig.Dns dns(ConfigMapping mapping) {
        DiscoveryConfig.Dns dns = new DiscoveryConfig.Dns(
                required("name", mapping.text("name"), "write the name whose addresses are engines"),
                required("type", mapping.choice("type", EngineType.class), "write sglang or vllm"),
                mapping.choice("records", DiscoveryConfig.Records.class).orElse(DiscoveryConfig.Records.ADDRESS),
                mapping.wholeNumber("port").orElse(30_000),
                mapping.text("scheme").orElse("http"),
                mapping.text("server"),
                mapping.object("engine").orElseGet(JsonNodeFactory.instance::objectNode));
        for (String own : List.of("id", "type", "url")) {
            if (dns.engine().has(own)) {
                throw new ConfigException("engine." + own, "is found, or written above; leave it out here");
            }
        }
        EngineConfig _ = engineAt(dns, "engine.example", dns.port());
        return dns;
    }

    /** The engine that a name gave. */
    public static EngineConfig engineAt(DiscoveryConfig.Dns dns, String host, int port) {
        ObjectNode node = dns.engine();
        node.put("id", DnsLookup.id(host, port));
        node.put("type", dns.type().name().toLowerCase(Locale.ROOT));
        node.put("url", dns.scheme() + "://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port);
        try {
            return engine(new ConfigMapping(node, ENGINE));
        } catch (ConfigException e) {
            throw e.under("engine");
        }
    }

    private static DeviceConfig device(ConfigMapping mapping) {
        return new DeviceConfig(
                required("id", mapping.text("id"), "give the device a short name"),
                mapping.bytes("memory")
                        .orElseThrow(() -> new ConfigException("memory", "is missing; write all it has")),
                mapping.number("utilization").orElse(0.95),
                mapping.bytes("weights")
                        .orElseThrow(() -> new ConfigException(
                                "weights", "is missing; write what the models of its engines take together")),
                mapping.bytes("activations").orElse(0),
                mapping.bytes("reserve").orElse(0));
    }

    private static LimitConfig limit(ConfigMapping mapping) {
        LimitSettings defaults = LimitSettings.defaults();
        return new LimitConfig(
                mapping.text("device"),
                new LimitSettings(
                        mapping.bytes("bundle"),
                        mapping.bytes("page").orElse(defaults.pageBytes()),
                        mapping.wholeNumber("marginPages").orElse(defaults.marginPages()),
                        mapping.bytes("floor").orElse(defaults.floorBytes()),
                        mapping.number("step").orElse(defaults.step()),
                        mapping.wholeNumber("coolDownSeconds").stream()
                                .mapToObj(Duration::ofSeconds)
                                .findFirst()
                                .orElse(defaults.coolDown()),
                        mapping.flag("pressure", defaults.pressure()),
                        mapping.flag("restore", defaults.restores())));
    }

    private static Listen listen(ConfigMapping mapping) {
        Listen defaults = Listen.defaults();
        return new Listen(
                mapping.text("host").orElse(defaults.host()),
                mapping.wholeNumber("port").orElse(defaults.port()),
                mapping.texts("allowedHosts").orElse(defaults.allowedHosts()),
                mapping.text("readTokenEnv"),
                mapping.text("actTokenEnv"),
                mapping.mapping("tls", TLS, ConfigFile::tls));
    }

    private static TlsConfig tls(ConfigMapping mapping) {
        return new TlsConfig(
                path("certificate", required("certificate", mapping.text("certificate"), "name a PEM file")),
                path("key", required("key", mapping.text("key"), "name the PEM file of its private key")));
    }

    private static EngineConfig engine(ConfigMapping mapping) {
        String id = required("id", mapping.text("id"), "give the engine a short name");
        EngineType type = required("type", mapping.choice("type", EngineType.class), "write sglang or vllm");
        URI url = uri(required("url", mapping.text("url"), "write the address of the engine's HTTP server"));
        EngineConfig defaults = EngineConfig.of(id, type, url);
        String backend = mapping.text("backend").orElse(defaults.backend());
        return new EngineConfig(
                id,
                type,
                url,
                mapping.text("caFile").map(file -> path("caFile", file)),
                mapping.text("events"),
                mapping.text("replay"),
                mapping.text("topic"),
                backend,
                mapping.wholeNumber("clientPriorityMax"),
                mapping.flagOr("automaticHolds", "auto")
                        .map(flag -> flag.map(on -> on ? AutomaticHolds.ON : AutomaticHolds.OFF)
                                .orElse(AutomaticHolds.WHERE_EVICTABLE))
                        .orElse(defaults.automaticHolds()),
                mapping.wholeNumber("automaticLeaseSeconds").stream()
                        .mapToObj(Duration::ofSeconds)
                        .findFirst()
                        .orElse(defaults.automaticLease()),
                mapping.wholeNumber("leastSavingMillis").stream()
                        .mapToObj(Duration::ofMillis)
                        .findFirst()
                        .orElse(defaults.leastSaving()),
                mapping.flag("priming", defaults.priming()),
                mapping.wholeNumber("ownRequestSecondsAnHour").stream()
                        .mapToObj(Duration::ofSeconds)
                        .findFirst()
                        .orElse(defaults.ownRequestsAnHour()),
                mapping.number("share").orElse(defaults.share()),
                requestSizes(mapping),
                mapping.wholeNumber("readingsMillis").stream()
                        .mapToObj(Duration::ofMillis)
                        .findFirst()
                        .orElseGet(() -> EngineConfig.readings(backend)),
                mapping.wholeNumber("tickMillis").stream()
                        .mapToObj(Duration::ofMillis)
                        .findFirst()
                        .orElse(defaults.tick()),
                effect(mapping),
                mapping.text("kvcachedSegment"),
                mapping.wholeNumber("kvcachedCachedTokens"),
                mapping.mapping("kvcachedLimit", LIMIT, ConfigFile::limit),
                hashAlgorithm(mapping),
                mapping.text("hashSeed"),
                mapping.mappings("holds", HOLD, ConfigFile::hold).orElse(List.of()),
                mapping.text("apiKeyEnv"),
                mapping.text("adminKeyEnv"));
    }

    private static DeclaredHold hold(ConfigMapping mapping) {
        String name = required("name", mapping.text("name"), "give the hold a short name");
        Optional<ArrayNode> tools = mapping.objects("tools");
        Optional<PrefixSource> messages =
                mapping.objects("messages").map(list -> new PrefixSource.Messages(list, tools));
        List<DeclaredHold> ways = Stream.of(
                        mapping.text("text").<PrefixSource>map(PrefixSource.Text::new),
                        messages,
                        mapping.tokens("tokens").<PrefixSource>map(PrefixSource.Tokens::new))
                .flatMap(Optional::stream)
                .map(source -> DeclaredHold.of(name, source))
                .collect(Collectors.toCollection(ArrayList::new));
        mapping.text("file").ifPresent(file -> ways.add(DeclaredHold.ofFile(name, path("file", file))));
        if (ways.size() != 1) {
            throw new ConfigException(
                    "",
                    "has " + (ways.isEmpty() ? "none" : "several") + " of text, file, messages and tokens; write one");
        }
        if (tools.isPresent() && messages.isEmpty()) {
            throw new ConfigException("tools", "are a part of a conversation; write messages, or leave the key out");
        }
        return mapping.flag("measure", false) ? ways.getFirst().toBeMeasured() : ways.getFirst();
    }

    private static Optional<EffectSettings> effect(ConfigMapping mapping) {
        EffectSettings defaults = EffectSettings.DEFAULTS;
        Optional<Duration> window = mapping.wholeNumberOr("ttftWindowSeconds", "automatic").stream()
                .flatMapToInt(OptionalInt::stream)
                .mapToObj(Duration::ofSeconds)
                .findFirst();
        double offShare = mapping.number("ttftOffShare").orElse(defaults.offShare());
        double leastGain = mapping.number("ttftLeastGain").orElse(defaults.leastGain());
        // Before the record is made, whose own sentences name no keys.
        ConfigException.require(
                window.filter(length ->
                                length.compareTo(Duration.ofSeconds(1)) < 0 || length.compareTo(Duration.ofDays(1)) > 0)
                        .isEmpty(),
                "ttftWindowSeconds",
                window.map(Duration::toSeconds).orElse(0L),
                "write 1 to 86400, or automatic");
        ConfigException.require(
                offShare >= 0 && offShare <= EffectSettings.MOST_OFF,
                "ttftOffShare",
                offShare,
                "write a number from 0, for none, to " + EffectSettings.MOST_OFF + ", such as 0.05");
        ConfigException.require(
                leastGain >= 0 && leastGain <= EffectSettings.MOST_GAIN,
                "ttftLeastGain",
                leastGain,
                "write a part of the time to first token, from 0 to " + EffectSettings.MOST_GAIN + ", such as 0.03");
        return mapping.flag("ttftLoop", true)
                ? Optional.of(new EffectSettings(window, offShare, leastGain))
                : Optional.empty();
    }

    private static Path path(String key, String written) {
        try {
            return Path.of(written);
        } catch (InvalidPathException e) {
            throw new ConfigException(key, "is " + ConfigException.shown(written) + "; name a file of this machine");
        }
    }

    private static Optional<Algorithm> hashAlgorithm(ConfigMapping mapping) {
        return mapping.text("hashAlgorithm")
                .map(written -> Algorithm.of(written)
                        .orElseThrow(() -> new ConfigException(
                                "hashAlgorithm",
                                "is " + ConfigException.shown(written) + "; "
                                        + ConfigMapping.mend(
                                                written,
                                                Arrays.stream(Algorithm.values())
                                                        .map(Algorithm::option)
                                                        .toList()))));
    }

    private static Optional<RequestSizes> requestSizes(ConfigMapping mapping) {
        Optional<OptionalInt> prompt = mapping.wholeNumberOr("largestPromptTokens", "measured");
        OptionalInt answer = mapping.wholeNumber("maxOutputTokens");
        prompt.ifPresent(written ->
                requireOneOrMore("largestPromptTokens", written, "write measured, or 1 or more, or leave the key out"));
        requireOneOrMore("maxOutputTokens", answer, "write 1 or more");
        if (prompt.isPresent() && answer.isEmpty()) {
            throw new ConfigException(
                    "maxOutputTokens",
                    "is missing; largestPromptTokens alone makes no request smaller, since an answer may fill the"
                            + " context: write the longest answer that clients ask for, or leave both keys out");
        }
        if (prompt.isEmpty() && answer.isPresent()) {
            throw new ConfigException(
                    "largestPromptTokens",
                    "is missing; maxOutputTokens alone makes no request smaller, since a prompt may fill the context:"
                            + " write measured or the longest prompt that clients send, or leave both keys out");
        }
        return prompt.map(written -> new RequestSizes(written, answer.getAsInt()));
    }

    private static void requireOneOrMore(String key, OptionalInt written, String mend) {
        ConfigException.require(written.orElse(1) >= 1, key, written.orElse(1), mend);
    }

    private static URI uri(String written) {
        try {
            return new URI(written);
        } catch (URISyntaxException e) {
            throw new ConfigException(
                    "url",
                    "is " + ConfigException.shown(written)
                            + "; write the address of an HTTP server, such as http://127.0.0.1:30000");
        }
    }

    private static Path path(String written) {
        if (written.isBlank()) {
            throw new ConfigException("stateDirectory", "is empty; name the directory that keeps the ledgers");
        }
        try {
            return Path.of(written);
        } catch (InvalidPathException e) {
            throw new ConfigException(
                    "stateDirectory", "is " + ConfigException.shown(written) + "; name a directory of this machine");
        }
    }
}
