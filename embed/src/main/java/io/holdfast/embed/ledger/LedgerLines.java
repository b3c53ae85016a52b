package io.holdfast.embed.ledger;

import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.LedgerLine;
import java.time.Instant;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The lines of a ledger file, each one JSON object and a line feed.
 *
 * <h2>Versions</h2>
 *
 * Version 1 had entries only, without {@code backend} and {@code handle}; all of them were {@code pin_blocks} pins,
 * whose handle is the last block's hash. Version 2 begins with a header. A later version may add fields to any line
 * that an earlier reader can do without: those are passed over. What cannot be done without is a new kind of line, a
 * new step or a higher version in the header, and a reader that does not know it must not go on: it may hide a pin.
 */
final class LedgerLines {
    private static final String FIRST_BACKEND = "pin_blocks";

    private LedgerLines() {}

    /** Result of parsing a line. */
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
     * Writes a line with the time of day, for people.
     *
     * @param since of an entry: since when it is in this step
     */
    static byte[] write(LedgerLine line, Optional<Instant> since) {
        JsonLine.Writer json = new JsonLine.Writer();
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
        return json.line();
    }

    /** Reads one line without its line feed. */
    static Parsed read(byte[] bytes, int start, int end) {
        Optional<JsonLine.Members> whole = JsonLine.read(bytes, start, end);
        if (whole.isEmpty()) {
            return UNREADABLE;
        }
        JsonLine.Members json = whole.get();
        if (json.has("step")) {
            return entry(json);
        }
        if (json.has("ledger")) {
            return header(json);
        }
        if (json.has("paused")) {
            return json.truth("paused")
                    .<Parsed>map(paused -> new Parsed.Known(
                            new LedgerLine.Pause(paused, json.text("reason").orElse(""))))
                    .orElse(UNREADABLE);
        }
        return json.isEmpty() ? UNREADABLE : new Parsed.Newer("a line of an unknown kind");
    }

    private static Parsed header(JsonLine.Members json) {
        OptionalLong version = json.whole("ledger");
        if (version.isEmpty() || version.getAsLong() < 1 || version.getAsLong() > Integer.MAX_VALUE) {
            return UNREADABLE;
        }
        int number = (int) version.getAsLong();
        if (number > LedgerLine.Header.VERSION) {
            return new Parsed.Newer("version " + number + ", known here up to " + LedgerLine.Header.VERSION);
        }
        Optional<String> address = json.text("address");
        Optional<String> resolved = json.text("resolved");
        if (address.isEmpty() || resolved.isEmpty()) {
            return UNREADABLE;
        }
        return new Parsed.Known(
                new LedgerLine.Header(number, new EngineIdentity(address.get(), resolved.get(), json.text("model"))));
    }

    private static Parsed entry(JsonLine.Members json) {
        Optional<String> stepName = json.text("step");
        Optional<String> originName = json.text("origin");
        OptionalLong holdId = json.whole("holdId");
        OptionalLong lastBlock = json.whole("lastBlock");
        OptionalLong blocks = json.whole("blocks");
        Optional<String> backend = json.text("backend");
        Optional<String> handle = json.text("handle");
        boolean whole = stepName.isPresent()
                && originName.isPresent()
                && holdId.isPresent()
                && lastBlock.isPresent()
                && blocks.isPresent()
                && blocks.getAsLong() == (int) blocks.getAsLong()
                && json.has("backend") == json.has("handle")
                && json.has("backend") == backend.isPresent()
                && json.has("handle") == handle.isPresent();
        if (!whole) {
            return UNREADABLE;
        }
        Optional<LedgerLine.Step> step = constant(LedgerLine.Step.values(), stepName.get());
        Optional<HoldOrigin> origin = constant(HoldOrigin.values(), originName.get());
        if (step.isEmpty() || origin.isEmpty()) {
            return new Parsed.Newer("an entry with an unknown step or origin");
        }
        OptionalLong since = json.whole("sinceMillis");
        return new Parsed.Known(
                new LedgerLine.Entry(
                        step.get(),
                        holdId.getAsLong(),
                        origin.get(),
                        backend.orElse(FIRST_BACKEND),
                        handle.orElse(Long.toString(lastBlock.getAsLong())),
                        lastBlock.getAsLong(),
                        (int) blocks.getAsLong(),
                        json.text("note").orElse("")),
                since.isPresent() ? Optional.of(Instant.ofEpochMilli(since.getAsLong())) : Optional.empty());
    }

    private static <E extends Enum<E>> Optional<E> constant(E[] all, String name) {
        return Arrays.stream(all).filter(each -> each.name().equals(name)).findFirst();
    }
}
