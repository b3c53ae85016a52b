package io.holdfast.sidecar.config;

import io.holdfast.sidecar.config.ConfigKey.Change;
import io.holdfast.sidecar.config.ConfigKey.Form;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Every key of the configuration, told once: the parser knows no others, variables and flags are read by it, a reload goes by
 * it, and docs/configuration.md and {@code --print-config} are made of it.
 */
public final class ConfigKeys {
    static final List<ConfigKey> TLS = List.of(
            key(
                    "certificate",
                    Form.TEXT,
                    "file",
                    "PEM",
                    "",
                    Change.RESTART,
                    "the certificate, and those between it and its root below it",
                    "no default: whoever wants TLS has a certificate"),
            key("key", Form.TEXT, "file", "PEM, PKCS #8", "", Change.RESTART, "its private key", "as above"));

    static final List<ConfigKey> LISTEN = List.of(
            key(
                    "host",
                    Form.TEXT,
                    "address",
                    "",
                    "127.0.0.1",
                    Change.RESTART,
                    "where the API is served; beyond this machine nobody acts without `actTokenEnv`",
                    "nobody else reaches it by accident"),
            key(
                    "port",
                    Form.WHOLE,
                    "port",
                    "0 to 65535",
                    "8471",
                    Change.RESTART,
                    "0 takes any free one",
                    "an unassigned port that no engine uses"),
            key(
                    "allowedHosts",
                    Form.TEXTS,
                    "names",
                    "no wildcards",
                    "[]",
                    Change.RESTART,
                    "names by which it may be asked for, besides its address",
                    "a name that a page chose must not lead here"),
            key(
                    "readTokenEnv",
                    Form.TEXT,
                    "variable",
                    "16 characters in it",
                    "",
                    Change.RESTART,
                    "the environment variable that has the token for reading and metrics",
                    "whoever reaches the port reads"),
            key(
                    "actTokenEnv",
                    Form.TEXT,
                    "variable",
                    "16 characters in it",
                    "",
                    Change.RESTART,
                    "the one that has the token for holding, releasing and reloading",
                    "on this machine whoever reaches the port acts"),
            mapping(
                    "tls",
                    TLS,
                    "serves HTTPS in place of HTTP; the files are read again by a reload and when they"
                            + " change, their names need a restart",
                    "plain HTTP stays on this machine by default"));

    static final List<ConfigKey> DEVICE = List.of(
            key("id", Form.TEXT, "name", "", "", Change.RESTART, "names the device", ""),
            key(
                    "memory",
                    Form.BYTES,
                    "bytes",
                    "",
                    "",
                    Change.RESTART,
                    "all that it has",
                    "no default: only its owner knows"),
            key(
                    "utilization",
                    Form.NUMBER,
                    "part",
                    "above 0, at most 1",
                    "0.95",
                    Change.RESTART,
                    "what of that kvcached may use (`KVCACHED_GPU_UTILIZATION`)",
                    "kvcached's own default"),
            key(
                    "weights",
                    Form.BYTES,
                    "bytes",
                    "",
                    "",
                    Change.RESTART,
                    "what the models on it take together",
                    "no default: a wrong guess would let caches grow into them"),
            key(
                    "activations",
                    Form.BYTES,
                    "bytes",
                    "from 0",
                    "0",
                    Change.RESTART,
                    "what requests take beside the cache",
                    "engines differ too much"),
            key("reserve", Form.BYTES, "bytes", "from 0", "0", Change.RESTART, "what is to stay free", "as above"));

