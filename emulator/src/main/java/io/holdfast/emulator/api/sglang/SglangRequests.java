package io.holdfast.emulator.api.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.ChatTemplate;
import io.holdfast.emulator.api.EngineCrash;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.api.ValidationError;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.sglang.SglangSettings;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.function.Supplier;

/** Makes what a client asks SGLang for out of its body, and refuses what the engine refuses, in the engine's order. */
final class SglangRequests {
    private static final int NATIVE_DEFAULT = 128;
    private static final int COMPLETION_DEFAULT = 16;
    private static final int MOST_ANSWERS = 4096;

    private final SglangSettings settings;
    private final ApiSettings server;

    SglangRequests(SglangSettings settings, ApiSettings server) {
        this.settings = settings;
        this.server = server;
    }

    GenerationRequest completion(ValidatedBody body) {
        body.require("prompt");
        OptionalLong most = OptionalLong.of(body.whole("max_tokens").orElse(COMPLETION_DEFAULT));
        if (most.getAsLong() <= 0) {
            throw new ValidationError(
                    "value_error", List.of("body", "max_tokens"), "Value error, max_tokens must be positive");
        }
        List<Read> prompts = prompts(body, "prompt");
        if (prompts.isEmpty() || prompts.stream().anyMatch(prompt -> prompt.tokens().length == 0)) {
            throw SglangErrors.bad("Prompt cannot be empty");
        }
        List<GenerationRequest.Prompt> limited =
                limited(prompts, body, most, body.flag("ignore_eos"), SglangErrors::bad);
        checkSampling(body, "min_tokens", most, SglangErrors::bad);
        return new GenerationRequest(
                limited,
                each(body),
                false,
                stops(body, "min_tokens"),
                options(body, "assistant", body.flag("echo"), body.isBatch("prompt")));
    }

    GenerationRequest chat(ValidatedBody body) {
        List<ChatTemplate.Turn> turns = turns(body);
        if (body.flag("return_token_ids") && body.flag("stream")) {
            throw new RequestRefused(
                    400,
                    SglangErrors.error(
                            400,
                            "BadRequest",
                            "return_token_ids is not supported with streaming on /v1/chat/completions. Please set"
                                    + " stream=false when using return_token_ids=true."));
        }
        String text = rendered(turns, body.flag("continue_final_message"));
        OptionalLong most = body.whole("max_completion_tokens");
        if (most.isEmpty()) {
            most = body.whole("max_tokens");
        }
        List<GenerationRequest.Prompt> prompts =
                limited(List.of(read(text)), body, most, body.flag("ignore_eos"), SglangErrors::bad);
        checkSampling(body, "min_tokens", most, SglangErrors::bad);
        return new GenerationRequest(
                prompts,
                each(body),
                most.isPresent() && most.getAsLong() == 0,
                stops(body, "min_tokens"),
                options(body, "assistant", false, false));
    }

    GenerationRequest generate(ValidatedBody body) {
        Optional<ValidatedBody> given = body.object("sampling_params");
        ValidatedBody sampling = given.orElse(ValidatedBody.EMPTY);
        SglangSampling.checkNames(sampling);
        if (!body.has("text") && !body.has("input_ids")) {
            throw SglangErrors.plainly("Either text, input_ids or input_embeds should be provided.");
        }
        String input = body.has("input_ids") ? "input_ids" : "text";
        boolean batch = body.isBatch(input);
        List<Read> prompts = prompts(body, input);
        boolean empty = prompts.stream().anyMatch(prompt -> prompt.tokens().length == 0);
        if (body.has("input_ids") && (prompts.isEmpty() || (!batch && empty))) {
            throw SglangErrors.plainly("input_ids cannot be empty.");
        }
        List<String> ids = body.texts("rid");
        ids.stream()
                .filter(id -> Collections.frequency(ids, id) > 1)
                .findFirst()
                .ifPresent(twice -> {
                    throw SglangErrors.plainly("Duplicate request IDs detected within the request: ['" + twice + "']");
                });
        if (empty) {
            throw new EngineCrash();
        }
        boolean unlimited = sampling.names("max_new_tokens") && !sampling.has("max_new_tokens");
        OptionalLong most = unlimited
                ? OptionalLong.empty()
                : OptionalLong.of(sampling.whole("max_new_tokens").orElse(NATIVE_DEFAULT));
        List<GenerationRequest.Prompt> limited =
                limited(prompts, body, most, sampling.flag("ignore_eos"), SglangErrors::plainly);
        checkSampling(sampling, "min_new_tokens", most, SglangErrors::plainly);
        return new GenerationRequest(
                limited,
                Math.clamp(sampling.whole("n").orElse(1), 1, MOST_ANSWERS),
                most.isPresent() && most.getAsLong() == 0,
                stops(sampling, "min_new_tokens"),
                new GenerationRequest.ResponseOptions(
                        body.texts("rid"),
                        "default",
                        body.flag("stream"),
                        false,
                        false,
                        false,
                        true,
                        true,
                        Math.max(1, sampling.small("stream_interval").orElse(1)),
                        batch,
                        "assistant"));
    }

    /** The tokens of a conversation, as {@code /tokenize} wants them. */
    int[] conversation(ValidatedBody body) {
        return server.tokenizer().tokens(rendered(turns(body), body.flag("continue_final_message")));
    }

