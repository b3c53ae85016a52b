package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Configuration of one sidecar: where it listens, where it keeps its ledgers, which engines it follows.
 *
 * @param showText whether the API shows those who may act by what texts and tokens holds were asked for
 * @param otherStates directories in which an earlier start may have left ledgers
 */
@Reload(Change.RESTART)
public record SidecarConfig(
        @Key("the API") @Default(value = "{}", why = "this machine alone")
        Listen listen,

        @Key("directory for the ledger and the requested holds of each engine; two sidecars cannot share one")
        @Unit(value = "directory", range = "writable")
        @Default(
                why = "`STATE_DIRECTORY` of systemd; else that of /var/lib/holdfast (where it can be written) and"
                        + " `$XDG_STATE_HOME/holdfast` or `~/.local/state/holdfast` which has ledgers, else the first")
        Path stateDirectory,

        @Key(name = "snapshotSeconds", value = "time between two writes of what was learned, beside the ledgers")
        @Unit(from = 1, to = 86_400)
        @Default(value = "60", why = "after a crash at most that much is learned anew")
        Duration snapshots,

        @Key("devices whose memory engines under kvcached share") @Default(value = "{}", why = "none")
        List<DeviceConfig> devices,

        @Key("the engines; a reload adds and releases them")
        @Unit(range = "at least one, or discovery")
        @Default(value = "{}", why = "no default: they are the operator's")
        List<EngineConfig> engines,

        @Key("places where more engines are found") @Default(why = "none")
        Optional<DiscoveryConfig> discovery,

        @Key("what engines of several sidecars tell each other") @Default(value = "{}", why = "nothing is shared")
        FleetConfig fleet,

        boolean showText,
        List<Path> otherStates) {
    /** Time between two writes of what was learned unless somebody decides otherwise. */
    public static final Duration SNAPSHOTS = Duration.ofMinutes(1);

    /** Makes one that shows no texts and shares no device. */
    public SidecarConfig(Listen listen, Path stateDirectory, List<EngineConfig> engines) {
        this(
                listen,
                stateDirectory,
                SNAPSHOTS,
                List.of(),
                engines,
                Optional.empty(),
                FleetConfig.NONE,
                false,
                List.of());
    }

    /** Returns this configuration with the leave to show texts, or without. */
    public SidecarConfig withShowText(boolean value) {
        return new SidecarConfig(
                listen, stateDirectory, snapshots, devices, engines, discovery, fleet, value, otherStates);
    }

    /** Returns this configuration with these engines in place of its own. */
    public SidecarConfig withEngines(List<EngineConfig> others) {
        return new SidecarConfig(
                listen, stateDirectory, snapshots, devices, others, discovery, fleet, showText, otherStates);
    }

    /** Returns this configuration with directories in which an earlier start may have left ledgers. */
    public SidecarConfig withOtherStates(List<Path> others) {
        return new SidecarConfig(
                listen, stateDirectory, snapshots, devices, engines, discovery, fleet, showText, others);
    }

    /** Address of the HTTP API, and who may use it. */
    @Reload(Change.RESTART)
    public record Listen(
            @Key("address where the API is served; beyond this machine nobody acts without `actTokenEnv`")
            @Unit("address")
            @Default(value = "127.0.0.1", why = "nobody else reaches it by accident")
            String host,

            @Key("port; 0 takes any free one")
            @Unit(value = "port", from = 0, to = 65_535)
            @Default(value = "8471", why = "an unassigned port that no engine uses")
            int port,

            @Key("accepted `Host` headers, besides the address and, on this machine, localhost")
            @Unit(value = "names", range = "no wildcards")
            @Default(value = "[]", why = "a name that a page chose must not lead here")
            List<String> allowedHosts,

            @Key("environment variable that has the token for reading and metrics")
            @Unit(range = "16 characters in it")
            @Default(why = "everybody who reaches the port reads")
            Optional<String> readTokenEnv,

            @Key("environment variable that has the token for holding, releasing and reloading")
            @Unit(range = "16 characters in it")
            @Default(why = "on this machine everybody who reaches the port acts, and beyond it nobody")
            Optional<String> actTokenEnv,

            @Key("serves HTTPS in place of HTTP; a reload reads the files again, and so does a change of them")
            @Default(why = "plain HTTP stays on this machine by default")
            Optional<TlsConfig> tls) {
        private static final Pattern NAME =
                Pattern.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,252})|[0-9A-Fa-f]*:[0-9A-Fa-f:.]*");
        private static final Pattern LOOPBACK =
                Pattern.compile("localhost|127(\\.[0-9]{1,3}){3}|::1|\\[::1]", Pattern.CASE_INSENSITIVE);

        public Listen {
            require(
                    !host.isBlank() && host.chars().noneMatch(Character::isWhitespace),
                    "host",
                    host,
                    "write an address of this machine, such as 127.0.0.1");
            allowedHosts = List.copyOf(allowedHosts);
            for (int i = 0; i < allowedHosts.size(); i++) {
                require(
                        NAME.matcher(allowedHosts.get(i)).matches(),
                        "allowedHosts[" + i + "]",
                        allowedHosts.get(i),
                        "write a name or an address without a port, such as holdfast.example; there is no wildcard");
            }
            require(
                    readTokenEnv.isEmpty() || actTokenEnv.isPresent() || !isLoopback(host),
                    "readTokenEnv",
                    readTokenEnv.orElse(""),
                    "without actTokenEnv every caller that reaches this address may act, and so read: write"
                            + " actTokenEnv, too");
        }

        /** Makes one in plain HTTP. */
        public Listen(
                String host,
                int port,
                List<String> allowedHosts,
                Optional<String> readTokenEnv,
                Optional<String> actTokenEnv) {
            this(host, port, allowedHosts, readTokenEnv, actTokenEnv, Optional.empty());
        }

        /** Tells whether the configuration names this host. */
        public boolean allows(String asked) {
            return allowedHosts.stream().anyMatch(asked::equalsIgnoreCase);
        }

        /** Tells whether only this machine can reach it. */
        public boolean loopback() {
            return isLoopback(host);
        }

        /** Tells whether a name in a URL means the machine that looks it up, whatever a name server says. */
        public static boolean isLoopback(String host) {
            return LOOPBACK.matcher(host).matches();
        }

        /** Returns the loopback address at Holdfast's usual port. */
        public static Listen defaults() {
            return Binder.read(Listen.class, "", JsonNodeFactory.instance.objectNode());
        }
    }

    public SidecarConfig {
        require(
                !stateDirectory.toString().isBlank(),
                "stateDirectory",
                stateDirectory,
                "name the directory that keeps the ledgers");
        engines = List.copyOf(engines);
        devices = List.copyOf(devices);
        otherStates = List.copyOf(otherStates);
        if (engines.isEmpty() && discovery.isEmpty()) {
            throw new ConfigException(
                    "engines", "has none; write at least one by its name, with type and url, or write discovery");
        }
        Set<String> known = devices.stream().map(DeviceConfig::id).collect(Collectors.toCollection(TreeSet::new));
        Map<String, String> seen = new HashMap<>();
        for (EngineConfig engine : engines) {
            unique(seen, "id", engine.id(), engine.id(), engine, "give each engine a name of its own");
            unique(
                    seen,
                    "url",
                    EngineAddress.spelling(engine.url()),
                    engine.url().toString(),
                    engine,
                    "an engine may be listed only once, in whatever spelling");
            engine.kvcachedSegment()
                    .ifPresent(segment -> unique(
                            seen,
                            "kvcachedSegment",
                            SegmentReader.file(segment).toString(),
                            segment,
                            engine,
                            "each engine needs one of its own: give it a KVCACHED_IPC_NAME"));
            engine.fleetHolds().stream()
                    .findFirst()
                    .filter(hold -> !fleet.shares())
                    .ifPresent(hold -> {
                        throw new ConfigException(
                                "engines." + engine.id() + ".holds." + hold.name() + ".copies",
                                "needs other engines to be known; write fleet.store, or leave copies out");
                    });
            String device = engine.limit().device().orElse("");
            require(
                    device.isEmpty() || known.contains(device),
                    "engines." + engine.id() + ".kvcachedLimit.device",
                    device,
                    known.isEmpty() ? "list it under devices" : "listed under devices are " + String.join(", ", known));
        }
    }

    private static void unique(
            Map<String, String> seen, String key, String value, String written, EngineConfig engine, String mend) {
        String earlier = seen.putIfAbsent(key + " " + value, engine.id());
        if (earlier != null) {
            throw new ConfigException(
                    "engines." + engine.id() + "." + key,
                    "is " + ConfigException.shown(written) + " like that of engines." + earlier + "; " + mend);
        }
    }

    /**
     * Reads a YAML file.
     *
     * @throws ConfigException for whatever keeps it from being a configuration, in one sentence
     */
    public static SidecarConfig load(Path file) {
        return parse(Yaml.text(file), file.toString());
    }

    /**
     * Reads YAML text.
     *
     * @param source what to call the text in sentences about it
     * @throws ConfigException for whatever keeps it from being a configuration, in one sentence
     */
    public static SidecarConfig parse(String yaml, String source) {
        ConfigTree tree = ConfigTree.of(yaml, source);
        StateHome home = StateHome.of(System.getenv());
        return tree.read(tree.complete(home), home);
    }

    /** Returns every key with its unit, its bounds, its default and the reason for that, in Markdown. */
    public static String reference() {
        return Section.ROOT
                .all("")
                .map(each -> "### " + (each.path().isEmpty() ? "The whole" : "`" + each.path() + "`") + "\n\n"
                        + "| key | unit | from and to | default | reload | what it is for | why that default |\n"
                        + "|---|---|---|---|---|---|---|\n"
                        + each.section().keys().stream().map(ConfigKey::row).collect(Collectors.joining()))
                .collect(Collectors.joining("\n"));
    }

    /** Returns a complete configuration with every key and its meaning, ready to be edited. */
    public static String example() {
        try (InputStream in = SidecarConfig.class.getResourceAsStream("example.yaml")) {
            if (in == null) {
                throw new IllegalStateException("example.yaml is missing from the jar that SidecarConfig came from.");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
