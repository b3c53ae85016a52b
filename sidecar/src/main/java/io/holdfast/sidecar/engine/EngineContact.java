package io.holdfast.sidecar.engine;

import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.http.EngineJson;
import io.holdfast.http.ListedModel;
import io.holdfast.http.MetricsText;
import io.holdfast.http.Reply;
import io.holdfast.sglang.ServerInfo;
import io.holdfast.sglang.SglangReadings;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.Secret;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.vllm.TensorRtReadings;
import io.holdfast.vllm.VllmReadings;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.stream.Stream;

/**
 * An engine that answers, and what it said of itself when it was first asked.
 *
 * <p>Which family it belongs to is found out, unless that is told: an SGLang describes itself at {@code /server_info}, a vLLM
 * tells its version at {@code /version}, and the metrics of both bear their names. A TensorRT-LLM says at
 * {@code /v1/models} whose model it is; its {@code /metrics} is not asked, since what it gives is gone for others.
 */
public final class EngineContact implements AutoCloseable {
    /** Port at which a vLLM publishes, and a TensorRT-LLM, unless it is told otherwise. */
    private static final int USUAL_EVENTS_PORT = 5557;

    public static final String INFO = ServerInfo.PATH;
    public static final String VERSION = "/version";
    public static final String MODELS = ListedModel.PATH;
    private static final String METRICS = "/metrics";

    private final EngineTarget target;
    private final EngineType type;
    private final EngineConfig config;
    private final Services services;
    private final Answers answers;
    private final boolean eventsAssumed;

    /** Client, threads and timer that a conversation with an engine needs. */
    private record Services(EngineHttp http, ExecutorService executor, ScheduledExecutorService timer)
            implements AutoCloseable {
        static Services open(EngineConfig config) {
            ExecutorService executor = Executors.newThreadPerTaskExecutor(
                    Thread.ofVirtual().name("holdfast-asking-", 0).factory());
            ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().name("holdfast-timer").daemon().factory());
            EngineHttpSettings settings = EngineHttpSettings.of(config.url()).withHeaders(headers(config));
            return new Services(new EngineHttp(settings, executor, timer, System::nanoTime), executor, timer);
        }