    static final List<ConfigKey> LIMIT = List.of(
            key(
                    "device",
                    Form.TEXT,
                    "name",
                    "listed under devices",
                    "",
                    Change.RESTART,
                    "whose memory the engine shares",
                    "it shares with nobody"),
            key(
                    "bundle",
                    Form.BYTES,
                    "bytes",
                    "whole pages",
                    "",
                    Change.RESTART,
                    "a page over all layers",
                    "found out from what the segment says"),
            key(
                    "page",
                    Form.BYTES,
                    "bytes",
                    "whole 2M",
                    "2M",
                    Change.RESTART,
                    "`KVCACHED_PAGE_SIZE_MB`",
                    "kvcached's own default"),
            key(
                    "marginPages",
                    Form.WHOLE,
                    "pages",
                    "1 to 1000",
                    "5",
                    Change.RESTART,
                    "what a limit leaves above what is mapped",
                    "kvcached's `KVCACHED_MIN_RESERVED_PAGES`"),
            key(
                    "floor",
                    Form.BYTES,
                    "bytes",
                    "from 0",
                    "0",
                    Change.RESTART,
                    "never less than that",
                    "the guards by load come first"),
            key(
                    "step",
                    Form.NUMBER,
                    "part",
                    "above 0, at most 0.5",
                    "0.2",
                    Change.RESTART,
                    "most of the startup limit that one move takes or gives",
                    "five moves go all the way, none is a shock"),
            key(
                    "coolDownSeconds",
                    Form.WHOLE,
                    "seconds",
                    "1 to 3600",
                    "5",
                    Change.RESTART,
                    "between two moves",
                    "an engine shows within seconds what a move did"),
            key(
                    "pressure",
                    Form.FLAG,
                    "true or false",
                    "",
                    "false",
                    Change.RESTART,
                    "moves it by load as well",
                    "on request only, until somebody believes it"),
            key(
                    "restore",
                    Form.FLAG,
                    "true or false",
                    "",
                    "true",
                    Change.RESTART,
                    "back to the startup limit when the sidecar ends",
                    "nothing of ours stays behind"));

    static final List<ConfigKey> HOLD = List.of(
            key("name", Form.TEXT, "name", "1 to 64 characters", "", Change.IN_PLACE, "names the hold", ""),
            key("text", Form.TEXT, "text", "", "", Change.IN_PLACE, "what is held: text as it is", ""),
            key("file", Form.TEXT, "file", "UTF-8", "", Change.IN_PLACE, "or the text in a file", ""),
            key("messages", Form.YAML, "list", "", "", Change.IN_PLACE, "or a conversation, as it is sent", ""),
            key("tools", Form.YAML, "list", "", "", Change.IN_PLACE, "that belong to the messages", ""),
            key("tokens", Form.YAML, "list", "0 to 4294967295", "", Change.IN_PLACE, "or token ids", ""),
            key(
                    "measure",
                    Form.FLAG,
                    "true or false",
                    "",
                    "false",
                    Change.IN_PLACE,
                    "whether it may be let go of now and then to measure what holding it is worth",
                    "what was asked for is kept"));

