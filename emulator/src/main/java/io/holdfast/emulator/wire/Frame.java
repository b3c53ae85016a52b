package io.holdfast.emulator.wire;

import java.nio.ByteBuffer;

/** One batch under its number, as it is sent and remembered. */
record Frame(long sequence, byte[] payload) {
    byte[] number() {
        return ByteBuffer.allocate(Long.BYTES).putLong(sequence).array();
    }
}
