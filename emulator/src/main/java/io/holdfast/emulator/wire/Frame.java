package io.holdfast.emulator.wire;

import java.nio.ByteBuffer;

/** One batch under its number, as it is sent and remembered. */
final class Frame {
    private final long sequence;
    private final byte[] payload;

    /** Keeps the array, which is not to be written from here on. */
    Frame(long sequence, byte[] payload) {
        this.sequence = sequence;
        this.payload = payload;
    }

    long sequence() {
        return sequence;
    }

    /** The number as the engines write it. */
    byte[] number() {
        return ByteBuffer.allocate(Long.BYTES).putLong(sequence).array();
    }

    /** The bytes themselves, not to be written. */
    byte[] payload() {
        return payload;
    }
}
