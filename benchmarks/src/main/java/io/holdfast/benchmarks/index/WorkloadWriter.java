package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** Writes what {@link WorkloadFile} reads: events, then queries; the header, which counts them, goes in front at the end. */
final class WorkloadWriter implements AutoCloseable {
    private static final int HEADER_BYTES = 64;
    private static final int BUFFER_BYTES = 1 << 20;

    private final FileChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    private final int engines;
    private long events;
    private long stored;
    private long removed;
    private long clears;
    private long queries;
    private long queryBlocks;

    WorkloadWriter(Path file, int engines) throws IOException {
        this.engines = engines;
        channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE);
        channel.position(HEADER_BYTES);
    }

    /** Blocks stored and removed so far. */
    long operations() {
        return stored + removed;
    }

    /** An engine stored blocks of a path, under the one in front of them. */
    void stored(int engine, PromptPath path, int from, int to) throws IOException {
        event(WorkloadFile.STORE, engine, to - from, from == 0 ? 0 : path.name(from - 1));
        blocks(path, from, to);
        stored += to - from;
    }

    void removed(int engine, List<Long> names) throws IOException {
        event(WorkloadFile.REMOVE, engine, names.size(), 0);
        for (long name : names) {
            room(Long.BYTES).putLong(name);
        }
        removed += names.size();
    }

    void cleared(int engine) throws IOException {
        event(WorkloadFile.CLEAR, engine, 0, 0);
        clears++;
    }

    /** A router asks for a path; after all events. */
    void query(PromptPath path) throws IOException {
        room(Long.BYTES).putInt(path.blocks()).putInt(0);
        blocks(path, 0, path.blocks());
        queries++;
        queryBlocks += path.blocks();
    }

    String summary() {
        return "engines=" + engines + " events=" + events + " stored=" + stored + " removed=" + removed + " clears="
                + clears + " queries=" + queries + " query_blocks=" + queryBlocks;
    }

    private void event(int kind, int engine, int count, long parent) throws IOException {
        room(2 * Long.BYTES).putInt(kind | engine << 16).putInt(count).putLong(parent);
        events++;
    }

    private void blocks(PromptPath path, int from, int to) throws IOException {
        for (int i = from; i < to; i++) {
            room(2 * Long.BYTES).putLong(path.local(i)).putLong(path.name(i));
        }
    }

    private ByteBuffer room(int bytes) throws IOException {
        if (buffer.remaining() < bytes) {
            flush();
        }
        return buffer;
    }

    private void flush() throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            channel.write(buffer);
        }
        buffer.clear();
    }

    @Override
    public void close() throws IOException {
        try (channel) {
            flush();
            channel.position(0);
            buffer.put("KVWL0001".getBytes(StandardCharsets.US_ASCII))
                    .putInt(engines)
                    .putInt(0);
            for (long count : new long[] {events, stored, removed, clears, queries, queryBlocks}) {
                buffer.putLong(count);
            }
            flush();
        }
    }
}
