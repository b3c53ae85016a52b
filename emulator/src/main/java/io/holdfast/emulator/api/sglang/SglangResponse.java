package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.Tokens;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** SGLang's answers, each route's in its own words. */
public final class SglangResponses {
    private SglangResponses() {}

    /** OpenAI's completions. */
    public record Completion(GenerationRequest.ResponseOptions options, int each, long created)
            implements ResponseFormat {
        @Override
        public List<JsonObject> newEvents(Choice choice) {
            String echoed = options.echo() && choice.chunks() == 0
                    ? choice.prompt().text().get()
                    : "";
            JsonObject said = choice(choice, echoed + choice.newText(0));
            tokenIds(said, choice, choice.newTokens(), choice.chunks() == 0);
            return List.of(head(choice.id(), "text_completion")
                    .put("choices", JsonArray.of(said))
                    .put("usage", options.continuousUsage() ? usageOf(choice, false) : null));
        }

        @Override
        public List<JsonObject> closingEvents(List<Choice> choices) {
            if (!options.usage()) {
                return List.of();
            }
            JsonObject usage = usage(choices, each);
            usage.remove("completion_tokens_details");
            return List.of(head(choices.getFirst().id(), "text_completion")
                    .put("choices", new JsonArray())
                    .put("usage", usage));
        }

        @Override
        public String whole(List<Choice> choices) {
            JsonArray all = new JsonArray();
            for (Choice choice : choices) {
                JsonObject said =
                        choice(choice, (options.echo() ? choice.prompt().text().get() : "") + choice.text());
                tokenIds(said, choice, choice.tokens(), true);
                all.add(said);
            }
            JsonObject body = head(choices.getFirst().id(), "text_completion")
                    .put("choices", all)
                    .put("usage", usage(choices, each))
                    .put("metadata", metadata(choices.getFirst()));
            return details(body, options, choices).encode();
        }

        @Override
        public JsonObject failure(String message) {
            return SglangResponses.failure(message);
        }

        private JsonObject head(String id, String object) {
            return SglangResponses.head(id, object, created, options.model());
        }

        private static JsonObject choice(Choice choice, String text) {
            return ended(
                    new JsonObject()
                            .put("index", choice.index())
                            .put("text", text)
                            .putNull("logprobs"),
                    choice);
        }

        private void tokenIds(JsonObject said, Choice choice, List<Integer> tokens, boolean first) {
            if (options.tokenIds()) {
                said.put("token_ids", new JsonArray(List.copyOf(tokens)));
                if (first) {
                    said.put("prompt_token_ids", Tokens.json(choice.prompt().tokens()));
                }
            }
        }
    }

    /** OpenAI's chat: a chunk with the role, chunks with content, one with the reason of the end. */
    public record Chat(GenerationRequest.ResponseOptions options, int each, long created) implements ResponseFormat {
        private static final String CHUNK = "chat.completion.chunk";

        @Override
        public List<JsonObject> newEvents(Choice choice) {
            List<JsonObject> events = new ArrayList<>();
            if (choice.chunks() == 0) {
                events.add(chunk(choice, delta().put("role", options.role()).put("content", ""), false));
            }
            String text = choice.newText(0);
            if (!text.isEmpty()) {
                JsonObject said = chunk(choice, delta().put("content", text), false);
                events.add(options.continuousUsage() ? said.put("usage", usageOf(choice, true)) : said);
            }
            if (choice.ended()) {
                events.add(chunk(choice, delta(), true));
            }
            return events;
        }

        @Override
        public List<JsonObject> closingEvents(List<Choice> choices) {
            return options.usage()
                    ? List.of(head(choices.getFirst().id(), CHUNK)
                            .put("choices", new JsonArray())
                            .put("usage", usage(choices, each)))
                    : List.of();
        }

