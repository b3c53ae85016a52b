package io.holdfast.sidecar;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.holdfast.core.LedgerEntry;
import io.holdfast.core.LedgerStore;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The ledger of one engine as a file: one JSON object per line, on the disk before {@link #append} returns.
 *
 * <h2>What a crash leaves behind</h2>
 *
 * A line is written by one call and ends with a line feed, so a crash can leave at most one line without its end. Such a
 * line was never acted upon: {@code append} had not returned. If it happens to be whole it is kept, else it is cut off.
 * Any other line that cannot be read is a fault of something else, and is never skipped: it may be the only trace of a pin.
 *
 * <p>{@link #replaceWith} writes a second file and renames it over the first, so that either all of the past is there or
 * all of the new. The directory is forced too: a rename that is lost would bring released pins back.
 *
 * <h2>Who owns it</h2>
 *
 * A lock on a file beside it, held while the store is open, keeps a second sidecar away: both would believe that the
 * pins are theirs. The operating system drops the lock when the process dies, however it dies.
 */
final class FileLedgerStore implements LedgerStore, Closeable {
    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_NUMBERS_FOR_ENUMS)
            .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
            .build();

    private final Path file;
    private final FileChannel lock;
    private FileChannel channel;
    /** Holds that an earlier process may have left pinned, and on which block, until their release is recorded. */
    private final Map<Long, Long> inherited = new HashMap<>();

    private boolean ownEntries;

    private FileLedgerStore(Path file, FileChannel lock, FileChannel channel) {
        this.file = file;
        this.lock = lock;
        this.channel = channel;
    }

    /**
     * The ledger of one engine; made, with its directories, where there is none.
     *
     * @throws IOException with one sentence, when it cannot be had or another sidecar has it
     */
    static FileLedgerStore open(Path directory, String engineId) throws IOException {
        Path file = directory.resolve(engineId + ".ledger");
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new IOException(
                    "The state directory " + directory + " cannot be made (" + e
                            + "); name another one or mend its permissions.",
                    e);
        }
        FileChannel lock = lock(directory.resolve(engineId + ".lock"), file);
        try {
            return new FileLedgerStore(
                    file, lock, FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE));
        } catch (IOException e) {
            lock.close();
            throw new IOException("The ledger " + file + " cannot be opened (" + e + "); mend its permissions.", e);
        }
    }

    private static FileChannel lock(Path lockFile, Path file) throws IOException {
        FileChannel lock;
        try {
            lock = FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        } catch (IOException e) {
            throw new IOException(
                    "The lock " + lockFile + " cannot be opened (" + e
                            + "); name another state directory or mend its permissions.",
                    e);
        }
        boolean taken = false;
        try {
            taken = lock.tryLock() != null;
        } catch (OverlappingFileLockException e) {
            taken = false;
        } finally {
            if (!taken) {
                lock.close();
            }
        }
        if (!taken) {
            throw new IOException("The ledger " + file
                    + " is in use by another sidecar; stop that one or name another stateDirectory.");
        }
        return lock;
    }

    @Override
    public synchronized List<LedgerEntry> read() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        List<LedgerEntry> entries = new ArrayList<>();
        int start = 0;
        int number = 1;
        for (int end = lineEnd(bytes, start); end < bytes.length; end = lineEnd(bytes, start)) {
            try {
                entries.add(parse(bytes, start, end));
            } catch (JsonProcessingException e) {
                throw new IOException(
                        "Line " + number + " of the ledger " + file
                                + " cannot be read, and a pin may hide behind it; flush the engine's cache or restart"
                                + " the engine, then delete the file.",
                        e);
            }
            start = end + 1;
            number++;
        }
        if (start < bytes.length) {
            mendTornLine(bytes, start, entries);
        }
        if (!ownEntries) {
            inherited.clear();
            entries.forEach(this::followInherited);
        }
        return entries;
    }

    private void mendTornLine(byte[] bytes, int start, List<LedgerEntry> entries) throws IOException {
        try {
            entries.add(parse(bytes, start, bytes.length));
            writeAtEnd(new byte[] {'\n'});
        } catch (JsonProcessingException e) {
            channel.truncate(start);
            channel.force(true);
        }
    }

    /** How many holds of an earlier process are not known to be released yet; meaningful once {@link #read} was called. */
    synchronized int inherited() {
        return inherited.size();
    }

    /** Waits no longer for this block: the engine refused to let go of it, and asking again will not help. */
    synchronized void stuck(long block) {
        inherited.values().removeIf(each -> each == block);
    }

    private void followInherited(LedgerEntry entry) {
        if (entry.step() == LedgerEntry.Step.RELEASED) {
            inherited.remove(entry.holdId());
        } else if (!ownEntries) {
            inherited.put(entry.holdId(), entry.lastBlock());
        }
    }

    @Override
    public synchronized void append(LedgerEntry entry) throws IOException {
        writeAtEnd(line(entry));
        ownEntries = true;
        followInherited(entry);
    }

    private void writeAtEnd(byte[] bytes) throws IOException {
        long end = channel.size();
        try {
            write(channel, end, bytes);
            channel.force(true);
        } catch (IOException e) {
            // Half a line must not become the start of the next one.
            channel.truncate(end);
            throw e;
        }
    }

    @Override
    public synchronized void replaceWith(List<LedgerEntry> entries) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (LedgerEntry entry : entries) {
            all.writeBytes(line(entry));
        }
        Path next = file.resolveSibling(file.getFileName() + ".next");
        FileChannel fresh = FileChannel.open(
                next, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        try {
            write(fresh, 0, all.toByteArray());
            fresh.force(true);
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            fresh.close();
            throw e;
        }
        FileChannel old = channel;
        channel = fresh;
        old.close();
        ownEntries = true;
        inherited.keySet().retainAll(entries.stream().map(LedgerEntry::holdId).toList());
        try (FileChannel directory = FileChannel.open(file.toAbsolutePath().getParent(), StandardOpenOption.READ)) {
            directory.force(true);
        }
    }

    @Override
    public synchronized void close() throws IOException {
        try (lock) {
            channel.close();
        }
    }

    private static void write(FileChannel to, long position, byte[] bytes) throws IOException {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        long at = position;
        while (buffer.hasRemaining()) {
            at += to.write(buffer, at);
        }
    }

    private static byte[] line(LedgerEntry entry) throws IOException {
        return (JSON.writeValueAsString(entry) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    private static LedgerEntry parse(byte[] bytes, int start, int end) throws IOException {
        LedgerEntry entry = JSON.readValue(bytes, start, end - start, LedgerEntry.class);
        if (entry == null) {
            throw new JsonParseException("null is no entry");
        }
        return entry;
    }

    private static int lineEnd(byte[] bytes, int start) {
        int end = start;
        while (end < bytes.length && bytes[end] != '\n') {
            end++;
        }
        return end;
    }
}
