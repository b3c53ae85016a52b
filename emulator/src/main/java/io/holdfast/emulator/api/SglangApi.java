package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.EngineClock;
import io.holdfast.emulator.engine.Generation;
import io.holdfast.emulator.engine.Model;
import io.holdfast.emulator.engine.Ranks;
import io.holdfast.emulator.sglang.SglangEngine;
import io.holdfast.emulator.sglang.SglangSettings;
import io.holdfast.emulator.sglang.SglangSettings.Variant;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import io.vertx.ext.web.handler.BodyHandler;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.ToIntBiFunction;

/** The server's routes, in the engine's words. Everything that touches the cache is asked of the engine's thread. */
public final class SglangApi {
    private static final long LARGEST_BODY = 64L << 20;
    private static final String FLUSHED = "Cache flushed.\nPlease check backend logs for more details. "
            + "(When there are running or waiting requests, the operation will not be performed.)\n";
    private static final String NOT_FLUSHED =
            "Cache not flushed because there are pending requests; wait until the server is idle.\n";

    private final Vertx vertx;
    private final SglangSettings settings;
    private final long seed;
    private final EngineClock clock;
    private final Ranks<SglangEngine> engine;
    private final int eventsPort;
    private final AtomicLong requests = new AtomicLong();

    public SglangApi(
            Vertx vertx,
            SglangSettings settings,
            long seed,
            EngineClock clock,
            Ranks<SglangEngine> engine,
            int eventsPort) {
        this.vertx = vertx;
        this.settings = settings;
        this.seed = seed;
        this.clock = clock;
        this.engine = engine;
        this.eventsPort = eventsPort;
    }

    public Router router() {
        Router router = Router.router(vertx);
        router.route().handler(BodyHandler.create(false).setBodyLimit(LARGEST_BODY));
        router.get("/health").handler(call -> call.response().end());
        router.get("/server_info").handler(call -> json(call.response(), 200, serverInfo()));
        router.get("/v1/models").handler(call -> json(call.response(), 200, models()));
        router.get("/metrics").handler(this::metrics);
        router.get("/flush_cache").handler(this::flush);
        router.post("/flush_cache").handler(this::flush);
        router.post("/generate").handler(call -> answer(call, Ask::generate, ask -> new AnswerShape.Generate()));
        router.post("/v1/completions")
                .handler(call -> answer(call, Ask::completion, ask -> new AnswerShape.Completion(ask.includeUsage)));
        router.post("/v1/chat/completions")
                .handler(call -> answer(call, Ask::chat, ask -> new AnswerShape.Chat(ask.includeUsage)));
        if (settings.variant() == Variant.PIN_GPU) {
            router.post("/hicache/pin_blocks").handler(call -> pins(call, "pinned", "Pinned", (server, blocks) -> server.pin(blocks).count()));
            router.post("/hicache/unpin_blocks")
                    .handler(call -> pins(call, "unpinned", "Unpinned", (server, blocks) -> server.unpin(blocks).count()));
        }
        router.errorHandler(404, call -> json(call.response(), 404, new JsonObject().put("detail", "Not Found")));
        router.errorHandler(
                405, call -> json(call.response(), 405, new JsonObject().put("detail", "Method Not Allowed")));
        router.errorHandler(500, SglangApi::failed);
        return router;
    }

    static JsonObject error(int code, String type, String message) {
        return new JsonObject()
                .put("object", "error")
                .put("message", message)
                .put("type", type)
                .putNull("param")
                .put("code", code);
    }

    static void json(HttpServerResponse response, int status, JsonObject body) {
        response.setStatusCode(status)
                .putHeader(HttpHeaders.CONTENT_TYPE, "application/json")
                .end(body.encode());
    }

    private interface ShapeOf {
        AnswerShape of(Ask ask);
    }

    private void answer(RoutingContext call, BiFunction<JsonObject, SglangSettings, Ask> reader, ShapeOf shape) {
        Ask ask = reader.apply(body(call), settings);
        long now = clock.nanos();
        HttpServerResponse response = call.response();
        Context context = vertx.getOrCreateContext();
        Answer answer = new Answer(nextId(), (long) clock.unixSeconds(), ask.prompt.length);
        AnswerWriter writer = new AnswerWriter(context, response, shape.of(ask), answer, ask.stream);
        Generation request = new Generation(ask.prompt, ask.terms, ask.stream, now, writer);
        response.closeHandler(_ -> engine.abort(request));
        engine.submit(request);
    }

    private void flush(RoutingContext call) {
        reply(
                call,
                engine.ask(SglangEngine::flush),
                all -> call.response()
                        .setStatusCode(!all.contains(false) ? 200 : 400)
                        .putHeader(HttpHeaders.CONTENT_TYPE, "text/plain; charset=utf-8")
                        .end(!all.contains(false) ? FLUSHED : NOT_FLUSHED));
    }

