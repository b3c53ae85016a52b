package io.holdfast.emulator.api.vllm;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.ChatTemplate;
import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** Makes what a client asks vLLM for out of its body, and refuses what the engine refuses, in the engine's order. */
final class VllmRequests {
    private static final int COMPLETION_DEFAULT = 16;
    private static final int MOST_ANSWERS = 4096;

    private final VllmSettings settings;
    private final ApiSettings server;

    VllmRequests(VllmSettings settings, ApiSettings server) {
        this.settings = settings;
        this.server = server;
    }

    GenerationRequest completion(ValidatedBody body) {
        checkFirst(body);
        if (!body.has("prompt")
                || (!body.isList("prompt") && body.text("prompt").equals(Optional.of("")))) {
            throw VllmErrors.bad("Either prompt or prompt_embeds must be provided and non-empty.", "prompt");
        }
        checkModel(body);
        boolean echoOnly = body.flag("echo") && body.whole("max_tokens").orElse(COMPLETION_DEFAULT) == 0;
        OptionalLong most =
                OptionalLong.of(echoOnly ? 1 : body.whole("max_tokens").orElse(COMPLETION_DEFAULT));
        checkMost(most);
        List<JsonNode> given = body.prompts("prompt");
        if (given.isEmpty()) {
            throw VllmErrors.bad("You must pass at least one prompt");
        }
        List<Read> prompts = given.stream()
                .map(prompt -> prompt.isTextual() ? read(prompt.textValue()) : tokens(prompt))
                .toList();
        return ask(body, prompts, most, body.flag("echo"), echoOnly, "assistant");
    }

    GenerationRequest chat(ValidatedBody body) {
        checkFirst(body);
        List<ChatTemplate.Turn> turns = turns(body);
        checkModel(body);
        boolean begins = !body.denies("add_generation_prompt");
        OptionalLong most = body.whole(body.has("max_completion_tokens") ? "max_completion_tokens" : "max_tokens");
        checkMost(most);
        String text = rendered(turns, begins, body.flag("continue_final_message"));
        return ask(
                body,
                List.of(read(text)),
                most,
                false,
                false,
                begins ? "assistant" : turns.getLast().role());
    }

    /** The tokens of a conversation, as {@code /tokenize} wants them. */
    int[] conversation(ValidatedBody body) {
        boolean continued = body.flag("continue_final_message");
        if (continued && body.flag("add_generation_prompt")) {
            throw VllmErrors.bad("Cannot set both `continue_final_message` and `add_generation_prompt` to True.");
        }
        boolean begins = !body.denies("add_generation_prompt");
        return server.tokenizer().tokens(rendered(turns(body), begins, continued));
    }

    void checkModel(ValidatedBody body) {
        body.text("model").filter(model -> !model.equals(server.model())).ifPresent(model -> {
            throw VllmErrors.unknownModel(model, server.model(), settings.release() == Release.V0_22);
        });
    }

    /** Checks what the engine looks at before it looks at fields one by one. */
    private static void checkFirst(ValidatedBody body) {
        if (body.has("stream_options") && !body.flag("stream")) {
            throw VllmErrors.bad("Stream options can only be defined when `stream=True`.", "stream_options");
        }
        if (body.text("cache_salt").equals(Optional.of(""))) {
            throw VllmErrors.bad("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt");
        }
    }

