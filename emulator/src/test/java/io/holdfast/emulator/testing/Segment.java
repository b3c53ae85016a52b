package io.holdfast.emulator.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** An engine's memory segment as its neighbours see it. */
public record Segment(Path file) {
    public long limit() {
        return number(0);
    }

    public long used() {
        return number(1);
    }

    public long reserved() {
        return number(2);
    }

    public void setLimit(long bytes) {
        ByteBuffer all = read();
        byte[] content = new byte[all.capacity()];
        all.putLong(0, bytes).get(0, content);
        try {
            Files.write(file, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private long number(int index) {
        return read().getLong(index * Long.BYTES);
    }

    private ByteBuffer read() {
        try {
            return ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
