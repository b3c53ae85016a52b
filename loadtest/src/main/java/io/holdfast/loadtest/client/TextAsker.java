package io.holdfast.loadtest.client;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.LoadTestException;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** Asks a server for what it says, greedily, where nobody looks at the time that it takes. Any thread may call. */
public final class TextAsker implements AutoCloseable {
    private static final String PATH = "/v1/completions";

    private final ControlHttp http;
    private final Optional<String> model;

    public TextAsker(URI server, Optional<String> model, Duration limit) {
        this.http = new ControlHttp(server, Map.of(), limit);
        this.model = model;
    }

    /** Returns the whole answer, and blocks until it is there. */
    public String said(String prompt, int mostTokens, String end) {
        ObjectNode body = ControlHttp.JSON.createObjectNode();
        model.ifPresent(name -> body.put("model", name));
        body.put("prompt", prompt).put("max_tokens", mostTokens).put("temperature", 0);
        body.putArray("stop").add(end);
        try {
            ControlHttp.Answer answer = http.post(PATH, body.toString());
            if (!answer.isOk()
                    || !answer.json().path("choices").path(0).path("text").isTextual()) {
                throw new LoadTestException("The server did not answer a question: "
                        + ControlHttp.withoutEnd(answer.problem()) + "; see whether it has " + PATH + ".");
            }
            return answer.json().path("choices").path(0).path("text").asText();
        } catch (IOException e) {
            throw new LoadTestException(
                    "The server did not answer a question: " + ControlHttp.withoutEnd(String.valueOf(e.getMessage()))
                            + "; see whether it serves.",
                    e);
        }
    }

    @Override
    public void close() {
        http.close();
    }
}
