package io.holdfast.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The {@code /detokenize} that both families of engines have: the text of tokens, where the engine runs with a tokenizer. */
public final class DetokenizeRoute {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PATH = "/detokenize";

    private final EngineHttp http;

    public DetokenizeRoute(EngineHttp http) {
        this.http = http;
    }

    /** Asks; absent where the engine does not tell, whatever the reason. */
    public CompletionStage<Optional<String>> text(List<Integer> tokens) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        ArrayNode ids = body.putArray("tokens");
        tokens.forEach(token -> ids.add(Integer.toUnsignedLong(token)));
        return http.post(PATH, body.toString())
                .thenApply(reply -> reply instanceof Reply.Answer answer && answer.status() == 200
                        ? told(answer.body())
                        : Optional.empty());
    }

    /** SGLang calls it text, vLLM the prompt. */
    private static Optional<String> told(String body) {
        try {
            JsonNode answer = JSON.readTree(body);
            JsonNode text = answer.path("text").isTextual() ? answer.path("text") : answer.path("prompt");
            return Optional.of(text).filter(JsonNode::isTextual).map(JsonNode::textValue);
        } catch (JsonProcessingException e) {
            return Optional.empty();
        }
    }
}
