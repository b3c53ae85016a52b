package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

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

/**
 * What the operator decided about one engine.
 *
 * @param id names the engine in the API, in metrics and in the name of its ledger file
 * @param url where the engine's HTTP server is
 * @param caFile certificates (PEM) that an engine behind https may be signed by; absent: those that the JDK trusts
 * @param events where it publishes KV events ({@code tcp://host:port}); absent: asked of the engine itself
 * @param replay where it answers for past events ({@code tcp://host:port}); absent: what the engine says where it also
 *     says where it publishes, else nowhere
 * @param topic the topic it publishes under; absent: what the engine says, else the empty one
 * @param backend the way in which prefixes are held, by its name
 * @param clientPriorityMax the highest priority that clients send with their requests; absent: not known
 * @param automaticHolds when the planner may hold without being asked
 * @param automaticLease least time that an automatic hold lasts without a use
 * @param leastSaving what an automatic hold has to save a request that finds it, where that was measured
 * @param priming whether a requested prefix that is gone may be stored by a request of the sidecar's own
 * @param ownRequestsAnHour how long requests of the sidecar's own may take within an hour, where a backend makes many
 * @param share the largest part of the cache that automatic holds may take
 * @param requestSizes the largest prompt and answer, by the operator's word; absent: what the engine accepts
 * @param readings how often the engine's own numbers are read
 * @param tick how often the planner runs
 * @param effect how it is measured what automatic holds, and requested ones that offer it, do to time to first token, and
 *     when they are let go for it; absent: not measured
 * @param kvcachedSegment the kvcached memory segment of this engine, where it has one; such an engine publishes no events,
 *     so that nothing is held automatically
 * @param kvcachedCachedTokens the most tokens that kvcached keeps of prompts ({@code KVCACHED_MAX_CACHED_TOKENS}), -1 for
 *     as many as there is room for; absent: what it takes unless it is told otherwise
 * @param kvcachedLimit how the limit in that segment is moved
 * @param hashAlgorithm how vLLM makes the names of blocks ({@code --prefix-caching-hash-algo}); absent: found out
 * @param hashSeed what vLLM's names of blocks begin with ({@code PYTHONHASHSEED}); absent: found out
 * @param holds prefixes that are asked for at every start
 * @param apiKeyEnv the environment variable that has the engine's key for requests and readings
 * @param adminKeyEnv the one that has its key for pins; absent: the same key
 */
