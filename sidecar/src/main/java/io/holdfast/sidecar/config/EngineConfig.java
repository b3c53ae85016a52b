package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.backend.KeepWarmBackend;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.events.VllmHashing.Algorithm;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.sglang.PinBlocksBackend;
import io.holdfast.sglang.PriorityTouchBackend;
import io.holdfast.sglang.SessionHoldBackend;
import io.holdfast.sglang.StreamingSessionBackend;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import io.holdfast.vllm.ConnectorBackend;
import io.holdfast.vllm.NixlLeaseBackend;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Settings of one engine, as the operator wrote them. */
@Reload(Change.ANEW)
public record EngineConfig(
        String id,

        @Key("family of the server")
        @Default(why = "`--engine` without `--engine-type` asks the engine, and until it answers means sglang")
        EngineType type,

        @Key("address for requests and readings") @Unit(range = "http or https")
        URI url,

        @Key("certificates that an engine behind https may be signed by")
        @Unit(range = "PEM")
        @Default(why = "those that the JDK trusts")
        Optional<Path> caFile,

        @Key("endpoint where it publishes KV events")
        @Unit("tcp://host:port")
        @Default(why = "asked of the engine, which knows")
        Optional<String> events,

        @Key("endpoint that answers for past events")
        @Unit("tcp://host:port")
        @Default(why = "what the engine says, where it also says where it publishes")
        Optional<String> replay,

        @Key("topic under which it publishes") @Default(why = "what the engine says, else the empty one")
        Optional<String> topic,

        @Key("backend that holds; dry_run decides everything and sends nothing")
        @Unit(
                value = "word",
                range = "auto, session_hold, pin_blocks, priority_touch, streaming_session, vllm_connector, nixl_lease,"
                        + " keep_warm, dry_run")
        @Default(value = "auto", why = "takes the first that the engine can")
        String backend,

        @Key("sglang: the highest priority that clients send; priority_touch needs it")
        @Unit(value = "priority", from = 0, to = 1_000_000_000)
        @Default(why = "a wrong guess would let clients evict holds")
        OptionalInt clientPriorityMax,

        @Key("holds what requests share and the cache loses; auto: where the engine can evict what is held")
        @Default(
                value = "auto",
                why = "an engine takes back what it needs, but not from pins that take memory for good (pin_blocks)")
        @Reload(Change.IN_PLACE)
        AutomaticHolds automaticHolds,

        @Key(name = "automaticLeaseSeconds", value = "least time that an automatic hold lasts without a use")
        @Unit(from = 1, to = 86_400)
        @Default(
                value = "300",
                why = "a prefix used more rarely is held for three of its own gaps, at most 12 times this")
        Duration automaticLease,

        @Key(
                name = "leastSavingMillis",
                value = "least time that an automatic hold has to save a request, where that was measured")
        @Unit(from = 0, to = 60_000)
        @Default(value = "5", why = "less is lost in what a request takes anyhow")
        @Reload(Change.IN_PLACE)
        Duration leastSaving,

        @Key("stores a requested prefix that is gone by a request of the sidecar's own")
        @Default(value = "true", why = "who asks for a hold wants it held")
        boolean priming,

        @Key(name = "ownRequestSecondsAnHour", value = "longest time that the sidecar's own requests may take")
        @Unit(from = 0, to = 3_600)
        @Default(value = "120", why = "a thirtieth of the engine")
        Duration ownRequestsAnHour,

        @Key("most that automatic holds may take, and all that priority_touch ever held")
        @Unit(value = "part of the cache", above = 0, to = 1)
        @Default(value = "0.5", why = "half of the cache stays the engine's")
        @Reload(Change.IN_PLACE)
        double share,

        @Key("most of the sidecar's memory for what left the cache: removed blocks, their uses, tokens")
        @Unit(range = "1M to 4G")
        @Default(
                value = "64M",
                why = "all that is remembered of a cache of 131,072 blocks; a small cache takes a few MB")
        long memory,

        @Key("longest prompt that clients send; needs maxOutputTokens")
        @Unit(value = "tokens", from = 1, or = "measured")
        @Default(why = "what the engine accepts: safe for any client")
        @Reload(Change.IN_PLACE)
        OptionalInt largestPromptTokens,

        @Key("longest answer that clients ask for; needs largestPromptTokens")
        @Unit(value = "tokens", from = 1)
        @Default(why = "as above")
        @Reload(Change.IN_PLACE)
        OptionalInt maxOutputTokens,

        @Key(
                name = "readingsMillis",
                value = "time between two readings of its own numbers; 2000 where the backend is dry_run")
        @Unit(from = 50, to = 60_000)
        @Default(value = "500", why = "the guard has to see a burst; a reading costs some 2 ms")
        @Reload(Change.IN_PLACE)
        Duration readings,

        @Key(name = "tickMillis", value = "time between two runs of the planner")
        @Unit(from = 10, to = 10_000)
        @Default(value = "100", why = "faster than a person or a conversation")
        @Reload(Change.IN_PLACE)
        Duration tick,

        @Key("measures what automatic holds do to time to first token, and releases them where they do not help")
        @Default(value = "true", why = "a hold that does not help costs memory")
        boolean ttftLoop,

        @Key(name = "ttftWindowSeconds", value = "time for which holds are on or off")
        @Unit(from = 1, to = 86_400, or = "automatic")
        @Default(
                value = "automatic",
                why = "automatic is 60 to 1800 s: three times as long as blocks stay and until prefixes are used again,"
                        + " and long enough for its requests")
        Duration ttftWindow,

        @Key("part of the time that holds are off once they are proven to help")
        @Unit(value = "part of the windows", from = 0, to = EffectSettings.MOST_OFF)
        @Default(value = "0.05", why = "what measuring may cost; before the proof it is a half")
        double ttftOffShare,

        @Key("gain below which holds are released")
        @Unit(value = "part of the time", from = 0, to = EffectSettings.MOST_GAIN)
        @Default(value = "0.03", why = "less is nothing that a user notices")
        double ttftLeastGain,

        @Key("the engine's `KVCACHED_IPC_NAME`; it has no events then")
        @Unit("name or path")
        @Default(why = "no kvcached")
        @Reload(Change.RESTART)
        Optional<String> kvcachedSegment,

        @Key("its `KVCACHED_MAX_CACHED_TOKENS`")
        @Unit(value = "tokens", range = "1 or more, or -1")
        @Default(why = "kvcached's own default, 16000")
        @Reload(Change.RESTART)
        OptionalInt kvcachedCachedTokens,

        @Key("rules by which the limit in that segment is moved") @Default(why = "with its defaults")
        Optional<LimitConfig> kvcachedLimit,

        @Key("vllm: its `--prefix-caching-hash-algo`, by which it names blocks")
        @Default(why = "found out from its events")
        Optional<Algorithm> hashAlgorithm,

        @Key("vllm: its `PYTHONHASHSEED`") @Default(why = "found out")
        Optional<String> hashSeed,

        @Key("prefixes requested at every start") @Default(value = "{}", why = "what is held is somebody's wish")
        List<DeclaredHold> holds,

        @Key("environment variable that has its key for requests and readings")
        @Default(why = "engines have none as a rule")
        Optional<String> apiKeyEnv,

        @Key("environment variable that has its key for pins") @Default(why = "apiKeyEnv's")
        Optional<String> adminKeyEnv,

        @Key("vllm: environment variable that has the secret of Holdfast's connector in it")
        @Default(why = "the connector is not asked")
        Optional<String> connectorSecretEnv,

        @Key(
                name = "nixlLeaseSeconds",
                value = "vllm: its `kv_lease_duration`, for which it keeps what `nixl_lease` sent")
        @Unit(from = 15, to = 600)
        @Default(value = "30", why = "NIXL's own; a request that does not fit waits that long")
        Duration nixlLease) {
    /** NIXL's own lease. */
    public static final Duration NIXL_LEASE = Duration.ofSeconds(30);

    /** Advice for an address that is none. */
    static final String ADDRESS = "the address of the engine's HTTP server, such as http://127.0.0.1:30000,"
            + " without user, query or fragment";

    private static final long LEAST_MEMORY = 1L << 20;
    private static final long MOST_MEMORY = 1L << 32;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");
    /** Backends that hold, or say what they would do, without events. */
    private static final List<String> SILENT = List.of(AutoBackend.NAME, KeepWarmBackend.NAME, DryRunBackend.NAME);

    /** Reasons why backends of earlier versions are not there any more. */
    private static final Map<String, String> REMOVED_BACKENDS = Map.of(
            "lmcache", "pins at an LMCache coordinator are not supported any more",
            "pin_prefix", "the pins of SGLang 0.5.10rc0 are not supported any more");

    private static final Pattern EVENTS = Pattern.compile("tcp://(\\[[0-9a-fA-F:]+]|[A-Za-z0-9._-]+):([0-9]{1,5})");

    /** The families of engines that there are. */
    public enum EngineType {
        SGLANG(
                "--context-length",
                SessionHoldBackend.NAME,
                PinBlocksBackend.NAME,
                PriorityTouchBackend.NAME,
                StreamingSessionBackend.NAME,
                KeepWarmBackend.NAME),
        VLLM("--max-model-len", ConnectorBackend.NAME, NixlLeaseBackend.NAME, KeepWarmBackend.NAME),
        TENSORRT_LLM("--max_seq_len", KeepWarmBackend.NAME);

        private final String contextFlag;

        @SuppressWarnings("ImmutableEnumChecker") // the list is unmodifiable
        private final List<String> backends;

        EngineType(String contextFlag, String... own) {
            this.contextFlag = contextFlag;
            this.backends = Stream.of(Stream.of(AutoBackend.NAME), Stream.of(own), Stream.of(DryRunBackend.NAME))
                    .flatMap(Function.identity())
                    .toList();
        }

        /** The engine's flag that bounds its longest request. */
        public String contextFlag() {
            return contextFlag;
        }

        /** Names of the backends that such an engine may be configured with, the default first. */
        public List<String> backends() {
            return backends;
        }

        /** Names of the backends of all types. */
        public static List<String> allBackends() {
            return Arrays.stream(values())
                    .flatMap(type -> type.backends.stream())
                    .distinct()
                    .toList();
        }
    }

    public EngineConfig {
        requireName(id);
        require(isHttp(url), "url", url, "write " + ADDRESS);
        caFile.ifPresent(file -> require(
                "https".equalsIgnoreCase(url.getScheme()),
                "caFile",
                file,
                "only https has certificates: write url: https://…, or leave the key out"));
        requireEndpoint("events", events, "publishes KV events, such as tcp://127.0.0.1:5557");
        requireEndpoint("replay", replay, "answers for past KV events, such as tcp://127.0.0.1:5558");
        require(
                replay.isEmpty() || !replay.equals(events),
                "replay",
                replay.orElse(""),
                "the engine publishes there: write its replay_endpoint, which is another port");
        List<String> backends = type.backends();
        require(
                backends.contains(backend),
                "backend",
                backend,
                (EngineType.allBackends().contains(backend)
                                ? "an engine of type " + type.name().toLowerCase(Locale.ROOT)
                                        + " has none of that name: "
                                : removedBackend(backend).map(why -> why + ": ").orElse(""))
                        + Nearest.mend(backend, backends));
        require(
                kvcachedSegment.isEmpty() || SILENT.contains(backend),
                "backend",
                backend,
                "under kvcached an engine publishes no KV events, and only keep_warm can do without: "
                        + Nearest.mend(backend, SILENT));
        require(
                memory >= LEAST_MEMORY && memory <= MOST_MEMORY,
                "memory",
                memory,
                "write 1M to 4G; less makes it forget sooner what the cache lost, more takes it from the heap");
        require(
                clientPriorityMax.isEmpty() || type == EngineType.SGLANG,
                "clientPriorityMax",
                clientPriorityMax.orElse(0),
                "only SGLang evicts by the priority of requests: leave the key out");
        require(
                kvcachedSegment.filter(String::isBlank).isEmpty(),
                "kvcachedSegment",
                kvcachedSegment.orElse(""),
                "write the segment's name or path, or leave the key out");
        require(
                kvcachedSegment.isEmpty() || type != EngineType.TENSORRT_LLM,
                "kvcachedSegment",
                kvcachedSegment.orElse(""),
                "kvcached serves SGLang and vLLM only: leave the key out");
        kvcachedCachedTokens.ifPresent(tokens -> require(
                kvcachedSegment.isPresent() && (tokens >= 1 || tokens == -1),
                "kvcachedCachedTokens",
                tokens,
                kvcachedSegment.isPresent()
                        ? "write the engine's KVCACHED_MAX_CACHED_TOKENS, 1 or more or -1 (with 0 it keeps nothing"
                                + " that could be held), or leave the key out"
                        : "only an engine under kvcached has it: write its kvcachedSegment, or leave the key out"));
        require(
                kvcachedLimit.isEmpty() || kvcachedSegment.isPresent(),
                "kvcachedSegment",
                "",
                "there is no limit to move without it: write the segment's name or path, or leave kvcachedLimit out");
        require(
                hashAlgorithm.isEmpty() || type == EngineType.VLLM,
                "hashAlgorithm",
                hashAlgorithm.map(Algorithm::option).orElse(""),
                "only vLLM lets one choose it: leave the key out");
        require(
                hashSeed.isEmpty() || type == EngineType.VLLM,
                "hashSeed",
                hashSeed.orElse(""),
                "only vLLM's names of blocks have a seed: leave the key out");
        requireBoth(
                largestPromptTokens,
                maxOutputTokens,
                "maxOutputTokens",
                "is missing; largestPromptTokens alone makes no request smaller, since an answer may fill the"
                        + " context: write the longest answer that clients ask for, or leave both keys out");
        requireBoth(
                maxOutputTokens,
                largestPromptTokens,
                "largestPromptTokens",
                "is missing; maxOutputTokens alone makes no request smaller, since a prompt may fill the context:"
                        + " write measured or the longest prompt that clients send, or leave both keys out");
        holds = List.copyOf(holds);
    }

    /** Refuses a name that could not stand in a path of the API or in the name of a file. */
    static void requireName(String name) {
        require(
                NAME.matcher(name).matches(),
                "id",
                name,
                "write 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first");
    }

    private static void requireEndpoint(String key, Optional<String> endpoint, String does) {
        endpoint.ifPresent(written -> require(
                isEndpoint(written),
                key,
                written,
                "write where the engine " + does + ", or leave the key out to ask the engine"));
    }

    private static void requireBoth(OptionalInt written, OptionalInt other, String key, String fault) {
        if (written.isPresent() && other.isEmpty()) {
            throw new ConfigException(key, fault);
        }
    }

    /** Returns an engine with every key that may be left out left out. */
    public static EngineConfig of(String id, EngineType type, URI url) {
        return read(
                id,
                JsonNodeFactory.instance
                        .objectNode()
                        .put("type", type.name().toLowerCase(Locale.ROOT))
                        .put("url", url.toString()));
    }

    /**
     * Reads the mapping of one engine.
     *
     * @throws ConfigException with the key as its place
     */
    public static EngineConfig read(String id, ObjectNode keys) {
        return Binder.read(EngineConfig.class, id, keys);
    }

    /** Returns the sizes of requests by the operator's word; absent where the engine's own bounds count. */
    public Optional<RequestSizes> requestSizes() {
        return largestPromptTokens.isEmpty()
                ? Optional.empty()
                : Optional.of(new RequestSizes(
                        largestPromptTokens.getAsInt() == 0 ? OptionalInt.empty() : largestPromptTokens,
                        maxOutputTokens.orElseThrow()));
    }

    /** Returns the settings of the loop that measures holds; absent where nothing is measured. */
    public Optional<EffectSettings> effect() {
        return ttftLoop
                ? Optional.of(new EffectSettings(
                        Optional.of(ttftWindow).filter(Duration::isPositive), ttftOffShare, ttftLeastGain))
                : Optional.empty();
    }

    /** Returns the holds that are this engine's alone. */
    public List<DeclaredHold> ownHolds() {
        return holds.stream().filter(hold -> hold.copies().isEmpty()).toList();
    }

    /** Returns the holds that engines of the fleet are to have, this one perhaps among them. */
    public List<DeclaredHold> fleetHolds() {
        return holds.stream().filter(hold -> hold.copies().isPresent()).toList();
    }

    /** Returns the settings of the controller of this engine. */
    public ControllerSettings controllerSettings() {
        return new ControllerSettings(
                id,
                new BudgetSettings(share, requestSizes(), type.contextFlag()),
                !publishes()
                        ? AutomaticHolds.OFF
                        // What is decided and not done harms nobody, and shows what would be held.
                        : dryRun() && automaticHolds == AutomaticHolds.WHERE_EVICTABLE
                                ? AutomaticHolds.ON
                                : automaticHolds,
                automaticLease,
                leastSaving,
                tick,
                ownRequestsAnHour,
                effect().filter(settings -> publishes()),
                memory);
    }

    /** Tells whether the engine publishes KV events; under kvcached it has none. */
    public boolean publishes() {
        return kvcachedSegment.isEmpty();
    }

    /** Returns why a backend of earlier versions is not there any more; absent where there was none of that name. */
    static Optional<String> removedBackend(String name) {
        return Optional.ofNullable(REMOVED_BACKENDS.get(name));
    }

    /** Returns the rules for the limit of its segment. */
    public LimitConfig limit() {
        return kvcachedLimit.orElseGet(LimitConfig::defaults);
    }

    /**
     * Settings of the connection to the engine.
     *
     * @throws IOException with one sentence, where the certificates cannot be read
     */
    public EngineHttpSettings http() throws IOException {
        EngineHttpSettings settings = EngineHttpSettings.of(url);
        return caFile.isEmpty()
                ? settings
                : settings.withTrust(PemFiles.trust(caFile.get(), "engines." + id + ".caFile"));
    }

    /**
     * Looks at the certificates and the variables that the keys name.
     *
     * @throws IOException with one sentence, where one is missing
     */
    public void requireFiles(Map<String, String> environment) throws IOException {
        String keys = "engines." + id + ".";
        Map<String, String> _ = Secret.headers(environment, apiKeyEnv, keys + "apiKeyEnv");
        Map<String, String> _ = Secret.headers(environment, adminKeyEnv, keys + "adminKeyEnv");
        Optional<Secret> _ = connectorSecret(environment);
        Object _ = http();
    }

    /**
     * The secret that the engine's connector has as well; empty where no key names its variable.
     *
     * @throws IOException with one sentence, where it is missing
     */
    public Optional<Secret> connectorSecret(Map<String, String> environment) throws IOException {
        return connectorSecretEnv.isPresent()
                ? Optional.of(
                        Secret.token(environment, connectorSecretEnv.get(), "engines." + id + ".connectorSecretEnv"))
                : Optional.empty();
    }

    /** Tells whether everything is decided and nothing is sent. */
    public boolean dryRun() {
        return backend.equals(DryRunBackend.NAME);
    }

    /** Tells whether it surely runs on the machine of the caller. */
    public boolean onThisHost() {
        return kvcachedSegment.isPresent() || SidecarConfig.Listen.isLoopback(url.getHost());
    }

    static boolean isHttp(URI url) {
        return ("http".equalsIgnoreCase(url.getScheme()) || "https".equalsIgnoreCase(url.getScheme()))
                && url.getHost() != null
                && url.getPort() <= 65_535
                && url.getPort() != 0
                && url.getRawUserInfo() == null
                && url.getRawQuery() == null
                && url.getRawFragment() == null;
    }

    private static boolean isEndpoint(String endpoint) {
        var matcher = EVENTS.matcher(endpoint);
        if (!matcher.matches()) {
            return false;
        }
        int port = Integer.parseInt(matcher.group(2));
        return port >= 1 && port <= 65_535 && !matcher.group(1).equals("0.0.0.0");
    }
}