        @Override
        public void close() {
            http.close();
            timer.shutdownNow();
            executor.shutdownNow();
        }
    }

    /** Answers of the routes by which engines report what they are. */
    private record Answers(Reply info, Reply version, Reply metrics, Reply models) {
        private static final Reply UNASKED = new Reply.NoAnswer("The metrics were not asked for.", false);

        static Answers ask(EngineHttp http, Optional<EngineType> told) {
            CompletableFuture<Reply> info = http.get(INFO).toCompletableFuture();
            CompletableFuture<Reply> version = http.get(VERSION).toCompletableFuture();
            CompletableFuture<Reply> models = http.get(MODELS).toCompletableFuture();
            Reply described = info.join();
            if (is(404, described)) {
                described = http.get("/get_server_info").toCompletableFuture().join();
            }
            Answers answers = new Answers(described, version.join(), UNASKED, models.join());
            if (told.isEmpty() && answers.maybeTensorRt()) {
                return answers;
            }
            EngineType type = told.orElse(isTensorRt(answers.models()) ? EngineType.TENSORRT_LLM : EngineType.VLLM);
            Reply metrics = http.get(metricsRoute(type)).toCompletableFuture().join();
            return new Answers(described, answers.version(), metrics, answers.models());
        }

        /**
         * Returns true if nothing tells a TensorRT-LLM from another engine. It has a list of models, which may fail;
         * and it answers {@code /server_info} without a key, in words that are neither SGLang's nor vLLM's.
         */
        boolean maybeTensorRt() {
            return !is(200, models)
                    && !is(404, models)
                    && !is(404, info)
                    && !(info instanceof Reply.Answer answer && answer.wantsKey())
                    && !isSglang(info)
                    && !isVllm(info);
        }

        List<Reply.Answer> given() {
            return Stream.of(info, version, metrics, models)
                    .flatMap(reply -> reply instanceof Reply.Answer answer ? Stream.of(answer) : Stream.empty())
                    .toList();
        }

        /** Answers of an engine of this family, by the route. */
        SequencedMap<String, Reply> byRoute(EngineType type) {
            SequencedMap<String, Reply> byRoute = new LinkedHashMap<>();
            byRoute.put(type == EngineType.SGLANG ? INFO : VERSION, type == EngineType.SGLANG ? info : version);
            byRoute.put(MODELS, models);
            byRoute.put(metricsRoute(type), metrics);
            return byRoute;
        }
    }

    private EngineContact(
            EngineTarget target,
            EngineType type,
            EngineConfig config,
            Services services,
            Answers answers,
            boolean eventsAssumed) {
        this.target = target;
        this.type = type;
        this.config = config;
        this.services = services;
        this.answers = answers;
        this.eventsAssumed = eventsAssumed;
    }

    /**
     * Asks the engine what it is.
     *
     * @throws ConfigException when it is named in a way that cannot be
     * @throws SidecarException with one sentence, when nothing answers or what answers is no engine
     */
    public static EngineContact open(EngineTarget target) {
        Optional<EngineType> told = target.toldType();
        Services services = Services.open(target.config(told.orElse(EngineType.SGLANG)));
        try {
            Answers answers = Answers.ask(services.http(), told);
            requireAnswer(answers);
            EngineType type = told.or(() -> recognised(answers)).orElseThrow(() -> unrecognised(target, answers));
            boolean assumed = type != EngineType.SGLANG && target.events().isEmpty();
            EngineTarget whole = assumed ? target.withEvents(usualEvents(target.config(type))) : target;
            return new EngineContact(whole, type, whole.config(type), services, answers, assumed);
        } catch (RuntimeException e) {
            services.close();
            throw e;
        }
    }

    static String usualEvents(EngineConfig config) {
        return "tcp://" + config.url().getHost() + ":" + USUAL_EVENTS_PORT;
    }

    private static String metricsRoute(EngineType type) {
        return type == EngineType.TENSORRT_LLM ? TensorRtReadings.PATH : METRICS;
    }

    private static boolean isTensorRt(Reply models) {
        return TensorRtReadings.isOf(ListedModel.first(text(models)));
    }

    private static boolean isSglang(Reply info) {
        return ServerInfo.parse(text(info)).filter(ServerInfo::isSglang).isPresent();
    }

    private static boolean isVllm(Reply info) {
        return EngineJson.read(text(info)).has("vllm_config");
    }

    private static boolean is(int status, Reply reply) {
        return reply instanceof Reply.Answer answer && answer.status() == status;
    }

    private static Map<String, String> headers(EngineConfig config) {
        if (config.apiKeyEnv().isEmpty()) {
            return Map.of();
        }
        try {
            return Map.of(
                    "Authorization",
                    Secret.read(System.getenv(), config.apiKeyEnv().get(), "--api-key-env")
                            .bearer());
        } catch (IOException e) {
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        }
    }

    /** The secret that its connector has as well, where one was named. */
    Optional<Secret> connectorSecret() {
        try {
            return config.connectorSecret(System.getenv());
        } catch (IOException e) {
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        }
    }

    private static void requireAnswer(Answers answers) {
        if (answers.given().isEmpty()) {
            throw new SidecarException((answers.info() instanceof Reply.NoAnswer none ? none.why() : "")
                    .replace(": is the engine running?", ": start the engine, or write another --engine."));
        }
    }

    /** An engine that asks for a key does not even say what it is. */
    private static SidecarException unrecognised(EngineTarget target, Answers answers) {
        return answers.given().stream()
                .filter(Reply.Answer::wantsKey)
                .findFirst()
                .map(refusal -> withoutKey(target, refusal.status()))
                .orElseGet(() -> new SidecarException(
                        answers.maybeTensorRt()
                                ? "What answers at " + target.url()
                                        + " gave no list of models, without which it may be a TensorRT-LLM: ask again"
                                        + " when /v1/models answers, or say what it is with --type."
                                : "What answers at " + target.url()
                                        + " is neither SGLang nor vLLM nor TensorRT-LLM as far as /server_info,"
                                        + " /version, /v1/models and /metrics tell; if it is one all the same, say"
                                        + " which with --type."));
    }

    private static SidecarException withoutKey(EngineTarget target, int status) {
        return new SidecarException(target.apiKeyEnv()
                .map(variable -> target.url() + " refuses the key in " + variable + " (HTTP " + status
                        + "): put its --api-key there.")
                .orElseGet(() -> target.url() + " asks for a key (HTTP " + status
                        + "): put its --api-key into an environment variable and name that with --api-key-env."));
    }

    private static Optional<EngineType> recognised(Answers answers) {
        if (isTensorRt(answers.models())) {
            return Optional.of(EngineType.TENSORRT_LLM);
        }
        if (answers.maybeTensorRt()) {
            return Optional.empty();
        }
        MetricsText metrics = MetricsText.parse(text(answers.metrics()));
        if (SglangReadings.isOf(metrics) || isSglang(answers.info())) {
            return Optional.of(EngineType.SGLANG);
        }
        if (VllmReadings.isOf(metrics)
                || isVllm(answers.info())
                || EngineJson.read(text(answers.version())).has("version")) {
            return Optional.of(EngineType.VLLM);
        }
        return Optional.empty();
    }

    private static String text(Reply reply) {
        return reply instanceof Reply.Answer answer && answer.status() == 200 ? answer.body() : "";
    }

    /** Routes that ask for a key that they were not given, with their statuses; empty where none does. */
    public SequencedMap<String, Integer> locked() {
        SequencedMap<String, Integer> locked = new LinkedHashMap<>();
        answers.byRoute(type).forEach((route, reply) -> {
            if (reply instanceof Reply.Answer answer && answer.wantsKey()) {
                locked.put(route, answer.status());
            }
        });
        return locked;
    }

    /**
     * Goes no further where a route asks for a key that it was not given.
     *
     * @throws SidecarException with one sentence that says how to give it
     */
    public void requireKeyFor(String route) {
        Integer refusal = locked().get(route);
        if (refusal != null) {
            throw withoutKey(target, refusal);
        }
    }

    public EngineTarget target() {
        return target;
    }

    public EngineType type() {
        return type;
    }

    /** Returns the configuration that a sidecar would have for it, with a dry run. */
    public EngineConfig config() {
        return config;
    }

    /** Returns true if nobody named the place of the events, so that the usual one is tried. */
    public boolean eventsAssumed() {
        return eventsAssumed;
    }

    public EngineHttp http() {
        return services.http();
    }

    public ExecutorService executor() {
        return services.executor();
    }

    public ScheduledExecutorService timer() {
        return services.timer();
    }

    public Optional<String> version() {
        return Optional.of(EngineJson.read(text(type == EngineType.SGLANG ? answers.info() : answers.version()))
                        .path("version")
                        .asText(""))
                .filter(text -> !text.isEmpty());
    }

    public Optional<String> model() {
        return ListedModel.first(text(answers.models())).name();
    }

    /** Returns an argument that the engine reports; absent where it does not. */
    public Optional<String> argument(String name) {
        return switch (type) {
            case SGLANG -> ServerInfo.parse(text(answers.info())).flatMap(info -> info.value(name));
            case VLLM -> VllmReadings.argument(name, MetricsText.parse(text(answers.metrics())), "");
            case TENSORRT_LLM -> Optional.empty();
        };
    }

    /** Returns the route at which it has its page of metrics. */
    public String metricsRoute() {
        return metricsRoute(type);
    }

    /** Returns why there is no page of metrics; absent where there is one. */
    public Optional<String> withoutMetrics() {
        return switch (answers.metrics()) {
            case Reply.NoAnswer none -> Optional.of(none.why());
            case Reply.Answer answer when answer.status() == 200 -> Optional.empty();
            case Reply.Answer answer -> Optional.of(metricsRoute() + " is answered with HTTP " + answer.status() + ".");
        };
    }

    @Override
    public void close() {
        services.close();
    }
}
