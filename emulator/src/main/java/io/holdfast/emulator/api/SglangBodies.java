package io.holdfast.emulator.api;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** What SGLang's request bodies may hold, field by field in the order in which the release looks at them. */
final class SglangBodies {
    private static final Rule TEXT = Rule.text();
    private static final Rule INT = Rule.integer();
    private static final Rule FLOAT = Rule.number();
    private static final Rule BOOL = Rule.bool();
    private static final Rule LIST_OR_TEXT = Rule.oneOf(Rule.list(TEXT), TEXT);
    private static final Rule TEXT_OR_LIST = Rule.oneOf(TEXT, Rule.list(TEXT));
    private static final Set<String> ROLES =
            Set.of("system", "assistant", "tool", "function", "developer", "latest_reminder", "root");

    private static final Rule STREAM_OPTIONS =
            new Fields("StreamOptions").nullable("include_usage", BOOL).nullable("continuous_usage_stats", BOOL);

    private static final Rule FORMAT = Rule.oneOf(
            new Fields("ResponseFormat").required("type", Rule.literal("text", "json_object", "json_schema")),
            new Fields("LegacyStructuralTagResponseFormat")
                    .required("type", Rule.literal("structural_tag"))
                    .required("structures", Rule.any())
                    .required("triggers", Rule.any()),
            new Fields("StructuralTag")
                    .required("type", Rule.literal("structural_tag"))
                    .required("format", Rule.any()));

    static final Fields COMPLETION = ends(sampling(new Fields("CompletionRequest")
            .optional("model", TEXT)
            .required("prompt", Rule.oneOf(Rule.list(INT), Rule.list(Rule.list(INT)), TEXT, Rule.list(TEXT)))
            .nullable("best_of", INT)
            .optional("echo", BOOL)
            .optional("frequency_penalty", FLOAT)
            .nullable("logit_bias", Rule.dictionary())
            .nullable("logprobs", INT)
            .optional("max_tokens", INT.and(SglangBodies::positive))
            .optional("n", INT)
            .optional("presence_penalty", FLOAT)
            .nullable("seed", INT)
            .nullable("stop", LIST_OR_TEXT)
            .optional("stream", BOOL)
            .nullable("stream_options", STREAM_OPTIONS)
            .nullable("suffix", TEXT)
            .optional("temperature", FLOAT)
            .optional("top_p", FLOAT)
            .nullable("user", TEXT)
            .optional("return_cached_tokens_details", BOOL)
            .optional("return_token_ids", BOOL)
            .optional("top_k", INT)
            .optional("min_p", FLOAT)
            .optional("min_tokens", INT)
            .optional("repetition_penalty", FLOAT)
            .nullable("response_format", FORMAT)));

    static final Fields CHAT = ends(sampling(new Fields("ChatCompletionRequest")
            .required("messages", Rule.list(message()))
            .optional("model", TEXT)
            .optional("frequency_penalty", FLOAT)
            .nullable("logit_bias", Rule.dictionary())
            .optional("logprobs", BOOL)
            .nullable("top_logprobs", INT)
            .nullable("max_tokens", INT)
            .nullable("max_completion_tokens", INT)
            .optional("n", INT)
            .optional("presence_penalty", FLOAT)
            .nullable("response_format", FORMAT)
            .nullable("seed", INT)
            .nullable("stop", LIST_OR_TEXT)
            .optional("stream", BOOL)
            .nullable("stream_options", STREAM_OPTIONS)
            .nullable("temperature", FLOAT)
            .nullable("top_p", FLOAT)
            .nullable("user", TEXT)
            .optional("return_cached_tokens_details", BOOL)
            .optional("return_token_ids", BOOL)
            .nullable("top_k", INT)
            .nullable("min_p", FLOAT)
            .optional("min_tokens", INT)
            .nullable("repetition_penalty", FLOAT)
            .optional("continue_final_message", BOOL)));

    static final Fields GENERATE = new Fields("GenerateReqInput")
            .nullable("rid", TEXT_OR_LIST)
            .nullable("session_id", TEXT)
            .nullable("text", Rule.oneOf(TEXT, Rule.list(TEXT)))
            .nullable("input_ids", SglangBodies::inputIds)
            .nullable(
                    "sampling_params",
                    Rule.oneOf(
                            Rule.list(Rule.dictionary().named("dict[str,any]")),
                            Rule.dictionary().named("dict[str,any]")))
            .optional("stream", BOOL)
            .nullable("priority", INT)
            .nullable("extra_key", LIST_OR_TEXT)
            .nullable("cache_salt", TEXT_OR_LIST);

    static final Fields TOKENIZE = new Fields("TokenizeRequest")
            .optional("model", TEXT)
            .nullable("prompt", LIST_OR_TEXT)
            .nullable("messages", Rule.list(message()))
            .optional("add_special_tokens", BOOL);

    static final Fields DETOKENIZE = new Fields("DetokenizeRequest")
            .optional("model", TEXT)
            .required("tokens", Rule.oneOf(Rule.list(INT), Rule.list(Rule.list(INT))))
            .optional("skip_special_tokens", BOOL);

    static final Rule CLOSE_SESSION = struct("CloseSessionReqInput", fields -> fields.required("session_id", TEXT));

