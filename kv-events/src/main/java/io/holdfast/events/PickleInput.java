package io.holdfast.events;

import java.nio.charset.StandardCharsets;

/**
 * Python objects as CPython pickles them with protocol 5, byte by byte.
 *
 * <h2>Forms</h2>
 *
 * Numbers, texts and bytes have short forms, and CPython always takes the shortest: one and two bytes are unsigned, four are
 * signed, what is larger has a length in front. Tuples of up to three objects have an opcode each, longer ones a mark before
 * their first object.
 *
 * <h2>Memo</h2>
 *
 * Behind bytes, texts and tuples, not behind numbers and the empty tuple, stands the opcode that remembers the object. The
 * very same object, written again, would be a reference to the first. Which equal texts are one object is Python's secret:
 * what is hashed must not contain two of them.
 *
 * <h2>Frames</h2>
 *
 * All behind the protocol's two bytes lies in frames with their length in front. Before an object is written, a frame that
 * has reached 64 KiB ends, and the next byte opens another. Bytes and texts of 64 KiB or more stand between frames. A frame
 * shorter than four bytes loses its head.
 */
final class PickleInput extends HashInput {
    private static final int PROTO = 0x80;
    private static final int PROTOCOL = 5;
    private static final int FRAME = 0x95;
    private static final int MEMOIZE = 0x94;
    private static final int STOP = '.';
    private static final int NONE = 'N';
    private static final int EMPTY_TUPLE = ')';
    private static final int MARK = '(';
    private static final int TUPLE = 't';
    private static final int TUPLE1 = 0x85;
    private static final int BININT1 = 'K';
    private static final int BININT2 = 'M';
    private static final int BININT = 'J';
    private static final int LONG1 = 0x8A;
    private static final int SHORT_BINBYTES = 'C';
    private static final int BINBYTES = 'B';
    private static final int SHORT_BINUNICODE = 0x8C;
    private static final int BINUNICODE = 'X';

    private static final int FRAME_HEAD = 1 + Long.BYTES;
    private static final int FRAME_TARGET = 1 << 16;
    private static final int FRAME_LEAST = 4;
    private static final int NO_FRAME = -1;

    private int frame = NO_FRAME;

    @Override
    void begin() {
        super.begin();
        frame = NO_FRAME;
        put(PROTO);
        put(PROTOCOL);
    }

    @Override
    void tuple(int size) {
        object();
        if (size > 3) {
            write(MARK);
        }
    }

    @Override
    void endTuple(int size) {
        if (size == 0) {
            write(EMPTY_TUPLE);
            return;
        }
        write(size > 3 ? TUPLE : TUPLE1 + size - 1);
        put(MEMOIZE);
    }

    @Override
    void bytes(byte[] value) {
        object();
        lengthy(SHORT_BINBYTES, BINBYTES, value);
    }

    @Override
    void text(String value) {
        object();
        lengthy(SHORT_BINUNICODE, BINUNICODE, value.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    void number(long value) {
        object();
        if (value >= 0 && value <= 0xFF) {
            write(BININT1);
            putLowFirst(value, 1);
        } else if (value >= 0 && value <= 0xFFFF) {
            write(BININT2);
            putLowFirst(value, 2);
        } else if (value == (int) value) {
            write(BININT);
            putLowFirst(value, 4);
        } else {
            // The fewest bytes of two's complement.
            int octets = (Long.SIZE - Long.numberOfLeadingZeros(value < 0 ? ~value : value)) / Byte.SIZE + 1;
            write(LONG1);
            put(octets);
            putLowFirst(value, octets);
        }
    }

    @Override
    void none() {
        object();
        write(NONE);
    }

    @Override
    void end() {
        write(STOP);
        endFrame();
    }

    private void object() {
        if (frame != NO_FRAME && length() - frame - FRAME_HEAD >= FRAME_TARGET) {
            endFrame();
        }
    }

    private void lengthy(int shortForm, int longForm, byte[] value) {
        boolean framed = value.length < FRAME_TARGET;
        if (!framed) {
            endFrame();
            put(longForm);
            putLowFirst(value.length, 4);
        } else if (value.length <= 0xFF) {
            write(shortForm);
            putLowFirst(value.length, 1);
        } else {
            write(longForm);
            putLowFirst(value.length, 4);
        }
        put(value);
        write(MEMOIZE);
    }

    /** Writes an opcode, in a frame. */
    private void write(int opcode) {
        if (frame == NO_FRAME) {
            frame = length();
            put(FRAME);
            putLowFirst(0, Long.BYTES);
        }
        put(opcode);
    }

    private void endFrame() {
        if (frame == NO_FRAME) {
            return;
        }
        int size = length() - frame - FRAME_HEAD;
        if (size < FRAME_LEAST) {
            remove(frame, FRAME_HEAD);
        } else {
            overwriteLowFirst(frame + 1, size);
        }
        frame = NO_FRAME;
    }
}
