package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A workload file of the indexers' side-by-side (format {@code KVWL0001}): what engines announced, then what a router asks.
 *
 * <p>Read once from front to back, the events before the queries. Little endian; a header of 64 bytes, then events (kind,
 * engine, count, parent and the blocks), then queries (count and blocks). A block is two words, a hash of its own tokens and
 * its name on the content chain. A removal names chain names alone.
 */
final class WorkloadFile implements AutoCloseable {
    static final int STORE = 0;
    static final int REMOVE = 1;
    static final int CLEAR = 2;

    private static final long MAGIC = 0x31303030_4C57564BL;
    private static final int HEADER_BYTES = 64;
    private static final int EVENT_BYTES = 16;
    private static final int BLOCK_BYTES = 16;
    private static final int MOST_ENGINES = 1 << 16;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Path path;
    private final Arena arena;
    private final MemorySegment bytes;
    private final int engines;
    private final int events;
    private final int stored;
    private final int removed;
    private final int queries;

    private long next = HEADER_BYTES;
    private int eventsRead;
    private int queriesRead;

    private int kind;
    private int engine;
    private int count;
    private long parent;
    private long blocks;

    private WorkloadFile(Path path, Arena arena, MemorySegment bytes) {
        this.path = path;
        this.arena = arena;
        this.bytes = bytes;
        if (bytes.byteSize() < HEADER_BYTES || bytes.get(LONG, 0) != MAGIC) {
            throw new BenchException(path + " is not a workload file: it does not begin with KVWL0001.");
        }
        engines = bytes.get(INT, 8);
        if (engines < 1 || engines > MOST_ENGINES) {
            throw new BenchException(path + " is damaged: it says that it has " + Integer.toUnsignedString(engines)
                    + " engines; generate it again.");
        }
        events = total(16, EVENT_BYTES);
        stored = total(24, BLOCK_BYTES);
        removed = total(32, Long.BYTES);
        queries = total(48, Long.BYTES);
    }

    static WorkloadFile open(Path path) {
        if (!Files.exists(path)) {
            throw new BenchException("There is no file " + path + "; generate it first.");
        }
        if (!Files.isRegularFile(path)) {
            throw new BenchException(path + " is not a file; name a workload file.");
        }
        Arena arena = Arena.ofConfined();
        boolean opened = false;
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            MemorySegment bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size(), arena);
            WorkloadFile file = new WorkloadFile(path, arena, bytes);
            opened = true;
            return file;
        } catch (IOException e) {
            throw new BenchException(path + " cannot be read: " + e.getMessage() + ".", e);
        } finally {
            if (!opened) {
                arena.close();
            }
        }
    }

    int engines() {
        return engines;
    }

    int events() {
        return events;
    }

    /** Blocks that are stored and blocks that are removed, counted each time. */
    int operations() {
        return Math.addExact(stored, removed);
    }

    int queries() {
        return queries;
    }

    /** Goes to the next event; false when there is none. */
    boolean nextEvent() {
        if (eventsRead == events) {
            return false;
        }
        eventsRead++;
        need(EVENT_BYTES);
        int head = bytes.get(INT, next);
        kind = head & 0xff;
        engine = head >>> 16;
        count = bytes.get(INT, next + 4);
        parent = bytes.get(LONG, next + 8);
        if (kind > CLEAR || engine >= engines || count < 0 || (kind == CLEAR && count > 0)) {
            throw new BenchException(
                    path + " is damaged: its event " + eventsRead + " is none of this format; generate it again.");
        }
        next += EVENT_BYTES;
        skipBlocks(kind == REMOVE ? Long.BYTES : BLOCK_BYTES);
        return true;
    }

    /** {@link #STORE}, {@link #REMOVE} or {@link #CLEAR}. */
    int kind() {
        return kind;
    }

    int engine() {
        return engine;
    }

    /** The name of the block above the first one; 0 when a prompt starts here. */
    long parent() {
        return parent;
    }

    /** Blocks of the event or query read last. */
    int count() {
        return count;
    }

    /** The name on the content chain of one of its blocks. */
    long name(int index) {
        return bytes.get(
                LONG, kind == REMOVE ? blocks + (long) index * Long.BYTES : blocks + (long) index * BLOCK_BYTES + 8);
    }

    /** Goes to the next query, after all events; false when there is none. */
    boolean nextQuery() {
        while (nextEvent()) {
            // the queries lie behind
        }
        if (queriesRead == queries) {
            return false;
        }
        queriesRead++;
        need(Long.BYTES);
        kind = STORE;
        count = bytes.get(INT, next);
        if (count < 0) {
            throw truncated();
        }
        next += Long.BYTES;
        skipBlocks(BLOCK_BYTES);
        return true;
    }

    @Override
    public void close() {
        arena.close();
    }

    private void skipBlocks(int size) {
        long all = (long) count * size;
        need(all);
        blocks = next;
        next += all;
    }

    private void need(long size) {
        if (size > bytes.byteSize() - next) {
            throw truncated();
        }
    }

    private BenchException truncated() {
        String where =
                queriesRead > 0 ? "query " + queriesRead + " of " + queries : "event " + eventsRead + " of " + events;
        return new BenchException(path + " is cut off: it ends in " + where + "; copy or generate it again.");
    }

    /** A number of things in the file, each of at least this many bytes. */
    private int total(int at, int size) {
        long total = bytes.get(LONG, at);
        if (total < 0 || total > (bytes.byteSize() - HEADER_BYTES) / size) {
            throw new BenchException(
                    path + " is cut off: it is shorter than what it says to contain;" + " copy or generate it again.");
        }
        if (total > Integer.MAX_VALUE / 2) {
            throw new BenchException(path + " is too large for this command; generate one with fewer operations.");
        }
        return (int) total;
    }
}
