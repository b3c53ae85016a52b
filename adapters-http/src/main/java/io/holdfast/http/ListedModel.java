package io.holdfast.http;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * First model that an engine lists at {@value #PATH}, which engines of every family have. Adapters are listed behind
 * the model that they adapt.
 *
 * @param name the model's name; absent where the engine does not report it
 * @param contextTokens the most tokens of prompt and answer together, which a vLLM reports here
 * @param owner the word for whoever made it, by which some engines name themselves
 */
public record ListedModel(Optional<String> name, OptionalDouble contextTokens, Optional<String> owner) {
    /** Route of the list. */
    public static final String PATH = "/v1/models";

    /** Reads the list; nothing is known where the text is no such list. */
    public static ListedModel first(String body) {
        JsonNode model = EngineJson.read(body).path("data").path(0);
        JsonNode context = model.path("max_model_len");
        return new ListedModel(
                text(model.path("id")),
                context.isNumber() ? OptionalDouble.of(context.doubleValue()) : OptionalDouble.empty(),
                text(model.path("owned_by")));
    }

    private static Optional<String> text(JsonNode value) {
        return Optional.of(value)
                .filter(JsonNode::isTextual)
                .map(JsonNode::textValue)
                .filter(text -> !text.isEmpty());
    }
}
