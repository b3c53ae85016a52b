package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Terms;
import io.holdfast.rules.sglang.SglangSettings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** Makes what a client asks SGLang for out of its body, and refuses what the engine refuses, in the engine's order. */
final class SglangAsks {
    private static final int NATIVE_DEFAULT = 128;
    private static final int COMPLETION_DEFAULT = 16;

    private final SglangSettings settings;
    private final ApiSettings server;

    SglangAsks(SglangSettings settings, ApiSettings server) {
        this.settings = settings;
        this.server = server;
    }

    Ask completion(Json body) {
        Values values = SglangBodies.COMPLETION.require(body);
        List<Read> prompts = prompts(values.get("prompt").orElse(Json.Null.NULL));
        if (prompts.isEmpty() || prompts.stream().anyMatch(prompt -> prompt.tokens().length == 0)) {
            throw SglangWords.bad("Prompt cannot be empty");
        }
        OptionalLong most = OptionalLong.of(values.whole("max_tokens").orElse(COMPLETION_DEFAULT));
        Function<String, Refused> refusal = SglangWords::bad;
        List<Ask.Prompt> limited = limited(prompts, values, most, values.flag("ignore_eos"), refusal);
        checkSampling(values, "min_tokens", "seed", most, refusal);
        boolean batch = values.get("prompt").orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> items)
                && !items.isEmpty()
                && !(items.getFirst() instanceof Json.Int);
        return new Ask(
                limited,
                each(values, true),
                false,
                stops(values, "min_tokens"),
                telling(values, "assistant", values.flag("echo"), batch));
    }

    Ask chat(Json body) {
        if (!(body instanceof Json.Obj object)) {
            throw new Crash(Crash.Reach.REQUEST);
        }
        Values values = SglangBodies.CHAT.require(withToolChoice(object));
        List<ChatTemplate.Turn> turns = turns(values);
        if (values.flag("return_token_ids") && values.flag("stream")) {
            throw new Refused(
                    400,
                    SglangWords.error(
                            400,
                            "BadRequest",
                            "return_token_ids is not supported with streaming on /v1/chat/completions. Please set"
                                    + " stream=false when using return_token_ids=true."));
        }
        String text = rendered(turns, values.flag("continue_final_message"));
        OptionalLong most = values.whole("max_completion_tokens");
        if (most.isEmpty()) {
            most = values.whole("max_tokens");
        }
        Function<String, Refused> refusal = SglangWords::bad;
        List<Ask.Prompt> prompts = limited(List.of(read(text)), values, most, values.flag("ignore_eos"), refusal);
        checkSampling(values, "min_tokens", "seed", most, refusal);
        return new Ask(
                prompts,
                each(values, true),
                most.isPresent() && most.getAsLong() == 0,
                stops(values, "min_tokens"),
                telling(values, "assistant", false, false));
    }

    /** The engine puts in what follows from there being tools or not before it looks at the rest. */
    private static Json withToolChoice(Json.Obj body) {
        if (body.get("tool_choice").isPresent()) {
            return body;
        }
        Map<String, Json> fields = new LinkedHashMap<>(body.fields());
        fields.put("tool_choice", new Json.Str(body.get("tools").isPresent() ? "auto" : "none"));
        return new Json.Obj(fields);
    }

    Ask generate(Json body) {
        if (!(body instanceof Json.Obj object)) {
            throw new Complaint.Invalid(List.of(new Complaint(
                    "dataclass_type",
                    List.of("body"),
                    "Input should be a dictionary or an instance of GenerateReqInput",
                    body,
                    Optional.of("{'class_name': 'GenerateReqInput'}"))));
        }
        Values values = SglangBodies.GENERATE.require(body);
        Values sampling = SglangSampling.check(new Values(object));
        if (!values.has("text") && !values.has("input_ids")) {
            throw SglangWords.plainly("Either text, input_ids or input_embeds should be provided.");
        }
        Json input = values.get("input_ids").or(() -> values.get("text")).orElse(Json.Null.NULL);
        boolean batch = isBatch(input);
        List<Read> prompts = prompts(input);
        if (values.has("input_ids")
                && (prompts.isEmpty()
                        || (!batch && prompts.stream().anyMatch(prompt -> prompt.tokens().length == 0)))) {
            throw SglangWords.plainly("input_ids cannot be empty.");
        }
        List<String> ids = values.texts("rid");
        ids.stream()
                .filter(id -> Collections.frequency(ids, id) > 1)
                .findFirst()
                .ifPresent(twice -> {
                    throw SglangWords.plainly(
                            "Duplicate request IDs detected within the request: [" + Python.repr(twice) + "]");
                });
        if (prompts.stream().anyMatch(prompt -> prompt.tokens().length == 0)) {
            throw new Crash(Crash.Reach.SERVER);
        }
        boolean unlimited = sampling.body().get("max_new_tokens").isPresent() && !sampling.has("max_new_tokens");
        OptionalLong most = unlimited
                ? OptionalLong.empty()
                : OptionalLong.of(sampling.whole("max_new_tokens").orElse(NATIVE_DEFAULT));
        Function<String, Refused> refusal = SglangWords::plainly;
        List<Ask.Prompt> limited = limited(prompts, values, most, sampling.flag("ignore_eos"), refusal);
        checkSampling(sampling, "min_new_tokens", "sampling_seed", most, refusal);
        int each = each(sampling, false);
        Ask.Telling telling = telling(values, "assistant", false, batch);
        int interval = Math.max(1, sampling.small("stream_interval").orElse(1));
        return new Ask(
                limited,
                each,
                most.isPresent() && most.getAsLong() == 0,
                stops(sampling, "min_new_tokens"),
                new Ask.Telling(
                        telling.ids(),
                        telling.model(),
                        telling.stream(),
                        false,
                        false,
                        false,
                        true,
                        true,
                        interval,
                        batch,
                        telling.role()));
    }

    /** The tokens of a conversation, as {@code /tokenize} wants them. */
    int[] conversation(Values values) {
        return server.tokenizer().tokens(rendered(turns(values), false));
    }

    /** Two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Read(int[] tokens, String text) {}

    private Read read(String text) {
        if (text.length() > Tokenizer.MANY && server.tokenizer().count(text) > settings.contextTokens()) {
            throw tooLong(server.tokenizer().count(text), SglangWords::bad);
        }
        return new Read(server.tokenizer().tokens(text), text);
    }

    private static boolean isBatch(Json input) {
        return input instanceof Json.Arr(List<Json> items)
                && (items.isEmpty() || items.getFirst() instanceof Json.Arr || items.getFirst() instanceof Json.Str);
    }

    private List<Read> prompts(Json input) {
        if (input instanceof Json.Str(String text)) {
            return List.of(read(text));
        }
        if (!(input instanceof Json.Arr(List<Json> items))) {
            return List.of();
        }
        if (!isBatch(input)) {
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

    private Read tokens(List<Json> items) {
        if (items.stream().anyMatch(Json.Big.class::isInstance)) {
            throw new Refused(
                    500,
                    SglangWords.error(500, "InternalServerError", "Internal server error: int too big to convert"));
        }
        int[] tokens = Bodies.tokens(items);
        return new Read(tokens, server.tokenizer().text(tokens));
    }

    private List<ChatTemplate.Turn> turns(Values values) {
        List<ChatTemplate.Turn> turns = new ArrayList<>();
        if (values.get("messages").orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> messages)) {
            for (Json message : messages) {
                if (message instanceof Json.Obj object) {
                    Values turn = new Values(object);
                    String role = turn.text("role").orElse("user").toLowerCase(Locale.ROOT);
                    turns.add(new ChatTemplate.Turn(role, content(turn)));
                }
            }
        }
        if (turns.isEmpty()) {
            throw SglangWords.bad("Messages cannot be empty.");
        }
        return turns;
    }

    private static String content(Values turn) {
        Json content = turn.get("content").orElse(Json.Null.NULL);
        if (!(content instanceof Json.Arr(List<Json> parts))) {
            return content instanceof Json.Str(String text) ? text : "";
        }
        List<String> texts = new ArrayList<>();
        for (Json part : parts) {
            if (part instanceof Json.Obj object) {
                Values one = new Values(object);
                String type = one.text("type").orElse("text");
                if (!type.equals("text")) {
                    throw SglangWords.bad(
                            "Model only supports text input; received unsupported content type '" + type + "'.");
                }
                texts.add(one.text("text").orElse(""));
            }
        }
        return String.join(" ", texts);
    }

    private String rendered(List<ChatTemplate.Turn> turns, boolean continuesLast) {
        boolean continued = continuesLast && turns.getLast().role().equals("assistant");
        List<ChatTemplate.Turn> asked = continued ? turns.subList(0, turns.size() - 1) : turns;
        String text = server.template().render(asked, true);
        return continued ? text + turns.getLast().content() : text;
    }

    private List<Ask.Prompt> limited(
            List<Read> prompts,
            Values values,
            OptionalLong most,
            boolean ignoresEnd,
            Function<String, Refused> refusal) {
        List<Ask.Prompt> limited = new ArrayList<>();
        for (int i = 0; i < prompts.size(); i++) {
            int[] tokens = prompts.get(i).tokens();
            checkLength(tokens.length, most, refusal);
            for (int token : tokens) {
                if (!server.tokenizer().has(token)) {
                    throw new Crash(Crash.Reach.SERVER);
                }
            }
            Terms terms = Terms.of(limit(tokens.length, most))
                    .withSalt(one(values, "cache_salt", i, prompts.size(), refusal))
                    .withExtraKey(one(values, "extra_key", i, prompts.size(), refusal))
                    .withSession(values.text("session_id").orElse(""))
                    .withPriority(values.priority())
                    .withIgnoresEnd(ignoresEnd)
                    .withForced(values.forced());
            limited.add(new Ask.Prompt(tokens, prompts.get(i).text(), terms));
        }
        return limited;
    }

    /** A field that is one text for all prompts, or one for each. */
    private static String one(Values values, String field, int index, int prompts, Function<String, Refused> refusal) {
        if (values.get(field).orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> items)) {
            if (items.size() != prompts) {
                throw refusal.apply(field + " should be a string for a single request.");
            }
            return items.get(index) instanceof Json.Str(String text) ? text : "";
        }
        return values.text(field).orElse("");
    }

    private void checkLength(int prompt, OptionalLong most, Function<String, Refused> refusal) {
        int context = settings.contextTokens();
        if (prompt >= context) {
            throw tooLong(prompt, refusal);
        }
        if (prompt >= settings.maxPromptTokens()) {
            throw refusal.apply(String.format(
                    Locale.ROOT,
                    "Input length (%d tokens) exceeds the maximum allowed length (%d tokens). Use a shorter input or"
                            + " enable --allow-auto-truncate.",
                    prompt,
                    settings.maxPromptTokens()));
        }
        if (most.isPresent() && most.getAsLong() > context - prompt) {
            throw refusal.apply(String.format(
                    Locale.ROOT,
                    "Requested token count exceeds the model's maximum context length of %d tokens. You requested a"
                            + " total of %d tokens: %d tokens from the input messages and %d tokens for the completion."
                            + " Please reduce the number of tokens in the input messages or the completion to fit"
                            + " within the limit.",
                    context,
                    prompt + most.getAsLong(),
                    prompt,
                    most.getAsLong()));
        }
    }

    private Refused tooLong(int prompt, Function<String, Refused> refusal) {
        return refusal.apply(String.format(
                Locale.ROOT,
                "The input (%d tokens) is longer than the model's context length (%d tokens).",
                prompt,
                settings.contextTokens()));
    }

    /** How many tokens an answer may have: so many as fit beside its prompt in an empty cache. */
    private int limit(int prompt, OptionalLong most) {
        return (int) Math.max(1, Math.min(most.orElse(Long.MAX_VALUE), settings.maxAnswerTokens(prompt)));
    }

    private void checkSampling(
            Values values, String least, String seed, OptionalLong most, Function<String, Refused> refusal) {
        Optional<String> problem = SglangSampling.problem(
                values, least, seed, most, server.tokenizer().vocabulary());
        if (problem.isPresent()) {
            throw refusal.apply(problem.get());
        }
    }

    private static int each(Values values, boolean openAi) {
        long each = values.whole("n").orElse(1);
        if (openAi && each == 0) {
            throw new Refused(400, SglangWords.error(400, "BadRequest", "range() arg 3 must not be zero"));
        }
        return Math.clamp(each, 1, 4096);
    }

    private static Ask.Stops stops(Values values, String least) {
        return new Ask.Stops(
                values.texts("stop"),
                values.tokens("stop_token_ids"),
                values.flag("no_stop_trim"),
                Math.max(0, values.small(least).orElse(0)));
    }

    private static Ask.Telling telling(Values values, String role, boolean echo, boolean batch) {
        Optional<Values> options = values.object("stream_options");
        return new Ask.Telling(
                values.texts("rid"),
                values.text("model").orElse("default"),
                values.flag("stream"),
                options.filter(given -> given.flag("include_usage")).isPresent(),
                options.filter(given -> given.flag("continuous_usage_stats")).isPresent(),
                echo,
                values.flag("return_token_ids"),
                values.flag("return_cached_tokens_details"),
                1,
                batch,
                role);
    }
}