    static final List<ConfigKey> ENGINE = List.of(
            key(
                    "id",
                    Form.TEXT,
                    "name",
                    "1 to 64 characters",
                    "",
                    Change.ANEW,
                    "names the engine in the API, in metrics and in its ledger's file",
                    ""),
            key(
                    "type",
                    Form.TEXT,
                    "word",
                    "sglang, vllm",
                    "",
                    Change.ANEW,
                    "which server it is",
                    "`--engine` without `--engine-type` asks the engine, and until it answers means sglang"),
            key("url", Form.TEXT, "URL", "http or https", "", Change.ANEW, "its HTTP server", ""),
            key(
                    "caFile",
                    Form.TEXT,
                    "file",
                    "PEM",
                    "",
                    Change.ANEW,
                    "certificates that an engine behind https may be signed by",
                    "those that the JDK trusts"),
            key(
                    "events",
                    Form.TEXT,
                    "tcp://host:port",
                    "",
                    "",
                    Change.ANEW,
                    "where it publishes KV events",
                    "asked of the engine, which knows"),
            key(
                    "replay",
                    Form.TEXT,
                    "tcp://host:port",
                    "",
                    "",
                    Change.ANEW,
                    "where past events can be asked for",
                    "what the engine says"),
            key("topic", Form.TEXT, "text", "", "", Change.ANEW, "under which it publishes", "what the engine says"),
            key(
                    "backend",
                    Form.TEXT,
                    "word",
                    "docs/backends.md",
                    "auto",
                    Change.ANEW,
                    "the way to hold; dry_run decides everything and sends nothing",
                    "takes the first that the engine can"),
            key(
                    "clientPriorityMax",
                    Form.WHOLE,
                    "priority",
                    "0 to 1000000000",
                    "",
                    Change.ANEW,
                    "sglang: the highest priority that clients send; priority_touch needs it",
                    "a wrong guess would let clients evict holds"),
            key(
                    "automaticHolds",
                    Form.FLAG_OR_WORD,
                    "auto, true or false",
                    "",
                    "auto",
                    Change.IN_PLACE,
                    "holds what requests share and the cache loses; auto: where the engine can evict what is held",
                    "an engine takes back what it needs, but not from pins that take memory for good (pin_blocks)"),
            key(
                    "automaticLeaseSeconds",
                    Form.WHOLE,
                    "seconds",
                    "1 to 86400",
                    "300",
                    Change.ANEW,
                    "how long an automatic hold lasts without a use, at least",
                    "a prefix used more rarely is held for three of its own gaps, at most 12 times this"),
            key(
                    "leastSavingMillis",
                    Form.WHOLE,
                    "milliseconds",
                    "0 to 60000",
                    "5",
                    Change.IN_PLACE,
                    "what an automatic hold has to save a request, where that was measured",
                    "less is lost in what a request takes anyhow"),
            key(
                    "priming",
                    Form.FLAG,
                    "true or false",
                    "",
                    "true",
                    Change.ANEW,
                    "stores a requested prefix that is gone by a request of the sidecar's own",
                    "who asks for a hold wants it held"),
            key(
                    "ownRequestSecondsAnHour",
                    Form.WHOLE,
                    "seconds",
                    "0 to 3600",
                    "120",
                    Change.ANEW,
                    "most that the sidecar's own requests may take",
                    "a thirtieth of the engine"),
            key(
                    "share",
                    Form.NUMBER,
                    "part of the cache",
                    "above 0, at most 1",
                    "0.5",
                    Change.IN_PLACE,
                    "most that automatic holds may take, and all that priority_touch ever held",
                    "half of the cache stays the engine's"),
            key(
                    "largestPromptTokens",
                    Form.WHOLE_OR_WORD,
                    "tokens",
                    "1 or more, or measured",
                    "",
                    Change.IN_PLACE,
                    "the longest prompt that clients send; needs maxOutputTokens",
                    "what the engine accepts: safe for any client"),
            key(
                    "maxOutputTokens",
                    Form.WHOLE,
                    "tokens",
                    "1 or more",
                    "",
                    Change.IN_PLACE,
                    "the longest answer that clients ask for; needs largestPromptTokens",
                    "as above"),
            key(
                    "readingsMillis",
                    Form.WHOLE,
                    "milliseconds",
                    "50 to 60000",
                    "500",
                    Change.IN_PLACE,
                    "how often its own numbers are read; 1000 where the backend is dry_run",
                    "the guard has to see a burst; a reading costs some 2 ms"),
            key(
                    "tickMillis",
                    Form.WHOLE,
                    "milliseconds",
                    "10 to 10000",
                    "100",
                    Change.IN_PLACE,
                    "how often the planner runs",
                    "faster than a person or a conversation"),
            key(
                    "ttftLoop",
                    Form.FLAG,
                    "true or false",
                    "",
                    "true",
                    Change.ANEW,
                    "measures what automatic holds do to time to first token, by letting them go now and then, and"
                            + " lets go of them where they do not help",
                    "a hold that does not help costs memory"),
            key(
                    "ttftWindowSeconds",
                    Form.WHOLE_OR_WORD,
                    "seconds",
                    "1 to 86400, or automatic",
                    "automatic",
                    Change.ANEW,
                    "how long holds are on or off at a time",
                    "automatic is 60 to 1800 s: three times as long as blocks stay and until prefixes are used again,"
                            + " and long enough for its requests"),
            key(
                    "ttftOffShare",
                    Form.NUMBER,
                    "part of the windows",
                    "0 to 0.5",
                    "0.05",
                    Change.ANEW,
                    "how much of the time holds are off once they are proven to help",
                    "what measuring may cost; before the proof it is a half"),
            key(
                    "ttftLeastGain",
                    Form.NUMBER,
                    "part of the time",
                    "0 to 0.5",
                    "0.03",
                    Change.ANEW,
                    "holds that surely gain less are let go",
                    "less is nothing that a user notices"),
            key(
                    "kvcachedSegment",
                    Form.TEXT,
                    "name or path",
                    "",
                    "",
                    Change.RESTART,
                    "the engine's `KVCACHED_IPC_NAME`; it has no events then",
                    "no kvcached"),
            key(
                    "kvcachedCachedTokens",
                    Form.WHOLE,
                    "tokens",
                    "1 or more, or -1",
                    "",
                    Change.RESTART,
                    "its `KVCACHED_MAX_CACHED_TOKENS`",
                    "kvcached's own default, 16000"),
            new ConfigKey(
                    "kvcachedLimit",
                    Form.MAPPING,
                    "mapping",
                    "",
                    "",
                    Change.RESTART,
                    "how the limit in that segment is moved",
                    "with its defaults",
                    LIMIT),
            key(
                    "hashAlgorithm",
                    Form.TEXT,
                    "word",
                    "sha256, sha256_cbor, xxhash",
                    "",
                    Change.ANEW,
                    "vllm: how it names blocks",
                    "found out from its events"),
            key("hashSeed", Form.TEXT, "text", "", "", Change.ANEW, "vllm: its `PYTHONHASHSEED`", "found out"),
            new ConfigKey(
                    "holds",
                    Form.LIST,
                    "list",
                    "",
                    "[]",
                    Change.IN_PLACE,
                    "prefixes that are asked for at every start",
                    "what is held is somebody's wish",
                    HOLD),
            key(
                    "apiKeyEnv",
                    Form.TEXT,
                    "variable",
                    "",
                    "",
                    Change.ANEW,
                    "the environment variable that has its key for requests and readings",
                    "engines have none as a rule"),
            key(
                    "adminKeyEnv",
                    Form.TEXT,
                    "variable",
                    "",
                    "",
                    Change.ANEW,
                    "the one that has its key for pins",
                    "apiKeyEnv's"));