    private void pins(RoutingContext call, String name, String verb, ToIntBiFunction<SglangEngine, long[]> change) {
        long[] blocks = blockHashes(body(call));
        reply(
                call,
                engine.ask(scheduler -> change.applyAsInt(scheduler, blocks)),
                counts -> json(
                        call.response(),
                        200,
                        new JsonObject()
                                .put("status", "ok")
                                .put(name + "_count", sum(counts))
                                .put(
                                        "message",
                                        String.format(
                                                Locale.ROOT, "%s %d/%d blocks", verb, sum(counts), blocks.length))));
    }

    private static int sum(List<Integer> counts) {
        return counts.stream().mapToInt(Integer::intValue).sum();
    }

    private static long[] blockHashes(JsonObject body) {
        Object value = body.getValue("block_hashes", new JsonArray());
        if (!(value instanceof JsonArray hashes)) {
            throw new Ask.Refused("block_hashes must be a list of 64-bit integers.");
        }
        long[] blocks = new long[hashes.size()];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = switch (hashes.getValue(i)) {
                case Integer small -> small;
                case Long hash -> hash;
                case null, default -> throw new Ask.Refused("block_hashes must be a list of 64-bit integers.");
            };
        }
        return blocks;
    }

    private void metrics(RoutingContext call) {
        call.response()
                .putHeader(HttpHeaders.CONTENT_TYPE, SglangMetrics.CONTENT_TYPE)
                .end(SglangMetrics.of(engine.look(SglangEngine::stats).getFirst(), settings));
    }

    private JsonObject models() {
        return new JsonObject()
                .put("object", "list")
                .put(
                        "data",
                        JsonArray.of(new JsonObject()
                                .put("id", Tokenizer.NAME)
                                .put("object", "model")
                                .put("created", (long) clock.unixSeconds())
                                .put("owned_by", "sglang")
                                .put("root", Tokenizer.NAME)
                                .putNull("parent")
                                .put("max_model_len", settings.contextTokens())));
    }

    private JsonObject serverInfo() {
        boolean pins = settings.variant() == Variant.PIN_GPU;
        JsonObject events = new JsonObject()
                .put("publisher", "zmq")
                .put("endpoint_host", "127.0.0.1")
                .put("endpoint_port_base", eventsPort)
                .put("topic", "")
                .put("block_size", settings.pageTokens())
                .put("dp_size", 1);
        return new JsonObject()
                .put("model_path", Tokenizer.NAME)
                .put("served_model_name", Tokenizer.NAME)
                .put("emulated_by", "holdfast")
                .put("tp_size", 1)
                .put("dp_size", 1)
                .put("page_size", settings.pageTokens())
                .put("context_length", settings.contextTokens())
                .put("max_running_requests", settings.maxRunning())
                .put("schedule_policy", "fcfs")
                .put("radix_eviction_policy", settings.eviction().name().toLowerCase(Locale.ROOT))
                .put("enable_hierarchical_cache", settings.hostRatio() > 0)
                .put("disable_radix_cache", false)
                .put("enable_cache_report", true)
                .put("enable_metrics", true)
                .put("skip_server_warmup", true)
                .put("random_seed", seed)
                .put("status", "ready")
                .put("max_total_num_tokens", settings.capacityTokens())
                .put("max_req_input_len", settings.maxPromptTokens())
                .put("kv_events", events)
                .put("version", pins ? "0.5.8.post1" : "0.5.23");
    }

    /** Handles the engine's answer on the connection's context, or its absence with 503. */
    private <T> void reply(RoutingContext call, CompletionStage<T> answer, Consumer<T> handler) {
        Future.fromCompletionStage(answer, vertx.getOrCreateContext())
                .onSuccess(handler::accept)
                .onFailure(gone -> json(
                        call.response(), 503, error(503, "ServiceUnavailable", String.valueOf(gone.getMessage()))));
    }

    private static JsonObject body(RoutingContext call) {
        try {
            JsonObject body = call.body().asJsonObject();
            if (body != null) {
                return body;
            }
        } catch (DecodeException | ClassCastException e) {
            throw new Ask.Refused("The request body is not a JSON object.");
        }
        throw new Ask.Refused("The request has no body.");
    }

    private static void failed(RoutingContext call) {
        if (call.failure() instanceof Ask.Refused refused) {
            json(call.response(), 400, error(400, "BadRequestError", String.valueOf(refused.getMessage())));
        } else {
            json(call.response(), 500, error(500, "InternalServerError", String.valueOf(call.failure())));
        }
    }

    /** 32 hex digits that depend on the seed and the request's number alone. */
    private String nextId() {
        long number = requests.getAndIncrement();
        long high = Model.mix(seed + number);
        return String.format(Locale.ROOT, "%016x%016x", high, Model.mix(high ^ number));
    }
}
