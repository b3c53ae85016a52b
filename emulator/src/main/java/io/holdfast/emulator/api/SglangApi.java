package io.holdfast.emulator.api;

import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Terms;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangEngine;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.sglang.SglangStats;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** SGLang's routes, in its words. Everything that touches the cache is asked of the engine's thread. */
public final class SglangApi implements Front {
    private static final JsonReader.Dialect DIALECT = JsonReader.Dialect.ORJSON;

    private final Vertx vertx;
    private final SglangSettings settings;
    private final EngineClock clock;
    private final Ranks<SglangEngine> engine;
    private final SglangWords words = new SglangWords();
    private final HttpTally http = new HttpTally();
    private final Desk desk;
    private final SglangAsks asks;
    private final SglangInfo info;
    private final SglangMetrics metrics;
    private final SglangControl control;
    private final Routes routes;
    private final Map<String, Reply> open = new ConcurrentHashMap<>();

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
        HttpFaults mischief = new HttpFaults(faults, new SplittableRandom(server.seed()));
        this.desk = new Desk(server, clock, engine, mischief, new AnswerTally(AnswerTally.SGLANG_TOKENS));
        this.asks = new SglangAsks(settings, server);
        this.info = new SglangInfo(settings, server);
        this.metrics = new SglangMetrics(settings, server.model(), desk.answers(), http);
        this.control = new SglangControl(settings, server, engine, desk, open);
        this.routes = routes();
    }

    @Override
    public void handle(HttpServerRequest request) {
        routes.handle(request);
    }

    @Override
    public void invalid(HttpServerRequest request) {
        routes.invalid(request);
    }

    private List<SglangStats> stats() {
        return engine.look(SglangEngine::stats);
    }

    private Routes routes() {
        Routes all = new Routes(vertx, clock, words, true, true, http)
                .get("/", call -> call.json(200, "\"SGLang is running\""))
                .get("/health", this::health)
                .get("/health_generate", this::health)
                .get("/ping", call -> call.empty(200))
                .get("/v1/models", call -> call.json(200, info.models(clock.unixSeconds())))
                .getBelow("/v1/models/", this::model)
                .get("/v1/loads", this::loads)
                .get("/metrics", call -> call.text(200, SglangMetrics.CONTENT_TYPE, metrics.page(stats())))
                .post("/v1/completions", call -> openAi(call, asks::completion, SglangShapes.Completion::new))
                .post("/v1/chat/completions", call -> openAi(call, asks::chat, SglangShapes.Chat::new));
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
        if (settings.variant() != Variant.STOCK) {
            all.get("/get_load", this::load);
        }
        return control.addTo(all);
    }

    /** The real one asks for a token and then sleeps for a second; here it is enough that the scheduler answers. */
    private void health(Call call) {
        desk.reply(call, engine.ask(scheduler -> true), _ -> call.empty(200));
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

    /** Older releases' smaller form. */
    private void load(Call call) {
        JsonArray ranks = new JsonArray();
        for (SglangStats stats : stats()) {
            ranks.add(new JsonObject()
                    .put("dp_rank", ranks.size())
                    .put("num_reqs", stats.running() + stats.waiting())
                    .put("num_waiting_reqs", stats.waiting())
                    .put("num_tokens", stats.usedTokens() + stats.pendingTokens())
                    .put("ts_tic", clock.nanos() / 1e9));
        }
        call.json(200, ranks.encode());
    }

    private JsonObject tokenize(Call call, byte[] body) {
        Json json = openAiBody(call, body);
        Values values = SglangBodies.TOKENIZE.require(json);
        if (values.has("prompt") == values.has("messages")) {
            throw new Complaint.Invalid(List.of(
                    Complaint.value(List.of("body"), "Exactly one of 'prompt' or 'messages' must be provided.", json)));
        }
        JsonObject answer = new JsonObject();
        if (values.get("prompt").orElse(Json.Null.NULL) instanceof Json.Arr) {
            JsonArray all = new JsonArray();
            JsonArray counts = new JsonArray();
            for (String text : values.texts("prompt")) {
                JsonArray tokens = Tokens.json(desk.tokenizer().tokens(text));
                all.add(tokens);
                counts.add(tokens.size());
            }
            answer.put("tokens", all).put("count", counts);
        } else {
            int[] tokens =
                    values.text("prompt").map(desk.tokenizer()::tokens).orElseGet(() -> asks.conversation(values));
            answer.put("tokens", Tokens.json(tokens)).put("count", tokens.length);
        }
        return answer.put("max_model_len", settings.contextTokens());
    }

    private JsonObject detokenize(Call call, byte[] body) {
        Values values = SglangBodies.DETOKENIZE.require(openAiBody(call, body));
        if (!(values.get("tokens").orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> items))) {
            throw new Crash(Crash.Reach.REQUEST);
        }
        if (!items.isEmpty() && items.getFirst() instanceof Json.Arr) {
            JsonArray texts = new JsonArray();
            for (Json item : items) {
                texts.add(item instanceof Json.Arr(List<Json> tokens) ? textOf(tokens) : "");
            }
            return new JsonObject().put("text", texts);
        }
        return new JsonObject().put("text", textOf(items));
    }

    private String textOf(List<Json> items) {
        if (items.stream().anyMatch(item -> item instanceof Json.Int(long token) && token < 0)) {
            throw new Refused(
                    500,
                    SglangWords.error(
                            500,
                            "InternalServerError",
                            "Internal server error during detokenization: out of range integral type conversion"
                                    + " attempted"));
        }
        return desk.tokenizer().text(Bodies.tokens(items));
    }

    private static Json openAiBody(Call call, byte[] body) {
        if (!Bodies.isJson(call) && body.length > 0) {
            throw SglangWords.mediaType();
        }
        return Bodies.parse(body, DIALECT);
    }

    private interface ShapeOf {
        Shape of(Ask.Telling telling, int each, long created);
    }

    private void openAi(Call call, Function<Json, Ask> reader, ShapeOf shape) {
        call.read(body -> reader.apply(openAiBody(call, body)), ask -> {
            refuseByFault();
            Shape words = shape.of(ask.telling(), ask.each(), (long) clock.unixSeconds());
            answer(call, ask, words, SglangWords::bad);
        });
    }

    /** A stream begins before its body is looked at closely, so that what is wrong with it comes as an event. */
    private void generate(Call call) {
        call.read(
                body -> {
                    Json json = json(call, body);
                    boolean streams = json instanceof Json.Obj object
                            && object.get("stream")
                                    .filter(Json.Bool.TRUE::equals)
                                    .isPresent();
                    try {
                        return asks.generate(json);
                    } catch (Crash crash) {
                        throw streams && crash.reach() == Crash.Reach.SERVER
                                ? new Crash(Crash.Reach.SERVER_IN_STREAM)
                                : crash;
                    } catch (Refused refused) {
                        if (streams && refused.body().getValue("error") instanceof JsonObject error) {
                            throw Refused.inStream(SglangWords.inStream(error.getString("message")));
                        }
                        throw refused;
                    }
                },
                ask -> {
                    refuseByFault();
                    answer(
                            call,
                            ask,
                            new SglangGenerate(ask.telling().batch() || ask.each() > 1, clock::unixSeconds),
                            SglangWords::plainly);
                });
    }

    /** A body that does not say that it is JSON is the bytes that it is, which no route takes. */
    private static Json json(Call call, byte[] body) {
        String type = call.header("content-type").orElse("");
        boolean json = Bodies.isJson(call) || type.strip().endsWith("+json");
        if (json || body.length == 0) {
            return Bodies.parse(body, DIALECT);
        }
        throw new Complaint.Invalid(List.of(new Complaint(
                "dataclass_type",
                List.of("body"),
                "Input should be a dictionary or an instance of GenerateReqInput",
                new Json.Bytes(body),
                java.util.Optional.of("{'class_name': 'GenerateReqInput'}"))));
    }

    private void refuseByFault() {
        desk.faults().error().ifPresent(status -> {
            throw new Refused(
                    status, words.refusal(status, "The server refuses this request, as its fault http-error says."));
        });
    }

    private void answer(Call call, Ask ask, Shape shape, Function<String, Refused> refusal) {
        if (!call.isOpen()) {
            return;
        }
        int count = ask.prompts().size() * ask.each();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String id = ask.telling().id(i / ask.each()).orElseGet(() -> desk.nextId(32));
            ids.add(i % ask.each() == 0 ? id : desk.nextId(32));
        }
        Reply reply = new Reply(desk, call, ask, shape, words);
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

    /** Where several answers to one prompt are wanted, the prompt is read once before, so that all find it in the cache. */
    private void afterReading(List<Ask.Prompt> prompts, int index, Call call, Runnable next) {
        if (index == prompts.size()) {
            next.run();
            return;
        }
        Ask.Prompt prompt = prompts.get(index);
        Terms terms = Terms.of(1)
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
                context.runOnContext(_ -> call.json(500, words.refusal(500, message)));
            }
        };
        engine.submit(new Generation(prompt.tokens(), terms, false, clock.nanos(), listener));
    }
}
