package io.holdfast.sidecar;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.LedgerLine;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;

/**
 * The lines of a ledger file, each one JSON object and a line feed.
 *
 * <h2>Versions</h2>
 *
 * Version 1 had entries only, without {@code backend} and {@code handle}; all of them were {@code pin_blocks} pins, whose
 * handle is the last block's hash. Version 2 begins with a header. A later version may add fields to any line that an
 * earlier reader can do without: those are passed over. What cannot be done without is a new kind of line, a new step or
 * a higher version in the header, and whoever does not know it must not go on: it may hide a pin.
 */
final class LedgerLines {
    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
            .build();
    private static final String FIRST_BACKEND = "pin_blocks";

    private LedgerLines() {}

    /** What a line turned out to be. */
    sealed interface Parsed {
        /**
         * A line as it is meant.
         *
         * @param since when it was written; absent in what older versions wrote, and of what is no entry
         */
        record Known(LedgerLine line, Optional<Instant> since) implements Parsed {
            Known(LedgerLine line) {
                this(line, Optional.empty());
            }
        }

        /** Whole, and of a version that is not known here; why, as a part of a sentence. */
        record Newer(String why) implements Parsed {}

        /** No line of any version. */
        record Unreadable() implements Parsed {}
    }

    private static final Parsed UNREADABLE = new Parsed.Unreadable();

    /** The line with its line feed. */
    static byte[] write(LedgerLine line) {
        return write(line, Optional.empty());
    }

    /**
     * The same with the time of day, for people.
     *
     * @param since of an entry: since when it is in this step
     */
    static byte[] write(LedgerLine line, Optional<Instant> since) {
        ObjectNode json = JSON.createObjectNode();
        switch (line) {
            case LedgerLine.Header header -> {
                json.put("ledger", header.version())
                        .put("address", header.engine().address())
                        .put("resolved", header.engine().resolved());
                header.engine().model().ifPresent(model -> json.put("model", model));
            }
            case LedgerLine.Entry entry -> {
                json.put("step", entry.step().name())
                        .put("holdId", entry.holdId())
                        .put("origin", entry.origin().name())
                        .put("backend", entry.backend())
                        .put("handle", entry.handle())
                        .put("lastBlock", entry.lastBlock())
                        .put("blocks", entry.blocks());
                if (!entry.note().isEmpty()) {
                    json.put("note", entry.note());
                }
                since.ifPresent(instant -> json.put("sinceMillis", instant.toEpochMilli()));
            }
            case LedgerLine.Pause pause -> json.put("paused", pause.paused()).put("reason", pause.reason());
        }
        return (json + "\n").getBytes(StandardCharsets.UTF_8);
    }

    /** Reads one line without its line feed. */
    static Parsed read(byte[] bytes, int start, int end) throws IOException {
        JsonNode json;
        try {
            json = JSON.readTree(bytes, start, end - start);
        } catch (JsonProcessingException e) {
            return UNREADABLE;
        }
        if (json == null || !json.isObject()) {
            return UNREADABLE;
        }
        if (json.has("step")) {
            return entry(json);
        }
        if (json.has("ledger")) {
            return header(json);
        }
        if (json.has("paused")) {
            return json.get("paused").isBoolean()
                    ? new Parsed.Known(new LedgerLine.Pause(
                            json.get("paused").booleanValue(),
                            json.path("reason").asText("")))
                    : UNREADABLE;
        }
        return json.isEmpty() ? UNREADABLE : new Parsed.Newer("a line of an unknown kind");
    }

    private static Parsed header(JsonNode json) {
        JsonNode version = json.get("ledger");
        if (!version.isInt() || version.intValue() < 1) {
            return UNREADABLE;
        }
        if (version.intValue() > LedgerLine.Header.VERSION) {
            return new Parsed.Newer(
                    "version " + version.intValue() + ", known here up to " + LedgerLine.Header.VERSION);
        }
        if (!json.path("address").isTextual() || !json.path("resolved").isTextual()) {
            return UNREADABLE;
        }
        Optional<String> model =
                json.path("model").isTextual() ? Optional.of(json.get("model").textValue()) : Optional.empty();
        return new Parsed.Known(new LedgerLine.Header(
                version.intValue(),
                new EngineIdentity(
                        json.get("address").textValue(), json.get("resolved").textValue(), model)));
    }

    private static Parsed entry(JsonNode json) {
        JsonNode blocks = json.path("blocks");
        JsonNode lastBlock = json.path("lastBlock");
        JsonNode holdId = json.path("holdId");
        boolean whole = json.get("step").isTextual()
                && json.path("origin").isTextual()
                && whole(holdId)
                && whole(lastBlock)
                && blocks.isInt()
                && json.has("backend") == json.has("handle")
                && (!json.has("backend")
                        || (json.get("backend").isTextual()
                                && json.get("handle").isTextual()));
        if (!whole) {
            return UNREADABLE;
        }
        Optional<LedgerLine.Step> step = constant(LedgerLine.Step.values(), json.get("step"));
        Optional<HoldOrigin> origin = constant(HoldOrigin.values(), json.get("origin"));
        if (step.isEmpty() || origin.isEmpty()) {
            return new Parsed.Newer("an entry with an unknown step or origin");
        }
        return new Parsed.Known(
                new LedgerLine.Entry(
                        step.get(),
                        holdId.longValue(),
                        origin.get(),
                        json.path("backend").asText(FIRST_BACKEND),
                        json.path("handle").asText(Long.toString(lastBlock.longValue())),
                        lastBlock.longValue(),
                        blocks.intValue(),
                        json.path("note").asText("")),
                whole(json.path("sinceMillis"))
                        ? Optional.of(
                                Instant.ofEpochMilli(json.get("sinceMillis").longValue()))
                        : Optional.empty());
    }

    private static boolean whole(JsonNode number) {
        return number.isIntegralNumber() && number.canConvertToLong();
    }

    private static <E extends Enum<E>> Optional<E> constant(E[] all, JsonNode name) {
        return Arrays.stream(all)
                .filter(each -> each.name().equals(name.textValue()))
                .findFirst();
    }
}
