package io.holdfast.loadtest.client;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.LoadRequest.Message;
import io.holdfast.loadtest.workload.PlainWords;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/** A route by which an engine is asked for tokens, as token ids or as text, and the form of its stream. */
public enum CompletionRoute {
    /** SGLang's own route. Always tells the cached tokens; the default, because a proof needs them. */
    SGLANG_GENERATE("/generate") {
        @Override
        ObjectNode question(Optional<String> model, LoadRequest request, boolean toTheEnd) {
            ObjectNode body = JSON.createObjectNode();
            body.set("input_ids", ids(request));
            ObjectNode sampling = body.putObject("sampling_params")
                    .put("temperature", 0.0)
                    .put("max_new_tokens", request.maxTokens());
            ignoreEnd(sampling, toTheEnd);
            request.session().ifPresent(name -> body.put("session_id", name));
            return body.put("stream", true);
        }

        @Override
        StreamEvent read(JsonNode event) {
            JsonNode facts = event.path("meta_info");
            OptionalInt tokens = count(facts.path("completion_tokens"));
            String text = event.path("text").asText("");
            // A first token that is half a character has no text yet: its count still says that it is there.
            boolean content = !text.isEmpty() || !event.path("output_ids").isEmpty() || tokens.orElse(0) > 0;
            return new StreamEvent(
                    content,
                    content,
                    !text.isBlank(),
                    facts.path("finish_reason").isObject()
                            || facts.path("finish_reason").isTextual(),
                    count(facts.path("prompt_tokens")),
                    tokens,
                    count(facts.path("cached_tokens")),
                    text);
        }

        // Each event has the whole answer so far, unless the engine was told otherwise.
        @Override
        void add(StringBuilder answer, StreamEvent event) {
            if (event.text().startsWith(answer.toString())) {
                answer.setLength(0);
            }
            answer.append(event.text());
        }
    },

    /**
     * The OpenAI completions route of SGLang and vLLM. Tells the cached tokens only where the engine was started with
     * its cache report on, and some versions leave them out when they are 0.
     */
    OPENAI_COMPLETIONS("/v1/completions") {
        @Override
        ObjectNode question(Optional<String> model, LoadRequest request, boolean toTheEnd) {
            ObjectNode body = JSON.createObjectNode();
            model.ifPresent(name -> body.put("model", name));
            body.set("prompt", ids(request));
            return likeOthers(body, request, toTheEnd);
        }

        @Override
        StreamEvent read(JsonNode event) {
            JsonNode choice = event.path("choices").path(0);
            String text = choice.path("text").asText("");
            return openAi(event, text, !text.isEmpty(), !text.isEmpty(), !text.isBlank());
        }
    },

    /** OpenAI's completions by text: for any server that speaks OpenAI's language, whatever its tokenizer. */
    OPENAI_TEXT("/v1/completions") {
        @Override
        ObjectNode question(Optional<String> model, LoadRequest request, boolean toTheEnd) {
            ObjectNode body = JSON.createObjectNode();
            model.ifPresent(name -> body.put("model", name));
            return likeOthers(body.put("prompt", text(request)), request, toTheEnd);
        }

        @Override
        StreamEvent read(JsonNode event) {
            JsonNode choice = event.path("choices").path(0);
            String text = choice.path("text").asText("");
            boolean content = !text.isEmpty() || lastByLength(choice);
            return openAi(event, text, content, content, !text.isBlank());
        }
    },

    /**
     * OpenAI's chat route, by one message of a user where the request has none of its own. The chunk that only names
     * the role is no token.
     */
    OPENAI_CHAT("/v1/chat/completions") {
        @Override
        ObjectNode question(Optional<String> model, LoadRequest request, boolean toTheEnd) {
            ObjectNode body = JSON.createObjectNode();
            model.ifPresent(name -> body.put("model", name));
            ArrayNode messages = body.putArray("messages");
            chat(request)
                    .forEach(message ->
                            messages.addObject().put("role", message.role()).put("content", message.content()));
            return likeOthers(body, request, toTheEnd);
        }

        @Override
        StreamEvent read(JsonNode event) {
            JsonNode choice = event.path("choices").path(0);
            // A whole answer is a message, of which a stream brings what is new.
            JsonNode delta = choice.has("message") ? choice.path("message") : choice.path("delta");
            // What a model thinks before it speaks is output that was waited for, under either of its names.
            String thought = delta.path("reasoning_content").asText("")
                    + delta.path("reasoning").asText("");
            String answer = delta.path("content").asText("");
            boolean content = !thought.isEmpty() || !answer.isEmpty() || lastByLength(choice);
            return openAi(event, thought + answer, content, !answer.isEmpty(), !thought.isBlank() || !answer.isBlank());
        }
    };

    private static final ObjectMapper JSON = new ObjectMapper();

    private final String path;

    CompletionRoute(String path) {
        this.path = path;
    }

    String path() {
        return path;
    }

    /** Returns true if the route sends token ids, so that the tokens of a hold are those that the load asks for. */
    public boolean sendsTokenIds() {
        return this == SGLANG_GENERATE || this == OPENAI_COMPLETIONS;
    }

