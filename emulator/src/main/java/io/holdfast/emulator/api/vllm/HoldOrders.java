package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.GenerationRequest;
import io.holdfast.emulator.api.ValidatedBody;
import io.holdfast.emulator.api.ValidationError;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.HoldReport;
import io.holdfast.rules.engine.HoldReport.Result;
import io.holdfast.rules.vllm.Connector;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/*
 * Orders to the connector in the bodies of requests.
 *
 * An order is proven by an HMAC over what it says, the time, and for a hold the tokens of the prompt: the secret never
 * travels, and what somebody reads in a log is of no use, since a proof is taken once and for a short while. Whoever
 * has no proof is told that alone, and nothing of holds or sizes. The request itself is served in any case.
 */
final class HoldOrders {
    static final String FIELD = "holdfast";

    private static final Logger log = LoggerFactory.getLogger(HoldOrders.class);
    private static final int VERSION = 1;
    private static final long VALID_MILLIS = 300_000;
    private static final int MOST_SEEN = 100_000;
    private static final int MOST_NAMES = 1_000;

    /** Every JSON parser keeps whole numbers up to here. */
    private static final long LARGEST = (1L << 53) - 1;

    private static final Pattern PROOF = Pattern.compile("[0-9a-f]{64}");
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._:-]{1,128}");

    /**
     * A request with its order taken.
     *
     * @param refusal answer to an order that was refused
     */
    record Taken(GenerationRequest ask, Optional<JsonObject> refusal) {}

    private final Connector connector;
    private final EngineClock clock;
    private final int mostSeen;

    /** Proofs that were taken, with the times that they name; they come about in the order of these. */
    private final SequencedMap<String, Long> seen = new LinkedHashMap<>();

    HoldOrders(Connector connector, EngineClock clock) {
        this(connector, clock, MOST_SEEN);
    }

    /** @param mostSeen proofs that are remembered; beyond them the oldest are forgotten */
    HoldOrders(Connector connector, EngineClock clock, int mostSeen) {
        this.connector = connector;
        this.clock = clock;
        this.mostSeen = mostSeen;
        if (!connector.hasSecret()) {
            log.warn(
                    "The connector has no secret of at least {} characters: nothing is held.",
                    Connector.SHORTEST_SECRET);
        }
    }

    /** Takes the order out of a request's body, if there is one, and checks it. */
    Taken take(ValidatedBody body, GenerationRequest ask) {
        Optional<ValidatedBody> parameters = body.object("kv_transfer_params").filter(given -> given.names(FIELD));
        if (parameters.isEmpty() || ask.prompts().isEmpty()) {
            return new Taken(ask, Optional.empty());
        }
        if (!connector.hasSecret()) {
            return refused(ask, refusal("no secret"));
        }
        try {
            ValidatedBody asked = parameters.get().object(FIELD).orElse(ValidatedBody.EMPTY);
            HoldOrder order = order(asked);
            long at = whole(asked, "at", 0);
            String proof = asked.text("proof").orElseThrow(HoldOrders::malformed);
            check(PROOF.matcher(proof).matches());
            String message = message(order, at, ask.prompts().getFirst().tokens());
            return problem(proof, message, at)
                    .map(problem -> refused(ask, problem))
                    .orElseGet(() -> new Taken(ask.withOrder(order), Optional.empty()));
        } catch (ValidationError e) {
            return refused(ask, refusal("request"));
        }
    }

    private static HoldOrder order(ValidatedBody asked) {
        check(whole(asked, "v", VERSION) == VERSION);
        return switch (asked.text("op").orElseThrow(HoldOrders::malformed)) {
            case "hold" -> {
                String id = asked.text("id").orElseThrow(HoldOrders::malformed);
                long ttl = whole(asked, "ttl", 1);
                check(NAME.matcher(id).matches());
                yield new HoldOrder.Hold(id, ttl);
            }
            case "release" -> {
                asked.requireList("ids");
                List<String> ids = asked.texts("ids");
                check(ids.equals(HoldOrder.ALL)
                        || (!ids.isEmpty()
                                && ids.size() <= MOST_NAMES
                                && ids.stream().allMatch(id -> NAME.matcher(id).matches())));
                yield new HoldOrder.Release(ids);
            }
            case "list" -> new HoldOrder.Listing();
            default -> throw malformed();
        };
    }

    private static long whole(ValidatedBody asked, String name, long least) {
        long value = asked.whole(name).orElseThrow(HoldOrders::malformed);
        check(value >= least && value <= LARGEST);
        return value;
    }

    private static void check(boolean right) {
        if (!right) {
            throw malformed();
        }
    }

    /** Only caught here: the answer tells no more than that. */
    private static ValidationError malformed() {
        return new ValidationError("value_error", List.of("body", "kv_transfer_params", FIELD), "Not an order");
    }

    /** Text that a proof of the order is made over. */
    static String message(HoldOrder order, long at, int[] prompt) {
        return switch (order) {
            case HoldOrder.Hold(String id, long ttl) ->
                String.join("\n", "holdfast/1", "hold", Long.toString(at), id, Long.toString(ttl), digest(prompt));
            case HoldOrder.Release(List<String> ids) ->
                String.join("\n", "holdfast/1", "release", Long.toString(at), String.join(",", ids));
            case HoldOrder.Listing _ -> String.join("\n", "holdfast/1", "list", Long.toString(at));
            case HoldOrder.Lease _ -> throw new IllegalArgumentException("NIXL asks for no proof.");
        };
    }

    static String proof(String secret, String message) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
            return HexFormat.of().formatHex(mac.doFinal(message.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String digest(int[] tokens) {
        ByteBuffer bytes = ByteBuffer.allocate(tokens.length * Integer.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int token : tokens) {
            bytes.putInt(token);
        }
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Takes a proof: the answer to one that is wrong, too old, or known. */
    private synchronized Optional<JsonObject> problem(String proof, String message, long at) {
        boolean right = MessageDigest.isEqual(
                proof(connector.secret(), message).getBytes(StandardCharsets.UTF_8),
                proof.getBytes(StandardCharsets.UTF_8));
        if (!right) {
            return Optional.of(refusal("proof"));
        }
        long now = Math.round(clock.unixSeconds() * 1e3);
        if (at < now - VALID_MILLIS || at > now + VALID_MILLIS) {
            return Optional.of(refusal("clock").put("now", now));
        }
        if (seen.containsKey(proof)) {
            return Optional.of(refusal("seen"));
        }
        while (!seen.isEmpty() && (seen.size() >= mostSeen || seen.firstEntry().getValue() < now - VALID_MILLIS)) {
            seen.pollFirstEntry();
        }
        seen.put(proof, at);
        return Optional.empty();
    }

    private static Taken refused(GenerationRequest ask, JsonObject refusal) {
        return new Taken(ask, Optional.of(refusal));
    }

    private static JsonObject refusal(String why) {
        return new JsonObject().put("v", VERSION).put("refused", why);
    }

    /** Returns the words for what the engine reports. */
    static JsonObject answer(HoldReport report, int blockTokens) {
        JsonObject answer = new JsonObject().put("v", VERSION);
        switch (report.result()) {
            case Result.Held(int blocks, long ttl) -> answer.put("held", blocks).put("ttl", ttl);
            case Result.Refused(String why) -> answer.put("held", 0).put("refused", why);
            case Result.Released(int holds) -> answer.put("released", holds);
            case Result.Leased _ -> throw new IllegalArgumentException("NIXL answers with a receipt.");
            case Result.Listed(var holds) -> {
                JsonObject all = new JsonObject();
                holds.forEach((id, left) ->
                        all.put(id, JsonArray.of(left.blocks(), Math.round(left.seconds() * 10) / 10.0)));
                answer.put("holds", all);
            }
        }
        return answer.put("blocks_held", report.held())
                .put("blocks_most", report.most())
                .put("blocks_total", report.total())
                .put("gave_way", report.gaveWay())
                .put("block_size", blockTokens);
    }
}
