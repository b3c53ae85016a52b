package io.holdfast.sidecar.store;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.sidecar.config.PrefixSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The lines of a file of kept holds, each one JSON object and a line feed; the first says which version it is. Version 1
 * had one lease a hold, which nothing prolonged, and is read as well.
 */
final class HoldLines {
    private static final int VERSION = 2;
    private static final int FIRST_VERSION = 1;
    private static final ObjectMapper JSON = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxStringLength(Integer.MAX_VALUE)
                            .build())
                    .build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
            .build();

    private HoldLines() {}

    /** Content of a line. */
    sealed interface Line {
        record Head(int version) implements Line {
            boolean known() {
                return version >= FIRST_VERSION && version <= VERSION;
            }
        }

        record Kept(KeptHold hold) implements Line {}

        /** Who wants a hold from here on. */
        record Claimed(long id, List<KeptClaim> claims) implements Line {}

        record Ended(long id) implements Line {}

        /** No line of any version. */
        record Unreadable() implements Line {}
    }

    static byte[] head() {
        return bytes(JSON.createObjectNode().put("holds", VERSION));
    }

    static byte[] ended(long id) {
        return bytes(JSON.createObjectNode().put("ended", id));
    }

    static byte[] claimed(long id, List<KeptClaim> claims) {
        return bytes(put(claims, JSON.createObjectNode().put("claimed", id)));
    }

    private static ObjectNode put(List<KeptClaim> claims, ObjectNode json) {
        ArrayNode list = json.putArray("claims");
        for (KeptClaim claim : claims) {
            ObjectNode each = list.addObject();
            if (!claim.requester().isEmpty()) {
                each.put("requester", claim.requester());
            }
            each.put("leaseMillis", claim.lease().length().toMillis())
                    .put("atMostMillis", claim.lease().atMost().toMillis())
                    .put("refreshOnHit", claim.lease().refreshOnHit())
                    .put("weight", claim.weight())
                    .put("measure", claim.measured())
                    .put("untilMillis", claim.until().toEpochMilli())
                    .put("lastMillis", claim.last().toEpochMilli());
        }
        return json;
    }

    static byte[] kept(KeptHold hold) {
        ObjectNode json = JSON.createObjectNode().put("hold", hold.id());
        put(hold.claims(), json);
        if (hold.declared()) {
            json.put("name", hold.name()).put("declaration", hold.declaration());
        }
        hold.model().ifPresent(model -> json.put("model", model));
        ArrayNode blocks = json.putArray("blocks");
        for (long block : hold.blocks()) {
            blocks.add(block);
        }
        hold.tokens().ifPresent(tokens -> {
            ArrayNode list = json.putArray("tokens");
            for (int token : tokens) {
                list.add(Integer.toUnsignedLong(token));
            }
        });
        switch (hold.asked()) {
            case PrefixSource.Text text -> json.put("text", text.text());
            case PrefixSource.Messages messages -> {
                json.set("messages", messages.messages());
                messages.tools().ifPresent(tools -> json.set("tools", tools));
            }
            case PrefixSource.Tokens tokens -> {}
            case PrefixSource.Hashes hashes -> {}
            case PrefixSource.Example example -> {}
        }
        return bytes(json);
    }

    private static byte[] bytes(ObjectNode json) {
        return (json + "\n").getBytes(StandardCharsets.UTF_8);
    }

    /** Reads one line without its line feed. */
    static Line read(byte[] bytes, int start, int end) throws IOException {
        JsonNode json;
        try {
            json = JSON.readTree(bytes, start, end - start);
        } catch (JsonProcessingException e) {
            return new Line.Unreadable();
        }
        if (json == null || !json.isObject()) {
            return new Line.Unreadable();
        }
        if (json.path("holds").isInt()) {
            return new Line.Head(json.get("holds").intValue());
        }
        if (isWhole(json.path("ended"))) {
            return new Line.Ended(json.get("ended").longValue());
        }
        if (isWhole(json.path("claimed"))) {
            List<KeptClaim> claims = claims(json);
            return claims.isEmpty()
                    ? new Line.Unreadable()
                    : new Line.Claimed(json.get("claimed").longValue(), claims);
        }
        return hold(json);
    }

    /** Empty where they cannot be read. */
    private static List<KeptClaim> claims(JsonNode json) {
        List<KeptClaim> claims = new ArrayList<>();
        if (isWhole(json.path("untilMillis"))) {
            // Version 1.
            claims.add(KeptClaim.until(millis(json, "untilMillis")));
        }
        for (JsonNode each : json.path("claims")) {
            for (String number : List.of("leaseMillis", "atMostMillis", "weight", "untilMillis", "lastMillis")) {
                if (!isWhole(each.path(number))) {
                    return List.of();
                }
            }
            try {
                claims.add(new KeptClaim(
                        each.path("requester").asText(""),
                        new Lease(
                                Duration.ofMillis(each.get("leaseMillis").longValue()),
                                each.path("refreshOnHit").asBoolean(),
                                Duration.ofMillis(each.get("atMostMillis").longValue())),
                        Math.clamp(each.get("weight").longValue(), 1, HoldRequest.MOST_WEIGHT),
                        each.path("measure").asBoolean(false),
                        millis(each, "untilMillis"),
                        millis(each, "lastMillis")));
            } catch (IllegalArgumentException noLease) {
                return List.of();
            }
        }
        return claims;
    }

    private static Instant millis(JsonNode json, String field) {
        return Instant.ofEpochMilli(json.get(field).longValue());
    }

    private static Line hold(JsonNode json) {
        List<KeptClaim> claims = claims(json);
        boolean whole = isWhole(json.path("hold"))
                && !claims.isEmpty()
                && json.path("blocks").isArray()
                && (!json.get("blocks").isEmpty() || json.has("tokens") || json.has("text") || json.has("messages"));
        if (!whole) {
            return new Line.Unreadable();
        }
        long[] blocks = new long[json.get("blocks").size()];
        for (int i = 0; i < blocks.length; i++) {
            if (!isWhole(json.get("blocks").get(i))) {
                return new Line.Unreadable();
            }
            blocks[i] = json.get("blocks").get(i).longValue();
        }
        Optional<int[]> tokens = tokens(json.path("tokens"));
        if (json.has("tokens")
                && (tokens.isEmpty()
                        || tokens.get().length == 0
                        || (blocks.length > 0 && tokens.get().length % blocks.length != 0))) {
            return new Line.Unreadable();
        }
        return new Line.Kept(new KeptHold(
                json.get("hold").longValue(),
                json.path("name").asText(""),
                json.path("declaration").asText(""),
                claims,
                json.path("model").isTextual() ? Optional.of(json.get("model").textValue()) : Optional.empty(),
                blocks,
                tokens,
                asked(json, blocks, tokens)));
    }

    private static PrefixSource asked(JsonNode json, long[] blocks, Optional<int[]> tokens) {
        if (json.path("text").isTextual()) {
            return new PrefixSource.Text(json.get("text").textValue());
        }
        if (json.path("messages") instanceof ArrayNode messages) {
            return new PrefixSource.Messages(
                    messages, json.path("tools") instanceof ArrayNode tools ? Optional.of(tools) : Optional.empty());
        }
        return tokens.<PrefixSource>map(PrefixSource.Tokens::new).orElseGet(() -> new PrefixSource.Hashes(blocks));
    }

    private static Optional<int[]> tokens(JsonNode list) {
        int[] tokens = new int[list.size()];
        for (int i = 0; i < tokens.length; i++) {
            if (!isWhole(list.get(i)) || list.get(i).longValue() >>> 32 != 0) {
                return Optional.empty();
            }
            tokens[i] = (int) list.get(i).longValue();
        }
        return list.isArray() ? Optional.of(tokens) : Optional.empty();
    }

    private static boolean isWhole(JsonNode number) {
        return number.isIntegralNumber() && number.canConvertToLong();
    }
}
