package io.holdfast.lmcache;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;

/** The part of a coordinator's HTTP API that pins. */
final class Coordinator {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PINS = "/cache/pins";
    private static final int LONGEST_SAID = 200;

    private final EngineHttp http;

    Coordinator(EngineHttp http) {
        this.http = http;
    }

    URI address() {
        return URI.create(http.base().toString().replaceAll("/+$", ""));
    }

    /** What came of asking to pin nothing. */
    sealed interface Route {
        record There() implements Route {}

        record Missing(String why) implements Route {}

        /** It said nothing about that. */
        record Unanswered(String why) implements Route {}
    }

    /** Whether it has the routes, which pinning no tokens tells. */
    CompletionStage<Route> route(String model, int worldSize) {
        return http.post(PINS, body(new PinHandle(address(), worldSize, model, new int[0])))
                .thenApply(reply -> {
                    Optional<Outcome> trouble = trouble(reply);
                    if (trouble.isEmpty()) {
                        return new Route.There();
                    }
                    Outcome came = trouble.get();
                    return came.kind() == Kind.REJECTED
                            ? new Route.Missing(came.reason())
                            : new Route.Unanswered(came.reason());
                });
    }

    CompletionStage<Outcome> pin(PinHandle pin) {
        return http.post(PINS, body(pin)).thenApply(reply -> trouble(reply).orElseGet(() -> pinned(reply, pin)));
    }

    private static Outcome pinned(Reply reply, PinHandle pin) {
        OptionalLong chunks = number(reply, "requested");
        OptionalLong keys = number(reply, "affected");
        if (chunks.isEmpty() || keys.isEmpty()) {
            return maybe("The LMCache coordinator answered without requested and affected: " + said(reply));
        }
        if (keys.getAsLong() == 0) {
            return new Outcome(
                    Kind.REJECTED,
                    String.format(
                            Locale.ROOT,
                            "The LMCache coordinator pinned nothing: the prefix has %,d tokens, which is less than one"
                                    + " of its chunks (its --chunk-size, 256 unless it says otherwise).",
                            pin.tokens().length));
        }
        if (keys.getAsLong() < chunks.getAsLong()) {
            return new Outcome(
                    Kind.CLIPPED,
                    "The LMCache coordinator pinned " + keys.getAsLong() + " keys of " + chunks.getAsLong()
                            + " chunks of the prefix.");
        }
        return new Outcome(
                Kind.ACCEPTED,
                "The LMCache coordinator pinned " + chunks.getAsLong()
                        + (chunks.getAsLong() == 1 ? " chunk" : " chunks")
                        + " of its " + pin.tokens().length + " tokens; whether they are stored there it does not say"
                        + " (this way to hold is unproven).");
    }

    CompletionStage<Outcome> unpin(PinHandle pin) {
        return http.delete(PINS, body(pin))
                .thenApply(reply -> trouble(reply)
                        .orElseGet(() -> new Outcome(
                                Kind.ACCEPTED,
                                "The LMCache coordinator took one pin of " + pin.tokens().length + " tokens back.")));
    }

    /** Whether it has any pins of the model; MISSING where it has none, so that ours is gone. */
    CompletionStage<Outcome> anyPins(String model) {
        return http.get(PINS + "?limit=1&model_name=" + URLEncoder.encode(model, StandardCharsets.UTF_8))
                .thenApply(reply -> {
                    Optional<Outcome> trouble = trouble(reply);
                    if (trouble.isPresent() && trouble.get().kind() == Kind.REJECTED) {
                        // Older ones do not list them.
                        return new Outcome(Kind.ACCEPTED, "The LMCache coordinator does not list its pins.");
                    }
                    if (trouble.isPresent()) {
                        return trouble.get();
                    }
                    OptionalLong total = number(reply, "total");
                    return total.isPresent() && total.getAsLong() == 0
                            ? new Outcome(
                                    Kind.MISSING,
                                    "the LMCache coordinator lists no pin of " + model
                                            + " any more: it was started again without --metadata-path, or its pins"
                                            + " were dropped")
                            : new Outcome(Kind.ACCEPTED, "The LMCache coordinator lists pins of " + model + ".");
                });
    }

    private static String body(PinHandle pin) {
        ObjectNode body = JsonNodeFactory.instance
                .objectNode()
                .put("model_name", pin.model())
                .put("world_size", pin.worldSize());
        for (int token : pin.tokens()) {
            body.withArray("token_ids").add(Integer.toUnsignedLong(token));
        }
        body.withArray("token_ids");
        return body.put("cache_salt", "").toString();
    }

    /** Why a call came to nothing, or to nobody knows what; absent where the answer is a yes. */
    private Optional<Outcome> trouble(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost when lost.maybeDone() -> Optional.of(maybe(named(lost.why())));
            case Reply.NoAnswer lost ->
                Optional.of(new Outcome(Kind.NOT_SENT, named(lost.why()) + " It was not carried out."));
            case Reply.Answer answer when answer.status() / 100 == 2 -> Optional.empty();
            case Reply.Answer answer
            when answer.status() == 404 || answer.status() == 405 ->
                rejected("What is at " + address() + " has no " + PINS
                        + " route: it is an LMCache coordinator older than that, or LMCache's classic controller,"
                        + " which has no unpin.");
            case Reply.Answer answer
            when answer.status() == 408 || answer.status() == 429 || answer.status() >= 500 ->
                Optional.of(maybe("The LMCache coordinator answered HTTP " + answer.status() + ": " + said(reply)));
            case Reply.Answer answer ->
                rejected("The LMCache coordinator refused with HTTP " + answer.status() + ": " + said(reply));
        };
    }

    private static Optional<Outcome> rejected(String why) {
        return Optional.of(new Outcome(Kind.REJECTED, why));
    }

    private static Outcome maybe(String why) {
        return new Outcome(Kind.DEFERRED, why + " It may have carried it out all the same.");
    }

    private static String named(String why) {
        return why.replace("is the engine running?", "is the LMCache coordinator running?");
    }

    private static OptionalLong number(Reply reply, String field) {
        JsonNode number = json(reply).path(field);
        return number.isIntegralNumber() ? OptionalLong.of(number.longValue()) : OptionalLong.empty();
    }

    /** The coordinator's own words, as a sentence's end. */
    private static String said(Reply reply) {
        JsonNode detail = json(reply).path("detail");
        String text = detail.isTextual() ? detail.textValue() : body(reply).strip();
        String shortened = text.length() > LONGEST_SAID ? text.substring(0, LONGEST_SAID) + "…" : text;
        return shortened.endsWith(".") ? shortened : shortened + ".";
    }

    static JsonNode json(Reply reply) {
        try {
            return JSON.readTree(body(reply));
        } catch (JsonProcessingException e) {
            return JSON.missingNode();
        }
    }

    private static String body(Reply reply) {
        return reply instanceof Reply.Answer answer ? answer.body() : "";
    }
}
