package io.holdfast.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The {@code /detokenize} that both families of engines have: the text of tokens, where the engine runs with a tokenizer. */
public final class DetokenizeRoute {
    private static final String PATH = "/detokenize";

    private final EngineHttp http;

    public DetokenizeRoute(EngineHttp http) {
        this.http = http;
    }

    /** Requests the text; absent where the engine does not give it, whatever the reason. */
    public CompletionStage<Optional<String>> text(List<Integer> tokens) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        ArrayNode ids = body.putArray("tokens");
        tokens.forEach(token -> ids.add(Integer.toUnsignedLong(token)));
        return http.post(PATH, body.toString())
                .thenApply(reply -> reply instanceof Reply.Answer answer && answer.status() == 200
                        ? text(answer.body())
                        : Optional.empty());
    }

    /** Returns the text in the body of an answer, which SGLang calls text and vLLM the prompt; absent where there is none. */
    public static Optional<String> text(String body) {
        JsonNode answer = EngineJson.read(body);
        return Optional.of(answer.path("text").isTextual() ? answer.path("text") : answer.path("prompt"))
                .filter(JsonNode::isTextual)
                .map(JsonNode::textValue);
    }
}
