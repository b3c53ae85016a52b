package io.holdfast.events;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.core.buffer.ArrayBufferInput;
import org.msgpack.value.ValueType;

/**
 * Reads one frame's values from left to right, believing no size that the bytes left could not hold.
 *
 * <p>Hashes are read as their 64 bits, whatever the engine wrote: the library's own way to read an integer throws for an
 * unsigned one above 2^63, which half of all vLLM hashes are. Nothing is allocated per value.
 */
final class FrameCursor {
    private static final int LONGEST_HASH = 1024;

    private final ArrayBufferInput input = new ArrayBufferInput(new byte[0]);
    private final MessageUnpacker unpacker = MessagePack.newDefaultUnpacker(input);
    private final byte[] bytes = new byte[LONGEST_HASH];
    private final ByteBuffer numbers = ByteBuffer.wrap(bytes);

    private byte[] frame = new byte[0];
    private int start;

    void open(byte[] whole) throws IOException {
        frame = whole;
        seek(0);
    }

    int position() {
        return start + (int) unpacker.getTotalReadBytes();
    }

    void seek(int position) throws IOException {
        start = position;
        input.reset(frame, position, frame.length - position);
        unpacker.reset(input);
    }

    boolean atEnd() {
        return position() == frame.length;
    }

    ValueType next() throws IOException {
        return unpacker.getNextFormat().getValueType();
    }

    /** Whether a nil was next; it is consumed. */
    boolean nil() throws IOException {
        return unpacker.tryUnpackNil();
    }

    void skip() throws IOException {
        unpacker.skipValue();
    }

    /** Skips a value and says whether it was more than a nil, an empty text or an empty list. */
    boolean skipMeaning() throws IOException {
        int before = position();
        ValueType type = next();
        unpacker.skipValue();
        return switch (type) {
            case NIL -> false;
            case STRING, BINARY, ARRAY, MAP -> position() > before + 1;
            default -> true;
        };
    }

    /** The number of elements of the array that begins here. */
    int array() throws IOException {
        return plausible(unpacker.unpackArrayHeader(), 1);
    }

    /** The number of entries of the map that begins here. */
    int map() throws IOException {
        return plausible(unpacker.unpackMapHeader(), 2);
    }

    /** The text that begins here; whatever is no text is skipped and {@link Word#OTHER}. */
    Word word() throws IOException {
        if (next() != ValueType.STRING) {
            unpacker.skipValue();
            return Word.OTHER;
        }
        int length = plausible(unpacker.unpackRawStringHeader(), 1);
        if (length > Word.LONGEST) {
            skipBytes(length);
            return Word.OTHER;
        }
        unpacker.readPayload(bytes, 0, length);
        return Word.of(bytes, length);
    }

    /** A block's name: an integer's 64 bits, or the last eight bytes of a digest. */
    long hash() throws IOException {
        if (next() != ValueType.BINARY) {
            return bits();
        }
        int length = plausible(unpacker.unpackBinaryHeader(), 1);
        if (length < Long.BYTES || length > LONGEST_HASH) {
            throw new FrameRefusal("a block hash of " + length + " bytes is no digest");
        }
        unpacker.readPayload(bytes, 0, length);
        return numbers.getLong(length - Long.BYTES);
    }

    /** A token's low 32 bits: all that engines have, and all that they hash. */
    int token() throws IOException {
        return (int) bits();
    }

    int count() throws IOException {
        long value = bits();
        if (value < 0 || value > Integer.MAX_VALUE) {
            throw new FrameRefusal("a block size of " + Long.toUnsignedString(value) + " tokens cannot be");
        }
        return (int) value;
    }

    private long bits() throws IOException {
        if (unpacker.getNextFormat() != MessageFormat.UINT64) {
            return unpacker.unpackLong();
        }
        unpacker.readPayload(bytes, 0, 1 + Long.BYTES);
        return numbers.getLong(1);
    }

    private void skipBytes(int length) throws IOException {
        for (int left = length; left > 0; left -= bytes.length) {
            unpacker.readPayload(bytes, 0, Math.min(left, bytes.length));
        }
    }

    private int plausible(int size, int leastBytesEach) throws FrameRefusal {
        if (size > (frame.length - position()) / leastBytesEach) {
            throw new FrameRefusal("a size of " + size + " is declared, more than the rest of it could hold");
        }
        return size;
    }
}
