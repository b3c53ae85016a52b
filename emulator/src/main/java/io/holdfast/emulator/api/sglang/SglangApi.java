package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.AnswerTally;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.Call;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.api.HttpTally;
import io.holdfast.emulator.api.Reply;
import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.RouteContext;
import io.holdfast.emulator.api.Routes;
import io.holdfast.emulator.api.Tokens;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.api.ValidationError;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.sglang.SglangStats;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** SGLang's routes, in its words. Everything that touches the cache is asked of the engine's thread. */
public final class SglangApi {
    private final Vertx vertx;
    private final SglangSettings settings;
    private final EngineClock clock;
    private final Ranks<SglangEngine> engine;
    private final SglangErrors errors = new SglangErrors();
    private final HttpTally http = new HttpTally();
    private final RouteContext context;
    private final SglangRequests requests;
    private final SglangInfo info;
    private final SglangMetrics metrics;
    private final SglangControl control;
    private final Routes routes;
    private final Map<String, Reply> open = new ConcurrentHashMap<>();

    /** Routes that are answered without a key, too. */
    private static final List<String> OPEN = List.of("/health", "/ready", "/metrics");

    public SglangApi(
            Vertx vertx,
            SglangSettings settings,
            ApiSettings server,
            EngineClock clock,
            Ranks<SglangEngine> engine,
            Faults faults) {
        this.vertx = vertx;
        this.settings = settings;
        this.clock = clock;
        this.engine = engine;
        this.context = new RouteContext(server, clock, engine, faults, new AnswerTally(AnswerTally.SGLANG_TOKENS));
        this.requests = new SglangRequests(settings, server);
        this.info = new SglangInfo(settings, server);
        this.metrics = new SglangMetrics(settings, server.model(), context.answers(), http);
        this.control = new SglangControl(settings, engine, context, open);
        this.routes = allRoutes();
    }

    /** Returns the server's HTTP side. */
    public HttpFrontend routes() {
        return routes;
    }

    private List<SglangStats> stats() {
        return engine.look(SglangEngine::stats);
    }

    private Routes allRoutes() {
        Routes all = new Routes(vertx, clock, errors, true, true, http)
                .get("/", call -> call.json(200, "\"SGLang is running\""))
                // The real one asks for a token and then sleeps for a second.
                .get("/health", context::health)
                .get("/health_generate", context::health)
                .get("/ping", call -> call.empty(200))
                .get("/v1/models", call -> call.json(200, info.models(clock.unixSeconds())))
                .getBelow("/v1/models/", this::model)
                .get("/v1/loads", this::loads)
                .get("/metrics", call -> call.text(200, SglangMetrics.CONTENT_TYPE, metrics.page(stats())))
                .post("/v1/completions", call -> openAi(call, requests::completion, false))
                .post("/v1/chat/completions", call -> openAi(call, requests::chat, true));
        for (String path : List.of("/server_info", "/get_server_info")) {
            all.get(path, call -> call.json(200, info.server(call.port(), stats().getFirst())));
        }
        for (String path : List.of("/model_info", "/get_model_info")) {
            all.get(path, call -> call.json(200, info.model()));
        }
        for (String path : List.of("/tokenize", "/v1/tokenize")) {
            all.post(path, call -> call.read(body -> tokenize(call, body), answer -> call.json(200, answer)));
        }
        for (String path : List.of("/detokenize", "/v1/detokenize")) {
            all.post(path, call -> call.read(body -> detokenize(call, body), answer -> call.json(200, answer)));
        }
        for (String method : List.of("POST", "PUT")) {
            all.on(method, "/generate", this::generate);
        }
        return control.addTo(all)
                .refusing(call -> OPEN.stream().noneMatch(call.path()::startsWith)
                        && context.faults().unauthorized(call));
    }

    private void model(Call call) {
        String name = call.path().substring("/v1/models/".length());
        JsonObject known = info.models(clock.unixSeconds()).getJsonArray("data").getJsonObject(0);
        if (known.getString("id").equals(name)) {
            call.json(200, known);
            return;
        }
        call.json(
                404,
                new JsonObject()
                        .put(
                                "error",
                                new JsonObject()
                                        .put("message", "The model '" + name + "' does not exist")
                                        .put("type", "invalid_request_error")
                                        .put("param", "model")
                                        .put("code", "model_not_found")));
    }

    private void loads(Call call) {
        Set<String> sections =
                call.query("include").map(list -> Set.of(list.split(","))).orElse(Set.of());
        JsonObject loads = info.loads(stats(), clock.unixSeconds(), sections);
        if (call.query("format").filter("prometheus"::equals).isPresent()) {
            call.text(200, SglangMetrics.CONTENT_TYPE, SglangInfo.prometheus(loads));
        } else {
            call.json(200, loads);
        }
    }

