package io.holdfast.rules.engine;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;

/** Name of a block in an engine's events. */
public sealed interface BlockName {
    /** The name as 64 bits, as an index keeps it. */
    long hash();

    /** A number: SGLang's names, and vLLM's by default. */
    record Numbered(long hash) implements BlockName {}

    /** The whole digest, of which the last eight bytes are the number. */
    final class Digest implements BlockName {
        private final byte[] bytes;

        /** Keeps the array, which is not to be written from here on. */
        public Digest(byte[] bytes) {
            this.bytes = bytes;
        }

        /** The digest itself, not to be written. */
        public byte[] bytes() {
            return bytes;
        }

        @Override
        public long hash() {
            return ByteBuffer.wrap(bytes).getLong(bytes.length - Long.BYTES);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Digest that && Arrays.equals(bytes, that.bytes);
        }

        @Override
        public int hashCode() {
            return Long.hashCode(hash());
        }

        @Override
        public String toString() {
            return HexFormat.of().formatHex(bytes);
        }
    }
}
