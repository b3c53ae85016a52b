package io.holdfast.embed.ledger;

import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The ledger of one engine as a file: one JSON object per line, on the disk before {@link #append} returns. */
public final class FileLedgerStore implements LedgerStore, Closeable {
    /*
     * What a crash leaves behind
     * --------------------------
     * A line is written by one call and ends with a line feed, so a crash can leave at most one line without its end.
     * Such a line was never acted upon: append had not returned. If it happens to be whole it counts, else it is cut
     * off. Any other line that cannot be read is a fault of something else, and is never skipped: it may be the only
     * trace of a pin. A torn line is mended by the first line that is written behind it, so a reader changes nothing.
     *
     * replaceWith writes a second file and renames it over the first, so that either all of the past is there or all of
     * the new. The directory is forced too: a rename that is lost would bring released pins back.
     *
     * A disk that cannot be written
     * -----------------------------
     * Releasing needs no disk. Where the file is there and can be read but not written (a full disk, a file system that
     * was remounted read-only, lost permissions), the store opens all the same, and each line that is to be written
     * says why it cannot be; so nothing is pinned, and everything that was is released. Each line tries anew, so that a
     * mended disk needs no restart.
     *
     * Where there is no file, nothing of ours is pinned, and a start without a ledger to write to is refused.
     *
     * Times
     * -----
     * An entry is written with the time of day, for people who look at the file or have it shown. It decides nothing.
     */

    private static final Logger LOG = LoggerFactory.getLogger(FileLedgerStore.class);
    private static final long NOT_READ = -1;

    /** Subject of an entry, whatever its step. */
    private record About(long holdId, String backend, String handle) {
        static About of(LedgerLine.Entry entry) {
            return new About(entry.holdId(), entry.backend(), entry.handle());
        }
    }

    /** Time since which an entry is in its step, where that was written. */
    private record Since(LedgerLine.Step step, Optional<Instant> instant) {}

    /** Lock and file, open while the ledger can be written. */
    private record Writing(LedgerLock lock, FileChannel channel) {}

    private final Path directory;
    private final Path file;
    private final Path lockFile;
    private final LedgerFiles files;
    private final InstantSource wall;
    private final Map<About, Since> since = new HashMap<>();
    private volatile Optional<URI> api = Optional.empty();
    private volatile Optional<LedgerLock> readingLock = Optional.empty();
    private volatile Optional<Writing> writing = Optional.empty();
    /** Reason why the last line was not taken; absent when it was. */
    private volatile Optional<String> refused = Optional.empty();

    private volatile boolean closed;
    /** Start of the next line: everything before it is whole lines, everything behind it is torn. */
    private long end = NOT_READ;

    private boolean endLacksLineFeed;

    private FileLedgerStore(Path directory, String engineId, LedgerFiles files, InstantSource wall) {
        this.wall = wall;
        this.directory = directory;
        this.file = directory.resolve(engineId + ".ledger");
        this.lockFile = directory.resolve(engineId + ".lock");
        this.files = files;
    }

    /**
     * The ledger of one engine in this directory; made, with its directories, where there is none.
     *
     * @param engineId names the file
     * @throws LedgerInUse when another process has it
     * @throws IOException with one sentence, when it cannot be had
     */
    public static FileLedgerStore open(Path directory, String engineId) throws IOException {
        return open(directory, engineId, LedgerFiles.SYSTEM);
    }

    /** Its entries are written with the machine's own time. */
    public static FileLedgerStore open(Path directory, String engineId, LedgerFiles files) throws IOException {
        return open(directory, engineId, files, InstantSource.system());
    }

    /**
     * The ledger of one engine; made, with its directories, where there is none.
     *
     * @throws IOException with one sentence, when it cannot be had or another process has it
     */
    public static FileLedgerStore open(Path directory, String engineId, LedgerFiles files, InstantSource wall)
            throws IOException {
        try {
            if (!Files.isDirectory(directory)) {
                Files.createDirectories(directory);
            }
        } catch (IOException e) {
            throw new IOException(
                    "The state directory " + directory.toAbsolutePath() + " cannot be made (" + e
                            + "); name another one or mend its permissions.",
                    e);
        }
        FileLedgerStore store = new FileLedgerStore(directory, engineId, files, wall);
        try {
            store.beginWriting();
        } catch (LedgerInUse e) {
            throw e;
        } catch (IOException e) {
            if (!Files.isReadable(store.file)) {
                throw e;
            }
            store.beginReading();
            LOG.warn("What it lists is released, and nothing is pinned before it can be written: {}", e.getMessage());
        }
        return store;
    }

    /** Reads a ledger that nobody has in use; absent where it is in use, or where it cannot be read. */
    public static Optional<Ledger> idle(Path directory, String engineId, LedgerFiles files) {
        FileLedgerStore store = toRead(directory, engineId, files);
        try {
            LedgerLock lock = LedgerLock.shared(store.lockFile, store.file, files);
            try {
                return Optional.of(new Ledger(store));
            } finally {
                lock.close();
            }
        } catch (LedgerInUse e) {
            return Optional.empty();
        } catch (IOException e) {
            LOG.warn("A ledger that belongs to no configured engine cannot be read: {}", e.getMessage());
            return Optional.empty();
        }
    }

    /** Opens a ledger beside its writer: its content may be old already. The store must not write. */
    public static FileLedgerStore toRead(Path directory, String engineId, LedgerFiles files) {
        return new FileLedgerStore(directory, engineId, files, InstantSource.system());
    }

    public Path file() {
        return file;
    }

    /** Returns true while a process that writes it is there. */
    public boolean inUse() throws IOException {
        try {
            LedgerLock.shared(lockFile, file, files).close();
            return false;
        } catch (LedgerInUse e) {
            return true;
        }
    }

    /** Address of the process that has it in use, as far as it has named one. */
    public Optional<URI> server() {
        return LedgerLock.server(lockFile);
    }

    /** Tells processes that find it in use where the API of this process is. */
    public synchronized void servedAt(URI where) {
        api = Optional.of(where);
        writing.ifPresent(this::sayWhere);
    }

    private void sayWhere(Writing held) {
        try {
            if (api.isPresent()) {
                held.lock().servedAt(api.get());
            }
        } catch (IOException e) {
            LOG.debug("Where this process serves is not in {}: {}", lockFile, e.getMessage());
        }
    }

    /** Subject of an entry, whatever its step: equal for the entries of one pin and hold. */
    public static Object about(LedgerLine.Entry entry) {
        return About.of(entry);
    }

    /** Time since which an entry is in its step; absent where an older version wrote it. */
    public synchronized Optional<Instant> since(LedgerLine.Entry entry) {
        return Optional.ofNullable(since.get(About.of(entry))).flatMap(Since::instant);
    }

    private Optional<Instant> since(LedgerLine line) {
        return line instanceof LedgerLine.Entry entry ? since(entry) : Optional.empty();
    }

    private void note(LedgerLine line, Optional<Instant> instant) {
        if (line instanceof LedgerLine.Entry entry) {
            if (entry.step() == LedgerLine.Step.RELEASED) {
                since.remove(About.of(entry));
            } else {
                since.merge(
                        About.of(entry),
                        new Since(entry.step(), instant),
                        (before, now) -> before.step() == now.step() ? before : now);
            }
        }
    }

    /** Reason why nothing can be written; absent while writing works, as far as it was tried. */
    public Optional<String> unwritable() {
        return writing.isPresent()
                ? refused
                : Optional.of(
                        "the ledger " + file + " can be read but not written, so that nothing is pinned: free space"
                                + " on its disk or mend its permissions");
    }

    /** Looks whether the disk was mended, where it could not be written. */
    public synchronized void tryToWrite() {
        try {
            writable();
        } catch (IOException e) {
            LOG.debug("The ledger is not writable yet: {}", e.getMessage());
        }
    }

    @Override
    public synchronized List<LedgerLine> read() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        since.clear();
        List<LedgerLine> lines = new ArrayList<>();
        int start = 0;
        int number = 1;
        for (int lineEnd = lineEnd(bytes, start); lineEnd < bytes.length; lineEnd = lineEnd(bytes, start)) {
            lines.add(noted(LedgerLines.read(bytes, start, lineEnd), number));
            start = lineEnd + 1;
            number++;
        }
        end = start;
        endLacksLineFeed = false;
        if (start < bytes.length
                && LedgerLines.read(bytes, start, bytes.length) instanceof LedgerLines.Parsed.Known whole) {
            note(whole.line(), whole.since());
            lines.add(whole.line());
            end = bytes.length;
            endLacksLineFeed = true;
        }
        return lines;
    }

    private LedgerLine noted(LedgerLines.Parsed parsed, int number) throws IOException {
        String which = "Line " + number + " of the ledger " + file;
        return switch (parsed) {
            case LedgerLines.Parsed.Known known -> {
                note(known.line(), known.since());
                yield known.line();
            }
            case LedgerLines.Parsed.Newer newer ->
                throw new IOException(which + " was written by a newer Holdfast (" + newer.why()
                        + "); start that version once so that it releases its pins, or flush the engine's cache or"
                        + " restart the engine and then delete the file.");
            case LedgerLines.Parsed.Unreadable unreadable ->
                throw new IOException(which + " cannot be read, and a pin may hide behind it; flush the engine's cache"
                        + " or restart the engine, then delete the file.");
        };
    }

    @Override
    public synchronized void append(LedgerLine line) throws IOException {
        FileChannel channel = writable();
        if (end == NOT_READ) {
            read();
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        if (endLacksLineFeed) {
            bytes.write('\n');
        }
        Optional<Instant> now = Optional.of(wall.instant());
        bytes.writeBytes(LedgerLines.write(line, now));
        requireFile();
        try {
            if (channel.size() > end) {
                channel.truncate(end);
            }
            write(channel, end, bytes.toByteArray());
            channel.force(true);
        } catch (IOException e) {
            takeBack(channel);
            refused = Optional.of("the ledger " + file + " takes no line (" + e.getMessage()
                    + "), so that nothing is pinned: free space on its disk or mend it");
            throw notWritten(e);
        }
        refused = Optional.empty();
        note(line, now);
        end += bytes.size();
        endLacksLineFeed = false;
    }

    /** A file that was deleted takes lines without a word, and no start would find them. */
    private void requireFile() throws IOException {
        if (!Files.exists(file)) {
            String gone = "the ledger " + file + " was deleted while it was in use, so that nothing is pinned:"
                    + " end this process, after it released everything, and start it again";
            refused = Optional.of(gone);
            throw new IOException(gone + ".");
        }
    }

    /** Half a line must not become the start of the next one, nor a whole one be found that was told to have failed. */
    private void takeBack(FileChannel channel) {
        try {
            channel.truncate(end);
            channel.force(true);
        } catch (IOException e) {
            // The next line that is written cuts it off.
            LOG.warn("What was written of a line could not be taken back: {}", e.getMessage());
        }
    }

    @Override
    public synchronized void replaceWith(List<LedgerLine> lines) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (LedgerLine line : lines) {
            all.writeBytes(LedgerLines.write(line, since(line)));
        }
        FileChannel old = writable();
        FileChannel fresh = replaced(all.toByteArray());
        writing = writing.map(held -> new Writing(held.lock(), fresh));
        end = all.size();
        endLacksLineFeed = false;
        old.close();
        try (FileChannel renamed = files.open(directory, StandardOpenOption.READ)) {
            renamed.force(true);
        }
    }

    private FileChannel replaced(byte[] bytes) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        Optional<FileChannel> fresh = Optional.empty();
        try {
            fresh = Optional.of(files.open(
                    next, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE));
            write(fresh.get(), 0, bytes);
            fresh.get().force(true);
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            return fresh.get();
        } catch (IOException e) {
            if (fresh.isPresent()) {
                fresh.get().close();
                Files.deleteIfExists(next);
            }
            throw notWritten(e);
        }
    }

    private FileChannel writable() throws IOException {
        if (closed) {
            throw new IOException("The ledger " + file + " was closed here.");
        }
        if (writing.isEmpty()) {
            try {
                beginWriting();
            } catch (IOException e) {
                beginReading();
                throw e;
            }
        }
        return writing.orElseThrow().channel();
    }

    private void beginReading() throws IOException {
        readingLock = Optional.of(LedgerLock.shared(lockFile, file, files));
    }

    private void beginWriting() throws IOException {
        if (readingLock.isPresent()) {
            readingLock.get().close();
            readingLock = Optional.empty();
        }
        LedgerLock lock = LedgerLock.exclusive(lockFile, file, files);
        try {
            Writing held = new Writing(lock, files.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE));
            writing = Optional.of(held);
            sayWhere(held);
        } catch (IOException e) {
            lock.close();
            throw new IOException("The ledger " + file + " cannot be opened (" + e + "); mend its permissions.", e);
        }
    }

    private IOException notWritten(IOException cause) {
        return new IOException(
                "The ledger " + file + " could not be written (" + cause.getMessage()
                        + "); free space on its disk or mend it.",
                cause);
    }

    /** Waits for no line that is being written: a disk that hangs must not keep a process from ending. */
    @Override
    public void close() throws IOException {
        closed = true;
        Optional<Writing> held = writing;
        if (held.isPresent()) {
            try {
                held.get().channel().close();
            } finally {
                held.get().lock().close();
            }
        }
        Optional<LedgerLock> reading = readingLock;
        if (reading.isPresent()) {
            reading.get().close();
        }
    }

    private static void write(FileChannel to, long position, byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        long at = position;
        while (buffer.hasRemaining()) {
            at += to.write(buffer, at);
        }
    }

    private static int lineEnd(byte[] bytes, int start) {
        int end = start;
        while (end < bytes.length && bytes[end] != '\n') {
            end++;
        }
        return end;
    }
}
