package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Terms;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Makes what a client asks vLLM for out of its body, and refuses what the engine refuses, in the engine's order. */
final class VllmAsks {
    private static final int COMPLETION_DEFAULT = 16;
    private static final int MOST_LOGPROBS = 20;

    private final VllmSettings settings;
    private final ApiSettings server;

    VllmAsks(VllmSettings settings, ApiSettings server) {
        this.settings = settings;
        this.server = server;
    }

    Ask completion(Json body) {
        if (body instanceof Json.Obj object) {
            beforeFields(object);
            boolean empty = object.get("prompt")
                    .filter(prompt -> !prompt.equals(Json.Null.NULL) && !prompt.equals(new Json.Str("")))
                    .isEmpty();
            if (object.get("prompt_embeds")
                    .filter(given -> given != Json.Null.NULL)
                    .isPresent()) {
                throw VllmWords.bad("You must set `--enable-prompt-embeds` to input `prompt_embeds`.", "prompt_embeds");
            }
            if (empty) {
                throw VllmWords.bad("Either prompt or prompt_embeds must be provided and non-empty.", "prompt");
            }
        }
        Values values = VllmBodies.COMPLETION.require(requireBody(body));
        checkModel(values);
        if (values.text("suffix").isPresent()) {
            throw new Refused(
                    400,
                    VllmWords.error(
                            400,
                            "BadRequestError",
                            "suffix",
                            "suffix is only supported for models with FIM completion rendering"));
        }
        boolean echoOnly = values.flag("echo") && values.whole("max_tokens").orElse(COMPLETION_DEFAULT) == 0;
        Optional<Json> most = echoOnly
                ? Optional.of(new Json.Int(1))
                : values.get("max_tokens").or(() -> Optional.of(new Json.Int(COMPLETION_DEFAULT)));
        checkMost(most);
        List<Read> prompts = prompts(values.get("prompt").orElse(Json.Null.NULL));
        return ask(values, prompts, most, values.flag("echo"), echoOnly, "assistant");
    }

    Ask chat(Json body) {
        if (body instanceof Json.Obj object) {
            beforeFields(object);
        }
        Values values = VllmBodies.CHAT.require(requireBody(body));
        checkModel(values);
        List<ChatTemplate.Turn> turns = turns(values);
        boolean begins = values.get("add_generation_prompt")
                .filter(Json.Bool.FALSE::equals)
                .isEmpty();
        Optional<Json> most = values.get("max_completion_tokens").or(() -> values.get("max_tokens"));
        checkMost(most);
        String text = rendered(turns, begins, values.flag("continue_final_message"));
        return ask(
                values,
                List.of(read(text)),
                most,
                false,
                false,
                begins ? "assistant" : turns.getLast().role());
    }

    int[] conversation(Values values) {
        return server.tokenizer().tokens(rendered(turns(values), true, false));
    }

    void checkModel(Values values) {
        values.text("model").filter(model -> !model.equals(server.model())).ifPresent(model -> {
            throw VllmWords.unknownModel(model, server.model(), settings.release() == Release.V0_22);
        });
    }

    private static Json requireBody(Json body) {
        if (body == Json.Null.NULL) {
            throw new Complaint.Invalid(List.of(Complaint.noBody()));
        }
        return body;
    }

    /** What the engine looks at before it looks at fields one by one. */
    private void beforeFields(Json.Obj body) {
        Values raw = new Values(body);
        if (raw.has("stream_options") && !streams(raw)) {
            throw VllmWords.bad("Stream options can only be defined when `stream=True`.", "stream_options");
        }
        raw.get("logprobs").filter(value -> !(value instanceof Json.Bool)).ifPresent(this::checkLogprobs);
        raw.get("cache_salt")
                .filter(salt -> !(salt instanceof Json.Str(String text)) || text.isEmpty())
                .ifPresent(_ -> {
                    throw VllmWords.bad("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt");
                });
    }

    private static boolean streams(Values raw) {
        return raw.get("stream")
                .map(value -> switch (value) {
                    case Json.Bool bool -> bool.value();
                    case Json.Int(long whole) -> whole != 0;
                    case Json.Str(String text) -> !text.isEmpty();
                    default -> true;
                })
                .orElse(false);
    }

