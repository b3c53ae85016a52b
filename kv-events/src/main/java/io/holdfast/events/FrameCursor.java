package io.holdfast.events;

import io.holdfast.core.hash.ContentNames;

/*
 * A MessagePack reader for one purpose: numbers and a few known words, out of an array that is all there.
 *
 * Trust. Every read compares with the bytes left. A declared size is compared too, at one byte an element, before
 * anybody counts or grows by it; so no frame makes us do or keep more than a small multiple of its own length. Skipping
 * a value counts what is still to be skipped and never recurses.
 *
 * Speed. A frame is mostly tokens, so those are read in one loop that looks at the frame's end only near it. Its
 * branches are in the order of how often the forms occur in vocabularies: three bytes, one, two, five. Hashes have a
 * loop of their own. A library that hands out one value a call, from a buffer that may have to be refilled, cannot do
 * either; one that unpacks an unsigned number above 2^63 throws, and half of vLLM's hashes are such numbers.
 */

/** Reads one frame's values from left to right, believing no size that the bytes left could not hold. */
final class FrameCursor {
    private static final int LONGEST_HASH = 1024;
    private static final int LONGEST_TOKEN = 1 + Integer.BYTES;

    private static final byte[] NOTHING = new byte[0];
    private static final byte UINT8 = (byte) 0xcc;
    private static final byte UINT16 = (byte) 0xcd;
    private static final byte UINT32 = (byte) 0xce;
    private static final byte UINT64 = (byte) 0xcf;
    private static final byte INT64 = (byte) 0xd3;
    private static final byte NIL = (byte) 0xc0;

    private byte[] bytes = NOTHING;
    private int at;

    void open(byte[] frame) {
        bytes = frame;
        at = 0;
    }

    /** Releases the frame. */
    void close() {
        open(NOTHING);
    }

    int position() {
        return at;
    }

    void seek(int position) {
        at = position;
    }

    boolean atEnd() {
        return at == bytes.length;
    }

    boolean atArray() throws FrameRefusal {
        int head = peek();
        return (head & 0xf0) == 0x90 || head == 0xdc || head == 0xdd;
    }

    boolean atMap() throws FrameRefusal {
        int head = peek();
        return (head & 0xf0) == 0x80 || head == 0xde || head == 0xdf;
    }

    boolean atText() throws FrameRefusal {
        int head = peek();
        return (head & 0xe0) == 0xa0 || (head >= 0xd9 && head <= 0xdb);
    }

    boolean atBytes() throws FrameRefusal {
        int head = peek();
        return head >= 0xc4 && head <= 0xc6;
    }

    private boolean atInteger() throws FrameRefusal {
        int head = peek();
        return head < 0x80 || head >= 0xe0 || (head >= 0xcc && head <= 0xd3);
    }

    /** Consumes a nil if one is next; returns true if it was. */
    boolean nil() throws FrameRefusal {
        if (peek() != (NIL & 0xff)) {
            return false;
        }
        at++;
        return true;
    }

    /** The number of elements of the array that begins here. */
    int array() throws FrameRefusal {
        int head = take();
        long size = switch (head) {
            case 0xdc -> u16();
            case 0xdd -> u32();
            default -> {
                if ((head & 0xf0) != 0x90) {
                    throw anotherType();
                }
                yield head & 0x0f;
            }
        };
        return plausible(size, 1);
    }

    /** The number of entries of the map that begins here. */
    int map() throws FrameRefusal {
        int head = take();
        long size = switch (head) {
            case 0xde -> u16();
            case 0xdf -> u32();
            default -> {
                if ((head & 0xf0) != 0x80) {
                    throw anotherType();
                }
                yield head & 0x0f;
            }
        };
        return plausible(size, 2);
    }

    /** The text that begins here; whatever is no text is skipped, a nil is {@link WireKeyword#NONE}. */
    WireKeyword word() throws FrameRefusal {
        int head = peek();
        int length = head & 0x1f;
        if ((head & 0xe0) == 0xa0) {
            at++;
            need(length);
        } else if (atText()) {
            length = text();
        } else {
            skip();
            return head == (NIL & 0xff) ? WireKeyword.NONE : WireKeyword.OTHER;
        }
        WireKeyword word = WireKeyword.of(bytes, at, length);
        at += length;
        return word;
    }

