package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ResponseFormat;
import io.holdfast.emulator.api.Tokens;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** vLLM's answers, each route's in its own words. */
final class VllmResponses {
    private VllmResponses() {}

    /**
     * Common parts of both routes' answers.
     *
     * @param id of the request, which all its answers share
     * @param prefillOnly whether one token was said that is not told
     */
    record Common(
            VllmSettings settings,
            GenerationRequest.ResponseOptions options,
            int each,
            boolean prefillOnly,
            String id,
            long created) {
        private boolean old() {
            return settings.release() == Release.V0_22;
        }

        private String fingerprint() {
            return "vllm-" + VllmInfo.version(settings) + "-8edc8d07";
        }

        private JsonObject head(String object) {
            return new JsonObject()
                    .put("id", id)
                    .put("object", object)
                    .put("created", created)
                    .put("model", options.model());
        }

        /** Stops that may still come are held back, unless they are told anyway. */
        private int heldBack(GenerationRequest.Stops stops) {
            return stops.kept() ? 0 : Math.max(0, stops.longest() - 1);
        }

        private int said(Choice choice) {
            return choice.said() + (prefillOnly ? 1 : 0);
        }

        private JsonObject counts(int prompt, int said) {
            return new JsonObject()
                    .put("prompt_tokens", prompt)
                    .put("total_tokens", prompt + said)
                    .put("completion_tokens", said);
        }

        /** Usage of all answers: a prompt that was answered several times counts once. */
        private JsonObject counts(List<Choice> choices) {
            int prompts = 0;
            int said = 0;
            for (Choice choice : choices) {
                prompts += choice.index() % each == 0 ? choice.promptTokens() : 0;
                said += said(choice);
            }
            return counts(prompts, said);
        }

        /** @param told whether fields without a value are told */
        private @Nullable JsonObject cached(List<Choice> choices, boolean chat, boolean told) {
            int cached = 0;
            int stored = 0;
            for (Choice choice : choices) {
                if (choice.index() % each == 0) {
                    cached += choice.cached();
                    int block = settings.blockTokens();
                    stored += choice.promptTokens() / block * block - choice.cached();
                }
            }
            if (old()) {
                return cached == 0 ? null : new JsonObject().put("cached_tokens", cached);
            }
            JsonObject details = new JsonObject().put("cached_tokens", cached);
            if (chat) {
                details.put("created_cache_tokens", Math.max(0, stored));
            } else if (told) {
                details.putNull("created_cache_tokens");
            }
            return told ? details.putNull("multimodal_tokens") : details;
        }

        private JsonObject usage(List<Choice> choices, boolean chat) {
            JsonObject usage = counts(choices).put("prompt_tokens_details", cached(choices, chat, true));
            return old() ? usage : usage.putNull("completion_tokens_details");
        }

        private List<JsonObject> closingEvents(String object, List<Choice> choices, boolean chat) {
            if (!options.usage()) {
                return List.of();
            }
            JsonObject usage = counts(choices);
            JsonObject details = cached(choices, chat, false);
            if (details != null) {
                usage.put("prompt_tokens_details", details);
            }
            return List.of(head(object)
                    .put("choices", new JsonArray())
                    .put("usage", usage)
                    .put("system_fingerprint", fingerprint()));
        }

        private JsonObject whole(String object, JsonArray choices, List<Choice> answers, boolean chat) {
            JsonObject body = head(object)
                    .put("choices", choices)
                    .putNull("service_tier")
                    .put("system_fingerprint", fingerprint())
                    .put("usage", usage(answers, chat));
            if (chat) {
                body.putNull("prompt_logprobs")
                        .put(
                                "prompt_token_ids",
                                options.tokenIds()
                                        ? Tokens.json(
                                                answers.getFirst().prompt().tokens())
                                        : null)
                        .putNull("prompt_text");
            }
            body.putNull("kv_transfer_params");
            return old() ? body : body.putNull("ec_transfer_params").putNull("metrics");
        }

        private @Nullable JsonArray tokenIds(List<Integer> tokens) {
            return options.tokenIds() ? new JsonArray(List.copyOf(tokens)) : null;
        }
    }

    /** OpenAI's completions. */
    record Completion(Common common, GenerationRequest.Stops stops) implements ResponseFormat {
        @Override
        public int heldBack() {
            return common.heldBack(stops);
        }

        @Override
        public List<JsonObject> newEvents(Choice choice) {
            boolean first = choice.chunks() == 0;
            boolean echoes = common.options.echo() && first;
            JsonObject said = new JsonObject()
                    .put("index", choice.index())
                    .put("text", (echoes ? choice.prompt().text().get() : "") + choice.newText(heldBack()))
                    .putNull("logprobs")
                    .put("finish_reason", reason(choice))
                    .put("stop_reason", matched(choice))
                    .put(
                            "prompt_token_ids",
                            echoes || (first && common.options.tokenIds())
                                    ? Tokens.json(choice.prompt().tokens())
                                    : null)
                    .put("token_ids", common.tokenIds(choice.newTokens()));
            JsonObject event = common.head("text_completion").put("choices", JsonArray.of(said));
            if (common.options.continuousUsage()) {
                event.put("usage", common.counts(choice.promptTokens(), common.said(choice)));
            }
            if (choice.ended() && !common.options.usage()) {
                event.put("system_fingerprint", common.fingerprint());
            }
            return List.of(event);
        }