    /**
     * Returns what a server writes on this route for one token of an answer; the last one includes the end of the
     * stream.
     */
    byte[] sample(int token, int of, int promptTokens) {
        String finished = token == of ? "\"length\"" : "null";
        StringBuilder event = new StringBuilder("data: ");
        if (this == SGLANG_GENERATE) {
            event.append("{\"text\":\"")
                    .append(" word".repeat(token))
                    .append("\",\"output_ids\":[")
                    .append(token)
                    .append("],\"meta_info\":{\"id\":\"0\",\"finish_reason\":")
                    .append(token == of ? "{\"type\":\"length\"}" : "null")
                    .append(",\"prompt_tokens\":")
                    .append(promptTokens)
                    .append(",\"completion_tokens\":")
                    .append(token)
                    .append(",\"cached_tokens\":0}}\n\n");
        } else {
            event.append("{\"id\":\"cmpl-0\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,")
                    .append(this == OPENAI_CHAT ? "\"delta\":{\"content\":\" word\"}" : "\"text\":\" word\"")
                    .append(",\"logprobs\":null,\"finish_reason\":")
                    .append(finished)
                    .append("}]}\n\n");
            if (token == of) {
                event.append("data: {\"id\":\"cmpl-0\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":")
                        .append("{\"prompt_tokens\":")
                        .append(promptTokens)
                        .append(",\"completion_tokens\":")
                        .append(of)
                        .append("}}\n\n");
            }
        }
        if (token == of) {
            event.append("data: [DONE]\n\n");
        }
        return event.toString().getBytes(StandardCharsets.UTF_8);
    }

    abstract ObjectNode question(Optional<String> model, LoadRequest request, boolean toTheEnd);

    abstract StreamEvent read(JsonNode event);

    /** Adds what an event brings to the answer so far. */
    void add(StringBuilder answer, StreamEvent event) {
        answer.append(event.text());
    }

    /** The body of a request that is answered with all the tokens that it may have. */
    byte[] body(Optional<String> model, LoadRequest request) {
        return body(model, request, true);
    }

    /**
     * The request's body; the same request always has the same bytes.
     *
     * @param toTheEnd whether the engine goes on after the model has ended its answer
     */
    byte[] body(Optional<String> model, LoadRequest request, boolean toTheEnd) {
        return bytes(question(model, request, toTheEnd));
    }

    /** Returns the request's body for an answer that comes as a whole. */
    byte[] wholeBody(Optional<String> model, LoadRequest request, boolean toTheEnd) {
        ObjectNode body = question(model, request, toTheEnd).put("stream", false);
        // Refused by servers where there is no stream.
        body.remove("stream_options");
        return bytes(body);
    }

    /** Makes the body without a field that is not needed. */
    byte[] bareBody(Optional<String> model, LoadRequest request, boolean streams) {
        ObjectNode body = question(model, request, false);
        body.remove("stream_options");
        if (!streams) {
            body.remove("stream");
        }
        return bytes(body);
    }

    private static byte[] bytes(ObjectNode body) {
        try {
            return JSON.writeValueAsBytes(body);
        } catch (JsonProcessingException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Reads one event of a stream.
     *
     * @throws IOException when it is no JSON or says that the engine failed
     */
    StreamEvent read(byte[] bytes, int length) throws IOException {
        JsonNode event = JSON.readTree(bytes, 0, length);
        if (!event.isObject()) {
            throw new IOException("an event of the stream is no JSON object");
        }
        JsonNode error = event.path("error");
        if (!error.isMissingNode() && !error.isNull()) {
            throw new IOException("the engine reported " + error.path("message").asText(error.toString()));
        }
        return read(event);
    }

    private static String text(LoadRequest request) {
        return request.messages().isEmpty()
                ? PlainWords.text(request.tokens())
                : request.messages().stream().map(Message::content).collect(Collectors.joining("\n"));
    }

    private static List<Message> chat(LoadRequest request) {
        return request.messages().isEmpty()
                ? List.of(new Message("user", PlainWords.text(request.tokens())))
                : request.messages();
    }

    private static ArrayNode ids(LoadRequest request) {
        ArrayNode tokens = JSON.createArrayNode();
        for (int token : request.tokens()) {
            tokens.add(token);
        }
        return tokens;
    }

    /** Adds the fields that all of OpenAI's routes have in common. */
    private static ObjectNode likeOthers(ObjectNode body, LoadRequest request, boolean toTheEnd) {
        body.put("max_tokens", request.maxTokens()).put("temperature", 0.0);
        ignoreEnd(body, toTheEnd);
        body.put("stream", true);
        request.session().ifPresent(name -> body.put("session_id", name));
        body.putObject("stream_options").put("include_usage", true);
        return body;
    }

    /** Leaves the field out, rather than false, where it is not wanted: it is no field of OpenAI's own. */
    private static void ignoreEnd(ObjectNode parameters, boolean toTheEnd) {
        if (toTheEnd) {
            parameters.put("ignore_eos", true);
        }
    }

    private static StreamEvent openAi(JsonNode event, String text, boolean content, boolean answer, boolean visible) {
        JsonNode usage = event.path("usage");
        return new StreamEvent(
                content,
                answer,
                visible,
                event.path("choices").path(0).path("finish_reason").isTextual(),
                count(usage.path("prompt_tokens")),
                count(usage.path("completion_tokens")),
                count(usage.path("prompt_tokens_details").path("cached_tokens")),
                text);
    }

    /** An answer that was cut off by its length has a last token, even one without any text, as half a character. */
    private static boolean lastByLength(JsonNode choice) {
        return "length".equals(choice.path("finish_reason").asText(""));
    }

    private static OptionalInt count(JsonNode number) {
        return number.isIntegralNumber() && number.canConvertToInt() && number.intValue() >= 0
                ? OptionalInt.of(number.intValue())
                : OptionalInt.empty();
    }

    /**
     * Content of one event of a stream.
     *
     * @param content whether it brings output
     * @param answer whether it brings output that is not reasoning
     * @param visible whether it has text other than white space
     * @param finished whether it gives a reason for the end
     * @param text of the output that it brings, or of all so far
     */
    record StreamEvent(
            boolean content,
            boolean answer,
            boolean visible,
            boolean finished,
            OptionalInt promptTokens,
            OptionalInt completionTokens,
            OptionalInt cachedTokens,
            String text) {}
}