    /** The length of the text or the byte string that begins here, with the cursor on its first byte. */
    int text() throws FrameRefusal {
        int head = take();
        long length = switch (head) {
            case 0xc4, 0xd9 -> u8();
            case 0xc5, 0xda -> u16();
            case 0xc6, 0xdb -> u32();
            default -> {
                if ((head & 0xe0) != 0xa0) {
                    throw anotherType();
                }
                yield head & 0x1f;
            }
        };
        return plausible(length, 1);
    }

    /** A block's name: an integer's 64 bits, or the last eight bytes of a digest. */
    long hash() throws FrameRefusal {
        if (!atBytes()) {
            return integer();
        }
        int length = text();
        if (length < Long.BYTES || length > LONGEST_HASH) {
            throw new FrameRefusal("a block hash of " + length + " bytes is no digest");
        }
        at += length;
        return BigEndian.longAt(bytes, at - Long.BYTES);
    }

    /** Reads as many hashes into the array. */
    void hashes(long[] into, int from, int count) throws FrameRefusal {
        byte[] frame = bytes;
        for (int i = from; i < from + count; i++) {
            int here = at;
            if (frame.length - here > Long.BYTES && (frame[here] == UINT64 || frame[here] == INT64)) {
                into[i] = BigEndian.longAt(frame, here + 1);
                at = here + 1 + Long.BYTES;
            } else {
                into[i] = hash();
            }
        }
    }

    /** Reads as many tokens into the array: their low 32 bits, all that engines have and all that they hash. */
    void tokens(int[] into, int from, int count) throws FrameRefusal {
        byte[] frame = bytes;
        int last = frame.length - LONGEST_TOKEN;
        int end = from + count;
        int here = at;
        for (int i = from; i < end; i++) {
            if (here <= last) {
                byte head = frame[here];
                if (head == UINT16) {
                    into[i] = BigEndian.u16At(frame, here + 1);
                    here += 1 + Short.BYTES;
                    continue;
                }
                if (head >= 0) {
                    into[i] = head;
                    here++;
                    continue;
                }
                if (head == UINT8) {
                    into[i] = frame[here + 1] & 0xff;
                    here += 1 + Byte.BYTES;
                    continue;
                }
                if (head == UINT32) {
                    into[i] = BigEndian.intAt(frame, here + 1);
                    here += 1 + Integer.BYTES;
                    continue;
                }
            }
            at = here;
            into[i] = token();
            here = at;
        }
        at = here;
    }

    /** A token of any form; of a pair, the first. */
    private int token() throws FrameRefusal {
        if (!atArray()) {
            return (int) integer();
        }
        int pair = array();
        if (pair == 0) {
            throw new FrameRefusal("a token is an empty list");
        }
        int first = (int) integer();
        for (int i = 1; i < pair; i++) {
            skip();
        }
        return first;
    }

    /** An integer's 64 bits, whether it was signed or not. */
    long integer() throws FrameRefusal {
        int head = take();
        return switch (head) {
            case 0xcc -> u8();
            case 0xcd -> u16();
            case 0xce -> u32();
            case 0xcf, 0xd3 -> i64();
            case 0xd0 -> (byte) u8();
            case 0xd1 -> (short) u16();
            case 0xd2 -> (int) u32();
            default -> {
                if (head >= 0x80 && head < 0xe0) {
                    throw anotherType();
                }
                yield (byte) head;
            }
        };
    }

    /** An integer that counts something, which {@code what} names; a nil is 0. */
    int count(String what) throws FrameRefusal {
        int head = peek();
        if (head < 0x80) {
            at++;
            return head;
        }
        if (nil()) {
            return 0;
        }
        long value = integer();
        if (value < 0 || value > Integer.MAX_VALUE) {
            throw new FrameRefusal("a " + what + " of " + Long.toUnsignedString(value) + " cannot be");
        }
        return (int) value;
    }

    /** A number of seconds in microseconds; whatever is none, or no time since 1970, is skipped and 0. */
    long micros() throws FrameRefusal {
        double seconds;
        switch (peek()) {
            case 0xcb -> {
                at++;
                seconds = Double.longBitsToDouble(i64());
            }
            case 0xca -> {
                at++;
                seconds = Float.intBitsToFloat((int) u32());
            }
            default -> {
                if (!atInteger()) {
                    skip();
                    return 0;
                }
                seconds = integer();
            }
        }
        return seconds > 0 && seconds < 1e12 ? Math.round(seconds * 1e6) : 0;
    }

