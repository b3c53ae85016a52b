package io.holdfast.sidecar.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.holdfast.core.Learned;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.embed.ledger.LedgerFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/** Facts learned about one engine, in a file that is replaced as a whole and that only its owner reads. */
public final class LearnedFile {
    /*
     * One line says what follows and how to tell whether all of it is there: form, version of what was learned, checksum and
     * length. Then comes JSON. A file that does not say this, or does not hold what it says, is never read in part: it is
     * moved aside, where a person can look at it, and learning begins anew.
     */
    static final long MOST_BYTES = 1 << 20;

    private static final int FORM = 1;
    private static final Pattern HEAD = Pattern.compile(
            "holdfast learned ([0-9]{1,6})\\.([0-9]{1,6})(?: crc32c ([0-9a-f]{8}) bytes ([0-9]{1,9}))?.*");

    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private final Path file;
    private final LedgerFiles files;

    /**
     * Content of one file.
     *
     * @param engine of which engine
     * @param since when learning began
     * @param taken when it was as it is here
     */
    public record Snapshot(EngineIdentity engine, Instant since, Instant taken, Learned learned) {}

    /** Fields of the file for JSON. */
    private record Body(
            String address, String resolved, String model, long sinceMillis, long takenMillis, Learned learned) {
        static Body of(Snapshot snapshot) {
            EngineIdentity engine = snapshot.engine;
            return new Body(
                    engine.address(),
                    engine.resolved(),
                    engine.model().orElse(""),
                    snapshot.since.toEpochMilli(),
                    snapshot.taken.toEpochMilli(),
                    snapshot.learned);
        }

        Snapshot snapshot() {
            return new Snapshot(
                    new EngineIdentity(address, resolved, model.isEmpty() ? Optional.empty() : Optional.of(model)),
                    Instant.ofEpochMilli(sinceMillis),
                    Instant.ofEpochMilli(takenMillis),
                    learned);
        }
    }

    /** Result of reading. */
    public sealed interface Found {
        record Nothing() implements Found {}

        record Whole(Snapshot snapshot) implements Found {}

        /** Left aside; one sentence says why, and where it is. */
        record Aside(String why) implements Found {}
    }

    public LearnedFile(Path directory, String engineId, LedgerFiles files) {
        this.file = directory.resolve(engineId + ".learned");
        this.files = files;
    }

    /**
     * Writes a snapshot in place of the one before.
     *
     * @throws IOException when it is not on the disk; then what was there before still is
     */
    public void write(Snapshot snapshot) throws IOException {
        byte[] json = JSON.writeValueAsBytes(Body.of(snapshot));
        byte[] head = String.format(
                        Locale.ROOT,
                        "holdfast learned %d.%d crc32c %08x bytes %d\n",
                        FORM,
                        Learned.VERSION,
                        checksum(json),
                        json.length)
                .getBytes(StandardCharsets.US_ASCII);
        if (head.length + json.length > MOST_BYTES) {
            throw new IOException("it would take " + (head.length + json.length) + " bytes, more than " + MOST_BYTES);
        }
        byte[] all = new byte[head.length + json.length];
        System.arraycopy(head, 0, all, 0, head.length);
        System.arraycopy(json, 0, all, head.length, json.length);
        WholeFile.replace(file, all, files);
    }

    /** Reads it whole or not at all; what is not whole, or of another engine, is moved aside. */
    public Found read(EngineIdentity engine) {
        if (!Files.exists(file)) {
            return new Found.Nothing();
        }
        String why;
        try {
            Snapshot snapshot = whole();
            if (snapshot.engine.sameAs(engine)) {
                return new Found.Whole(snapshot);
            }
            why = "is of the engine at " + snapshot.engine.shown() + ", and this one is at " + engine.shown();
        } catch (IOException e) {
            why = String.valueOf(e.getMessage());
        }
        return new Found.Aside("what an earlier process learned (" + file + ") " + why + ": " + aside());
    }

    /** The stamp of the last batch of the engine at this address that it was learned from; 0 where it says none. */
    public long untilMicros(String address) {
        try {
            Snapshot snapshot = whole();
            return snapshot.engine.address().equals(address) ? snapshot.learned.untilMicros() : 0;
        } catch (IOException e) {
            // Whoever reads it says why it is none.
            return 0;
        }
    }

    private String aside() {
        Path there = file.resolveSibling(file.getFileName() + ".aside");
        try {
            WholeFile.moveDurably(file, there, files);
            return "it is left aside in " + there + ", and learning begins anew";
        } catch (IOException e) {
            return "learning begins anew, and the file, which could not be moved aside (" + e.getMessage()
                    + "), will be written over";
        }
    }

    private Snapshot whole() throws IOException {
        if (Files.size(file) > MOST_BYTES) {
            throw new IOException("has more than " + MOST_BYTES + " bytes, which none has");
        }
        byte[] all = Files.readAllBytes(file);
        int end = 0;
        while (end < all.length && all[end] != '\n') {
            end++;
        }
        Matcher head = HEAD.matcher(new String(all, 0, end, StandardCharsets.ISO_8859_1));
        if (!head.matches()) {
            throw new IOException("was not written by Holdfast");
        }
        if (!head.group(1).equals(Integer.toString(FORM)) || !head.group(2).equals(Integer.toString(Learned.VERSION))) {
            throw new IOException("is of version " + head.group(1) + "." + head.group(2) + ", and this one reads "
                    + FORM + "." + Learned.VERSION);
        }
        byte[] json = new byte[Math.max(0, all.length - end - 1)];
        System.arraycopy(all, Math.min(all.length, end + 1), json, 0, json.length);
        boolean promised = head.group(3) != null
                && head.group(4).equals(Integer.toString(json.length))
                && head.group(3).equals(String.format(Locale.ROOT, "%08x", checksum(json)));
        if (!promised) {
            throw new IOException("is damaged: its checksum is of something else");
        }
        try {
            return JSON.readValue(json, Body.class).snapshot();
        } catch (JsonProcessingException | RuntimeException e) {
            throw new IOException("has numbers that cannot be", e);
        }
    }

    private static long checksum(byte[] bytes) {
        CRC32C sum = new CRC32C();
        sum.update(bytes);
        return sum.getValue();
    }
}
