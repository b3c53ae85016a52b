package io.holdfast.sglang;

import io.holdfast.core.backend.Outcome;
import io.holdfast.http.EngineHttp;
import java.util.Collection;
import java.util.concurrent.CompletionStage;

/** Closes sessions of an SGLang engine, whose ids are safe in JSON. It says the same of one that never was. */
public final class SglangSessions {
    static final String NO_ROUTE = "This engine has no sessions: it is older than SGLang 0.5.9, or no SGLang.";

    private static final String CLOSE = "/close_session";

    private final EngineHttp http;

    public SglangSessions(EngineHttp http) {
        this.http = http;
    }

    /** Closes one session. */
    public CompletionStage<Outcome> close(String session) {
        return http.post(CLOSE, "{\"session_id\":\"" + session + "\"}")
                .thenApply(reply -> Answers.trouble(reply, NO_ROUTE)
                        .orElseGet(() ->
                                new Outcome(Outcome.Kind.ACCEPTED, "The engine closed the session " + session + ".")));
    }

    /** Closes several side by side, since one call closes one, and answers that all were closed, or why one was not. */
    CompletionStage<Outcome> close(Collection<String> sessions) {
        return sessions.stream()
                .map(this::close)
                .reduce((one, other) -> one.thenCombine(
                        other, (first, second) -> first.kind() == Outcome.Kind.ACCEPTED ? second : first))
                .orElseThrow();
    }
}