        @Override
        public List<JsonObject> closingEvents(List<Choice> choices) {
            return common.closingEvents("text_completion", choices, false);
        }

        @Override
        public String whole(List<Choice> choices) {
            JsonArray all = new JsonArray();
            for (Choice choice : choices) {
                all.add(new JsonObject()
                        .put("index", choice.index())
                        .put(
                                "text",
                                (common.options.echo() ? choice.prompt().text().get() : "") + choice.text())
                        .putNull("logprobs")
                        .put("finish_reason", reason(choice))
                        .put("stop_reason", matched(choice))
                        .put("token_ids", common.tokenIds(choice.tokens()))
                        .putNull("prompt_logprobs")
                        .put(
                                "prompt_token_ids",
                                common.options.tokenIds()
                                        ? Tokens.json(choice.prompt().tokens())
                                        : null)
                        .putNull("routed_experts"));
            }
            return common.whole("text_completion", all, choices, false).encode();
        }

        @Override
        public JsonObject failure(String message) {
            return VllmErrors.inStream(message);
        }
    }

    /** OpenAI's chat: a chunk with the role, then chunks with content, of which the last says why it ended. */
    record Chat(Common common, GenerationRequest.Stops stops) implements ResponseFormat {
        private static final String CHUNK = "chat.completion.chunk";

        @Override
        public int heldBack() {
            return common.heldBack(stops);
        }

        @Override
        public List<JsonObject> newEvents(Choice choice) {
            List<JsonObject> events = new ArrayList<>();
            if (choice.chunks() == 0) {
                events.add(opening(choice));
            }
            JsonObject said = new JsonObject()
                    .put("index", choice.index())
                    .put("delta", new JsonObject().put("content", choice.newText(heldBack())))
                    .putNull("logprobs")
                    .put("finish_reason", reason(choice));
            if (choice.ended()) {
                said.put("stop_reason", matched(choice));
            }
            said.put("token_ids", common.tokenIds(choice.newTokens()));
            JsonObject event = common.head(CHUNK).put("choices", JsonArray.of(said));
            if (common.options.continuousUsage()) {
                event.put("usage", counts(choice.promptTokens(), common.said(choice)));
            }
            if (choice.ended() && !common.options.usage()) {
                event.put("system_fingerprint", common.fingerprint());
            }
            events.add(event);
            return events;
        }

        private JsonObject opening(Choice choice) {
            JsonObject said = new JsonObject()
                    .put("index", choice.index())
                    .put(
                            "delta",
                            new JsonObject().put("role", common.options.role()).put("content", ""))
                    .putNull("logprobs")
                    .putNull("finish_reason");
            JsonObject event = common.head(CHUNK).put("choices", JsonArray.of(said));
            if (common.options.continuousUsage()) {
                event.put("usage", counts(choice.promptTokens(), 0));
            }
            return event.put(
                            "prompt_token_ids",
                            common.options.tokenIds()
                                    ? Tokens.json(choice.prompt().tokens())
                                    : null)
                    .putNull("prompt_text");
        }

        private JsonObject counts(int prompt, int said) {
            JsonObject counts = common.counts(prompt, said);
            return common.old() ? counts : counts.putNull("completion_tokens_details");
        }

        @Override
        public List<JsonObject> closingEvents(List<Choice> choices) {
            return common.closingEvents(CHUNK, choices, true);
        }

        @Override
        public String whole(List<Choice> choices) {
            JsonArray all = new JsonArray();
            for (Choice choice : choices) {
                JsonObject message = new JsonObject()
                        .put("role", common.options.role())
                        .put("content", choice.text())
                        .putNull("refusal")
                        .putNull("annotations")
                        .putNull("audio")
                        .putNull("function_call");
                if (common.old()) {
                    message.put("tool_calls", new JsonArray());
                }
                all.add(new JsonObject()
                        .put("index", choice.index())
                        .put("message", message.putNull("reasoning"))
                        .putNull("logprobs")
                        .put("finish_reason", reason(choice))
                        .put("stop_reason", matched(choice))
                        .put("token_ids", common.tokenIds(choice.tokens()))
                        .putNull("routed_experts"));
            }
            return common.whole("chat.completion", all, choices, true).encode();
        }

        @Override
        public JsonObject failure(String message) {
            return VllmErrors.inStream(message);
        }
    }

    private static @Nullable String reason(Choice choice) {
        return choice.end()
                .map(end -> switch (end) {
                    case Choice.End.Length _ -> "length";
                    case Choice.End.Stopped _ -> "stop";
                    case Choice.End.Aborted _ -> "abort";
                })
                .orElse(null);
    }

    private static @Nullable Object matched(Choice choice) {
        Optional<Choice.End> end = choice.end();
        return end.isPresent() && end.get() instanceof Choice.End.Stopped(Object what) ? what : null;
    }
}
