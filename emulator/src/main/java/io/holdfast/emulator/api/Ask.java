package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.Terms;
import io.holdfast.emulator.sglang.SglangSettings;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What a client asks for, read from one of the three request bodies. */
final class Ask {
    /** A request that the server refuses with 400. */
    static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Refused(String message) {
            super(message);
        }
    }

    private static final int NATIVE_DEFAULT = 128;
    private static final int COMPLETION_DEFAULT = 16;

    final int[] prompt;
    final Terms terms;
    final boolean stream;
    final boolean includeUsage;

    private Ask(JsonObject body, int[] prompt, int maxNew, SglangSettings settings) {
        this.prompt = prompt;
        this.terms = terms(body, limit(prompt.length, maxNew, settings));
        this.stream = Boolean.TRUE.equals(body.getValue("stream"));
        this.includeUsage = body.getValue("stream_options") instanceof JsonObject options
                && Boolean.TRUE.equals(options.getValue("include_usage"));
    }

    /** The body of {@code /generate}. */
    static Ask generate(JsonObject body, SglangSettings settings) {
        Object ids = body.getValue("input_ids");
        Object text = body.getValue("text");
        if ((ids == null) == (text == null)) {
            throw new Refused("Either text or input_ids should be provided, and not both.");
        }
        int[] prompt = prompt(ids == null ? text : ids, ids == null ? "text" : "input_ids");
        JsonObject sampling = body.getValue("sampling_params") instanceof JsonObject given ? given : new JsonObject();
        return new Ask(
                body, prompt, number(sampling.getValue("max_new_tokens"), "max_new_tokens", NATIVE_DEFAULT), settings);
    }

    static Ask completion(JsonObject body, SglangSettings settings) {
        int[] prompt = prompt(body.getValue("prompt"), "prompt");
        return new Ask(body, prompt, number(body.getValue("max_tokens"), "max_tokens", COMPLETION_DEFAULT), settings);
    }

    static Ask chat(JsonObject body, SglangSettings settings) {
        if (!(body.getValue("messages") instanceof JsonArray messages) || messages.isEmpty()) {
            throw new Refused("messages must be a list of at least one message.");
        }
        List<Tokenizer.Turn> turns = new ArrayList<>();
        for (Object message : messages) {
            if (!(message instanceof JsonObject turn) || !(turn.getValue("role") instanceof String role)) {
                throw new Refused("Each message must be an object with a role and a content.");
            }
            turns.add(new Tokenizer.Turn(role, content(turn.getValue("content"))));
        }
        Object limit = body.getValue("max_completion_tokens", body.getValue("max_tokens"));
        return new Ask(body, Tokenizer.chatTokens(turns), number(limit, "max_tokens", NATIVE_DEFAULT), settings);
    }

    private static String content(@Nullable Object content) {
        return switch (content) {
            case null -> "";
            case String text -> text;
            case JsonArray parts -> {
                StringBuilder text = new StringBuilder();
                for (Object part : parts) {
                    if (!(part instanceof JsonObject object) || !(object.getValue("text") instanceof String words)) {
                        throw new Refused("Only text parts of a message are understood here.");
                    }
                    text.append(words).append(' ');
                }
                yield text.toString();
            }
            default -> throw new Refused("The content of a message must be text.");
        };
    }

    private static int[] prompt(@Nullable Object value, String name) {
        int[] tokens = switch (value) {
            case String text -> Tokenizer.tokens(text);
            case JsonArray list
            when list.size() == 1 && !(list.getValue(0) instanceof Number) -> prompt(list.getValue(0), name);
            case JsonArray list -> tokenIds(list, name);
            case null, default ->
                throw new Refused(name + " must be a text or a list of token ids, one prompt per request.");
        };
        if (tokens.length == 0) {
            throw new Refused(name + " cannot be empty.");
        }
        return tokens;
    }

    private static int[] tokenIds(JsonArray list, String name) {
        int[] tokens = new int[list.size()];
        for (int i = 0; i < tokens.length; i++) {
            if (!(list.getValue(i) instanceof Integer token) || token < 0) {
                throw new Refused(name + " must hold token ids, whole numbers from 0 on; one prompt per request.");
            }
            tokens[i] = token;
        }
        return tokens;
    }

    private static int number(@Nullable Object value, String name, int otherwise) {
        if (value == null) {
            return otherwise;
        }
        if (!(value instanceof Integer number) || number < 1) {
            throw new Refused(name + " must be at least 1, got " + value + ".");
        }
        return number;
    }

    private static Terms terms(JsonObject body, int maxNew) {
        Terms terms = Terms.of(maxNew)
                .withSalt(text(body.getValue("cache_salt")))
                .withExtraKey(text(body.getValue("extra_key")))
                .withSession(text(body.getValue("session_id")))
                .withPriority(body.getValue("priority") instanceof Integer priority ? priority : 0);
        return body.getValue("_force_output_ids") instanceof JsonArray forced
                ? terms.withForced(Arrays.stream(tokenIds(forced, "_force_output_ids"))
                        .boxed()
                        .toList())
                : terms;
    }

    private static String text(@Nullable Object value) {
        return value instanceof String text ? text : "";
    }

    private static int limit(int prompt, int wanted, SglangSettings settings) {
        int context = settings.contextTokens();
        if (prompt >= context) {
            throw new Refused(String.format(
                    Locale.ROOT,
                    "The input (%d tokens) is longer than the model's context length (%d tokens).",
                    prompt,
                    context));
        }
        if (prompt > settings.maxPromptTokens()) {
            throw new Refused(String.format(
                    Locale.ROOT,
                    "Input length (%d tokens) exceeds the maximum allowed length (%d tokens). Use a shorter input or"
                            + " enable --allow-auto-truncate.",
                    prompt,
                    settings.maxPromptTokens()));
        }
        if ((long) prompt + wanted > context) {
            throw new Refused(String.format(
                    Locale.ROOT,
                    "Requested token count exceeds the model's maximum context length of %d tokens. You requested a"
                        + " total of %d tokens: %d tokens from the input messages and %d tokens for the completion.",
                    context,
                    (long) prompt + wanted,
                    prompt,
                    wanted));
        }
        return Math.min(wanted, settings.maxRequestTokens() - prompt - 1);
    }
}