public record EngineConfig(
        String id,
        EngineType type,
        URI url,
        Optional<Path> caFile,
        Optional<String> events,
        Optional<String> replay,
        Optional<String> topic,
        String backend,
        OptionalInt clientPriorityMax,
        AutomaticHolds automaticHolds,
        Duration automaticLease,
        Duration leastSaving,
        boolean priming,
        Duration ownRequestsAnHour,
        double share,
        Optional<RequestSizes> requestSizes,
        Duration readings,
        Duration tick,
        Optional<EffectSettings> effect,
        Optional<String> kvcachedSegment,
        OptionalInt kvcachedCachedTokens,
        Optional<LimitConfig> kvcachedLimit,
        Optional<Algorithm> hashAlgorithm,
        Optional<String> hashSeed,
        List<DeclaredHold> holds,
        Optional<String> apiKeyEnv,
        Optional<String> adminKeyEnv) {
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}");
    private static final String NAMES =
            "write 1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first";
    /** What can hold, or says what it would do, where there are no events. */
    private static final List<String> SILENT = List.of(AutoBackend.NAME, KeepWarmBackend.NAME, DryRunBackend.NAME);

    /** Why backends of earlier versions are not there any more. */
    private static final Map<String, String> REMOVED_BACKENDS = Map.of(
            "lmcache", "pins at an LMCache coordinator are not supported any more",
            "pin_prefix", "the pins of SGLang 0.5.10rc0 are not supported any more");

    private static final int LARGEST_PRIORITY = 1_000_000_000;
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");
    private static final Pattern EVENTS = Pattern.compile("tcp://(\\[[0-9a-fA-F:]+]|[A-Za-z0-9._-]+):([0-9]{1,5})");

    /** The families of engines that there are. */
    public enum EngineType {
        SGLANG(
                "--context-length",
                SessionHoldBackend.NAME,
                PinBlocksBackend.NAME,
                PriorityTouchBackend.NAME,
                KeepWarmBackend.NAME),
        VLLM("--max-model-len", KeepWarmBackend.NAME);

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
        require(ID.matcher(id).matches(), "id", id, NAMES);
        require(
                isHttp(url),
                "url",
                url,
                "write the address of the engine's HTTP server, such as http://127.0.0.1:30000, without user, query or"
                        + " fragment");
        caFile.ifPresent(file -> require(
                "https".equalsIgnoreCase(url.getScheme()),
                "caFile",
                file,
                "only https has certificates: write url: https://…, or leave the key out"));
        events.ifPresent(endpoint -> require(
                isEventsEndpoint(endpoint),
                "events",
                endpoint,
                "write where the engine publishes KV events, such as tcp://127.0.0.1:5557, or leave the key out to ask"
                        + " the engine"));
        replay.ifPresent(endpoint -> require(
                isEventsEndpoint(endpoint),
                "replay",
                endpoint,
                "write where the engine answers for past KV events, such as tcp://127.0.0.1:5558, or leave the key out"
                        + " to ask the engine"));
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
                        + ConfigMapping.mend(backend, backends));
        require(
                kvcachedSegment.isEmpty() || SILENT.contains(backend),
                "backend",
                backend,
                "under kvcached an engine publishes no KV events, and only keep_warm can do without: "
                        + ConfigMapping.mend(backend, SILENT));
        clientPriorityMax.ifPresent(priority -> {
            require(
                    type == EngineType.SGLANG,
                    "clientPriorityMax",
                    priority,
                    "only SGLang evicts by the priority of requests: leave the key out");
            require(
                    priority >= 0 && priority <= LARGEST_PRIORITY,
                    "clientPriorityMax",
                    priority,
                    "write the highest priority that clients send, 0 to " + LARGEST_PRIORITY);
        });
        requireBetween("automaticLeaseSeconds", automaticLease, 1, 86_400, 1_000);
        requireBetween("leastSavingMillis", leastSaving, 0, 60_000, 1);
        requireBetween("ownRequestSecondsAnHour", ownRequestsAnHour, 0, 3_600, 1_000);
        require(share > 0 && share <= 1, "share", share, "write a number above 0 and at most 1, such as 0.5");
        requireBetween("readingsMillis", readings, 50, 60_000, 1);
        requireBetween("tickMillis", tick, 10, 10_000, 1);
        kvcachedSegment.ifPresent(segment -> require(
                !segment.isBlank(),
                "kvcachedSegment",
                segment,
                "write the segment's name or path, or leave the key out"));
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
        holds = List.copyOf(holds);
        for (int i = 0; i < holds.size(); i++) {
            String name = holds.get(i).name();
            require(ID.matcher(name).matches(), "holds[" + i + "].name", name, NAMES);
            require(
                    holds.stream().filter(other -> other.name().equals(name)).count() == 1,
                    "holds[" + i + "].name",
                    name,
                    "another hold has that name: give each one of its own");
        }
        apiKeyEnv.ifPresent(name -> requireVariable("apiKeyEnv", name));
        adminKeyEnv.ifPresent(name -> requireVariable("adminKeyEnv", name));
    }

    /** An engine with every key that may be left out left out. */
    public static EngineConfig of(String id, EngineType type, URI url) {
        return new EngineConfig(
                id,
                type,
                url,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                type.backends().getFirst(),
                OptionalInt.empty(),
                AutomaticHolds.WHERE_EVICTABLE,
                Duration.ofMinutes(5),
                ControllerSettings.LEAST_SAVING,
                true,
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                0.5,
                Optional.empty(),
                readings(type.backends().getFirst()),
                Duration.ofMillis(100),
                Optional.of(EffectSettings.DEFAULTS),
                Optional.empty(),
                OptionalInt.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty(),
                Optional.empty());
    }

    /** How often an engine is asked where nobody says: nothing has to be guarded where nothing is sent. */
    static Duration readings(String backend) {
        return Duration.ofMillis(backend.equals(DryRunBackend.NAME) ? 1000 : 500);
    }

    /** Whoever writes a secret in the place of its variable's name must not see it in a sentence. */
    static void requireVariable(String key, String name) {
        if (!VARIABLE.matcher(name).matches()) {
            throw new ConfigException(
                    key, "is not the name of an environment variable; write the name of one, not the secret itself");
        }
    }

    public ControllerSettings controllerSettings() {
        return new ControllerSettings(
                id,
                new BudgetSettings(share, requestSizes, type.contextFlag()),
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
                effect.filter(settings -> publishes()));
    }

    /** Whether the engine has KV events to tell; under kvcached it has none. */
    public boolean publishes() {
        return kvcachedSegment.isEmpty();
    }

    /** Returns why a backend of earlier versions is not there any more; absent where there was none of that name. */
    static Optional<String> removedBackend(String name) {
        return Optional.ofNullable(REMOVED_BACKENDS.get(name));
    }

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

    /** Whether everything is decided and nothing is sent. */
    public boolean dryRun() {
        return backend.equals(DryRunBackend.NAME);
    }

    /** Whether it surely runs on the machine of whoever asks. */
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

    private static boolean isEventsEndpoint(String endpoint) {
        var matcher = EVENTS.matcher(endpoint);
        if (!matcher.matches()) {
            return false;
        }
        int port = Integer.parseInt(matcher.group(2));
        return port >= 1 && port <= 65_535 && !matcher.group(1).equals("0.0.0.0");
    }

    private static void requireBetween(String key, Duration value, int least, int most, int millisPerUnit) {
        require(
                value.compareTo(Duration.ofMillis((long) least * millisPerUnit)) >= 0
                        && value.compareTo(Duration.ofMillis((long) most * millisPerUnit)) <= 0,
                key,
                value.toMillis() / millisPerUnit,
                "write " + least + " to " + most);
    }
}
