package io.holdfast.embed.ledger;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * One JSON object of texts, whole numbers and truth values, as lines of a ledger are: written, and read as strictly as the
 * only trace of a pin deserves. An embedder need not bring a JSON library for that.
 *
 * <p>What a reader does not know may be of any form that JSON has, and is passed over. A line is refused whole where JSON is
 * broken, a key stands twice or something follows the object.
 */
final class JsonLine {
    private static final int DEEPEST = 500;

    private final String text;
    private int at;
    private int depth;

    private JsonLine(String text) {
        this.text = text;
    }

    /** A value that was read. */
    sealed interface Value {
        record Text(String text) implements Value {}

        record Whole(long number) implements Value {}

        record Truth(boolean holds) implements Value {}

        /** Anything else; nobody who writes a ledger needs it. */
        record Other() implements Value {}
    }

    private static final Value OTHER = new Value.Other();

    /** The members of an object, of which only those of the asked kind are there. */
    static final class Members {
        private final Map<String, Value> values = new HashMap<>();

        boolean has(String key) {
            return values.containsKey(key);
        }

        boolean isEmpty() {
            return values.isEmpty();
        }

        Optional<String> text(String key) {
            return values.get(key) instanceof Value.Text(String text) ? Optional.of(text) : Optional.empty();
        }

        OptionalLong whole(String key) {
            return values.get(key) instanceof Value.Whole(long number) ? OptionalLong.of(number) : OptionalLong.empty();
        }

        Optional<Boolean> truth(String key) {
            return values.get(key) instanceof Value.Truth(boolean holds) ? Optional.of(holds) : Optional.empty();
        }
    }

    /** Reads one line; absent where it is not one whole object. */
    static Optional<Members> read(byte[] bytes, int start, int end) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes, start, end - start))
                    .toString();
            return Optional.of(new JsonLine(text).line());
        } catch (CharacterCodingException | Broken e) {
            return Optional.empty();
        }
    }

    /** A line in the making. */
    static final class Writer {
        private final StringBuilder text = new StringBuilder("{");

        Writer put(String key, String value) {
            quote(key(key), value);
            return this;
        }

        Writer put(String key, long value) {
            key(key).append(value);
            return this;
        }

        Writer put(String key, boolean value) {
            key(key).append(value);
            return this;
        }

        /** The object and a line feed. */
        byte[] line() {
            return (text + "}\n").getBytes(StandardCharsets.UTF_8);
        }

        private StringBuilder key(String key) {
            if (text.length() > 1) {
                text.append(',');
            }
            return quote(text, key).append(':');
        }

        private static StringBuilder quote(StringBuilder into, String value) {
            into.append('"');
            for (int i = 0; i < value.length(); i++) {
                char c = value.charAt(i);
                switch (c) {
                    case '"' -> into.append("\\\"");
                    case '\\' -> into.append("\\\\");
                    case '\b' -> into.append("\\b");
                    case '\t' -> into.append("\\t");
                    case '\n' -> into.append("\\n");
                    case '\f' -> into.append("\\f");
                    case '\r' -> into.append("\\r");
                    default -> {
                        if (c < ' ') {
                            into.append(String.format("\\u%04X", (int) c));
                        } else {
                            into.append(c);
                        }
                    }
                }
            }
            return into.append('"');
        }
    }

    /** Thrown and caught here alone. */
    private static final class Broken extends RuntimeException {
        private static final long serialVersionUID = 1;

        Broken() {
            super("no JSON", null, false, false);
        }
    }

    private Members line() {
        blanks();
        require('{');
        Members members = new Members();
        if (!taken('}')) {
            do {
                String key = key();
                require(!members.has(key));
                members.values.put(key, value());
            } while (taken(','));
            require('}');
        }
        require(at == text.length());
        return members;
    }

    private String key() {
        String key = string();
        blanks();
        require(':');
        return key;
    }

    private Value value() {
        Value value = switch (peek()) {
            case '"' -> new Value.Text(string());
            case 't' -> word("true", new Value.Truth(true));
            case 'f' -> word("false", new Value.Truth(false));
            case 'n' -> word("null", OTHER);
            case '{' -> object();
            case '[' -> array();
            default -> number();
        };
        blanks();
        return value;
    }

    private Value object() {
        deeper();
        require('{');
        if (!taken('}')) {
            Set<String> keys = new HashSet<>();
            do {
                require(keys.add(key()));
                value();
            } while (taken(','));
            require('}');
        }
        depth--;
        return OTHER;
    }

    private Value array() {
        deeper();
        require('[');
        if (!taken(']')) {
            do {
                value();
            } while (taken(','));
            require(']');
        }
        depth--;
        return OTHER;
    }

    private void deeper() {
        depth++;
        require(depth <= DEEPEST);
    }

    private Value word(String word, Value value) {
        require(text.startsWith(word, at));
        at += word.length();
        // What follows a value is a comma, the end of what it is in, or a blank.
        return value;
    }

    private Value number() {
        int start = at;
        if (at < text.length() && text.charAt(at) == '-') {
            at++;
        }
        int first = at;
        digits();
        require(text.charAt(first) != '0' || at == first + 1);
        boolean whole = true;
        if (at < text.length() && text.charAt(at) == '.') {
            whole = false;
            at++;
            digits();
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            whole = false;
            at++;
            if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) {
                at++;
            }
            digits();
        }
        try {
            return whole ? new Value.Whole(Long.parseLong(text, start, at, 10)) : OTHER;
        } catch (NumberFormatException e) {
            return OTHER;
        }
    }

    private void digits() {
        int first = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        require(at > first);
    }

    private String string() {
        blanks();
        require(at < text.length() && text.charAt(at) == '"');
        at++;
        StringBuilder value = new StringBuilder();
        while (next() != '"') {
            char c = text.charAt(at++);
            require(c >= ' ');
            value.append(c == '\\' ? escaped() : c);
        }
        at++;
        return value.toString();
    }

    private char escaped() {
        char c = next();
        at++;
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 't' -> '\t';
            case 'n' -> '\n';
            case 'f' -> '\f';
            case 'r' -> '\r';
            case 'u' -> {
                require(at + 4 <= text.length());
                int code = 0;
                for (int i = 0; i < 4; i++) {
                    char digit = text.charAt(at++);
                    require(digit < 128);
                    int value = Character.digit(digit, 16);
                    require(value >= 0);
                    code = code << 4 | value;
                }
                yield (char) code;
            }
            default -> throw new Broken();
        };
    }

    private char next() {
        require(at < text.length());
        return text.charAt(at);
    }

    private char peek() {
        blanks();
        return next();
    }

    private boolean taken(char c) {
        blanks();
        boolean there = at < text.length() && text.charAt(at) == c;
        if (there) {
            at++;
            blanks();
        }
        return there;
    }

    private void require(char c) {
        require(taken(c));
    }

    private void blanks() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private static void require(boolean holds) {
        if (!holds) {
            throw new Broken();
        }
    }
}
