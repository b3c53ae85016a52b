package io.holdfast.sidecar.store;

import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.kvcached.LimitRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The ledger of one engine's limit: the last move, written and forced to disk before it is made. It is replaced as a whole,
 * so that it is never half a record.
 */
public final class LimitFile {
    private static final int VERSION = 1;
    private static final Pattern HEAD = Pattern.compile("holdfast limit ([0-9]{1,9})\\n");
    private static final Pattern FORM = Pattern.compile("holdfast limit " + VERSION + "\\n"
            + "startup ([0-9]{1,18})\\n"
            + "from ([0-9]{1,18})\\n"
            + "to ([0-9]{1,18})\\n"
            + "requested ([0-9]{1,18}|none)\\n");

    private final Path file;
    private final LedgerFiles files;

    public LimitFile(Path stateDirectory, String engineId, LedgerFiles files) {
        this.file = stateDirectory.resolve(engineId + ".limit");
        this.files = files;
    }

    /**
     * Returns the record of an earlier process; absent where there is none.
     *
     * @throws IOException with one sentence, when it is there and cannot be read
     */
    public Optional<LimitRecord> read() throws IOException {
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        String text = Files.readString(file, StandardCharsets.ISO_8859_1);
        Matcher written = FORM.matcher(text);
        if (!written.matches()) {
            Matcher head = HEAD.matcher(text);
            if (head.lookingAt() && Integer.parseInt(head.group(1)) > VERSION) {
                throw new IOException("The ledger of limits " + file + " was written by a newer Holdfast (version "
                        + head.group(1) + ", known here up to " + VERSION + "), so that the limit is left as it is:"
                        + " start that version, or delete the file when the limit is as you want it and start the"
                        + " sidecar again.");
            }
            throw new IOException("The ledger of limits " + file
                    + " cannot be read, so that the limit is left as it is: delete the file when the limit is as you"
                    + " want it, and start the sidecar again.");
        }
        return Optional.of(new LimitRecord(
                Long.parseLong(written.group(1)),
                Long.parseLong(written.group(2)),
                Long.parseLong(written.group(3)),
                written.group(4).equals("none")
                        ? OptionalLong.empty()
                        : OptionalLong.of(Long.parseLong(written.group(4)))));
    }

    /**
     * Writes a move in place of the one before.
     *
     * @throws IOException with one sentence, when it is not on the disk; then the move must not be made
     */
    public void write(LimitRecord move) throws IOException {
        String text = "holdfast limit " + VERSION + "\nstartup " + move.startupBytes() + "\nfrom " + move.from()
                + "\nto " + move.to()
                + "\nrequested "
                + (move.requested().isPresent() ? Long.toString(move.requested().getAsLong()) : "none") + "\n";
        try {
            WholeFile.replace(file, text.getBytes(StandardCharsets.UTF_8), files);
        } catch (IOException e) {
            throw new IOException(
                    "The ledger of limits " + file + " could not be written (" + e.getMessage()
                            + "), so that the limit is not moved: free space on its disk or mend it.",
                    e);
        }
    }
}
