package io.holdfast.sglang;

import io.holdfast.core.backend.Outcome;
import io.holdfast.http.Reply;
import java.util.Optional;

/** Meaning of an SGLang engine's answers to a backend's calls, whatever was called. */
final class Answers {
    private static final String MAYBE_DONE = " The engine may have carried it out all the same.";

    private Answers() {}

    /** Returns true if the engine, or a proxy before it, did not get to the end of the call. */
    static boolean busy(Reply.Answer answer) {
        return answer.status() == 408 || answer.status() == 429 || answer.status() == 499 || answer.status() >= 500;
    }

    /** Outcome of a call that failed, or whose effect is unknown; absent where the engine answered with a yes. */
    static Optional<Outcome> trouble(Reply reply, String noRoute) {
        return switch (reply) {
            case Reply.NoAnswer lost when lost.maybeDone() -> unclear(lost.why());
            case Reply.NoAnswer lost -> outcome(Outcome.Kind.NOT_SENT, lost.why() + " It was not carried out.");
            case Reply.Answer answer
            when answer.status() / 100 == 2 ->
                aborted(answer) ? unclear("The engine aborted the request.") : Optional.empty();
            case Reply.Answer answer when answer.status() == 404 -> outcome(Outcome.Kind.REJECTED, noRoute);
            case Reply.Answer answer when answer.wantsKey() -> outcome(Outcome.Kind.REJECTED, anotherKey(answer));
            case Reply.Answer answer
            when busy(answer) -> unclear("The engine answered HTTP " + answer.status() + ": " + answer.said());
            case Reply.Answer answer ->
                outcome(
                        Outcome.Kind.REJECTED,
                        "The engine refused with HTTP " + answer.status() + ": " + answer.said());
        };
    }

    /** An aborted request is answered with a yes, whether it was begun or not. */
    private static boolean aborted(Reply.Answer answer) {
        return answer.body().contains("abort")
                && answer.json()
                        .path("meta_info")
                        .path("finish_reason")
                        .path("type")
                        .asText("")
                        .equals("abort");
    }

    /** Returns the outcome of a call that may have been carried out. */
    static Optional<Outcome> unclear(String why) {
        return outcome(Outcome.Kind.DEFERRED, why + MAYBE_DONE);
    }

    private static Optional<Outcome> outcome(Outcome.Kind kind, String reason) {
        return Optional.of(new Outcome(kind, reason));
    }

    static String anotherKey(Reply.Answer answer) {
        return "The engine wants another key (HTTP " + answer.status()
                + "): apiKeyEnv names the variable of the one for requests, adminKeyEnv that of the one for pins.";
    }

    /** Returns why an answer says nothing about what the engine can do; absent when it does say it. */
    static Optional<String> whyUnanswered(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> Optional.of(lost.why());
            case Reply.Answer answer
            when busy(answer) ->
                Optional.of("The engine answered a probe with HTTP " + answer.status() + ": " + answer.said());
            case Reply.Answer answer -> Optional.empty();
        };
    }
}
