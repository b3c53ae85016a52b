package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import io.holdfast.kvcached.SegmentReader;
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

/**
 * What one sidecar is told: where it listens, where it keeps its ledgers, which engines it looks after.
 *
 * <p>Valid by construction, from a file or from Java: whoever has one needs no further checks.
 *
 * @param stateDirectory has a ledger and the kept holds of each engine; two sidecars cannot share a ledger
 * @param snapshots how often what was learned is written there, so that a start need not learn it anew
 * @param showText whether the API shows those who may act by what texts and tokens holds were asked for
 * @param devices whose memory several engines under kvcached share
 * @param discovery where more engines are found
 * @param otherStates directories in which an earlier start may have left ledgers
 */
public record SidecarConfig(
        Listen listen,
        Path stateDirectory,
        Duration snapshots,
        List<EngineConfig> engines,
        boolean showText,
        List<DeviceConfig> devices,
        Optional<DiscoveryConfig> discovery,
        List<Path> otherStates) {
    /** How often what was learned is written unless somebody decides otherwise. */
    public static final Duration SNAPSHOTS = Duration.ofMinutes(1);

    /** One that shows no texts. */
    public SidecarConfig(Listen listen, Path stateDirectory, List<EngineConfig> engines) {
        this(listen, stateDirectory, SNAPSHOTS, engines, false, List.of(), Optional.empty(), List.of());
    }

    public SidecarConfig withShowText(boolean value) {
        return new SidecarConfig(listen, stateDirectory, snapshots, engines, value, devices, discovery, otherStates);
    }

    /** The same with these engines in place of its own. */
    public SidecarConfig withEngines(List<EngineConfig> others) {
        return new SidecarConfig(listen, stateDirectory, snapshots, others, showText, devices, discovery, otherStates);
    }

    /**
     * Where the HTTP API is served, and to whom.
     *
     * @param port 0 takes any free one
     * @param allowedHosts names by which it may be asked for, besides its address and, on this machine, localhost
     * @param readTokenEnv the environment variable that has the token for reading; absent: whoever reaches the port reads
     * @param actTokenEnv the environment variable that has the token for acting; absent: whoever reaches a loopback address
     *     acts, and nobody beyond it
     * @param tls what HTTPS is served with; absent: plain HTTP
     */
    public record Listen(
            String host,
            int port,
            List<String> allowedHosts,
            Optional<String> readTokenEnv,
            Optional<String> actTokenEnv,
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
            require(port >= 0 && port <= 65_535, "port", port, "write 0 to 65535, 0 for any free port");
            allowedHosts = List.copyOf(allowedHosts);
            for (int i = 0; i < allowedHosts.size(); i++) {
                require(
                        NAME.matcher(allowedHosts.get(i)).matches(),
                        "allowedHosts[" + i + "]",
                        allowedHosts.get(i),
                        "write a name or an address without a port, such as holdfast.example; there is no wildcard");
            }
            readTokenEnv.ifPresent(name -> EngineConfig.requireVariable("readTokenEnv", name));
            actTokenEnv.ifPresent(name -> EngineConfig.requireVariable("actTokenEnv", name));
            require(
                    readTokenEnv.isEmpty() || actTokenEnv.isPresent() || !isLoopback(host),
                    "readTokenEnv",
                    readTokenEnv.orElse(""),
                    "without actTokenEnv whoever reaches this address may act, and so read: write actTokenEnv, too");
        }

        /** At this address, with no names and no tokens. */
        public Listen(String host, int port) {
            this(host, port, List.of(), Optional.empty(), Optional.empty(), Optional.empty());
        }

        /** In plain HTTP. */
        public Listen(
                String host,
                int port,
                List<String> allowedHosts,
                Optional<String> readTokenEnv,
                Optional<String> actTokenEnv) {
            this(host, port, allowedHosts, readTokenEnv, actTokenEnv, Optional.empty());
        }

        /** Whether the configuration names this host. */
        public boolean allows(String asked) {
            return allowedHosts.stream().anyMatch(asked::equalsIgnoreCase);
        }

        /** Whether only this machine can reach it. */
        public boolean loopback() {
            return isLoopback(host);
        }

        /** Whether a name in a URL means the machine that looks it up, whatever a name server says. */
        public static boolean isLoopback(String host) {
            return LOOPBACK.matcher(host).matches();
        }

        /** The loopback address at Holdfast's usual port. */
        public static Listen defaults() {
            return new Listen("127.0.0.1", 8471);
        }
    }

    public SidecarConfig {
        require(
                snapshots.compareTo(Duration.ofSeconds(1)) >= 0 && snapshots.compareTo(Duration.ofDays(1)) <= 0,
                "snapshotSeconds",
                snapshots.toSeconds(),
                "write 1 to 86400");
        engines = List.copyOf(engines);
        devices = List.copyOf(devices);
        otherStates = List.copyOf(otherStates);
        if (engines.isEmpty() && discovery.isEmpty()) {
            throw new ConfigException("engines", "is empty; name at least one engine by id, type and url");
        }
        Map<String, Integer> ids = new HashMap<>();
        Map<String, Integer> urls = new HashMap<>();
        Map<String, Integer> segments = new HashMap<>();
        Set<String> known = new TreeSet<>();
        for (int i = 0; i < devices.size(); i++) {
            require(
                    known.add(devices.get(i).id()),
                    "devices[" + i + "].id",
                    devices.get(i).id(),
                    "another device has that name: give each one of its own");
        }
        for (int i = 0; i < engines.size(); i++) {
            EngineConfig engine = engines.get(i);
            unique(ids, engine.id(), engine.id(), i, "id", "give each engine an id of its own");
            unique(
                    urls,
                    EngineAddress.spelling(engine.url()),
                    engine.url().toString(),
                    i,
                    "url",
                    "an engine may be listed only once, in whatever spelling");
            if (engine.kvcachedSegment().isPresent()) {
                String segment = engine.kvcachedSegment().get();
                unique(
                        segments,
                        SegmentReader.file(segment).toString(),
                        segment,
                        i,
                        "kvcachedSegment",
                        "each engine needs one of its own: give it a KVCACHED_IPC_NAME");
            }
            String device = engine.limit().device().orElse("");
            require(
                    device.isEmpty() || known.contains(device),
                    "engines[" + i + "].kvcachedLimit.device",
                    device,
                    known.isEmpty() ? "list it under devices" : "listed under devices are " + String.join(", ", known));
        }
    }

    private static void unique(
            Map<String, Integer> seen, String value, String written, int index, String key, String mend) {
        Integer earlier = seen.putIfAbsent(value, index);
        if (earlier != null) {
            throw new ConfigException(
                    "engines[" + index + "]." + key,
                    "is " + ConfigException.shown(written) + " like that of engines[" + earlier + "]; " + mend);
        }
    }

    /**
     * Reads a YAML file.
     *
     * @throws ConfigException for whatever keeps it from being a configuration, in one sentence
     */
    public static SidecarConfig load(Path file) {
        return ConfigFile.load(file);
    }

    /**
     * Reads YAML text.
     *
     * @param source what to call the text in sentences about it
     * @throws ConfigException for whatever keeps it from being a configuration, in one sentence
     */
    public static SidecarConfig parse(String yaml, String source) {
        return ConfigFile.parse(yaml, source);
    }

    /** Every key with its unit, its bounds, its default and the reason for that, in Markdown. */
    public static String reference() {
        return ConfigPage.tables();
    }

    /** A complete configuration with every key and what it means, ready to be edited. */
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
