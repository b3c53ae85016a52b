package io.holdfast.emulator.api;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How a route words its answers: whole, or as the events of a stream. */
sealed interface AnswerShape {
    /** The events for the tokens since {@code told}; at the end of the answer what closes it as well. */
    List<JsonObject> chunks(Answer answer, int told);

    JsonObject whole(Answer answer);

    /** SGLang's own form: each event repeats the answer from its beginning. */
    record Generate() implements AnswerShape {
        @Override
        public List<JsonObject> chunks(Answer answer, int told) {
            return List.of(whole(answer));
        }

        @Override
        public JsonObject whole(Answer answer) {
            JsonObject finish = answer.done()
                    ? new JsonObject()
                            .put("type", "length")
                            .put("length", answer.tokens().size())
                    : null;
            return new JsonObject()
                    .put("text", answer.textFrom(0))
                    .put("output_ids", new JsonArray(List.copyOf(answer.tokens())))
                    .put(
                            "meta_info",
                            new JsonObject()
                                    .put("id", answer.id)
                                    .put("finish_reason", finish)
                                    .put("prompt_tokens", answer.promptTokens)
                                    .put("weight_version", "default")
                                    .put("completion_tokens", answer.tokens().size())
                                    .put("cached_tokens", answer.cachedTokens())
                                    .putNull("dp_rank"));
        }
    }

    /** OpenAI's completions. */
    record Completion(boolean includeUsage) implements AnswerShape {
        @Override
        public List<JsonObject> chunks(Answer answer, int told) {
            List<JsonObject> chunks = new ArrayList<>();
            chunks.add(head(answer, "text_completion", choice(answer, answer.textFrom(told)))
                    .putNull("usage"));
            if (answer.done() && includeUsage) {
                chunks.add(head(answer, "text_completion", null).put("usage", usage(answer)));
            }
            return chunks;
        }

        @Override
        public JsonObject whole(Answer answer) {
            return head(answer, "text_completion", choice(answer, answer.textFrom(0)))
                    .put("usage", usage(answer));
        }

        private static JsonObject choice(Answer answer, String text) {
            return new JsonObject()
                    .put("index", 0)
                    .put("text", text)
                    .putNull("logprobs")
                    .put("finish_reason", answer.done() ? "length" : null)
                    .putNull("matched_stop");
        }
    }

    /** OpenAI's chat: a chunk with the role, chunks with content, one with the reason of the end. */
    record Chat(boolean includeUsage) implements AnswerShape {
        private static final String CHUNK = "chat.completion.chunk";

        @Override
        public List<JsonObject> chunks(Answer answer, int told) {
            List<JsonObject> chunks = new ArrayList<>();
            if (told == 0) {
                chunks.add(chunk(answer, delta("assistant", ""), null));
            }
            chunks.add(chunk(answer, delta(null, answer.textFrom(told)), null));
            if (answer.done()) {
                chunks.add(chunk(answer, delta(null, null), "length"));
                if (includeUsage) {
                    chunks.add(head(answer, CHUNK, null).put("usage", usage(answer)));
                }
            }
            return chunks;
        }

        @Override
        public JsonObject whole(Answer answer) {
            JsonObject choice = new JsonObject()
                    .put("index", 0)
                    .put("message", delta("assistant", answer.textFrom(0)))
                    .putNull("logprobs")
                    .put("finish_reason", "length")
                    .putNull("matched_stop");
            return head(answer, "chat.completion", choice).put("usage", usage(answer));
        }

        private static JsonObject delta(@Nullable String role, @Nullable String content) {
            return new JsonObject()
                    .put("role", role)
                    .put("content", content)
                    .putNull("reasoning_content")
                    .putNull("tool_calls");
        }

        private static JsonObject chunk(Answer answer, JsonObject delta, @Nullable String finish) {
            JsonObject choice = new JsonObject()
                    .put("index", 0)
                    .put("delta", delta)
                    .putNull("logprobs")
                    .put("finish_reason", finish)
                    .putNull("matched_stop");
            return head(answer, CHUNK, choice).putNull("usage");
        }
    }

    private static JsonObject head(Answer answer, String object, @Nullable JsonObject choice) {
        return new JsonObject()
                .put("id", answer.id)
                .put("object", object)
                .put("created", answer.created)
                .put("model", Tokenizer.NAME)
                .put("choices", choice == null ? new JsonArray() : JsonArray.of(choice));
    }

    /** The details are null when nothing was cached: that is how the engine says 0. */
    private static JsonObject usage(Answer answer) {
        int said = answer.tokens().size();
        JsonObject details =
                answer.cachedTokens() == 0 ? null : new JsonObject().put("cached_tokens", answer.cachedTokens());
        return new JsonObject()
                .put("prompt_tokens", answer.promptTokens)
                .put("total_tokens", answer.promptTokens + said)
                .put("completion_tokens", said)
                .put("prompt_tokens_details", details)
                .put("reasoning_tokens", 0);
    }
}
