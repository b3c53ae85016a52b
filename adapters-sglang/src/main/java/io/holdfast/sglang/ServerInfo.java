package io.holdfast.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineJson;
import io.holdfast.http.EngineVersion;
import io.holdfast.http.ProbeLoop;
import io.holdfast.http.Reply;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Report of an engine about itself at {@code /server_info}. */
public final class ServerInfo {
    public static final String PATH = "/server_info";

    /** Far more than any engine has; each takes a socket. */
    private static final int MOST_RANKS = 1_024;

    private static final Set<String> WILDCARDS = Set.of("", "*", "0.0.0.0", "::", "[::]");
    private static final Pattern TCP = Pattern.compile("tcp://(.*):(\\d{1,5})");
    private static final String NO_EVENTS = "The engine publishes no events: start it with --kv-events-config"
            + " '{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:5557\",\"topic\":\"kv-events\"}'.";

    private final JsonNode root;

    private ServerInfo(JsonNode root) {
        this.root = root;
    }

    /** An engine's answer, or why there is none. */
    sealed interface Read {
        record Done(ServerInfo info) implements Read {}

        record Failed(String why) implements Read {}
    }

    static Read read(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> new Read.Failed(lost.why());
            case Reply.Answer answer when answer.wantsKey() -> new Read.Failed(answer.wantedKey(PATH));
            case Reply.Answer answer
            when answer.status() != 200 ->
                new Read.Failed("The engine answered " + PATH + " with HTTP " + answer.status()
                        + (answer.status() == 404 ? ": it is older than SGLang 0.5.9, or no SGLang." : "."));
            case Reply.Answer answer -> {
                JsonNode root = answer.json();
                yield root.isObject()
                        ? new Read.Done(new ServerInfo(root))
                        : new Read.Failed("The engine's " + PATH
                                + (root.isMissingNode() ? " is no JSON." : " is no JSON object."));
            }
        };
    }

    /** Returns the report in the body of an answer; absent where that is no JSON object. */
    public static Optional<ServerInfo> parse(String body) {
        return Optional.of(EngineJson.read(body)).filter(JsonNode::isObject).map(ServerInfo::new);
    }

    /** Returns true if only an SGLang reports this; a vLLM has the route in its development mode. */
    public boolean isSglang() {
        return root.path("page_size").isInt() || root.has("max_total_num_tokens") || root.has("radix_eviction_policy");
    }

    /** Asks the engine until it reports something, and judges that; {@code timer} paces the questions. */
    static CompletionStage<Capabilities> asked(
            EngineHttp http, ScheduledExecutorService timer, Function<ServerInfo, Capabilities> judge) {
        return new ProbeLoop<>(
                        timer,
                        () -> http.get(PATH)
                                .thenApply(reply -> new ProbeLoop.Attempt<>(
                                        Answers.whyUnanswered(reply), () -> judged(reply, judge))),
                        why -> new Capabilities(false, why))
                .answer();
    }

    private static Capabilities judged(Reply reply, Function<ServerInfo, Capabilities> judge) {
        return switch (read(reply)) {
            case Read.Failed failed -> new Capabilities(false, failed.why());
            case Read.Done done -> judge.apply(done.info());
        };
    }

    /** Returns a field of text; empty where the engine does not report it. */
    public String text(String field) {
        return root.path(field).isTextual() ? root.path(field).textValue() : "";
    }

    OptionalDouble number(String field) {
        JsonNode value = root.path(field);
        return value.isNumber() ? OptionalDouble.of(value.doubleValue()) : OptionalDouble.empty();
    }

    /** Returns a single value as text, such as an argument that the engine was started with; absent where it has none. */
    public Optional<String> value(String field) {
        return Optional.of(root.path(field))
                .filter(value -> value.isValueNode() && !value.isNull())
                .map(JsonNode::asText);
    }

    /**
     * Returns what this process drew or measured when it began: its random seed, unless it was given one, and the time
     * that its start took; absent where it reports neither.
     */
    public Optional<String> life() {
        JsonNode took = root.path("startup_time");
        return Optional.of(value("random_seed").orElse("") + " " + (took.isObject() ? took : ""))
                .filter(life -> !life.isBlank());
    }

    boolean flag(String field) {
        return root.path(field).asBoolean(false);
    }

    /** Returns the number of data-parallel ranks, each with a cache of its own. */
    public int caches() {
        return Math.max(
                root.path("dp_size").asInt(1),
                root.path("kv_events").path("dp_size").asInt(1));
    }

    /**
     * Reason why no request of one's own can keep anything, whatever it has beside its tokens; absent where one can.
     */
    Optional<Capabilities> hindrance() {
        if (flag("disable_radix_cache")) {
            return Optional.of(
                    new Capabilities(false, "The engine caches no prefixes: start it without --disable-radix-cache."));
        }
        return caches() > 1
                ? Optional.of(new Capabilities(
                        false,
                        "This engine has " + caches()
                                + " caches (data-parallel ranks), and a request reaches one of them only: run one"
                                + " engine for each rank, each with a sidecar's engine of its own."))
                : Optional.empty();
    }

    /** Release that it says it is; absent where it says none. */
    Optional<EngineVersion> version() {
        return EngineVersion.parse(text("version"));
    }

    boolean publishesEvents() {
        return publisher(root.path("kv_events"))
                || publisher(EngineJson.read(root.path("kv_events_config").asText("")));
    }

    private static boolean publisher(JsonNode config) {
        return config.path("publisher").asText("").equals("zmq");
    }

    /**
     * Engines list their endpoints, up to 0.5.21 without that for past events, and repeat what they were started with.
     */
    public EventEndpoints events(URI base) {
        JsonNode listed = root.path("kv_events");
        String config = root.path("kv_events_config").asText("");
        JsonNode asked = EngineJson.read(config);
        Matcher replay = TCP.matcher(asked.path("replay_endpoint").asText(""));
        int replayPort = replay.matches() ? Integer.parseInt(replay.group(2)) : 0;
        if (listed.isObject()) {
            return endpoints(
                    base,
                    listed.path("publisher").asText(""),
                    listed.path("endpoint_host").asText("*"),
                    listed.path("endpoint_port_base").asInt(0),
                    listed.path("replay_endpoint_port_base").asInt(replayPort),
                    listed.path("topic").asText(""),
                    listed.path("dp_size").asInt(1));
        }
        if (config.isEmpty()) {
            return new EventEndpoints.Unknown(NO_EVENTS);
        }
        String endpoint = asked.path("endpoint").asText("tcp://*:5557");
        Matcher tcp = TCP.matcher(endpoint);
        if (!tcp.matches()) {
            return new EventEndpoints.Unknown("The engine publishes its events at " + endpoint
                    + ", which cannot be reached from here: give it a tcp:// endpoint.");
        }
        return endpoints(
                base,
                asked.path("publisher").asText(""),
                tcp.group(1),
                Integer.parseInt(tcp.group(2)),
                replayPort,
                asked.path("topic").asText(""),
                root.path("dp_size").asInt(1));
    }

    private static EventEndpoints endpoints(
            URI base, String publisher, String host, int port, int replayPort, String topic, int ranks) {
        if (!publisher.equals("zmq")) {
            return new EventEndpoints.Unknown(NO_EVENTS);
        }
        if (port < 1 || ranks < 1) {
            return new EventEndpoints.Unknown("The engine publishes events but does not say at which port.");
        }
        if (ranks > MOST_RANKS) {
            return new EventEndpoints.Unknown("The engine says that it has " + ranks
                    + " data-parallel ranks, which no engine has; their events are not subscribed to.");
        }
        String reachable = WILDCARDS.contains(host) ? base.getHost() : host;
        List<String> endpoints = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            endpoints.add("tcp://" + reachable + ":" + (port + rank));
        }
        // The replay socket is always bound where the engine runs.
        return new EventEndpoints.Known(
                endpoints,
                replayPort < 1 ? Optional.empty() : Optional.of("tcp://" + base.getHost() + ":" + replayPort),
                topic);
    }
}
