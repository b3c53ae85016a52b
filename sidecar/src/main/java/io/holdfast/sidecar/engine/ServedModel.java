package io.holdfast.sidecar.engine;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Which model an engine says it serves: every family tells it at {@code /v1/models}. */
public final class ServedModel {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String MODELS = "/v1/models";

    private ServedModel() {}

    /** What came of asking. */
    public sealed interface Attempt {
        /** The engine answered; no name where it does not tell it. */
        record Answered(Optional<String> model) implements Attempt {}

        /** It asks for a key first; one sentence on it. */
        record Refused(String why) implements Attempt {}

        /** It did not, or was too busy to; one sentence why. */
        record Unanswered(String why) implements Attempt {}
    }

    public static CompletionStage<Attempt> ask(EngineHttp http) {
        return http.get(MODELS).thenApply(ServedModel::attempt);
    }

    private static Attempt attempt(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> new Attempt.Unanswered(lost.why());
            case Reply.Answer answer
            when answer.status() == 429 || answer.status() >= 500 ->
                new Attempt.Unanswered("It answers " + MODELS + " with HTTP " + answer.status() + ".");
            case Reply.Answer answer when answer.wantsKey() -> new Attempt.Refused(answer.wantedKey(MODELS));
            case Reply.Answer answer when answer.status() == 200 -> new Attempt.Answered(name(answer.body()));
            case Reply.Answer answer -> new Attempt.Answered(Optional.empty());
        };
    }

    /** Adapters are listed behind the model that they adapt. */
    private static Optional<String> name(String body) {
        try {
            JsonNode id = JSON.readTree(body).path("data").path(0).path("id");
            return id.isTextual() ? Optional.of(id.textValue()) : Optional.empty();
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
    }
}