    static final Rule OPEN_SESSION = struct(
            "OpenSessionReqInput",
            fields -> fields.required("capacity_of_str_len", INT)
                    .nullable("session_id", TEXT)
                    .nullable("streaming", BOOL)
                    .nullable("timeout", FLOAT));

    static final Rule ABORT =
            struct("AbortReq", fields -> fields.optional("rid", TEXT.orNull()).optional("abort_all", BOOL));

    private SglangBodies() {}

    private static Fields sampling(Fields fields) {
        return fields.nullable("stop_token_ids", Rule.list(INT))
                .optional("no_stop_trim", BOOL)
                .optional("ignore_eos", BOOL);
    }

    private static Fields ends(Fields fields) {
        return fields.nullable("session_id", TEXT)
                .nullable("rid", LIST_OR_TEXT)
                .nullable("extra_key", LIST_OR_TEXT)
                .nullable("cache_salt", LIST_OR_TEXT)
                .nullable("priority", INT);
    }

    private static Optional<String> positive(Json value) {
        return value instanceof Json.Int(long whole) && whole <= 0
                ? Optional.of("max_tokens must be positive")
                : Optional.empty();
    }

    /** Looked at by a validator of the engine's own, for speed. */
    private static Optional<Json> inputIds(Json value, List<Object> place, List<Complaint> complaints) {
        Optional<String> problem = problemOf(value);
        problem.ifPresent(message -> complaints.add(Complaint.value(place, message, value)));
        return problem.isPresent() ? Optional.empty() : Optional.of(value);
    }

    private static Optional<String> problemOf(Json value) {
        if (!(value instanceof Json.Arr(List<Json> items))) {
            return Optional.of("must be list or null; got " + value.typeName());
        }
        if (items instanceof Json.Ints || items.isEmpty()) {
            return Optional.empty();
        }
        Json first = items.getFirst();
        if (first instanceof Json.Arr) {
            return items.stream()
                    .filter(item -> !(item instanceof Json.Arr))
                    .findFirst()
                    .map(item -> "elements must be int or list; got " + item.typeName());
        }
        if (!(first instanceof Json.Int) && !(first instanceof Json.Big) && !(first instanceof Json.Bool)) {
            return Optional.of("elements must be int or list; got " + first.typeName());
        }
        return items.stream()
                .filter(item -> !(item instanceof Json.Int) && !(item instanceof Json.Bool))
                .findFirst()
                .map(item -> "contains non-int64 element: "
                        + (item instanceof Json.Big
                                ? "int too big to convert"
                                : "'" + item.typeName() + "' object cannot be interpreted as an integer"));
    }

    /** A message, which must be one of two kinds: a user's, or another's. */
    private static Rule message() {
        String generic = "function-after[validate_thinking_parts_role(), ChatCompletionMessageGenericParam]";
        String user = "function-after[validate_thinking_parts_role(), ChatCompletionMessageUserParam]";
        Rule role = (value, place, complaints) -> {
            if (value instanceof Json.Str(String text) && ROLES.contains(text.toLowerCase(Locale.ROOT))) {
                return Optional.of(value);
            }
            complaints.add(
                    value instanceof Json.Str
                            ? Complaint.value(
                                    place,
                                    "'role' must be one of 'system', 'assistant', 'tool', 'function', 'developer',"
                                            + " 'latest_reminder', 'root' (case-insensitive).",
                                    value)
                            : Complaint.value(place, "'role' must be a string", value));
            return Optional.empty();
        };
        return Rule.oneOf(
                new Fields(generic).required("role", role).nullable("content", content()),
                new Fields(user).required("role", Rule.literal("user")).required("content", content()));
    }

    /** A text, or a list of parts of which each has a type. */
    private static Rule content() {
        Rule part = new Fields("ChatCompletionMessageContentTextPart")
                .required("type", Rule.literal("text"))
                .required("text", TEXT);
        Rule other = new Fields("ChatCompletionMessageContentImagePart")
                .required("type", Rule.literal("image_url"))
                .required("image_url", Rule.any());
        String kinds = "list[union[ChatCompletionMessageContentTextPart,function-after[validate_payload(),"
                + " ChatCompletionMessageContentThinkingPart],ChatCompletionMessageContentImagePart,"
                + "ChatCompletionMessageContentVideoPart,function-after[_to_audio_url_part(),"
                + " union[ChatCompletionMessageContentAudioURLPart,ChatCompletionMessageContentAudioInlinePart]],"
                + "ChatCompletionMessageContentToolReferenceBlock]]";
        return Rule.oneOf(TEXT, Rule.list(Rule.oneOf(part, other)).named(kinds));
    }

    /** A body that is taken as an object of the engine's own or made into one. */
    private static Rule struct(String name, java.util.function.UnaryOperator<Fields> fields) {
        Rule made = fields.apply(new Fields("function-after[build_struct(), " + name + "]"));
        Rule instance = (value, place, complaints) -> {
            complaints.add(new Complaint(
                    "is_instance_of",
                    place,
                    "Input should be an instance of " + name,
                    value,
                    Optional.of("{'class': '" + name + "'}")));
            return Optional.empty();
        };
        return Rule.oneOf(instance.named("is-instance[" + name + "]"), made);
    }
}
