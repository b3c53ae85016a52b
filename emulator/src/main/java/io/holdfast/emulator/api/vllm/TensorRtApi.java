package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.AnswerTally;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.Call;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.HttpFrontend;
import io.holdfast.emulator.api.HttpTally;
import io.holdfast.emulator.api.Reply;
import io.holdfast.emulator.api.RouteContext;
import io.holdfast.emulator.api.Routes;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.process.Ranks;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.Histogram;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.vllm.VllmEngine;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmStats;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * Routes of {@code trtllm-serve} that clients of its cache use, as its source has them; no server was there to compare with.
 *
 * <p>Two take what they tell: whoever reads iteration statistics or buffered events leaves none for others.
 */
public final class TensorRtApi {
    private static final String METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
    private static final int ID_DIGITS = 32;

    /** Fields of both routes' requests; others are refused. */
    private static final Set<String> FIELDS = Set.of(
            "add_special_tokens",
            "best_of",
            "conversation_params",
            "detokenize",
            "disaggregated_params",
            "early_stopping",
            "frequency_penalty",
            "ignore_eos",
            "include_stop_str_in_output",
            "length_penalty",
            "logit_bias",
            "logprobs",
            "lora_request",
            "max_tokens",
            "min_p",
            "min_tokens",
            "model",
            "n",
            "presence_penalty",
            "priority",
            "prompt_ignore_length",
            "repetition_penalty",
            "response_format",
            "return_context_logits",
            "seed",
            "skip_special_tokens",
            "spaces_between_special_tokens",
            "stop",
            "stop_token_ids",
            "stream",
            "stream_options",
            "suffix",
            "temperature",
            "thinking_token_budget",
            "top_k",
            "top_p",
            "top_p_min",
            "truncate_prompt_tokens",
            "use_beam_search",
            "user");

    private static final Set<String> COMPLETION_FIELDS = Set.of("echo", "prompt");
    /** Of these a completion has none, not even the salt. */
    private static final Set<String> CHAT_FIELDS = Set.of(
            "add_generation_prompt",
            "cache_salt",
            "chat_template",
            "chat_template_kwargs",
            "documents",
            "max_completion_tokens",
            "messages",
            "prompt_token_ids",
            "reasoning_effort",
            "tool_choice",
            "tools",
            "top_logprobs");

    private final VllmSettings settings;
    private final EngineClock clock;
    private final Ranks<VllmEngine> engine;
    private final TensorRtErrors errors = new TensorRtErrors();
    private final AnswerTally answers;
    private final RouteContext context;
    private final VllmRequests requests;
    private final Routes routes;
    private final String model;

    public TensorRtApi(
            Vertx vertx,
            VllmSettings settings,
            ApiSettings server,
            EngineClock clock,
            Ranks<VllmEngine> engine,
            Faults faults) {
        this.settings = settings;
        this.clock = clock;
        this.engine = engine;
        this.model = server.model();
        this.answers = new AnswerTally(VllmMetrics.tokenBounds(settings.contextTokens()));
        this.context = new RouteContext(server, clock, engine, faults, answers);
        this.requests = new VllmRequests(settings, server);
        this.routes = new Routes(vertx, clock, errors, false, false, new HttpTally())
                .get("/health", context::health)
                .get("/version", call -> call.json(200, new JsonObject().put("version", VllmInfo.version(settings))))
                .get("/v1/models", this::models)
                .get("/server_info", call -> call.json(200, new JsonObject().putNull("disaggregated_params")))
                .get("/metrics", call -> call.json(200, "[]"))
                .post("/kv_cache_events", call -> call.json(200, "[]"))
                .get("/prometheus/metrics", call -> call.text(200, METRICS_TYPE, page()))
                .post("/v1/completions", call -> answer(call, requests::completion, false))
                .post("/v1/chat/completions", call -> answer(call, requests::chat, true));
    }

    /** Returns the server's HTTP side. */
    public HttpFrontend routes() {
        return routes;
    }

    private void models(Call call) {
        JsonObject card = new JsonObject()
                .put("id", model)
                .put("object", "model")
                .put("created", (long) clock.unixSeconds())
                .put("owned_by", "tensorrt_llm");
        call.json(200, new JsonObject().put("object", "list").put("data", JsonArray.of(card)));
    }

    private void answer(Call call, Function<ValidatedBody, GenerationRequest> reader, boolean chat) {
        call.read(
                bytes -> {
                    ValidatedBody body = ValidatedBody.parse(bytes);
                    TensorRtErrors.refuseUnknown(body.names(), chat ? CHAT_FIELDS : COMPLETION_FIELDS, FIELDS);
                    return reader.apply(body);
                },
                ask -> {
                    context.refuseByFault(errors);
                    String id = (chat ? "chatcmpl-" : "cmpl-") + context.nextId(ID_DIGITS);
                    new Reply(
                                    context,
                                    call,
                                    ask,
                                    new TensorRtResponse(ask, chat, id, (long) clock.unixSeconds(), errors),
                                    errors)
                            .begin(Collections.nCopies(ask.prompts().size() * ask.each(), id));
                });
    }

    /** Sizes are there once a request was served, as on the real page, which shows what the last iteration told. */
    private String page() {
        List<VllmStats> ranks = engine.look(VllmEngine::stats);
        StringBuilder page = new StringBuilder(512);
        line(page, "kv_cache_config_info", 1, ",enable_block_reuse=\"True\"");
        long prompts = sum(ranks, VllmStats::promptTokens);
        if (prompts == 0) {
            return page.toString();
        }
        long blocks = sum(ranks, VllmStats::blocks);
        long free = sum(ranks, VllmStats::freeBlocks);
        count(page, "kv_cache_max_blocks", blocks);
        count(page, "kv_cache_free_blocks", free);
        count(page, "kv_cache_used_blocks", blocks - free);
        count(page, "kv_cache_tokens_per_block", settings.blockTokens());
        count(page, "num_requests_running", sum(ranks, VllmStats::running));
        count(page, "num_requests_waiting", sum(ranks, VllmStats::waiting));
        count(page, "prompt_tokens_total", prompts);
        count(page, "prompt_cached_tokens_total", sum(ranks, VllmStats::cachedTokens));
        count(page, "generation_tokens_total", sum(ranks, VllmStats::generatedTokens));
        Histogram ttft = ranks.getFirst().answered().ttft();
        line(page, "time_to_first_token_seconds_sum", ttft.sumSeconds(), "");
        count(page, "time_to_first_token_seconds_count", ttft.count());
        return page.toString();
    }

    private static long sum(List<VllmStats> ranks, ToLongFunction<VllmStats> number) {
        return ranks.stream().mapToLong(number).sum();
    }

    private static void count(StringBuilder page, String name, long number) {
        line(page, name, (double) number, "");
    }

    private static void line(StringBuilder page, String name, double value, String labels) {
        page.append("trtllm_")
                .append(name)
                .append("{model_name=\"undefined\",engine_type=\"undefined\"")
                .append(labels)
                .append("} ")
                .append(value)
                .append('\n');
    }
}