    private void checkLogprobs(Json value) {
        if (!(value instanceof Json.Int(long wanted))) {
            String shown = value instanceof Json.Str(String text) ? text : value.repr();
            throw VllmWords.bad("`logprobs` must be an integer.", "logprobs", shown);
        }
        long most = wanted == -1 ? server.tokenizer().vocabulary() : wanted;
        if (most > MOST_LOGPROBS) {
            throw VllmWords.bad(
                    "Requested sample logprobs of " + most + ", which is greater than max allowed: " + MOST_LOGPROBS,
                    "logprobs",
                    Long.toString(most));
        }
    }

    /** Two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Read(int[] tokens, String text) {}

    private List<Read> prompts(Json prompt) {
        if (prompt instanceof Json.Str(String text)) {
            return List.of(read(text));
        }
        if (!(prompt instanceof Json.Arr(List<Json> items))) {
            return List.of();
        }
        if (items.isEmpty()) {
            throw VllmWords.bad("You must pass at least one prompt");
        }
        if (!(items.getFirst() instanceof Json.Arr) && !(items.getFirst() instanceof Json.Str)) {
            return List.of(tokens(items));
        }
        List<Read> prompts = new ArrayList<>();
        for (Json item : items) {
            prompts.add(
                    switch (item) {
                        case Json.Str(String text) -> read(text);
                        case Json.Arr(List<Json> tokens) -> tokens(tokens);
                        default -> new Read(new int[0], "");
                    });
        }
        return prompts;
    }

    private Read read(String text) {
        long longest = (long) settings.contextTokens() * server.tokenizer().longest();
        int characters = text.codePointCount(0, text.length());
        if (characters > longest) {
            throw VllmWords.bad(
                    "This model's maximum context length is " + settings.contextTokens()
                            + " tokens. However, your prompt"
                            + " contains " + characters + " characters (more than " + longest
                            + " characters, which is the upper bound for " + settings.contextTokens()
                            + " input tokens). Please reduce the length of the input prompt.",
                    "input_text",
                    Integer.toString(characters));
        }
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                boolean pair = Character.isHighSurrogate(text.charAt(i))
                        && i + 1 < text.length()
                        && Character.isLowSurrogate(text.charAt(i + 1));
                if (!pair) {
                    throw VllmWords.bad(
                            "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]");
                }
                i++;
            }
        }
        return new Read(server.tokenizer().tokens(text), text);
    }

    private Read tokens(List<Json> items) {
        for (Json item : items instanceof Json.Ints ? List.<Json>of() : items) {
            if (item instanceof Json.Big big) {
                throw outOfVocabulary(big.value());
            }
        }
        if (items.size() <= settings.contextTokens() + 1 && items instanceof Json.Ints numbers) {
            for (int i = 0; i < numbers.size(); i++) {
                if (!server.tokenizer().has(numbers.at(i))) {
                    throw outOfVocabulary(BigInteger.valueOf(numbers.at(i)));
                }
            }
        }
        int[] tokens = Bodies.tokens(items);
        return new Read(
                tokens,
                tokens.length > settings.contextTokens()
                        ? ""
                        : server.tokenizer().text(tokens));
    }

    private static Refused outOfVocabulary(BigInteger token) {
        return VllmWords.bad("Token id " + token + " is out of vocabulary");
    }

    private List<ChatTemplate.Turn> turns(Values values) {
        List<ChatTemplate.Turn> turns = new ArrayList<>();
        if (values.get("messages").orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> messages)) {
            for (Json message : messages) {
                if (message instanceof Json.Obj object) {
                    Values turn = new Values(object);
                    turns.add(new ChatTemplate.Turn(turn.text("role").orElse("user"), content(turn)));
                }
            }
        }
        if (turns.isEmpty()) {
            throw VllmWords.bad("Cannot apply chat template to an empty conversation. Provide at least one message.");
        }
        return turns;
    }

    private String content(Values turn) {
        Json content = turn.get("content").orElse(Json.Null.NULL);
        if (!(content instanceof Json.Arr(List<Json> parts))) {
            return content instanceof Json.Str(String text) ? text : "";
        }
        List<String> texts = new ArrayList<>();
        for (Json part : parts) {
            if (part instanceof Json.Str(String text)) {
                texts.add(text);
            } else if (part instanceof Json.Obj object) {
                Values one = new Values(object);
                String type = one.text("type").orElse("text");
                if (List.of("image_url", "video_url", "input_audio").contains(type)) {
                    throw VllmWords.bad(server.model() + " is not a multimodal model");
                }
                texts.add(one.text("text").orElseThrow(() -> VllmWords.bad("Unknown part type: " + type)));
            }
        }
        return String.join("\n", texts);
    }

    private String rendered(List<ChatTemplate.Turn> turns, boolean begins, boolean continuesLast) {
        if (!continuesLast) {
            return server.template().render(turns, begins);
        }
        return server.template().render(turns.subList(0, turns.size() - 1), false) + Tokenizer.TURN
                + turns.getLast().role() + "\n" + turns.getLast().content();
    }

    private void checkMost(Optional<Json> most) {
        most.filter(value -> (value instanceof Json.Big big && big.value().signum() > 0)
                        || (value instanceof Json.Int(long whole) && whole > settings.contextTokens()))
                .ifPresent(value -> {
                    throw VllmWords.bad(
                            "max_tokens=" + value.repr() + " cannot be greater than max_model_len="
                                    + settings.contextTokens() + ". Please request fewer output tokens.",
                            "max_tokens",
                            value.repr());
                });
    }

    private void checkLength(int prompt) {
        int context = settings.contextTokens();
        if (prompt == 0) {
            throw VllmWords.bad("The decoder prompt cannot be empty");
        }
        if (prompt > context) {
            throw VllmWords.bad(
                    "This model's maximum context length is " + context + " tokens. However, your prompt contains "
                            + (prompt == context + 1 ? "at least " : "") + prompt + " input tokens, which exceeds this"
                            + " limit even without any output tokens. Please reduce the length of the input prompt.",
                    "input_tokens",
                    Integer.toString(prompt));
        }
    }

    /** The last so many tokens of a prompt, where the client wants no more. */
    private Read truncated(Read prompt, Values values) {
        long most = values.whole("truncate_prompt_tokens").orElse(Long.MAX_VALUE);
        long kept = most < 0 ? settings.contextTokens() : most;
        int length = prompt.tokens().length;
        return length <= kept
                ? prompt
                : new Read(Arrays.copyOfRange(prompt.tokens(), length - (int) kept, length), prompt.text());
    }

