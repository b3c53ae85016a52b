package io.holdfast.kvcached;

import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.kvcached.SegmentReading.Unknown;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.function.LongConsumer;

/**
 * Writes the limit of a segment, and nothing else of it.
 *
 * <p>It blocks for some 150 ms, so it must not be called on an event loop.
 */
public final class SegmentWriter {
    /*
     * An engine and kvctl rewrite all 24 bytes under flock(2): they read, change and write back. So a limit that is
     * written without the lock can be lost, and whoever writes more than the limit can undo what the engine says of its
     * use.
     *
     * An engine waits for the lock in the midst of allocating, with everything else behind it. So the lock is never
     * waited for, and what happens under it is a look at 24 bytes and a store of 8, with nothing allocated in between:
     * a pause of this process while it has the lock is a pause of the engine's.
     *
     * The figures behind a move are a second old, so two are read again under the lock: the limit is the one that was to
     * be changed, and a smaller one leaves its margin above what the engine has mapped by now.
     *
     * Afterwards the limit is looked for three times, as others see it. If the old one is back, somebody wrote without
     * the lock, and ours is written again; any other is somebody's, and stays.
     *
     * The file is opened by name each time and never created, cut or removed.
     */
    private static final int TRIES = 200;
    private static final long SHORTEST_PAUSE_NANOS = TimeUnit.MICROSECONDS.toNanos(50);
    private static final int LONGEST_PAUSE = 20;
    private static final long[] LOOKS_NANOS = {0, TimeUnit.MILLISECONDS.toNanos(5), TimeUnit.MILLISECONDS.toNanos(150)};
    private static final int REWRITES = 3;
    private static final ValueLayout.OfLong NUMBER = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Posix posix = new Posix();
    private final MemorySegment numbers = Arena.ofAuto().allocate(3L * Long.BYTES, Long.BYTES);
    private final MemorySegment limit = Arena.ofAuto().allocate(NUMBER);
    private final LongConsumer pause;
    private boolean whole;
    private boolean wrote;

    /** @param pause waits for so many nanoseconds */
    public SegmentWriter(LongConsumer pause) {
        this.pause = pause;
    }

    /** Sets the requested limit, if the numbers that it was decided by still hold. */
    public synchronized WriteResult write(Path file, Move move) {
        if (!Files.isRegularFile(file)) {
            return new WriteResult.Refused("There is no segment " + file + ".");
        }
        WriteResult result = underLock(file, move);
        for (int rewrites = 0; result instanceof WriteResult.Applied first; rewrites++) {
            WriteResult seen = look(file, move, first.locked(), rewrites);
            boolean back = seen instanceof WriteResult.Foreign other && other.found() == move.from();
            if (!back) {
                return seen;
            }
            if (rewrites == REWRITES) {
                return new WriteResult.Unproven("The limit of " + file + " went back to " + move.from() + " bytes "
                        + (rewrites + 1) + " times after it was written: something writes it without the lock.");
            }
            result = underLock(file, move);
        }
        return result;
    }

    private WriteResult underLock(Path file, Move move) {
        try {
            for (int tried = 1; tried <= TRIES; tried++) {
                int opened = posix.open(file);
                boolean locked;
                try {
                    long size = posix.size(opened);
                    if (size != numbers.byteSize()) {
                        return new WriteResult.Refused(
                                "The file " + file + " has " + size + " bytes; a kvcached segment has 24.");
                    }
                    locked = posix.tryLock(opened);
                    if (locked) {
                        change(opened, move);
                    }
                } finally {
                    posix.close(opened);
                }
                if (locked) {
                    return changed(file, move);
                }
                pause.accept(SHORTEST_PAUSE_NANOS * Math.min(tried, LONGEST_PAUSE));
            }
            return new WriteResult.Busy("Others had the lock of " + file + " at all of " + TRIES + " tries.");
        } catch (IOException e) {
            return new WriteResult.Refused("The segment " + file + " cannot be written: " + e.getMessage() + ".");
        }
    }

    /** Under the lock: what it found is judged, and said, when the lock is given back. */
    private void change(int opened, Move move) throws IOException {
        whole = posix.read(opened, numbers);
        wrote = whole && numbers.get(NUMBER, 0) == move.from() && fits(move);
        if (wrote) {
            limit.set(NUMBER, 0, move.to());
            posix.write(opened, limit);
        }
    }

    private boolean fits(Move move) {
        return !move.shrinks() || move.to() - move.marginBytes() >= mapped();
    }

    private long mapped() {
        return numbers.get(NUMBER, Long.BYTES) + numbers.get(NUMBER, 2 * Long.BYTES);
    }

    private WriteResult changed(Path file, Move move) {
        if (!whole) {
            return new WriteResult.Refused("The file " + file + " became shorter than 24 bytes.");
        }
        long found = numbers.get(NUMBER, 0);
        if (wrote) {
            Segment locked = new Segment(found, numbers.get(NUMBER, Long.BYTES), numbers.get(NUMBER, 2 * Long.BYTES));
            return new WriteResult.Applied(locked, locked, 0, 0);
        }
        return found == move.from()
                ? new WriteResult.Refused("The engine has mapped " + ByteSize.text(mapped())
                        + " by now, and a limit of " + ByteSize.text(move.to()) + " would leave less than "
                        + ByteSize.text(move.marginBytes()) + " above it.")
                : new WriteResult.Foreign(found);
    }

    private WriteResult look(Path file, Move move, Segment locked, int rewrites) {
        Segment after = locked;
        for (long wait : LOOKS_NANOS) {
            if (wait > 0) {
                pause.accept(wait);
            }
            switch (SegmentReader.read(file)) {
                case Unknown unknown -> {
                    return new WriteResult.Unproven(unknown.why());
                }
                case Segment seen
                when seen.limitBytes() != move.to() -> {
                    return new WriteResult.Foreign(seen.limitBytes());
                }
                case Segment seen -> after = seen;
            }
        }
        return new WriteResult.Applied(locked, after, SegmentReader.lastWrittenNanos(file), rewrites);
    }
}
