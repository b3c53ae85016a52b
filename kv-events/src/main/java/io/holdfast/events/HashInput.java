package io.holdfast.events;

import java.util.Arrays;

/**
 * Input of a vLLM hash: Python objects written as bytes, one object after the other, into an array that is used again;
 * confined to one thread.
 */
abstract sealed class HashInput permits CborInput, PickleInput {
    private byte[] bytes = new byte[512];
    private int length;

    /** Forgets what was written. */
    void begin() {
        length = 0;
    }

    /** The next {@code size} objects are a tuple's. */
    abstract void tuple(int size);

    /** The tuple's objects are written. */
    abstract void endTuple(int size);

    abstract void bytes(byte[] value);

    abstract void text(String value);

    abstract void number(long value);

    abstract void none();

    /** The outermost object is written. */
    abstract void end();

    final byte[] array() {
        return bytes;
    }

    final int length() {
        return length;
    }

    final void put(int octet) {
        room(1);
        bytes[length++] = (byte) octet;
    }

    final void put(byte[] octets) {
        room(octets.length);
        System.arraycopy(octets, 0, bytes, length, octets.length);
        length += octets.length;
    }

    /** The lowest bytes of a number, the lowest first. */
    final void putLowFirst(long value, int octets) {
        for (int i = 0; i < octets; i++) {
            put((int) (value >>> (i * Byte.SIZE)));
        }
    }

    /** The lowest bytes of a number, the lowest last. */
    final void putLowLast(long value, int octets) {
        for (int i = octets - 1; i >= 0; i--) {
            put((int) (value >>> (i * Byte.SIZE)));
        }
    }

    /** Cuts bytes out of what was written. */
    final void remove(int from, int count) {
        System.arraycopy(bytes, from + count, bytes, from, length - from - count);
        length -= count;
    }

    /** Writes a number over eight bytes, the lowest first. */
    final void overwriteLowFirst(int at, long value) {
        for (int i = 0; i < Long.BYTES; i++) {
            bytes[at + i] = (byte) (value >>> (i * Byte.SIZE));
        }
    }

    private void room(int more) {
        if (length + more > bytes.length) {
            bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + more));
        }
    }
}