    /** Two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    private record Read(int[] tokens, Supplier<String> text) {}

    private Read read(String text) {
        long longest = (long) settings.contextTokens() * server.tokenizer().longest();
        int characters = text.codePointCount(0, text.length());
        if (characters > longest) {
            throw VllmErrors.bad(
                    "This model's maximum context length is " + settings.contextTokens()
                            + " tokens. However, your prompt"
                            + " contains " + characters + " characters (more than " + longest
                            + " characters, which is the upper bound for " + settings.contextTokens()
                            + " input tokens). Please reduce the length of the input prompt.",
                    "input_text",
                    Integer.toString(characters));
        }
        return new Read(server.tokenizer().tokens(text), () -> text);
    }

    private Read tokens(JsonNode prompt) {
        int[] tokens = ValidatedBody.tokens(prompt);
        boolean fits = tokens.length <= settings.contextTokens();
        for (int i = 0; fits && i < tokens.length; i++) {
            if (!server.tokenizer().has(tokens[i])) {
                throw VllmErrors.bad("Token id " + prompt.get(i).asText() + " is out of vocabulary");
            }
        }
        return new Read(tokens, () -> server.tokenizer().text(tokens));
    }

    private List<ChatTemplate.Turn> turns(ValidatedBody body) {
        body.require("messages");
        List<ChatTemplate.Turn> turns = new ArrayList<>();
        for (ValidatedBody message : body.objects("messages")) {
            message.require("role");
            turns.add(new ChatTemplate.Turn(message.text("role").orElse("user"), content(message)));
        }
        if (turns.isEmpty()) {
            throw VllmErrors.bad("Cannot apply chat template to an empty conversation. Provide at least one message.");
        }
        return ChatTemplate.withTools(turns, body.listText("tools"));
    }

    private String content(ValidatedBody message) {
        if (!message.isList("content")) {
            return message.text("content").orElse("");
        }
        List<String> texts = new ArrayList<>();
        for (ValidatedBody part : message.objects("content")) {
            String type = part.text("type").orElse("text");
            if (List.of("image_url", "video_url", "input_audio").contains(type)) {
                throw VllmErrors.bad(server.model() + " is not a multimodal model");
            }
            texts.add(part.text("text").orElseThrow(() -> VllmErrors.bad("Unknown part type: " + type)));
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

    private void checkMost(OptionalLong most) {
        if (most.orElse(0) > settings.contextTokens()) {
            throw VllmErrors.bad(
                    "max_tokens=" + most.getAsLong() + " cannot be greater than max_model_len="
                            + settings.contextTokens() + ". Please request fewer output tokens.",
                    "max_tokens",
                    Long.toString(most.getAsLong()));
        }
    }

    private void checkLength(int prompt) {
        int context = settings.contextTokens();
        if (prompt == 0) {
            throw VllmErrors.bad("The decoder prompt cannot be empty");
        }
        if (prompt > context) {
            throw VllmErrors.bad(
                    "This model's maximum context length is " + context + " tokens. However, your prompt contains "
                            + (prompt == context + 1 ? "at least " : "") + prompt + " input tokens, which exceeds this"
                            + " limit even without any output tokens. Please reduce the length of the input prompt.",
                    "input_tokens",
                    Integer.toString(prompt));
        }
    }

    /** The last so many tokens of a prompt, where the client wants no more. */
    private Read truncated(Read prompt, ValidatedBody body) {
        long most = body.whole("truncate_prompt_tokens").orElse(Long.MAX_VALUE);
        long kept = most < 0 ? settings.contextTokens() : most;
        int length = prompt.tokens().length;
        return length <= kept
                ? prompt
                : new Read(Arrays.copyOfRange(prompt.tokens(), length - (int) kept, length), prompt.text());
    }

    private GenerationRequest ask(
            ValidatedBody body, List<Read> prompts, OptionalLong most, boolean echo, boolean echoOnly, String role) {
        List<GenerationRequest.Prompt> limited = new ArrayList<>();
        for (Read whole : prompts) {
            Read prompt = truncated(whole, body);
            checkLength(prompt.tokens().length);
            long left = (long) settings.contextTokens() - prompt.tokens().length;
            long limit = Math.min(most.orElse(left), left);
            VllmSampling.problem(body, limit).ifPresent(refused -> {
                throw refused;
            });
            RequestOptions terms = RequestOptions.of((int) limit)
                    .withSalt(body.text("cache_salt").orElse(""))
                    .withPriority(body.small("priority").orElse(0))
                    .withReportsHits(body.object("vllm_xargs")
                            .flatMap(given -> given.text("kv_cache_report_mode"))
                            .filter("full"::equals)
                            .isPresent())
                    .withForced(body.forcedTokens());
            limited.add(new GenerationRequest.Prompt(prompt.tokens(), prompt.text(), terms));
        }
        ValidatedBody wanted = body.object("stream_options").orElse(ValidatedBody.EMPTY);
        boolean usage = wanted.flag("include_usage");
        GenerationRequest.ResponseOptions options = new GenerationRequest.ResponseOptions(
                body.texts("request_id"),
                server.model(),
                body.flag("stream"),
                usage,
                usage && wanted.flag("continuous_usage_stats"),
                echo,
                body.flag("return_token_ids"),
                false,
                1,
                false,
                role);
        GenerationRequest.Stops stops = new GenerationRequest.Stops(
                body.texts("stop"),
                body.tokenSet("stop_token_ids"),
                body.flag("include_stop_str_in_output"),
                Math.max(0, body.small("min_tokens").orElse(0)));
        return new GenerationRequest(
                limited, Math.clamp(body.whole("n").orElse(1), 1, MOST_ANSWERS), echoOnly, stops, options);
    }
}
