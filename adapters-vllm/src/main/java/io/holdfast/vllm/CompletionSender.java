package io.holdfast.vllm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.ListedModel;
import io.holdfast.http.Reply;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Has an engine compute a prefix: one token is requested after it, by the completions route, which takes token ids from vLLM
 * and TensorRT-LLM alike.
 */
public final class CompletionSender implements PrefixSender {
    private static final String COMPLETIONS = "/v1/completions";
    private static final String TRANSFER = "kv_transfer_params";
    private static final String MODELS = ListedModel.PATH;
    private static final String MAYBE_DONE = " The engine may have carried it out all the same.";
    /** A request waits for its turn, behind those of users. */
    private static final Duration QUEUE = Duration.ofMinutes(1);

    private final EngineHttp http;
    private volatile Optional<String> model = Optional.empty();
    /** True once the engine told how much it found; the next process at its address may be started otherwise. */
    private volatile boolean tells;

    public CompletionSender(EngineHttp http) {
        this.http = http.waiting(QUEUE);
    }

    /**
     * Answer of the engine.
     *
     * @param promptTokens tokens of the prompt as the engine counted them
     * @param transfer what its connector said; missing where it said nothing
     */
    record Answer(Outcome outcome, OptionalLong promptTokens, JsonNode transfer) {
        private Answer(Outcome outcome) {
            this(outcome, OptionalLong.empty(), MissingNode.getInstance());
        }

        private static Answer of(Outcome outcome, JsonNode body) {
            JsonNode counted = body.path("usage").path("prompt_tokens");
            return new Answer(
                    outcome,
                    counted.isNumber() ? OptionalLong.of(counted.longValue()) : OptionalLong.empty(),
                    body.path(TRANSFER));
        }

        /** Returns true if the engine says that it found less than these tokens in its cache. */
        boolean foundLessThan(int tokens) {
            return outcome.cachedTokens().isPresent() && outcome.cachedTokens().getAsLong() < tokens;
        }
    }

    /**
     * Returns a prefix with one token more than whole blocks, or the engine would compute and store the last block
     * again ({@link io.holdfast.core.backend.KeepWarmBackend}).
     */
    static int[] andOneMore(int[] prefix) {
        int[] tokens = Arrays.copyOf(prefix, prefix.length + 1);
        tokens[prefix.length] = prefix[prefix.length - 1];
        return tokens;
    }

    @Override
    public CompletionStage<Outcome> send(int[] tokens) {
        return ask(tokens, MissingNode.getInstance()).thenApply(Answer::outcome);
    }

    /** Sends a prefix with a message to the engine's connector. */
    CompletionStage<Answer> ask(int[] tokens, JsonNode transfer) {
        return model.isPresent()
                ? send(model.get(), tokens, transfer)
                : http.get(MODELS).thenCompose(reply -> {
                    Optional<String> name = name(reply);
                    if (name.isEmpty()) {
                        return CompletableFuture.completedFuture(new Answer(new Outcome(
                                Kind.NOT_SENT,
                                switch (reply) {
                                    case Reply.NoAnswer lost -> lost.why();
                                    case Reply.Answer answer when answer.wantsKey() -> answer.wantedKey(MODELS);
                                    case Reply.Answer answer ->
                                        "The engine's " + MODELS + " names no model, and a request has to name it.";
                                })));
                    }
                    model = name;
                    return send(name.get(), tokens, transfer);
                });
    }

    private CompletionStage<Answer> send(String name, int[] tokens, JsonNode transfer) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("model", name);
        ArrayNode prompt = body.putArray("prompt");
        for (int token : tokens) {
            prompt.add(token & 0xffff_ffffL);
        }
        body.put("max_tokens", 1).put("temperature", 0);
        if (transfer.isObject()) {
            body.set(TRANSFER, transfer);
        }
        return http.post(COMPLETIONS, body.toString())
                .thenApply(reply -> Answer.of(
                        outcome(reply, tokens.length),
                        reply instanceof Reply.Answer answer ? answer.json() : MissingNode.getInstance()));
    }

    private Outcome outcome(Reply reply, int tokens) {
        return switch (reply) {
            case Reply.NoAnswer lost -> {
                tells = false;
                yield lost.maybeDone()
                        ? new Outcome(Kind.DEFERRED, lost.why() + MAYBE_DONE)
                        : new Outcome(Kind.NOT_SENT, lost.why() + " It was not carried out.");
            }
            case Reply.Answer answer
            when answer.status() == 200 ->
                new Outcome(Kind.ACCEPTED, "The engine answered a request of " + tokens + " tokens.", cached(answer));
            case Reply.Answer answer
            when answer.wantsKey() -> new Outcome(Kind.REJECTED, answer.wantedKey(COMPLETIONS));
            case Reply.Answer answer
            when answer.status() == 404 -> {
                // Another model may be served by now.
                model = Optional.empty();
                yield new Outcome(Kind.NOT_SENT, "The engine has no such model or route: " + answer.said());
            }
            case Reply.Answer answer
            when answer.status() == 429 || answer.status() >= 500 ->
                new Outcome(
                        Kind.DEFERRED,
                        "The engine answered HTTP " + answer.status() + ": " + answer.said() + MAYBE_DONE);
            case Reply.Answer answer ->
                new Outcome(Kind.REJECTED, "The engine refused with HTTP " + answer.status() + ": " + answer.said());
        };
    }

    private static Optional<String> name(Reply reply) {
        return reply instanceof Reply.Answer answer && answer.status() == 200
                ? ListedModel.first(answer.body()).name()
                : Optional.empty();
    }

    /** Told where the engine runs with --enable-prompt-tokens-details; older ones then say nothing for none. */
    private OptionalLong cached(Reply.Answer answer) {
        JsonNode usage = answer.json().path("usage");
        JsonNode cached = usage.path("prompt_tokens_details").path("cached_tokens");
        if (cached.isNumber()) {
            tells = true;
            return OptionalLong.of(cached.longValue());
        }
        return tells && usage.isObject() ? OptionalLong.of(0) : OptionalLong.empty();
    }
}
