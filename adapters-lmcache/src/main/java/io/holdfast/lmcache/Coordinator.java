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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The part of a coordinator's HTTP API that pins. */
final class Coordinator {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String PINS = "/cache/pins";
    private static final String LOOKUP = "/directory/lookup";
    private static final String LISTED = "GET " + PINS;
    private static final int LONGEST_SAID = 200;
    /** So many are asked of to learn how large a chunk is; no larger one is supported. */
    private static final int LARGEST_CHUNK = 8192;

    private static final int PAGE = 5000;
    private static final String MAYBE_DONE = " It may have carried it out all the same.";

    private final EngineHttp http;

    Coordinator(EngineHttp http) {
        this.http = http;
    }

    URI address() {
        return URI.create(http.base().toString().replaceAll("/+$", ""));
    }

    /** What came of asking to pin nothing, to list pins and to look up. */
    sealed interface Route {
        /**
         * All of them.
         *
         * @param chunkTokens in a chunk, or a few more than are
         */
        record There(int chunkTokens) implements Route {}

        record Missing(String why) implements Route {}

        /** It said nothing about that. */
        record Unanswered(String why) implements Route {}
    }

    /** Whether it has the routes, which pinning no tokens, looking up and listing tell. */
    CompletionStage<Route> route(String model, int worldSize) {
        PinHandle nothing = new PinHandle(address(), worldSize, model, new int[0], 0);
        PinHandle something = new PinHandle(address(), worldSize, model, new int[LARGEST_CHUNK], 0);
        return http.post(PINS, body(nothing))
                .thenCompose(pins -> trouble(pins, PINS)
                        .<CompletionStage<Route>>map(came -> CompletableFuture.completedFuture(no(came)))
                        .orElseGet(() -> http.get(list(model, 0, 1))
                                .thenCompose(list -> trouble(list, LISTED)
                                        .<CompletionStage<Route>>map(
                                                came -> CompletableFuture.completedFuture(no(came)))
                                        .orElseGet(() -> http.post(LOOKUP, body(something))
                                                .thenApply(lookup -> trouble(lookup, LOOKUP)
                                                        .map(Coordinator::no)
                                                        .orElseGet(() -> chunkSize(lookup)))))));
    }

    private static Route no(Outcome came) {
        return came.kind() == Kind.REJECTED ? new Route.Missing(came.reason()) : new Route.Unanswered(came.reason());
    }

    private static Route chunkSize(Reply lookup) {
        long chunks = number(lookup, "chunks").orElse(0);
        return chunks > 0 && chunks <= LARGEST_CHUNK
                ? new Route.There(Math.toIntExact(LARGEST_CHUNK / chunks))
                : new Route.Missing(String.format(
                        Locale.ROOT,
                        "The LMCache coordinator finds no chunk in %,d tokens: start it, and LMCache, with a smaller"
                                + " --chunk-size.",
                        LARGEST_CHUNK));
    }

    /**
     * What came of a pin.
     *
     * @param part what there is to take back where less was pinned than asked; absent where it is all of it, or nothing
     */
    record Pinned(Outcome outcome, Optional<PinHandle> part) {
        Pinned(Outcome outcome) {
            this(outcome, Optional.empty());
        }
    }

    CompletionStage<Pinned> pin(PinHandle pin) {
        return http.post(PINS, body(pin))
                .thenApply(reply -> trouble(reply, PINS).map(Pinned::new).orElseGet(() -> pinned(reply, pin)));
    }

    private static Pinned pinned(Reply reply, PinHandle pin) {
        OptionalLong chunks = number(reply, "requested");
        OptionalLong keys = number(reply, "affected");
        if (chunks.isEmpty() || keys.isEmpty()) {
            return new Pinned(maybe("The LMCache coordinator answered without requested and affected: " + said(reply)));
        }
        if (keys.getAsLong() <= 0 || chunks.getAsLong() <= 0) {
            return new Pinned(new Outcome(Kind.REJECTED, "The LMCache coordinator pinned nothing of the prefix."));
        }
        if (keys.getAsLong() < chunks.getAsLong()) {
            return new Pinned(
                    new Outcome(
                            Kind.CLIPPED,
                            "The LMCache coordinator pinned " + keys.getAsLong() + " keys of " + chunks.getAsLong()
                                    + " chunks of the prefix."),
                    // From the beginning, as it finds them, each in as many keys as there are ranks.
                    Optional.of(pin.part(keys.getAsLong() / pin.worldSize(), chunks.getAsLong())));
        }
        if (chunks.getAsLong() < pin.leastChunks()) {
            return new Pinned(
                    new Outcome(
                            Kind.CLIPPED,
                            "The LMCache coordinator has larger chunks than it had (its --chunk-size): start the"
                                    + " sidecar again, so that it asks for their size."),
                    Optional.of(pin.part(1, 1)));
        }
        int whole = pin.prefixTokens() / pin.chunkTokens();
        return new Pinned(new Outcome(
                Kind.ACCEPTED,
                "The LMCache coordinator pinned " + whole + (whole == 1 ? " chunk" : " chunks") + " of its "
                        + pin.prefixTokens()
                        + " tokens; whether they are stored there it does not say (this way to hold is unproven)."));
    }