    private Ask ask(
            Values values, List<Read> prompts, Optional<Json> most, boolean echo, boolean echoOnly, String role) {
        OptionalLong wanted = most.map(value -> value instanceof Json.Int(long whole)
                        ? OptionalLong.of(whole)
                        : OptionalLong.of(Long.MIN_VALUE))
                .orElse(OptionalLong.empty());
        List<Ask.Prompt> limited = new ArrayList<>();
        for (Read whole : prompts) {
            Read prompt = truncated(whole, values);
            checkLength(prompt.tokens().length);
            long left = (long) settings.contextTokens() - prompt.tokens().length;
            long limit = Math.min(wanted.orElse(left), left);
            VllmSampling.problem(values, limit, server.tokenizer().vocabulary()).ifPresent(refused -> {
                throw refused;
            });
            Terms terms = Terms.of((int) limit)
                    .withSalt(values.text("cache_salt").orElse(""))
                    .withPriority(values.priority())
                    .withReportsHits(values.object("vllm_xargs")
                            .flatMap(given -> given.text("kv_cache_report_mode"))
                            .filter("full"::equals)
                            .isPresent())
                    .withForced(values.forced());
            limited.add(new Ask.Prompt(prompt.tokens(), prompt.text(), terms));
        }
        Optional<Values> options = values.object("stream_options");
        boolean usage = options.filter(given -> given.flag("include_usage")).isPresent();
        Ask.Telling telling = new Ask.Telling(
                values.text("request_id").map(List::of).orElse(List.of()),
                server.model(),
                values.flag("stream"),
                usage,
                usage
                        && options.filter(given -> given.flag("continuous_usage_stats"))
                                .isPresent(),
                echo,
                values.flag("return_token_ids"),
                false,
                1,
                false,
                role);
        Ask.Stops stops = new Ask.Stops(
                values.texts("stop"),
                values.tokens("stop_token_ids"),
                values.flag("include_stop_str_in_output"),
                Math.max(0, values.small("min_tokens").orElse(0)));
        return new Ask(limited, Math.clamp(values.whole("n").orElse(1), 1, 4096), echoOnly, stops, telling);
    }
}
