package io.holdfast.emulator.api;

import java.util.List;
import java.util.Optional;

/** What vLLM's request bodies may hold, field by field in the order in which the release looks at them. */
final class VllmBodies {
    private static final int MOST_STOPS = 4;

    private static final Rule TEXT = Rule.text();
    private static final Rule INT = Rule.integer();
    private static final Rule FLOAT = Rule.number();
    private static final Rule BOOL = Rule.bool();
    private static final Rule TOKENS = Rule.list(Rule.natural());
    private static final Rule STOP = Rule.oneOf(TEXT, Rule.list(TEXT).atMost(MOST_STOPS));
    private static final Rule STREAM_OPTIONS =
            new Fields("StreamOptions").nullable("include_usage", BOOL).nullable("continuous_usage_stats", BOOL);
    /** Labels in brackets are the validator's own: they are not told. */
    private static final Rule FORMAT = Rule.oneOf(
            new Fields("[ResponseFormat]").required("type", Rule.literal("text", "json_object", "json_schema")),
            new Fields("[StructuralTagResponseFormat]")
                    .required("type", Rule.literal("structural_tag"))
                    .required("format", Rule.any()),
            new Fields("[LegacyStructuralTagResponseFormat]")
                    .required("type", Rule.literal("structural_tag"))
                    .required("structures", Rule.any())
                    .required("triggers", Rule.any()));

    static final Fields COMPLETION = ends(new Fields("CompletionRequest")
            .nullable("model", TEXT)
            .nullable("prompt", Rule.oneOf(TOKENS, Rule.list(TOKENS), TEXT, Rule.list(TEXT)))
            .nullable("echo", BOOL)
            .nullable("frequency_penalty", FLOAT)
            .nullable("logit_bias", Rule.dictionary())
            .nullable("logprobs", INT)
            .nullable("max_tokens", INT)
            .optional("n", INT)
            .nullable("presence_penalty", FLOAT)
            .nullable("seed", Rule.seed())
            .nullable("stop", STOP)
            .nullable("stream", BOOL)
            .nullable("stream_options", STREAM_OPTIONS)
            .nullable("suffix", TEXT)
            .nullable("temperature", FLOAT)
            .nullable("top_p", FLOAT)
            .nullable("user", TEXT));

    static final Fields CHAT = ends(new Fields("ChatCompletionRequest")
            .required("messages", Rule.list(message()))
            .nullable("model", TEXT)
            .nullable("frequency_penalty", FLOAT)
            .nullable("logit_bias", Rule.dictionary())
            .nullable("logprobs", BOOL)
            .nullable("max_tokens", INT)
            .nullable("max_completion_tokens", INT)
            .nullable("n", INT)
            .nullable("presence_penalty", FLOAT)
            .nullable("seed", Rule.seed())
            .nullable("stop", STOP)
            .nullable("stream", BOOL)
            .nullable("stream_options", STREAM_OPTIONS)
            .nullable("temperature", FLOAT)
            .nullable("top_p", FLOAT)
            .nullable("user", TEXT)
            .optional("echo", BOOL)
            .optional("add_generation_prompt", BOOL)
            .optional("continue_final_message", BOOL));

    static final Rule TOKENIZE = Rule.oneOf(
            new Fields("TokenizeCompletionRequest")
                    .nullable("model", TEXT)
                    .required("prompt", TEXT)
                    .optional("add_special_tokens", BOOL)
                    .nullable("return_token_strs", BOOL)
                    .named("dict"),
            new Fields("TokenizeChatRequest")
                    .nullable("model", TEXT)
                    .required("messages", Rule.list(message()))
                    .nullable("return_token_strs", BOOL)
                    .named("dict"));

    static final Fields DETOKENIZE =
            new Fields("DetokenizeRequest").nullable("model", TEXT).required("tokens", TOKENS);

    private VllmBodies() {}

    private static Fields ends(Fields fields) {
        return fields.nullable("top_k", INT)
                .nullable("min_p", FLOAT)
                .nullable("repetition_penalty", FLOAT)
                .nullable("stop_token_ids", Rule.list(INT))
                .optional("include_stop_str_in_output", BOOL)
                .optional("ignore_eos", BOOL)
                .optional("min_tokens", INT)
                .nullable("truncate_prompt_tokens", INT)
                .optional("add_special_tokens", BOOL)
                .nullable("response_format", FORMAT)
                .optional("priority", Rule.seed())
                .optional("request_id", TEXT)
                .nullable("session_id", TEXT)
                .nullable("return_token_ids", BOOL)
                .nullable("cache_salt", TEXT)
                .nullable("vllm_xargs", Rule.dictionary());
    }

    /**
     * A message: of any role that is a text, with a content that is a text or a list. The release knows nine kinds of messages
     * and complains about each of them; the ones told here are those that come first.
     */
    private static Rule message() {
        Rule role = TEXT;
        Rule any = new Fields("CustomChatCompletionMessageParam")
                .required("role", role)
                .optional("content", (value, place, complaints) -> Optional.of(value));
        return (value, place, complaints) -> {
            List<Complaint> own = new java.util.ArrayList<>();
            Optional<Json> read = any.read(value, place, own);
            boolean content = value instanceof Json.Obj object && hasContent(object);
            if (read.isPresent() && content) {
                return read;
            }
            VllmMessages.complain(value, place, complaints);
            return Optional.empty();
        };
    }

    private static boolean hasContent(Json.Obj message) {
        boolean says = message.get("tool_calls").isPresent();
        return message.get("content")
                .map(content -> content instanceof Json.Str
                        || content instanceof Json.Arr
                        || (content == Json.Null.NULL && says))
                .orElse(true);
    }
}