    /** A small number, or -1 for whatever is none. */
    int rank() throws FrameRefusal {
        if (!atInteger()) {
            skip();
            return -1;
        }
        long value = integer();
        return value >= 0 && value <= Integer.MAX_VALUE ? (int) value : -1;
    }

    /**
     * A number that tells the value that begins here from others: a text or a byte string by its bytes, any other value
     * by its form; 0 for a nil and for an empty text.
     */
    long identity() throws FrameRefusal {
        int from = at;
        int length;
        if (atText() || atBytes()) {
            length = text();
            from = at;
            at += length;
        } else if (nil()) {
            return 0;
        } else {
            skip();
            length = at - from;
        }
        return length == 0 ? 0 : ContentNames.extra(bytes, from, length);
    }

    /** Skips a nil or a list of nothing but nils; false, and nothing is skipped, when more is there. */
    boolean nils() throws FrameRefusal {
        if (nil()) {
            return true;
        }
        if (!atArray()) {
            return false;
        }
        int from = at;
        for (int left = array(); left > 0; left--) {
            if (!nil()) {
                at = from;
                return false;
            }
        }
        return true;
    }

    void skip() throws FrameRefusal {
        for (long left = 1; left > 0; left--) {
            int head = take();
            if (head < 0x80 || head >= 0xe0) {
                continue;
            }
            if (head < 0x90) {
                left += 2L * (head & 0x0f);
            } else if (head < 0xa0) {
                left += head & 0x0f;
            } else if (head < 0xc0) {
                advance(head & 0x1f);
            } else {
                left += skipLong(head);
            }
            plausible(left - 1, 1);
        }
    }

    /** Skips the rest of a value whose first byte says its form only; the elements that follow are left. */
    private long skipLong(int head) throws FrameRefusal {
        switch (head) {
            case 0xc0, 0xc2, 0xc3 -> {}
            case 0xc4, 0xd9 -> advance(u8());
            case 0xc5, 0xda -> advance(u16());
            case 0xc6, 0xdb -> advance(u32());
            case 0xc7 -> advance(u8() + 1);
            case 0xc8 -> advance(u16() + 1);
            case 0xc9 -> advance(u32() + 1);
            case 0xcc, 0xd0 -> advance(1);
            case 0xcd, 0xd1 -> advance(2);
            case 0xca, 0xce, 0xd2 -> advance(4);
            case 0xcb, 0xcf, 0xd3 -> advance(8);
            case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 -> advance(1 + (1 << (head - 0xd4)));
            case 0xdc -> {
                return u16();
            }
            case 0xdd -> {
                return u32();
            }
            case 0xde -> {
                return 2L * u16();
            }
            case 0xdf -> {
                return 2 * u32();
            }
            default -> throw new FrameRefusal("a value begins with a byte that none begins with");
        }
        return 0;
    }

    private int peek() throws FrameRefusal {
        if (at == bytes.length) {
            throw cutShort();
        }
        return bytes[at] & 0xff;
    }

    private int take() throws FrameRefusal {
        int head = peek();
        at++;
        return head;
    }

    private int u8() throws FrameRefusal {
        return take();
    }

    private int u16() throws FrameRefusal {
        need(Short.BYTES);
        at += Short.BYTES;
        return BigEndian.u16At(bytes, at - Short.BYTES);
    }

    private long u32() throws FrameRefusal {
        need(Integer.BYTES);
        at += Integer.BYTES;
        return BigEndian.intAt(bytes, at - Integer.BYTES) & 0xffffffffL;
    }

    private long i64() throws FrameRefusal {
        need(Long.BYTES);
        at += Long.BYTES;
        return BigEndian.longAt(bytes, at - Long.BYTES);
    }

    private void advance(long count) throws FrameRefusal {
        need(count);
        at += (int) count;
    }

    private void need(long count) throws FrameRefusal {
        if (count > bytes.length - at) {
            throw cutShort();
        }
    }

    private int plausible(long size, int leastBytesEach) throws FrameRefusal {
        if (size > (bytes.length - at) / leastBytesEach) {
            throw new FrameRefusal("a size of " + size + " is declared, more than the rest of it could hold");
        }
        return (int) size;
    }

    private static FrameRefusal cutShort() {
        return new FrameRefusal("it ends in the middle of a value");
    }

    private static FrameRefusal anotherType() {
        return new FrameRefusal("a value is of another type than its place calls for");
    }
}
