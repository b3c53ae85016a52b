package io.holdfast.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.http.RenderedPrompt.Cause;
import io.holdfast.http.RenderedPrompt.Refused;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.regex.Pattern;

/**
 * The {@code /tokenize} that both families of engines have, asked and its answers read; what differs in its bodies is
 * theirs.
 *
 * <p>What an engine says of a body that it refuses may quote the body. Prompts are nobody else's business, so everything
 * from a quotation on is cut off.
 */
public final class TokenizeRoute {
    private static final String PATH = "/tokenize";
    private static final int MOST_SAID = 200;
    private static final Pattern QUOTATION = Pattern.compile("(?s)[,;]?\\s*(\"?'?input'?\"?\\s*[:=]|\\R\\s*File \").*");
    /** A validator's complaint that there is no prompt, which is that of a release which knows no messages. */
    private static final Pattern WANTS_PROMPT =
            Pattern.compile("(?s)missing.{0,40}'body',\\s*'prompt'|'body',\\s*'prompt'.{0,40}missing");

    private final EngineHttp http;

    public TokenizeRoute(EngineHttp http) {
        this.http = http.texts();
    }

    /** The body of a question about a text. */
    public static ObjectNode text(String prompt) {
        // As the routes for completions do, whatever the default here.
        return JsonNodeFactory.instance.objectNode().put("prompt", prompt).put("add_special_tokens", true);
    }

    /** The body of a question about a conversation. */
    public static ObjectNode messages(ArrayNode messages, Optional<ArrayNode> tools) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.set("messages", messages);
        tools.ifPresent(known -> body.set("tools", known));
        return body;
    }

    /** Requests the tokens. */
    public CompletionStage<RenderedPrompt> ask(ObjectNode body) {
        return http.post(PATH, body.toString()).thenApply(reply -> switch (reply) {
            case Reply.NoAnswer lost -> new Refused(Cause.ENGINE_SILENT, lost.why());
            case Reply.Answer answer when answer.status() == 200 -> tokens(answer);
            case Reply.Answer answer -> refused(answer, body.has("messages"));
        });
    }

    private static RenderedPrompt tokens(Reply.Answer answer) {
        JsonNode tokens = answer.json().path("tokens");
        boolean whole = tokens.isArray();
        int[] ids = new int[whole ? tokens.size() : 0];
        for (int i = 0; whole && i < ids.length; i++) {
            JsonNode token = tokens.get(i);
            whole = token.isIntegralNumber() && token.canConvertToLong() && token.longValue() >>> 32 == 0;
            ids[i] = (int) token.longValue();
        }
        return whole
                ? new RenderedPrompt.Tokens(ids)
                : new Refused(
                        Cause.ENGINE_CANNOT,
                        "The engine answered " + PATH + " without a list of tokens; send the prefix as tokens.");
    }

    private static Refused refused(Reply.Answer answer, boolean conversation) {
        int status = answer.status();
        String said = said(answer);
        if (status == 404 && said.isEmpty()) {
            return cannot("The engine has no " + PATH + ", so it cannot say which tokens it makes of a prompt; send"
                    + " tokens, or hold by example: POST …/examples.");
        }
        if (status == 404) {
            return cannot("The engine does not serve the requested model (" + said + ").");
        }
        if (answer.wantsKey()) {
            return cannot(answer.wantedKey(PATH));
        }
        if (status == 408 || status == 429 || status == 502 || status == 503 || status == 504) {
            return new Refused(
                    Cause.ENGINE_SILENT,
                    "The engine is too busy for " + PATH + ", or loads its model (HTTP " + status + "); ask again.");
        }
        if (status == 413) {
            return new Refused(Cause.PROMPT, "The prompt is longer than the engine's " + PATH + " takes.");
        }
        if (status >= 500) {
            return cannot("The engine failed at " + PATH + " (HTTP " + status
                    + "), as one without a tokenizer does; send tokens, or hold by example: POST …/examples.");
        }
        if (conversation && WANTS_PROMPT.matcher(answer.body()).find()) {
            return cannot("This engine's " + PATH + " takes no messages, as SGLang's did not before mid-2026; send"
                    + " tokens, or hold by example: POST …/examples, send the conversation to the engine, and hold what"
                    + " it shows.");
        }
        return new Refused(
                Cause.PROMPT,
                "The engine's " + PATH + " refuses it (HTTP " + status + (said.isEmpty() ? "" : ": " + said) + ").");
    }

    private static Refused cannot(String sentence) {
        return new Refused(Cause.ENGINE_CANNOT, sentence);
    }

    /** The engine's own words without what they quote, as a part of a sentence. */
    private static String said(Reply.Answer answer) {
        String plain = QUOTATION
                .matcher(answer.message())
                .replaceFirst("")
                .replaceAll("\\s+", " ")
                .strip()
                .replaceAll("\\.+$", "");
        return plain.length() > MOST_SAID ? plain.substring(0, MOST_SAID) + "…" : plain;
    }
}
