package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.AnswerTally;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.Call;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.api.HttpTally;
import io.holdfast.emulator.api.Reply;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.RouteContext;
import io.holdfast.emulator.api.Routes;
import io.holdfast.emulator.api.Tokens;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.api.ValidationError;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import io.holdfast.rules.vllm.VllmStats;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;

/** vLLM's routes, in its words, those of its development mode among them. What touches the cache is asked of the engine. */
public final class VllmApi {
    private static final int ID_DIGITS = 16;

    private final VllmSettings settings;
    private final EngineClock clock;
    private final Ranks<VllmEngine> engine;
    private final VllmErrors errors = new VllmErrors();
    private final RouteContext context;
    private final VllmRequests requests;
    private final Optional<HoldOrders> holdOrders;
    private final String engineId = UUID.randomUUID().toString();
    private final VllmInfo info;
    private final VllmMetrics metrics;
    private final Routes routes;

    public VllmApi(
            Vertx vertx,
            VllmSettings settings,
            ApiSettings server,
            EngineClock clock,
            Ranks<VllmEngine> engine,
            Faults faults) {
        this.settings = settings;
        this.clock = clock;
        this.engine = engine;
        AnswerTally answers = new AnswerTally(VllmMetrics.tokenBounds(settings.contextTokens()));
        this.context = new RouteContext(server, clock, engine, faults, answers);
        this.requests = new VllmRequests(settings, server);
        this.holdOrders = settings.connector().map(connector -> new HoldOrders(connector, clock));
        this.info = new VllmInfo(settings, server);
        this.metrics = new VllmMetrics(settings, server, answers);
        this.routes = allRoutes(vertx);
    }

    /** Returns the server's HTTP side. */
    public HttpFrontend routes() {
        return routes;
    }

    private Routes allRoutes(Vertx vertx) {
        return new Routes(vertx, clock, errors, false, false, new HttpTally())
                .get("/health", this::health)
                .get("/ping", this::health)
                .post("/ping", this::health)
                .get("/version", call -> call.json(200, new JsonObject().put("version", VllmInfo.version(settings))))
                .get("/load", call -> call.json(200, new JsonObject().put("server_load", 0)))
                .get("/v1/models", call -> call.json(200, info.models(clock.unixSeconds())))
                .get("/server_info", call -> call.json(200, info.server()))
                .get("/metrics", call -> call.text(200, metrics.contentType(), metrics.page(stats())))
                .post("/tokenize", call -> call.read(body -> tokenize(call, body), answer -> call.json(200, answer)))
                .post(
                        "/detokenize",
                        call -> call.read(body -> detokenize(call, body), answer -> call.json(200, answer)))
                .post("/v1/completions", call -> openAi(call, requests::completion, false))
                .post("/v1/chat/completions", call -> openAi(call, requests::chat, true))
                .post("/reset_prefix_cache", this::resetPrefixCache)
                .post("/reset_mm_cache", call -> call.empty(200))
                .post("/reset_encoder_cache", call -> call.empty(200))
                .refusing(call ->
                        call.path().startsWith("/v1") && context.faults().unauthorized(call));
    }

    private List<VllmStats> stats() {
        return engine.look(VllmEngine::stats);
    }

    private void health(Call call) {
        if (stats().stream().allMatch(VllmStats::ready)) {
            context.health(call);
        } else {
            call.empty(503);
        }
    }

    private void resetPrefixCache(Call call) {
        boolean alsoRunning = flag(call, "reset_running_requests");
        flag(call, "reset_external");
        context.reply(call, engine.ask(scheduler -> scheduler.resetPrefixCache(alsoRunning)), done -> {
            if (settings.release() == Release.V0_32) {
                call.json(200, new JsonObject().put("success", !done.contains(false)));
            } else {
                call.empty(200);
            }
        });
    }

    private static boolean flag(Call call, String name) {
        Optional<String> text = call.query(name);
        if (text.isEmpty()) {
            return false;
        }
        return switch (text.get().toLowerCase(Locale.ROOT)) {
            case "true", "1" -> true;
            case "false", "0" -> false;
            default ->
                throw new ValidationError("bool_parsing", List.of("query", name), "Input should be a valid boolean");
        };
    }

    private static ValidatedBody parse(Call call, byte[] body) {
        if (!call.isJson() && body.length > 0) {
            throw VllmErrors.mediaType();
        }
        return ValidatedBody.parse(body);
    }

    private JsonObject tokenize(Call call, byte[] bytes) {
        ValidatedBody body = parse(call, bytes);
        requests.checkModel(body);
        int[] tokens =
                body.text("prompt").map(context.tokenizer()::tokens).orElseGet(() -> requests.conversation(body));
        JsonArray texts = new JsonArray();
        for (int token : tokens) {
            texts.add(context.tokenizer().text(token));
        }
        return new JsonObject()
                .put("count", tokens.length)
                .put("max_model_len", settings.contextTokens())
                .put("tokens", Tokens.json(tokens))
                .put("token_strs", body.flag("return_token_strs") ? texts : null);
    }

    private JsonObject detokenize(Call call, byte[] bytes) {
        ValidatedBody body = parse(call, bytes);
        requests.checkModel(body);
        body.require("tokens");
        int[] tokens = Arrays.stream(body.numbers("tokens"))
                .mapToInt(token -> Math.clamp(token, -1, Integer.MAX_VALUE))
                .toArray();
        return new JsonObject().put("prompt", context.tokenizer().text(tokens));
    }

    /** A request's body, and what was made of it. */
    private record Read(ValidatedBody body, GenerationRequest ask) {
        static Read of(ValidatedBody body, Function<ValidatedBody, GenerationRequest> reader) {
            return new Read(body, reader.apply(body));
        }
    }

    private void openAi(Call call, Function<ValidatedBody, GenerationRequest> reader, boolean chat) {
        call.read(body -> Read.of(parse(call, body), reader), read -> {
            context.refuseByFault(errors);
            HoldOrders.Taken taken = holdOrders
                    .map(orders -> orders.take(read.body(), read.ask()))
                    .orElseGet(() -> new HoldOrders.Taken(read.ask(), Optional.empty()));
            String id = (chat ? "chatcmpl-" : "cmpl-")
                    + call.header("x-request-id")
                            .or(() -> taken.ask().options().id(0))
                            .orElseGet(() -> context.nextId(ID_DIGITS));
            GenerationRequest ask =
                    settings.nixlLease().isPresent() ? NixlLeases.take(read.body(), taken.ask(), id) : taken.ask();
            ResponseFormat answer =
                    new VllmResponse(settings, ask, chat, id, (long) clock.unixSeconds(), taken.refusal(), engineId);
            new Reply(context, call, ask, answer, errors)
                    .begin(Collections.nCopies(ask.prompts().size() * ask.each(), id));
        });
    }
}
