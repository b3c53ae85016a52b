package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.Shapes;
import io.holdfast.emulator.api.Tokens;
import io.holdfast.rules.engine.HoldReport;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * vLLM's answer to OpenAI's two routes. A chat's stream begins with a chunk that has the role alone; the last chunk with
 * content says why it ended.
 *
 * @param chat whether it answers a conversation, and no completion
 * @param id of the request, which all its answers share
 * @param refusedHold what a request whose order to the connector was refused is told of that
 * @param engineId the name that this life of the server has for NIXL
 */
record VllmResponse(
        VllmSettings settings,
        GenerationRequest ask,
        boolean chat,
        String id,
        long created,
        Optional<JsonObject> refusedHold,
        String engineId)
        implements ResponseFormat {
    static final Shapes SHAPES = new Shapes(VllmResponse.class, "vllm_answers.json");

    /** Stops that may still come are held back, unless they are told anyway. */
    @Override
    public int heldBack() {
        return ask.stops().kept() ? 0 : Math.max(0, ask.stops().longest() - 1);
    }

    @Override
    public List<JsonObject> newEvents(Choice choice) {
        boolean first = choice.chunks() == 0;
        String text = choice.newText(heldBack());
        JsonObject said = shape(chat ? "chat.event" : "text.event", choice).put("token_ids", ids(choice.newTokens()));
        if (chat) {
            said.getJsonObject("delta").put("content", text);
            if (!choice.ended()) {
                said.remove("stop_reason");
            }
        } else {
            boolean echoes = first && options().echo();
            said.put("text", echoes ? choice.prompt().text().get() + text : text);
            if (echoes || (first && options().tokenIds())) {
                said.put("prompt_token_ids", Tokens.json(choice.prompt().tokens()));
            }
        }
        JsonObject event = event(said, choice, said(choice));
        if (choice.ended() && !options().usage()) {
            event.put("system_fingerprint", fingerprint());
        }
        return chat && first ? List.of(opening(choice), event) : List.of(event);
    }

    private JsonObject opening(Choice choice) {
        JsonObject said = SHAPES.of("chat.opening").put("index", choice.index());
        said.getJsonObject("delta").put("role", options().role());
        return event(said, choice, 0).put("prompt_token_ids", promptIds(choice)).putNull("prompt_text");
    }

    private JsonObject event(JsonObject said, Choice choice, int tokens) {
        JsonObject event = head().put("choices", JsonArray.of(said));
        if (options().continuousUsage()) {
            JsonObject counts = counts(choice.promptTokens(), tokens);
            event.put("usage", chat && !isOld() ? counts.putNull("completion_tokens_details") : counts);
        }
        return event;
    }

    @Override
    public List<JsonObject> closingEvents(List<Choice> choices) {
        if (!options().usage()) {
            return List.of();
        }
        JsonObject usage = counts(choices);
        JsonObject details = cached(choices, false);
        if (details != null) {
            usage.put("prompt_tokens_details", details);
        }
        return List.of(
                head().put("choices", new JsonArray()).put("usage", usage).put("system_fingerprint", fingerprint()));
    }

    @Override
    public String whole(List<Choice> choices) {
        JsonObject usage = counts(choices).put("prompt_tokens_details", cached(choices, true));
        JsonObject body = SHAPES.of(chat ? "chat.body" : "text.body")
                .put("id", id)
                .put("created", created)
                .put("model", options().model())
                .put("choices", new JsonArray(choices.stream().map(this::whole).toList()))
                .put("system_fingerprint", fingerprint())
                .put("usage", isOld() ? usage : usage.putNull("completion_tokens_details"));
        if (chat) {
            body.put("prompt_token_ids", promptIds(choices.getFirst()));
        }
        refusedHold
                .map(VllmResponse::ofHoldfast)
                .or(() -> choices.getFirst().holds().map(this::transfer))
                .ifPresent(told -> body.put("kv_transfer_params", told));
        if (isOld()) {
            body.remove("ec_transfer_params");
            body.remove("metrics");
        }
        return body.encode();
    }

    private JsonObject transfer(HoldReport report) {
        return report.result() instanceof HoldReport.Result.Leased leased
                ? NixlLeases.receipt(leased, id, engineId)
                : ofHoldfast(HoldOrders.answer(report, settings.blockTokens()));
    }

    private static JsonObject ofHoldfast(JsonObject told) {
        return new JsonObject().put(HoldOrders.FIELD, told);
    }

    private JsonObject whole(Choice choice) {
        JsonObject said = shape(chat ? "chat" : "text", choice).put("token_ids", ids(choice.tokens()));
        if (!chat) {
            String echo = options().echo() ? choice.prompt().text().get() : "";
            return said.put("text", echo + choice.text()).put("prompt_token_ids", promptIds(choice));
        }
        JsonObject message = said.getJsonObject("message");
        message.put("role", options().role()).put("content", choice.text());
        if (!isOld()) {
            message.remove("tool_calls");
        }
        return said;
    }

    @Override
    public JsonObject failure(String message) {
        return VllmErrors.inStream(message);
    }

    private GenerationRequest.ResponseOptions options() {
        return ask.options();
    }

    private boolean isOld() {
        return settings.release() == Release.V0_22;
    }

    private String fingerprint() {
        return "vllm-" + VllmInfo.version(settings) + "-8edc8d07";
    }

    private JsonObject head() {
        return new JsonObject()
                .put("id", id)
                .put("object", chat ? "chat.completion.chunk" : "text_completion")
                .put("created", created)
                .put("model", options().model());
    }

    /** Returns the shape of an answer with its place and why it ended. */
    private static JsonObject shape(String name, Choice choice) {
        Optional<Choice.End> end = choice.end();
        return SHAPES.of(name)
                .put("index", choice.index())
                .put("finish_reason", end.map(Choice.End::reason).orElse(null))
                .put("stop_reason", end.flatMap(Choice.End::stoppedBy).orElse(null));
    }

    private @Nullable JsonArray ids(List<Integer> tokens) {
        return options().tokenIds() ? new JsonArray(List.copyOf(tokens)) : null;
    }

    private @Nullable JsonArray promptIds(Choice choice) {
        return options().tokenIds() ? Tokens.json(choice.prompt().tokens()) : null;
    }

    private int said(Choice choice) {
        return choice.said() + (ask.prefillOnly() ? 1 : 0);
    }

    /** Usage of all answers: a prompt that was answered several times counts once. */
    private JsonObject counts(List<Choice> choices) {
        int prompts = choices.stream()
                .filter(this::isFirst)
                .mapToInt(Choice::promptTokens)
                .sum();
        return counts(prompts, choices.stream().mapToInt(this::said).sum());
    }

    private static JsonObject counts(int prompt, int said) {
        return new JsonObject()
                .put("prompt_tokens", prompt)
                .put("total_tokens", prompt + said)
                .put("completion_tokens", said);
    }

    private boolean isFirst(Choice choice) {
        return choice.index() % ask.each() == 0;
    }

    /** @param told whether fields without a value are told */
    private @Nullable JsonObject cached(List<Choice> choices, boolean told) {
        List<Choice> firsts = choices.stream().filter(this::isFirst).toList();
        int cached = firsts.stream().mapToInt(Choice::cached).sum();
        JsonObject details = new JsonObject().put("cached_tokens", cached);
        if (isOld()) {
            return cached == 0 ? null : details;
        }
        if (chat) {
            int block = settings.blockTokens();
            int whole = firsts.stream()
                    .mapToInt(choice -> choice.promptTokens() / block * block)
                    .sum();
            details.put("created_cache_tokens", Math.max(0, whole - cached));
        } else if (told) {
            details.putNull("created_cache_tokens");
        }
        return told ? details.putNull("multimodal_tokens") : details;
    }
}
