package io.holdfast.emulator.kvcached;

import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.PoolSegment;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/**
 * The file in which an engine says what its cache holds, and is told how much it may: three numbers of eight bytes in the
 * machine's order, no header.
 *
 * <p>Nobody keeps it open. Each access opens it by name, waits for flock(2) and rewrites the whole, so that a limit which
 * somebody writes without the lock in between can be lost; Java's own file locks do not exclude flock. An engine that finds
 * its file gone makes another, whose limit is 0. Closing removes the file, as a real engine's destructor does; an engine that
 * is killed leaves it behind.
 */
public final class KvSegment implements PoolSegment {
    static final int BYTES = 3 * Long.BYTES;

    private static final ValueLayout.OfLong NUMBER = ValueLayout.JAVA_LONG;

    private final Path file;
    private final Posix posix;

    private KvSegment(Path file, Posix posix) {
        this.file = file;
        this.posix = posix;
    }

    /**
     * Resets the segment for an engine that starts: whatever the file said before, its limit is the given one and nothing is used.
     *
     * @throws EmulatorException with one sentence when the file cannot be made
     */
    public static KvSegment create(KvcachedSettings settings) {
        Posix posix = new Posix();
        KvSegment segment = new KvSegment(settings.file(processGroup(posix)), posix);
        segment.change(numbers -> write(numbers, settings.startupBytes(), 0, 0));
        return segment;
    }

    public Path file() {
        return file;
    }

    /** The limit is written back as it was found. */
    @Override
    public void publish(long used, long preallocated) {
        change(numbers -> write(numbers, numbers.get(NUMBER, 0), used, preallocated));
    }

    /** The limit, if the file is there. */
    @Override
    public OptionalLong limit() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment numbers = arena.allocate(BYTES, Long.BYTES);
            int opened = posix.open(arena, file.toString(), false);
            try {
                posix.lock(arena, opened, Posix.Lock.SHARED);
                return posix.read(arena, opened, numbers) < BYTES
                        ? OptionalLong.empty()
                        : OptionalLong.of(numbers.get(NUMBER, 0));
            } finally {
                posix.close(arena, opened);
            }
        } catch (Posix.Failure e) {
            if (e.errno() == Posix.NO_SUCH_FILE) {
                return OptionalLong.empty();
            }
            throw unusable(e);
        }
    }

    @Override
    public void close() {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private interface Change {
        void on(MemorySegment numbers);
    }

    private void change(Change change) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment numbers = arena.allocate(BYTES, Long.BYTES);
            int opened = posix.open(arena, file.toString(), true);
            try {
                posix.lock(arena, opened, Posix.Lock.EXCLUSIVE);
                if (posix.read(arena, opened, numbers) < BYTES) {
                    numbers.fill((byte) 0);
                    posix.resize(arena, opened, BYTES);
                }
                change.on(numbers);
                posix.write(arena, opened, numbers);
            } finally {
                posix.close(arena, opened);
            }
        } catch (Posix.Failure e) {
            throw unusable(e);
        }
    }

    private static void write(MemorySegment numbers, long limit, long used, long preallocated) {
        numbers.set(NUMBER, 0, limit);
        numbers.set(NUMBER, Long.BYTES, used);
        numbers.set(NUMBER, 2 * Long.BYTES, preallocated);
    }

    private static int processGroup(Posix posix) {
        try (Arena arena = Arena.ofConfined()) {
            return posix.processGroup(arena);
        } catch (Posix.Failure e) {
            throw new EmulatorException("The process has no group: " + e.getMessage() + ".", e);
        }
    }

    private EmulatorException unusable(Posix.Failure failure) {
        String why = switch (failure.errno()) {
            case Posix.NO_SUCH_FILE -> "there is no directory " + file.getParent();
            case Posix.PERMISSION_DENIED -> "this user may not write it";
            default -> failure.getMessage();
        };
        return new EmulatorException("The memory segment " + file + " cannot be used: " + why + ".", failure);
    }
}