    static final List<ConfigKey> DNS = List.of(
            key("name", Form.TEXT, "name", "", "", Change.IN_PLACE, "what is looked up", ""),
            key("type", Form.TEXT, "word", "sglang, vllm", "", Change.IN_PLACE, "what every engine found is", ""),
            key(
                    "records",
                    Form.TEXT,
                    "word",
                    "address, srv",
                    "address",
                    Change.IN_PLACE,
                    "A and AAAA records, or SRV records, which have ports",
                    "what a headless service gives"),
            key(
                    "port",
                    Form.WHOLE,
                    "port",
                    "1 to 65535",
                    "30000",
                    Change.IN_PLACE,
                    "of each engine; SRV records have their own",
                    "SGLang's default"),
            key(
                    "scheme",
                    Form.TEXT,
                    "word",
                    "http, https",
                    "http",
                    Change.IN_PLACE,
                    "how each is spoken to",
                    "engines in one cluster speak plain"),
            key(
                    "server",
                    Form.TEXT,
                    "address:port",
                    "",
                    "",
                    Change.IN_PLACE,
                    "a name server to ask",
                    "the system's resolver"),
            key(
                    "engine",
                    Form.YAML,
                    "mapping",
                    "keys of an engine",
                    "{}",
                    Change.IN_PLACE,
                    "what else every engine found is told, such as {share: 0.3}",
                    "an engine's defaults"));

    static final List<ConfigKey> DISCOVERY = List.of(
            key(
                    "file",
                    Form.TEXT,
                    "pattern",
                    "one * in the name",
                    "",
                    Change.IN_PLACE,
                    "files with one engine or a list of engines each, beside the configuration's file",
                    "no files"),
            new ConfigKey(
                    "dns",
                    Form.MAPPING,
                    "mapping",
                    "",
                    "",
                    Change.IN_PLACE,
                    "a name whose addresses are engines",
                    "no name",
                    DNS),
            key(
                    "everySeconds",
                    Form.WHOLE,
                    "seconds",
                    "1 to 3600",
                    "10",
                    Change.IN_PLACE,
                    "how often files and names are looked at",
                    "a pod is up within about that time"),
            key(
                    "graceSeconds",
                    Form.WHOLE,
                    "seconds",
                    "0 to 86400",
                    "60",
                    Change.IN_PLACE,
                    "how long an engine stays that its name does not give any more",
                    "names flicker while pods restart"),
            key(
                    "mostEngines",
                    Form.WHOLE,
                    "engines",
                    "1 to 256",
                    "64",
                    Change.IN_PLACE,
                    "more than that are not taken",
                    "what one sidecar was measured with"));