        @Override
        public String whole(List<Choice> choices) {
            JsonArray all = new JsonArray();
            for (Choice choice : choices) {
                JsonObject said = ended(
                        new JsonObject()
                                .put("index", choice.index())
                                .put(
                                        "message",
                                        new JsonObject()
                                                .put("role", options.role())
                                                .put("content", choice.text())
                                                .putNull("reasoning_content"))
                                .putNull("logprobs"),
                        choice);
                if (options.tokenIds()) {
                    said.put("prompt_token_ids", Tokens.json(choice.prompt().tokens()))
                            .put("response_token_ids", new JsonArray(List.copyOf(choice.tokens())));
                }
                all.add(said);
            }
            JsonObject body = head(choices.getFirst().id(), "chat.completion")
                    .put("choices", all)
                    .put("usage", usage(choices, each))
                    .put("metadata", metadata(choices.getFirst()));
            return details(body, options, choices).encode();
        }

        @Override
        public JsonObject failure(String message) {
            return SglangResponses.failure(message);
        }

        private JsonObject head(String id, String object) {
            return SglangResponses.head(id, object, created, options.model());
        }

        private static JsonObject delta() {
            return new JsonObject().putNull("reasoning_content");
        }

        private JsonObject chunk(Choice choice, JsonObject delta, boolean last) {
            JsonObject said = new JsonObject()
                    .put("index", choice.index())
                    .put("delta", delta)
                    .putNull("logprobs");
            return head(choice.id(), CHUNK)
                    .put(
                            "choices",
                            JsonArray.of(
                                    last
                                            ? ended(said, choice)
                                            : said.putNull("finish_reason").putNull("matched_stop")));
        }
    }

    private static JsonObject head(String id, String object, long created, String model) {
        return new JsonObject()
                .put("id", id)
                .put("object", object)
                .put("created", created)
                .put("model", model);
    }

    private static JsonObject ended(JsonObject said, Choice choice) {
        Optional<Choice.End> end = choice.end();
        String reason = end.map(why -> switch (why) {
                    case Choice.End.Length _ -> "length";
                    case Choice.End.Stopped _ -> "stop";
                    case Choice.End.Aborted _ -> "abort";
                })
                .orElse(null);
        Object matched = end.orElse(new Choice.End.Length()) instanceof Choice.End.Stopped(Object what) ? what : null;
        return said.put("finish_reason", reason).put("matched_stop", matched);
    }

    private static JsonObject metadata(Choice choice) {
        return new JsonObject()
                .put("weight_version", "default")
                .put("weight_versions", weightVersions(choice.tokens().size()));
    }

    static JsonArray weightVersions(int end) {
        return JsonArray.of(
                new JsonObject().put("version", "default").put("start", 0).put("end", end));
    }

    private static JsonObject details(
            JsonObject body, GenerationRequest.ResponseOptions options, List<Choice> choices) {
        return options.cacheDetails()
                ? body.put("sglext", new JsonObject().put("cached_tokens_details", cacheDetails(choices.getFirst())))
                : body;
    }

    static JsonObject cacheDetails(Choice choice) {
        return new JsonObject()
                .put("device", choice.cached() - choice.cachedOnHost())
                .put("host", choice.cachedOnHost());
    }

    /** Usage of one answer so far. */
    private static JsonObject usageOf(Choice choice, boolean cached) {
        return usage(choice.promptTokens(), choice.said(), cached ? Optional.of(choice.cached()) : Optional.empty());
    }

    /** Usage of all answers: a prompt that was answered several times counts once. */
    private static JsonObject usage(List<Choice> choices, int each) {
        int prompts = 0;
        int cached = 0;
        int said = 0;
        for (Choice choice : choices) {
            if (choice.index() % each == 0) {
                prompts += choice.promptTokens();
                cached += choice.cached();
            }
            said += choice.said();
        }
        return usage(prompts, said, Optional.of(cached));
    }

    private static JsonObject usage(int prompt, int said, Optional<Integer> cached) {
        return new JsonObject()
                .put("prompt_tokens", prompt)
                .put("total_tokens", prompt + said)
                .put("completion_tokens", said)
                .put(
                        "prompt_tokens_details",
                        cached.map(tokens -> new JsonObject().put("cached_tokens", tokens))
                                .orElse(null))
                .put("reasoning_tokens", 0)
                .putNull("completion_tokens_details");
    }

    private static JsonObject failure(String message) {
        return new JsonObject().put("error", SglangErrors.error(500, "InternalServerError", message));
    }
}
