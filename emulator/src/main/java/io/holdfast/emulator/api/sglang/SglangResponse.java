package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.Shapes;
import io.holdfast.emulator.api.Tokens;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * SGLang's answer to OpenAI's two routes. A chat's stream is a chunk with the role, chunks with content, and one with
 * the reason of the end.
 *
 * @param chat whether it answers a conversation, and no completion
 */
record SglangResponse(GenerationRequest.ResponseOptions options, int each, boolean chat, long created)
        implements ResponseFormat {
    static final Shapes SHAPES = new Shapes(SglangResponse.class, "sglang_answers.json");

    @Override
    public List<JsonObject> newEvents(Choice choice) {
        boolean first = choice.chunks() == 0;
        String text = choice.newText(0);
        List<JsonObject> events = new ArrayList<>();
        if (!chat) {
            JsonObject said = ended("text", choice).put("text", first ? echo(choice) + text : text);
            tokenIds(said, choice, choice.newTokens(), first);
            events.add(event(said, choice).put("usage", options.continuousUsage() ? usageOf(choice) : null));
            return events;
        }
        if (first) {
            events.add(event(delta(choice, "role", options.role(), "content", ""), choice));
        }
        if (!text.isEmpty()) {
            JsonObject event = event(delta(choice, "content", text), choice);
            events.add(options.continuousUsage() ? event.put("usage", usageOf(choice)) : event);
        }
        if (choice.ended()) {
            events.add(event(ended("chat.event", choice), choice));
        }
        return events;
    }

    private static JsonObject delta(Choice choice, String... fields) {
        JsonObject said = SHAPES.of("chat.event").put("index", choice.index());
        for (int i = 0; i < fields.length; i += 2) {
            said.getJsonObject("delta").put(fields[i], fields[i + 1]);
        }
        return said;
    }

    private JsonObject event(JsonObject said, Choice choice) {
        return head(choice, ".chunk").put("choices", JsonArray.of(said));
    }

    @Override
    public List<JsonObject> closingEvents(List<Choice> choices) {
        if (!options.usage()) {
            return List.of();
        }
        JsonObject usage = usage(choices);
        if (!chat) {
            usage.remove("completion_tokens_details");
        }
        return List.of(head(choices.getFirst(), ".chunk")
                .put("choices", new JsonArray())
                .put("usage", usage));
    }

    @Override
    public String whole(List<Choice> choices) {
        Choice first = choices.getFirst();
        JsonObject metadata =
                new JsonObject().put("weight_version", "default").put("weight_versions", weightVersions(first));
        JsonObject body = head(first, "")
                .put("choices", new JsonArray(choices.stream().map(this::whole).toList()))
                .put("usage", usage(choices))
                .put("metadata", metadata);
        if (options.cacheDetails()) {
            body.put("sglext", new JsonObject().put("cached_tokens_details", cacheDetails(first)));
        }
        return body.encode();
    }

    private JsonObject whole(Choice choice) {
        JsonObject said = ended(chat ? "chat" : "text", choice);
        if (chat) {
            said.getJsonObject("message").put("role", options.role()).put("content", choice.text());
            if (options.tokenIds()) {
                said.put("prompt_token_ids", Tokens.json(choice.prompt().tokens()))
                        .put("response_token_ids", new JsonArray(List.copyOf(choice.tokens())));
            }
        } else {
            said.put("text", echo(choice) + choice.text());
            tokenIds(said, choice, choice.tokens(), true);
        }
        return said;
    }

    @Override
    public JsonObject failure(String message) {
        return new JsonObject().put("error", SglangErrors.error(500, "InternalServerError", message));
    }

    private String echo(Choice choice) {
        return options.echo() ? choice.prompt().text().get() : "";
    }

    private void tokenIds(JsonObject said, Choice choice, List<Integer> tokens, boolean first) {
        if (options.tokenIds()) {
            said.put("token_ids", new JsonArray(List.copyOf(tokens)));
            if (first) {
                said.put("prompt_token_ids", Tokens.json(choice.prompt().tokens()));
            }
        }
    }

    private JsonObject head(Choice choice, String part) {
        return new JsonObject()
                .put("id", choice.id())
                .put("object", chat ? "chat.completion" + part : "text_completion")
                .put("created", created)
                .put("model", options.model());
    }

    /** Returns the shape of an answer with its place and why it ended. */
    private static JsonObject ended(String name, Choice choice) {
        Optional<Choice.End> end = choice.end();
        return SHAPES.of(name)
                .put("index", choice.index())
                .put("finish_reason", end.map(Choice.End::reason).orElse(null))
                .put("matched_stop", end.flatMap(Choice.End::stoppedBy).orElse(null));
    }

    static JsonArray weightVersions(Choice choice) {
        return JsonArray.of(new JsonObject()
                .put("version", "default")
                .put("start", 0)
                .put("end", choice.tokens().size()));
    }

    static JsonObject cacheDetails(Choice choice) {
        return new JsonObject()
                .put("device", choice.cached() - choice.cachedOnHost())
                .put("host", choice.cachedOnHost());
    }

    /** Returns the usage of one answer so far. */
    private JsonObject usageOf(Choice choice) {
        JsonObject usage = usage(choice.promptTokens(), choice.said(), choice.cached());
        return chat ? usage : usage.putNull("prompt_tokens_details");
    }

    /** Returns the usage of all answers: a prompt that was answered several times counts once. */
    private JsonObject usage(List<Choice> choices) {
        List<Choice> firsts =
                choices.stream().filter(choice -> choice.index() % each == 0).toList();
        return usage(
                firsts.stream().mapToInt(Choice::promptTokens).sum(),
                choices.stream().mapToInt(Choice::said).sum(),
                firsts.stream().mapToInt(Choice::cached).sum());
    }

    private static JsonObject usage(int prompt, int said, int cached) {
        return SHAPES.of("usage")
                .put("prompt_tokens", prompt)
                .put("total_tokens", prompt + said)
                .put("completion_tokens", said)
                .put("prompt_tokens_details", new JsonObject().put("cached_tokens", cached));
    }
}
