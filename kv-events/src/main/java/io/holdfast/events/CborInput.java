package io.holdfast.events;

import java.nio.charset.StandardCharsets;

/** Python objects as canonical CBOR: every length and number in its shortest form, no tags, nothing shared. */
final class CborInput extends HashInput {
    private static final int NEGATIVE = 1;
    private static final int BYTES = 2;
    private static final int TEXT = 3;
    private static final int ARRAY = 4;
    private static final int NULL = 0xF6;

    @Override
    void tuple(int size) {
        head(ARRAY, size);
    }

    @Override
    void endTuple(int size) {}

    @Override
    void bytes(byte[] value) {
        head(BYTES, value.length);
        put(value);
    }

    @Override
    void text(String value) {
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        head(TEXT, utf8.length);
        put(utf8);
    }

    @Override
    void number(long value) {
        if (value >= 0) {
            head(0, value);
        } else {
            head(NEGATIVE, -1 - value);
        }
    }

    @Override
    void none() {
        put(NULL);
    }

    @Override
    void end() {}

    private void head(int type, long value) {
        if (value < 24) {
            put(type << 5 | (int) value);
        } else if (value <= 0xFF) {
            put(type << 5 | 24);
            putLowLast(value, 1);
        } else if (value <= 0xFFFF) {
            put(type << 5 | 25);
            putLowLast(value, 2);
        } else {
            put(type << 5 | 26);
            putLowLast(value, 4);
        }
    }
}