    private JsonObject tokenize(Call call, byte[] bytes) {
        ValidatedBody body = openAiBody(call, bytes);
        if (settings.variant() != Variant.STOCK) {
            // They left the main line before this route took messages.
            body.require("prompt");
        } else if (body.has("prompt") == body.has("messages")) {
            throw new ValidationError(
                    "value_error",
                    List.of("body"),
                    "Value error, Exactly one of \'prompt\' or \'messages\' must be provided.");
        }
        JsonObject answer = new JsonObject();
        if (body.isList("prompt")) {
            JsonArray all = new JsonArray();
            JsonArray counts = new JsonArray();
            for (String text : body.texts("prompt")) {
                JsonArray tokens = Tokens.json(context.tokenizer().tokens(text));
                all.add(tokens);
                counts.add(tokens.size());
            }
            answer.put("tokens", all).put("count", counts);
        } else {
            int[] tokens =
                    body.text("prompt").map(context.tokenizer()::tokens).orElseGet(() -> requests.conversation(body));
            answer.put("tokens", Tokens.json(tokens)).put("count", tokens.length);
        }
        return answer.put("max_model_len", settings.contextTokens());
    }

    private JsonObject detokenize(Call call, byte[] bytes) {
        ValidatedBody body = openAiBody(call, bytes);
        body.requireList("tokens");
        List<String> texts = body.prompts("tokens").stream()
                .map(tokens -> context.tokenizer().text(ValidatedBody.tokens(tokens)))
                .toList();
        return body.isBatch("tokens") && !texts.isEmpty()
                ? new JsonObject().put("text", new JsonArray(texts))
                : new JsonObject().put("text", String.join("", texts));
    }

    private static ValidatedBody openAiBody(Call call, byte[] body) {
        if (!call.isJson() && body.length > 0) {
            throw SglangErrors.mediaType();
        }
        return ValidatedBody.parse(body);
    }

    private void openAi(Call call, Function<ValidatedBody, GenerationRequest> reader, boolean chat) {
        call.read(body -> reader.apply(openAiBody(call, body)), ask -> {
            context.refuseByFault(errors);
            long created = (long) clock.unixSeconds();
            answer(call, ask, new SglangResponse(ask.options(), ask.each(), chat, created), SglangErrors::bad);
        });
    }

    /** A stream begins before its body is looked at closely, so that what is wrong with it comes as an event. */
    private void generate(Call call) {
        call.read(
                bytes -> {
                    ValidatedBody body = openAiBody(call, bytes);
                    try {
                        return requests.generate(body);
                    } catch (RequestRefused refused) {
                        if (body.flag("stream") && refused.body().getValue("error") instanceof JsonObject error) {
                            throw RequestRefused.inStream(SglangErrors.inStream(error.getString("message")));
                        }
                        throw refused;
                    } catch (ValidationError error) {
                        throw error.location().contains("sampling_params") ? SglangErrors.strictly(error) : error;
                    }
                },
                ask -> {
                    context.refuseByFault(errors);
                    answer(
                            call,
                            ask,
                            new SglangGenerateResponse(ask.options().batch() || ask.each() > 1, clock::unixSeconds),
                            SglangErrors::plainly);
                });
    }

    private void answer(
            Call call, GenerationRequest ask, ResponseFormat shape, Function<String, RequestRefused> refusal) {
        if (!call.isOpen()) {
            return;
        }
        int count = ask.prompts().size() * ask.each();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String id = ask.options().id(i / ask.each()).orElseGet(() -> context.nextId(32));
            ids.add(i % ask.each() == 0 ? id : context.nextId(32));
        }
        Reply reply = new Reply(context, call, ask, shape, errors);
        for (String id : ids) {
            if (open.putIfAbsent(id, reply) != null) {
                open.values().remove(reply);
                throw refusal.apply("Duplicate request ID detected: " + id);
            }
        }
        call.whenOver(() -> ids.forEach(id -> open.remove(id, reply)));
        if (ask.each() == 1) {
            reply.begin(ids);
        } else {
            afterReading(ask.prompts(), 0, call, () -> reply.begin(ids));
        }
    }

    /** Reads each prompt once before where several answers to it are wanted, so that all find it in the cache. */
    private void afterReading(List<GenerationRequest.Prompt> prompts, int index, Call call, Runnable next) {
        if (index == prompts.size()) {
            next.run();
            return;
        }
        GenerationRequest.Prompt prompt = prompts.get(index);
        RequestOptions terms = RequestOptions.of(1)
                .withSalt(prompt.terms().salt())
                .withExtraKey(prompt.terms().extraKey())
                .withPriority(prompt.terms().priority())
                .withSession(prompt.terms().session());
        var context = call.vertx().getOrCreateContext();
        TokenListener listener = new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                context.runOnContext(_ -> afterReading(prompts, index + 1, call, next));
            }

            @Override
            public void failed(String message) {
                context.runOnContext(_ -> call.json(500, errors.refusal(500, message)));
            }
        };
        engine.submit(new Generation(prompt.tokens(), terms, false, clock.nanos(), listener));
    }
}
