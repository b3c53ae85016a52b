package io.holdfast.embed.cell;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.function.Function;

/**
 * Binary form of the values in a store: version, kind, cell, and what the kind has, the highest byte of a number first.
 *
 * <p>Reading is total. The records refuse in their constructors what is beyond their bounds, and what is left over at
 * the end is refused as well.
 */
final class Form {
    static final byte VERSION = 1;

    private final ByteBuffer bytes;

    private Form(ByteBuffer bytes) {
        this.bytes = bytes;
    }

    static Form write(char kind, String cell) {
        Form form = new Form(ByteBuffer.allocate(FleetStore.MOST_BYTES));
        form.bytes.put(VERSION).put((byte) kind).putLong(cellNumber(cell));
        return form;
    }

    static <T> Parsed<T> read(char kind, String cell, byte[] bytes, Function<Form, T> reader) {
        if (bytes.length > FleetStore.MOST_BYTES) {
            return new Parsed.Refused<>(Refusal.TOO_LONG);
        }
        if (bytes.length == 0) {
            return new Parsed.Refused<>(Refusal.MALFORMED);
        }
        if (bytes[0] != VERSION) {
            return new Parsed.Refused<>(Refusal.UNKNOWN_VERSION);
        }
        try {
            Form form = new Form(ByteBuffer.wrap(bytes));
            if (form.bytes.get() != VERSION || form.bytes.get() != kind) {
                return new Parsed.Refused<>(Refusal.MALFORMED);
            }
            if (form.bytes.getLong() != cellNumber(cell)) {
                return new Parsed.Refused<>(Refusal.OTHER_CELL);
            }
            T value = reader.apply(form);
            return form.bytes.hasRemaining() ? new Parsed.Refused<>(Refusal.MALFORMED) : new Parsed.Read<>(value);
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            return new Parsed.Refused<>(Refusal.MALFORMED);
        }
    }

    private static long cellNumber(String cell) {
        return HexFormat.fromHexDigitsToLong(cell);
    }

    byte[] done() {
        byte[] all = new byte[bytes.position()];
        bytes.flip();
        bytes.get(all);
        return all;
    }

    int room() {
        return bytes.remaining();
    }

    Form put8(int value) {
        bytes.put((byte) value);
        return this;
    }

    Form put16(int value) {
        bytes.putShort((short) value);
        return this;
    }

    Form put32(int value) {
        bytes.putInt(value);
        return this;
    }

    Form put64(long value) {
        bytes.putLong(value);
        return this;
    }

    Form putFloat(float value) {
        bytes.putFloat(value);
        return this;
    }

    Form putText(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        bytes.putShort((short) utf8.length).put(utf8);
        return this;
    }

    int get8() {
        return bytes.get() & 0xff;
    }

    int get16() {
        return bytes.getShort() & 0xffff;
    }

    int get32() {
        return bytes.getInt();
    }

    long get64() {
        return bytes.getLong();
    }

    float getFloat() {
        return bytes.getFloat();
    }

    /** Returns a yes or no; another byte than 0 and 1 is refused. */
    boolean getFlag() {
        return switch (get8()) {
            case 0 -> false;
            case 1 -> true;
            default -> throw new IllegalArgumentException("A flag is 0 or 1.");
        };
    }

    String getText() {
        int length = get16();
        if (length > bytes.remaining()) {
            throw new BufferUnderflowException();
        }
        ByteBuffer utf8 = bytes.slice(bytes.position(), length);
        bytes.position(bytes.position() + length);
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(utf8).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("A text is UTF-8.", e);
        }
    }

    /** Checks an engine's name, which is a key's as well; no pattern does, for a thousand are read in each round. */
    static void checkEngine(String engine) {
        check(
                !engine.isEmpty()
                        && engine.length() <= FleetStore.LONGEST_NAME
                        && engine.chars().allMatch(Form::inName),
                "The name of an engine has 1 to " + FleetStore.LONGEST_NAME
                        + " letters, digits, dots, colons and dashes; give it another one.");
    }

    private static boolean inName(int each) {
        return (each >= 'a' && each <= 'z')
                || (each >= 'A' && each <= 'Z')
                || (each >= '0' && each <= '9')
                || "._:-".indexOf(each) >= 0;
    }

    static void checkHold(String id) {
        check(
                id.length() == 16 && id.chars().allMatch(each -> "0123456789abcdef".indexOf(each) >= 0),
                "The id of a hold of a fleet has 16 hexadecimal digits.");
    }

    /** Checks an address: printable ASCII, for it is called only after it was compared with a list. */
    static void checkAddress(String address) {
        check(
                address.length() <= Digest.LONGEST_ADDRESS
                        && address.chars().allMatch(each -> each > ' ' && each < 0x7f),
                "The address of a sidecar has at most " + Digest.LONGEST_ADDRESS
                        + " printable ASCII characters; give it another one.");
    }

    static void checkText(String text, int longest, String what) {
        check(
                text.length() <= longest && text.chars().noneMatch(Character::isISOControl),
                what + " has at most " + longest + " printable characters.");
    }

    static void check(boolean fulfilled, String sentence) {
        if (!fulfilled) {
            throw new IllegalArgumentException(sentence);
        }
    }
}