    CompletionStage<Outcome> unpin(PinHandle pin) {
        return http.delete(PINS, body(pin))
                .thenApply(reply -> trouble(reply, PINS)
                        .orElseGet(() -> new Outcome(
                                Kind.ACCEPTED,
                                "The LMCache coordinator took one pin of " + pin.prefixTokens() + " tokens back.")));
    }

    /**
     * Whether this pin is there, which its marker tells.
     *
     * @return ACCEPTED where it is, MISSING where it is not; by any other answer that is not known
     */
    CompletionStage<Outcome> isThere(PinHandle pin) {
        return http.post(LOOKUP, body(pin)).thenCompose(reply -> {
            Optional<Outcome> trouble = trouble(reply, LOOKUP);
            if (trouble.isPresent()) {
                return CompletableFuture.completedFuture(notKnown(trouble.get()));
            }
            JsonNode results = json(reply).path("results");
            String marker = hash(results.path(results.size() - 1));
            if (marker.isEmpty()) {
                return CompletableFuture.completedFuture(
                        new Outcome(Kind.NOT_SENT, "The LMCache coordinator answered without keys: " + said(reply)));
            }
            if (number(reply, "chunks").orElse(0) < pin.leastChunks()) {
                return CompletableFuture.completedFuture(new Outcome(
                        Kind.REJECTED,
                        "The LMCache coordinator's chunks are larger than when this was pinned: start it once with"
                                + " --chunk-size " + pin.chunkTokens() + ", so that the pin is released."));
            }
            return isListed(marker, pin.model(), 0, OptionalLong.empty());
        });
    }

    private CompletionStage<Outcome> isListed(String marker, String model, long offset, OptionalLong before) {
        return http.get(list(model, offset, PAGE)).thenCompose(reply -> {
            Optional<Outcome> trouble = trouble(reply, LISTED);
            if (trouble.isPresent()) {
                return CompletableFuture.completedFuture(notKnown(trouble.get()));
            }
            OptionalLong total = number(reply, "total");
            JsonNode pins = json(reply).path("pins");
            if (total.isEmpty() || !pins.isArray()) {
                return CompletableFuture.completedFuture(
                        new Outcome(Kind.NOT_SENT, "The LMCache coordinator answered without pins: " + said(reply)));
            }
            for (JsonNode pin : pins) {
                if (hash(pin).equals(marker)) {
                    return CompletableFuture.completedFuture(
                            new Outcome(Kind.ACCEPTED, "The LMCache coordinator lists the pin."));
                }
            }
            if (before.isPresent() && before.getAsLong() != total.getAsLong()) {
                // What moved from one page to the other meanwhile was on neither.
                return CompletableFuture.completedFuture(new Outcome(
                        Kind.NOT_SENT, "The LMCache coordinator's list of pins changed while it was read."));
            }
            long next = offset + pins.size();
            return pins.isEmpty() || next >= total.getAsLong()
                    ? CompletableFuture.completedFuture(
                            new Outcome(Kind.MISSING, "The LMCache coordinator does not list the pin any more."))
                    : isListed(marker, model, next, total);
        });
    }

    /** A question changes nothing, so what has no clear answer was not done. */
    private static Outcome notKnown(Outcome trouble) {
        return trouble.kind() == Kind.DEFERRED
                ? new Outcome(Kind.NOT_SENT, trouble.reason().replace(MAYBE_DONE, ""))
                : trouble;
    }

    private static String hash(JsonNode each) {
        return each.path("key").path("chunk_hash_hex").asText("");
    }

    private static String list(String model, long offset, int limit) {
        return PINS + "?limit=" + limit + (offset == 0 ? "" : "&offset=" + offset) + "&model_name="
                + URLEncoder.encode(model, StandardCharsets.UTF_8);
    }

    /** Whether it has any pins of the model; MISSING where it has none, so that ours is gone. */
    CompletionStage<Outcome> anyPins(String model) {
        return http.get(list(model, 0, 1)).thenApply(reply -> {
            Optional<Outcome> trouble = trouble(reply, LISTED);
            if (trouble.isPresent() && trouble.get().kind() == Kind.REJECTED) {
                // Which says nothing of a pin that was there.
                return new Outcome(Kind.ACCEPTED, "The LMCache coordinator does not list its pins.");
            }
            if (trouble.isPresent()) {
                return notKnown(trouble.get());
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
    private Optional<Outcome> trouble(Reply reply, String route) {
        return switch (reply) {
            case Reply.NoAnswer lost when lost.maybeDone() -> Optional.of(maybe(named(lost.why())));
            case Reply.NoAnswer lost ->
                Optional.of(new Outcome(Kind.NOT_SENT, named(lost.why()) + " It was not carried out."));
            case Reply.Answer answer when answer.status() / 100 == 2 -> Optional.empty();
            case Reply.Answer answer
            when answer.status() == 404 || answer.status() == 405 ->
                rejected("What is at " + address() + " has no " + route
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
        return new Outcome(Kind.DEFERRED, why + MAYBE_DONE);
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