    static final List<ConfigKey> ROOT = List.of(
            mapping("listen", LISTEN, "the API", ""),
            key(
                    "stateDirectory",
                    Form.TEXT,
                    "directory",
                    "writable",
                    "",
                    Change.RESTART,
                    "keeps a ledger and the requested holds of each engine",
                    "`STATE_DIRECTORY` of systemd; else that of /var/lib/holdfast (where it can be written) and"
                            + " `$XDG_STATE_HOME/holdfast` or `~/.local/state/holdfast` which has ledgers, else the"
                            + " first"),
            key(
                    "snapshotSeconds",
                    Form.WHOLE,
                    "seconds",
                    "1 to 86400",
                    "60",
                    Change.RESTART,
                    "how often what was learned is written beside the ledgers",
                    "after a crash at most that much is learned anew"),
            new ConfigKey(
                    "devices",
                    Form.LIST,
                    "list",
                    "",
                    "[]",
                    Change.RESTART,
                    "whose memory engines under kvcached share",
                    "none",
                    DEVICE),
            new ConfigKey(
                    "engines",
                    Form.LIST,
                    "list",
                    "at least one, or discovery",
                    "",
                    Change.IN_PLACE,
                    "the engines; a reload adds and lets go of them",
                    "",
                    ENGINE),
            new ConfigKey(
                    "discovery",
                    Form.MAPPING,
                    "mapping",
                    "",
                    "",
                    Change.IN_PLACE,
                    "where more engines are found",
                    "none",
                    DISCOVERY));

    /** Components of {@link EngineConfig} that are not called as the beginning of their key is. */
    private static final Map<String, List<String>> OTHERWISE = Map.of(
            "requestSizes", List.of("largestPromptTokens", "maxOutputTokens"),
            "ownRequestsAnHour", List.of("ownRequestSecondsAnHour"),
            "effect", List.of("ttftLoop", "ttftWindowSeconds", "ttftOffShare", "ttftLeastGain"));

    private ConfigKeys() {}

    private static ConfigKey key(
            String name,
            Form form,
            String unit,
            String range,
            String standard,
            Change change,
            String meaning,
            String why) {
        return new ConfigKey(name, form, unit, range, standard, change, meaning, why, List.of());
    }

    private static ConfigKey mapping(String name, List<ConfigKey> inner, String meaning, String why) {
        return new ConfigKey(name, Form.MAPPING, "mapping", "", "", Change.RESTART, meaning, why, inner);
    }

    static Set<String> names(List<ConfigKey> section) {
        return section.stream().map(ConfigKey::name).collect(Collectors.toUnmodifiableSet());
    }

    static Optional<ConfigKey> find(List<ConfigKey> section, String name) {
        return section.stream().filter(key -> key.name().equals(name)).findFirst();
    }

    /** The key that names a mapping of a list. */
    static String nameKey(ConfigKey list) {
        return names(list.inner()).contains("id") ? "id" : "name";
    }

    /** The keys of an engine that a component of its record comes from. */
    public static List<ConfigKey> ofComponent(String component) {
        return OTHERWISE.getOrDefault(component, List.of(component)).stream()
                .flatMap(name -> find(ENGINE, name)
                        .or(() -> ENGINE.stream()
                                .filter(key -> key.name().startsWith(name))
                                .min(Comparator.comparingInt(key -> key.name().length())))
                        .stream())
                .toList();
    }

    /** Every section with the path that leads to it. */
    static Stream<Map.Entry<String, List<ConfigKey>>> sections() {
        return Stream.concat(Stream.of(Map.entry("", ROOT)), below("", ROOT));
    }

    private static Stream<Map.Entry<String, List<ConfigKey>>> below(String path, List<ConfigKey> keys) {
        return keys.stream().filter(key -> !key.inner().isEmpty()).flatMap(key -> {
            String here = path
                    + key.name()
                    + (key.form() == Form.LIST ? "." + nameKey(key).toUpperCase(java.util.Locale.ROOT) : "");
            return Stream.concat(Stream.of(Map.entry(here, key.inner())), below(here + ".", key.inner()));
        });
    }
}
