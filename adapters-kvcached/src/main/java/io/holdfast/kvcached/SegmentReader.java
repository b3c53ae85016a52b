package io.holdfast.kvcached;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Reads the 24 bytes that a kvcached engine shares, and never disturbs it.
 *
 * <p>No lock is taken, since an engine waits for it in the midst of allocating; each number is eight aligned bytes and
 * whole on its own. The file is opened by name every time, because an engine that starts again replaces it, and never
 * created. An old file may have outlived its engine: whether the engine lives, only the engine can say.
 */
public final class SegmentReader {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final int BYTES = 3 * Long.BYTES;
    private static final int LONGEST_NAME = 64;
    /** No device has so much; eight letters of a text are a larger number. */
    private static final long MOST_BYTES = 1L << 50;

    private SegmentReader() {}

    /** The segment that an engine with this {@code KVCACHED_IPC_NAME} has; names are written there as kvcached does. */
    public static Path path(String ipcName) {
        String name = ipcName.replaceAll("[^A-Za-z0-9_-]", "-");
        if (name.isEmpty()) {
            throw new IllegalArgumentException("A kvcached segment has a name; this one is empty.");
        }
        return SHARED_MEMORY.resolve(name.substring(0, Math.min(name.length(), LONGEST_NAME)));
    }

    /** The segment that a configuration means: a name, as {@link #path} has it, or a path. */
    public static Path file(String nameOrPath) {
        return nameOrPath.contains("/") ? Path.of(nameOrPath) : path(nameOrPath);
    }

    /** Directory in which engines of this host have their segments. */
    public static Path directory() {
        return SHARED_MEMORY;
    }

    /**
     * The files of a directory that are segments by their size and numbers, whatever they are called, in the order of
     * their names. An engine that was killed has left its own behind, so that there may be more of them than engines.
     */
    public static List<Path> find(Path directory) {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(SegmentReader::isSegment).sorted().toList();
        } catch (IOException e) {
            return List.of();
        }
    }

    private static boolean isSegment(Path file) {
        try {
            BasicFileAttributes found =
                    Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
            return found.isRegularFile()
                    && found.size() == BYTES
                    && read(file) instanceof SegmentReading.Segment segment
                    && Math.max(segment.limitBytes(), Math.max(segment.usedBytes(), segment.preallocatedBytes()))
                            <= MOST_BYTES;
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * When the file was written last, as the file system counts; 0 where that cannot be told. An idle engine writes
     * nothing.
     */
    public static long lastWrittenNanos(Path file) {
        try {
            return Files.getLastModifiedTime(file).to(TimeUnit.NANOSECONDS);
        } catch (IOException e) {
            return 0;
        }
    }

    public static SegmentReading read(Path file) {
        ByteBuffer bytes = ByteBuffer.allocate(BYTES).order(ByteOrder.LITTLE_ENDIAN);
        if (Files.isDirectory(file)) {
            return new SegmentReading.Unknown(file + " is a directory, no kvcached segment.");
        }
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            // A pipe would be waited for.
            return new SegmentReading.Unknown(file + " is no file of 24 bytes, and so no kvcached segment.");
        }
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            Optional<String> fault = look(channel, file, bytes);
            if (fault.isPresent()) {
                // The engine may have been writing, or have just made the file.
                fault = look(channel, file, bytes);
            }
            return fault.<SegmentReading>map(SegmentReading.Unknown::new)
                    .orElseGet(() -> new SegmentReading.Segment(
                            bytes.getLong(0), bytes.getLong(Long.BYTES), bytes.getLong(2 * Long.BYTES)));
        } catch (NoSuchFileException e) {
            return new SegmentReading.Unknown(
                    "There is no segment " + file + ": no kvcached engine of that name is running on this host.");
        } catch (AccessDeniedException e) {
            return new SegmentReading.Unknown("The segment " + file + " may not be read by this user.");
        } catch (IOException e) {
            return new SegmentReading.Unknown("The segment " + file + " cannot be read: " + e.getMessage() + ".");
        }
    }

    private static Optional<String> look(FileChannel channel, Path file, ByteBuffer bytes) throws IOException {
        long size = channel.size();
        if (size != BYTES) {
            return Optional.of("The file " + file + " has " + size + " bytes; a kvcached segment has 24.");
        }
        bytes.clear();
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, bytes.position()) < 0) {
                return Optional.of("The file " + file + " became shorter than 24 bytes while it was read.");
            }
        }
        long limit = bytes.getLong(0);
        if (limit <= 0) {
            return Optional.of("The segment " + file + " has a limit of " + limit + " bytes, which engines ignore.");
        }
        if (bytes.getLong(Long.BYTES) < 0 || bytes.getLong(2 * Long.BYTES) < 0) {
            return Optional.of("The segment " + file + " says that less than nothing is in use.");
        }
        return Optional.empty();
    }
}
