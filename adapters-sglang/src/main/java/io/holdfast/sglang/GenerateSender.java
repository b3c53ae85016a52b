package io.holdfast.sglang;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/** Has an SGLang engine store a prefix alone: one token is requested after it, by its route for token ids. */
public final class GenerateSender implements PrefixSender {
    private static final String PATH = "/generate";
    private static final String NO_ROUTE = "This engine has no /generate route, so it is no SGLang.";

    /** A request waits for its turn, behind those of users. */
    static final Duration QUEUE = Duration.ofMinutes(1);

    private final EngineHttp http;

    public GenerateSender(EngineHttp http) {
        this.http = http.waiting(QUEUE);
    }

    @Override
    public CompletionStage<Outcome> send(int[] tokens) {
        return http.post(PATH, body(tokens, ""))
                .thenApply(reply -> Answers.trouble(reply, NO_ROUTE)
                        .orElseGet(() -> new Outcome(
                                Outcome.Kind.ACCEPTED,
                                "The engine answered a request of " + tokens.length + " tokens.",
                                cached(reply))));
    }

    /** Tokens of the prompt that the engine found in its cache, which it always reports on this route. */
    static OptionalLong cached(Reply reply) {
        JsonNode cached = reply instanceof Reply.Answer answer
                ? answer.json().path("meta_info").path("cached_tokens")
                : MissingNode.getInstance();
        return cached.isNumber() ? OptionalLong.of(cached.longValue()) : OptionalLong.empty();
    }

    /** {@code fields} are what the request has beside its tokens, each with a comma behind it, or empty. */
    static String body(int[] tokens, String fields) {
        return "{" + fields + "\"input_ids\":"
                + Arrays.toString(
                        Arrays.stream(tokens).mapToLong(Integer::toUnsignedLong).toArray())
                + ",\"sampling_params\":{\"max_new_tokens\":1,\"temperature\":0}}";
    }
}
