package io.holdfast.sglang;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.backend.Outcome;
import io.holdfast.http.Reply;
import java.util.Optional;

/** Meaning of an SGLang engine's answers to a backend's calls, whatever was called. */
final class Answers {
    private static final ObjectMapper JSON = new ObjectMapper();
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
            when busy(answer) -> unclear("The engine answered HTTP " + answer.status() + ": " + said(answer));
            case Reply.Answer answer ->
                outcome(Outcome.Kind.REJECTED, "The engine refused with HTTP " + answer.status() + ": " + said(answer));
        };
    }

    /** An aborted request is answered with a yes, whether it was begun or not. */
    private static boolean aborted(Reply.Answer answer) {
        return answer.body().contains("abort")
                && json(answer)
                        .path("meta_info")
                        .path("finish_reason")
                        .path("type")
                        .asText("")
                        .equals("abort");
    }

    /** Nobody knows whether it was done. */
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

    /** The engine's own words, as a sentence's end. */
    static String said(Reply.Answer answer) {
        String message = json(answer).path("message").asText("");
        String text = message.isEmpty() ? answer.body().strip() : message;
        String shortened = text.length() > 200 ? text.substring(0, 200) + "…" : text;
        return shortened.endsWith(".") ? shortened : shortened + ".";
    }

    static JsonNode json(Reply.Answer answer) {
        try {
            return JSON.readTree(answer.body());
        } catch (JsonProcessingException e) {
            return JSON.missingNode();
        }
    }
}
