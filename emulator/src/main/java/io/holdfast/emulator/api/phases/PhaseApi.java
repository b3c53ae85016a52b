package io.holdfast.emulator.api.phases;

import io.holdfast.emulator.api.AnswerTally;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.Call;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.HttpFaults;
import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.api.HttpTally;
import io.holdfast.emulator.api.MetricsPage;
import io.holdfast.emulator.api.Reply;
import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.Resources;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.RouteContext;
import io.holdfast.emulator.api.Routes;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.api.sglang.SglangApi;
import io.holdfast.emulator.api.sglang.SglangErrors;
import io.holdfast.emulator.api.sglang.SglangRequests;
import io.holdfast.emulator.api.sglang.SglangResponses;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.RequestTally;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.phases.PhaseEngine;
import io.holdfast.rules.phases.PhaseSettings;
import io.holdfast.rules.phases.PhaseStats;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;

/**
 * The routes of the server that can be any of seven: health, models, metrics, and OpenAI's two ways to ask. Bodies,
 * answers and errors are SGLang's, which has the same fields; the numbers have names of their own.
 */
public final class PhaseApi implements HttpFrontend {
    private static final String METRICS = "text/plain; version=0.0.4; charset=utf-8";
    private static final int ID_DIGITS = 32;

    private final PhaseSettings settings;
    private final ApiSettings server;
    private final EngineClock clock;
    private final Ranks<PhaseEngine> engine;
    private final SglangErrors errors = new SglangErrors();
    private final RouteContext context;
    private final SglangRequests requests;
    private final String metricsAtRest = Resources.text(PhaseApi.class, "phase_metrics.txt");
    private final Routes routes;

    public PhaseApi(
            Vertx vertx,
            PhaseSettings settings,
            ApiSettings server,
            EngineClock clock,
            Ranks<PhaseEngine> engine,
            Faults faults) {
        this.settings = settings;
        this.server = server;
        this.clock = clock;
        this.engine = engine;
        HttpFaults answerFaults = new HttpFaults(faults, new SplittableRandom(server.seed()));
        this.context =
                new RouteContext(server, clock, engine, answerFaults, new AnswerTally(AnswerTally.SGLANG_TOKENS));
        this.requests = new SglangRequests(limits(settings), server);
        this.routes = new Routes(vertx, clock, errors, true, true, new HttpTally())
                .get("/health", this::health)
                .get("/v1/models", call -> call.json(200, models()))
                .get("/metrics", call -> call.text(200, METRICS, metrics(stats())))
                .post("/v1/completions", call -> openAi(call, requests::completion, SglangResponses.Completion::new))
                .post("/v1/chat/completions", call -> openAi(call, requests::chat, SglangResponses.Chat::new));
    }

    @Override
    public void handle(HttpServerRequest request) {
        routes.handle(request);
    }

    @Override
    public void invalid(HttpServerRequest request) {
        routes.invalid(request);
    }

    /** Limits of prompts and answers, in the settings by which they are checked. */
    private static SglangSettings limits(PhaseSettings settings) {
        return SglangSettings.defaults()
                .withSizes(
                        settings.blocks() * settings.blockTokens(), settings.blockTokens(), settings.contextTokens());
    }

    /** The first rank's, as its own metrics would tell. */
    private PhaseStats stats() {
        return engine.look(PhaseEngine::stats).getFirst();
    }

    private void health(Call call) {
        boolean ready = engine.look(PhaseEngine::stats).stream().allMatch(PhaseStats::ready);
        call.empty(ready ? 200 : 503);
    }

    private JsonObject models() {
        JsonObject model = new JsonObject()
                .put("id", server.model())
                .put("object", "model")
                .put("created", (long) clock.unixSeconds())
                .put("owned_by", "holdfast")
                .put("root", server.model())
                .putNull("parent")
                .put("max_model_len", settings.contextTokens());
        return new JsonObject().put("object", "list").put("data", JsonArray.of(model));
    }

    private String metrics(PhaseStats stats) {
        RequestTally whole = stats.whole();
        RequestTally streamed = stats.streamed();
        return MetricsPage.over(metricsAtRest, server.model())
                .set("infer:num_requests_running", stats.running())
                .set("infer:num_requests_waiting", stats.waiting())
                .set("infer:capacity_tokens", stats.capacityTokens())
                .set("infer:free_tokens", stats.freeTokens())
                .set("infer:cached_tokens", stats.cachedTokens())
                .set("infer:found_tokens_total", stats.foundTokens())
                .set("infer:evicted_tokens_total", stats.evictedTokens())
                .set("infer:prompt_tokens_total", whole.promptTokens() + streamed.promptTokens())
                .set("infer:generation_tokens_total", whole.answerTokens() + streamed.answerTokens())
                .set("infer:requests_total", whole.requests() + streamed.requests(), "\"answered\"")
                .set("infer:requests_total", stats.failed(), "\"failed\"")
                .set("infer:requests_total", stats.aborted(), "\"aborted\"")
                .plainHistogram(
                        "infer:time_to_first_token_seconds",
                        "model_name=" + MetricsPage.quoted(server.model()),
                        "",
                        whole.ttft().plus(streamed.ttft()))
                .text();
    }

    private interface FormatFactory {
        ResponseFormat of(GenerationRequest.ResponseOptions options, int each, long created);
    }

    private void openAi(Call call, Function<ValidatedBody, GenerationRequest> reader, FormatFactory shape) {
        call.read(body -> reader.apply(SglangApi.openAiBody(call, body)), ask -> {
            context.faults().error().ifPresent(status -> {
                throw new RequestRefused(
                        status,
                        errors.refusal(status, "The server refuses this request, as its fault http-error says."));
            });
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < ask.prompts().size() * ask.each(); i++) {
                ids.add(context.nextId(ID_DIGITS));
            }
            ResponseFormat answer = shape.of(ask.options(), ask.each(), (long) clock.unixSeconds());
            new Reply(context, call, ask, answer, errors).begin(ids);
        });
    }
}
