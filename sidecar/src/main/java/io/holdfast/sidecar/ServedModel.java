package io.holdfast.sidecar;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Which model an engine says it serves: every family tells it at {@code /v1/models}. */
final class ServedModel {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String MODELS = "/v1/models";

    private ServedModel() {}

    /** What came of asking. */
    sealed interface Told {
        /** The engine answered; no name where it does not tell it. */
        record Answered(Optional<String> model) implements Told {}

        /** It did not, or was too busy to. */
        record Silent() implements Told {}
    }

    static CompletionStage<Told> ask(EngineHttp http) {
        return http.get(MODELS).thenApply(ServedModel::told);
    }

    private static Told told(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> new Told.Silent();
            case Reply.Answer answer when answer.status() == 429 || answer.status() >= 500 -> new Told.Silent();
            case Reply.Answer answer when answer.status() == 200 -> new Told.Answered(name(answer.body()));
            case Reply.Answer answer -> new Told.Answered(Optional.empty());
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
