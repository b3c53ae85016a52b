package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.ErrorFormat;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ResponseFormat;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;

/**
 * TensorRT-LLM's answer to OpenAI's two routes, in the fields of its own models that clients read. Cached tokens are told
 * always.
 *
 * @param chat whether it answers a conversation, and no completion
 */
record TensorRtResponse(GenerationRequest ask, boolean chat, String id, long created, ErrorFormat errors)
        implements ResponseFormat {
    @Override
    public int heldBack() {
        return ask.stops().kept() ? 0 : Math.max(0, ask.stops().longest() - 1);
    }

    @Override
    public List<JsonObject> newEvents(Choice choice) {
        boolean first = choice.chunks() == 0;
        String text = choice.newText(heldBack());
        JsonObject said = place(choice);
        if (chat) {
            JsonObject delta = new JsonObject().put("content", text);
            said.put("delta", first ? delta.put("role", ask.options().role()) : delta);
        } else {
            said.put("text", text);
        }
        return List.of(head("chat.completion.chunk").put("choices", JsonArray.of(said)));
    }

    @Override
    public List<JsonObject> closingEvents(List<Choice> choices) {
        return ask.options().usage()
                ? List.of(head("chat.completion.chunk")
                        .put("choices", new JsonArray())
                        .put("usage", usage(choices)))
                : List.of();
    }

    @Override
    public String whole(List<Choice> choices) {
        JsonArray said = new JsonArray();
        for (Choice choice : choices) {
            JsonObject one = place(choice);
            said.add(
                    chat
                            ? one.put(
                                    "message",
                                    new JsonObject()
                                            .put("role", ask.options().role())
                                            .put("content", choice.text()))
                            : one.put("text", choice.text()));
        }
        return head("chat.completion")
                .put("choices", said)
                .put("usage", usage(choices))
                .encode();
    }

    @Override
    public JsonObject failure(String message) {
        return errors.refusal(500, message);
    }

    private JsonObject head(String chatObject) {
        return new JsonObject()
                .put("id", id)
                .put("object", chat ? chatObject : "text_completion")
                .put("created", created)
                .put("model", ask.options().model());
    }

    private static JsonObject place(Choice choice) {
        return new JsonObject()
                .put("index", choice.index())
                .putNull("logprobs")
                .put("finish_reason", choice.end().map(Choice.End::reason).orElse(null))
                .put("stop_reason", choice.end().flatMap(Choice.End::stoppedBy).orElse(null));
    }

    private JsonObject usage(List<Choice> choices) {
        List<Choice> firsts = choices.stream()
                .filter(choice -> choice.index() % ask.each() == 0)
                .toList();
        int prompts = firsts.stream().mapToInt(Choice::promptTokens).sum();
        int said = choices.stream().mapToInt(Choice::said).sum();
        return new JsonObject()
                .put("prompt_tokens", prompts)
                .put("total_tokens", prompts + said)
                .put("completion_tokens", said)
                .put(
                        "prompt_tokens_details",
                        new JsonObject()
                                .put(
                                        "cached_tokens",
                                        firsts.stream().mapToInt(Choice::cached).sum()));
    }
}
