package io.holdfast.embed.ledger;

import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * A lock on a file beside the ledger, which keeps a second process away: both would believe that the pins are theirs.
 *
 * <p>The operating system drops it when the process dies, however it dies. In the file is where the one that has it
 * serves, which says nothing once it has it no more.
 */
final class LedgerLock implements Closeable {
    private final Optional<FileChannel> channel;

    private static final int MOST_BYTES = 1024;

    private LedgerLock(Optional<FileChannel> channel) {
        this.channel = channel;
    }

    /** Locks for a writer: no other process may even read. */
    static LedgerLock exclusive(Path lockFile, Path ledger, LedgerFiles files) throws IOException {
        FileChannel opened;
        try {
            opened = files.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw new IOException(
                    "The lock " + lockFile + " cannot be opened (" + e
                            + "); name another state directory or mend its permissions.",
                    e);
        }
        LedgerLock lock = taken(opened, false, ledger);
        try {
            if (opened.size() > 0) {
                opened.truncate(0);
            }
        } catch (IOException e) {
            // The address of an earlier process stays in it; requests there get no answer.
        }
        return lock;
    }

    /** Locks for a reader: refuses a ledger that has a writer; without a lock file there is no writer. */
    static LedgerLock shared(Path lockFile, Path ledger, LedgerFiles files) throws IOException {
        if (!Files.isReadable(lockFile)) {
            return new LedgerLock(Optional.empty());
        }
        return taken(files.open(lockFile, StandardOpenOption.READ), true, ledger);
    }

    private static LedgerLock taken(FileChannel opened, boolean shared, Path ledger) throws IOException {
        boolean taken = false;
        try {
            taken = opened.tryLock(0, Long.MAX_VALUE, shared) != null;
        } catch (OverlappingFileLockException e) {
            taken = false;
        } finally {
            if (!taken) {
                opened.close();
            }
        }
        if (!taken) {
            throw new LedgerInUse(ledger);
        }
        return new LedgerLock(Optional.of(opened));
    }

    /** Tells processes that find the ledger locked where the API of this process is. */
    void servedAt(URI api) throws IOException {
        if (channel.isPresent()) {
            ByteBuffer text = ByteBuffer.wrap((api + "\n").getBytes(StandardCharsets.UTF_8));
            for (long at = 0; text.hasRemaining(); ) {
                at += channel.get().write(text, at);
            }
        }
    }

    /** Address of the process that has this lock, as far as it has named one. */
    static Optional<URI> server(Path lockFile) {
        try {
            if (Files.size(lockFile) > MOST_BYTES) {
                return Optional.empty();
            }
            String text = Files.readString(lockFile);
            return (text.startsWith("http://") || text.startsWith("https://")) && text.endsWith("\n")
                    ? Optional.of(URI.create(text.strip()))
                    : Optional.empty();
        } catch (IOException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    @Override
    public void close() throws IOException {
        if (channel.isPresent()) {
            channel.get().close();
        }
    }
}
