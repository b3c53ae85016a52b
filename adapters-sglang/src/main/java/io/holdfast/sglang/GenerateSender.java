package io.holdfast.sglang;

import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PrefixSender;
import io.holdfast.http.EngineHttp;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;

/** Has an SGLang engine store a prefix alone: one token is asked for after it, by its route for token ids. */
public final class GenerateSender implements PrefixSender {
    private static final String PATH = "/generate";
    private static final String NO_ROUTE = "This engine has no /generate route, so it is no SGLang.";

    private final EngineHttp http;

    public GenerateSender(EngineHttp http) {
        this.http = http;
    }

    @Override
    public CompletionStage<Outcome> send(int[] tokens) {
        return http.post(PATH, body(tokens, ""))
                .thenApply(reply -> Answers.trouble(reply, NO_ROUTE)
                        .orElseGet(() -> new Outcome(
                                Outcome.Kind.ACCEPTED,
                                "The engine answered a request of " + tokens.length + " tokens.")));
    }

    /** {@code session} is the session to name, or empty for none. */
    static String body(int[] tokens, String session) {
        return "{" + (session.isEmpty() ? "" : "\"session_id\":\"" + session + "\",") + "\"input_ids\":"
                + Arrays.toString(tokens) + ",\"sampling_params\":{\"max_new_tokens\":1,\"temperature\":0}}";
    }
}