    /** Two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Read(int[] tokens, Supplier<String> text) {}

    private Read read(String text) {
        if (text.length() > Tokenizer.MANY && server.tokenizer().count(text) > settings.contextTokens()) {
            throw tooLong(server.tokenizer().count(text), SglangErrors::bad);
        }
        return new Read(server.tokenizer().tokens(text), () -> text);
    }

    private List<Read> prompts(ValidatedBody body, String field) {
        List<Read> prompts = new ArrayList<>();
        for (JsonNode prompt : body.prompts(field)) {
            if (prompt.isTextual()) {
                prompts.add(read(prompt.textValue()));
            } else {
                int[] tokens = ValidatedBody.tokens(prompt);
                prompts.add(new Read(tokens, () -> server.tokenizer().text(tokens)));
            }
        }
        return prompts;
    }

    private List<ChatTemplate.Turn> turns(ValidatedBody body) {
        body.require("messages");
        List<ChatTemplate.Turn> turns = new ArrayList<>();
        for (ValidatedBody message : body.objects("messages")) {
            message.require("role");
            String role = message.text("role").orElse("user").toLowerCase(Locale.ROOT);
            turns.add(new ChatTemplate.Turn(role, content(message)));
        }
        if (turns.isEmpty()) {
            throw SglangErrors.bad("Messages cannot be empty.");
        }
        return ChatTemplate.withTools(turns, body.listText("tools"));
    }

    private static String content(ValidatedBody message) {
        if (!message.isList("content")) {
            return message.text("content").orElse("");
        }
        List<String> texts = new ArrayList<>();
        for (ValidatedBody part : message.objects("content")) {
            String type = part.text("type").orElse("text");
            if (!type.equals("text")) {
                throw SglangErrors.bad(
                        "Model only supports text input; received unsupported content type '" + type + "'.");
            }
            texts.add(part.text("text").orElse(""));
        }
        return String.join(" ", texts);
    }

    private String rendered(List<ChatTemplate.Turn> turns, boolean continuesLast) {
        boolean continued = continuesLast && turns.getLast().role().equals("assistant");
        List<ChatTemplate.Turn> asked = continued ? turns.subList(0, turns.size() - 1) : turns;
        String text = server.template().render(asked, true);
        return continued ? text + turns.getLast().content() : text;
    }

    private List<GenerationRequest.Prompt> limited(
            List<Read> prompts,
            ValidatedBody body,
            OptionalLong most,
            boolean ignoresEnd,
            Function<String, RequestRefused> refusal) {
        List<GenerationRequest.Prompt> limited = new ArrayList<>();
        for (int i = 0; i < prompts.size(); i++) {
            int[] tokens = prompts.get(i).tokens();
            checkLength(tokens.length, most, refusal);
            for (int token : tokens) {
                if (!server.tokenizer().has(token)) {
                    throw new EngineCrash();
                }
            }
            RequestOptions terms = RequestOptions.of(limit(tokens.length, most))
                    .withSalt(one(body, "cache_salt", i, prompts.size(), refusal))
                    .withExtraKey(one(body, "extra_key", i, prompts.size(), refusal))
                    .withSession(session(body))
                    .withPriority(body.small("priority").orElse(0))
                    .withIgnoresEnd(ignoresEnd)
                    .withForced(body.forcedTokens());
            limited.add(new GenerationRequest.Prompt(tokens, prompts.get(i).text(), terms));
        }
        return limited;
    }

    private String session(ValidatedBody body) {
        return settings.streaming()
                ? body.object("session_params")
                        .flatMap(session -> session.text("id"))
                        .orElse("")
                : body.text("session_id").orElse("");
    }

    /** A field that is one text for all prompts, or one for each. */
    private static String one(
            ValidatedBody body, String field, int index, int prompts, Function<String, RequestRefused> refusal) {
        List<String> texts = body.texts(field);
        if (body.isList(field) && texts.size() != prompts) {
            throw refusal.apply(field + " should be a string for a single request.");
        }
        return texts.isEmpty() ? "" : texts.get(body.isList(field) ? index : 0);
    }

    private void checkLength(int prompt, OptionalLong most, Function<String, RequestRefused> refusal) {
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

    private RequestRefused tooLong(int prompt, Function<String, RequestRefused> refusal) {
        return refusal.apply(String.format(
                Locale.ROOT,
                "The input (%d tokens) is longer than the model's context length (%d tokens).",
                prompt,
                settings.contextTokens()));
    }

    /** Limit of an answer's tokens: as many as fit beside its prompt in an empty cache. */
    private int limit(int prompt, OptionalLong most) {
        return (int) Math.max(1, Math.min(most.orElse(Long.MAX_VALUE), settings.maxAnswerTokens(prompt)));
    }

    private static void checkSampling(
            ValidatedBody body, String least, OptionalLong most, Function<String, RequestRefused> refusal) {
        SglangSampling.problem(body, least, most).ifPresent(problem -> {
            throw refusal.apply(problem);
        });
    }

    private static int each(ValidatedBody body) {
        long each = body.whole("n").orElse(1);
        if (each == 0) {
            throw new RequestRefused(400, SglangErrors.error(400, "BadRequest", "range() arg 3 must not be zero"));
        }
        return Math.clamp(each, 1, MOST_ANSWERS);
    }

    private static GenerationRequest.Stops stops(ValidatedBody body, String least) {
        return new GenerationRequest.Stops(
                body.texts("stop"),
                body.tokenSet("stop_token_ids"),
                body.flag("no_stop_trim"),
                Math.max(0, body.small(least).orElse(0)));
    }

    private static GenerationRequest.ResponseOptions options(
            ValidatedBody body, String role, boolean echo, boolean batch) {
        ValidatedBody options = body.object("stream_options").orElse(ValidatedBody.EMPTY);
        return new GenerationRequest.ResponseOptions(
                body.texts("rid"),
                body.text("model").orElse("default"),
                body.flag("stream"),
                options.flag("include_usage"),
                options.flag("continuous_usage_stats"),
                echo,
                body.flag("return_token_ids"),
                body.flag("return_cached_tokens_details"),
                1,
                batch,
                role);
    }
}
